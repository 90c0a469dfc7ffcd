//! Messages: roles, blocks that say something, results right after their calls, signed thinking.

use super::{Checked, ensure, list, unique_tools};
use crate::Kind;
use crate::captured::{Captured, items};
use crate::seal;
use serde_json::Value;
use std::collections::HashSet;

const MAX_NAME: usize = 128;
const MAX_CACHE_MARKS: usize = 4;
const MIN_THINKING_BUDGET: u64 = 1024;

pub(super) fn check(request: &Captured) -> Checked {
    let body = &request.body;
    let version = request.header("anthropic-version").is_some();
    ensure(version, || "anthropic-version: header is required".into())?;
    let limit = body["max_tokens"].as_u64().unwrap_or(0);
    ensure(limit > 0, || "max_tokens: Field required".into())?;
    check_thinking_budget(&body["thinking"], limit)?;
    let marks = count_marks(body);
    ensure(marks <= MAX_CACHE_MARKS, || {
        format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
        )
    })?;
    check_tools(items(&body["tools"]))?;
    for block in items(&body["system"]) {
        check_text("system", block)?;
    }
    let messages = list(
        body,
        "messages",
        "messages: at least one message is required",
    )?;
    let first = messages.first().map(|m| &m["role"]);
    ensure(first.is_some_and(|role| role == "user"), || {
        "messages: first message must use the \"user\" role".into()
    })?;
    let last = messages.last().map(|m| &m["role"]);
    ensure(last.is_some_and(|role| role != "assistant"), || {
        "This model does not support assistant message prefill. The conversation must end with a user message.".into()
    })?;
    let mut ids = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message, request.model(), &mut ids)?;
        check_results(at, message, at.checked_sub(1).and_then(|n| messages.get(n)))?;
        check_answered(at, message, messages.get(at + 1))?;
    }
    Ok(())
}

fn check_message<'a>(
    at: usize,
    message: &'a Value,
    model: &str,
    ids: &mut HashSet<&'a str>,
) -> Checked {
    let role = message["role"].as_str().unwrap_or_default();
    ensure(["user", "assistant", "system"].contains(&role), || {
        format!("messages.{at}.role: Input should be 'user' or 'assistant'")
    })?;
    let empty = match &message["content"] {
        Value::String(text) => text.trim().is_empty(),
        other => items(other).is_empty(),
    };
    ensure(!empty, || {
        format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )
    })?;
    for (n, block) in items(&message["content"]).iter().enumerate() {
        let place = format!("messages.{at}.content.{n}");
        match block["type"].as_str() {
            Some("text") => check_text("messages", block)?,
            Some("thinking") => check_thinking(&place, block, model)?,
            Some("redacted_thinking") => {
                let blob = block["data"].as_str().unwrap_or_default();
                ensure(!blob.is_empty(), || {
                    format!("{place}.redacted_thinking.data: Field required")
                })?;
                seal::check(blob, Kind::Messages, model, None).map_err(|why| {
                    format!("{place}: Invalid `data` in `redacted_thinking` block: it {why}")
                })?;
            }
            Some("tool_use") => {
                ensure(role == "assistant", || {
                    format!("messages.{at}: `tool_use` blocks can only be in `assistant` messages")
                })?;
                check_tool_use(&place, block, ids)?;
            }
            Some("tool_result") => ensure(role == "user", || {
                format!("messages.{at}: `tool_result` blocks can only be in `user` messages")
            })?,
            Some(_) => {}
            None => return Err(format!("{place}.type: Field required")),
        }
    }
    Ok(())
}

fn check_text(place: &str, block: &Value) -> Checked {
    if block["type"] != "text" {
        return Ok(());
    }
    let text = block["text"].as_str().unwrap_or_default();
    ensure(!text.is_empty(), || {
        format!("{place}: text content blocks must be non-empty")
    })?;
    ensure(!text.trim().is_empty(), || {
        format!("{place}: text content blocks must contain non-whitespace text")
    })
}

