//! What each vendor refuses, as (change to a valid request, complaint).

use crate::captured::Captured;
use crate::{Kind, seal};
use serde_json::{Value, json};

/// A valid request with a call, its result and reasoning in it.
fn valid(kind: Kind) -> Value {
    match kind {
        Kind::Chat => json!({"model": "mock-model",
            "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "fine"}]}),
        Kind::Responses => json!({"model": "mock-model", "store": false,
            "tools": [{"type": "function", "name": "bash", "parameters": {"type": "object"}}],
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
                {"type": "reasoning", "id": "rs_1", "summary": [],
                    "encrypted_content": seal::seal(Kind::Responses, "mock-model", "Hm")},
                {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "fine"}]}),
        Kind::Messages => json!({"model": "mock-model", "max_tokens": 2000,
            "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm",
                        "signature": seal::seal(Kind::Messages, "mock-model", "Hm")},
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "fine"}]}]}),
        Kind::Gemini => json!({
            "tools": [{"functionDeclarations": [{"name": "bash", "parameters": {"type": "object"}}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "Look."}]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "c1", "name": "bash", "args": {}},
                        "thoughtSignature": seal::seal(Kind::Gemini, "mock-model", "Hm")}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "fine"}}}]}]}),
    }
}

/// Replaces the value at each pointer (`null` removes a list's element) and looks for `complaint`.
#[track_caller]
fn check(kind: Kind, changes: &[(&str, Value)], complaint: &str) {
    let mut body = valid(kind);
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match body.pointer_mut(parent).expect("a parent") {
            Value::Array(list) => match (key, key.parse::<usize>()) {
                ("-", _) => list.push(value.clone()),
                (_, Ok(at)) if value.is_null() => drop(list.remove(at)),
                (_, Ok(at)) => list[at] = value.clone(),
                (key, Err(_)) => panic!("no index: {key}"),
            },
            parent => parent[key] = value.clone(),
        }
    }
    let verdict = Captured::of(kind, body.clone()).validate();
    match (&verdict, complaint) {
        (Ok(()), "") => {}
        (Err(said), complaint) if !complaint.is_empty() && said.contains(complaint) => {}
        _ => panic!("expected {complaint:?}, got {verdict:?} for {body:#}"),
    }
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn everywhere() {
    for kind in Kind::ALL {
        check(kind, &[], "");
    }
    check(
        Kind::Chat,
        &[("/model", json!(null))],
        "model: Field required",
    );
    let nothing = Captured::of(Kind::Chat, json!([])).validate();
    assert_eq!(
        nothing,
        Err("We could not parse the JSON body of your request.".into())
    );
}

#[test]
fn chat() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Chat, changes, complaint);
    check(&[("/messages", json!([]))], "empty array");
    check(
        &[("/messages/0/role", json!("human"))],
        "Invalid value: \"human\". (messages[0].role)",
    );
    check(
        &[("/messages/0/content", json!(null))],
        "'messages[0].content'",
    );
    check(
        &[("/messages/0/content", json!([]))],
        "'messages[0].content'",
    );
    check(
        &[("/messages/2", json!(null))],
        "did not have response messages: c1",
    );
    check(
        &[("/messages/2/role", json!("user"))],
        "did not have response messages: c1",
    );
    check(
        &[("/messages/2/tool_call_id", json!("c9"))],
        "'tool_call_id' of 'c9' not found",
    );
    let again = json!({"role": "tool", "tool_call_id": "c1", "content": "twice"});
    check(&[("/messages/-", again)], "answered twice. (messages[3])");
    check(
        &[("/messages/1", json!(null))],
        "must be a response to a preceeding message",
    );
    check(
        &[("/messages/1/tool_calls", json!([]))],
        "'messages[1].tool_calls': empty array",
    );
    check(
        &[("/messages/1/tool_calls/0/id", json!(""))],
        "tool_calls[0].id",
    );
    check(
        &[("/messages/1/tool_calls/0/id", json!("x".repeat(41)))],
        "tool_calls[0].id",
    );
    check(
        &[("/messages/1/tool_calls/0/type", json!(null))],
        "tool_calls[0].type",
    );
    for bad in ["", "{", "[]", "\"x\""] {
        let at = "/messages/1/tool_calls/0/function/arguments";
        check(&[(at, json!(bad))], "not a JSON object");
    }
    check(
        &[("/messages/2/content", json!(null))],
        "'messages[2].content'",
    );
    check(&[("/messages/2/content", json!(""))], "");
    check(
        &[("/stream_options", json!({}))],
        "only allowed when 'stream' is enabled",
    );
    check(
        &[("/tools/0/function/name", json!("a b"))],
        "'tools[0].name': 'a b'",
    );
    let twin = valid(Kind::Chat)["tools"][0].clone();
    check(&[("/tools/-", twin)], "Tool names must be unique: bash");
    check(
        &[("/tools/0/function/parameters", json!({"type": "string"}))],
        "type 'object'",
    );
    check(
        &[("/messages/-", json!({"role": "assistant", "content": null}))],
        "'messages[3].content'",
    );
}

