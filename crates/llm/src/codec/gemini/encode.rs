//! Bodies of the gemini protocol. The model and the way to stream stand in the URL, not here.

use super::super::effort;
use super::super::write::{self, List, NO_IMAGE, Object, Top};
use super::{PART, PART_FIELDS, SIGNATURE};
use crate::{AnswerPart, CallResult, Effort, Msg, Params, Prefix, Target, Thinking};
use ostler_wire::{Image, Json, ToolSpec};

/// Written before the messages.
const BEFORE: [&str; 3] = ["systemInstruction", "tools", "contents"];
const EFFORTS: &[&str] = &["minimal", "low", "medium", "high"];
/// The thinking budgets that all models with budgets take; some cannot stop thinking, so there is no zero.
const MIN_BUDGET: u64 = 512;
const MAX_BUDGET: u64 = 24_576;
/// Stands for the signature of a call that another model made. The protocol's own word for it.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn open(target: &Target, prefix: &Prefix, out: &mut Vec<u8>) -> bool {
    let mut top = Top::open(out, target);
    if !prefix.system.is_empty() {
        let mut system = Object::open(top.own("systemInstruction"));
        let mut parts = system.list("parts");
        text_part(&prefix.system, &mut parts);
        parts.close();
        system.close();
    }
    if !prefix.tools.is_empty() {
        tools(target, &prefix.tools, top.own("tools"));
    }
    top.own("contents").push(b'[');
    false
}

pub(super) fn message(target: &Target, message: &Msg, out: &mut Vec<u8>) {
    let start = out.len();
    let role = match message {
        Msg::User { .. } | Msg::Results { .. } => "user",
        Msg::Assistant { .. } => "model",
    };
    let mut item = Object::open(out);
    item.text("role", role);
    let mut parts = item.list("parts");
    match message {
        Msg::User { text, images } => user(target, text, images, &mut parts),
        Msg::Assistant { parts: said } => assistant(target, said, &mut parts),
        Msg::Results { results } => self::results(target, results, &mut parts),
    }
    let empty = parts.is_empty();
    parts.close();
    item.close();
    if empty {
        out.truncate(start);
    }
}

pub(super) fn close(target: &Target, params: &Params, out: &mut Vec<u8>) {
    let mut top = Top::resume(out, target, &BEFORE);
    let mut config = Vec::new();
    if target.quirks.sampling {
        let sampling = [("temperature", params.temperature), ("topP", params.top_p)];
        config.extend(
            sampling
                .into_iter()
                .filter_map(|(key, value)| Some((key, write::number(value?)?))),
        );
    }
    config.extend(
        params
            .max_tokens
            .map(|limit| ("maxOutputTokens", limit.to_string())),
    );
    config.extend(thinking(target, params.effort).map(|value| ("thinkingConfig", value)));
    top.merged("generationConfig", &config);
    let choice = r#"{"functionCallingConfig":{"mode":"NONE"}}"#;
    top.raw("toolConfig", write::forbidden(params, choice));
    top.close();
}

fn tools(target: &Target, tools: &[ToolSpec], out: &mut Vec<u8>) {
    let schema = if target.quirks.openapi_schema {
        "parameters"
    } else {
        "parametersJsonSchema"
    };
    let mut list = List::open(out);
    let mut group = list.object();
    let mut functions = group.list("functionDeclarations");
    for tool in tools {
        let mut item = functions.object();
        item.text("name", &tool.name);
        item.text("description", &tool.description);
        item.raw(schema, write::schema(tool));
        item.close();
    }
    functions.close();
    group.close();
    list.close();
}

fn user(target: &Target, text: &str, images: &[Image], parts: &mut List<'_>) {
    if !text.is_empty() {
        text_part(text, parts);
    }
    pictures(target, images, parts);
}

