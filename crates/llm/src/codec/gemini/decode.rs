//! Answers of the gemini protocol.

use super::super::loose::{self, Extras, Fields};
use super::super::{Decoder, Frame, Kept, cut_off, fault, no_answer};
use super::{PART, PART_FIELDS, SIGNATURE};
use crate::{Chunk, Error, TokenUsage};
use ostler_wire::{Json, Stop, Why, Word};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Default)]
pub(super) struct Reader {
    open: Open,
    usage: TokenUsage,
    called: bool,
    spoke: bool,
    kept: Kept,
    done: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Text,
    Reasoning,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default, rename = "usageMetadata")]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "promptFeedback")]
    feedback: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(default, deserialize_with = "loose::count")]
    index: Option<u64>,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(default, rename = "finishReason", deserialize_with = "loose::text")]
    finish: Option<String>,
    #[serde(default, rename = "finishMessage", deserialize_with = "loose::text")]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

/// Counts come with every frame, so they are read without detours.
#[derive(Deserialize)]
struct Counts {
    #[serde(
        default,
        rename = "promptTokenCount",
        deserialize_with = "loose::count"
    )]
    prompt: Option<u64>,
    #[serde(
        default,
        rename = "toolUsePromptTokenCount",
        deserialize_with = "loose::count"
    )]
    tool_use: Option<u64>,
    #[serde(
        default,
        rename = "cachedContentTokenCount",
        deserialize_with = "loose::count"
    )]
    cached: Option<u64>,
    #[serde(
        default,
        rename = "candidatesTokenCount",
        deserialize_with = "loose::count"
    )]
    answer: Option<u64>,
    #[serde(
        default,
        rename = "thoughtsTokenCount",
        deserialize_with = "loose::count"
    )]
    thoughts: Option<u64>,
}

