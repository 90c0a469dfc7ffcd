//! Bodies of the responses protocol.

use super::super::effort;
use super::super::write::{self, List, NO_IMAGE, RESULT_IMAGES, Top};
use super::{CALL_FIELDS, ITEM, MESSAGE_FIELDS, REASONING_FIELDS};
use crate::{AnswerPart, CallResult, Msg, Params, Prefix, Target};
use ostler_wire::{Image, ToolSpec};

/// Written before the messages.
const BEFORE: [&str; 7] = [
    "model",
    "stream",
    "store",
    "include",
    "instructions",
    "tools",
    "input",
];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

pub(super) fn open(target: &Target, prefix: &Prefix, out: &mut Vec<u8>) -> bool {
    let mut top = Top::open(out, target);
    top.text("model", &target.origin.model);
    top.flag("stream", target.stream);
    top.flag("store", false);
    // Without stored state the reasoning must travel with the answer, encrypted.
    let include = target
        .reasoning
        .then_some(r#"["reasoning.encrypted_content"]"#);
    top.raw("include", include);
    if !prefix.system.is_empty() {
        write::text(top.own("instructions"), &prefix.system);
    }
    if !prefix.tools.is_empty() {
        tools(&prefix.tools, top.own("tools"));
    }
    top.own("input").push(b'[');
    false
}

pub(super) fn message(target: &Target, message: &Msg, out: &mut Vec<u8>) {
    let mut items = List::inside(out);
    match message {
        Msg::User { text, images } => user(target, text, images, &mut items),
        Msg::Assistant { parts } => assistant(parts, &mut items),
        Msg::Results { results } => self::results(target, results, &mut items),
    }
}

pub(super) fn close(target: &Target, params: &Params, out: &mut Vec<u8>) {
    let quirks = &target.quirks;
    let mut top = Top::resume(out, target, &BEFORE);
    top.count("max_output_tokens", params.max_tokens);
    if quirks.sampling {
        top.number("temperature", params.temperature);
        top.number("top_p", params.top_p);
    }
    let effort = params.effort.filter(|_| target.reasoning);
    let word = effort.and_then(|effort| effort::word(effort, quirks, EFFORTS));
    let reasoning = word.map(|word| match quirks.reasoning_summary {
        true => format!(r#"{{"effort":"{word}","summary":"auto"}}"#),
        false => format!(r#"{{"effort":"{word}"}}"#),
    });
    top.raw("reasoning", reasoning.as_deref());
    top.raw("tool_choice", write::forbidden(params, r#""none""#));
    top.close();
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let mut list = List::open(out);
    for tool in tools {
        let mut item = list.object();
        item.text("type", "function");
        item.text("name", &tool.name);
        item.text("description", &tool.description);
        item.raw("parameters", write::schema(tool));
        // Strict is this protocol's default, and rewrites schemas with optional fields.
        item.raw("strict", "false");
        item.close();
    }
    list.close();
}

fn user(target: &Target, text: &str, images: &[Image], items: &mut List<'_>) {
    if text.is_empty() && images.is_empty() {
        return;
    }
    let mut item = items.object();
    item.text("type", "message");
    item.text("role", "user");
    let mut content = item.list("content");
    if !text.is_empty() {
        text_block("input_text", text, &mut content);
    }
    pictures(target, images, &mut content);
    content.close();
    item.close();
}

fn assistant(parts: &[AnswerPart], items: &mut List<'_>) {
    // A reasoning item is refused without the item it led to.
    let said = |part: &AnswerPart| match part {
        AnswerPart::Text { text, .. } => !text.is_empty(),
        AnswerPart::Call { .. } => true,
        AnswerPart::Reasoning { .. } => false,
    };
    let end = parts.iter().rposition(said).map_or(0, |last| last + 1);
    for part in parts.iter().take(end) {
        match part {
            AnswerPart::Reasoning { replay, .. } => {
                let fields = write::replayed(replay.as_ref(), ITEM);
                if fields.get("type").is_some() {
                    let mut item = items.object();
                    item.fields(&fields, &REASONING_FIELDS);
                    item.close();
                }
            }
            AnswerPart::Text { text, .. } if text.is_empty() => {}
            AnswerPart::Text { text, replay } => {
                let mut item = items.object();
                item.text("type", "message");
                item.text("role", "assistant");
                let mut content = item.list("content");
                text_block("output_text", text, &mut content);
                content.close();
                item.fields(&write::replayed(replay.as_ref(), ITEM), &MESSAGE_FIELDS);
                item.close();
            }
            AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                let mut item = items.object();
                item.text("type", "function_call");
                item.text("call_id", &write::call_id(id));
                item.text("name", &write::name(name));
                item.text("arguments", &write::arguments(arguments));
                item.fields(&write::replayed(replay.as_ref(), ITEM), &CALL_FIELDS);
                item.close();
            }
        }
    }
}

fn results(target: &Target, results: &[CallResult], items: &mut List<'_>) {
    let inside = target.images && target.quirks.images_in_results;
    for result in results {
        let mut item = items.object();
        item.text("type", "function_call_output");
        item.text("call_id", &write::call_id(&result.id));
        if inside && !result.images.is_empty() {
            let mut output = item.list("output");
            if !result.text.is_empty() {
                text_block("input_text", &result.text, &mut output);
            }
            pictures(target, &result.images, &mut output);
            output.close();
        } else {
            item.text("output", &write::result_text(target, result));
        }
        item.close();
    }
    if inside || !target.images || results.iter().all(|r| r.images.is_empty()) {
        return;
    }
    let mut item = items.object();
    item.text("type", "message");
    item.text("role", "user");
    let mut content = item.list("content");
    text_block("input_text", RESULT_IMAGES, &mut content);
    for result in results {
        pictures(target, &result.images, &mut content);
    }
    content.close();
    item.close();
}

fn text_block(kind: &str, text: &str, content: &mut List<'_>) {
    let mut block = content.object();
    block.text("type", kind);
    block.text("text", text);
    block.close();
}

fn pictures(target: &Target, images: &[Image], content: &mut List<'_>) {
    if !target.images && !images.is_empty() {
        return text_block("input_text", NO_IMAGE, content);
    }
    for image in images {
        let mut block = content.object();
        block.text("type", "input_image");
        block.text("detail", "auto");
        write::data_url(block.key("image_url"), image);
        block.close();
    }
}
