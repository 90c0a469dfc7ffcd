//! `[context]`: what a session keeps, of what was said and of the tree, as it is written.

use crate::units::{ByteSize, share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a session keeps, of what was said and of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContextConfig {
    /// Fold older work into a digest, offer a handoff to a fresh session, or only warn.
    pub strategy: ContextStrategy,
    /// How full the window is when that happens, as a share of it.
    #[serde(deserialize_with = "share")]
    #[schemars(range(min = 0.1, max = 1.0))]
    pub compact_ratio: f64,
    /// What the originals of folded work may take, of all sessions together, like "500MB". Only your own file may set this.
    pub archive_quota: ByteSize,
    /// Save the tree before and after each turn that changes it, for /rewind and /diff.
    pub checkpoints: bool,
    /// What the checkpoints of a project may take, like "4GB". Only your own file may set this.
    pub checkpoint_quota: ByteSize,
    /// What a checkpoint keeps of the repository's history, like "256MB"; the newest first. 0 keeps none. Only your own file may set this.
    pub checkpoint_history: ByteSize,
    /// Seconds that one checkpoint may take. Only your own file may set this.
    pub checkpoint_seconds: u64,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            strategy: ContextStrategy::default(),
            compact_ratio: 0.8,
            archive_quota: ByteSize(500_000_000),
            checkpoints: true,
            checkpoint_quota: ByteSize(4_000_000_000),
            checkpoint_history: ByteSize(256_000_000),
            checkpoint_seconds: 10,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextStrategy {
    #[default]
    Compact,
    Handoff,
    Warn,
}
