//! What an agent does while it works, told as it happens, and what it asks.

pub use crate::kind::ToolKind;
use crate::outcome::{Cost, Outcome};
use ostler_wire::BoxFuture;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Follows one task: writes what happens into a session, shows it, answers what the agent asks.
pub trait Watcher: Send + Sync {
    /// Called in the order of the events, from the task that reads the agent's output: it must not block.
    fn activity(&self, activity: Activity);

    /// An agent wants to do something and waits. Dropped when the task ends first.
    fn permission(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer>;
}

/// Follows the tasks of a batch or a roundtable.
pub trait Group: Send + Sync {
    /// A task begins; what it does goes to the watcher.
    fn started(&self, member: &Member) -> Arc<dyn Watcher>;

    fn finished(&self, member: &Member, outcome: &Outcome);
}

/// A task of a batch, or a participant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// From 0, in the order of the request.
    pub index: usize,
    pub name: String,
    pub role: String,
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// A program is started for the task: once, and once more for a fallback.
    Started(Started),
    /// The agent's own name for its session, or a new one.
    Session(String),
    /// A piece of a text that is still being written; the whole follows as `Message` or `Reasoning`.
    Piece(Piece),
    /// A whole message.
    Message(String),
    /// A whole piece of its reasoning.
    Reasoning(String),
    ToolStarted(ToolStarted),
    ToolFinished(ToolFinished),
    Plan(Vec<PlanStep>),
    /// What it has used up to now, in all.
    Usage(Cost),
    /// Its vendor refused, and it tries again by itself.
    Retry(Retry),
    /// A line for people: on stderr, or one that is no event.
    Notice(Notice),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    pub backend: String,
    pub role: String,
    pub model: String,
    /// The command line, without the prompt.
    pub command: String,
    pub cwd: PathBuf,
    pub resumed: bool,
    /// What the agent is told, with the persona.
    pub prompt: String,
    pub way: Way,
}

/// How an agent is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Its command line, whose output is read.
    #[default]
    CommandLine,
    /// The Agent Client Protocol.
    Acp,
    /// Our own agent, in this process.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: PieceKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    Message,
    Reasoning,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolStarted {
    /// Names the call; calls without a name get one.
    pub id: String,
    /// The agent's name of the tool, or what it is about.
    pub title: String,
    pub kind: ToolKind,
    pub input: Option<Value>,
    pub paths: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolFinished {
    pub id: String,
    pub ok: bool,
    /// Cut where it is long.
    pub output: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStep {
    pub text: String,
    pub state: PlanState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanState {
    #[default]
    Pending,
    Running,
    Done,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    pub attempt: Option<u64>,
    pub most: Option<u64>,
    pub delay_ms: Option<u64>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub from: NoticeSource,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeSource {
    /// A line of the agent's stderr.
    Stderr,
    /// A line of its output that is no event.
    Output,
    /// The agent, as a notice of its own.
    Agent,
    /// Us.
    Ours,
}

/// An agent that speaks the Agent Client Protocol asks before a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PermissionRequest {
    pub backend: String,
    pub role: String,
    pub tool: ToolStarted,
    /// Diffs and texts that it shows.
    pub preview: String,
    pub options: Vec<PermissionOption>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub label: String,
    pub kind: PermissionKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionKind {
    AllowOnce,
    AllowAlways,
    #[default]
    RejectOnce,
    RejectAlways,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The id of an option.
    Chosen(String),
    /// The first option that allows once, else the first that allows.
    Allow,
    /// The first option that rejects once; without one the request is cancelled.
    Reject,
    /// Nobody answers: the request is cancelled.
    Cancelled,
}

/// A watcher that looks away and allows nothing.
pub struct NoWatcher;

impl Watcher for NoWatcher {
    fn activity(&self, _activity: Activity) {}

    fn permission(&self, _request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(std::future::ready(PermissionAnswer::Reject))
    }
}

impl Group for NoWatcher {
    fn started(&self, _member: &Member) -> Arc<dyn Watcher> {
        Arc::new(NoWatcher)
    }

    fn finished(&self, _member: &Member, _outcome: &Outcome) {}
}
