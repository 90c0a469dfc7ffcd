//! Asks a provider which models it has: the cheapest request that shows whether address and key are right.

use crate::boot::Boot;
use crate::client;
use crate::output::one_line;
use anyhow::Context as _;
use ostler_config::text::Speak as _;
use ostler_llm::{Auth, Kind, Protocol, Secret, Target};
use ostler_wire::{Language, Origin, Say, Word};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::error::Error as StdError;
use std::time::Duration;
use url::Url;

const CONNECT: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(15);
/// The longest list of models that is read; the largest known one has a tenth of it.
const MAX_BYTES: usize = 8 * 1024 * 1024;
const QUOTE_CHARS: usize = 200;

/// Where to ask.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub provider: String,
    pub kind: String,
    pub base_url: String,
    pub key: Option<Secret>,
    pub headers: Vec<(String, String)>,
}

/// What a reachable provider says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Models(Vec<String>),
    /// It answers, but has no list.
    NoList,
    /// There is no server to ask.
    NoServer,
}

#[derive(Clone)]
pub struct Probe {
    client: reqwest::Client,
    pub language: Language,
}

impl Probe {
    pub fn new(boot: &Boot) -> anyhow::Result<Self> {
        let language = boot.language;
        Self::build(client::builder(&boot.ca_files())?, language)
    }

    /// For this machine: past any proxy.
    pub fn direct(language: Language) -> anyhow::Result<Self> {
        Self::build(client::builder(&[])?.no_proxy(), language)
    }

    fn build(builder: reqwest::ClientBuilder, language: Language) -> anyhow::Result<Self> {
        let client = builder
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            .build()
            .context(language.say(Word::ProbeNoClient))?;
        Ok(Self { client, language })
    }

    /// The provider's models, or a sentence that says what is wrong and what to do.
    pub async fn models(&self, endpoint: &Endpoint) -> Result<Answer, String> {
        let language = self.language;
        if endpoint.base_url.is_empty() {
            return Ok(Answer::NoServer);
        }
        let kind = ostler_llm::kind(&endpoint.kind)
            .ok_or_else(|| language.filled(Word::ProbeNoKind, &[&endpoint.kind]))?;
        let url = address(endpoint, kind)?;
        let host = host(&url);
        let request = self
            .client
            .get(url)
            .headers(headers(endpoint, kind, language)?);
        let answer = request
            .send()
            .await
            .map_err(|e| transport(&e, &host, language))?;
        let status = answer.status().as_u16();
        let body = read(answer)
            .await
            .map_err(|e| transport(&e, &host, language))?;
        judge(endpoint, &host, status, &body, language)
    }
}

fn address(endpoint: &Endpoint, kind: &Kind) -> Result<Url, String> {
    let path = match kind.protocol {
        Protocol::Chat | Protocol::Responses => "/models",
        Protocol::Messages => "/v1/models?limit=1000",
        Protocol::Gemini => "/v1beta/models?pageSize=1000",
        // It has no address to ask.
        Protocol::Lines => "",
    };
    let listing = Kind {
        path: path.into(),
        whole_path: None,
        ..kind.clone()
    };
    let target = Target::new(
        Origin {
            provider: endpoint.provider.clone(),
            model: String::new(),
        },
        &endpoint.kind,
        &endpoint.base_url,
    );
    listing.url(&target).map_err(|e| e.to_string())
}

fn headers(endpoint: &Endpoint, kind: &Kind, language: Language) -> Result<HeaderMap, String> {
    let mut pairs = kind.headers.clone();
    if let Some(key) = &endpoint.key {
        match (&kind.auth, key.is_bearer()) {
            (Auth::Bearer, _) | (Auth::Header(_), true) => {
                pairs.push(("authorization".into(), format!("Bearer {}", key.reveal())));
            }
            (Auth::Header(name), false) => pairs.push((name.clone(), key.reveal().to_owned())),
            (Auth::None, _) => {}
        }
    }
    pairs.extend(endpoint.headers.iter().cloned());
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .zip(HeaderValue::from_str(value.trim()).ok());
        // The value may be a key, so it is not shown.
        let (name, mut value) =
            parsed.ok_or_else(|| language.filled(Word::ProbeBadHeader, &[&one_line(&name)]))?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    Ok(map)
}

async fn read(mut answer: reqwest::Response) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BYTES {
            break;
        }
    }
    Ok(body)
}

