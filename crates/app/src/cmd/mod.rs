//! The subcommands, one file each. They look things up and print; running a model is `exec`.

pub mod agents;
pub mod answers;
pub mod cache;
pub mod checkpoint;
pub mod completions;
pub mod config;

pub mod doctor;
pub mod handoff;
pub mod import;
pub mod login;
pub mod mcp;
pub mod mcp_test;
pub mod memory;
pub mod models;
pub mod panel;
pub mod permissions;
pub mod sessions;
pub mod trust;
pub mod uninstall;
pub mod usage;

pub mod choose;
mod health;
pub mod probe;
