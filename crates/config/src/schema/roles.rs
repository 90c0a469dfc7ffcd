//! `[roles.*]` and `[skills]`, as they are written.

use crate::units::Allowance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One role: who it is, what answers, and what it may do. Names of built-in roles change those.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoleConfig {
    /// "ostler/provider/model", or "backend/model@variant" for another agent's program. Unset: that of the session.
    pub model: Option<String>,
    /// Who it is; what is not set stays as it comes.
    pub personas: PersonaConfig,
    /// What it may do; what is not set stays as it comes.
    pub capabilities: CapabilitiesConfig,
    /// false: it cannot be used.
    pub enabled: Option<bool>,
    /// How long one piece of work may take; 0 means without limit. Unset: that of the backend, or 600.
    pub timeout_secs: Option<u64>,
}

/// Who a role is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersonaConfig {
    /// What it is for, in a line that the model reads.
    pub description: Option<String>,
    /// Added to its system prompt.
    pub prompt: Option<String>,
}

/// What a role may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CapabilitiesConfig {
    /// "read-write", or "read-only" for one that can change nothing.
    pub filesystem: Option<Filesystem>,
    /// Whether it may run commands.
    pub shell: Option<Allowance>,
    /// Whether it may reach the network.
    pub network: Option<Allowance>,
    /// Only these tools; "*" is all.
    pub tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    ReadWrite,
    ReadOnly,
}

/// Where skills come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillsConfig {
    /// Further folders of skills.
    pub paths: Vec<String>,
    /// Folders that are not looked into.
    pub excluded_paths: Vec<String>,
    /// Skills that nobody wants, by name.
    pub disabled_skills: Vec<String>,
}
