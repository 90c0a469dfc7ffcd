//! Mends calls that weaker models get wrong, before they are refused. A repair never changes meaning:
//! where two readings are possible, an error sentence tells the model what to do instead. Pure, linear, bounded.

mod around;
mod coerce;
mod foreign;
mod json;
mod names;
mod notation;
mod surroundings;
mod text;
mod unique;
mod written;

#[cfg(test)]
mod tests;

pub use coerce::coerce;
pub use json::Ended;
pub use names::bare_name;
pub use text::{Doubt, Written, calls_in_text, mentioned_calls};

use crate::AnswerPart;
use around::Tail;
use json::{Fix, Trouble};
use serde_json::{Map, Value};

/// Arguments over this size are only ever read as they are.
const MAX_MENDED_BYTES: usize = 4 * 1024 * 1024;
/// How often JSON may be wrapped in a string.
const MAX_ENCODED: usize = 2;
/// What stands for no arguments in other languages.
const WORDS_FOR_NOTHING: [&str; 3] = ["None", "undefined", "nil"];
/// What is quoted of the place where reading stopped.
const QUOTE_CHARS: usize = 24;

/// Arguments as an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Mended {
    /// The text of the object: what the model wrote when nothing had to be mended.
    pub text: String,
    pub value: Map<String, Value>,
    /// What was mended, for the log.
    pub note: Option<String>,
}

/// Reads the argument text of a call. The error is a sentence for the model.
pub fn arguments(text: &str, ended: Ended) -> Result<Mended, String> {
    let mut fixes = Vec::new();
    let text = object(text, ended, MAX_ENCODED, &mut fixes)?;
    match unique::check(&text) {
        Ok(unique::Names::Unique) => {}
        Ok(unique::Names::Repeated) => fixes.push(Fix::Twice),
        Err(name) => {
            return Err(format!(
                "The arguments of this call have `{}` twice, with different values, so it was not run. \
                Send it again with one value.",
                quote(&name)
            ));
        }
    }
    let value = serde_json::from_str(&text)
        .map_err(|error| sentence(&format!("they cannot be read ({error})")))?;
    fixes.sort_unstable();
    fixes.dedup();
    let words: Vec<&str> = fixes.iter().map(|fix| fix.words()).collect();
    Ok(Mended {
        text,
        value,
        note: (!words.is_empty()).then(|| format!("mended {}", words.join(", "))),
    })
}

/// Drops calls that repeat the one before with the same id, as some gateways send them. Returns how many.
/// Equal calls with ids of their own, or without ids, may be meant and stay.
pub fn drop_repeats(parts: &mut Vec<AnswerPart>) -> usize {
    let before = parts.len();
    parts.dedup_by(|next, kept| match (next, kept) {
        (
            AnswerPart::Call {
                id,
                name,
                arguments,
                ..
            },
            AnswerPart::Call {
                id: kept_id,
                name: kept_name,
                arguments: kept_arguments,
                ..
            },
        ) => !id.is_empty() && id == kept_id && name == kept_name && arguments == kept_arguments,
        (
            AnswerPart::Call { .. } | AnswerPart::Text { .. } | AnswerPart::Reasoning { .. },
            AnswerPart::Call { .. } | AnswerPart::Text { .. } | AnswerPart::Reasoning { .. },
        ) => false,
    });
    before - parts.len()
}

/// The text of one strict JSON object, with what had to be mended.
fn object(
    text: &str,
    ended: Ended,
    encoded: usize,
    fixes: &mut Vec<Fix>,
) -> Result<String, String> {
    let trimmed = text.trim().trim_start_matches('\u{feff}');
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Object(_)) => return Ok(trimmed.to_owned()),
        Ok(Value::Null) => {
            fixes.push(Fix::Empty);
            return Ok("{}".to_owned());
        }
        Ok(Value::String(inner)) if encoded > 0 => {
            fixes.push(Fix::Encoded);
            return object(&inner, ended, encoded - 1, fixes);
        }
        Ok(Value::Array(items)) if items.is_empty() => {
            fixes.push(Fix::Empty);
            return Ok("{}".to_owned());
        }
        Ok(Value::Array(items)) if items.len() == 1 && encoded > 0 => {
            fixes.push(Fix::Wrapped);
            let inside = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let inside = inside.unwrap_or(trimmed);
            return match items.as_slice() {
                [Value::Object(_)] => Ok(inside.trim().to_owned()),
                [Value::Array(_)] => object(inside, ended, encoded - 1, fixes),
                [Value::String(text)] if text.trim_start().starts_with('{') => {
                    object(inside, ended, encoded, fixes)
                }
                _ => Err(sentence("they are a list")),
            };
        }
        Ok(Value::Array(_)) => return Err(sentence("they are a list")),
        Ok(Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            return Err(sentence("they are a single value"));
        }
        Err(_) => {}
    }
    match (trimmed.is_empty(), ended) {
        (true, Ended::Whole) => {
            fixes.push(Fix::Empty);
            return Ok("{}".to_owned());
        }
        (true, Ended::Cut) => return Err(cut_after(0)),
        (false, _) => {}
    }
    if trimmed.len() > MAX_MENDED_BYTES {
        return Err(sentence("they are not valid JSON and too long to mend"));
    }
    mend(trimmed, ended, encoded, fixes)
}

