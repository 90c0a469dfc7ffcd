//! Bodies of the messages protocol.

use super::super::write::{self, List, NO_IMAGE, Object, Top};
use super::super::{Mark, effort};
use super::{BLOCK, CALL_FIELDS, TEXT_FIELDS, THINKING_FIELDS};
use crate::{AnswerPart, CallResult, Effort, Msg, Params, Prefix, Target, Thinking, ThinkingOff};
use ostler_wire::{Image, Json, ToolSpec};

/// Written before the messages.
const BEFORE: [&str; 5] = ["model", "stream", "tools", "system", "messages"];
const EFFORTS: &[&str] = &["low", "medium", "high", "max"];
/// The protocol wants an output limit; this one when neither the caller nor the catalog has any.
const DEFAULT_MAX_TOKENS: u64 = 8_192;
/// The smallest thinking budget that is accepted.
const MIN_BUDGET: u64 = 1_024;
/// With thinking on, a smaller `top_p` is refused.
const MIN_TOP_P: f64 = 0.95;

pub(super) fn open(target: &Target, prefix: &Prefix, out: &mut Vec<u8>) -> bool {
    let mut top = Top::open(out, target);
    top.text("model", &target.origin.model);
    top.flag("stream", target.stream);
    let has_system = !prefix.system.trim().is_empty();
    if !prefix.tools.is_empty() {
        // Without a system prompt the breakpoint that covers the prefix stands here.
        let mark = if has_system { Mark::Plain } else { Mark::Cache };
        tools(&prefix.tools, mark, top.own("tools"));
    }
    if has_system {
        let mut blocks = Blocks::open(top.own("system"));
        blocks.text(&prefix.system, None);
        blocks.close(Mark::Cache);
    }
    top.own("messages").push(b'[');
    false
}

pub(super) fn message(target: &Target, message: &Msg, mark: Mark, out: &mut Vec<u8>) {
    match message {
        Msg::User { text, images } => user(target, text, images, mark, out),
        Msg::Assistant { parts } => assistant(parts, mark, out),
        Msg::Results { results } => self::results(target, results, mark, out),
    }
}

