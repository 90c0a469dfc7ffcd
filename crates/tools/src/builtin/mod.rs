//! The built-in tools: one file of code and one of prose each, and their rows here. Nothing else lists them.

pub mod ask;
pub mod bash;
pub mod bash_input;
pub mod bash_output;
pub mod batch;
pub mod capture_pane;
pub mod complete_step;
pub mod delegate;
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
mod names;
pub mod notebook_edit;
pub mod read_file;
pub mod read_only_skill;
pub mod read_only_task;
pub mod registry;
pub mod remember;
pub mod roundtable;
pub mod send_keys;
pub mod skill;
pub mod task;
pub mod time;
pub mod todo;
pub mod tool_search;
pub mod web_search;
pub mod write_file;

pub mod files;
mod group;
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
    fit_arguments, other_names, render, unknown_tool,
};

pub use names::find_foreign_name;

use crate::tool::Tool;

/// All of them, sorted by name: the order they have in the prefix.
static BUILTINS: &[&dyn Tool] = &[
    &ask::Ask,
    &bash::Bash,
    &bash_input::BashInput,
    &bash_output::BashOutput,
    &batch::Batch,
    &capture_pane::CapturePane,
    &complete_step::CompleteStep,
    &delegate::Delegate,
    &delete_range::DeleteRange,
    &delete_symbol::DeleteSymbol,
    &edit_file::EditFile,
    &exit_plan_mode::ExitPlanMode,
    &fetch_url::FetchUrl,
    &forget::Forget,
    &glob::Glob,
    &grep::Grep,
    &history::History,
    &kill_job::KillJob,
    &ls::Ls,
    &memory::Memory,
    &move_file::MoveFile,
    &multi_edit::MultiEdit,
    &notebook_edit::NotebookEdit,
    &read_file::ReadFile,
    &read_only_skill::ReadOnlySkill,
    &read_only_task::ReadOnlyTask,
    &remember::Remember,
    &roundtable::Roundtable,
    &send_keys::SendKeys,
    &skill::Skill,
    &task::Task,
    &time::Time,
    &todo::Todo,
    &tool_search::NOTHING,
    &web_search::WebSearch,
    &write_file::WriteFile,
];
