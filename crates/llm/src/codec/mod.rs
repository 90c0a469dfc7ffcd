//! A codec is two pure functions: request to body, and stream frame plus state to chunks.
//! A body is written in three strokes (open, messages, close), so that a growing conversation is appended to, never rebuilt.

use crate::{Chunk, Error, Msg, Params, Prefix, Target};

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

/// One server-sent event, or one JSON document of an answer that is not streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event:` field, empty when there was none.
    pub event: &'a str,
    pub data: &'a str,
}

pub trait Decoder: Send {
    /// Reads one frame of a stream. Unknown frames and fields are passed over.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// Reads a whole answer (`stream = false`).
    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// The stream is over: emits what was being gathered. An answer that was not complete is `Retryable`.
    fn end(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error>;

    /// True once nothing more can come (`[DONE]`, `message_stop` …), so that the caller need not wait for the connection.
    fn is_done(&self) -> bool;
}
