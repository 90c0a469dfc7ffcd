//! What an issuer hands out, checked: an access token that can be sent, how long it lasts, how to get the next one.

use super::endpoints::Endpoints;
use super::http::IssuerError;
use jiff::{SignedDuration, Timestamp};
use oauth2::TokenResponse as _;
use oauth2::basic::{BasicTokenResponse, BasicTokenType};
use ostler_config::logins::Login;
use ostler_wire::{Why, Word};
use serde_json::{Map, Value};

/// No header takes more.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    pub access: String,
    pub refresh: Option<String>,
    pub life: Option<SignedDuration>,
}

impl Tokens {
    pub fn check(answer: &BasicTokenResponse) -> Result<Self, IssuerError> {
        let fault = |what: Word| Err(IssuerError::NotAnIssuer(Why::from(what)));
        let access = answer.access_token().secret();
        if access.is_empty() {
            return fault(Word::AuthNoToken);
        }
        if !is_sendable(access) {
            return fault(Word::AuthBadToken);
        }
        if *answer.token_type() != BasicTokenType::Bearer {
            return fault(Word::AuthNotBearer);
        }
        let refresh = answer.refresh_token().map(|token| token.secret().clone());
        let life = answer.expires_in().map(|life| life.as_secs());
        Ok(Self {
            access: access.clone(),
            refresh: refresh.filter(|token| token.len() <= MAX_TOKEN_BYTES),
            life: life.and_then(|life| Some(SignedDuration::from_secs(life.try_into().ok()?))),
        })
    }

    /// A key in place of tokens. It has no end of which we know, and is not renewed.
    pub fn read_key(answer: &Map<String, Value>) -> Result<Self, IssuerError> {
        let key = answer.get("key").and_then(Value::as_str);
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            return Err(IssuerError::NotAnIssuer(Word::AuthNoToken.into()));
        };
        if !is_sendable(key) {
            return Err(IssuerError::NotAnIssuer(Word::AuthBadToken.into()));
        }
        Ok(Self {
            access: key.to_owned(),
            refresh: None,
            life: None,
        })
    }

    /// A new login of a provider at an origin.
    pub fn login(self, provider: &str, origin: &str, from: &Endpoints, now: Timestamp) -> Login {
        Login {
            provider: provider.to_owned(),
            origin: origin.to_owned(),
            expires: self.end(now),
            access_token: self.access,
            refresh_token: self.refresh,
            obtained: day_and_second(now),
            since: day_and_second(now),
            token_url: from.token.to_string(),
            revoke_url: from.revoke.as_ref().map(ToString::to_string),
            client_id: from.client_id.clone(),
            other: Map::new(),
        }
    }

    /// The same login with these tokens. An issuer that sends no new refresh token means the old one.
    pub fn renew(self, login: &mut Login, now: Timestamp) {
        login.expires = self.end(now);
        login.access_token = self.access;
        login.refresh_token = self.refresh.or(login.refresh_token.take());
        login.obtained = day_and_second(now);
    }

    fn end(&self, now: Timestamp) -> Option<String> {
        let end = now.checked_add(self.life?).ok()?;
        Some(day_and_second(end))
    }
}

fn is_sendable(token: &str) -> bool {
    token.len() <= MAX_TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_graphic())
}

fn day_and_second(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::super::http::respond;
    use super::*;
    use ostler_config::oauth::Exchange;
    use serde_json::json;

    fn check(answer: Value) -> String {
        let Value::Object(answer) = answer else {
            return "not an object".into();
        };
        let answer = respond(Ok(answer)).unwrap();
        let answer = serde_json::from_slice(answer.body());
        let unread = |_| IssuerError::NotAnIssuer(Why::from(Word::AuthNoToken));
        let answer = answer.map_err(unread);
        match answer.and_then(|answer| Tokens::check(&answer)) {
            Ok(t) => format!(
                "{} {:?} {:?}",
                t.access,
                t.refresh,
                t.life.map(|d| d.as_secs())
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn answers_of_issuers() {
        let answers = [
            json!({"access_token": "a.b-c", "token_type": "bearer", "expires_in": 3600, "refresh_token": "r"}),
            json!({"access_token": "a", "expires_in": "60", "refresh_token": ""}),
            json!({"access_token": "a", "expires_in": 1e300, "token_type": "Bearer"}),
            json!({"access_token": "a", "expires_in": -5, "refresh_token": 7}),
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "a\r\nx-evil: 1"}),
            json!({"access_token": "a".repeat(20_000)}),
            json!({"access_token": null}),
            json!({}),
        ];
        insta::assert_snapshot!(answers.map(check).join("\n"), @r#"
        a.b-c Some("r") Some(3600)
        a None Some(60)
        a None Some(3153600000)
        a None None
        the issuer's token is not a bearer token; others are not supported
        the issuer's token is too long or has characters that cannot be sent
        the issuer's token is too long or has characters that cannot be sent
        the issuer's answer has no access token
        the issuer's answer has no access token
        "#);
    }

    #[test]
    fn a_token_is_renewed_in_good_time() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-15T12:00:00Z");
        let from = Endpoints {
            issuer: None,
            authorize: None,
            token: url::Url::parse("https://id.test/t").unwrap(),
            device: None,
            revoke: None,
            client_id: "c".into(),
            client_secret: None,
            exchange: Exchange::Token,
        };
        let tokens = |life: Option<i64>, refresh: Option<&str>| Tokens {
            access: "a".into(),
            refresh: refresh.map(str::to_owned),
            life: life.map(SignedDuration::from_secs),
        };
        for (life, later, stale, expired) in [
            (Some(3600), 3539, false, false),
            (Some(3600), 3540, true, false),
            (Some(3600), 3600, true, true),
            (Some(40), 29, false, false),
            (Some(40), 30, true, false),
            (Some(0), 0, true, true),
            (None, 1_000_000, false, false),
        ] {
            let mut login = tokens(life, Some("r")).login("p", "https://o", &from, now);
            let then = now + SignedDuration::from_secs(later);
            let found = (login.is_stale(then), login.is_expired(then));
            assert_eq!(found, (stale, expired), "{life:?} {later}");
            tokens(Some(3600), None).renew(&mut login, then);
            assert!(!login.is_stale(then));
            assert_eq!(login.refresh_token.as_deref(), Some("r"));
            assert_eq!(login.name().to_string(), "login of 2026-11-15");
        }
    }
}
