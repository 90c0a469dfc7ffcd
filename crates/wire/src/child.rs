//! What a log says of the sessions above and below its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The session that had this one do a piece of its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildOf {
    pub session: String,
    /// The call whose result it is.
    pub call: String,
    pub role: String,
}

/// A session that worked below this one has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Child {
    /// Its name in this session, such as `t1`.
    pub id: String,
    pub session_id: String,
    /// Empty for a prompt in the background.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// What it was to do, shortened.
    pub title: String,
    /// The call that it worked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    pub outcome: ChildOutcome,
    pub duration_ms: u64,
    /// Tokens of all its requests, and of the sessions below it.
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// How a child session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildOutcome {
    Done,
    Failed,
    Stopped,
    Timeout,
}
