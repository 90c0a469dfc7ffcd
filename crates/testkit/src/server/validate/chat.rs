//! Chat Completions: calls answered at once and once, contents where they must be.

use super::{Checked, ensure, has_content, is_json_object, list, unique_tools};
use crate::captured::items;
use serde_json::Value;

const MAX_NAME: usize = 64;
const MAX_ID: usize = 40;

pub(super) fn check(body: &Value) -> Checked {
    let missing = "Invalid 'messages': empty array. Expected an array with minimum length 1.";
    let messages = list(body, "messages", missing)?;
    ensure(
        body["stream"] == true || body["stream_options"].is_null(),
        || "The 'stream_options' parameter is only allowed when 'stream' is enabled.".into(),
    )?;
    check_tools(items(&body["tools"]))?;
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        match message["role"].as_str() {
            Some("system" | "developer" | "user") => {
                ensure(has_content(&message["content"]), || {
                    content_missing(at, message)
                })?;
                at += 1;
            }
            Some("assistant") => at += check_assistant(at, message, &messages[at + 1..])?,
            Some("tool") => {
                return Err(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a \
                     preceeding message with 'tool_calls'. (messages[{at}])"
                ));
            }
            Some(_) | None => {
                let role = &message["role"];
                return Err(format!("Invalid value: {role}. (messages[{at}].role)"));
            }
        }
    }
    Ok(())
}

/// Checks an assistant message and the results after it; says how many messages that were.
fn check_assistant(at: usize, message: &Value, after: &[Value]) -> Result<usize, String> {
    let calls = match &message["tool_calls"] {
        Value::Null => {
            let said = has_content(&message["content"]) || message["refusal"].is_string();
            ensure(said, || content_missing(at, message))?;
            return Ok(1);
        }
        calls => items(calls),
    };
    ensure(!calls.is_empty(), || {
        format!(
            "Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
    })?;
    let mut open: Vec<&str> = vec![];
    for (n, call) in calls.iter().enumerate() {
        let place = format!("messages[{at}].tool_calls[{n}]");
        ensure(call["type"] == "function", || {
            format!("Missing required parameter: '{place}.type'.")
        })?;
        let id = call["id"].as_str().unwrap_or_default();
        ensure((1..=MAX_ID).contains(&id.len()), || {
            format!("Invalid '{place}.id': expected a string of length 1 to {MAX_ID}, got '{id}'.")
        })?;
        ensure(!open.contains(&id), || {
            format!("Duplicate '{place}.id': {id}")
        })?;
        open.push(id);
        let function = &call["function"];
        let name = function["name"].as_str().unwrap_or_default();
        ensure(super::is_name(name, MAX_NAME), || {
            format!(
                "Invalid '{place}.function.name': '{name}' does not match '^[a-zA-Z0-9_-]{{1,{MAX_NAME}}}$'."
            )
        })?;
        let parses = function["arguments"].as_str().is_some_and(is_json_object);
        ensure(parses, || {
            let args = &function["arguments"];
            format!("Invalid '{place}.function.arguments': not a JSON object: {args}")
        })?;
    }
    let results = after.iter().take_while(|m| m["role"] == "tool");
    let mut seen = 1;
    for result in results {
        let id = result["tool_call_id"].as_str().unwrap_or_default();
        let slot = open.iter().position(|open| *open == id);
        let Some(slot) = slot else {
            return Err(format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous \
                 message, or answered twice. (messages[{}])",
                at + seen
            ));
        };
        open.swap_remove(slot);
        ensure(has_content(&result["content"]), || {
            content_missing(at + seen, result)
        })?;
        seen += 1;
    }
    ensure(open.is_empty(), || {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )
    })?;
    Ok(seen)
}

fn content_missing(at: usize, message: &Value) -> String {
    let content = &message["content"];
    format!(
        "Invalid value for 'messages[{at}].content': expected a string or a list, got {content}."
    )
}

fn check_tools(tools: &[Value]) -> Checked {
    for (at, tool) in tools.iter().enumerate() {
        ensure(
            tool["type"] == "function" && tool["function"].is_object(),
            || format!("Missing required parameter: 'tools[{at}].function'."),
        )?;
        let parameters = &tool["function"]["parameters"];
        ensure(
            parameters.is_null() || parameters["type"] == "object",
            || format!("Invalid schema for 'tools[{at}]': schema must have type 'object'."),
        )?;
    }
    let names = tools
        .iter()
        .map(|t| t["function"]["name"].as_str().unwrap_or_default());
    unique_tools(names.zip(0..), MAX_NAME)
}
