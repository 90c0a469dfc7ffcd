//! Answers of the chat protocol.

use super::super::loose::{self, Extras, Fields};
use super::super::{Decoder, Frame, Kept, cut_off, fault, is_limit, no_answer};
use super::calls::Calls;
use super::tags::{Piece, Tags};
use super::{DETAILS, MESSAGE, MESSAGE_FIELDS, REASONING_FIELDS};
use crate::{Chunk, Error, Target, TokenUsage};
use ostler_wire::{Json, Stop, Why, Word};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

pub(super) struct Reader {
    tags: Tags,
    open: Open,
    /// The field the open reasoning comes in.
    field: Option<&'static str>,
    details: Vec<Map<String, Value>>,
    extras: Extras,
    calls: Calls,
    usage: TokenUsage,
    refused: bool,
    finish: Option<String>,
    kept: Kept,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Reasoning,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, deserialize_with = "loose::count")]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    message: Option<Delta<'a>>,
    #[serde(default, deserialize_with = "loose::text")]
    finish_reason: Option<String>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Default)]
struct Delta<'a> {
    content: Option<String>,
    reasoning: Option<(&'static str, String)>,
    refusal: Option<String>,
    details: Option<&'a RawValue>,
    calls: Option<&'a RawValue>,
    legacy_call: Option<&'a RawValue>,
    extras: Vec<(Cow<'a, str>, &'a RawValue)>,
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if loose::is_idle(frame.data) || self.done {
            return Ok(());
        }
        if loose::is_done(frame.data) {
            return self.finish(out);
        }
        let mut spare = String::new();
        let answer: Answer<'_> = loose::read(frame.data, &mut spare)?;
        if answer.error.is_some() {
            return Err(fault::read(frame.data));
        }
        self.answer(answer, out)
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut spare = String::new();
        let answer: Answer<'_> = loose::read(body, &mut spare)?;
        if answer.error.is_some() {
            return Err(fault::read(body));
        }
        if answer.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(no_answer("choices"));
        }
        self.answer(answer, out)?;
        self.finish(out)
    }

    fn end(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        // A server may close the connection right after the reason.
        match (self.done, &self.finish) {
            (true, _) => Ok(()),
            (false, Some(_)) => self.finish(out),
            (false, None) => Err(cut_off()),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            tags: Tags::new(target.quirks.think_tags),
            open: Open::Nothing,
            field: None,
            details: Vec::new(),
            extras: Extras::default(),
            calls: Calls::default(),
            usage: TokenUsage::default(),
            refused: false,
            finish: None,
            kept: Kept::default(),
            done: false,
        }
    }

    fn answer(&mut self, answer: Answer<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if let Some(usage) = answer.usage {
            self.usage(usage, out);
        }
        for choice in answer.choices.unwrap_or_default() {
            if choice.index.unwrap_or(0) != 0 {
                continue;
            }
            if let Some(usage) = choice.usage {
                self.usage(usage, out);
            }
            if let Some(error) = choice.error {
                return Err(fault::read(error.get()));
            }
            for delta in [choice.delta, choice.message].into_iter().flatten() {
                self.delta(delta, out)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(reason);
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let named = delta.reasoning.is_some();
        if let Some((field, text)) = delta.reasoning {
            self.field.get_or_insert(field);
            self.reason(text, out)?;
        }
        if let Some(details) = delta.details {
            self.kept.bytes(details.get().len())?;
            let text = self.detail(details);
            // Servers that send both put the same text into both.
            if !named {
                self.reason(text, out)?;
            }
        }
        if let Some(text) = delta.content {
            self.speak(text, out)?;
        }
        if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(text, out)?;
        }
        if let Some(calls) = delta.calls {
            self.calls.push(calls, &mut self.kept)?;
        }
        if let Some(call) = delta.legacy_call {
            self.calls.push_legacy(call, &mut self.kept)?;
        }
        for (key, value) in delta.extras {
            self.kept.bytes(value.get().len())?;
            self.extras.set(&key, value.get());
        }
        Ok(())
    }

    /// Text that may hold reasoning between tags.
    fn speak(&mut self, text: String, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        if self.tags.are_over() {
            return self.say(text, out);
        }
        let mut pieces = Vec::new();
        self.tags.push(text, |piece| pieces.push(piece));
        self.pieces(pieces, out)
    }

    fn pieces(&mut self, pieces: Vec<Piece>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(text, out)?,
                Piece::Reasoning(text) => self.reason(text, out)?,
            }
        }
        Ok(())
    }

    fn say(&mut self, text: String, out: &mut Vec<Chunk>) -> Result<(), Error> {
        self.kept.bytes(text.len())?;
        self.end_reasoning(out);
        self.open = Open::Text;
        out.push(Chunk::Text(text));
        Ok(())
    }

    fn reason(&mut self, text: String, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.kept.bytes(text.len())?;
        self.open = Open::Reasoning;
        out.push(Chunk::Reasoning(text));
        Ok(())
    }

    /// Adds pieces of reasoning to those that came before, and returns the text in them.
    fn detail(&mut self, raw: &RawValue) -> String {
        let mut text = String::new();
        let pieces: Vec<Value> = serde_json::from_str(raw.get()).unwrap_or_default();
        for piece in pieces {
            let Value::Object(piece) = piece else {
                continue;
            };
            for key in ["text", "summary"] {
                text.push_str(piece.get(key).and_then(Value::as_str).unwrap_or_default());
            }
            match self.details.last_mut() {
                Some(last) if goes_on(last, &piece) => merge(last, piece),
                Some(_) | None => self.details.push(piece),
            }
        }
        text
    }

    fn end_reasoning(&mut self, out: &mut Vec<Chunk>) {
        if self.open != Open::Reasoning && self.details.is_empty() {
            return;
        }
        let mut blob = Map::new();
        if let Some(field) = self.field.take() {
            blob.insert("field".into(), field.into());
        }
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            blob.insert(
                DETAILS.into(),
                details.into_iter().map(Value::Object).collect(),
            );
        }
        self.open = Open::Nothing;
        out.push(Chunk::EndReasoning {
            replay: (!blob.is_empty()).then(|| Json::of(&blob)),
        });
    }

    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut held = Vec::new();
        self.tags.end(|piece| held.push(piece));
        self.pieces(held, out)?;
        if self.open == Open::Reasoning {
            self.end_reasoning(out);
        }
        let extras = self.extras.take(MESSAGE);
        if self.open == Open::Text || extras.is_some() {
            out.push(Chunk::EndText { replay: extras });
        }
        // Pieces that came after the text, such as an encrypted one at the end.
        self.end_reasoning(out);
        let called = !self.calls.is_empty();
        self.calls.end(out);
        let stop = stop(
            self.finish.as_deref().unwrap_or("stop"),
            called,
            self.refused,
        )?;
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn usage(&mut self, raw: &RawValue, out: &mut Vec<Chunk>) {
        let usage = usage(&Fields::of(raw.get()));
        if usage != self.usage {
            self.usage = usage;
            out.push(Chunk::Usage(usage));
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Delta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Message<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Message<'a> {
            type Value = Delta<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut delta = Delta::default();
                while let Some(Key(key)) = map.next_key()? {
                    match key.as_ref() {
                        "content" => delta.content = map.next_value::<loose::Joined>()?.0,
                        "refusal" => delta.refusal = map.next_value::<loose::Text>()?.0,
                        "tool_calls" => delta.calls = map.next_value()?,
                        "function_call" => delta.legacy_call = map.next_value()?,
                        DETAILS => delta.details = map.next_value()?,
                        other => match REASONING_FIELDS.into_iter().find(|f| *f == other) {
                            Some(field) => {
                                let text = map.next_value::<loose::Text>()?.0;
                                let text = text.filter(|text| !text.is_empty());
                                delta.reasoning =
                                    delta.reasoning.or(text.map(|text| (field, text)));
                            }
                            None if MESSAGE_FIELDS.contains(&other) => {
                                map.next_value::<IgnoredAny>()?;
                            }
                            None => delta.extras.push((key, map.next_value()?)),
                        },
                    }
                }
                Ok(delta)
            }
        }
        deserializer.deserialize_map(Message(std::marker::PhantomData))
    }
}

