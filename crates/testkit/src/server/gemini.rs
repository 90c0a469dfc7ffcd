//! Gemini: whole parts in every frame, running usage, thought signatures on parts.

use super::reply::{Emit, Flow, Frame, HOLE, Mark, Reply, Said, SaidCall, deltas};
use crate::script::Stop;
use crate::seal;
use serde_json::{Value, json};

pub(super) fn stream(reply: &Reply, emit: Emit) -> Flow {
    if reply.step.noise {
        let mut bare = frame(reply, vec![], None);
        if let Some(map) = bare.as_object_mut() {
            map.shift_remove("candidates");
        }
        emit(Frame::plain(Mark::Head, bare.to_string()))?;
    }
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) => {
                let line = frame(reply, vec![json!({"text": HOLE, "thought": true})], None);
                deltas(emit, Mark::Reasoning, None, &line, &it.chunks)?;
            }
            Said::Text(chunks) => {
                let line = frame(reply, vec![json!({ "text": HOLE })], None);
                deltas(emit, Mark::Text, None, &line, chunks)?;
            }
            Said::Call(said) => {
                if let Some(part) = call_part(reply, &said) {
                    let whole = frame(reply, vec![part], None);
                    emit(Frame::plain(Mark::WholeCall, whole.to_string()))?;
                }
            }
        }
    }
    let last = frame(reply, vec![closing_part(reply)], Some(finish_reason(reply)));
    emit(Frame::plain(Mark::Tail, last.to_string()))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut parts: Vec<Value> = vec![];
    for said in reply.parts() {
        match said {
            Said::Reasoning(it) if it.chunks.is_empty() => {}
            Said::Reasoning(it) => {
                parts.push(json!({"text": it.chunks.concat(), "thought": true}));
            }
            Said::Text(chunks) => parts.push(json!({"text": chunks.concat()})),
            Said::Call(said) => parts.extend(call_part(reply, &said)),
        }
    }
    if let (Some(last), Some(signature)) = (parts.last_mut(), text_signature(reply)) {
        last["thoughtSignature"] = json!(signature);
    }
    frame(reply, parts, Some(finish_reason(reply)))
}

/// The vendor's arguments are an object, so a malformed call cannot be sent: there is no part
/// for it and the finish reason says so.
fn call_part(reply: &Reply, said: &SaidCall) -> Option<Value> {
    let args: Value = serde_json::from_str(&said.call.args).ok()?;
    let mut call = json!({"name": said.call.name, "args": args.as_object()?});
    if let Some(id) = &said.id {
        call["id"] = json!(id);
    }
    let mut part = json!({ "functionCall": call });
    // Of calls made together only the first carries the signature.
    if said.index == 0 {
        let own = || seal::seal(reply.kind, reply.model(), &said.call.args);
        let given = reply.parts().iter().find_map(|said| match said {
            Said::Reasoning(it) => it.blob.clone(),
            Said::Text(_) | Said::Call(_) => None,
        });
        part["thoughtSignature"] = json!(given.unwrap_or_else(own));
    }
    Some(part)
}

/// An answer without calls is signed in its last part, which is otherwise empty.
fn closing_part(reply: &Reply) -> Value {
    match text_signature(reply) {
        Some(signature) => json!({"text": "", "thoughtSignature": signature}),
        None => json!({"text": ""}),
    }
}

fn text_signature(reply: &Reply) -> Option<String> {
    let thought = reply.parts().iter().find_map(|said| match said {
        Said::Reasoning(it) => Some(reply.blob(it)),
        Said::Text(_) | Said::Call(_) => None,
    });
    thought.filter(|_| !reply.has_calls())
}

fn frame(reply: &Reply, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut out = json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}}],
        "usageMetadata": usage(reply, finish.is_some()),
        "modelVersion": reply.model(),
        "responseId": reply.id("resp"),
    });
    let candidate = &mut out["candidates"][0];
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
        if finish == MALFORMED {
            candidate["finishMessage"] =
                json!("Malformed function call: the arguments do not parse");
        }
    }
    candidate["index"] = json!(0);
    if finish.is_some() && reply.step.stop == Some(Stop::Refused) && reply.step.parts.is_empty() {
        // A prompt refused outright has no candidate at all.
        out["candidates"] = Value::Null;
        out["promptFeedback"] = json!({"blockReason": "PROHIBITED_CONTENT"});
        if let Some(map) = out.as_object_mut() {
            map.shift_remove("candidates");
        }
    }
    if reply.step.noise {
        out["mockExtra"] = json!({"nested": [1, null]});
    }
    out
}

const MALFORMED: &str = "MALFORMED_FUNCTION_CALL";

fn finish_reason<'a>(reply: &'a Reply) -> &'a str {
    let malformed = || {
        reply.parts().iter().any(|said| match said {
            Said::Call(said) => call_part(reply, said).is_none(),
            Said::Reasoning(_) | Said::Text(_) => false,
        })
    };
    match &reply.step.stop {
        Some(Stop::Length) => "MAX_TOKENS",
        Some(Stop::Filtered) => "SAFETY",
        Some(Stop::Refused) => "PROHIBITED_CONTENT",
        Some(Stop::Other(word)) => word,
        None if malformed() => MALFORMED,
        None => "STOP",
    }
}

/// Counts are running totals; the answer's own are known only at the end.
fn usage(reply: &Reply, complete: bool) -> Value {
    let u = reply.usage;
    let mut out = json!({"promptTokenCount": u.input, "totalTokenCount": u.input,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": u.input}]});
    if u.cached > 0 {
        out["cachedContentTokenCount"] = json!(u.cached);
    }
    if complete {
        out["candidatesTokenCount"] = json!(u.output.saturating_sub(u.reasoning));
        out["totalTokenCount"] = json!(u.input + u.output);
        if u.reasoning > 0 {
            out["thoughtsTokenCount"] = json!(u.reasoning);
        }
    }
    out
}
