//! Responses: typed events with `sequence_number`, items and content parts opened and closed.

use super::reply::{
    CREATED, Emit, Flow, Frame, HOLE, Mark, Reply, Said, SaidCall, Template, quoted,
};
use crate::script::{Reasoning, Stop, Usage};
use serde_json::{Value, json};
use std::ops::ControlFlow;

pub(super) fn stream(reply: &Reply, emit: Emit) -> Flow {
    let mut out = Out {
        reply,
        emit,
        sequence: 0,
        output: vec![],
    };
    for event in ["response.created", "response.in_progress"] {
        let response = response(reply, "in_progress", &[], Value::Null);
        out.send(Mark::Head, event, json!({ "response": response }))?;
    }
    if reply.step.noise {
        let unknown = json!({"id": "mt_mock", "type": "mock_trace_call", "status": "completed"});
        let at = out.output.len();
        out.send(
            Mark::Head,
            "response.mock_trace.delta",
            json!({"delta": "?", "output_index": at}),
        )?;
        out.open(&unknown)?;
        out.close(unknown)?;
    }
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) => out.reasoning(it)?,
            Said::Text(chunks) => out.message(chunks)?,
            Said::Call(call) => out.call(&call)?,
        }
    }
    let (event, status, details) = ending(reply);
    let mut last = response(reply, status, &out.output, details);
    last["usage"] = usage(reply.usage);
    out.send(Mark::Tail, event, json!({ "response": last }))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let output: Vec<Value> = reply
        .parts()
        .iter()
        .enumerate()
        .map(|(at, said)| match said {
            Said::Reasoning(it) => reasoning_item(reply, at, it),
            Said::Text(chunks) => message_item(reply, at, &chunks.concat()),
            Said::Call(call) => call_item(reply, call, &call.call.args, "completed"),
        })
        .collect();
    let (_, status, details) = ending(reply);
    let mut whole = response(reply, status, &output, details);
    whole["usage"] = usage(reply.usage);
    whole
}

struct Out<'a, 'b> {
    reply: &'a Reply<'a>,
    emit: Emit<'b>,
    sequence: usize,
    output: Vec<Value>,
}

impl Out<'_, '_> {
    /// One event: `type` first, `sequence_number` after it, then the rest.
    fn send(&mut self, mark: Mark, event: &str, rest: Value) -> Flow {
        let mut data = json!({"type": event, "sequence_number": self.sequence});
        if let (Value::Object(data), Value::Object(rest)) = (&mut data, rest) {
            data.extend(rest);
            if self.reply.step.noise {
                data.insert("mock_extra".into(), json!({"nested": [1, null]}));
            }
        }
        self.sequence += 1;
        (self.emit)(Frame {
            event: Some(event.into()),
            data: data.to_string(),
            mark,
        })
    }

    /// A run of deltas that differ only in text and number.
    fn deltas(&mut self, mark: Mark, event: &str, place: Value, chunks: &[String]) -> Flow {
        let mut data = json!({"type": event, "sequence_number": HOLE, "delta": HOLE});
        if let (Value::Object(data), Value::Object(place)) = (&mut data, place) {
            data.extend(place);
            data.insert("obfuscation".into(), json!("k3Zp"));
        }
        let line = Template::new(&data);
        for text in chunks {
            let sequence = self.sequence.to_string();
            self.sequence += 1;
            (self.emit)(Frame {
                event: Some(event.into()),
                data: line.fill([&sequence, &quoted(text)]),
                mark,
            })?;
        }
        ControlFlow::Continue(())
    }

    fn open(&mut self, item: &Value) -> Flow {
        let at = self.output.len();
        let added = json!({"output_index": at, "item": item});
        self.send(Mark::Head, "response.output_item.added", added)
    }

    fn close(&mut self, item: Value) -> Flow {
        let at = self.output.len();
        let done = json!({"output_index": at, "item": item});
        self.output.push(item);
        self.send(Mark::Head, "response.output_item.done", done)
    }

    fn reasoning(&mut self, it: &Reasoning) -> Flow {
        let at = self.output.len();
        let item = reasoning_item(self.reply, at, it);
        let mut empty = item.clone();
        empty["summary"] = json!([]);
        // The blob of an opened item is a forerunner: only the one in `done` can be sent back.
        if let Some(blob) = item["encrypted_content"].as_str() {
            let early: String = blob.chars().take(blob.len() / 2).collect();
            empty["encrypted_content"] = json!(early);
        }
        self.open(&empty)?;
        if !it.chunks.is_empty() {
            let place = json!({"item_id": item["id"], "output_index": at, "summary_index": 0});
            let with = |key: &str, value: Value| merged(&place, key, value);
            let part = |text: &str| json!({"type": "summary_text", "text": text});
            let text = it.chunks.concat();
            let event = |what: &str| format!("response.reasoning_summary_{what}");
            self.send(Mark::Head, &event("part.added"), with("part", part("")))?;
            self.deltas(
                Mark::Reasoning,
                &event("text.delta"),
                place.clone(),
                &it.chunks,
            )?;
            self.send(Mark::Head, &event("text.done"), with("text", json!(text)))?;
            self.send(Mark::Head, &event("part.done"), with("part", part(&text)))?;
        }
        self.close(item)
    }

