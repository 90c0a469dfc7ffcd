//! `[[hooks]]`, as they are written.

use crate::units::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that runs at a moment of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookConfig {
    /// When it runs.
    pub event: HookEvent,
    /// For which calls: tool names with `*`, permission rules like `Bash(rm:*)`, several with `|`. Empty means all.
    #[serde(default, rename = "match", alias = "matcher")]
    pub matcher: String,
    /// Run by the shell, in the root, with JSON on its stdin.
    pub command: String,
    /// Seconds until it is killed; 60 when unset.
    #[serde(default)]
    pub timeout: Option<Seconds>,
    /// Where it runs in a session at another place: here, in the folder that stands for the project, or there.
    #[serde(default)]
    pub on: RunsOn,
}

/// Where a program of the configuration runs in a session at another place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunsOn {
    /// On this machine.
    #[default]
    Here,
    /// At the place, in the project there.
    Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// With the first prompt; what it prints goes to the model.
    #[serde(alias = "SessionStart")]
    SessionStart,
    /// With each prompt; what it prints goes to the model. Exit 2 refuses the prompt.
    #[serde(alias = "UserPromptSubmit")]
    UserPrompt,
    /// Before a call. Exit 2 refuses it, and the model reads stderr.
    #[serde(alias = "PreToolUse")]
    PreTool,
    /// After a call. Exit 2 has the model read stderr.
    #[serde(alias = "PostToolUse")]
    PostTool,
    /// Before older work is folded.
    #[serde(alias = "PreCompact")]
    PreCompact,
    /// When you are asked something.
    #[serde(alias = "Notification")]
    Notification,
    /// When the model is done. Exit 2 sends it on, and it reads stderr.
    #[serde(alias = "Stop")]
    Stop,
    /// When a sub-agent is done; `match` names its role. Exit 2 sends it on, and it reads stderr.
    #[serde(alias = "SubagentStop")]
    SubagentStop,
}
