//! What a tool call would touch. Permission, plan mode, parallelism, sandbox and title all follow from it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read(PathBuf),
    Write(PathBuf),
    Run(Vec<Segment>),
    Net(String),
    Mcp { server: String, tool: String },
    Job(String),
    Delegate(String),
    Memory,
}

/// One plain command of a shell line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub text: String,
    /// Known to change nothing.
    pub read_only: bool,
}

impl Access {
    /// Whether such an access needs the person's word where no rule speaks. A job's command had it when it started.
    pub fn needs_permission(&self) -> bool {
        match self {
            Access::Job(_) => false,
            Access::Read(_)
            | Access::Write(_)
            | Access::Run(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Delegate(_)
            | Access::Memory => !self.is_read_only(),
        }
    }

    /// Whether calls with only such accesses may run beside each other.
    pub fn is_read_only(&self) -> bool {
        match self {
            Access::Read(_) => true,
            Access::Run(segments) => segments.iter().all(|s| s.read_only),
            Access::Write(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate(_)
            | Access::Memory => false,
        }
    }
}
