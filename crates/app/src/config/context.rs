//! `[context]`: what is done when the model's window fills up, as it is written and as the engine wants it.

use super::units::share;
use ostler_engine::compaction::{ContextSettings, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done when the model's window fills up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContextConfig {
    /// Fold older work into a digest, offer a handoff to a fresh session, or only warn.
    pub strategy: ContextStrategy,
    /// How full the window is when that happens, as a share of it.
    #[serde(deserialize_with = "share")]
    #[schemars(range(min = 0.1, max = 1.0))]
    pub compact_ratio: f64,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            strategy: ContextStrategy::default(),
            compact_ratio: 0.8,
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

impl ContextConfig {
    pub fn settings(&self) -> ContextSettings {
        ContextSettings {
            strategy: match self.strategy {
                ContextStrategy::Compact => Strategy::Compact,
                ContextStrategy::Handoff => Strategy::Handoff,
                ContextStrategy::Warn => Strategy::Warn,
            },
            ratio: self.compact_ratio,
        }
    }
}
