//! One conversation in four protocols, and the same answers to the same questions.

use super::*;

const SYSTEM: &str = "Be brief.";

/// A user message, two calls, their results, and a steering message.
fn conversation(kind: Kind) -> Captured {
    let body = match kind {
        Kind::Chat => json!({
            "model": "m", "tools": [{"type": "function", "function": {"name": "bash"}}],
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"a\":1}"}},
                    {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "fine"},
                {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "bad"}]},
                {"role": "user", "content": [{"type": "text", "text": "And?"}]}]}),
        Kind::Responses => json!({
            "model": "m", "instructions": SYSTEM, "tools": [{"type": "function", "name": "bash"}],
            "input": [
                {"role": "user", "content": "Look."},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": "{\"a\":1}"},
                {"type": "function_call", "call_id": "c2", "name": "bash", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "fine"},
                {"type": "function_call_output", "call_id": "c2", "output": "bad"},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]}]}),
        Kind::Messages => json!({
            "model": "m", "max_tokens": 9, "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c2", "name": "bash", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "fine"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "bad"}], "is_error": true},
                    {"type": "text", "text": "And?"}]}]}),
        Kind::Gemini => json!({
            "systemInstruction": {"parts": [{"text": SYSTEM}]},
            "tools": [{"functionDeclarations": [{"name": "bash"}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "Look."}]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "c1", "name": "bash", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "c2", "name": "bash", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "fine"}}},
                    {"functionResponse": {"id": "c2", "name": "bash", "response": {"error": "bad"}}},
                    {"text": "And?"}]}]}),
    };
    Captured::of(kind, body)
}

#[test]
fn questions_have_the_same_answers_everywhere() {
    for kind in Kind::ALL {
        let request = conversation(kind);
        let owned = |a: &str, b: &str, c: &str| (a.to_string(), b.to_string(), c.to_string());
        assert_eq!(request.kind(), Some(kind));
        assert_eq!(request.validate(), Ok(()), "{kind:?}");
        assert_eq!(request.system_text(), SYSTEM, "{kind:?}");
        assert_eq!(request.last_user_text(), "And?", "{kind:?}");
        assert_eq!(request.tool_names(), ["bash"], "{kind:?}");
        assert_eq!(
            request.tool_calls(),
            [owned("c1", "bash", "{\"a\":1}"), owned("c2", "bash", "{}")],
            "{kind:?}"
        );
        let marks_errors = matches!(kind, Kind::Messages | Kind::Gemini);
        let expect = [
            ("c1".into(), "fine".into(), false),
            ("c2".into(), "bad".into(), marks_errors),
        ];
        assert_eq!(request.tool_results(), expect, "{kind:?}");
    }
}

#[test]
fn models_are_found() {
    assert_eq!(conversation(Kind::Chat).model(), "m");
    assert_eq!(conversation(Kind::Gemini).model(), "mock-model");
    assert_eq!(
        Captured::of(Kind::Responses, json!({"model": "a/b"})).model(),
        "a/b"
    );
    assert!(conversation(Kind::Gemini).streams() && !conversation(Kind::Chat).streams());
}

#[track_caller]
fn check_prompt(kind: Kind, body: Value, expect: &str) {
    let bytes = Captured::of(kind, body).prompt_bytes();
    assert_eq!(String::from_utf8_lossy(&bytes), expect);
}

#[test]
fn prompts_are_in_cache_order() {
    // Whatever the order in the body: leading system messages, tools, the rest; strings as blocks.
    check_prompt(
        Kind::Chat,
        json!({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
            "tools": [{"name": "t"}], "model": "m"}),
        r#"{"role":"system","content":[{"type":"text","text":"S"}]}[{"name":"t"}]{"role":"user","content":[{"type":"text","text":"U"}]}"#,
    );
    // Cache markers are not content.
    check_prompt(
        Kind::Messages,
        json!({"messages": [{"role": "user", "content": [
                {"type": "text", "text": "U", "cache_control": {"type": "ephemeral"}}]}],
            "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]}),
        r#"[{"type":"text","text":"S"}]{"role":"user","content":[{"type":"text","text":"U"}]}"#,
    );
    // Nor are item ids, except those of reasoning, which the vendor reads.
    check_prompt(
        Kind::Responses,
        json!({"instructions": "S", "input": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "id": "fc_1", "call_id": "c1"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": []}]}),
        r#""S"{"type":"reasoning","id":"rs_1","summary":[]}{"type":"function_call","call_id":"c1"}{"type":"message","role":"assistant","content":[]}"#,
    );
    check_prompt(
        Kind::Gemini,
        json!({"contents": [{"role": "user", "parts": []}], "systemInstruction": {"parts": []}}),
        r#"{"parts":[]}{"role":"user","parts":[]}"#,
    );
}