    fn message(&mut self, chunks: &[String]) -> Flow {
        let at = self.output.len();
        let text = chunks.concat();
        let item = message_item(self.reply, at, &text);
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        empty["content"] = json!([]);
        self.open(&empty)?;
        let (name, key) = match self.reply.step.stop {
            Some(Stop::Refused) => ("response.refusal", "refusal"),
            Some(Stop::Length | Stop::Filtered | Stop::Other(_)) | None => {
                ("response.output_text", "text")
            }
        };
        let place = json!({"item_id": item["id"], "output_index": at, "content_index": 0});
        let with = |key: &str, value: Value| merged(&place, key, value);
        let part = content_part(self.reply, "");
        self.send(
            Mark::Head,
            "response.content_part.added",
            with("part", part),
        )?;
        self.deltas(Mark::Text, &format!("{name}.delta"), place.clone(), chunks)?;
        self.send(Mark::Head, &format!("{name}.done"), with(key, json!(text)))?;
        let part = content_part(self.reply, &text);
        self.send(Mark::Head, "response.content_part.done", with("part", part))?;
        self.close(item)
    }

    fn call(&mut self, said: &SaidCall) -> Flow {
        let at = self.output.len();
        let item = call_item(self.reply, said, &said.call.args, "completed");
        self.open(&call_item(self.reply, said, "", "in_progress"))?;
        let place = json!({"item_id": item["id"], "output_index": at});
        let pieces: Vec<String> = said.call.pieces().into_iter().map(String::from).collect();
        let event = |what: &str| format!("response.function_call_arguments.{what}");
        self.deltas(Mark::Args, &event("delta"), place.clone(), &pieces)?;
        let done = merged(&place, "arguments", json!(said.call.args));
        self.send(Mark::Head, &event("done"), done)?;
        self.close(item)
    }
}

fn merged(place: &Value, key: &str, value: Value) -> Value {
    let mut out = place.clone();
    out[key] = value;
    out
}

fn reasoning_item(reply: &Reply, at: usize, it: &Reasoning) -> Value {
    let include = &reply.request.body["include"];
    let asked = crate::captured::items(include)
        .iter()
        .any(|i| i == "reasoning.encrypted_content");
    let summary = match &it.chunks[..] {
        [] => json!([]),
        chunks => json!([{"type": "summary_text", "text": chunks.concat()}]),
    };
    // Left out unless the request asks for it, as the vendor does.
    let encrypted = asked.then(|| reply.blob(it));
    json!({"id": format!("{}i{at}", reply.id("rs_")), "type": "reasoning",
        "encrypted_content": encrypted, "summary": summary})
}

fn message_item(reply: &Reply, at: usize, text: &str) -> Value {
    let status = ending(reply).1;
    json!({"id": format!("{}i{at}", reply.id("msg_")), "type": "message", "status": status,
        "content": [content_part(reply, text)], "role": "assistant"})
}

fn content_part(reply: &Reply, text: &str) -> Value {
    match reply.step.stop {
        Some(Stop::Refused) => json!({"type": "refusal", "refusal": text}),
        Some(Stop::Length | Stop::Filtered | Stop::Other(_)) | None => {
            json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
        }
    }
}

/// The tools of a namespace are called by `namespace/name`.
fn call_item(reply: &Reply, said: &SaidCall, args: &str, status: &str) -> Value {
    let name = &said.call.name;
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, name.as_str()),
    };
    let mut item = json!({"id": format!("{}c{}", reply.id("fc_"), said.index), "type": "function_call",
        "status": status, "arguments": args, "call_id": said.id.as_deref().unwrap_or_default(),
        "name": name});
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

/// The last event, the status and the details of an answer's end.
fn ending(reply: &Reply) -> (&'static str, &'static str, Value) {
    let cut = |reason: &str| {
        let details = json!({ "reason": reason });
        ("response.incomplete", "incomplete", details)
    };
    match &reply.step.stop {
        Some(Stop::Length) => cut("max_output_tokens"),
        Some(Stop::Filtered) => cut("content_filter"),
        Some(Stop::Other(word)) => cut(word),
        Some(Stop::Refused) | None => ("response.completed", "completed", Value::Null),
    }
}

fn response(reply: &Reply, status: &str, output: &[Value], details: Value) -> Value {
    let body = &reply.request.body;
    json!({
        "id": reply.id("resp_"), "object": "response", "created_at": CREATED, "status": status,
        "background": false, "error": null, "incomplete_details": details, "instructions": null,
        "max_output_tokens": body["max_output_tokens"], "model": reply.model(), "output": output,
        "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": {"effort": body["reasoning"]["effort"], "summary": body["reasoning"]["summary"]},
        "service_tier": "default", "store": body["store"], "temperature": 1.0,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": null, "user": null, "metadata": {},
    })
}

fn usage(u: Usage) -> Value {
    json!({
        "input_tokens": u.input, "input_tokens_details": {"cached_tokens": u.cached},
        "output_tokens": u.output, "output_tokens_details": {"reasoning_tokens": u.reasoning},
        "total_tokens": u.input + u.output,
    })
}
