//! Whether a call may run: a pure function of mode, rules and what the call declares to touch.

pub mod decide;
mod glob;
pub mod guard;
mod mcp;
mod propose;
pub mod rules;
pub mod shell;

pub use decide::{Call, Decision, Fallback, Headless, Policy, Posture, Resolved, Verdict};
pub use guard::Guard;
pub use mcp::mcp_accesses;
pub use propose::propose;
pub use rules::{FAMILIES, Rule, RuleError, Rules};
