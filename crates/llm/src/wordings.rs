//! What vendors' words in an error mean, by a table.

use crate::rows;
use serde::Deserialize;
use std::sync::OnceLock;

const TABLE: &str = include_str!("../data/errors.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    kind: Meaning,
    status: Vec<u16>,
    contains: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Meaning {
    Overflow,
    Replay,
    Auth,
    Fatal,
}

/// Whether a vendor's words say that the prompt does not fit. For errors that come inside a stream, without a status.
pub fn says_overflow(text: &str) -> bool {
    let text = text.to_lowercase();
    rules()
        .iter()
        .filter(|rule| rule.kind == Meaning::Overflow)
        .any(|rule| rule.contains.iter().any(|words| text.contains(words)))
}

fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(|| rows::rows(TABLE, "rule").filter_map(rows::parse).collect())
}

/// The first row whose status and words fit.
pub(crate) fn meaning(status: u16, body: &str) -> Option<Meaning> {
    let body = body.to_lowercase();
    rules()
        .iter()
        .filter(|rule| rule.status.contains(&status))
        .find(|rule| {
            rule.contains.is_empty() || rule.contains.iter().any(|words| body.contains(words))
        })
        .map(|rule| rule.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        #[derive(Deserialize)]
        struct Table {
            rule: Vec<Rule>,
        }
        let whole: Table = toml::from_str(TABLE).unwrap();
        assert_eq!(rules().len(), whole.rule.len());
        for rule in &whole.rule {
            for words in &rule.contains {
                assert_eq!(*words, words.to_lowercase());
            }
        }
    }

    #[test]
    fn wordings_of_a_full_window() {
        for text in [
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "prompt is too long: 208310 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "the request exceeds the available context size. try increasing the context size or enable context shift",
            "Please reduce the length of the messages or completion.",
            "Input is too long for requested model.",
            "Prompt exceeds max length",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        ] {
            assert!(says_overflow(text), "{text}");
        }
        for text in [
            "Rate limit reached for requests",
            "model not found",
            "max_tokens is too large",
        ] {
            assert!(!says_overflow(text), "{text}");
        }
    }
}
