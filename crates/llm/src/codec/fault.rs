//! From an error object inside an answer to one of our errors. The four protocols differ little here, so one reader
//! serves all. Answers with an error status never get here.

use super::loose::Fields;
use crate::{Error, rows};
use ostler_wire::{Why, Word};
use serde::Deserialize;
use std::sync::OnceLock;
use std::time::Duration;

/// The longest error text that is passed on.
const MAX_MESSAGE_CHARS: usize = 2_000;

const TABLE: &str = include_str!("../../data/errors.toml");

/// What words in an error say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Says {
    /// No money, no use in trying again.
    Broke,
    Retry,
    Auth,
    Invalid,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    kind: Says,
    contains: Vec<String>,
}

fn phrases() -> &'static [Phrases] {
    static PHRASES: OnceLock<Vec<Phrases>> = OnceLock::new();
    PHRASES.get_or_init(|| {
        rows::rows(TABLE, "phrases")
            .filter_map(rows::parse)
            .collect()
    })
}

/// Whether a text, in small letters, says this.
fn says(text: &str, what: Says) -> bool {
    let fitting = phrases().iter().filter(|phrases| phrases.kind == what);
    let mut words = fitting.flat_map(|phrases| &phrases.contains);
    words.any(|words| text.contains(words.as_str()))
}

/// Reads an error frame: `{"error": {…}}`, `{"error": "…"}`, or a bare error object.
pub(super) fn read(body: &str) -> Error {
    let outer = Fields::of(body);
    let inner = outer.object("error");
    let pick = |key: &str| {
        inner
            .text(key)
            .or_else(|| outer.text(key))
            .unwrap_or_default()
    };
    let number = |key: &str| inner.count(key).or_else(|| outer.count(key));
    let named = [pick("code"), pick("type"), pick("status")].join(" ");
    let said = [
        pick("message"),
        outer.text("error").unwrap_or_default(),
        outer.text("detail").unwrap_or_default(),
    ];
    let said = said
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    // A gateway's own words are less use than those of the endpoint behind it.
    let behind = inner.object("metadata").text("raw").unwrap_or_default();
    let status = number("code")
        .or_else(|| number("status"))
        .and_then(|n| u16::try_from(n).ok());
    classify(status, &named, &said, &behind)
}

fn classify(status: Option<u16>, named: &str, said: &str, behind: &str) -> Error {
    let all = format!("{named} {said} {behind}").to_lowercase();
    let message = message(status, named, said, behind);
    let limited = status == Some(429) || all.contains("rate_limit");
    if !limited && (status == Some(413) || crate::wordings::says_overflow(&all)) {
        return Error::Overflow { message };
    }
    if status == Some(402) || says(&all, Says::Broke) {
        return Error::Fatal { message, status };
    }
    let retryable = || Error::Retryable {
        message: message.clone(),
        status,
        after: wait(&all),
    };
    match status {
        Some(401 | 403) => Error::Auth { message },
        Some(408 | 425 | 429 | 500..=599) => retryable(),
        Some(400..=499) if says(&all, Says::Auth) => Error::Auth { message },
        Some(400..=499) => Error::Fatal { message, status },
        // No status: the request had been accepted, so unless the error says otherwise another try may work.
        _ => {
            let named = named.to_lowercase();
            let is = |what: Says| says(&named, what);
            if is(Says::Auth) {
                Error::Auth { message }
            } else if is(Says::Invalid) && !is(Says::Retry) {
                Error::Fatal { message, status }
            } else {
                retryable()
            }
        }
    }
}

fn message(status: Option<u16>, named: &str, said: &str, behind: &str) -> Why {
    let told = match said {
        "" => named.trim(),
        said => said,
    };
    match (told, behind, status) {
        ("", "", Some(status)) => Why::ours(Word::LlmSentError, [status.to_string().into()]),
        ("", "", None) => Word::LlmSentSomeError.into(),
        (told, "", _) | ("", told, _) => short(told.to_owned()).into(),
        (told, behind, _) if told.contains(behind) => short(told.to_owned()).into(),
        (told, behind, _) => short(format!("{told}: {behind}")).into(),
    }
}

