//! What comes out of a stream, in no vendor's words and in arrival order.

use ostler_wire::{Json, Stop};

#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// More text. Continues the open text part, or opens one.
    Text(String),
    /// More visible reasoning. Continues the open reasoning part, or opens one.
    Reasoning(String),
    /// Ends the open text or reasoning part; a blob is attached to it. With no part open and a blob, an empty part holds it.
    EndText {
        replay: Option<Json>,
    },
    EndReasoning {
        replay: Option<Json>,
    },
    /// A whole call. `arguments` is the raw text the model wrote, valid or not; an empty id is filled in by the assembler.
    Call {
        id: String,
        name: String,
        arguments: String,
        replay: Option<Json>,
    },
    /// Counts so far; later chunks replace earlier ones field by field where they are larger.
    Usage(TokenUsage),
    Stop(Stop),
}

/// Tokens as the vendor counted them. `input` is all prompt tokens, cached and cache-written ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    /// Reasoning tokens included.
    pub output: u64,
}

impl TokenUsage {
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            output: self.output.saturating_add(more.output),
        }
    }
}
