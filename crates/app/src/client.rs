//! The HTTP client for what is no request to a model: lists of models and logins. It follows no redirect.

use crate::speech::filled;
use anyhow::Context as _;
use ostler_wire::Word;
use std::path::PathBuf;

/// A client that trusts these certificates (PEM) beside the system's.
pub fn builder(ca_files: &[PathBuf]) -> anyhow::Result<reqwest::ClientBuilder> {
    ostler_llm::install_crypto();
    let mut certificates = Vec::new();
    for path in ca_files {
        let what = || filled(Word::CertUnusable, &[&path.display()]);
        let pem = ostler_host::read_certificates(path).with_context(what)?;
        certificates.extend(reqwest::Certificate::from_pem_bundle(&pem).with_context(what)?);
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
        // A key must not follow a redirect.
        .redirect(reqwest::redirect::Policy::none());
    if !certificates.is_empty() {
        builder = builder.tls_certs_merge(certificates);
    }
    Ok(builder)
}
