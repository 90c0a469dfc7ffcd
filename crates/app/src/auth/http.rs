//! Requests to an issuer: forms go out, small JSON objects come back, and what went wrong is typed by what can be done.

use crate::client;
use oauth2::{
    AsyncHttpClient, ErrorResponseType, HttpRequest, HttpResponse, RequestTokenError,
    StandardErrorResponse, http,
};
use ostler_config::text::phrase;
use ostler_wire::{Why, Word, one_line};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::OnceCell;
use url::{Url, form_urlencoded};

const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(30);
/// The longest known answer, a discovery document, has a hundredth of it.
const MAX_BYTES: usize = 1024 * 1024;
const QUOTE_CHARS: usize = 200;
/// Shorter values are no secrets worth hiding, and would blank out ordinary words.
const MIN_SECRET_CHARS: usize = 4;

/// A longer life of a token is a mistake of the issuer, and would overflow the calendar.
const MAX_LIFE: u64 = 100 * 365 * 24 * 3600;
/// How many seconds a code for another device lasts whose issuer does not say it.
const USUAL_LIFE: u64 = 15 * 60;
/// The most seconds between two questions about such a code.
pub const MAX_INTERVAL: u64 = 60;

/// Parameters of a request.
pub type Form = Vec<(String, String)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuerError {
    /// The issuer understood and said no.
    Refused {
        host: String,
        /// A word of the protocol.
        error: String,
        description: String,
    },
    /// It may work later.
    Unreachable(Why),
    /// It is no issuer, or not this address of it.
    NotAnIssuer(Why),
}

impl From<&IssuerError> for Why {
    fn from(error: &IssuerError) -> Self {
        match error {
            IssuerError::Refused {
                host,
                error,
                description,
            } => phrase(Word::AuthSaidNo, &[host, &said(error, description)]),
            IssuerError::Unreachable(why) | IssuerError::NotAnIssuer(why) => why.clone(),
        }
    }
}

impl ostler_config::text::Fill for IssuerError {
    fn fill(&self) -> Why {
        self.into()
    }
}

ostler_wire::told_by_why!(IssuerError);

fn said(error: &str, description: &str) -> String {
    match description {
        "" => error.to_owned(),
        description => format!("{description} ({error})"),
    }
}

/// The client, made when it is first used.
#[derive(Debug)]
pub struct Http {
    ca_files: Vec<PathBuf>,
    client: OnceCell<reqwest::Client>,
}

impl Http {
    pub fn new(ca_files: Vec<PathBuf>) -> Self {
        Self {
            ca_files,
            client: OnceCell::new(),
        }
    }

    /// Sends a form. Its values never show in an error.
    pub async fn post(&self, url: &Url, form: &Form) -> Result<Map<String, Value>, IssuerError> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = self.client().await?.post(url.clone());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let (status, body) = self.send(request.body(body), url).await?;
        let hide = |text: String| hide(text, form);
        judge(&shown(url), status, &body, hide)
    }

    /// Sends the same as a JSON object.
    pub async fn post_json(
        &self,
        url: &Url,
        form: &Form,
    ) -> Result<Map<String, Value>, IssuerError> {
        let pairs = form
            .iter()
            .map(|(key, value)| (key.clone(), value.clone().into()));
        let body = Value::Object(pairs.collect()).to_string();
        let request = self.client().await?.post(url.clone());
        let request = request.header("content-type", "application/json");
        let (status, body) = self.send(request.body(body), url).await?;
        let hide = |text: String| hide(text, form);
        judge(&shown(url), status, &body, hide)
    }

    /// Sends a request that the protocol's library made, and judges the answer before the library reads it.
    pub async fn call(&self, request: HttpRequest) -> Result<HttpResponse, IssuerError> {
        let url = Url::parse(&request.uri().to_string());
        let url = url.map_err(|error| IssuerError::NotAnIssuer(error.to_string().into()))?;
        let form = form_urlencoded::parse(request.body())
            .into_owned()
            .collect();
        respond(self.post(&url, &form).await)
    }

    /// A document, or None when there is none at this address.
    pub async fn get(&self, url: &Url) -> Result<Option<Map<String, Value>>, IssuerError> {
        let request = self.client().await?.get(url.clone());
        match self.send(request, url).await? {
            (404, _) => Ok(None),
            (status, body) => judge(&shown(url), status, &body, |text| text).map(Some),
        }
    }

    async fn client(&self) -> Result<&reqwest::Client, IssuerError> {
        let make = async || {
            let builder = client::builder(&self.ca_files)?;
            let builder = builder.connect_timeout(CONNECT).timeout(WHOLE);
            builder.build().map_err(|e| Why::from(e.to_string()))
        };
        let made = self.client.get_or_try_init(make).await;
        made.map_err(|e| IssuerError::Unreachable(phrase(Word::HttpNoClient, &[&e])))
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        url: &Url,
    ) -> Result<(u16, Vec<u8>), IssuerError> {
        let host = shown(url);
        let lost = |error: reqwest::Error| IssuerError::Unreachable(transport(&error, &host));
        let request = request.header("accept", "application/json");
        let mut answer = request.send().await.map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BYTES {
                return Err(IssuerError::NotAnIssuer(phrase(
                    Word::HttpTooLarge,
                    &[&host, &(MAX_BYTES / (1024 * 1024))],
                )));
            }
        }
        Ok((answer.status().as_u16(), body))
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = IssuerError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, IssuerError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.call(request))
    }
}

