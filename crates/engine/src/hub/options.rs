//! What the binary decides for the sessions of a process.

use crate::agents::AgentSettings;
use crate::budget::Budget;
use crate::checkpoint::Limits;
use crate::compaction::ContextSettings;
use crate::extra::Extra;
use crate::hooks::Hook;
use crate::interfaces::{Models, RuleStore, RuleWatch};
use crate::redact::Redactor;
use crate::templates::TemplateFolder;
use crate::tool::{Tool, ToolSettings};
use ostler_guard::{Mode, Policy};
use ostler_host::Host;
use ostler_llm::Params;
use ostler_mcp::McpSettings;
use ostler_wire::Language;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything the binary decides for the sessions of a process.
// tidy: plain data
#[derive(Clone)]
pub struct Options {
    pub version: String,
    pub home: PathBuf,
    pub user_home: Option<PathBuf>,
    /// Canonical.
    pub root: PathBuf,
    /// For what an unsaved session has to keep on disk.
    pub temp: PathBuf,
    /// Folder that holds a folder of sessions per project.
    pub sessions: PathBuf,
    pub save: bool,
    pub interactive: bool,
    /// As the person named it for this run; a resumed session keeps its own otherwise.
    pub model: Option<String>,
    pub models: Arc<dyn Models>,
    pub params: Params,
    pub max_steps: u64,
    /// What checkpoints of the tree may cost; none are made without it.
    pub checkpoints: Option<Limits>,
    pub context: ContextSettings,
    /// Facts that a prompt is about go with it unasked.
    pub recall: bool,
    /// What may be spent, shared by all sessions of the process.
    pub budget: Budget,
    /// Lines for the operator section of the prompt.
    pub operator: Vec<String>,
    pub policy: Policy,
    pub watch: Option<Arc<dyn RuleWatch>>,
    /// Commands that run at fixed moments.
    pub hooks: Arc<[Hook]>,
    /// As the person named it for this run; a resumed session keeps its own otherwise.
    pub mode: Option<Mode>,
    /// Tools of others that may be used while planning.
    pub plan_tools: Vec<String>,
    /// Where rules are saved; without it none is offered.
    pub rules: Option<Arc<dyn RuleStore>>,
    pub tool_filter: Vec<String>,
    /// Tools that are not ours.
    pub more_tools: Vec<&'static dyn Tool>,
    /// Servers whose tools are used.
    pub mcp: Arc<McpSettings>,
    /// Knows the values that nobody may see: not the model, not the log, not a front end.
    pub redactor: Redactor,
    pub tools: ToolSettings,
    pub host: Arc<dyn Host>,
    /// Facts for the first prompt: the system, the shell.
    pub system: String,
    pub language: Language,
    /// Roles, skills, and how sub-agents may work.
    pub agents: Arc<AgentSettings>,
    /// Folders of Markdown commands, the more important first.
    pub templates: Vec<TemplateFolder>,
    /// Commands of the binary's own.
    pub extras: Vec<Arc<dyn Extra>>,
}
