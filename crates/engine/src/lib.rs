//! Sessions: the log, the turn, dispatch, tools and policy. It never prints, exits, or reads env or home: the binary passes values in.
//! A folder is a room; which rooms it may use is a list in `xtask/src/tidy/rooms.rs`.

mod accept;
pub mod agents;
mod checkpoints;
mod clients;
pub mod commands;
mod compaction;
pub mod confine;
mod context;
mod dispatch;
pub mod goal;
pub mod hooks;
mod inbox;
mod interfaces;
mod permissions;
mod servers;
mod session;
pub mod sources;
mod state;
#[cfg(test)]
mod testing;
mod turn;

pub use ostler_host::checkpoint;
pub use ostler_store::{
    artifacts, budget, cache, cut, history, ledger, log, memory, points, prefixes, redact,
    sessions as store, taken,
};

pub use ostler_tools::{builtin as tools, tool};

use ostler_tools::{arguments, jobs, seen};
use ostler_wire::hex;

pub use clients::feed;
pub use clients::live::LiveSessions;
pub use context::{audit, cost, export, handoff, window};
pub use interfaces::extra::{Extra, Tell};
pub use interfaces::{
    HubCommands, Keep, Models, Person, RuleNews, RuleStore, RuleWatch, model_plugin,
};
pub use servers::SandboxLauncher;
pub use session::hub::{LocalHub, OpenError};
pub use sources::references::{PIPED, Voice};
pub use sources::templates::TemplateFolder;
pub use sources::{instructions, prompt, roles, skills};
pub use state::settings::{
    Arrival, CommandSources, Elsewhere, HubSettings, ModelSettings, Paths, PermissionSettings,
    PlaceSwitch, RunSettings, ToolSources,
};
