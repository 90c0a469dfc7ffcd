//! A code typed in on another device (RFC 8628): asking for it, and asking until the person has typed it.

use super::endpoints::Endpoints;
use super::http::{Form, Http, IssuerError, MAX_INTERVAL, fault, quote, respond};
use super::tokens::Tokens;
use anyhow::{anyhow, bail};
use oauth2::{
    AsyncHttpClient, DeviceAuthorizationUrl, DeviceCodeErrorResponseType, HttpRequest,
    HttpResponse, RequestTokenError, StandardDeviceAuthorizationResponse,
};
use ostler_config::oauth::parse_address;
use ostler_config::text::phrase;
use ostler_wire::{BoxFuture, Why, Word};
use std::sync::OnceLock;
use std::time::Duration;
use url::Url;

const MAX_LIFE: Duration = Duration::from_secs(60 * 60);

/// What the person types in, and where.
pub struct Device {
    details: StandardDeviceAuthorizationResponse,
    pub user_code: String,
    pub address: Url,
    /// The same with the code in it.
    pub with_code: Option<Url>,
    pub life: Duration,
}

impl Device {
    pub async fn ask(from: &Endpoints, wanted: &Form, http: &Http) -> anyhow::Result<Self> {
        let url = from.device.clone();
        let url = url.ok_or_else(|| Why::from(Word::AuthNoDeviceUrl))?;
        let client = from.client();
        let client =
            client.set_device_authorization_url(DeviceAuthorizationUrl::from_url(url.clone()));
        let request = wanted
            .iter()
            .fold(client.exchange_device_code(), |request, (name, value)| {
                request.add_extra_param(name, value)
            });
        let details = request.request_async(http).await;
        Self::read(details.map_err(|error| fault(error, &url, Word::AuthNoDeviceCode))?)
    }

    fn read(details: StandardDeviceAuthorizationResponse) -> anyhow::Result<Self> {
        let page =
            |text: &str| parse_address(text).map_err(|e| anyhow!(phrase(Word::AuthBadPage, &[&e])));
        let with_code = details.verification_uri_complete();
        Ok(Self {
            user_code: quote(details.user_code().secret()),
            address: page(details.verification_uri())?,
            // A convenience: without it the code is typed.
            with_code: with_code.and_then(|text| page(text.secret()).ok()),
            life: details.expires_in().min(MAX_LIFE),
            details,
        })
    }

    /// Asks until the person has decided, or the code is too old.
    pub async fn tokens(self, from: &Endpoints, http: &Http) -> anyhow::Result<Tokens> {
        // Nobody has typed it yet.
        tokio::time::sleep(self.details.interval()).await;
        let send = |request| -> Answer<'_> { Box::pin(http.call(request)) };
        self.wait(from, &send, tokio::time::sleep).await
    }

    async fn wait<P: Future<Output = ()>>(
        &self,
        from: &Endpoints,
        send: &Transport<'_>,
        sleep: impl Fn(Duration) -> P,
    ) -> anyhow::Result<Tokens> {
        let line = Line {
            send,
            no_issuer: OnceLock::new(),
        };
        let longest = Duration::from_secs(MAX_INTERVAL);
        let client = from.client();
        let request = client.exchange_device_access_token(&self.details);
        let request = request.set_max_backoff_interval(longest);
        let sleep = |pause: Duration| sleep(pause.min(longest));
        let answer = request.request_async(&line, sleep, Some(self.life)).await;
        if let Some(error) = line.no_issuer.into_inner() {
            return Err(error.into());
        }
        match answer {
            Ok(tokens) => Ok(Tokens::check(&tokens)?),
            Err(RequestTokenError::ServerResponse(answer)) => match answer.error() {
                DeviceCodeErrorResponseType::ExpiredToken => bail!(Why::from(Word::AuthCodeLate)),
                DeviceCodeErrorResponseType::AccessDenied => {
                    bail!(Why::from(Word::AuthRefusedThere))
                }
                DeviceCodeErrorResponseType::AuthorizationPending
                | DeviceCodeErrorResponseType::SlowDown
                | DeviceCodeErrorResponseType::Basic(_) => {
                    let error = RequestTokenError::ServerResponse(answer);
                    Err(fault(error, &from.token, Word::AuthNoToken).into())
                }
            },
            Err(error) => Err(fault(error, &from.token, Word::AuthNoToken).into()),
        }
    }
}