#[derive(Default)]
struct Part<'a> {
    text: Option<String>,
    thought: bool,
    call: Option<&'a RawValue>,
    /// Something this program has no use for, such as a picture.
    foreign: bool,
    rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if loose::is_idle(frame.data) || loose::is_done(frame.data) || self.done {
            return Ok(());
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
        let body: &RawValue = loose::read(body, &mut spare)?;
        // Asked to stream, but not as events, the endpoint answers with the list of what it would have sent.
        let answers: Vec<&RawValue> =
            serde_json::from_str(body.get()).unwrap_or_else(|_| vec![body]);
        let mut read = false;
        for raw in answers {
            let mut spare = String::new();
            let answer: Answer<'_> = loose::read(raw.get(), &mut spare)?;
            if answer.error.is_some() {
                return Err(fault::read(raw.get()));
            }
            read |= answer.candidates.is_some() || answer.feedback.is_some();
            self.answer(answer, out)?;
        }
        if !read {
            return Err(no_answer("candidates"));
        }
        self.end(out)
    }

    fn end(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        self.count(out);
        Err(cut_off())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    fn answer(&mut self, answer: Answer<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if let Some(raw) = answer.usage {
            self.usage = serde_json::from_str(raw.get())
                .map(usage)
                .unwrap_or_default();
        }
        let blocked = Fields::of_raw(answer.feedback).text("blockReason");
        for candidate in answer.candidates.unwrap_or_default() {
            if candidate.index.unwrap_or(0) != 0 {
                continue;
            }
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.unwrap_or_default() {
                self.part(part, out)?;
            }
            if let Some(reason) = candidate.finish.filter(|reason| !reason.is_empty()) {
                let stop = self.stop(&reason, candidate.message.as_deref())?;
                self.finish(stop, out);
            }
        }
        if blocked.is_some() && !self.done {
            self.finish(Stop::Refusal, out);
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut rest = Extras::default();
        for (key, value) in &part.rest {
            rest.set(key, value.get());
        }
        self.kept.bytes(rest.bytes())?;
        if let Some(raw) = part.call {
            return self.call(&Fields::of(raw.get()), rest.take(PART), out);
        }
        let is_signed = rest.has(SIGNATURE);
        if part.text.is_none() && (part.foreign || !is_signed) {
            return Ok(());
        }
        let text = part.text.unwrap_or_default();
        self.kept.bytes(text.len())?;
        let open = if part.thought {
            Open::Reasoning
        } else {
            Open::Text
        };
        if is_signed {
            // A signed part may not be merged with unsigned text before it.
            self.kept.part()?;
            if self.open == open {
                out.push(end(open, None));
            }
        }
        if !text.is_empty() {
            self.spoke = true;
            self.open = open;
            out.push(match open {
                Open::Reasoning => Chunk::Reasoning(text),
                Open::Text | Open::Nothing => Chunk::Text(text),
            });
        }
        if is_signed {
            self.open = Open::Nothing;
            out.push(end(open, rest.take(PART)));
        }
        Ok(())
    }

    fn call(
        &mut self,
        fields: &Fields<'_>,
        replay: Option<Json>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        let given = fields.get("args").or_else(|| fields.get("arguments"));
        let arguments = given.map_or("{}", RawValue::get);
        self.kept.part()?;
        self.kept.bytes(arguments.len())?;
        self.called = true;
        self.open = Open::Nothing;
        out.push(Chunk::Call {
            id: fields.text("id").unwrap_or_default(),
            name: fields.text("name").unwrap_or_default(),
            arguments: arguments.to_owned(),
            replay,
        });
        Ok(())
    }

    fn stop(&self, reason: &str, message: Option<&str>) -> Result<Stop, Error> {
        let retry = |word: Word<2>| {
            let said = message.map_or("".into(), |said| Why::ours(Word::LlmSaid, [said.into()]));
            Err(Error::retryable(Why::ours(word, [reason.into(), said])))
        };
        Ok(match reason {
            "MAX_TOKENS" => Stop::Length,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                Stop::Refusal
            }
            _ if reason.starts_with("IMAGE_") => Stop::Refusal,
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                return retry(Word::LlmBadCall);
            }
            "STOP" if self.called => Stop::Calls,
            "STOP" => Stop::End,
            _ if self.called => Stop::Calls,
            _ if self.spoke => Stop::End,
            _ => return retry(Word::LlmEmptyStop),
        })
    }

    fn count(&mut self, out: &mut Vec<Chunk>) {
        if self.usage != TokenUsage::default() {
            out.push(Chunk::Usage(self.usage));
        }
    }

    fn finish(&mut self, stop: Stop, out: &mut Vec<Chunk>) {
        // Counts come with every frame and only grow; the last ones are enough.
        self.count(out);
        out.push(Chunk::Stop(stop));
        self.done = true;
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Visit<'a> {
            type Value = Part<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut part = Part::default();
                while let Some(Key(key)) = map.next_key()? {
                    match key.as_ref() {
                        "text" => part.text = map.next_value::<loose::Text>()?.0,
                        "thought" => part.thought = map.next_value::<&RawValue>()?.get() == "true",
                        "functionCall" | "function_call" => part.call = map.next_value()?,
                        "executableCode" | "codeExecutionResult" | "fileData" => {
                            part.foreign = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                        other if PART_FIELDS.contains(&other) => {
                            part.foreign = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                        _ => part.rest.push((key, map.next_value()?)),
                    }
                }
                Ok(part)
            }
        }
        deserializer.deserialize_map(Visit(std::marker::PhantomData))
    }
}

fn end(open: Open, replay: Option<Json>) -> Chunk {
    match open {
        Open::Reasoning => Chunk::EndReasoning { replay },
        Open::Text | Open::Nothing => Chunk::EndText { replay },
    }
}

fn usage(counts: Counts) -> TokenUsage {
    let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0).saturating_add(b.unwrap_or(0));
    TokenUsage {
        input: sum(counts.prompt, counts.tool_use),
        cached: counts.cached.unwrap_or(0),
        cache_write: 0,
        output: sum(counts.answer, counts.thoughts),
    }
}