pub(super) fn close(target: &Target, params: &Params, out: &mut Vec<u8>) {
    let quirks = &target.quirks;
    let limit = params
        .max_tokens
        .or(target.max_output)
        .unwrap_or(DEFAULT_MAX_TOKENS)
        .max(1);
    let thinking = thinking(target, params.effort, limit);
    let thinks = thinking.on;
    let mut top = Top::resume(out, target, &BEFORE);
    top.count("max_tokens", Some(limit));
    if quirks.sampling {
        // One of the two at most: together they are refused.
        let temperature = params.temperature.filter(|_| !thinks);
        let top_p = params.top_p.filter(|p| !thinks || *p >= MIN_TOP_P);
        top.number("temperature", temperature);
        top.number("top_p", top_p.filter(|_| temperature.is_none()));
    }
    top.raw("thinking", thinking.field.as_deref());
    let output = thinking
        .effort
        .map(|word| format!(r#"{{"effort":"{word}"}}"#));
    top.raw("output_config", output.as_deref());
    top.raw(
        "tool_choice",
        write::forbidden(params, r#"{"type":"none"}"#),
    );
    top.close();
}

fn tools(tools: &[ToolSpec], mark: Mark, out: &mut Vec<u8>) {
    let mut list = List::open(out);
    for tool in tools {
        let mut item = list.object();
        item.text("name", &tool.name);
        item.text("description", &tool.description);
        item.raw("input_schema", write::schema(tool));
        item.close();
    }
    let end = list.end();
    list.close();
    if mark == Mark::Cache {
        write::cache_mark(out, end);
    }
}

fn user(target: &Target, text: &str, images: &[Image], mark: Mark, out: &mut Vec<u8>) {
    if text.trim().is_empty() && images.is_empty() {
        return;
    }
    let mut item = Object::open(out);
    item.text("role", "user");
    let mut blocks = Blocks::open(item.key("content"));
    // Pictures are read best when they come before the words about them.
    blocks.pictures(target, images);
    blocks.text(text, None);
    blocks.close(mark);
    item.close();
}

fn assistant(parts: &[AnswerPart], mark: Mark, out: &mut Vec<u8>) {
    // An answer may not end with thinking.
    let said = |part: &AnswerPart| match part {
        AnswerPart::Text { text, .. } => !text.trim().is_empty(),
        AnswerPart::Call { .. } => true,
        AnswerPart::Reasoning { .. } => false,
    };
    let Some(last) = parts.iter().rposition(said) else {
        return;
    };
    let mut item = Object::open(out);
    item.text("role", "assistant");
    let mut blocks = Blocks::open(item.key("content"));
    for part in parts.iter().take(last + 1) {
        match part {
            AnswerPart::Reasoning {
                text,
                replay: Some(blob),
            } => blocks.thinking(text, blob),
            // Thinking without a signature is refused.
            AnswerPart::Reasoning { replay: None, .. } => {}
            AnswerPart::Text { text, replay } => blocks.text(text, replay.as_ref()),
            AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                let mut block = blocks.block();
                block.text("type", "tool_use");
                block.text("id", &write::call_id(id));
                block.text("name", &write::name(name));
                block.raw("input", &write::arguments(arguments));
                block.fields(&write::replayed(replay.as_ref(), BLOCK), &CALL_FIELDS);
                block.close();
                blocks.may_be_marked();
            }
        }
    }
    blocks.close(mark);
    item.close();
}

fn results(target: &Target, results: &[CallResult], mark: Mark, out: &mut Vec<u8>) {
    if results.is_empty() {
        return;
    }
    let mut item = Object::open(out);
    item.text("role", "user");
    let mut blocks = Blocks::open(item.key("content"));
    for result in results {
        let mut block = blocks.block();
        block.text("type", "tool_result");
        block.text("tool_use_id", &write::call_id(&result.id));
        if !result.images.is_empty() {
            let mut content = Blocks::open(block.key("content"));
            content.text(&result.text, None);
            content.pictures(target, &result.images);
            content.close(Mark::Plain);
        } else if !result.text.trim().is_empty() {
            block.text("content", &result.text);
        }
        if !result.ok {
            block.raw("is_error", "true");
        }
        block.close();
        blocks.may_be_marked();
    }
    blocks.close(mark);
    item.close();
}

/// What a request says about thinking.
#[derive(Default)]
struct Asked {
    field: Option<String>,
    /// For `output_config`.
    effort: Option<&'static str>,
    on: bool,
}

fn thinking(target: &Target, effort: Option<Effort>, limit: u64) -> Asked {
    let quirks = &target.quirks;
    if !target.reasoning || quirks.thinking == Thinking::Off {
        return Asked::default();
    }
    if quirks.thinking == Thinking::Budget {
        // A quarter of the limit stays for the answer itself.
        let most = limit - limit / 4;
        let budget = effort
            .and_then(effort::budget)
            .map(|budget| budget.min(most));
        let budget = budget.filter(|budget| *budget >= MIN_BUDGET && *budget < limit);
        return Asked {
            field: budget.map(|n| format!(r#"{{"type":"enabled","budget_tokens":{n}}}"#)),
            effort: None,
            on: budget.is_some(),
        };
    }
    let word = effort.and_then(|effort| effort::word(effort, quirks, EFFORTS));
    let (kind, word, on) = match (effort, quirks.thinking_off) {
        (Some(Effort::None), ThinkingOff::Omit) => (None, word, false),
        (Some(Effort::None), ThinkingOff::Disabled) => {
            (Some(r#"{"type":"disabled"}"#), None, false)
        }
        (Some(Effort::None), ThinkingOff::BetweenTools) => {
            (Some(r#"{"type":"between_tools"}"#), word, true)
        }
        // Left out, some models do not think at all, and the others do not show what they think.
        (Some(_) | None, _) => (
            Some(r#"{"type":"adaptive","display":"summarized"}"#),
            word,
            true,
        ),
    };
    Asked {
        field: kind.map(str::to_owned),
        effort: word,
        on,
    }
}

/// A list of content blocks that knows where a cache mark may stand.
struct Blocks<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
    markable: Option<usize>,
}

impl<'a> Blocks<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self {
            out,
            empty: true,
            markable: None,
        }
    }

    fn block(&mut self) -> Object<'_> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        Object::open(self.out)
    }

    /// The block that was just closed can carry the mark; thinking cannot.
    fn may_be_marked(&mut self) {
        self.markable = Some(self.out.len());
    }

    /// A text block; blank ones are refused, so they are not written.
    fn text(&mut self, text: &str, replay: Option<&Json>) {
        if text.trim().is_empty() {
            return;
        }
        let mut block = self.block();
        block.text("type", "text");
        block.text("text", text);
        block.fields(&write::replayed(replay, BLOCK), &TEXT_FIELDS);
        block.close();
        self.may_be_marked();
    }

    fn thinking(&mut self, text: &str, blob: &Json) {
        let fields = write::replayed(Some(blob), BLOCK);
        if fields.get("type").is_some() {
            let mut block = self.block();
            block.fields(&fields, &[]);
            block.close();
        } else if fields.get("signature").is_some() {
            let mut block = self.block();
            block.text("type", "thinking");
            block.text("thinking", text);
            block.fields(&fields, &THINKING_FIELDS);
            block.close();
        }
    }

    fn pictures(&mut self, target: &Target, images: &[Image]) {
        if !target.images && !images.is_empty() {
            return self.text(NO_IMAGE, None);
        }
        for image in images {
            let mut block = self.block();
            block.text("type", "image");
            let mut source = block.object("source");
            source.text("type", "base64");
            source.text("media_type", &image.media_type);
            source.text("data", &image.data);
            source.close();
            block.close();
            self.may_be_marked();
        }
    }

    fn close(self, mark: Mark) {
        self.out.push(b']');
        if let (Mark::Cache, Some(end)) = (mark, self.markable) {
            write::cache_mark(self.out, end);
        }
    }
}
