//! Turns what went wrong into a typed error with a sentence that says what to do. Pure; keys never get through.

use super::tls::TrustFault;
use crate::address::without_secrets;
use crate::wordings::{Meaning, meaning};
use crate::{Error, Key, REDACTED, Secret, Target};
use http::HeaderMap;
use ostler_wire::{Language, Why, Word, marked};
use serde_json::Value;
use std::error::Error as StdError;
use std::time::Duration;
use url::Url;

/// What systems say when they cannot find an address; it has no number.
const LOOKUPS: [Word; 3] = [
    Word::LlmLookupUnknown,
    Word::LlmLookupLater,
    Word::LlmLookupNone,
];
/// A server that asks for more patience than this is not tried again by itself.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// What is quoted of a body that is no answer, and of a vendor's own words.
const QUOTE_CHARS: usize = 200;
const MESSAGE_CHARS: usize = 1000;
/// Shorter values are no secrets worth hiding, and would blank out ordinary words.
const MIN_SECRET_CHARS: usize = 4;

/// Where a request went, for messages about it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    provider: String,
    model: String,
    /// Host and port as a person would write them.
    host: String,
    url: String,
    /// Where the key came from, if there is one.
    key_source: Option<String>,
    /// What to do when the key is refused.
    remedy: Option<Why>,
    secrets: Vec<Secret>,
}

/// Which of the four clocks ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Connect,
    Headers,
    FirstToken,
    Idle,
}

impl Place {
    pub(super) fn new(target: &Target, key: Option<&Secret>, url: &Url) -> Self {
        let headers = target.headers.iter().map(|(name, value)| (name, value));
        let mut secrets = secrets_beside_key(headers, Some(url));
        secrets.extend(key.cloned());
        secrets.retain(|secret| secret.reveal().chars().count() >= MIN_SECRET_CHARS);
        let host = url.host_str().unwrap_or("");
        Self {
            provider: target.origin.provider.clone(),
            model: target.origin.model.clone(),
            host: match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            url: without_secrets(url.as_str()),
            key_source: key.map(|key| key.source().to_owned()),
            remedy: target.key.as_ref().map(Key::remedy),
            secrets,
        }
    }

