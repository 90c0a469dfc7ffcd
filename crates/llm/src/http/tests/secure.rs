//! Real handshakes, with a certificate of our own authority (`fixtures/`, of no use elsewhere).

use super::{kind, plain, target};
use crate::http::{Proxies, Transport, TransportOptions};
use bytes::Bytes;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use tokio_util::sync::CancellationToken;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/http/fixtures")
        .join(name)
}

/// Serves one connection: reports the protocol that was agreed on and the first bytes, then answers.
fn server(protocols: &[&str]) -> (String, mpsc::Receiver<String>) {
    let certs = vec![CertificateDer::from_pem_file(fixture("leaf.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(fixture("leaf.key")).unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let session = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(session, socket);
        let mut start = [0; 8];
        if stream.read_exact(&mut start).is_ok() {
            let protocol = stream.conn.alpn_protocol().unwrap_or_default();
            let protocol = String::from_utf8_lossy(protocol).into_owned();
            _ = say.send(format!("{protocol} {}", String::from_utf8_lossy(&start)));
        }
        _ = stream.write_all(plain("200 OK", "", "{}").as_bytes());
        _ = stream.flush();
        // Unread bytes would turn the close into a reset.
        _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    (base_url, said)
}

async fn call(base_url: &str, ca_files: Vec<PathBuf>) -> Result<(), crate::Error> {
    let transport = Transport::new(TransportOptions {
        ca_files,
        proxies: Proxies::None,
    });
    let body = vec![Bytes::from_static(b"{}")];
    let cancel = CancellationToken::new();
    let sent = transport
        .send(&target(base_url), &kind(), body, &cancel)
        .await;
    sent.map(|_| ())
}

#[tokio::test]
async fn a_certificate_file_is_trusted() {
    let (base_url, said) = server(&["http/1.1"]);
    call(&base_url, vec![fixture("ca.pem")]).await.unwrap();
    assert_eq!(said.recv().unwrap(), "http/1.1 POST /ch");
}

#[tokio::test]
async fn an_unknown_certificate_is_refused_for_good() {
    let (base_url, _said) = server(&["http/1.1"]);
    let error = call(&base_url, Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), "fatal", "{error}");
    let message = error.to_string();
    assert!(
        message.contains("no secure connection to 127.0.0.1"),
        "{message}"
    );
    assert!(message.contains("SSL_CERT_FILE"), "{message}");
}

#[tokio::test]
async fn the_newer_protocol_is_spoken_where_the_server_does() {
    let (base_url, said) = server(&["h2", "http/1.1"]);
    // The server says nothing that the client could use; what counts is what it was offered.
    assert!(call(&base_url, vec![fixture("ca.pem")]).await.is_err());
    assert_eq!(said.recv().unwrap(), "h2 PRI * HT");
}