/// An answer as the library reads it: an object, or a refusal. Anything else is an error of ours.
pub fn respond(
    answer: Result<Map<String, Value>, IssuerError>,
) -> Result<HttpResponse, IssuerError> {
    let (status, body) = match answer {
        Ok(mut object) => {
            tolerate(&mut object);
            (http::StatusCode::OK, Value::Object(object))
        }
        Err(IssuerError::Refused {
            error, description, ..
        }) => {
            let body = json!({"error": error, "error_description": description});
            (http::StatusCode::BAD_REQUEST, body)
        }
        Err(error @ (IssuerError::Unreachable(_) | IssuerError::NotAnIssuer(_))) => {
            return Err(error);
        }
    };
    let mut response = HttpResponse::new(body.to_string().into_bytes());
    *response.status_mut() = status;
    Ok(response)
}

/// Puts right what issuers write in their own ways and the library takes literally.
fn tolerate(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    if object.contains_key("access_token") {
        object
            .entry("token_type")
            .or_insert_with(|| "bearer".into());
    }
    if object.contains_key("device_code") {
        object.entry("expires_in").or_insert(USUAL_LIFE.into());
    }
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if object.get("refresh_token").is_some_and(|v| !is_text(v)) {
        object.remove("refresh_token");
    }
    for (key, least, most) in [("expires_in", 0, MAX_LIFE), ("interval", 1, MAX_INTERVAL)] {
        let Some(value) = object.remove(key) else {
            continue;
        };
        if let Some(seconds) = seconds(&value) {
            object.insert(key.to_owned(), seconds.clamp(least, most).into());
        }
    }
}

/// Some issuers write numbers as text.
fn seconds(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
        .or_else(|| value.as_str()?.trim().parse().ok())
}

/// The library's error as one of ours. `unread` says what an answer lacks that it cannot read.
pub fn fault<T: ErrorResponseType + Display>(
    error: RequestTokenError<IssuerError, StandardErrorResponse<T>>,
    url: &Url,
    unread: Word,
) -> IssuerError {
    match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(answer) => IssuerError::Refused {
            host: shown(url),
            error: answer.error().to_string(),
            description: answer.error_description().cloned().unwrap_or_default(),
        },
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            IssuerError::NotAnIssuer(Why::from(unread))
        }
    }
}

