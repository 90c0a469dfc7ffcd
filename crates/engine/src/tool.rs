//! What a tool is: typed arguments, one declaration of what a call touches, and a run that never asks anyone.

use crate::arguments::read_arguments;
use crate::artifacts::Artifacts;
use crate::confine::{SandboxSettings, SandboxShare, Terms};
use crate::cut::clip;
use crate::history::History;
use crate::jobs::Jobs;
use crate::memory::Memory;
use crate::seen::Seen;
use futures_util::future::BoxFuture;
use ostler_guard::Guard;
pub use ostler_guard::{Scope, normalise};
use ostler_host::Host;
use ostler_wire::{
    Access, AskAnswer, Body, Delta, DeltaSink, Image, Json, Language, TodoItem, ToolDeclaration,
    ToolSpec,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::Any;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool with typed arguments. The doc comments of `Args` are its schema, `PROSE` the description beside the code.
pub trait Typed: Clone + Send + Sync + 'static {
    type Args: DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    const NAME: &'static str;
    /// Everything that others need to know about the tool.
    const ABOUT: ToolDeclaration;
    const PROSE: &'static str;

    /// What this call would touch; an empty list touches nothing.
    fn access(&self, args: &Self::Args, scope: &Scope) -> Result<Vec<Access>, ToolError>;

    /// What this call is about, for people.
    fn subject(_args: &Self::Args) -> Subject {
        Subject::default()
    }

    fn run(
        &self,
        args: Self::Args,
        cx: Context,
    ) -> impl Future<Output = Result<Done, ToolError>> + Send;

    /// What the model reads of `data`. Pure; a change of it for old logs needs a new rendering version.
    fn render(data: &Value) -> Rendered;

    /// A question that dispatch puts to the person before the run; the answer is in `Context::answer`.
    fn question(_args: &Self::Args) -> Option<Question> {
        None
    }

    /// What the person may look at before they allow a run: the diff it would make. It changes nothing.
    fn preview(
        &self,
        _args: Self::Args,
        _cx: Context,
    ) -> impl Future<Output = Option<String>> + Send {
        std::future::ready(None)
    }

    /// Why it cannot succeed, found out before the person is bothered with it.
    fn objection(
        &self,
        _args: Self::Args,
        _cx: Context,
    ) -> impl Future<Output = Option<ToolError>> + Send {
        std::future::ready(None)
    }
}

/// The same with its types erased, as the registry holds it.
pub trait Tool: Send + Sync {
    fn about(&self) -> &ToolDeclaration;
    fn spec(&self) -> ToolSpec;
    /// Reads the arguments, once: what is judged, shown and run is the call that this gives.
    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError>;
    fn render(&self, data: &Value) -> Rendered;

    /// What `tool_search` shows of it, where `spec` says less.
    fn unabridged(&self) -> Option<ToolSpec> {
        None
    }
}

impl dyn Tool + '_ {
    pub fn name(&self) -> &str {
        &self.about().name
    }

    /// What a call with these arguments would touch.
    pub fn access(&self, args: &Value, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        self.read(args)?.access(scope)
    }
}

/// A call whose arguments have been read.
pub trait Call: Send + Sync {
    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError>;
    fn subject(&self) -> Subject;
    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>>;

    fn question(&self) -> Option<Question> {
        None
    }

    fn preview(&self, _cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn objection(&self, _cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(std::future::ready(None))
    }
}

/// What a call is about, in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    pub text: String,
    /// The argument that holds what `text` shows only the beginning of.
    pub body: Option<&'static str>,
}

impl Subject {
    /// The first line of a text that may have more.
    pub fn first_line(text: &str) -> Self {
        let text = text.trim();
        match text.split_once('\n') {
            Some((first, _)) => format!("{} …", first.trim_end()).into(),
            None => text.into(),
        }
    }

    /// Something, and where it is looked for.
    pub fn placed(what: &str, place: Option<&str>) -> Self {
        match place {
            Some(place) => format!("{what}  {place}").into(),
            None => what.into(),
        }
    }

    /// Work that a sub-agent is given.
    pub fn of_task(prompt: &str, description: Option<&str>, role: Option<&str>) -> Self {
        let Self { text, .. } = Self::first_line(description.unwrap_or(prompt));
        let subject = match role {
            Some(role) => format!("{role}  {text}").into(),
            None => Self::from(text),
        };
        subject.with_body("prompt")
    }

    /// `name: value, name: value`, each on one line, for a tool whose arguments are not known.
    pub fn of_arguments(args: &Map<String, Value>) -> Self {
        let mut text = String::new();
        for (name, value) in args {
            if text.len() > MAX_SUBJECT {
                break;
            }
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(name);
            text.push_str(": ");
            match value {
                Value::String(value) => text.push_str(&clip(value, MAX_SUBJECT)),
                other => text.push_str(&other.to_string()),
            }
        }
        text.replace('\n', " ").into()
    }