#[test]
fn responses() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Responses, changes, complaint);
    check(&[("/input", json!("just text"))], "");
    check(
        &[("/input", json!([]))],
        "Missing required parameter: 'input'",
    );
    check(
        &[("/input/3", json!(null))],
        "No tool output found for function call c1",
    );
    check(
        &[("/input/2", json!(null)), ("/input/1", json!(null))],
        "No tool call found for function call output with call_id c1",
    );
    let call = valid(Kind::Responses)["input"][2].clone();
    check(
        &[("/input/-", call)],
        "Duplicate function call with call_id c1",
    );
    let output = valid(Kind::Responses)["input"][3].clone();
    check(&[("/input/-", output)], "Duplicate function call output");
    check(&[("/input/2/call_id", json!(""))], "'input[2].call_id'");
    check(
        &[("/input/2/arguments", json!("{"))],
        "'input[2].arguments': not a JSON object",
    );
    check(&[("/input/2/id", json!("c1"))], "begins with 'fc'");
    check(&[("/input/2/id", json!("fc_1"))], "");
    check(
        &[("/input/0/content/0/type", json!("text"))],
        "Invalid value: 'text'",
    );
    check(
        &[("/input/0/role", json!("assistant"))],
        "'output_text' and 'refusal'",
    );
    check(&[("/input/0/content", json!(null))], "'input[0].content'");
    check(&[("/input/1/summary", json!(null))], "'input[1].summary'");
    check(
        &[("/input/1/encrypted_content", json!(null))],
        "Items are not persisted",
    );
    let foreign = seal::seal(Kind::Responses, "another", "Hm");
    check(
        &[("/input/1/encrypted_content", json!(foreign))],
        "could not be verified: it was made by another model",
    );
    let lone = valid(Kind::Responses)["input"][1].clone();
    check(&[("/input/-", lone)], "without its required following item");
    check(&[("/max_output_tokens", json!(8))], ">= 16");
    check(&[("/tools/0/name", json!(null))], "'tools[0].name'");
}

#[test]
fn messages() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Messages, changes, complaint);
    check(
        &[("/max_tokens", json!(null))],
        "max_tokens: Field required",
    );
    check(
        &[("/messages", json!([]))],
        "at least one message is required",
    );
    check(
        &[("/messages/0", json!(null))],
        "first message must use the \"user\" role",
    );
    check(
        &[(
            "/messages/-",
            json!({"role": "assistant", "content": "So,"}),
        )],
        "must end with a user message",
    );
    check(&[("/messages/0/role", json!("tool"))], "first message");
    check(
        &[("/messages/0/content", json!(" "))],
        "messages.0: all messages must have non-empty content",
    );
    check(&[("/messages/0/content", json!([]))], "non-empty content");
}

#[test]
fn messages_say_something() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Messages, changes, complaint);
    check(
        &[("/messages/0/content", text(""))],
        "text content blocks must be non-empty",
    );
    check(
        &[("/messages/0/content", text("\n"))],
        "non-whitespace text",
    );
    check(
        &[("/system", text(""))],
        "system: text content blocks must be non-empty",
    );
    check(
        &[("/messages/0/content", json!([{"text": "x"}]))],
        "messages.0.content.0.type: Field required",
    );
    check(
        &[("/messages/2/content", text("And?"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1.",
    );
}

#[test]
fn messages_calls_and_results() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Messages, changes, complaint);
    let orphan = json!({"type": "tool_result", "tool_use_id": "c9", "content": "?"});
    check(
        &[("/messages/2/content/-", orphan)],
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: c9.",
    );
    let result = valid(Kind::Messages)["messages"][2]["content"][0].clone();
    check(
        &[("/messages/2/content/-", result.clone())],
        "single result",
    );
    check(
        &[("/messages/2/content", json!([text("Here: ")[0], result]))],
        "must come before other content",
    );
    check(
        &[("/messages/2/content/0/content", text(""))],
        "text content blocks must be non-empty",
    );
    let call = valid(Kind::Messages)["messages"][1]["content"][1].clone();
    check(
        &[("/messages/1/content/-", call)],
        "`tool_use` ids must be unique",
    );
    check(
        &[("/messages/1/content/1/id", json!("a.b"))],
        "tool_use.id: String should match pattern",
    );
    check(
        &[("/messages/1/content/1/input", json!("{}"))],
        "tool_use.input: Input should be a valid dictionary",
    );
    check(
        &[("/messages/1/role", json!("user"))],
        "can only be in `assistant` messages",
    );
}

