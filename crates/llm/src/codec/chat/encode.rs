//! Bodies of the chat protocol.

use super::super::write::{self, List, NO_IMAGE, Object, RESULT_IMAGES, Top};
use super::super::{Mark, effort, loose::Fields};
use super::{CALL, CALL_FIELDS, DETAILS, MESSAGE, MESSAGE_FIELDS, REASONING_FIELDS};
use crate::{
    AnswerPart, CallResult, Effort, EffortField, MaxTokensField, Msg, Params, Prefix, Quirks,
    ReasoningBack, SystemRole, Target,
};
use ostler_wire::{Image, ToolSpec};
use std::borrow::Cow;

/// Written before the messages.
const BEFORE: [&str; 5] = ["model", "stream", "stream_options", "tools", "messages"];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high"];

pub(super) fn open(target: &Target, prefix: &Prefix, out: &mut Vec<u8>) -> bool {
    let quirks = &target.quirks;
    let mut top = Top::open(out, target);
    top.text("model", &target.origin.model);
    top.flag("stream", target.stream);
    let counted = target.stream && quirks.stream_usage;
    top.raw(
        "stream_options",
        counted.then_some(r#"{"include_usage":true}"#),
    );
    if !prefix.tools.is_empty() {
        tools(&prefix.tools, top.own("tools"));
    }
    top.own("messages").push(b'[');
    if prefix.system.is_empty() {
        return false;
    }
    let role = match quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
        SystemRole::User => "user",
    };
    let mut item = Object::open(out);
    item.text("role", role);
    text_content(quirks, &prefix.system, Mark::Cache, &mut item);
    item.close();
    true
}

pub(super) fn message(target: &Target, message: &Msg, mark: Mark, out: &mut Vec<u8>) {
    let mut items = List::inside(out);
    match message {
        Msg::User { text, images } => user(target, text, images, mark, &mut items),
        Msg::Assistant { parts } => assistant(target, parts, &mut items),
        Msg::Results { results } => self::results(target, results, mark, &mut items),
    }
}