fn short(mut text: String) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => {
            text.truncate(end);
            text + "…"
        }
        None => text,
    }
}

/// "… try again in 1.5s …": some endpoints tell the wait only in words.
fn wait(text: &str) -> Option<Duration> {
    let rest = text
        .split_once("try again in ")
        .or_else(|| text.split_once("retry in "))?
        .1;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, unit) = rest.split_at_checked(digits)?;
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let unit = unit.trim_start();
    let seconds = if unit.starts_with("ms") || unit.starts_with("milli") {
        number / 1000.0
    } else if unit.starts_with('m') {
        number * 60.0
    } else {
        number
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::Error;
    use std::time::Duration;

    #[test]
    fn every_phrase_of_the_table_is_read() {
        let whole: toml::Table = toml::from_str(super::TABLE).unwrap();
        let written = whole["phrases"].as_array().unwrap().len();
        assert_eq!((super::phrases().len(), written), (4, 4));
    }

    #[test]
    fn errors_are_typed_by_what_can_be_done() {
        for (body, kind) in [
            (
                r#"{"error":{"message":"slow","type":"rate_limit_error"}}"#,
                "retryable",
            ),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "retryable",
            ),
            (
                r#"{"error":{"code":502,"message":"Provider returned error"}}"#,
                "retryable",
            ),
            (
                r#"{"error":{"code":429,"message":"…","status":"RESOURCE_EXHAUSTED"}}"#,
                "retryable",
            ),
            (r#"{"error":{"message":"something odd"}}"#, "retryable"),
            (
                r#"{"type":"error","code":"server_error","message":"oops"}"#,
                "retryable",
            ),
            (
                r#"{"error":{"type":"rate_limit_exceeded","message":"over the context window's tokens per minute"}}"#,
                "retryable",
            ),
            (
                r#"{"error":{"type":"invalid_request_error","message":"no"}}"#,
                "fatal",
            ),
            (
                r#"{"error":{"code":429,"message":"insufficient_quota"}}"#,
                "fatal",
            ),
            (
                r#"{"error":{"code":404,"message":"no such model"}}"#,
                "fatal",
            ),
            (
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
                "overflow",
            ),
            (
                r#"{"error":{"code":"context_length_exceeded","message":"…"}}"#,
                "overflow",
            ),
            (
                r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#,
                "overflow",
            ),
            (
                r#"{"error":{"code":401,"message":"Incorrect API key"}}"#,
                "auth",
            ),
            (
                r#"{"error":{"type":"permission_error","message":"no"}}"#,
                "auth",
            ),
        ] {
            let error = read(body);
            assert_eq!(error.kind(), kind, "{body} gave {error:?}");
        }
    }

    #[test]
    fn the_wait_is_read_from_the_words() {
        for (text, expect) in [
            ("Please try again in 1.5s.", Some(1500)),
            ("try again in 20ms", Some(20)),
            ("Please retry in 2 minutes", Some(120_000)),
            ("try again in a while", None),
        ] {
            let body = format!(r#"{{"error":{{"type":"rate_limit_error","message":"{text}"}}}}"#);
            let Error::Retryable { after, .. } = read(&body) else {
                panic!("not retryable: {text}");
            };
            assert_eq!(after, expect.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn the_message_is_the_most_telling_one() {
        for (body, expect) in [
            (r#"{"error":{"message":"m"}}"#, "m"),
            (r#"{"error":"flat"}"#, "flat"),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"deep"}}}"#,
                "Provider returned error: deep",
            ),
            (
                r#"{"error":{"type":"overloaded_error"}}"#,
                "overloaded_error",
            ),
            (
                r#"{"error":{"code":502}}"#,
                "the endpoint sent error 502 without an explanation",
            ),
        ] {
            assert_eq!(read(body).to_string(), expect);
        }
    }
}