/// Whether a piece of reasoning continues the one before: text and summaries come in deltas, the rest whole.
fn goes_on(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |key: &str| last.get(key) == piece.get(key) || !piece.contains_key(key);
    let comes_in_deltas = piece.contains_key("text") || piece.contains_key("summary");
    comes_in_deltas && same("type") && same("index")
        || !comes_in_deltas && piece.contains_key("signature") && same("type") && same("index")
}

fn merge(last: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (key, value) in piece {
        match (key.as_str(), last.get_mut(&key), value) {
            ("text" | "summary", Some(Value::String(old)), Value::String(more)) => {
                old.push_str(&more)
            }
            (_, _, Value::Null) => {}
            (_, _, value) => {
                last.insert(key, value);
            }
        }
    }
}

fn stop(reason: &str, called: bool, refused: bool) -> Result<Stop, Error> {
    Ok(match reason {
        _ if refused => Stop::Refusal,
        reason if is_limit(reason) => Stop::Length,
        "content_filter" | "safety" | "sensitive" | "refusal" => Stop::Refusal,
        "error" | "insufficient_system_resource" | "network_error" | "abort" => {
            let why = Why::ours(Word::LlmBrokeOff, [reason.into()]);
            return Err(Error::retryable(why));
        }
        // Servers say "stop" after calls, and "tool_calls" without any.
        _ if called => Stop::Calls,
        _ => Stop::End,
    })
}

fn usage(fields: &Fields<'_>) -> TokenUsage {
    let details = fields.object("prompt_tokens_details");
    let most = |counts: &[Option<u64>]| counts.iter().flatten().max().copied().unwrap_or(0);
    let input = most(&[fields.count("prompt_tokens"), fields.count("input_tokens")]);
    let mut output = most(&[
        fields.count("completion_tokens"),
        fields.count("output_tokens"),
    ]);
    // Some count reasoning apart; the total tells.
    let reasoning = fields
        .object("completion_tokens_details")
        .count("reasoning_tokens")
        .unwrap_or(0);
    let apart = input.saturating_add(output).saturating_add(reasoning);
    if reasoning > 0 && fields.count("total_tokens") == Some(apart) {
        output = output.saturating_add(reasoning);
    }
    TokenUsage {
        input,
        cached: most(&[
            details.count("cached_tokens"),
            fields.count("prompt_cache_hit_tokens"),
            fields.count("cached_tokens"),
            fields.count("cache_read_input_tokens"),
        ]),
        cache_write: most(&[
            details.count("cache_write_tokens"),
            details.count("cache_creation_tokens"),
            details.count("cache_creation_input_tokens"),
            fields.count("cache_creation_input_tokens"),
        ]),
        output,
    }
}