fn judge(
    endpoint: &Endpoint,
    host: &str,
    status: u16,
    body: &[u8],
    language: Language,
) -> Result<Answer, String> {
    let provider = &endpoint.provider;
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let said = value
        .as_ref()
        .and_then(vendor_message)
        .map_or_else(String::new, |text| {
            // Some servers repeat the key they refuse.
            let text = match &endpoint.key {
                Some(key) if !key.reveal().is_empty() => text.replace(key.reveal(), "***"),
                Some(_) | None => text,
            };
            format!(
                ": {}",
                one_line(&text)
                    .chars()
                    .take(QUOTE_CHARS)
                    .collect::<String>()
            )
        });
    match (status, value) {
        (200..=299, Some(value)) => match listed(&value) {
            Some(models) => Ok(Answer::Models(models)),
            None => Err(language.filled(Word::ProbeNoList, &[&host, &provider])),
        },
        (200..=299, None) => Err(language.filled(Word::ProbeNoJson, &[&host, &provider])),
        (401 | 403, _) if endpoint.key.is_some() => {
            Err(language.filled(Word::ProbeBadKey, &[&provider, &status, &said]))
        }
        (401 | 403, _) => Err(language.filled(Word::ProbeWantsKey, &[&provider, &status, &said])),
        // A key that is no key at all is a bad request to some.
        (400, _) if !said.is_empty() => {
            Err(language.filled(Word::ProbeRefused, &[&provider, &said]))
        }
        (404 | 405 | 501, _) => Ok(Answer::NoList),
        (300..=399, _) => Err(language.filled(Word::ProbeRedirects, &[&host, &status, &provider])),
        (status, _) => Err(language.filled(Word::ProbeLater, &[&provider, &status, &said])),
    }
}

/// The names in a list of models, in whichever of the usual shapes.
fn listed(value: &Value) -> Option<Vec<String>> {
    let items = ["data", "models"]
        .iter()
        .find_map(|key| value.get(key)?.as_array())?;
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let answers = item
            .get("supportedGenerationMethods")
            .and_then(Value::as_array)
            .is_none_or(|methods| methods.iter().any(|m| m == "generateContent"));
        let name = ["id", "name", "model"]
            .iter()
            .find_map(|key| item.get(key)?.as_str());
        if let (true, Some(name)) = (answers, name) {
            let name = one_line(name.strip_prefix("models/").unwrap_or(name));
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Some(names)
}

fn vendor_message(value: &Value) -> Option<String> {
    let error = value.get("error").unwrap_or(value);
    let text = error.get("message").or(Some(error))?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn transport(error: &reqwest::Error, host: &str, language: Language) -> String {
    let mut cause: &(dyn StdError + 'static) = error;
    let mut refused = false;
    while let Some(below) = cause.source() {
        cause = below;
        let io = below.downcast_ref::<std::io::Error>();
        refused |= io.is_some_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused);
    }
    if refused {
        return language.filled(Word::ProbeNoServer, &[&host]);
    }
    if error.is_timeout() {
        return language.filled(Word::ProbeNoTime, &[&host]);
    }
    let cause = match cause.downcast_ref::<std::io::Error>() {
        Some(error) => error.say(language),
        None => cause.to_string(),
    };
    language.filled(Word::ProbeNoLine, &[&host, &cause])
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn endpoint(key: Option<&str>) -> Endpoint {
        Endpoint {
            provider: "p".into(),
            kind: "k".into(),
            base_url: "http://h/v1".into(),
            key: key.map(Secret::new),
            headers: Vec::new(),
        }
    }

    #[test]
    fn answers_are_judged() {
        let models = |names: &[&str]| {
            Ok(Answer::Models(
                names.iter().map(|n| (*n).to_owned()).collect(),
            ))
        };
        let check = |key: Option<&str>, status: u16, body: Value, expect: Result<Answer, &str>| {
            let found = judge(
                &endpoint(key),
                "h",
                status,
                body.to_string().as_bytes(),
                Language::English,
            );
            assert_eq!(found, expect.map_err(str::to_owned), "{status} {body}");
        };
        check(
            None,
            200,
            json!({"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}, {}]}),
            models(&["a", "b"]),
        );
        check(None, 200, json!({"data": []}), models(&[]));
        let embedding = json!({"name": "models/e", "supportedGenerationMethods": ["embedContent"]});
        check(
            None,
            200,
            json!({"models": [{"name": "models/x"}, embedding]}),
            models(&["x"]),
        );
        check(
            None,
            200,
            json!({"data": [{"id": "a\u{1b}[2J"}]}),
            models(&["a^[[2J"]),
        );
        check(
            None,
            404,
            json!({"error": {"message": "no"}}),
            Ok(Answer::NoList),
        );
        check(
            Some("sk-secret"),
            401,
            json!({"error": {"message": "Bad key sk-secret"}}),
            Err("p refused the key (401): Bad key ***. Check that it is whole and not expired"),
        );
        check(None, 401, json!({}), Err("p needs an API key (401)"));
        check(
            None,
            200,
            json!(["x"]),
            Err("h answered, but not with a list of models. Check the base URL of p"),
        );
        check(
            None,
            503,
            json!({"error": "busy"}),
            Err("p answered 503: busy. Try again later"),
        );
    }
}
