//! A system without certificates of its own: those that come with Ostler are used, and the person is told.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

/// An address with a certificate that nobody knows.
fn secure() -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/src/http/fixtures");
    let certs = vec![CertificateDer::from_pem_file(fixtures.join("leaf.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(fixtures.join("leaf.key")).unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).unwrap();
            // The other end breaks it off.
            let _ = StreamOwned::new(session, socket).read(&mut [0]);
        }
    });
    base
}

#[test]
fn roots_that_come_with_the_program_stand_in_for_a_missing_trust_store() {
    let space = TempWorkspace::new();
    let base = secure();
    space.write(
        space.home().join("config.toml"),
        format!(
            "default_model = \"far/m\"\n[[providers]]\nname = \"far\"\nkind = \"openai\"\nbase_url = \"{base}\"\nmodel = \"m\"\napi_key_env = \"FAR_KEY\"\n"
        ),
    );
    let run = || {
        let run = space.ostler(["exec", "--no-save", "-p", "hi"]);
        run.env("FAR_KEY", "far-key-12345678")
    };
    let bare = run().env("SSL_CERT_DIR", "/nowhere").output().exits(1);
    assert!(
        bare.stderr.contains("those that come with Ostler"),
        "{bare:?}"
    );
    // There was something to check against, and this certificate did not pass.
    assert!(bare.stderr.contains("no secure connection"), "{bare:?}");
}
