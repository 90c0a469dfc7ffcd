//! Logging in to a provider: tokens by way of a browser or another device, kept in one file, renewed by one process at a
//! time. Any issuer that speaks OAuth 2 will do; none is known by name. What is printed and asked is `cmd/login`.

mod browser;
mod device;
mod endpoints;
mod http;
mod loopback;
mod pkce;
mod refresh;
mod server_tokens;
#[cfg(test)]
mod tests;
mod tokens;

pub use browser::{is_here as browser_is_here, open as open_browser};
pub use device::Device;
pub use endpoints::{Endpoints, wanted};
pub use http::{Http, IssuerError};
pub use loopback::Loopback;
pub use pkce::Attempt;
pub use refresh::{LoginKey, LoginOf};
pub use server_tokens::ServerTokens;
pub use tokens::Tokens;

use ostler_config::logins::{Login, Logins};
use ostler_config::oauth::{TokenStore, parse_address};
use std::path::Path;

/// Every token in `auth.json`, to be kept out of whatever is written or sent. A damaged file has none.
pub fn known_secrets(home: &Path) -> Vec<String> {
    let store = Logins::new(home, TokenStore::File);
    let logins = store.all().unwrap_or_default();
    let tokens = logins.iter().flat_map(Login::tokens).cloned();
    let tokens = tokens.chain(server_tokens::secrets(home, &store));
    tokens.filter(|token| !token.is_empty()).collect()
}

/// Makes a login's tokens invalid at the issuer. None when the issuer does not offer that.
pub async fn revoke(
    login: &Login,
    client_secret: Option<&str>,
    http: &Http,
) -> Option<anyhow::Result<()>> {
    let url = parse_address(login.revoke_url.as_deref()?);
    let (token, hint) = match &login.refresh_token {
        Some(token) => (token, "refresh_token"),
        None => (&login.access_token, "access_token"),
    };
    let pairs = [
        ("token", token.as_str()),
        ("token_type_hint", hint),
        ("client_id", &login.client_id),
    ];
    let secret = client_secret.map(|secret| ("client_secret", secret));
    let form = pairs.into_iter().chain(secret);
    let form = form.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let sent = async { Ok(http.post(&url?, &form).await.map(drop)?) };
    Some(sent.await)
}