/// What an answer means. `hide` covers what must not be quoted.
fn judge(
    host: &str,
    status: u16,
    body: &[u8],
    hide: impl Fn(String) -> String,
) -> Result<Map<String, Value>, IssuerError> {
    let object = match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Some(object),
        Ok(_) => None,
        // Revocation answers with nothing.
        Err(_) if body.trim_ascii().is_empty() && matches!(status, 200..=299) => {
            Some(Map::default())
        }
        Err(_) => None,
    };
    let text = |object: &Map<String, Value>, key: &str| {
        let text = object.get(key).and_then(Value::as_str);
        text.map(|text| quote(&hide(text.to_owned())))
    };
    let error = object.as_ref().and_then(|object| text(object, "error"));
    match (status, object, error) {
        (500..=599 | 429 | 408, _, _) => Err(IssuerError::Unreachable(phrase(
            Word::HttpLater,
            &[&host, &status],
        ))),
        (_, Some(object), Some(error)) => Err(IssuerError::Refused {
            host: host.to_owned(),
            description: text(&object, "error_description").unwrap_or_default(),
            error,
        }),
        (200..=299, Some(object), None) => Ok(object),
        (200..=299, None, _) => Err(IssuerError::NotAnIssuer(phrase(Word::AuthNoJson, &[&host]))),
        (300..=399, _, _) => Err(IssuerError::NotAnIssuer(phrase(
            Word::AuthRedirects,
            &[&host, &status],
        ))),
        (status, _, _) => Err(IssuerError::NotAnIssuer(phrase(
            Word::AuthNoReason,
            &[&host, &status],
        ))),
    }
}

/// Some servers repeat what they refuse.
fn hide(text: String, form: &Form) -> String {
    const PUBLIC: [&str; 5] = [
        "grant_type",
        "client_id",
        "scope",
        "redirect_uri",
        "audience",
    ];
    form.iter()
        .filter(|(name, _)| !PUBLIC.contains(&name.as_str()))
        .filter(|(_, value)| value.chars().count() >= MIN_SECRET_CHARS)
        .fold(text, |text, (_, value)| text.replace(value, "***"))
}

pub fn quote(text: &str) -> String {
    one_line(text).chars().take(QUOTE_CHARS).collect()
}

fn transport(error: &reqwest::Error, host: &str) -> Why {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    if error.is_timeout() {
        return phrase(Word::HttpNoTime, &[&host]);
    }
    let cause = match cause.downcast_ref::<std::io::Error>() {
        Some(error) => Why::from(error),
        None => cause.to_string().into(),
    };
    phrase(Word::HttpNoAnswer, &[&host, &cause])
}

/// Host and port as a person would write them.
fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, body: &str) -> String {
        let form = vec![
            ("refresh_token".into(), "rt-secret".into()),
            ("client_id".into(), "cli".into()),
        ];
        match judge("h", status, body.as_bytes(), |text| hide(text, &form)) {
            Ok(object) => Value::Object(object).to_string(),
            Err(error) => {
                let what = match &error {
                    IssuerError::Refused { .. } => "refused",
                    IssuerError::Unreachable(_) => "unreachable",
                    IssuerError::NotAnIssuer(_) => "not an issuer",
                };
                format!("{what}: {error}")
            }
        }
    }

    #[test]
    fn answers_are_judged() {
        insta::assert_snapshot!(
            [
                check(200, r#"{"access_token":"a"}"#),
                check(200, " "),
                check(200, "<html>"),
                check(200, "[1]"),
                check(200, r#"{"error":"authorization_pending"}"#),
                check(400, r#"{"error":"invalid_grant","error_description":"rt-secret is\nused \u001b[2J"}"#),
                check(400, r#"{"error":{"message":"odd"}}"#),
                check(400, ""),
                check(302, ""),
                check(503, r#"{"error":"temporarily_unavailable"}"#),
            ]
            .join("\n"), @r#"
            {"access_token":"a"}
            {}
            not an issuer: h answered with something that is not a JSON object; check the addresses in `oauth`
            not an issuer: h answered with something that is not a JSON object; check the addresses in `oauth`
            refused: h refused: authorization_pending
            refused: h refused: *** is used ^[[2J (invalid_grant)
            not an issuer: h answered 400 without saying why; check the addresses in `oauth`
            not an issuer: h answered 400 without saying why; check the addresses in `oauth`
            not an issuer: h redirects elsewhere (302); check the addresses in `oauth`
            unreachable: h answered 503; try again later
            "#);
    }
}
