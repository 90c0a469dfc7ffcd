//! Chat Completions: chunks, the usage chunk when asked for, `[DONE]`.

use super::reply::{CREATED, Emit, Flow, Frame, HOLE, Mark, Reply, Said, deltas};
use crate::script::{Stop, Usage};
use serde_json::{Value, json};

pub(super) fn stream(reply: &Reply, emit: Emit) -> Flow {
    let with_usage = reply.request.body["stream_options"]["include_usage"] == true;
    let noise = reply.step.noise;
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = json!({
            "id": reply.id("chatcmpl-"), "object": "chat.completion.chunk", "created": CREATED,
            "model": reply.model(), "service_tier": "default", "system_fingerprint": "fp_mock",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        if noise {
            chunk["obfuscation"] = json!("x7Qm");
            chunk["choices"][0]["mock_extra"] = json!({"nested": [1, null]});
        }
        chunk
    };
    if noise {
        emit(Frame::plain(Mark::Comment, ": MOCK PROCESSING".into()))?;
    }
    let opening = json!({"role": "assistant", "content": "", "refusal": null});
    emit(Frame::plain(
        Mark::Head,
        chunk(opening, Value::Null).to_string(),
    ))?;
    if noise {
        let unknown =
            json!({"id": reply.id("chatcmpl-"), "object": "chat.completion.trace", "choices": []});
        emit(Frame {
            event: Some("mock_trace".into()),
            data: unknown.to_string(),
            mark: Mark::Head,
        })?;
    }
    let line = |key: &str| chunk(json!({ key: HOLE }), Value::Null);
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) => {
                let line = line("reasoning_content");
                deltas(emit, Mark::Reasoning, None, &line, &it.chunks)?;
            }
            Said::Text(chunks) => {
                let refused = reply.step.stop == Some(Stop::Refused);
                let line = line(if refused { "refusal" } else { "content" });
                deltas(emit, Mark::Text, None, &line, chunks)?;
            }
            Said::Call(said) => {
                let mut open = json!({"index": said.index, "id": said.id, "type": "function",
                    "function": {"name": said.call.name, "arguments": ""}});
                drop_null_id(&mut open);
                let open = chunk(json!({"tool_calls": [open]}), Value::Null);
                emit(Frame::plain(Mark::Head, open.to_string()))?;
                for piece in said.call.pieces() {
                    let delta = json!({"index": said.index, "function": {"arguments": piece}});
                    let delta = chunk(json!({"tool_calls": [delta]}), Value::Null);
                    emit(Frame::plain(Mark::Args, delta.to_string()))?;
                }
            }
        }
    }
    let last = chunk(json!({}), json!(finish_reason(reply)));
    emit(Frame::plain(Mark::Tail, last.to_string()))?;
    if with_usage {
        let mut chunk = chunk(json!({}), Value::Null);
        chunk["choices"] = json!([]);
        chunk["usage"] = usage(reply.usage);
        emit(Frame::plain(Mark::Tail, chunk.to_string()))?;
    }
    emit(Frame::plain(Mark::Tail, "[DONE]".into()))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), vec![]);
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) => reasoning.push_str(&it.chunks.concat()),
            Said::Text(chunks) => text.push_str(&chunks.concat()),
            Said::Call(said) => {
                let mut call = json!({"id": said.id, "type": "function",
                    "function": {"name": said.call.name, "arguments": said.call.args}});
                drop_null_id(&mut call);
                calls.push(call);
            }
        }
    }
    let content = match (&text[..], &calls[..]) {
        ("", [_, ..]) => Value::Null,
        _ => json!(text),
    };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if reply.step.stop == Some(Stop::Refused) {
        message["refusal"] = json!(text);
        message["content"] = Value::Null;
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    if reply.step.noise {
        message["mock_extra"] = json!({"nested": [1, null]});
    }
    json!({
        "id": reply.id("chatcmpl-"), "object": "chat.completion", "created": CREATED,
        "model": reply.model(),
        "choices": [{"index": 0, "message": message, "logprobs": null,
            "finish_reason": finish_reason(reply)}],
        "usage": usage(reply.usage), "service_tier": "default", "system_fingerprint": "fp_mock",
    })
}

fn finish_reason<'a>(reply: &'a Reply) -> &'a str {
    match &reply.step.stop {
        Some(Stop::Length) => "length",
        Some(Stop::Filtered) => "content_filter",
        Some(Stop::Other(word)) => word,
        Some(Stop::Refused) => "stop",
        None if reply.has_calls() => "tool_calls",
        None => "stop",
    }
}

fn usage(u: Usage) -> Value {
    json!({
        "prompt_tokens": u.input, "completion_tokens": u.output,
        "total_tokens": u.input + u.output,
        "prompt_tokens_details": {"cached_tokens": u.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": u.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    })
}

fn drop_null_id(call: &mut Value) {
    if let (true, Some(map)) = (call["id"].is_null(), call.as_object_mut()) {
        map.shift_remove("id");
    }
}
