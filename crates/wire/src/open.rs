//! Which session a front end wants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Open {
    New,
    /// By id, or a unique beginning of one.
    Resume(String),
    /// The newest of this project.
    Last,
    /// A new session that starts with a copy of another one.
    Fork(String),
}
