//! What comes back, with the field names that callers of the tools read.

use crate::setup::{Capabilities, PromptTransport};
use serde::{Deserialize, Serialize};

/// The end of one task.
// tidy: plain data
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub success: bool,
    pub backend: String,
    /// As it was asked for.
    pub role: String,
    /// As it is configured.
    pub role_id: String,
    pub model: Option<String>,
    pub session_key: String,
    pub resumed: bool,
    #[serde(rename = "SESSION_ID")]
    pub session_id: String,
    /// The same, under its other name.
    pub backend_session_id: String,
    pub agent_messages: String,
    /// The same, under its other name.
    pub message: String,
    /// Written as one text with a line for each, or as `null`: callers expect it so.
    #[serde(with = "lines")]
    pub warnings: Vec<String>,
    pub contract: Option<String>,
    pub contract_errors: Vec<String>,
    pub patch_format: Option<String>,
    pub patch_apply_check_ok: Option<bool>,
    pub patch_apply_check_output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    pub error: Option<String>,
    /// How it ended where it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
}

/// What the agent says it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
}

impl Cost {
    /// What was used since a session had used `before`.
    pub fn since(self, before: Self) -> Self {
        let usd = |usd: f64| (usd - before.usd.unwrap_or_default()).max(0.0);
        Self {
            usd: self.usd.map(usd),
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request cannot be carried out as it stands: an unknown or disabled role, a folder that is missing.
    Request,
    /// The configuration cannot be used.
    Setup,
    /// The program could not be started.
    NotStarted,
    /// It ran and failed, or said that it failed.
    Agent,
    /// It answered, and the answer breaks the contract.
    Contract,
    Timeout,
    Cancelled,
}

/// What became of a batch. `success` says that all tasks succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchOutcome {
    pub success: bool,
    /// In the order of the tasks.
    pub results: Vec<NamedOutcome>,
    pub error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedOutcome {
    pub name: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundtableOutcome {
    pub success: bool,
    pub topic: String,
    pub cd: String,
    /// In the order of the participants.
    pub contributions: Vec<NamedOutcome>,
    pub error: Option<String>,
}

/// The roles and agents of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    pub success: bool,
    pub cd: String,
    /// The documents that were read.
    pub config_sources: Vec<String>,
    pub roles: Vec<RoleInfo>,
    pub backends: Vec<BackendInfo>,
    pub error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleInfo {
    pub role: String,
    pub description: Option<String>,
    /// `backend/model[@variant]`.
    pub model: String,
    pub backend: String,
    pub enabled: bool,
    pub capabilities: Capabilities,
    pub timeout_secs: u64,
    /// `built-in`, `config` or `none`.
    pub persona_source: String,
    /// Why it would fail.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendInfo {
    pub backend: String,
    pub models: Vec<String>,
    pub prompt_transport: PromptTransport,
    /// Calls go through the Agent Client Protocol.
    pub acp: bool,
}

/// What `doctor` finds about an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendCheck {
    pub backend: String,
    pub command: String,
    /// Where it lies; `None`: it is not installed.
    pub path: Option<String>,
    pub version: Option<String>,
    /// `None`: it does not tell without a question to its vendor.
    pub logged_in: Option<bool>,
    /// It has a sandbox of its own, which cannot run inside ours; and the way out.
    pub sandbox_note: Option<String>,
    /// How to install it or log in.
    pub hint: Option<String>,
    pub error: Option<String>,
}

/// Several texts as one, a line for each.
mod lines {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(lines: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        let text = (!lines.is_empty()).then(|| lines.join("\n"));
        text.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text
            .iter()
            .flat_map(|text| text.lines())
            .map(str::to_owned)
            .collect())
    }
}