    pub fn with_body(self, argument: &'static str) -> Self {
        Self {
            body: Some(argument),
            ..self
        }
    }
}

impl From<String> for Subject {
    fn from(text: String) -> Self {
        Self { text, body: None }
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Characters of a subject that are kept.
pub const MAX_SUBJECT: usize = 1_000;

/// Everything a run may use. Cheap to clone.
// tidy: plain data
#[derive(Clone)]
pub struct Context {
    pub call_id: String,
    pub tool: Arc<str>,
    pub scope: Arc<Scope>,
    pub host: Arc<dyn Host>,
    pub settings: Arc<ToolSettings>,
    pub cancel: CancellationToken,
    /// What is shown while the call runs.
    pub deltas: DeltaSink,
    pub artifacts: Artifacts,
    pub seen: Arc<Seen>,
    pub jobs: Arc<Jobs>,
    /// What was said before.
    pub history: Arc<History>,
    /// What is remembered over sessions.
    pub memory: Arc<Memory>,
    pub share: Arc<SandboxShare>,
    /// What the rules say of things met on the way.
    pub guard: Guard,
    /// What holds for the commands of this call.
    pub terms: Arc<Terms>,
    /// The task list of the session.
    pub todo: Arc<Vec<TodoItem>>,
    /// What the person said to `Typed::question`; `None` when nobody could be asked.
    pub answer: Option<AskAnswer>,
    /// What tools need that are not built in.
    pub extension: Extension,
    /// For calls that have others do the work; `None` for all other tools.
    pub delegate: Option<Arc<dyn Delegate>>,
    pub language: Language,
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

impl Context {
    /// Shows live output of the running call. It may be dropped.
    pub fn show(&self, chunk: &str) {
        self.deltas.send(Delta::ToolOutput {
            id: self.call_id.clone(),
            name: self.tool.to_string(),
            chunk: chunk.into(),
        });
    }
}

/// Has a sub-agent do the work of a call. A tool only says what is wanted; the session implements it.
pub trait Delegate: Send + Sync {
    /// The result's data.
    fn run_task(&self, cx: Context, task: TaskOrder) -> BoxFuture<'_, Result<Value, ToolError>>;

    /// The same for a skill; one that needs no sub-agent gives its text.
    fn run_skill(&self, cx: Context, skill: SkillOrder) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Work for a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOrder {
    pub role: String,
    pub prompt: String,
    /// For people.
    pub description: Option<String>,
    pub read_only: bool,
    /// In a git worktree of its own.
    pub worktree: bool,
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
    /// `{query}` is replaced.
    pub search_url: String,
    /// PEM file with more roots of trust.
    pub ca_file: Option<PathBuf>,
    /// Results as JSON envelopes instead of text.
    pub envelope: bool,
    /// Of what the person is told; models read English.
    pub language: Language,
    /// What commands may touch.
    pub sandbox: SandboxSettings,
}

/// What a run leaves.
pub struct Done {
    /// The envelope's `data`, an object.
    pub data: Value,
    /// Entries beside the result (the todo list).
    pub also: Vec<Body>,
}

impl From<Value> for Done {
    fn from(data: Value) -> Self {
        Self {
            data,
            also: Vec::new(),
        }
    }
}

/// A failed call, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub code: &'static str,
    pub message: String,
}

impl ToolError {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub images: Vec<Image>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Words {
        text: String,
        choices: Vec<String>,
        multi: bool,
    },
    /// May this plan be carried out?
    Plan(String),
}

impl<T: Typed> Tool for T {
    fn about(&self) -> &ToolDeclaration {
        const { &T::ABOUT }
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: T::NAME.into(),
            description: T::PROSE.trim().into(),
            parameters: Json::of(&crate::schema::of::<T::Args>()),
        }
    }

    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError> {
        let (args, _) = read_arguments(T::NAME, args)?;
        let tool = self.clone();
        Ok(Arc::new(TypedCall::<T> { tool, args }))
    }

    fn render(&self, data: &Value) -> Rendered {
        T::render(data)
    }
}

struct TypedCall<T: Typed> {
    tool: T,
    args: T::Args,
}

impl<T: Typed> Call for TypedCall<T> {
    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        self.tool.access(&self.args, scope)
    }

    fn subject(&self) -> Subject {
        T::subject(&self.args)
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(self.tool.run(self.args.clone(), cx))
    }

    fn question(&self) -> Option<Question> {
        T::question(&self.args)
    }

    fn preview(&self, cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.tool.preview(self.args.clone(), cx))
    }

    fn objection(&self, cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(self.tool.objection(self.args.clone(), cx))
    }
}
