//! Answers of the responses protocol.

use super::super::loose::{self, Fields};
use super::super::{Decoder, Frame, Kept, cut_off, fault, no_answer, write};
use super::{CALL_FIELDS, ITEM, MESSAGE_FIELDS, REASONING_FIELDS};
use crate::{Chunk, Error, TokenUsage};
use ostler_wire::{Json, Stop, Word};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Stands between the summaries of one reasoning item.
const BETWEEN_SUMMARIES: &str = "\n\n";

#[derive(Default)]
pub(super) struct Reader {
    /// Items that have begun and not ended.
    items: Vec<Item>,
    /// How many items have ended. The final event lists all of them once more.
    ended: usize,
    called: bool,
    refused: bool,
    kept: Kept,
    done: bool,
}

#[derive(Default)]
struct Item {
    index: Option<u64>,
    call_id: String,
    name: String,
    arguments: String,
    /// Its text has been shown as it came.
    shown: Shown,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Shown {
    #[default]
    Nothing,
    Text,
    Reasoning,
    /// Up to this summary.
    Summary(u64),
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "loose::text_or_json")]
    delta: Option<String>,
    #[serde(default, deserialize_with = "loose::count")]
    output_index: Option<u64>,
    #[serde(default, deserialize_with = "loose::count")]
    summary_index: Option<u64>,
    #[serde(default, deserialize_with = "loose::text_or_json")]
    arguments: Option<String>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
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
        let at = event.output_index;
        match kind {
            "response.output_text.delta" => {
                self.show(at, Shown::Text, event.delta, out)?;
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.show(at, Shown::Text, event.delta, out)?;
            }
            "response.reasoning_summary_text.delta" => {
                let summary = Shown::Summary(event.summary_index.unwrap_or(0));
                self.show(at, summary, event.delta, out)?;
            }
            "response.reasoning_text.delta" => {
                self.show(at, Shown::Reasoning, event.delta, out)?;
            }
            "response.function_call_arguments.delta" => {
                let more = event.delta.unwrap_or_default();
                self.kept.bytes(more.len())?;
                self.item(at)?.arguments.push_str(&more);
            }
            "response.function_call_arguments.done" => {
                if let Some(whole) = event.arguments.filter(|whole| !whole.is_empty()) {
                    self.kept.bytes(whole.len())?;
                    self.item(at)?.arguments = whole;
                }
            }
            "response.output_item.added" => self.begin(at, &Fields::of_raw(event.item))?,
            "response.output_item.done" => {
                self.ended += 1;
                let item = self.take(at);
                self.finish_item(item, &Fields::of_raw(event.item), out)?;
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                self.finish(&Fields::of_raw(event.response), out)?;
            }
            "response.failed" | "response.cancelled" => {
                return Err(failed(&Fields::of_raw(event.response)));
            }
            "error" | "response.error" => return Err(fault::read(frame.data)),
            _ if event.error.is_some() => return Err(fault::read(frame.data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut spare = String::new();
        let response: Fields<'_> = loose::read(body, &mut spare)?;
        if response.get("error").is_some() {
            return Err(failed(&response));
        }
        if response.get("output").is_none() {
            return Err(no_answer("output"));
        }
        self.finish(&response, out)
    }

    fn end(&mut self, _: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done { Ok(()) } else { Err(cut_off()) }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    /// The item a delta belongs to; one that was never announced begins here.
    fn item(&mut self, index: Option<u64>) -> Result<&mut Item, Error> {
        let found = match index {
            Some(_) => self.items.iter().rposition(|item| item.index == index),
            None => self.items.len().checked_sub(1),
        };
        let at = match found {
            Some(at) => at,
            None => {
                self.kept.part()?;
                self.items.push(Item {
                    index,
                    ..Item::default()
                });
                self.items.len() - 1
            }
        };
        // The position was found or made above.
        self.items.get_mut(at).ok_or_else(cut_off)
    }

    fn begin(&mut self, index: Option<u64>, fields: &Fields<'_>) -> Result<(), Error> {
        self.kept.part()?;
        self.items.push(Item {
            index,
            call_id: fields.text("call_id").unwrap_or_default(),
            name: fields.text("name").unwrap_or_default(),
            arguments: arguments_of(fields).unwrap_or_default(),
            shown: Shown::Nothing,
        });
        Ok(())
    }

    fn take(&mut self, index: Option<u64>) -> Item {
        let found = match index {
            Some(_) => {
                let known = self.items.iter().rposition(|item| item.index == index);
                known.or_else(|| self.items.iter().position(|item| item.index.is_none()))
            }
            None => self.items.len().checked_sub(1),
        };
        found.map(|at| self.items.remove(at)).unwrap_or_default()
    }

    fn show(
        &mut self,
        index: Option<u64>,
        what: Shown,
        text: Option<String>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        self.kept.bytes(text.len())?;
        let item = self.item(index)?;
        let before = std::mem::replace(&mut item.shown, what);
        match (before, what) {
            (_, Shown::Text) => out.push(Chunk::Text(text)),
            // A server that sends both the reasoning and its summary: one is enough, whichever came first.
            (Shown::Reasoning, Shown::Summary(_)) | (Shown::Summary(_), Shown::Reasoning) => {
                item.shown = before;
            }
            (Shown::Summary(last), Shown::Summary(next)) if next != last => {
                out.push(Chunk::Reasoning(format!("{BETWEEN_SUMMARIES}{text}")));
            }
            (_, Shown::Reasoning | Shown::Summary(_)) => out.push(Chunk::Reasoning(text)),
            (_, Shown::Nothing) => {}
        }
        Ok(())
    }

    fn finish_item(
        &mut self,
        item: Item,
        fields: &Fields<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        match fields.text("type").as_deref() {
            Some("message") => self.finish_message(&item, fields, out),
            Some("reasoning") => self.finish_reasoning(&item, fields, out),
            Some("function_call") => self.finish_call(item, fields, out),
            _ => Ok(()),
        }
    }

    fn finish_message(
        &mut self,
        item: &Item,
        fields: &Fields<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        let mut text = String::new();
        for part in fields.list("content") {
            let part = Fields::of(part.get());
            let refusal = part.text("refusal");
            self.refused |= refusal.is_some();
            text.extend(part.text("text").into_iter().chain(refusal));
        }
        if item.shown == Shown::Nothing && !text.is_empty() {
            self.kept.bytes(text.len())?;
            out.push(Chunk::Text(text));
        }
        let mut rest = fields.rest(&MESSAGE_FIELDS);
        self.kept.bytes(rest.bytes())?;
        out.push(Chunk::EndText {
            replay: rest.take(ITEM),
        });
        Ok(())
    }

    fn finish_reasoning(
        &mut self,
        item: &Item,
        fields: &Fields<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        if item.shown == Shown::Nothing {
            let texts = |key: &str| -> Vec<String> {
                let parts = fields.list(key).into_iter();
                parts
                    .filter_map(|part| Fields::of(part.get()).text("text"))
                    .collect()
            };
            let summary = texts("summary").join(BETWEEN_SUMMARIES);
            let text = if summary.is_empty() {
                texts("content").concat()
            } else {
                summary
            };
            if !text.is_empty() {
                self.kept.bytes(text.len())?;
                out.push(Chunk::Reasoning(text));
            }
        }
        let replay = reasoning_blob(fields);
        self.kept
            .bytes(replay.as_ref().map_or(0, |blob| blob.get().len()))?;
        out.push(Chunk::EndReasoning { replay });
        Ok(())
    }

    fn finish_call(
        &mut self,
        item: Item,
        fields: &Fields<'_>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        let pick = |key: &str, gathered: String| {
            let whole = fields.text(key).filter(|whole| !whole.trim().is_empty());
            whole.unwrap_or(gathered)
        };
        let arguments = arguments_of(fields).filter(|whole| !whole.trim().is_empty());
        let arguments = arguments.unwrap_or(item.arguments);
        self.kept.bytes(arguments.len())?;
        self.called = true;
        out.push(Chunk::Call {
            id: pick("call_id", item.call_id),
            name: pick("name", item.name),
            arguments: if arguments.trim().is_empty() {
                "{}".into()
            } else {
                arguments
            },
            replay: fields.rest(&CALL_FIELDS).take(ITEM),
        });
        Ok(())
    }

    /// The final event: what no event of its own has ended, the counts, and why it stopped.
    fn finish(&mut self, response: &Fields<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        for (i, raw) in response
            .list("output")
            .into_iter()
            .enumerate()
            .skip(self.ended)
        {
            self.kept.part()?;
            let item = self.take(u64::try_from(i).ok());
            self.finish_item(item, &Fields::of(raw.get()), out)?;
        }
        let incomplete = response.text("status").as_deref() == Some("incomplete");
        for item in std::mem::take(&mut self.items) {
            if !item.name.is_empty() && !incomplete {
                self.finish_call(item, &Fields::default(), out)?;
            }
        }
        if let Some(usage) = usage(&response.object("usage")) {
            out.push(Chunk::Usage(usage));
        }
        let reason = response.object("incomplete_details").text("reason");
        let stop = match reason.as_deref() {
            _ if self.refused => Stop::Refusal,
            Some("content_filter") => Stop::Refusal,
            Some(_) => Stop::Length,
            None if incomplete => Stop::Length,
            None if self.called => Stop::Calls,
            None => Stop::End,
        };
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }
}

/// The text of the arguments. Some servers send the object itself where the protocol wants its text.
fn arguments_of(fields: &Fields<'_>) -> Option<String> {
    let raw = fields.get("arguments")?;
    match raw.get().starts_with('{') {
        true => Some(raw.get().to_owned()),
        false => fields.text("arguments"),
    }
}

/// The item as it goes back. Without its content, in the open or encrypted, there is nothing to send.
fn reasoning_blob(fields: &Fields<'_>) -> Option<Json> {
    let encrypted = fields
        .text("encrypted_content")
        .is_some_and(|text| !text.is_empty());
    if !encrypted && fields.list("content").is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let mut blob = write::Object::open(&mut out);
    let mut item = blob.object(ITEM);
    for (key, value) in fields.without(&REASONING_FIELDS) {
        if value != "null" {
            item.raw(key, value);
        }
    }
    // The list must be there, even empty.
    if fields.get("summary").is_none() {
        item.raw("summary", "[]");
    }
    item.close();
    blob.close();
    Json::from_text(String::from_utf8(out).ok()?).ok()
}

fn failed(response: &Fields<'_>) -> Error {
    match response.get("error") {
        Some(error) => fault::read(error.get()),
        None => Error::retryable(Word::LlmGaveUp),
    }
}

fn usage(fields: &Fields<'_>) -> Option<TokenUsage> {
    let details = fields.object("input_tokens_details");
    let usage = TokenUsage {
        input: fields.count("input_tokens").unwrap_or(0),
        cached: details.count("cached_tokens").unwrap_or(0),
        cache_write: details.count("cache_write_tokens").unwrap_or(0),
        output: fields.count("output_tokens").unwrap_or(0),
    };
    (usage != TokenUsage::default()).then_some(usage)
}