type Answer<'a> = BoxFuture<'a, Result<HttpResponse, IssuerError>>;
type Transport<'a> = dyn Fn(HttpRequest) -> Answer<'a> + Sync + 'a;

/// The library takes every failed request for an outage, which costs time and nothing else: the person may be typing
/// meanwhile. What is no issuer ends it.
struct Line<'s, 'a> {
    send: &'s Transport<'a>,
    no_issuer: OnceLock<IssuerError>,
}

impl<'c> AsyncHttpClient<'c> for Line<'_, '_> {
    type Error = IssuerError;
    type Future = Answer<'c>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            match (self.send)(request).await {
                Err(error @ IssuerError::NotAnIssuer(_)) => {
                    let _ = self.no_issuer.set(error);
                    respond(Err(refused("invalid_request")))
                }
                answer => answer,
            }
        })
    }
}

fn refused(error: &str) -> IssuerError {
    IssuerError::Refused {
        host: String::new(),
        error: error.to_owned(),
        description: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use std::cell::RefCell;
    use std::sync::Mutex;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("not an object: {other}"),
        }
    }

    fn read(answer: Value) -> anyhow::Result<Device> {
        let answer = respond(Ok(object(answer)))?;
        let details = serde_json::from_slice(answer.body());
        Device::read(details.map_err(|_| Why::from(Word::AuthNoDeviceCode))?)
    }

    /// What comes of these answers, with the pauses between them.
    async fn asked(answers: Vec<Result<Value, IssuerError>>) -> String {
        let device = read(json!({"device_code": "d", "user_code": "A",
            "verification_uri": "https://id.test/d", "interval": 50}));
        let from = Endpoints {
            issuer: None,
            authorize: None,
            token: Url::parse("https://id.test/token").unwrap(),
            device: None,
            revoke: None,
            client_id: "c".into(),
            client_secret: None,
            exchange: ostler_config::oauth::Exchange::Token,
        };
        let answers = Mutex::new(answers.into_iter());
        let pauses = RefCell::new(Vec::new());
        let send = |_: HttpRequest| -> Answer<'_> {
            let answer = answers.lock().unwrap().next().unwrap();
            Box::pin(std::future::ready(respond(answer.map(object))))
        };
        let sleep = |pause: Duration| {
            pauses.borrow_mut().push(pause.as_secs());
            std::future::ready(())
        };
        let came = device.unwrap().wait(&from, &send, sleep).await;
        let came = came.map_or_else(|error| error.to_string(), |t| format!("token {}", t.access));
        format!("{:?} {came}", pauses.into_inner())
    }

    #[tokio::test]
    async fn the_answers_to_asking() {
        let token = || Ok(json!({"access_token": "a"}));
        let pending = || Err(refused("authorization_pending"));
        let slow = || Err(refused("slow_down"));
        let scripts = [
            vec![token()],
            vec![Ok(json!({}))],
            vec![pending(), slow(), slow(), slow(), token()],
            vec![Err(IssuerError::Unreachable("no line".into())), token()],
            vec![pending(), Err(refused("expired_token"))],
            vec![Err(refused("access_denied"))],
            vec![Err(refused("invalid_client"))],
            vec![Err(IssuerError::NotAnIssuer("a web page".into()))],
        ];
        let mut came = Vec::new();
        for script in scripts {
            came.push(asked(script).await);
        }
        insta::assert_snapshot!(came.join("\n"), @r"
        [] token a
        [] the issuer's answer has no access token
        [50, 55, 60, 60] token a
        [60] token a
        [50] the code was not entered before it expired; run `ostler login` again
        [] the login was refused on the other device
        [] id.test refused: invalid_client
        [] a web page
        ");
    }

    #[test]
    fn the_codes_of_issuers() {
        let check = |answer: Value| match read(answer) {
            Ok(d) => {
                let with_code = d.with_code.map(String::from);
                let interval = d.details.interval();
                format!(
                    "{} {} {with_code:?} {:?} {interval:?}",
                    d.user_code, d.address, d.life
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
