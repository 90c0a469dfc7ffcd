//! The HTTP client for what is no request to a model: lists of models and logins. It follows no redirect.

use ostler_config::text::phrase;
use ostler_wire::{Why, Word};
use std::path::PathBuf;

/// A client that trusts these certificates (PEM) beside the system's.
pub fn builder(ca_files: &[PathBuf]) -> Result<reqwest::ClientBuilder, Why> {
    ostler_llm::install_crypto();
    let mut certificates = Vec::new();
    for path in ca_files {
        let unusable = |why: Why| {
            let what = phrase(Word::CertUnusable, &[&path.display()]);
            phrase(Word::Because, &[&what, &why])
        };
        let pem = ostler_host::read_certificates(path).map_err(|e| unusable((&e).into()))?;
        let found = reqwest::Certificate::from_pem_bundle(&pem);
        certificates.extend(found.map_err(|e| unusable(e.to_string().into()))?);
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