fn mend(text: &str, ended: Ended, encoded: usize, fixes: &mut Vec<Fix>) -> Result<String, String> {
    let body = without_fence(text);
    if body.len() != text.len() {
        fixes.push(Fix::Fence);
    }
    if WORDS_FOR_NOTHING.contains(&body) {
        fixes.push(Fix::Empty);
        return Ok("{}".to_owned());
    }
    if encoded > 0
        && let Some(inner) = without_escapes(body)
    {
        fixes.push(Fix::Encoded);
        return object(&inner, ended, encoded - 1, fixes);
    }
    let braced;
    let body = match around::without_lead(body) {
        Some(rest) => {
            if rest.len() < body.len() {
                fixes.push(Fix::Around);
            }
            rest
        }
        None if json::begins_with_name(body) => {
            fixes.push(Fix::Braces);
            braced = format!("{{{body}");
            &braced
        }
        None => return Err(sentence("they do not begin with `{`")),
    };
    let mut first: Option<(String, Value)> = None;
    let mut rest = body;
    while rest.starts_with('{') {
        let read = json::read(rest, ended).map_err(|trouble| match trouble {
            Trouble::Ends => cut_after(text.len()),
            Trouble::At(at, what) => {
                let here = quote(rest.get(at..).unwrap_or(""));
                sentence(&format!("{what}, at byte {at}: `{here}`"))
            }
        })?;
        fixes.extend(read.fixes);
        rest = rest.get(read.used..).unwrap_or("").trim_start();
        let value: Value = serde_json::from_str(&read.json)
            .map_err(|error| sentence(&format!("they cannot be read ({error})")))?;
        let empty = value.as_object().is_some_and(Map::is_empty);
        match &first {
            Some((_, kept)) if *kept == value => fixes.push(Fix::Repeats),
            Some(_) if empty => fixes.push(Fix::Repeats),
            // An empty object before the real one carries nothing.
            Some((_, kept)) if kept.as_object().is_some_and(Map::is_empty) => {
                fixes.push(Fix::Repeats);
                first = Some((read.json, value));
            }
            Some(_) => {
                return Err(
                    "The arguments hold several different objects. Send one call for each."
                        .to_owned(),
                );
            }
            None => first = Some((read.json, value)),
        }
    }
    let (json, _) = first.ok_or_else(|| sentence("there is no object"))?;
    match around::judge_tail(rest, ended) {
        Tail::Nothing => {}
        Tail::Marks => fixes.push(Fix::Extra),
        Tail::Words => fixes.push(Fix::Around),
        Tail::More => {
            let what = format!("there is text after the object, from `{}` on", quote(rest));
            return Err(sentence(&what));
        }
    }
    Ok(json)
}

/// The text of an object whose quotes are escaped as they are inside of a string.
fn without_escapes(text: &str) -> Option<String> {
    let inside = text.strip_prefix('{')?.trim_start();
    inside.starts_with("\\\"").then_some(())?;
    serde_json::from_str(&format!("\"{}\"", text.replace('\n', "\\n"))).ok()
}

/// The inside of a text that is one fenced block.
fn without_fence(text: &str) -> &str {
    let Some((_, inside)) = text
        .strip_prefix("```")
        .and_then(|rest| rest.split_once('\n'))
    else {
        return text;
    };
    let inside = inside.trim();
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// What the model reads of a call whose arguments end too early. Only closing brackets are ever added.
pub fn cut_after(bytes: usize) -> String {
    format!(
        "The arguments of this call were cut off after {bytes} bytes, so it was not run. \
        Send the call again, in smaller parts if it is long."
    )
}

fn sentence(what: &str) -> String {
    format!(
        "The arguments of this call are not one JSON object: {what}. The call was not run. \
        Send it again with names and strings in double quotes, and quotes, backslashes and line breaks inside strings escaped."
    )
}

fn quote(text: &str) -> String {
    text.chars().take(QUOTE_CHARS).collect()
}
