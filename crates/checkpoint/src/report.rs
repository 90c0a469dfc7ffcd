//! What a restore did, and what it left as it is.

use ostler_wire::Why;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub path: String,
    pub why: Why,
}

#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub restored: u64,
    /// The checkpoint that undoes this.
    pub before: u64,
    /// The tree as it is now.
    pub after: u64,
    /// Paths that are now as they were then, or gone as they were then.
    pub changed: Vec<String>,
    /// What was not restored.
    pub kept: Vec<Kept>,
}
