//! Tells calls that a model makes from calls that it repeats: a call as text that stands in something the session has
//! read is a quotation or an injection. Reads entries of the log; decides nothing else.

use super::refusal;
use crate::tools::canonical_name;
use ostler_llm::Prefix;
use ostler_llm::repair::mentioned_calls;
use ostler_wire::{Body, Entry, Origin, Role};
use serde_json::Value;
use std::borrow::Borrow;

/// Whether this endpoint has made a real call in the session, so that it needs no text for one.
pub fn delivers_calls<E: Borrow<Entry>>(entries: &[E], origin: &Origin, written: &str) -> bool {
    let mut by_origin = false;
    entries.iter().any(|entry| match &entry.borrow().body {
        Body::Message(message) if message.role == Role::Assistant => {
            by_origin = message.model.as_ref() == Some(origin);
            false
        }
        Body::ToolUse(call) => {
            let is_text = call
                .repair
                .as_deref()
                .is_some_and(|note| note.contains(written));
            // Of one that could not be read the log does not say how it came.
            by_origin && call.by.is_none() && !is_text && refusal(call).is_none()
        }
        Body::Message(_)
        | Body::Meta(_)
        | Body::ToolResult(_)
        | Body::Usage(_)
        | Body::Settings(_)
        | Body::Mode(_)
        | Body::Approval(_)
        | Body::Todo(_)
        | Body::Checkpoint(_)
        | Body::Compaction(_)
        | Body::Notice(_)
        | Body::Error(_)
        | Body::Interrupted(_)
        | Body::Rewind(_)
        | Body::TurnEnd(_) => false,
    })
}

/// Whether one of the calls stands in a prompt, a result, or the instructions. `text` is how the answer has them.
pub fn is_quotation<E: Borrow<Entry>>(
    entries: &[E],
    prefix: &Prefix,
    calls: &[(String, String)],
    text: &str,
) -> bool {
    let calls: Vec<(&str, Value)> = calls
        .iter()
        .map(|(name, arguments)| {
            let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
            (known_name(name), arguments)
        })
        .collect();
    let text = without_blanks(text);
    let holds = |source: &str| {
        source.contains(['<', '[', '{', '&'])
            && spellings(source)
                .iter()
                .any(|source| holds_call(source, &calls, &text))
    };
    let described = prefix.tools.iter().any(|tool| holds(&tool.description));
    described
        || holds(&prefix.system)
        || entries.iter().any(|entry| match &entry.borrow().body {
            Body::Message(message) => match message.role {
                Role::Assistant => false,
                Role::User | Role::System => {
                    let parts = [message.typed.as_deref(), message.context.as_deref()];
                    holds(&message.text) || parts.into_iter().flatten().any(holds)
                }
            },
            Body::ToolResult(result) => any_text(&result.output.to_value(), &holds),
            Body::Meta(_)
            | Body::ToolUse(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Checkpoint(_)
            | Body::Compaction(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::Interrupted(_)
            | Body::Rewind(_)
            | Body::TurnEnd(_) => false,
        })
}

/// The name of the tool that is meant, however it is written.
fn known_name(name: &str) -> &str {
    let bare = name.rsplit(['.', '/']).next().unwrap_or(name);
    canonical_name(bare).unwrap_or(bare)
}

fn any_text(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, holds)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, holds)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The same words, or a call of the same tool with the same arguments in any notation. Arguments that one of them has
/// beside the common ones do not make it another call.
fn holds_call(source: &str, calls: &[(&str, Value)], text: &str) -> bool {
    let Some(mentioned) = mentioned_calls(source) else {
        return true;
    };
    let is_within = |one: &Value, other: &Value| match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            !one.is_empty()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name) == Some(value))
        }
        (one, other) => one == other,
    };
    let is_same = |(name, arguments): &(String, String)| {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
        calls.iter().any(|(own, given)| {
            let same = arguments == *given;
            *own == known_name(name)
                && (same || is_within(&arguments, given) || is_within(given, &arguments))
        })
    };
    mentioned.iter().any(is_same) || without_blanks(source).contains(text)
}

/// A text as it is, and as it reads without what surrounds the lines of a file in listings, quotations and comments, and
/// without the escapes of JSON and HTML.
fn spellings(source: &str) -> Vec<String> {
    let bare: Vec<&str> = source.lines().map(without_leader).collect();
    let bare = bare.join("\n");
    let unescaped = |text: &str| {
        let text = text.replace("\\n", "\n").replace("\\t", "\t");
        let text = text.replace("\\\"", "\"").replace("\\\\", "\\");
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        text.replace("&quot;", "\"").replace("&amp;", "&")
    };
    let mut all = vec![source.to_owned(), unescaped(source), unescaped(&bare), bare];
    all.dedup();
    all
}

/// A line without its number, its path as in search results, and the marks of diffs, quotations, lists and comments.
fn without_leader(line: &str) -> &str {
    let mut rest = line.trim_start();
    if let Some((place, after)) = rest.split_once(':')
        && !place.contains(char::is_whitespace)
        && let Some((number, text)) = after.split_once([':', '-'])
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        rest = text.trim_start();
    }
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < rest.len() {
        rest = number.trim_start_matches(['\t', ' ', '→', ':', '|', '.', ')']);
    }
    rest.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '>' | '+' | '-' | '*' | '/' | '#' | '|')
    })
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
