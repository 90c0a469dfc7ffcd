//! The subcommands as people run them: exact output, exit codes, bad input. Models are scripted; nothing leaves the machine.

mod cache;
mod certificates;
mod checkpoint;
mod completions;
mod config;
mod demo;
mod docs;
mod doctor;
mod import;
mod json;
mod permissions;
mod resume;
mod sessions;
mod setup;
mod support;
mod trust;
mod usage;
