//! Every built-in tool by name, the older names they answer to, and what the model reads of their results.

use super::*;
use crate::tool::{Rendered, Tool};
use ostler_llm::ToolSpec;
use ostler_wire::Json;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;

/// All of them, sorted by name: the order they have in the prefix.
static BUILTINS: &[&dyn Tool] = &[
    &ask::Ask,
    &bash::Bash,
    &bash_input::BashInput,
    &bash_output::BashOutput,
    &complete_step::CompleteStep,
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
    &skill::Skill,
    &task::Task,
    &time::Time,
    &todo::Todo,
    &web_search::WebSearch,
    &write_file::WriteFile,
];

const ALIASES: &[(&str, &str)] = &[
    ("read", "read_file"),
    ("write", "write_file"),
    ("edit", "edit_file"),
    ("run_shell", "bash"),
    ("shell", "bash"),
    ("web_fetch", "fetch_url"),
    ("webfetch", "fetch_url"),
    ("websearch", "web_search"),
    ("multiedit", "multi_edit"),
    ("notebookedit", "notebook_edit"),
    ("todowrite", "todo"),
];

/// A tool as a session has it.
#[derive(Clone)]
pub enum Held {
    Ours(&'static dyn Tool),
    /// Of a server; it may be gone in the next turn.
    Theirs(Arc<dyn Tool>),
}

impl Deref for Held {
    type Target = dyn Tool;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Ours(tool) => *tool,
            Self::Theirs(tool) => &**tool,
        }
    }
}

/// The tools of one session.
#[derive(Clone)]
pub struct Tools {
    enabled: Vec<Held>,
    filter: Arc<[String]>,
}

impl Tools {
    /// `filter` as in `[tools] enabled`: empty means all, a name selects, `!name` takes out.
    pub fn new(filter: &[String]) -> Self {
        let (out, chosen): (Vec<&str>, Vec<&str>) = filter
            .iter()
            .map(String::as_str)
            .partition(|f| f.starts_with('!'));
        let name = |text: &'static str, list: &[&str]| {
            list.iter()
                .any(|f| canonical_name(f.trim_start_matches('!')) == Some(text))
        };
        let enabled = BUILTINS
            .iter()
            .copied()
            .filter(|t| chosen.is_empty() || name(t.name(), &chosen))
            .filter(|t| !name(t.name(), &out))
            .map(Held::Ours)
            .collect();
        Self {
            enabled,
            filter: filter.into(),
        }
    }

    /// The same with tools that are not ours, after all others.
    pub fn and(mut self, more: &[&'static dyn Tool]) -> Self {
        self.enabled.extend(more.iter().copied().map(Held::Ours));
        self
    }

    /// The same with these tools of servers, in place of those it had. They come last.
    pub fn with_servers(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.enabled.retain(|held| matches!(held, Held::Ours(_)));
        let admitted = tools.into_iter().filter(|t| self.admits(t.name()));
        let admitted: Vec<Held> = admitted.map(Held::Theirs).collect();
        self.enabled.extend(admitted);
        self
    }

    /// Whether the filter lets a tool of a server through: by its name, or by `mcp__server`.
    fn admits(&self, name: &str) -> bool {
        let speaks_of = |entry: &str| {
            name.strip_prefix(entry)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        let mut chosen = self
            .filter
            .iter()
            .filter(|f| !f.starts_with('!'))
            .peekable();
        let out = self.filter.iter().filter_map(|f| f.strip_prefix('!'));
        (chosen.peek().is_none() || chosen.any(|f| speaks_of(f))) && !out.into_iter().any(speaks_of)
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.enabled.iter().map(|t| t.spec()).collect()
    }

    pub fn find(&self, name: &str) -> Option<Held> {
        let name = canonical_name(name).unwrap_or(name);
        self.enabled.iter().find(|t| t.name() == name).cloned()
    }

    /// As in `[tools] enabled`.
    pub fn filter(&self) -> &[String] {
        &self.filter
    }

    /// Whether a tool of this name may be used, or a server's may.
    pub fn allows(&self, name: &str) -> bool {
        self.find(name).is_some() || crate::mcp::is_theirs(name) && self.admits(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.enabled.iter().map(|t| t.name())
    }
}

/// Every built-in tool, for configuration and completion.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|t| t.name())
}

/// The name a tool goes by, for one of the names it may be called by.
pub fn canonical_name(name: &str) -> Option<&'static str> {
    let lower = name.trim().to_ascii_lowercase();
    let known = |name: &str| BUILTINS.iter().map(|t| t.name()).find(|n| *n == name);
    known(&lower).or_else(|| {
        let (_, canonical) = ALIASES.iter().find(|(alias, _)| *alias == lower)?;
        known(canonical)
    })
}

/// What the model reads of a result: a pure function of the envelope.
pub fn render(name: &str, output: &Json, envelope: bool) -> Rendered {
    if envelope && !output.get().contains("\"image\":{") {
        return output.get().to_owned().into();
    }
    let value = output.to_value();
    if let Some(error) = value.get("error") {
        let text = |key| error.get(key).and_then(Value::as_str).unwrap_or_default();
        return format!("Error ({}): {}", text("code"), text("message")).into();
    }
    let Some(data) = value.get("data") else {
        return output.get().to_owned().into();
    };
    let tool = canonical_name(name).and_then(|n| BUILTINS.iter().find(|t| t.name() == n));
    match tool {
        Some(tool) => tool.render(data),
        None if crate::mcp::is_theirs(name) => crate::mcp::render(data),
        None => data.to_string().into(),
    }
}
