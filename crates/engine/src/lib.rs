//! What is done with a session: turns, dispatch, compaction, commands, the task that owns it, and the hub that opens it. It
//! never prints, exits, or reads env or home: the binary passes values in. A folder is a room; which rooms it may use is a
//! list in `xtask/src/tidy/layers.rs`.

pub mod commands;
mod compaction;
mod dispatch;
mod session;
#[cfg(test)]
mod testing;
mod turn;

pub use ostler_host::checkpoint;
pub use ostler_store::{
    artifacts, budget, cache, cut, history, ledger, log, memory, points, prefixes, redact,
    sessions as store, taken,
};

pub use ostler_tools::{builtin as tools, tool};

use ostler_tools::jobs;

pub use ostler_confine as confine;
pub use ostler_context::clients::feed;
pub use ostler_context::clients::live::LiveSessions;
pub use ostler_context::interfaces::extra::{Extra, Tell};
pub use ostler_context::interfaces::{
    HubCommands, Keep, Models, Person, RuleNews, RuleStore, RuleWatch, model_plugin,
};
pub use ostler_context::{audit, cost, export, goal, handoff, window};
pub use ostler_sources as sources;
pub use ostler_sources::references::{PIPED, Voice};
pub use ostler_sources::templates::TemplateFolder;
pub use ostler_sources::{instructions, prompt, roles, skills};
pub use ostler_state::servers::SandboxLauncher;
pub use ostler_state::settings::{
    Arrival, CommandSources, Elsewhere, HubSettings, ModelSettings, Paths, PermissionSettings,
    PlaceSwitch, RunSettings, ToolSources,
};
pub use ostler_state::{agents, hooks};
pub use session::hub::{LocalHub, OpenError};
