//! Other agents as workers: a role names an agent and a model; a task for it becomes a command line or a session of the
//! Agent Client Protocol, what it does is told as it happens, and its answer comes back. Where programs run and what they
//! may touch is decided by the `Launcher` that the caller passes in; this crate reads no environment and no home.

pub mod activity;
mod contract;
mod delegation;
mod include;
mod kind;
pub mod outcome;
mod output;
mod record;
pub mod request;
mod resolve;
mod run;
pub mod services;
mod sessions;
pub mod setup;
mod template;

pub use delegation::Delegation;
