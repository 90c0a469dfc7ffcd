//! A request in, chunks out. Codecs are pure; endpoint, auth, framing, catalog and vendor quirks are data.

mod answer;
mod chunk;
pub mod codec;
mod error;
mod request;
mod target;

pub use answer::{Answer, Assembler};
pub use chunk::{Chunk, TokenUsage};
pub use codec::{Codec, Decoder, Frame, Mark};
pub use error::Error;
pub use request::{AnswerPart, CallResult, Effort, Msg, Params, Prefix, ToolSpec};
pub use target::{Price, Quirks, Secret, Target, Timeouts};