    /// An answer with a status that is not a success.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &str) -> Error {
        let said = match vendor_message(body) {
            none if none.is_empty() => none.into(),
            said => Why::ours(Word::LlmSaid, [said.into()]),
        };
        let provider = || Why::from(self.provider.as_str());
        let model = || Why::from(self.model.as_str());
        let ruled = meaning(status, body);
        let code = Why::from(status.to_string());
        let of_code = |word, what: Why| Why::ours(word, [what, code.clone(), said.clone()]);
        let refused = || of_code(Word::LlmRefused, provider());
        let error = match (ruled, status) {
            (Some(Meaning::Overflow), _) => Error::Overflow {
                message: of_code(Word::LlmOverflow, model()),
            },
            (Some(Meaning::Replay), _) => Error::Replay { message: refused() },
            (Some(Meaning::Auth), _) | (None, 401 | 403) => self.auth(code, said),
            (Some(Meaning::Fatal), _) => Error::Fatal {
                message: refused(),
                status: Some(status),
            },
            (None, 404) => Error::Fatal {
                message: Why::ours(
                    Word::LlmNoModel,
                    [model(), self.url.as_str().into(), said, provider()],
                ),
                status: Some(status),
            },
            (None, 300..=399) => Error::Fatal {
                message: Why::ours(
                    Word::LlmRedirects,
                    [self.host(), redirect(headers), provider()],
                ),
                status: Some(status),
            },
            (None, 408 | 409 | 425 | 429 | 500..=599) => Error::Retryable {
                message: of_code(Word::LlmAnswered, provider()),
                status: Some(status),
                after: retry_after(headers, body, jiff::Timestamp::now()),
            },
            (None, _) => Error::Fatal {
                message: refused(),
                status: Some(status),
            },
        };
        self.redact(error)
    }

    fn host(&self) -> Why {
        self.host.as_str().into()
    }

    fn auth(&self, code: Why, said: Why) -> Error {
        let what = match self.key_source.as_deref() {
            Some("") => Word::LlmBadKey.into(),
            Some(source) => Why::ours(Word::LlmBadKeyFrom, [source.into()]),
            None => Word::LlmNoKey.into(),
        };
        let todo = self.remedy.clone();
        let todo = todo.unwrap_or(Word::LlmSetKey.into());
        let values = [self.provider.as_str().into(), what, code, said, todo];
        Error::Auth {
            message: Why::ours(Word::LlmAuth, values),
        }
    }

    /// The request did not get through, or the answer broke off.
    pub(super) fn transport(&self, error: &reqwest::Error) -> Error {
        let provider = || Why::from(self.provider.as_str());
        let io = find::<std::io::Error>(error).map(std::io::Error::kind);
        let with_detail = |word| Why::ours(word, [self.host(), root_cause(error)]);
        let message = match (find_tls(error), io) {
            (Some(tls), _) => {
                let (said, is_final) = tls_fault(tls);
                let message = Why::ours(Word::LlmNoTls, [self.host(), said]);
                if is_final {
                    return self.redact(Error::fatal(message));
                }
                message
            }
            (None, _) if error.is_dns() => {
                let values = [self.host(), root_cause(error), provider()];
                Why::ours(Word::LlmNoHost, values)
            }
            (None, Some(std::io::ErrorKind::ConnectionRefused)) => {
                Why::ours(Word::LlmNoServer, [self.host(), provider()])
            }
            (None, _) if error.is_connect() => with_detail(Word::LlmNoLine),
            (None, _) if error.is_body() || error.is_decode() => with_detail(Word::LlmBrokeWithin),
            (None, _) => with_detail(Word::LlmBrokeBefore),
        };
        self.redact(Error::retryable(message))
    }

    pub(super) fn timeout(&self, clock: Clock, after: Duration) -> Error {
        let word = match clock {
            Clock::Connect => Word::LlmLateConnect,
            Clock::Headers => Word::LlmLateHeaders,
            Clock::FirstToken => Word::LlmLateToken,
            Clock::Idle => Word::LlmLateIdle,
        };
        Error::retryable(Why::ours(word, [self.host(), seconds(after)]))
    }

    pub(super) fn cut(&self) -> Error {
        Error::retryable(Why::ours(Word::LlmCut, [self.host()]))
    }

    /// A success whose body is not the protocol.
    pub(super) fn not_an_answer(&self, what: Word, body: &[u8]) -> Error {
        let quote = quote(&String::from_utf8_lossy(body), QUOTE_CHARS);
        let (url, provider) = (self.url.as_str().into(), self.provider.as_str().into());
        let values = [url, what.into(), quote.into(), provider];
        let message = Why::ours(Word::LlmNoAnswer, values);
        // A page comes from a wrong address, however often it is asked for.
        self.redact(match matches!(what, Word::LlmWebPage) {
            true => Error::invalid(message),
            false => Error::garbled(message),
        })
    }

    pub(super) fn too_large(&self, cap: usize) -> Error {
        let most = (cap / (1024 * 1024)).to_string();
        Error::invalid(Why::ours(Word::LlmTooLarge, [self.host(), most.into()]))
    }

    /// The same error with every secret blanked out.
    pub(super) fn redact(&self, mut error: Error) -> Error {
        for secret in &self.secrets {
            error.why_mut().replace(secret.reveal(), REDACTED);
        }
        error
    }
}

/// What else lets one in at an endpoint: headers and parts of the address that carry a credential.
pub fn secrets_beside_key<'a>(
    headers: impl Iterator<Item = (&'a String, &'a String)>,
    url: Option<&Url>,
) -> Vec<Secret> {
    let bare = |value: &'a String| value.split_once(' ').map_or(&**value, |(_, rest)| rest);
    let mut secrets: Vec<Secret> = headers
        .filter(|(name, _)| is_sensitive(name))
        .map(|(_, value)| Secret::new(bare(value)))
        .collect();
    if let Some(url) = url {
        secrets.extend(url.password().map(Secret::new));
        let pairs = url.query_pairs().filter(|(name, _)| is_sensitive(name));
        secrets.extend(pairs.map(|(_, value)| Secret::new(value)));
    }
    secrets
}

fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"]
        .iter()
        .any(|word| name.contains(word))
}

fn redirect(headers: &HeaderMap) -> Why {
    let to = headers.get(http::header::LOCATION);
    let to = to.and_then(|to| to.to_str().ok());
    to.map_or(Word::LlmUnknownPlace.into(), |to| {
        without_secrets(to).into()
    })
}

/// What it says, and whether another try says the same.
fn tls_fault(error: &rustls::Error) -> (Why, bool) {
    match error {
        rustls::Error::Other(other) => match other.0.downcast_ref::<TrustFault>() {
            Some(fault) => (fault.0.clone(), true),
            None => (error.to_string().into(), false),
        },
        rustls::Error::InvalidCertificate(_) | rustls::Error::General(_) => {
            (error.to_string().into(), true)
        }
        _ => (error.to_string().into(), false),
    }
}

/// The wait a server asks for: `retry-after-ms`, `retry-after` as seconds or a date, or a delay in the body.
fn retry_after(headers: &HeaderMap, body: &str, now: jiff::Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = header("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok());
    millis
        .and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok())
        .or_else(|| header("retry-after").and_then(|text| seconds_or_date(text, now)))
        .or_else(|| delay_in(body))
}

