//! Answers of the messages protocol.

use super::super::loose::{self, Extras, Fields};
use super::super::{Decoder, Frame, Kept, cut_off, fault, is_limit, no_answer};
use super::{BLOCK, CALL_FIELDS, TEXT_FIELDS, THINKING_FIELDS};
use crate::{Chunk, Error, TokenUsage};
use ostler_wire::{Json, Stop, Word};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Default)]
pub(super) struct Reader {
    /// Blocks that have begun and not ended.
    blocks: Vec<(Option<u64>, Block)>,
    usage: Usage,
    called: bool,
    spoke: bool,
    stop: Option<String>,
    kept: Kept,
    done: bool,
}

enum Block {
    Text {
        rest: Extras,
    },
    Thinking {
        signature: String,
        rest: Extras,
    },
    /// Thinking that only its origin can read, as it came.
    Redacted(Extras),
    Call(Call),
    /// Blocks of tools the server runs itself, and what later versions bring.
    Other,
}

struct Call {
    id: String,
    name: String,
    /// What the block began with; deltas replace it.
    input: String,
    arguments: String,
    rest: Extras,
}

/// Counts as last reported. The first event has the input side, the last one the output side, and newer servers repeat all.
#[derive(Default)]
struct Usage {
    input: u64,
    read: u64,
    written: u64,
    output: u64,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "loose::count")]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    thinking: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    signature: Option<String>,
    #[serde(default, deserialize_with = "loose::text_or_json")]
    partial_json: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    stop_reason: Option<String>,
}

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if loose::is_idle(frame.data) || loose::is_done(frame.data) || self.done {
            return Ok(());
        }
        let mut spare = String::new();
        let event: Event<'_> = loose::read(frame.data, &mut spare)?;
        let kind = if event.kind.is_empty() {
            frame.event
        } else {
            event.kind.as_ref()
        };
        match kind {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(event.index, delta, out)?;
                }
            }
            "content_block_start" => {
                self.start(event.index, &Fields::of_raw(event.content_block), out)?;
            }
            "content_block_stop" => self.stop_block(event.index, out)?,
            "message_start" => {
                let message = Fields::of_raw(event.message);
                self.usage(&message.object("usage"), out);
            }
            "message_delta" => {
                self.usage(&Fields::of_raw(event.usage), out);
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(reason);
                }
            }
            "message_stop" => self.finish(out)?,
            "error" => return Err(fault::read(frame.data)),
            _ if event.error.is_some() => return Err(fault::read(frame.data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut spare = String::new();
        let message: Fields<'_> = loose::read(body, &mut spare)?;
        if message.get("error").is_some() {
            return Err(fault::read(body));
        }
        if message.get("content").is_none() {
            return Err(no_answer("content"));
        }
        for block in message.list("content") {
            self.start(None, &Fields::of(block.get()), out)?;
            self.stop_block(None, out)?;
        }
        self.usage(&message.object("usage"), out);
        self.stop = message.text("stop_reason");
        self.finish(out)
    }

    fn end(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        match (self.done, &self.stop) {
            (true, _) => Ok(()),
            // Only the farewell is missing.
            (false, Some(_)) => self.finish(out),
            (false, None) => Err(cut_off()),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    fn start(
        &mut self,
        index: Option<u64>,
        fields: &Fields<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        self.kept.part()?;
        let block = match fields.text("type").as_deref() {
            Some("text") => {
                self.say(fields.text("text"), out)?;
                Block::Text {
                    rest: fields.rest(&TEXT_FIELDS),
                }
            }
            Some("thinking") => {
                self.think(fields.text("thinking"), out)?;
                let except = [&THINKING_FIELDS[..], &["signature"]].concat();
                let signature = fields.text("signature").unwrap_or_default();
                self.kept.bytes(signature.len())?;
                Block::Thinking {
                    signature,
                    rest: fields.rest(&except),
                }
            }
            Some("redacted_thinking") => Block::Redacted(fields.rest(&["cache_control"])),
            Some("tool_use") => {
                let input = fields.get("input").map_or("", RawValue::get);
                self.kept.bytes(input.len())?;
                Block::Call(Call {
                    id: fields.text("id").unwrap_or_default(),
                    name: fields.text("name").unwrap_or_default(),
                    input: input.to_owned(),
                    arguments: String::new(),
                    rest: fields.rest(&CALL_FIELDS),
                })
            }
            _ => Block::Other,
        };
        self.kept.bytes(match &block {
            Block::Text { rest } | Block::Thinking { rest, .. } | Block::Redacted(rest) => {
                rest.bytes()
            }
            Block::Call(call) => call.rest.bytes(),
            Block::Other => 0,
        })?;
        self.blocks.push((index, block));
        Ok(())
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        match delta.kind.as_ref() {
            "text_delta" => self.say(delta.text, out)?,
            "thinking_delta" => self.think(delta.thinking, out)?,
            "signature_delta" => {
                let more = delta.signature.unwrap_or_default();
                self.kept.bytes(more.len())?;
                if let Some(Block::Thinking { signature, .. }) = self.block(index) {
                    signature.push_str(&more);
                }
            }
            "input_json_delta" => {
                let more = delta.partial_json.unwrap_or_default();
                self.kept.bytes(more.len())?;
                if let Some(Block::Call(call)) = self.block(index) {
                    call.arguments.push_str(&more);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn stop_block(&mut self, index: Option<u64>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let Some(at) = self.position(index) else {
            return Ok(());
        };
        match self.blocks.remove(at).1 {
            Block::Text { mut rest } => out.push(Chunk::EndText {
                replay: rest.take(BLOCK),
            }),
            Block::Thinking {
                signature,
                mut rest,
            } => {
                // Without its signature it cannot go back.
                let is_signed = !signature.is_empty();
                rest.set("signature", Json::of(&signature).get());
                let replay = is_signed.then(|| rest.take(BLOCK)).flatten();
                out.push(Chunk::EndReasoning { replay });
            }
            Block::Redacted(mut rest) => out.push(Chunk::EndReasoning {
                replay: rest.take(BLOCK),
            }),
            Block::Call(mut call) => {
                self.called = true;
                // Some send the whole input at the start, and an empty object as its delta.
                let says_nothing = matches!(call.arguments.trim(), "" | "{}");
                let arguments = if says_nothing && !call.input.is_empty() {
                    call.input
                } else {
                    call.arguments
                };
                out.push(Chunk::Call {
                    id: call.id,
                    name: call.name,
                    arguments: if arguments.is_empty() {
                        "{}".into()
                    } else {
                        arguments
                    },
                    replay: call.rest.take(BLOCK),
                });
            }
            Block::Other => {}
        }
        Ok(())
    }

    fn say(&mut self, text: Option<String>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.kept.bytes(text.len())?;
            self.spoke = true;
            out.push(Chunk::Text(text));
        }
        Ok(())
    }

    fn think(&mut self, text: Option<String>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.kept.bytes(text.len())?;
            self.spoke = true;
            out.push(Chunk::Reasoning(text));
        }
        Ok(())
    }

    fn position(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.blocks.iter().rposition(|(i, _)| *i == index),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn block(&mut self, index: Option<u64>) -> Option<&mut Block> {
        let at = self.position(index)?;
        self.blocks.get_mut(at).map(|(_, block)| block)
    }

    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        // Blocks whose end was never announced.
        while let Some((index, _)) = self.blocks.first() {
            self.stop_block(*index, out)?;
        }
        let stop = match self.stop.as_deref() {
            Some("model_context_window_exceeded") if !self.spoke && !self.called => {
                return Err(Error::Overflow {
                    message: Word::LlmWindowFull.into(),
                });
            }
            Some(reason) if is_limit(reason) => Stop::Length,
            Some("refusal") => Stop::Refusal,
            // "end_turn", "stop_sequence", "tool_use", "pause_turn": the calls that came decide.
            Some(_) | None if self.called => Stop::Calls,
            Some(_) | None => Stop::End,
        };
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn usage(&mut self, fields: &Fields<'_>, out: &mut Vec<Chunk>) {
        let seen = &mut self.usage;
        for (count, name) in [
            (&mut seen.input, "input_tokens"),
            (&mut seen.read, "cache_read_input_tokens"),
            (&mut seen.written, "cache_creation_input_tokens"),
            (&mut seen.output, "output_tokens"),
        ] {
            *count = fields.count(name).unwrap_or(*count);
        }
        let usage = TokenUsage {
            // Here the input leaves out what came from or went into the cache.
            input: seen
                .input
                .saturating_add(seen.read)
                .saturating_add(seen.written),
            cached: seen.read,
            cache_write: seen.written,
            output: seen.output,
        };
        if usage != TokenUsage::default() {
            out.push(Chunk::Usage(usage));
        }
    }
}