pub(super) fn close(target: &Target, params: &Params, out: &mut Vec<u8>) {
    let quirks = &target.quirks;
    let mut top = Top::resume(out, target, &BEFORE);
    let limit = match quirks.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    top.count(limit, params.max_tokens);
    if quirks.sampling {
        top.number("temperature", params.temperature);
        top.number("top_p", params.top_p);
    }
    if let Some(effort) = params.effort.filter(|_| target.reasoning) {
        write_effort(effort, quirks, &mut top);
    }
    top.raw("tool_choice", write::forbidden(params, r#""none""#));
    top.close();
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let mut list = List::open(out);
    for tool in tools {
        let mut item = list.object();
        item.text("type", "function");
        let mut function = item.object("function");
        function.text("name", &tool.name);
        function.text("description", &tool.description);
        function.raw("parameters", write::schema(tool));
        function.close();
        item.close();
    }
    list.close();
}

fn user(target: &Target, text: &str, images: &[Image], mark: Mark, items: &mut List<'_>) {
    if text.is_empty() && images.is_empty() {
        return;
    }
    let mut item = items.object();
    item.text("role", "user");
    if images.is_empty() {
        text_content(&target.quirks, text, mark, &mut item);
    } else {
        let mut content = item.list("content");
        if !text.is_empty() {
            text_block(text, &mut content);
        }
        pictures(target, images, &mut content);
        let end = content.end();
        content.close();
        late_mark(&target.quirks, mark, end, item.buffer());
    }
    item.close();
}

fn assistant(target: &Target, parts: &[AnswerPart], items: &mut List<'_>) {
    let quirks = &target.quirks;
    let content = spoken(parts);
    let has_calls = parts
        .iter()
        .any(|part| matches!(part, AnswerPart::Call { .. }));
    if content.is_empty() && !has_calls {
        return;
    }
    let mut item = items.object();
    item.text("role", "assistant");
    if content.is_empty() {
        item.raw("content", "null");
    } else {
        item.text("content", &content);
    }
    reasoning(quirks, parts, has_calls, &mut item);
    if has_calls {
        let mut list = item.list("tool_calls");
        for part in parts {
            if let AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } = part
            {
                let mut call = list.object();
                call.text("id", &call_id(quirks, id));
                call.text("type", "function");
                let mut function = call.object("function");
                function.text("name", &write::name(name));
                function.text("arguments", &write::arguments(arguments));
                function.close();
                call.fields(&write::replayed(replay.as_ref(), CALL), &CALL_FIELDS);
                call.close();
            }
        }
        list.close();
    }
    let mut blobs = parts.iter().filter_map(|part| match part {
        AnswerPart::Text { replay, .. } => replay.as_ref(),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    // The extra fields belong to the message; the decoder hangs all of them on one part.
    if let Some(blob) = blobs.next_back() {
        let ours = [&MESSAGE_FIELDS[..], &REASONING_FIELDS[..]].concat();
        item.fields(&write::replayed(Some(blob), MESSAGE), &ours);
    }
    item.close();
}

fn results(target: &Target, results: &[CallResult], mark: Mark, items: &mut List<'_>) {
    let with_images = target.images && results.iter().any(|r| !r.images.is_empty());
    for (i, result) in results.iter().enumerate() {
        let last = i + 1 == results.len() && !with_images;
        let mut item = items.object();
        item.text("role", "tool");
        item.text("tool_call_id", &call_id(&target.quirks, &result.id));
        let text = write::result_text(target, result);
        text_content(
            &target.quirks,
            &text,
            if last { mark } else { Mark::Plain },
            &mut item,
        );
        item.close();
    }
    if !with_images {
        return;
    }
    let mut item = items.object();
    item.text("role", "user");
    let mut content = item.list("content");
    text_block(RESULT_IMAGES, &mut content);
    for result in results {
        pictures(target, &result.images, &mut content);
    }
    let end = content.end();
    content.close();
    late_mark(&target.quirks, mark, end, item.buffer());
    item.close();
}

fn write_effort(effort: Effort, quirks: &Quirks, top: &mut Top<'_>) {
    let word = effort::word(effort, quirks, EFFORTS);
    let quoted = word.map(|word| format!("\"{word}\""));
    let on = effort != Effort::None;
    let (flag, switch) = if on {
        ("true", r#"{"type":"enabled"}"#)
    } else {
        ("false", r#"{"type":"disabled"}"#)
    };
    match quirks.effort_field {
        EffortField::ReasoningEffort => top.raw("reasoning_effort", quoted.as_deref()),
        EffortField::Reasoning => {
            let object = word.map(|word| format!(r#"{{"effort":"{word}"}}"#));
            top.raw("reasoning", object.as_deref());
        }
        EffortField::Thinking => {
            top.raw("thinking", Some(switch));
            top.raw("reasoning_effort", quoted.as_deref().filter(|_| on));
        }
        EffortField::ThinkingSwitch => top.raw("thinking", Some(switch)),
        EffortField::EnableThinking => top.raw("enable_thinking", Some(flag)),
        EffortField::ChatTemplate => {
            let object = format!(r#"{{"enable_thinking":{flag}}}"#);
            top.raw("chat_template_kwargs", Some(&object));
        }
        EffortField::Off => {}
    }
}

/// The text of all parts: the protocol has one text per message.
fn spoken(parts: &[AnswerPart]) -> Cow<'_, str> {
    let mut texts = parts.iter().filter_map(|part| match part {
        AnswerPart::Text { text, .. } => Some(text.as_str()),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    let first = texts.next().unwrap_or_default();
    texts.fold(Cow::Borrowed(first), |all, more| all + more)
}

/// Reasoning that came from this origin, in the field or list it came in.
fn reasoning(quirks: &Quirks, parts: &[AnswerPart], has_calls: bool, item: &mut Object<'_>) {
    let mut said = String::new();
    let mut field = None;
    let mut details = Vec::new();
    for part in parts {
        let AnswerPart::Reasoning {
            text,
            replay: Some(blob),
        } = part
        else {
            continue;
        };
        let blob = Fields::of(blob.get());
        said.push_str(text);
        field = field.or_else(|| blob.text("field"));
        details.extend(blob.list(DETAILS));
    }
    let field = match quirks.reasoning_back {
        ReasoningBack::Same => REASONING_FIELDS
            .into_iter()
            .find(|f| field.as_deref() == Some(*f)),
        ReasoningBack::ReasoningContent => Some("reasoning_content"),
        ReasoningBack::Reasoning => Some("reasoning"),
        ReasoningBack::Off => None,
    };
    let mut written = false;
    if quirks.reasoning_back == ReasoningBack::Same && !details.is_empty() {
        let mut list = item.list(DETAILS);
        for detail in &details {
            list.raw(detail.get());
        }
        list.close();
        written = true;
    } else if let Some(field) = field.filter(|_| !said.is_empty()) {
        item.text(field, &said);
        written = true;
    }
    if !written && has_calls && quirks.reasoning_required {
        item.text(field.unwrap_or("reasoning_content"), "");
    }
}

/// Text as content: a string, or one block where blocks may carry marks, so that a mark is all that ever differs.
fn text_content(quirks: &Quirks, text: &str, mark: Mark, item: &mut Object<'_>) {
    if !quirks.cache_marks || text.is_empty() {
        item.text("content", text);
        return;
    }
    let mut content = item.list("content");
    text_block(text, &mut content);
    let end = content.end();
    content.close();
    late_mark(quirks, mark, end, item.buffer());
}

fn text_block(text: &str, content: &mut List<'_>) {
    let mut block = content.object();
    block.text("type", "text");
    block.text("text", text);
    block.close();
}

fn pictures(target: &Target, images: &[Image], content: &mut List<'_>) {
    if !target.images && !images.is_empty() {
        return text_block(NO_IMAGE, content);
    }
    for image in images {
        let mut block = content.object();
        block.text("type", "image_url");
        let mut url = block.object("image_url");
        write::data_url(url.key("url"), image);
        url.close();
        block.close();
    }
}

fn late_mark(quirks: &Quirks, mark: Mark, end: usize, out: &mut Vec<u8>) {
    match mark {
        Mark::Cache if quirks.cache_marks => write::cache_mark(out, end),
        Mark::Cache | Mark::Plain => {}
    }
}

fn call_id<'a>(quirks: &Quirks, id: &'a str) -> Cow<'a, str> {
    if quirks.short_call_ids {
        write::short_call_id(id)
    } else {
        // As it came: some servers read meaning into their own ids.
        Cow::Borrowed(id)
    }
}
