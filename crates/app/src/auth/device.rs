//! A code typed in on another device (RFC 8628): asking for it, and asking until the person has typed it.

use super::endpoints::Endpoints;
use super::http::{Form, Http, IssuerError, quote};
use super::tokens::Tokens;
use anyhow::{anyhow, bail};
use ostler_config::oauth::parse_address;
use ostler_config::text::phrase;
use ostler_wire::{Why, Word};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const USUAL_INTERVAL: Duration = Duration::from_secs(5);
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// What the issuer's "slow down" adds to the interval.
const SLOWER: Duration = Duration::from_secs(5);
const USUAL_LIFE: Duration = Duration::from_secs(15 * 60);
const MAX_LIFE: Duration = Duration::from_secs(60 * 60);

/// What the person types in, and where.
pub struct Device {
    code: String,
    pub user_code: String,
    pub address: Url,
    /// The same with the code in it.
    pub with_code: Option<Url>,
    pub life: Duration,
    interval: Duration,
}

impl Device {
    pub async fn ask(from: &Endpoints, wanted: &Form, http: &Http) -> anyhow::Result<Self> {
        let url = from
            .device
            .as_ref()
            .ok_or_else(|| Why::from(Word::AuthNoDeviceUrl))?;
        let mut form = from.form(None);
        form.extend(wanted.iter().cloned());
        Self::read(&http.post(url, &form).await?)
    }

    fn read(answer: &Map<String, Value>) -> anyhow::Result<Self> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        let seconds = |key: &str| answer.get(key).and_then(Value::as_u64);
        // The second name is older than the standard.
        let address = text("verification_uri").or_else(|| text("verification_url"));
        let (Some(code), Some(user_code), Some(address)) =
            (text("device_code"), text("user_code"), address)
        else {
            bail!(Why::from(Word::AuthNoDeviceCode));
        };
        let page =
            |text: &str| parse_address(text).map_err(|e| anyhow!(phrase(Word::AuthBadPage, &[&e])));
        let life = seconds("expires_in").map_or(USUAL_LIFE, Duration::from_secs);
        let interval = seconds("interval").map_or(USUAL_INTERVAL, Duration::from_secs);
        Ok(Self {
            code: code.to_owned(),
            user_code: quote(user_code),
            address: page(address)?,
            // A convenience: without it the code is typed.
            with_code: text("verification_uri_complete").and_then(|text| page(text).ok()),
            life: life.min(MAX_LIFE),
            interval: interval.clamp(MIN_INTERVAL, MAX_INTERVAL),
        })
    }

    /// Asks until the person has decided, or the code is too old.
    pub async fn tokens(self, from: &Endpoints, http: &Http) -> anyhow::Result<Tokens> {
        let mut form = from.form(Some(GRANT));
        form.push(("device_code".to_owned(), self.code));
        let end = Instant::now() + self.life;
        let mut interval = self.interval;
        while Instant::now() + interval < end {
            tokio::time::sleep(interval).await;
            let answer = http.post(&from.token, &form).await;
            match judge(answer, interval)? {
                Step::Done(tokens) => return Ok(tokens),
                Step::Wait(longer) => interval = longer,
            }
        }
        bail!(Why::from(Word::AuthCodeLate))
    }
}

enum Step {
    Done(Tokens),
    /// Ask again after this long.
    Wait(Duration),
}

fn judge(
    answer: Result<Map<String, Value>, IssuerError>,
    interval: Duration,
) -> anyhow::Result<Step> {
    let error = match answer {
        Ok(answer) => return Ok(Step::Done(Tokens::read(&answer)?)),
        Err(error) => error,
    };
    match &error {
        IssuerError::Refused { error: word, .. } => match word.as_str() {
            "authorization_pending" => Ok(Step::Wait(interval)),
            "slow_down" => Ok(Step::Wait((interval + SLOWER).min(MAX_INTERVAL))),
            "expired_token" => bail!(Why::from(Word::AuthCodeLate)),
            "access_denied" => bail!(Why::from(Word::AuthRefusedThere)),
            _ => Err(error.into()),
        },
        // The person may be typing meanwhile, so a short outage costs time and nothing else.
        IssuerError::Unreachable(_) => Ok(Step::Wait((interval * 2).min(MAX_INTERVAL))),
        IssuerError::NotAnIssuer(_) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn the_answers_to_asking() {
        let check = |answer: Result<Map<String, Value>, IssuerError>| match judge(
            answer,
            Duration::from_secs(58),
        ) {
            Ok(Step::Done(tokens)) => format!("token {}", tokens.access),
            Ok(Step::Wait(wait)) => format!("ask again in {wait:?}"),
            Err(error) => error.to_string(),
        };
        let refused = |error: &str| {
            Err(IssuerError::Refused {
                host: "id.test".into(),
                error: error.into(),
                description: String::new(),
            })
        };
        let answers = [
            Ok(object(json!({"access_token": "a"}))),
            Ok(object(json!({}))),
            refused("authorization_pending"),
            refused("slow_down"),
            refused("expired_token"),
            refused("access_denied"),
            refused("invalid_client"),
            Err(IssuerError::Unreachable("no line".into())),
            Err(IssuerError::NotAnIssuer("a web page".into())),
        ];
        insta::assert_snapshot!(answers.map(check).join("\n"), @r"
        token a
        the issuer's answer has no access token
        ask again in 58s
        ask again in 60s
        the code was not entered before it expired; run `ostler login` again
        the login was refused on the other device
        id.test refused: invalid_client
        ask again in 60s
        a web page
        ");
    }

    #[test]
    fn the_codes_of_issuers() {
        let check = |answer: Value| match Device::read(&object(answer)) {
            Ok(d) => {
                let with_code = d.with_code.map(String::from);
                format!(
                    "{} {} {with_code:?} {:?} {:?}",
                    d.user_code, d.address, d.life, d.interval
                )
            }
            Err(error) => error.to_string(),
        };
        let answers = [
            json!({"device_code": "d", "user_code": "AB-CD", "verification_uri": "https://id.test/d",
                "verification_uri_complete": "https://id.test/d?c=AB-CD", "expires_in": 600, "interval": 2}),
            json!({"device_code": "d", "user_code": "A\u{1b}[2J", "verification_url": "https://id.test/d",
                "expires_in": u64::MAX, "interval": 0}),
            json!({"device_code": "d", "user_code": "A", "verification_uri": "http://id.test/d"}),
            json!({"device_code": "d", "user_code": "A", "verification_uri": "javascript:alert(1)"}),
            json!({"user_code": "A", "verification_uri": "https://id.test/d"}),
        ];
        insta::assert_snapshot!(answers.map(check).join("\n"), @r#"
        AB-CD https://id.test/d Some("https://id.test/d?c=AB-CD") 600s 2s
        A^[[2J https://id.test/d None 3600s 1s
        the issuer names a page to open, but a login needs https://, except for a server on this machine
        the issuer names a page to open, but an address must start with https:// and name a host
        the issuer's answer has no code for another device; check `device_url`
        "#);
    }
}
