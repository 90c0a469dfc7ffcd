//! The HTTP client that servers and their issuers are reached with.

use crate::failure::{RedirectTarget, chain};
use crate::settings::ServerContext;
use crate::text;
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(10);
const MAX_URL: usize = 500;

pub fn http_client(context: &ServerContext) -> Result<reqwest::Client, String> {
    client(context, &RedirectTarget::default())
}

/// A second call changes nothing.
pub fn install_crypto() {
    // An error means that a provider is installed already, which is what is wanted.
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// Follows a redirect only on the same machine: headers may hold what no other should see. And only one that keeps the
/// message.
pub fn client(
    context: &ServerContext,
    redirect: &RedirectTarget,
) -> Result<reqwest::Client, String> {
    install_crypto();
    let redirect = redirect.clone();
    let policy = reqwest::redirect::Policy::custom(move |attempt| {
        let origin = |url: &url::Url| url.origin();
        let first = attempt.previous().first().map(origin);
        let is_near = first == Some(origin(attempt.url())) && attempt.previous().len() < 4;
        if is_near && matches!(attempt.status().as_u16(), 307 | 308) {
            return attempt.follow();
        }
        *redirect.at() = Some(text::line(attempt.url().as_str(), MAX_URL));
        attempt.stop()
    });
    let mut client = reqwest::Client::builder()
        .redirect(policy)
        .connect_timeout(CONNECT)
        .user_agent(format!("ostler/{}", context.version));
    for file in &context.settings.ca_files {
        if let Ok(pem) = ostler_host::read_certificates(file)
            && let Ok(roots) = reqwest::Certificate::from_pem_bundle(&pem)
        {
            client = client.tls_certs_merge(roots);
        }
    }
    client.build().map_err(|e| chain(&e))
}
