//! Whether a call may run: a pure function of mode, rules and what the call declares to touch.

mod address;
pub mod border;
mod call;
mod containment;
pub mod decide;
pub mod definitions;
mod folders;
pub(crate) mod glob;
pub mod guard;
pub mod headless;
mod mcp;
mod mention;
pub mod plain_look;
pub mod plan;
mod policy;
mod propose;
pub mod remedy;
pub mod resolve;
pub mod rules;
mod scope;
pub mod shell;
mod spelling;
pub mod stance;
#[cfg(test)]
mod testing;

pub use address::{is_public_address, with_local_port};
pub use call::{Call, Resolved};
pub use containment::Containment;
pub use decide::needs_a_fresh_yes;
pub use folders::{Folders, protected_names};
pub use guard::Guard;
pub use mcp::{mcp_accesses, mcp_looks};
pub use plan::{Gate, Mode, Planned, gate};
pub use policy::{BUILT_IN, Decision, Fallback, Headless, Policy, Posture, Reading, Verdict};
pub use propose::propose;
pub use remedy::{Refusal, Remedy};
pub use rules::{FAMILIES, Rule, RuleError, Rules};
pub use scope::{Scope, normalise};
pub use stance::{Approve, Stance, time_shown};
