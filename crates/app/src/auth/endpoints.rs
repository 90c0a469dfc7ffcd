//! Where an issuer's requests go: what the configuration says, else what the issuer publishes.

use super::http::{Form, Http};
use anyhow::bail;
use oauth2::basic::BasicClient;
use oauth2::{AuthType, ClientId, ClientSecret, EndpointNotSet, EndpointSet, TokenUrl};
use ostler_config::oauth::{Exchange, OauthConfig, parse_address};
use ostler_config::text::{Explain as _, phrase};
use ostler_wire::Word;
use serde_json::{Map, Value};
use url::Url;

/// A client whose address for tokens is known.
pub type Client =
    BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The addresses of an issuer, and who we are there.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// Set when it was found by its name; an answer must then come from it.
    pub issuer: Option<String>,
    pub authorize: Option<Url>,
    pub token: Url,
    pub device: Option<Url>,
    pub revoke: Option<Url>,
    pub client_id: String,
    pub client_secret: Option<String>,
    pub exchange: Exchange,
}

impl Endpoints {
    pub async fn find(provider: &str, oauth: &OauthConfig, http: &Http) -> anyhow::Result<Self> {
        let what = || phrase(Word::AuthTableUnusable, &[&provider]);
        let set = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let client_id = match (set(&oauth.client_id), oauth.exchange) {
            (Some(id), _) => id,
            (None, Exchange::Key) => String::new(),
            (None, Exchange::Token) => bail!(phrase(Word::AuthNoClient, &[&what()])),
        };
        let published = match set(&oauth.issuer) {
            Some(issuer) => discover(&issuer, http).await.explain(what)?,
            None => Map::new(),
        };
        let address = |own: &Option<String>, key: &str| -> anyhow::Result<Option<Url>> {
            let text = set(own).or_else(|| Some(published.get(key)?.as_str()?.to_owned()));
            let url = text.map(|text| parse_address(&text)).transpose();
            Ok(url.map_err(|e| {
                phrase(
                    Word::Because,
                    &[&phrase(Word::Because, &[&what(), &key]), &e],
                )
            })?)
        };
        let Some(token) = address(&oauth.token_url, "token_endpoint")? else {
            bail!(phrase(Word::AuthNoTokenUrl, &[&what()]));
        };
        Ok(Self {
            issuer: published
                .get("issuer")
                .and_then(Value::as_str)
                .map(str::to_owned),
            authorize: address(&oauth.authorize_url, "authorization_endpoint")?,
            device: address(&oauth.device_url, "device_authorization_endpoint")?,
            revoke: address(&oauth.revoke_url, "revocation_endpoint")?,
            token,
            client_id,
            client_secret: set(&oauth.client_secret),
            exchange: oauth.exchange,
        })
    }

    /// Us at this issuer. A secret goes into the body, where every issuer takes it.
    pub fn client(&self) -> Client {
        let client = BasicClient::new(ClientId::new(self.client_id.clone()))
            .set_auth_type(AuthType::RequestBody)
            .set_token_uri(TokenUrl::from_url(self.token.clone()));
        match &self.client_secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.clone())),
            None => client,
        }
    }
}

/// What the first request asks for.
pub fn wanted(oauth: &OauthConfig) -> Form {
    let mut form = Form::new();
    if !oauth.scopes.is_empty() {
        form.push(("scope".into(), oauth.scopes.join(" ")));
    }
    form.extend(
        oauth
            .audience
            .iter()
            .map(|who| ("audience".into(), who.clone())),
    );
    form.extend(oauth.extra.clone());
    form
}

/// The issuer's document, from either of its usual places.
async fn discover(issuer: &str, http: &Http) -> anyhow::Result<Map<String, Value>> {
    let url = parse_address(issuer)?;
    for place in places(&url) {
        if let Some(found) = http.get(&place).await? {
            let name = found
                .get("issuer")
                .and_then(Value::as_str)
                .unwrap_or_default();
            // One issuer must not speak for another.
            if name.trim_end_matches('/') != issuer.trim_end_matches('/') {
                bail!(phrase(Word::AuthOtherDocument, &[&place]));
            }
            return Ok(found);
        }
    }
    bail!(phrase(Word::AuthNoAddresses, &[&issuer]))
}

fn places(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    [
        at(format!("{path}/.well-known/openid-configuration")),
        at(format!("/.well-known/oauth-authorization-server{path}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_places_of_a_document() {
        let check = |issuer: &str, expect: [&str; 2]| {
            let found = places(&Url::parse(issuer).unwrap());
            assert_eq!(found.map(String::from), expect);
        };
        check(
            "https://id.test",
            [
                "https://id.test/.well-known/openid-configuration",
                "https://id.test/.well-known/oauth-authorization-server",
            ],
        );
        check(
            "https://id.test:8443/tenant/?x=1",
            [
                "https://id.test:8443/tenant/.well-known/openid-configuration",
                "https://id.test:8443/.well-known/oauth-authorization-server/tenant",
            ],
        );
    }
}