fn check_thinking(place: &str, block: &Value, model: &str) -> Checked {
    let text = block["thinking"].as_str();
    let signature = block["signature"].as_str().unwrap_or_default();
    ensure(text.is_some(), || {
        format!("{place}.thinking.thinking: Field required")
    })?;
    ensure(!signature.is_empty(), || {
        format!("{place}.thinking.signature: Field required")
    })?;
    ensure(block["cache_control"].is_null(), || {
        format!("{place}.thinking.cache_control: Extra inputs are not permitted")
    })?;
    seal::check(signature, Kind::Messages, model, text)
        .map_err(|why| format!("{place}: Invalid `signature` in `thinking` block: it {why}"))
}

fn check_tool_use<'a>(place: &str, block: &'a Value, ids: &mut HashSet<&'a str>) -> Checked {
    let id = block["id"].as_str().unwrap_or_default();
    ensure(super::is_name(id, usize::MAX), || {
        format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    })?;
    ensure(ids.insert(id), || {
        format!("messages: `tool_use` ids must be unique ({id})")
    })?;
    let name = block["name"].as_str().unwrap_or_default();
    ensure(super::is_name(name, MAX_NAME), || {
        format!(
            "{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,{MAX_NAME}}}$'"
        )
    })?;
    ensure(block["input"].is_object(), || {
        format!("{place}.tool_use.input: Input should be a valid dictionary")
    })
}

/// Results belong to the calls of the message just before, once each, and come first.
fn check_results(at: usize, message: &Value, before: Option<&Value>) -> Checked {
    let calls: Vec<&str> = before.map(call_ids).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut other = false;
    for (n, block) in items(&message["content"]).iter().enumerate() {
        if block["type"] != "tool_result" {
            other = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        ensure(calls.contains(&id), || {
            format!(
                "messages.{at}.content.{n}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        })?;
        ensure(seen.insert(id), || {
            format!(
                "messages.{at}.content.{n}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )
        })?;
        ensure(!other, || {
            format!(
                "messages.{at}.content.{n}: `tool_result` blocks must come before other content"
            )
        })?;
        for inner in items(&block["content"]) {
            check_text("messages", inner)?;
        }
    }
    Ok(())
}

fn check_answered(at: usize, message: &Value, next: Option<&Value>) -> Checked {
    let results = next.map(|next| items(&next["content"])).unwrap_or_default();
    let answered = |id: &str| results.iter().any(|b| b["tool_use_id"] == id);
    let open: Vec<&str> = call_ids(message)
        .into_iter()
        .filter(|id| !answered(id))
        .collect();
    ensure(open.is_empty(), || {
        format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        )
    })
}

fn call_ids(message: &Value) -> Vec<&str> {
    let calls = items(&message["content"])
        .iter()
        .filter(|b| b["type"] == "tool_use");
    calls.filter_map(|b| b["id"].as_str()).collect()
}

fn check_thinking_budget(thinking: &Value, limit: u64) -> Checked {
    if thinking["type"] != "enabled" {
        return Ok(());
    }
    let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
    ensure(budget >= MIN_THINKING_BUDGET, || {
        format!(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_THINKING_BUDGET}"
        )
    })?;
    ensure(limit > budget, || {
        "`max_tokens` must be greater than `thinking.budget_tokens`.".into()
    })
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            let here = usize::from(map.get("cache_control").is_some_and(|v| !v.is_null()));
            here + map.values().map(count_marks).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(count_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn check_tools(tools: &[Value]) -> Checked {
    // Tools the vendor runs itself have a type and no schema.
    let own = || {
        tools
            .iter()
            .filter(|t| t["type"].is_null() || t["type"] == "custom")
    };
    for tool in own() {
        ensure(tool["input_schema"]["type"] == "object", || {
            let name = &tool["name"];
            format!("tools.{name}.input_schema.type: Input should be 'object'")
        })?;
    }
    let names = own().map(|t| t["name"].as_str().unwrap_or_default());
    unique_tools(names.zip(0..), MAX_NAME)
}
