//! Responses: calls and outputs matched by `call_id`, reasoning items whole and followed.

use super::{Checked, ensure, has_content, is_json_object, list, unique_tools};
use crate::Kind;
use crate::captured::{Captured, items};
use crate::seal;
use serde_json::Value;

const MAX_NAME: usize = 64;
const MAX_CALL_ID: usize = 64;
const MIN_OUTPUT_TOKENS: u64 = 16;

pub(super) fn check(request: &Captured) -> Checked {
    let body = &request.body;
    let limit = body["max_output_tokens"].as_u64();
    ensure(limit.is_none_or(|n| n >= MIN_OUTPUT_TOKENS), || {
        format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {MIN_OUTPUT_TOKENS}."
        )
    })?;
    let functions = items(&body["tools"])
        .iter()
        .filter(|t| t["type"] == "function");
    let names = functions.map(|t| t["name"].as_str().unwrap_or_default());
    unique_tools(names.zip(0..), MAX_NAME)?;
    if body["input"].is_string() {
        return Ok(());
    }
    let input = list(body, "input", "Missing required parameter: 'input'.")?;
    let mut calls: Vec<(&str, bool)> = vec![];
    for (at, item) in input.iter().enumerate() {
        match item["type"].as_str().unwrap_or("message") {
            "message" => check_message(at, item)?,
            "function_call" => check_call(at, item, &mut calls)?,
            "function_call_output" => check_output(at, item, &mut calls)?,
            "reasoning" => check_reasoning(at, item, input.get(at + 1), request)?,
            _ => {}
        }
    }
    match calls.iter().find(|(_, answered)| !answered) {
        Some((id, _)) => Err(format!("No tool output found for function call {id}.")),
        None => Ok(()),
    }
}

fn check_message(at: usize, item: &Value) -> Checked {
    let role = item["role"].as_str().unwrap_or_default();
    let known = ["user", "assistant", "system", "developer"];
    ensure(known.contains(&role), || {
        format!("Invalid value: '{role}'. (input[{at}].role)")
    })?;
    check_item_id(at, item, "msg")?;
    ensure(has_content(&item["content"]), || {
        format!("Missing required parameter: 'input[{at}].content'.")
    })?;
    let (kinds, said) = match role {
        "assistant" => (
            ["output_text", "refusal", "refusal"],
            "'output_text' and 'refusal'",
        ),
        _ => (
            ["input_text", "input_image", "input_file"],
            "'input_text', 'input_image', and 'input_file'",
        ),
    };
    for (n, part) in items(&item["content"]).iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        ensure(kinds.contains(&kind), || {
            format!(
                "Invalid value: '{kind}'. Supported values are: {said}. (input[{at}].content[{n}])"
            )
        })?;
    }
    Ok(())
}

fn check_call<'a>(at: usize, item: &'a Value, calls: &mut Vec<(&'a str, bool)>) -> Checked {
    check_item_id(at, item, "fc")?;
    let id = item["call_id"].as_str().unwrap_or_default();
    ensure((1..=MAX_CALL_ID).contains(&id.len()), || {
        format!(
            "Invalid 'input[{at}].call_id': expected a string of length 1 to {MAX_CALL_ID}, got '{id}'."
        )
    })?;
    ensure(!calls.iter().any(|(known, _)| *known == id), || {
        format!("Duplicate function call with call_id {id}.")
    })?;
    let name = item["name"].as_str().unwrap_or_default();
    ensure(super::is_name(name, MAX_NAME), || {
        format!(
            "Invalid 'input[{at}].name': '{name}' does not match '^[a-zA-Z0-9_-]{{1,{MAX_NAME}}}$'."
        )
    })?;
    ensure(
        item["arguments"].as_str().is_some_and(is_json_object),
        || {
            format!(
                "Invalid 'input[{at}].arguments': not a JSON object: {}",
                item["arguments"]
            )
        },
    )?;
    calls.push((id, false));
    Ok(())
}

fn check_output(at: usize, item: &Value, calls: &mut [(&str, bool)]) -> Checked {
    let id = item["call_id"].as_str().unwrap_or_default();
    let call = calls.iter_mut().find(|(known, _)| *known == id);
    let Some((_, answered)) = call else {
        return Err(format!(
            "No tool call found for function call output with call_id {id}."
        ));
    };
    ensure(!*answered, || {
        format!("Duplicate function call output with call_id {id}.")
    })?;
    *answered = true;
    ensure(has_content(&item["output"]), || {
        format!("Missing required parameter: 'input[{at}].output'.")
    })
}

fn check_reasoning(at: usize, item: &Value, next: Option<&Value>, request: &Captured) -> Checked {
    check_item_id(at, item, "rs")?;
    let id = item["id"].as_str().unwrap_or_default();
    ensure(item["summary"].is_array(), || {
        format!("Missing required parameter: 'input[{at}].summary'.")
    })?;
    match item["encrypted_content"].as_str() {
        Some(blob) => seal::check(blob, Kind::Responses, request.model(), None).map_err(|why| {
            format!("The encrypted content for item {id} could not be verified: it {why}.")
        })?,
        None => ensure(request.body["store"] != false, || {
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
            )
        })?,
    }
    let follows = next.is_some_and(|next| {
        let kind = next["type"].as_str().unwrap_or("message");
        !kind.ends_with("_output") && (kind != "message" || next["role"] == "assistant")
    });
    ensure(follows, || {
        format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
    })
}

fn check_item_id(at: usize, item: &Value, prefix: &str) -> Checked {
    match item["id"].as_str() {
        Some(id) if !id.starts_with(prefix) => Err(format!(
            "Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
        )),
        Some(_) | None => Ok(()),
    }
}
