//! Refuses requests the real vendors would refuse, in words close to theirs. Each protocol has
//! its own file; here is only what they share.

mod chat;
mod gemini;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use crate::Kind;
use crate::captured::Captured;
use serde_json::Value;
use std::collections::HashSet;

type Checked = Result<(), String>;

pub(crate) fn check(request: &Captured) -> Checked {
    let kind = request.kind().ok_or("this path is no model endpoint")?;
    if !request.body.is_object() {
        return Err("We could not parse the JSON body of your request.".into());
    }
    ensure(!request.model().is_empty(), || {
        "model: Field required".into()
    })?;
    match kind {
        Kind::Chat => chat::check(&request.body),
        Kind::Responses => responses::check(request),
        Kind::Messages => messages::check(request),
        Kind::Gemini => gemini::check(request),
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}

/// The non-empty list at `key`.
fn list<'a>(body: &'a Value, key: &str, missing: &str) -> Result<&'a [Value], String> {
    match body[key].as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        Some(_) | None => Err(missing.into()),
    }
}

/// Names of functions and tools: letters, digits, `_` and `-`.
fn is_name(name: &str, max: usize) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=max).contains(&name.len()) && name.chars().all(ok)
}

fn unique_tools<'a>(names: impl Iterator<Item = (&'a str, usize)>, max: usize) -> Checked {
    let mut seen = HashSet::new();
    for (name, at) in names {
        ensure(is_name(name, max), || {
            format!(
                "Invalid 'tools[{at}].name': '{name}' does not match '^[a-zA-Z0-9_-]{{1,{max}}}$'."
            )
        })?;
        ensure(seen.insert(name), || {
            format!("Tool names must be unique: {name}")
        })?;
    }
    Ok(())
}

fn is_json_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object())
}

/// A string, or a list with something in it.
fn has_content(value: &Value) -> bool {
    value.is_string() || value.as_array().is_some_and(|list| !list.is_empty())
}