fn assistant(target: &Target, said: &[AnswerPart], parts: &mut List<'_>) {
    let signed = |replay: &Option<Json>| {
        write::replayed(replay.as_ref(), PART)
            .get(SIGNATURE)
            .is_some()
    };
    // Of several calls in one answer only the first is signed, so one signature speaks for all.
    let mut unsigned = target.quirks.fill_signatures
        && !said
            .iter()
            .any(|part| matches!(part, AnswerPart::Call { replay, .. } if signed(replay)));
    for part in said {
        match part {
            // What the model showed of its thoughts is a summary for people, unless it is signed.
            AnswerPart::Reasoning { text, replay } if signed(replay) => {
                let mut item = parts.object();
                item.text("text", text);
                item.raw("thought", "true");
                item.fields(&write::replayed(replay.as_ref(), PART), &PART_FIELDS);
                item.close();
            }
            AnswerPart::Reasoning { .. } => {}
            AnswerPart::Text { text, replay } if text.is_empty() && !signed(replay) => {}
            AnswerPart::Text { text, replay } => {
                let mut item = parts.object();
                item.text("text", text);
                item.fields(&write::replayed(replay.as_ref(), PART), &PART_FIELDS);
                item.close();
            }
            AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                let mut item = parts.object();
                let mut call = item.object("functionCall");
                if !id.is_empty() {
                    call.text("id", id);
                }
                call.text("name", &write::name(name));
                call.raw("args", &write::arguments(arguments));
                call.close();
                item.fields(&write::replayed(replay.as_ref(), PART), &PART_FIELDS);
                if std::mem::take(&mut unsigned) {
                    item.text(SIGNATURE, NO_SIGNATURE);
                }
                item.close();
            }
        }
    }
}

fn results(target: &Target, results: &[CallResult], parts: &mut List<'_>) {
    let inside = target.images && target.quirks.images_in_results;
    for result in results {
        let mut item = parts.object();
        let mut function = item.object("functionResponse");
        if !result.id.is_empty() {
            function.text("id", &result.id);
        }
        function.text("name", &write::name(&result.name));
        let mut response = function.object("response");
        let text = write::result_text(target, result);
        response.text(if result.ok { "output" } else { "error" }, &text);
        response.close();
        if inside && !result.images.is_empty() {
            let mut images = function.list("parts");
            pictures(target, &result.images, &mut images);
            images.close();
        }
        function.close();
        item.close();
    }
    if !inside && target.images {
        for result in results {
            pictures(target, &result.images, parts);
        }
    }
}

fn thinking(target: &Target, effort: Option<Effort>) -> Option<String> {
    if !target.reasoning {
        return None;
    }
    let shown = r#""includeThoughts":true"#;
    match (target.quirks.thinking, effort) {
        (Thinking::Off, _) => None,
        (Thinking::Effort | Thinking::Budget, None) => Some(format!("{{{shown}}}")),
        (Thinking::Effort, Some(effort)) => {
            let word = effort::word(effort, &target.quirks, EFFORTS)?.to_ascii_uppercase();
            Some(format!(r#"{{{shown},"thinkingLevel":"{word}"}}"#))
        }
        (Thinking::Budget, Some(effort)) => {
            let budget = effort::budget(effort)
                .unwrap_or(0)
                .clamp(MIN_BUDGET, MAX_BUDGET);
            Some(format!(r#"{{{shown},"thinkingBudget":{budget}}}"#))
        }
    }
}

fn text_part(text: &str, parts: &mut List<'_>) {
    let mut part = parts.object();
    part.text("text", text);
    part.close();
}

fn pictures(target: &Target, images: &[Image], parts: &mut List<'_>) {
    if !target.images && !images.is_empty() {
        return text_part(NO_IMAGE, parts);
    }
    for image in images {
        let mut part = parts.object();
        let mut data = part.object("inlineData");
        data.text("mimeType", &image.media_type);
        data.text("data", &image.data);
        data.close();
        part.close();
    }
}
