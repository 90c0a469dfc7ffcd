//! Gemini: parts that hold something, function responses that mirror the calls before them,
//! thought signatures returned for the calls of the running turn.

use super::{Checked, ensure, list, unique_tools};
use crate::Kind;
use crate::captured::{Captured, items};
use crate::seal;
use serde_json::Value;

const MAX_NAME: usize = 64;
/// Schema words the vendor's own schema dialect does not have (`parametersJsonSchema` does).
const UNKNOWN_SCHEMA_KEYS: [&str; 5] =
    ["$schema", "$ref", "$defs", "additionalProperties", "const"];
/// What a part may hold.
const DATA: [&str; 7] = [
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
];

pub(super) fn check(request: &Captured) -> Checked {
    let body = &request.body;
    check_tools(body)?;
    let system = &body["systemInstruction"];
    ensure(
        system.is_null() || !items(&system["parts"]).is_empty(),
        || "* GenerateContentRequest.system_instruction.parts: must not be empty.".into(),
    )?;
    let missing = "* GenerateContentRequest.contents: contents is not specified";
    let contents = list(body, "contents", missing)?;
    for (at, content) in contents.iter().enumerate() {
        check_parts(at, content, request.model())?;
        let before = at.checked_sub(1).and_then(|n| contents.get(n));
        check_order(content, before, contents.get(at + 1))?;
    }
    ensure(contents.last().is_some_and(|c| role(c) == "user"), || {
        "Please ensure that multiturn requests end with a user role or a function response.".into()
    })?;
    check_signatures(contents)
}

fn role(content: &Value) -> &str {
    match content["role"].as_str() {
        Some("function") => "user",
        Some(role) => role,
        None => "user",
    }
}

fn held<'a>(content: &'a Value, key: &str) -> Vec<&'a Value> {
    let parts = items(&content["parts"]).iter();
    parts.map(|p| &p[key]).filter(|v| v.is_object()).collect()
}

fn check_parts(at: usize, content: &Value, model: &str) -> Checked {
    ensure(["user", "model"].contains(&role(content)), || {
        "Please use a valid role: user, model.".into()
    })?;
    let parts = items(&content["parts"]);
    ensure(!parts.is_empty(), || {
        format!("* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.")
    })?;
    for (n, part) in parts.iter().enumerate() {
        let place = format!("GenerateContentRequest.contents[{at}].parts[{n}]");
        let held = DATA.iter().filter(|key| !part[**key].is_null()).count();
        ensure(held == 1, || {
            format!("* {place}.data: required oneof field 'data' must have one initialized field")
        })?;
        let signature = part["thoughtSignature"].as_str();
        ensure(part["text"] != "" || signature.is_some(), || {
            format!("Unable to submit request because it has an empty text parameter. ({place})")
        })?;
        seal::check(signature.unwrap_or_default(), Kind::Gemini, model, None)
            .map_err(|why| format!("Corrupted thought signature: it {why}. ({place})"))?;
        let call = &part["functionCall"];
        ensure(
            call.is_null()
                || call["name"]
                    .as_str()
                    .is_some_and(|n| super::is_name(n, MAX_NAME))
                    && is_struct(&call["args"]),
            || {
                format!(
                    "Invalid value at '{place}.function_call': name and an args object are required"
                )
            },
        )?;
        let response = &part["functionResponse"];
        let whole = response["name"].is_string() && response["response"].is_object();
        ensure(response.is_null() || whole, || {
            format!(
                "Invalid value at '{place}.function_response': name and a response object are required"
            )
        })?;
    }
    Ok(())
}

fn is_struct(args: &Value) -> bool {
    args.is_object() || args.is_null()
}

fn check_order(content: &Value, before: Option<&Value>, next: Option<&Value>) -> Checked {
    let calls = held(content, "functionCall");
    let responses = held(content, "functionResponse");
    if !calls.is_empty() {
        ensure(role(content) == "model", || {
            "Please ensure that function call parts are in a turn with role model.".into()
        })?;
        ensure(before.is_some_and(|b| role(b) == "user"), || {
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.".into()
        })?;
        let answers = next
            .map(|next| held(next, "functionResponse"))
            .unwrap_or_default();
        ensure(answers.len() == calls.len(), || {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".into()
        })?;
    }
    if responses.is_empty() {
        return Ok(());
    }
    let asked = before
        .map(|before| held(before, "functionCall"))
        .unwrap_or_default();
    ensure(role(content) == "user" && !asked.is_empty(), || {
        "Please ensure that function response turn comes immediately after a function call turn."
            .into()
    })?;
    for (call, response) in asked.iter().zip(&responses) {
        ensure(
            call["name"] == response["name"] && call["id"] == response["id"],
            || {
                format!(
                    "The function response does not match its call: {} {} answers {} {}",
                    response["name"], response["id"], call["name"], call["id"]
                )
            },
        )?;
    }
    Ok(())
}

/// Since the last thing the user said, the first call of every step must carry a signature: its
/// own, or a stand-in the vendor documents for calls it did not make.
fn check_signatures(contents: &[Value]) -> Checked {
    let said = |c: &Value| role(c) == "user" && held(c, "functionResponse").is_empty();
    let turn = contents.iter().rposition(said).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(turn) {
        let first = items(&content["parts"])
            .iter()
            .find(|p| p["functionCall"].is_object());
        let Some(part) = first else { continue };
        let signature = part["thoughtSignature"].as_str().unwrap_or_default();
        ensure(!signature.is_empty(), || {
            let name = &part["functionCall"]["name"];
            format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call {name}, position {}.",
                at + 1
            )
        })?;
    }
    Ok(())
}

fn check_tools(body: &Value) -> Checked {
    let tools = items(&body["tools"]).iter();
    let declared: Vec<&Value> = tools
        .flat_map(|t| items(&t["functionDeclarations"]))
        .collect();
    for (at, function) in declared.iter().enumerate() {
        if let Some(key) = unknown_key(&function["parameters"]) {
            return Err(format!(
                "Invalid JSON payload received. Unknown name \"{key}\" at 'tools[0].function_declarations[{at}].parameters': Cannot find field."
            ));
        }
    }
    let names = declared
        .iter()
        .map(|f| f["name"].as_str().unwrap_or_default());
    unique_tools(names.zip(0..), MAX_NAME)
}

fn unknown_key(schema: &Value) -> Option<&'static str> {
    let map = schema.as_object()?;
    let here = UNKNOWN_SCHEMA_KEYS
        .into_iter()
        .find(|key| map.contains_key(*key));
    let properties = schema["properties"].as_object();
    here.or_else(|| properties?.values().find_map(unknown_key))
        .or_else(|| unknown_key(&schema["items"]))
}
