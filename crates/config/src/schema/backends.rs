//! `[backend.*]`, as it is written: other agents' programs, their models, and how they are called.

use super::Filesystem;
use crate::units::Scalar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Another agent's program. Its name is the command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BackendConfig {
    /// Its models, by the name that it is called with.
    pub models: BTreeMap<String, BackendModelConfig>,
    /// A model that is tried once when an error has one of these words.
    pub fallback: Option<FallbackConfig>,
    /// How long one piece of work may take where its role does not say; 0 means without limit. Unset: 600.
    pub timeout_secs: Option<u64>,
    /// Variables that it gets beside those of its own login. Only your own files may set this.
    pub env_pass: Vec<String>,
    /// How its program is called, where that is other than usual.
    pub adapter: AdapterConfig,
}

/// A model of another agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BackendModelConfig {
    /// For the templates of its arguments.
    pub options: BTreeMap<String, Scalar>,
    /// Options that `@variant` lays over these.
    pub variants: BTreeMap<String, BTreeMap<String, Scalar>>,
}

/// A model that steps in for another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FallbackConfig {
    /// "backend/model@variant".
    pub model: String,
    /// Parts of an error, in any case of letters.
    pub patterns: Vec<String>,
}

/// How another agent's program is called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AdapterConfig {
    /// Its arguments; each is a template (MiniJinja), and what comes out empty is left out.
    pub args_template: Option<Vec<String>>,
    /// How its output is read.
    pub output_parser: Option<OutputParserConfig>,
    /// What it can be held to. Unset: both.
    pub filesystem_capabilities: Option<Vec<Filesystem>>,
    /// How it gets the prompt.
    pub prompt_transport: Option<PromptTransport>,
    /// Characters of a prompt from which "auto" uses stdin. Unset: 32768.
    pub prompt_max_chars: Option<u64>,
}

/// How the output of another agent's program is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputParserConfig {
    #[serde(rename = "type")]
    pub kind: OutputParserKind,
    /// Where the session's id is, such as "thread.id".
    #[serde(default)]
    pub session_id_path: Option<String>,
    /// Where the answer is.
    #[serde(default)]
    pub message_path: Option<String>,
    /// Which of several answers counts.
    #[serde(default)]
    pub pick: Option<Pick>,
    /// A known stream that is read where the paths find nothing.
    #[serde(default)]
    pub fallback: Option<String>,
    /// A regular expression whose first group is the session's id.
    #[serde(default)]
    pub session_id_pattern: Option<String>,
    /// The group of that expression that is the answer.
    #[serde(default)]
    pub message_capture_group: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputParserKind {
    JsonStream,
    JsonObject,
    Regex,
    Text,
}

impl OutputParserKind {
    /// What a parser of this kind cannot do without.
    pub fn needs(self) -> &'static [&'static str] {
        match self {
            Self::JsonStream => &["session_id_path", "message_path"],
            Self::JsonObject => &["message_path"],
            Self::Regex => &["session_id_pattern", "message_capture_group"],
            Self::Text => &[],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    First,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptTransport {
    Arg,
    Stdin,
    Auto,
}
