//! A codec is two pure functions: request to body, and stream frame plus state to chunks.
//! A body is written in three strokes (open, messages, close), so that a growing conversation is appended to, never rebuilt.
//! The protocols share one layout: `mod.rs` names the codec, `encode.rs` writes bodies, `decode.rs` reads answers.

mod chat;
mod effort;
mod fault;
mod gemini;
mod lines;
mod loose;
mod messages;
mod responses;
#[cfg(test)]
mod tests;
mod write;

pub use chat::Chat;
pub use gemini::Gemini;
pub use lines::Lines;
pub use messages::Messages;
pub use responses::Responses;

use crate::{Chunk, Error, Msg, Params, Prefix, Target};
use ostler_wire::{Why, Word};

/// The most bytes of text, arguments and replay blobs that one answer may carry.
pub const MAX_ANSWER_BYTES: usize = if cfg!(test) { 2 << 20 } else { 64 << 20 };
/// The most parts (texts, reasoning, calls) that one answer may carry.
pub const MAX_PARTS: usize = 512;

pub trait Codec: Send + Sync {
    /// The body up to and including the opening bracket of its message array (and the system message where that is the first item).
    /// Returns true when an item stands in the array already, so that the next one needs a comma.
    fn open(&self, target: &Target, prefix: &Prefix, params: &Params, out: &mut Vec<u8>) -> bool;

    /// One message as comma-separated items of that array, with no comma around them; nothing when the protocol has no use for it.
    fn message(&self, target: &Target, message: &Msg, mark: Mark, out: &mut Vec<u8>);

    /// The rest of the body after the last item, starting with the closing bracket.
    fn close(&self, target: &Target, params: &Params, out: &mut Vec<u8>);

    /// A fresh decoder for one answer.
    fn decoder(&self, target: &Target) -> Box<dyn Decoder>;
}

/// Whether a message carries a cache breakpoint. Codecs without such marks ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Plain,
    Cache,
}

pub use ostler_wire::sse::Frame;

pub trait Decoder: Send {
    /// Reads one frame of a stream. Unknown frames and fields are passed over.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// Reads a whole answer (`stream = false`).
    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// The stream is over: emits what was being gathered. An answer that was not complete is `Retryable`.
    /// After a frame that made `is_done` true this adds nothing, so calling it is always right.
    fn end(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// True once nothing more can come (`[DONE]`, `message_stop` …), so that the caller need not wait for the connection.
    fn is_done(&self) -> bool;
}

/// What a decoder has let through so far, against the bounds above.
#[derive(Default)]
struct Kept {
    bytes: usize,
    parts: usize,
}

impl Kept {
    fn bytes(&mut self, more: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > MAX_ANSWER_BYTES {
            let most = (MAX_ANSWER_BYTES >> 20).to_string();
            return Err(Error::invalid(Why::ours(Word::LlmGrewPast, [most.into()])));
        }
        Ok(())
    }

    fn part(&mut self) -> Result<(), Error> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            let most = MAX_PARTS.to_string();
            return Err(Error::invalid(Why::ours(Word::LlmManyParts, [most.into()])));
        }
        Ok(())
    }
}

/// Whether a word for the end of an answer that is not of the protocol speaks of a limit: then the answer is not whole.
fn is_limit(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["length", "max", "limit", "context", "incomplete", "truncat"]
        .iter()
        .any(|word| reason.contains(word))
}

fn cut_off() -> Error {
    Error::retryable(Word::LlmCutOff)
}

/// A whole answer that lacks the part with the answer in it.
fn no_answer(missing: &str) -> Error {
    Error::invalid(Why::ours(Word::LlmLacks, [missing.into()]))
}