#[test]
fn messages_thinking_and_caching() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Messages, changes, complaint);
    check(
        &[("/messages/1/content/0/signature", json!(null))],
        "messages.1.content.0.thinking.signature: Field required",
    );
    check(
        &[("/messages/1/content/0/thinking", json!("Hm!"))],
        "Invalid `signature` in `thinking` block: it does not fit its text",
    );
    let foreign = seal::seal(Kind::Messages, "another", "Hm");
    check(
        &[("/messages/1/content/0/signature", json!(foreign))],
        "it was made by another model",
    );
    check(
        &[("/messages/1/content/0/signature", json!("c3BlbGxlZCBvdXQ="))],
        "",
    );
    let mark = json!({"type": "ephemeral"});
    check(
        &[("/messages/1/content/0/cache_control", mark.clone())],
        "thinking.cache_control",
    );
    let marked: Vec<Value> = (0..5)
        .map(|_| json!({"type": "text", "text": "x", "cache_control": mark}))
        .collect();
    check(
        &[("/system", json!(marked))],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    check(
        &[(
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 100}),
        )],
        "greater than or equal to 1024",
    );
    check(
        &[(
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 2000}),
        )],
        "`max_tokens` must be greater than",
    );
    check(&[("/thinking", json!({"type": "adaptive"}))], "");
    check(
        &[("/tools/0/input_schema", json!({}))],
        "input_schema.type: Input should be 'object'",
    );
    let mut plain = Captured::of(Kind::Messages, valid(Kind::Messages));
    plain.headers.clear();
    assert_eq!(
        plain.validate(),
        Err("anthropic-version: header is required".into())
    );
}

#[test]
fn gemini() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Gemini, changes, complaint);
    check(&[("/contents", json!([]))], "contents is not specified");
    check(
        &[("/contents/0/role", json!("assistant"))],
        "Please use a valid role: user, model.",
    );
    check(
        &[("/contents/0/parts", json!([]))],
        "contents[0].parts: contents.parts must not be empty",
    );
    check(
        &[("/contents/0/parts/0", json!({}))],
        "must have one initialized field",
    );
    check(
        &[("/contents/0/parts/0/text", json!(""))],
        "empty text parameter",
    );
    check(
        &[(
            "/contents/0/parts/0",
            json!({"text": "", "thoughtSignature": "c2ln"}),
        )],
        "",
    );
    check(
        &[("/contents/1/parts/0/functionCall/args", json!("{}"))],
        "an args object",
    );
}

#[test]
fn gemini_calls_and_responses() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Gemini, changes, complaint);
    let response = "/contents/2/parts/0/functionResponse";
    check(
        &[(&format!("{response}/response"), json!("fine"))],
        "a response object",
    );
    check(
        &[(&format!("{response}/name"), json!("sh"))],
        "does not match its call: \"sh\"",
    );
    check(
        &[(&format!("{response}/id"), json!("c2"))],
        "does not match its call",
    );
    check(
        &[(
            "/contents/2",
            json!({"role": "user", "parts": [{"text": "And?"}]}),
        )],
        "number of function response parts",
    );
    let extra = valid(Kind::Gemini)["contents"][2]["parts"][0].clone();
    check(
        &[("/contents/2/parts/-", extra)],
        "number of function response parts",
    );
    check(
        &[("/contents/1", json!(null))],
        "function response turn comes immediately after a function call turn",
    );
    check(
        &[("/contents/0", json!(null))],
        "function call turn comes immediately after a user turn",
    );
    check(
        &[
            ("/contents/2", json!(null)),
            ("/contents/1/parts", json!([{"text": "So."}])),
        ],
        "end with a user role",
    );
}

#[test]
fn gemini_signatures() {
    let check = |changes: &[(&str, Value)], complaint| check(Kind::Gemini, changes, complaint);
    check(
        &[("/contents/1/parts/0/thoughtSignature", json!(null))],
        "missing a thought_signature in functionCall parts",
    );
    // Once the user speaks again, the signatures before are no longer asked for.
    let next = [
        json!({"role": "model", "parts": [{"text": "Done."}]}),
        json!({"role": "user", "parts": [{"text": "More."}]}),
    ];
    let [done, more] = next.map(|turn| ("/contents/-", turn));
    check(
        &[
            ("/contents/1/parts/0/thoughtSignature", json!(null)),
            done,
            more,
        ],
        "",
    );
    let foreign = seal::seal(Kind::Gemini, "another", "Hm");
    check(
        &[("/contents/1/parts/0/thoughtSignature", json!(foreign))],
        "Corrupted thought signature: it was made by another model",
    );
    let nested = json!({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": false}}});
    check(
        &[("/tools/0/functionDeclarations/0/parameters", nested)],
        "Unknown name \"additionalProperties\"",
    );
    check(
        &[("/systemInstruction", json!({"parts": []}))],
        "system_instruction.parts",
    );
}
