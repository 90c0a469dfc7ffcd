//! What is asked of other agents: the parameters of the tools, as models and programs send them.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One task for one role.
// tidy: plain data
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    #[serde(rename = "PROMPT", alias = "prompt")]
    pub prompt: String,
    /// The folder to work in; relative to that of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The agent's own session to go on with.
    #[serde(
        rename = "SESSION_ID",
        alias = "session_id",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<String>,
    /// The person was asked, and saw that session, or wants not to be asked. Never a parameter.
    #[serde(skip)]
    pub is_session_approved: bool,
    pub force_new_session: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Contract>,
    pub validate_patch: bool,
    /// Names the task in a batch or a roundtable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The repository that the session key is made of where `cd` is a worktree of it. Never a parameter.
    #[serde(skip)]
    pub key_root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    PatchWithCitations,
}

impl Contract {
    pub fn name(self) -> &'static str {
        match self {
            Self::PatchWithCitations => "patch_with_citations",
        }
    }
}

/// Several tasks at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchRequest {
    pub tasks: Vec<Request>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
}

/// One topic for several roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundtableRequest {
    #[serde(rename = "TOPIC", alias = "topic")]
    pub topic: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cd: Option<String>,
    pub participants: Vec<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Participant {
    pub name: String,
    /// That of the name where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub force_new_session: bool,
}

/// Which roles there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InfoRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}
