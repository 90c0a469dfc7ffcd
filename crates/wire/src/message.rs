//! Messages as the log keeps them: user text with its context, and assistant answers as ordered parts.

use crate::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    /// A note of the harness to the model (a re-asked step, a broken loop). Sent as user text.
    System,
}

/// The exact provider and model that made something. A replay blob goes back only to its origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    pub provider: String,
    pub model: String,
}

/// What an origin wants to see again beside a part (signatures, encrypted reasoning, unknown fields).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    pub origin: Origin,
    pub data: Json,
}

/// One part of an assistant answer, in arrival order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// The call itself is the `tool_use` entry with this id.
    Call {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    End,
    Calls,
    Length,
    Refusal,
    /// The stream was cut; what had been shown is kept.
    Cut,
    Interrupted,
}

/// A picture, already sized for models. `data` is base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    pub media_type: String,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub role: Role,
    pub text: String,
    /// What the person typed, where the text is what a command of theirs stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// Volatile facts that ride in this user turn, before its text (environment, references, recall).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The id of the op that brought this prompt, where its client gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
}

impl Message {
    /// As the person knows it.
    pub fn shown(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.text)
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::plain(Role::User, text)
    }

    pub fn note(text: impl Into<String>) -> Self {
        Self::plain(Role::System, text)
    }

    fn plain(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
            typed: None,
            context: None,
            images: Vec::new(),
            parts: Vec::new(),
            model: None,
            stop: None,
            op: None,
        }
    }
}
