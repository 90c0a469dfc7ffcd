//! From a model's answer to entries: calls get unique ids and arguments that are JSON objects, or a word on why not.

use crate::tools::{canonical_name, tool_search};
use ostler_llm::repair::{self, Ended};
use ostler_llm::{Answer, AnswerPart, ToolSpec};
use ostler_wire::{Json, Message, Origin, Part, Replay, Role, Stop, ToolUse};
use serde_json::Value;
use std::collections::HashSet;

#[cfg(test)]
mod tests;

/// An answer ready for the log.
pub struct Accepted {
    pub message: Message,
    pub calls: Vec<ToolUse>,
}

/// Calls of one answer that are taken at most; more are a model gone wild.
const MAX_CALLS: usize = 128;

/// `used` holds every call id of the session, and learns the new ones.
pub fn accept(
    mut answer: Answer,
    stop: Stop,
    origin: &Origin,
    tools: &[ToolSpec],
    used: &mut HashSet<String>,
) -> Accepted {
    if stop != Stop::Cut && stop != Stop::Interrupted {
        find_written_calls(&mut answer, tools);
    }
    let whole = !matches!(stop, Stop::Cut | Stop::Interrupted);
    let keep = |replay: Option<Json>| {
        replay.map(|data| Replay {
            origin: origin.clone(),
            data,
        })
    };
    let (mut parts, mut calls, mut text) = (Vec::new(), Vec::new(), String::new());
    repair::drop_repeats(&mut answer.parts);
    for part in answer.parts {
        match part {
            AnswerPart::Reasoning { text, replay } => parts.push(Part::Reasoning {
                text,
                replay: keep(replay).filter(|_| whole),
            }),
            AnswerPart::Text { text: more, replay } => {
                text.push_str(&more);
                parts.push(Part::Text {
                    text: more,
                    replay: keep(replay).filter(|_| whole),
                });
            }
            AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                // A call of an answer that did not end may lack its end too.
                if !whole || calls.len() >= MAX_CALLS {
                    continue;
                }
                let id = unique(id, used);
                calls.push(read_call(id.clone(), name, &arguments, stop, tools));
                parts.push(Part::Call {
                    id,
                    replay: keep(replay),
                });
            }
        }
    }
    Accepted {
        message: Message {
            role: Role::Assistant,
            text,
            typed: None,
            context: None,
            images: Vec::new(),
            parts,
            model: Some(origin.clone()),
            stop: Some(stop),
        },
        calls,
    }
}

/// Weaker models write calls as text. They count when nothing else was called.
fn find_written_calls(answer: &mut Answer, tools: &[ToolSpec]) {
    if answer
        .parts
        .iter()
        .any(|p| matches!(p, AnswerPart::Call { .. }))
    {
        return;
    }
    let names: Vec<&str> = tools.iter().map(|t| t.name.as_str()).collect();
    let Some(AnswerPart::Text { text, .. }) = answer
        .parts
        .iter_mut()
        .rev()
        .find(|p| matches!(p, AnswerPart::Text { .. }))
    else {
        return;
    };
    let Some(found) = repair::calls_in_text(text, &names) else {
        return;
    };
    let (before, calls) = found;
    *text = before;
    for (name, arguments) in calls {
        answer.parts.push(AnswerPart::Call {
            id: String::new(),
            name,
            arguments,
            replay: None,
        });
    }
    answer
        .parts
        .retain(|p| !matches!(p, AnswerPart::Text { text, replay: None } if text.is_empty()));
}

fn read_call(id: String, name: String, arguments: &str, stop: Stop, tools: &[ToolSpec]) -> ToolUse {
    let ended = match stop {
        Stop::Length | Stop::Cut | Stop::Interrupted => Ended::Cut,
        Stop::End | Stop::Calls | Stop::Refusal => Ended::Whole,
    };
    let names: Vec<&str> = tools.iter().map(|t| t.name.as_str()).collect();
    let mut name = repair::tool_name(&name, &names).to_owned();
    let mut via = None;
    let (input, repair) = match repair::arguments(arguments, ended) {
        Ok(mut mended) => {
            if let Some((tool, arguments)) = looked_up(&name, &mended.text) {
                via = Some(std::mem::replace(&mut name, tool));
                mended.text = arguments;
            }
            let known_as = canonical_name(&name).unwrap_or(&name);
            let schema = tools
                .iter()
                .find(|t| t.name == known_as)
                .map(|t| t.parameters.to_value());
            let (text, coerced) = match schema {
                Some(schema) => coerce(mended.text, &schema),
                None => (mended.text, false),
            };
            let note = match (mended.note, coerced) {
                (Some(note), _) => Some(note),
                (None, true) => Some("argument types were adjusted to the schema".to_owned()),
                (None, false) => None,
            };
            match Json::from_text(text) {
                Ok(input) => (input, note),
                Err(e) => (empty(), Some(format!("unreadable: {e}"))),
            }
        }
        Err(why) => (empty(), Some(format!("unreadable: {why}"))),
    };
    ToolUse {
        id,
        name,
        input,
        repair,
        by: None,
        via,
    }
}

/// The call that one of `tool_search` stands for: what is run, asked for and shown is that one.
fn looked_up(name: &str, arguments: &str) -> Option<(String, String)> {
    if canonical_name(name) != Some(tool_search::NAME) {
        return None;
    }
    let input = serde_json::from_str(arguments).ok()?;
    let (tool, arguments) = tool_search::inner(&input)?;
    let arguments = match arguments {
        // Some models write objects within arguments as text.
        Some(Value::String(text)) => repair::arguments(text, Ended::Whole).ok()?.text,
        Some(arguments) => arguments.to_string(),
        None => "{}".into(),
    };
    Some((tool.to_owned(), arguments))
}

/// Strings for numbers and the like, where the schema leaves no doubt. Untouched text stays byte for byte.
fn coerce(text: String, schema: &Value) -> (String, bool) {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return (text, false);
    };
    let before = value.clone();
    repair::coerce(&mut value, schema);
    if value == before {
        (text, false)
    } else {
        (value.to_string(), true)
    }
}

fn empty() -> Json {
    Json::from(serde_json::json!({}))
}

/// Models and servers reuse ids; a session does not.
fn unique(id: String, used: &mut HashSet<String>) -> String {
    let base = if id.is_empty() { "call".to_owned() } else { id };
    let mut candidate = base.clone();
    let mut n = used.len();
    while !used.insert(candidate.clone()) {
        n += 1;
        candidate = format!("{base}_{n}");
    }
    candidate
}
