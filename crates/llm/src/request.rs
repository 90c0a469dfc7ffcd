//! What is sent to a model, in no vendor's words. The engine's fold makes these; codecs write them.

use ostler_wire::{Image, Json, ToolSpec};
use serde::{Deserialize, Serialize};

/// System prompt and tool schemas: frozen per session, stored by hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prefix {
    pub system: String,
    pub tools: Vec<ToolSpec>,
}

/// One message of the conversation. Encoding one never depends on its neighbours, so a request only grows at its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Msg {
    User {
        text: String,
        images: Vec<Image>,
    },
    Assistant {
        parts: Vec<AnswerPart>,
    },
    /// All results of one answer's calls, in call order.
    Results {
        results: Vec<CallResult>,
    },
}

/// A part of an answer. A replay blob here belongs to the target the message is encoded for.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPart {
    Reasoning {
        text: String,
        replay: Option<Json>,
    },
    Text {
        text: String,
        replay: Option<Json>,
    },
    Call {
        id: String,
        name: String,
        /// The arguments' raw JSON text; an object once the engine has accepted it.
        arguments: String,
        replay: Option<Json>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub id: String,
    pub name: String,
    pub text: String,
    pub images: Vec<Image>,
    pub ok: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Max,
}

impl Effort {
    pub const ALL: [Effort; 6] = [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Max,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "max",
        }
    }
}

/// Sampling settings. What is not set is not sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_tokens: Option<u64>,
    pub effort: Option<Effort>,
    pub calls: Calls,
}

/// Whether an answer may call tools. Their definitions stay in the request either way: without them it would be another prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    #[default]
    Free,
    /// Only for a prefix with tools; without any the protocols refuse it.
    Forbidden,
}
