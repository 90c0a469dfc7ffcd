//! Sessions: the log, the turn, dispatch, tools and policy. It never prints, exits, or reads env or home: the binary passes values in.

mod accept;
mod artifacts;
mod asks;
pub mod audit;
mod briefing;
pub mod cache;
pub mod checkpoint;
pub mod commands;
pub mod confine;
mod conversation;
pub mod cut;
mod desk;
mod dispatch;
pub mod export;
mod feed;
mod fold;
mod hex;
pub mod hub;
mod inbox;
mod ingest;
pub mod instructions;
mod jobs;
pub mod ledger;
pub mod log;
pub mod policy;
mod prefixes;
pub mod prompt;
mod proxy;
pub mod redact;
pub mod resolve;
mod sample;
mod schema;
mod seen;
mod session;
mod standing;
pub mod store;
#[cfg(test)]
mod testing;
pub mod tool;
pub mod tools;
mod transcript;
mod turn;

pub use hub::{LocalHub, Models, Options, RuleNews, RuleStore, RuleWatch};
