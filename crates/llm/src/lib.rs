//! A request in, chunks out. Codecs are pure; endpoint, auth, framing, catalog and vendor quirks are data.

mod address;
mod answer;
mod catalog;
mod chunk;
pub mod codec;
pub mod demo;
mod error;
mod http;
mod key;
mod kinds;
mod model;
mod plugin;
mod quirks;
pub mod repair;
mod request;
mod rope;
mod rows;
mod target;
mod wordings;

pub use answer::{Answer, Assembler};
pub use catalog::{ModelFacts, lookup};
pub use chunk::{Chunk, TokenUsage};
pub use codec::{Codec, Decoder, Frame, Mark};
pub use error::Error;
pub use http::{
    MAX_RETRY_AFTER, MAX_WHOLE_BYTES, Progress, Proxies, Response, Transport, TransportOptions,
    install_crypto, secrets_beside_key, trust_notice,
};
pub use key::{Key, KeyFuture, KeySource};
pub use kinds::{Auth, BuiltinProvider, Kind, Protocol, builtin_providers, kind, kinds, quirks};
pub use model::{Forbidding, Model, Reply, backoff};
pub use ostler_wire::{REDACTED, Secret};
pub use plugin::{KIND as PLUGIN_KIND, Plugin, PluginFuture, PluginLines};
pub use quirks::{
    EffortField, MaxTokensField, Quirks, ReasoningBack, SystemRole, ThinkTags, Thinking,
    ThinkingOff,
};
pub use request::{AnswerPart, CallResult, Calls, Effort, Msg, Params, Prefix};
pub use rope::{BLOCK_BYTES, Rope};
pub use target::{Price, Target, Timeouts};
