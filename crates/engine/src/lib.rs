//! Sessions: the log, the turn, dispatch, tools and policy. It never prints, exits, or reads env or home: the binary passes values in.

mod accept;
pub mod agents;
pub mod audit;
mod backlog;
mod briefing;
mod checkpoints;
mod children;
pub mod commands;
pub mod compaction;
pub mod confine;
mod conversation;
pub mod cost;
mod dispatch;
pub mod export;
mod extra;
pub mod feed;
mod fold;
mod front;
pub mod goal;
pub mod handoff;
pub mod hooks;
pub mod hub;
mod inbox;
mod ingest;
pub mod instructions;
mod intake;
mod interfaces;
mod live;
pub mod model_plugin;
mod permission_state;
pub mod prompt;
mod proxy;
mod references;
mod rewind;
pub mod roles;
mod sample;
mod server_question;
mod servers;
mod session;
mod side_request;
pub mod skills;
pub mod sources;
mod state;
mod templates;
#[cfg(test)]
mod testing;
mod transcript;
mod turn;
mod worktree;

pub use ostler_host::checkpoint;
pub use ostler_store::{
    artifacts, budget, cache, cut, history, ledger, log, memory, points, prefixes, redact,
    sessions as store,
};

pub use ostler_tools::{builtin as tools, tool};

use ostler_tools::{arguments, jobs, seen};
use ostler_wire::hex;

pub use extra::{Extra, Tell};
pub use hub::{
    CommandSources, HubSettings, LocalHub, ModelSettings, OpenError, Paths, PermissionSettings,
    RunSettings, ToolSources,
};
pub use interfaces::{Keep, Models, RuleNews, RuleStore, RuleWatch};
pub use live::LiveSessions;
pub use references::PIPED;
pub use servers::SandboxLauncher;
pub use templates::TemplateFolder;
