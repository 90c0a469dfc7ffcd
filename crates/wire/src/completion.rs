//! What can follow `@` in a prompt: the request of a front end, and the names that fit what was typed so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Items of one answer.
pub const MAX_COMPLETIONS: usize = 1_000;

/// A front end wants to know what can follow `@`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionRequest {
    /// What was typed behind `@`, without it: `src/ma`.
    #[serde(default)]
    pub text: String,
    /// Items that are wanted; `MAX_COMPLETIONS` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl CompletionRequest {
    /// What was typed behind `@`, with as many items as there can be.
    pub fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: None,
        }
    }

    pub fn limit(&self) -> usize {
        self.limit
            .map_or(MAX_COMPLETIONS, |n| n.min(MAX_COMPLETIONS))
    }

    /// The answer without items, because a newer request of the same client came or nobody can answer.
    pub fn superseded(self) -> Completion {
        Completion {
            text: self.text,
            superseded: true,
            ..Completion::default()
        }
    }
}

/// The answer to a request: what fits, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// What was completed, as the request had it.
    pub text: String,
    pub items: Vec<CompletionItem>,
    /// More names fit than are here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// A newer request of the same client came first, so this one was not looked up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionItem {
    /// Takes the place of what was typed behind `@`. A folder ends with a slash.
    pub insert: String,
    /// What menus show.
    pub label: String,
    /// A few words beside it: where it is, how old it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// More can be typed behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_folder: bool,
    pub kind: CompletionKind,
}

/// What an item names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionKind {
    File,
    Folder,
    /// A symbolic link that leads to a file or folder that can be named, too.
    Link,
    /// An earlier session, or the word before sessions.
    Session,
    /// A definition in a source file, or the word before them.
    Symbol,
    /// What an MCP server offers, or the word before it.
    Resource,
}
