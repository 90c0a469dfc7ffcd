//! The `oauth` table of a provider: where `ostler login` gets tokens for it. Nothing here sends anything.

use crate::text::phrase;
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The keys of `oauth` that hold an address.
pub const ADDRESSES: [&str; 5] = [
    "issuer",
    "authorize_url",
    "token_url",
    "device_url",
    "revoke_url",
];

/// How `ostler login` gets tokens for an endpoint. Either `issuer`, or `token_url` with
/// `authorize_url` (browser), `device_url` (code on another device) or both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OauthConfig {
    /// Publishes the addresses below; one that is given here wins over a published one.
    pub issuer: Option<String>,
    /// Where the browser is sent.
    pub authorize_url: Option<String>,
    /// Where codes and refresh tokens become access tokens.
    pub token_url: Option<String>,
    /// Where a code for another device comes from.
    pub device_url: Option<String>,
    /// Where `ostler logout` makes tokens invalid.
    pub revoke_url: Option<String>,
    /// The name of this client at the issuer.
    pub client_id: Option<String>,
    /// For issuers that want one from programs, too.
    pub client_secret: Option<String>,
    /// What the token is for.
    pub scopes: Vec<String>,
    /// Whom the token is for, where the issuer asks.
    pub audience: Option<String>,
    /// Further parameters of the first request.
    pub extra: BTreeMap<String, String>,
    /// Which way to log in; auto takes the browser where there is one.
    pub flow: LoginFlow,
    /// What the code from the browser becomes.
    pub exchange: Exchange,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exchange {
    /// Tokens, as OAuth 2 has it.
    #[default]
    Token,
    /// An API key of the person's, without a `client_id`: the page is given a `callback_url`, and the answer has a `key`.
    Key,
}

/// The logins that are known by the name of a provider.
const PRESETS: &str = include_str!("presets.toml");

#[derive(Deserialize)]
struct Presets {
    preset: Vec<Preset>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    provider: String,
    origin: String,
    oauth: OauthConfig,
}

/// How to log in to a provider that says nothing of it, at exactly the address that the row is about.
pub fn preset(provider: &str, origin: &str) -> Option<OauthConfig> {
    // The file is ours, and a test reads it.
    let presets = toml::from_str::<Presets>(PRESETS).ok()?.preset;
    let mut rows = presets.into_iter();
    let found = rows.find(|row| row.provider == provider && row.origin == origin);
    found.map(|row| row.oauth)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoginFlow {
    #[default]
    Auto,
    Browser,
    Device,
}

/// Where tokens are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenStore {
    #[default]
    File,
    Keyring,
}

/// An address that tokens may be sent to: others must not be able to listen.
pub fn parse_address(text: &str) -> Result<Url, Why> {
    let url = Url::parse(text).map_err(|error| phrase(Word::CfgBadUrl, &[&error]))?;
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => Ok(url),
        ("http", Some(host)) if is_loopback(&host) => Ok(url),
        ("http", Some(_)) => Err(Why::from(Word::CfgLoginHttps)),
        _ => Err(Why::from(Word::CfgUrlForm)),
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_for_the_vendors_own_address() {
        let rows = toml::from_str::<Presets>(PRESETS).unwrap().preset;
        assert!(!rows.is_empty());
        for row in rows {
            assert!(
                preset(&row.provider, &row.origin).is_some(),
                "{}",
                row.provider
            );
            assert!(preset(&row.provider, "https://gateway.example").is_none());
            for url in [&row.oauth.authorize_url, &row.oauth.token_url] {
                let url = parse_address(url.as_deref().unwrap()).unwrap();
                assert_eq!(url.origin().ascii_serialization(), row.origin);
            }
            assert_eq!((&row.oauth.client_secret, row.oauth.issuer), (&None, None));
            assert!(preset("nobody", &row.origin).is_none());
        }
    }

    #[test]
    fn tokens_go_where_nobody_listens() {
        for (text, fits) in [
            ("https://id.example.com/token", true),
            ("http://127.0.0.1:8080/token", true),
            ("http://[::1]/token", true),
            ("http://localhost:1/t", true),
            ("http://id.example.com/token", false),
            ("http://127.0.0.1.example.com/", false),
            ("http://localhost.example.com/", false),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("id.example.com/token", false),
            ("", false),
        ] {
            assert_eq!(parse_address(text).is_ok(), fits, "{text}");
        }
    }
}