fn seconds_or_date(text: &str, now: jiff::Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()?;
    Some(Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// `"retryDelay": "33s"` in the details of an error.
fn delay_in(body: &str) -> Option<Duration> {
    let after = body.split_once("\"retryDelay\"")?.1;
    let text = after.split('"').nth(1)?;
    let seconds = text.strip_suffix('s')?.parse::<f64>().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The vendor's own words in an error body, on one line; the body itself when it has no known shape.
fn vendor_message(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let object = match &parsed {
        Value::Array(items) => items.first().unwrap_or(&Value::Null),
        other => other,
    };
    let error = object.get("error").unwrap_or(object);
    let message = ["message", "detail", "error", "msg"]
        .iter()
        .find_map(|key| error.get(key)?.as_str())
        .or_else(|| error.as_str())
        .or_else(|| object.get("message")?.as_str())
        .or_else(|| object.pointer("/detail/0/msg")?.as_str());
    match message {
        Some(message) => {
            // A relay puts what the endpoint behind it said here.
            let behind = error.pointer("/metadata/raw").and_then(Value::as_str);
            let both = behind.map(|raw| format!("{message} ({})", vendor_message(raw)));
            one_line(both.as_deref().unwrap_or(message), MESSAGE_CHARS)
        }
        None => one_line(body, QUOTE_CHARS),
    }
}

fn one_line(text: &str, max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    quote(words.join(" ").trim_end_matches('.'), max)
}

/// At most `max` characters, with everything a terminal could act on spelled out.
fn quote(text: &str, max: usize) -> String {
    let mut out = String::new();
    for (n, (c, is_tricky)) in marked(text).enumerate() {
        if n == max {
            out.push('…');
            break;
        }
        if c.is_control() || is_tricky {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

fn seconds(duration: Duration) -> Why {
    let seconds = match duration.subsec_millis() {
        0 => duration.as_secs().to_string(),
        _ => format!("{:.1}", duration.as_secs_f64()),
    };
    Why::ours(Word::LlmSeconds, [seconds.into()])
}

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}

fn find<T: StdError + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).find_map(|error| error.downcast_ref::<T>())
}

/// TLS errors travel inside one `io::Error` or several, which hide what they hold from the chain.
fn find_tls(error: &reqwest::Error) -> Option<&rustls::Error> {
    find::<rustls::Error>(error).or_else(|| {
        let mut io = find::<std::io::Error>(error);
        while let Some(inner) = io.and_then(std::io::Error::get_ref) {
            if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
                return Some(tls);
            }
            io = inner.downcast_ref::<std::io::Error>();
        }
        None
    })
}

fn root_cause(error: &reqwest::Error) -> Why {
    let Some(cause) = chain(error).last() else {
        return Word::LlmUnknown.into();
    };
    let said = cause.to_string();
    if let Some(word) = LOOKUPS
        .iter()
        .find(|word| Language::English.say(**word) == said)
    {
        return (*word).into();
    }
    match cause.downcast_ref::<std::io::Error>().map(Why::from) {
        Some(known @ (Why::Ours(..) | Why::Joined(_))) => known,
        Some(Why::Said(_)) | None => quote(&cause.to_string(), QUOTE_CHARS).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_wait_a_server_asks_for() {
        let now: jiff::Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        for (headers, body, expect) in [
            (&[("retry-after", "7")][..], "", Some(7_000)),
            (&[("retry-after", " 1.5 ")], "", Some(1_500)),
            (&[("retry-after", "0")], "", Some(0)),
            (
                &[("retry-after-ms", "250"), ("retry-after", "9")],
                "",
                Some(250),
            ),
            (
                &[("retry-after", "Sun, 15 Nov 2026 08:00:20 GMT")],
                "",
                Some(20_000),
            ),
            (
                &[("retry-after", "Sun, 15 Nov 2026 07:00:00 GMT")],
                "",
                Some(0),
            ),
            (&[("retry-after", "86400")], "", Some(86_400_000)),
            (&[("retry-after", "1e99")], "", None),
            (&[("retry-after", "-1")], "", None),
            (&[("retry-after", "soon")], "", None),
            (&[], r#"{"details":[{"retryDelay": "33s"}]}"#, Some(33_000)),
            (&[], r#"{"details":[{"retryDelay": 33}]}"#, None),
            (&[], "", None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| {
                    let name = http::HeaderName::from_static(name);
                    (name, HeaderValue::from_static(value))
                })
                .collect();
            let after = retry_after(&map, body, now);
            assert_eq!(after.map(|d| d.as_millis()), expect, "{headers:?} {body}");
        }
    }
}
