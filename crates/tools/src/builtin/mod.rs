//! The built-in tools: one file of code and one of prose each.

pub mod ask;
pub mod bash;
pub mod bash_input;
pub mod bash_output;
pub mod complete_step;
pub mod delete_range;
pub mod delete_symbol;
pub mod edit_file;
pub mod exit_plan_mode;
pub mod fetch_url;
pub mod forget;
pub mod glob;
pub mod grep;
pub mod history;
pub mod kill_job;
pub mod ls;
pub mod memory;
pub mod move_file;
pub mod multi_edit;
pub mod notebook_edit;
pub mod read_file;
pub mod read_only_skill;
pub mod read_only_task;
pub mod registry;
pub mod remember;
pub mod skill;
pub mod task;
pub mod time;
pub mod todo;
pub mod tool_search;
pub mod web_search;
pub mod write_file;

pub mod files;
mod ignored;
#[cfg(all(test, unix))]
mod races;
pub mod server_result;
pub mod text;
mod wait;
mod walk;
mod web;

pub use files::picture::media_type as picture_type;
pub use registry::{
    Held, Tools, all_names, builtin_specs, canonical_name, declaration, declarations,
    fit_arguments, render, unknown_tool,
};
