//! Messages: typed events, content blocks by index, usage split between first and last event.

use super::reply::{Emit, Flow, Frame, HOLE, Mark, Reply, Said, deltas};
use crate::script::{Reasoning, Stop, Usage};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// What the vendor has counted as output when the stream opens.
const FIRST_OUTPUT_TOKENS: u64 = 1;

pub(super) fn stream(reply: &Reply, emit: Emit) -> Flow {
    let mut out = Out {
        noise: reply.step.noise,
        emit,
        index: 0,
    };
    let mut message = message(reply, vec![], Value::Null);
    message["usage"] = usage(reply.usage, FIRST_OUTPUT_TOKENS);
    out.send(
        Mark::Head,
        json!({"type": "message_start", "message": message}),
    )?;
    if reply.step.noise {
        out.send(
            Mark::Head,
            json!({"type": "mock_trace", "detail": [1, null]}),
        )?;
    }
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) if it.chunks.is_empty() => {
                out.open(thinking_block(reply, it))?;
            }
            Said::Reasoning(it) => {
                out.open(json!({"type": "thinking", "thinking": "", "signature": ""}))?;
                out.deltas(Mark::Reasoning, "thinking_delta", "thinking", &it.chunks)?;
                let signature = json!({"type": "signature_delta", "signature": reply.blob(it)});
                out.delta(Mark::Head, signature)?;
            }
            Said::Text(chunks) => {
                out.open(json!({"type": "text", "text": ""}))?;
                if reply.step.noise {
                    out.delta(Mark::Head, json!({"type": "mock_delta", "mock": true}))?;
                }
                out.deltas(Mark::Text, "text_delta", "text", chunks)?;
            }
            Said::Call(said) => {
                let id = said.id.as_deref().unwrap_or_default();
                out.open(
                    json!({"type": "tool_use", "id": id, "name": said.call.name, "input": {}}),
                )?;
                out.delta(
                    Mark::Head,
                    json!({"type": "input_json_delta", "partial_json": ""}),
                )?;
                for piece in said.call.pieces() {
                    let delta = json!({"type": "input_json_delta", "partial_json": piece});
                    out.delta(Mark::Args, delta)?;
                }
            }
        }
        out.close()?;
    }
    let mut counted = json!({"output_tokens": reply.usage.output});
    if reply.step.noise {
        // Newer servers repeat the input side here; it is cumulative, not additional.
        counted = usage(reply.usage, reply.usage.output);
    }
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    out.send(
        Mark::Tail,
        json!({"type": "message_delta", "delta": delta, "usage": counted}),
    )?;
    out.send(Mark::Tail, json!({"type": "message_stop"}))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let content = reply
        .parts()
        .iter()
        .map(|said| match said {
            Said::Reasoning(it) => thinking_block(reply, it),
            Said::Text(chunks) => json!({"type": "text", "text": chunks.concat()}),
            Said::Call(said) => {
                let input: Value = serde_json::from_str(&said.call.args).unwrap_or(json!({}));
                json!({"type": "tool_use", "id": said.id, "name": said.call.name, "input": input})
            }
        })
        .collect();
    let mut message = message(reply, content, json!(stop_reason(reply)));
    message["usage"] = usage(reply.usage, reply.usage.output);
    message
}

struct Out<'b> {
    noise: bool,
    emit: Emit<'b>,
    index: usize,
}

impl Out<'_> {
    fn send(&mut self, mark: Mark, mut data: Value) -> Flow {
        if self.noise {
            data["mock_extra"] = json!({"nested": [1, null]});
        }
        (self.emit)(Frame {
            event: data["type"].as_str().map(String::from),
            data: data.to_string(),
            mark,
        })
    }

    fn open(&mut self, block: Value) -> Flow {
        let index = self.index;
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        self.send(Mark::Head, start)?;
        match index {
            0 => self.send(Mark::Head, json!({"type": "ping"})),
            _ => ControlFlow::Continue(()),
        }
    }

    fn delta(&mut self, mark: Mark, delta: Value) -> Flow {
        let index = self.index;
        self.send(
            mark,
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        )
    }

    fn deltas(&mut self, mark: Mark, kind: &str, key: &str, chunks: &[String]) -> Flow {
        let delta = json!({"type": kind, key: HOLE});
        let data = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        deltas(self.emit, mark, Some("content_block_delta"), &data, chunks)
    }

    fn close(&mut self) -> Flow {
        let index = self.index;
        self.index += 1;
        self.send(
            Mark::Head,
            json!({"type": "content_block_stop", "index": index}),
        )
    }
}

fn thinking_block(reply: &Reply, it: &Reasoning) -> Value {
    match &it.chunks[..] {
        [] => json!({"type": "redacted_thinking", "data": reply.blob(it)}),
        chunks => json!({"type": "thinking", "thinking": chunks.concat(),
            "signature": reply.blob(it)}),
    }
}

fn message(reply: &Reply, content: Vec<Value>, stop: Value) -> Value {
    json!({"id": reply.id("msg_"), "type": "message", "role": "assistant",
        "model": reply.model(), "content": content, "stop_reason": stop, "stop_sequence": null})
}

fn stop_reason<'a>(reply: &'a Reply) -> &'a str {
    match &reply.step.stop {
        Some(Stop::Length) => "max_tokens",
        Some(Stop::Filtered | Stop::Refused) => "refusal",
        Some(Stop::Other(word)) => word,
        None if reply.has_calls() => "tool_use",
        None => "end_turn",
    }
}

fn usage(u: Usage, output: u64) -> Value {
    json!({
        "input_tokens": u.input.saturating_sub(u.cached + u.cache_write),
        "cache_creation_input_tokens": u.cache_write,
        "cache_read_input_tokens": u.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": u.cache_write,
            "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    })
}
