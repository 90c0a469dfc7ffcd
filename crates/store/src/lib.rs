//! What is kept on disk about sessions: logs, prefixes, the ledger and budgets, the history index, memory, artifacts.
//! It knows no model, no tool and no turn.

pub mod artifacts;
pub mod budget;
pub mod cache;
pub mod cut;
pub mod history;
pub mod ledger;
pub mod log;
pub mod memory;
pub mod owners;
pub mod points;
pub mod prefixes;
pub mod redact;
pub mod sessions;
pub mod taken;
#[doc(hidden)]
pub mod testing;
mod title;
