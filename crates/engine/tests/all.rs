//! The integration tests of the engine as one program: linking is most of what each program of tests costs.
#![cfg(unix)]

mod border;
mod budget;
mod commands;
mod common;
mod compaction;
mod crew;
mod crew_faults;
mod engine_turns;
mod fold_properties;
mod goals;
mod guard;
mod hooks;
mod memory;
mod prefix_cache;
mod resume;
mod rewind;
mod standing;
mod tasks;
mod waiting;
