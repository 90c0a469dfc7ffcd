//! What the person and the project configured about other agents, as plain data: backends with their models, and roles.
//! Reading files and finding them is the caller's.

pub mod catalogue;
mod check;
mod document;
mod error;
mod merge;
pub mod reference;

pub use check::check;
pub use document::{from_value, parse};
pub use error::{SetupError, SetupProblem};
pub use merge::merge;
pub use reference::Reference;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Backends and roles, of one document or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    #[serde(default)]
    pub backend: BTreeMap<String, Backend>,
    #[serde(default)]
    pub roles: BTreeMap<String, Role>,
}

/// An agent that can be called. Its key is its name in the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// Takes the place of the catalogue's command line and parser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
}

/// A model by its id, with the options that the command line may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    #[serde(default)]
    pub options: Options,
    /// What each variant sets on top of the options.
    #[serde(default)]
    pub variants: BTreeMap<String, Options>,
}

pub type Options = BTreeMap<String, OptionValue>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
}

/// Another model for errors that hold one of the patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// As in a role: `backend/model[@variant]`.
    pub model: String,
    /// Looked for without regard to case. At least one is not blank.
    #[serde(default)]
    pub patterns: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// `backend/model[@variant]`, `backend/default`, `ostler/<provider>/<model>` or `acp:COMMAND`.
    pub model: String,
    /// In place of the built-in persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personas: Option<Persona>,
    #[serde(default)]
    pub capabilities: Capabilities,
    #[serde(default = "enabled")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
}

fn enabled() -> bool {
    true
}

/// Who the agent is to be, put before the first prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persona {
    pub description: String,
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    #[serde(default)]
    pub filesystem: Filesystem,
    #[serde(default)]
    pub shell: Allowance,
    #[serde(default)]
    pub network: Allowance,
    #[serde(default = "all_tools")]
    pub tools: Vec<String>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            filesystem: Filesystem::default(),
            shell: Allowance::default(),
            network: Allowance::default(),
            tools: all_tools(),
        }
    }
}

impl Capabilities {
    /// It may write, run commands and use the network.
    pub fn is_everything(&self) -> bool {
        self.filesystem == Filesystem::ReadWrite
            && self.shell == Allowance::Allow
            && self.network == Allowance::Allow
    }
}

fn all_tools() -> Vec<String> {
    vec!["*".to_owned()]
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    #[default]
    ReadWrite,
    ReadOnly,
}

impl Filesystem {
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allowance {
    #[default]
    Allow,
    Deny,
}

/// How an agent's command line is made and its output read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adapter {
    /// Each token is a template of its own; empty ones are dropped.
    pub args_template: Vec<String>,
    pub output_parser: OutputParser,
    /// What it can confine itself to; `None` is both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_capabilities: Option<Vec<Filesystem>>,
    #[serde(default)]
    pub prompt_transport: PromptTransport,
    #[serde(default = "prompt_max_chars")]
    pub prompt_max_chars: usize,
}

/// Longest prompt that `auto` passes as an argument.
pub const PROMPT_MAX_CHARS: usize = 32_768;

fn prompt_max_chars() -> usize {
    PROMPT_MAX_CHARS
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputParser {
    /// A JSON object per line.
    JsonStream {
        session_id_path: String,
        message_path: String,
        #[serde(default)]
        pick: Pick,
        /// The agent of the catalogue whose events are read where the path finds no message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
    /// All of stdout is one JSON object.
    JsonObject {
        message_path: String,
        /// Without one there are no sessions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id_path: Option<String>,
    },
    Regex {
        session_id_pattern: String,
        message_capture_group: usize,
    },
    /// Stdout is the message; there are no sessions.
    Text,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    First,
    #[default]
    Last,
}

/// How the prompt gets to the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptTransport {
    #[default]
    Arg,
    Stdin,
    /// Stdin from `prompt_max_chars` on.
    Auto,
}

/// A folder with an agent's own state, below the home or where a variable says. The agent sees it, and changes of it only
/// what is named: the rest decides what its next run does, which nobody confines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateFolder {
    /// Begins with `~/`. It may be a file.
    pub path: String,
    /// The variable that moves it.
    #[serde(default)]
    pub env: Option<String>,
    /// Where the folder is below the one that the variable names.
    #[serde(default)]
    pub below: Option<String>,
    /// What the agent may change in it: `name/` is a folder, `name` a file.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Files that it may also make at the top; `*` stands for anything. Whatever else it leaves there is taken out.
    #[serde(default)]
    pub makes: Vec<String>,
    /// What stays as it is in what is writable. `name/` is made where it is missing, so that the agent does not.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Folders that it finds empty, and fills for itself alone.
    #[serde(default)]
    pub private: Vec<String>,
}
