//! What a run may use: what every call has, and the services that a tool has asked for by its type.

use crate::artifacts::Artifacts;
use crate::error::ToolError;
use crate::history::History;
use crate::jobs::Jobs;
use crate::memory::Memory;
use crate::programs::Programs;
use crate::seen::Seen;
use futures_util::future::BoxFuture;
use ostler_guard::{Guard, Scope};
use ostler_host::Host;
use ostler_wire::{AskAnswer, Delta, DeltaSink, Language, TodoItem};
use serde_json::Value;
use std::any::Any;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a run works with. `S` is what this tool uses of the session; dispatch passes on everything. Cheap to clone.
#[derive(Clone)]
pub struct Context<S = Services> {
    pub call_id: String,
    pub tool: Arc<str>,
    pub scope: Arc<Scope>,
    pub host: Arc<dyn Host>,
    /// What the rules say of things met on the way.
    pub guard: Guard,
    pub cancel: CancellationToken,
    /// What is shown while the call runs.
    pub deltas: DeltaSink,
    pub language: Language,
    pub artifacts: Artifacts,
    /// What the person said to `Typed::question`; `None` when nobody could be asked.
    pub answer: Option<AskAnswer>,
    pub services: S,
}

impl<S> Context<S> {
    /// Shows live output of the running call. It may be dropped.
    pub fn show(&self, chunk: &str) {
        self.deltas.send(Delta::ToolOutput {
            id: self.call_id.clone(),
            name: self.tool.to_string(),
            chunk: chunk.into(),
        });
    }

    /// The same with other services.
    pub fn with_services<T>(self, services: T) -> Context<T> {
        Context {
            call_id: self.call_id,
            tool: self.tool,
            scope: self.scope,
            host: self.host,
            guard: self.guard,
            cancel: self.cancel,
            deltas: self.deltas,
            language: self.language,
            artifacts: self.artifacts,
            answer: self.answer,
            services,
        }
    }
}

impl Context {
    /// The same with only those services that a tool uses.
    pub fn narrow<U: Uses>(self) -> Context<U> {
        let services = U::take(&self.services);
        self.with_services(services)
    }
}

/// Everything of the session that some tool uses. No tool gets all of it.
#[derive(Clone)]
pub struct Services {
    pub settings: Arc<ToolSettings>,
    pub seen: Arc<Seen>,
    /// Paths that commands may not read.
    pub hidden: Arc<[PathBuf]>,
    pub programs: Arc<dyn Programs>,
    pub jobs: Arc<Jobs>,
    pub history: Arc<History>,
    pub memory: Arc<Memory>,
    /// The task list of the session.
    pub todo: Arc<Vec<TodoItem>>,
    /// For calls that have others do the work; `None` for all other tools.
    pub delegate: Option<Arc<dyn Delegate>>,
    pub extension: Extension,
}

/// What a tool uses of the session. A tool names it once, as `Typed::Uses`, and gets nothing else.
pub trait Uses: Clone + Send + Sync + 'static {
    fn take(services: &Services) -> Self;
}

impl Uses for () {
    fn take(_: &Services) -> Self {}
}

/// For tools that read and change files.
#[derive(Clone)]
pub struct FileServices {
    /// The contents of files as the model last saw them.
    pub seen: Arc<Seen>,
    pub settings: Arc<ToolSettings>,
    /// Paths that commands may not read.
    pub hidden: Arc<[PathBuf]>,
}

impl Uses for FileServices {
    fn take(services: &Services) -> Self {
        Self {
            seen: services.seen.clone(),
            settings: services.settings.clone(),
            hidden: services.hidden.clone(),
        }
    }
}

/// For tools that start programs or look after running ones.
#[derive(Clone)]
pub struct CommandServices {
    pub programs: Arc<dyn Programs>,
    pub jobs: Arc<Jobs>,
    pub settings: Arc<ToolSettings>,
}

impl Uses for CommandServices {
    fn take(services: &Services) -> Self {
        Self {
            programs: services.programs.clone(),
            jobs: services.jobs.clone(),
            settings: services.settings.clone(),
        }
    }
}

impl Uses for Arc<ToolSettings> {
    fn take(services: &Services) -> Self {
        services.settings.clone()
    }
}

impl Uses for Arc<History> {
    fn take(services: &Services) -> Self {
        services.history.clone()
    }
}

impl Uses for Arc<Memory> {
    fn take(services: &Services) -> Self {
        services.memory.clone()
    }
}

impl Uses for Arc<Vec<TodoItem>> {
    fn take(services: &Services) -> Self {
        services.todo.clone()
    }
}

impl Uses for Option<Arc<dyn Delegate>> {
    fn take(services: &Services) -> Self {
        services.delegate.clone()
    }
}

/// A service of the session for tools that are implemented elsewhere, found by its type. Cheap to clone.
#[derive(Clone, Default)]
pub struct Extension(Option<Arc<dyn Any + Send + Sync>>);

impl Extension {
    pub fn new<T: Send + Sync + 'static>(service: T) -> Self {
        Self(Some(Arc::new(service)))
    }

    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

/// Has a sub-agent do the work of a call. A tool only says what is wanted; the session implements it.
pub trait Delegate: Send + Sync {
    /// The result's data.
    fn run_task(&self, cx: Context<()>, task: TaskOrder)
    -> BoxFuture<'_, Result<Value, ToolError>>;

    /// The same for a skill; one that needs no sub-agent gives its text.
    fn run_skill(
        &self,
        cx: Context<()>,
        skill: SkillOrder,
    ) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Work for a sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskOrder {
    pub role: String,
    pub prompt: String,
    /// For people.
    pub description: Option<String>,
    pub read_only: bool,
    /// In a git worktree of its own.
    pub worktree: bool,
    /// Seconds that it may take; its role says where this does not.
    pub timeout_secs: Option<u64>,
    pub conversation: Conversation,
    pub contract: AnswerContract,
}

/// Which conversation with the sub-agent the work belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Conversation {
    /// A new one.
    #[default]
    New,
    /// The one that this session had with the role last, if there is one.
    Last,
    /// The last one under this name.
    Named(String),
    /// The one with this id.
    Id(String),
}

/// What an answer is checked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerContract {
    pub name: Option<String>,
    /// A patch in it has to apply.
    pub validate_patch: bool,
}

/// A skill that is to be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillOrder {
    pub name: String,
    pub arguments: String,
    /// By a sub-agent that can change nothing.
    pub read_only: bool,
}

/// Settings of tools, filled by the binary from the configuration.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// argv before the command text, e.g. `sh -c`.
    pub shell: Vec<OsString>,
    /// The whole environment of commands.
    pub env: Vec<(OsString, OsString)>,
    /// 0 = no limit.
    pub bash_timeout_seconds: u64,
    /// 0 = all of it.
    pub bash_max_bytes: usize,
    /// Roots that file mutators may write below.
    pub writable: Vec<PathBuf>,
    /// Hosts that `fetch_url` may reach although their address is private.
    pub allow_private: Vec<String>,
    /// Where this process serves people. No tool reaches it, whatever rules say.
    pub served: Option<SocketAddr>,
    /// `{query}` is replaced.
    pub search_url: String,
    /// PEM file with more roots of trust.
    pub ca_file: Option<PathBuf>,
    /// Results as JSON envelopes instead of text.
    pub envelope: bool,
    /// Of what the person is told; models read English.
    pub language: Language,
}
