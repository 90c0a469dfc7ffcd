//! What other agents keep on disk: settings, servers, rules, prose and sessions, found by a table of agents and read into
//! terms of ours. Nothing of theirs is changed. It takes nothing over and asks nobody: that is the caller's.

mod agents;
mod conversation;
mod files;
mod hooks;
mod item;
mod log;
mod prose;
mod rules;
mod servers;
mod sessions;
mod settings;
mod survey;

pub use agents::{Agent, agent, agents};
pub use conversation::{Conversation, Piece, ResultFacts, Step, What};
pub use files::{Files, Places};
pub use item::{Found, Item, Kind, List, Taken};
pub use log::{OurTools, Ours, TOLD_FIRST, bodies, log_id};
pub use sessions::{Opener, SessionRef, list};
pub use survey::survey;
