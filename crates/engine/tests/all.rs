//! The integration tests of the engine as one program: linking is most of what each program of tests costs.
#![cfg(unix)]

mod agent_faults;
mod agents;
mod border;
mod budget;
mod commands;
mod common;
mod compaction;
mod completion;
mod engine_turns;
mod fold_properties;
mod goals;
mod guard;
mod hooks;
mod memory;
mod permission_state;
mod prefix_cache;
mod questions;
mod resume;
mod rewind;
mod tasks;
mod waiting;
