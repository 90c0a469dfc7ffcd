//! Other agents that play roles: what a session asks of whoever knows their programs, and what it is told while they work.
//! The binary implements it. How a program is confined is in `launch`, and what of its own state
//! it may change in `state`.

mod launch;
mod state;

use crate::agents::children::Spent;
pub use launch::{Approval, ForeignLauncher, Reach};
use ostler_sources::roles::{Agent, Role};
use ostler_tools::tool::{AnswerContract, Conversation};
use ostler_wire::{Body, BoxFuture, Entry, Json, Outcome, Role as Speaker, TodoItem, ToolKind};
use serde_json::{Value, json};
pub use state::{OwnState, recover};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Runs other agents' programs. The binary implements it.
pub trait ForeignAgents: Send + Sync {
    /// Whether roles are played by others, so that there are tools for that.
    fn roles(&self) -> ForeignRoles;

    /// The agent that a role's model names; none for a model of ours.
    fn agent_of(&self, model: &str) -> Option<Agent>;

    /// Does a task to its end. It ends soon after `cancel`.
    fn run(&self, task: ForeignTask, ground: ForeignGround) -> BoxFuture<'_, ForeignEnd>;
}

/// Whether others play roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignRoles {
    None,
    Some,
}

/// The same for settings, which can be printed.
#[derive(Clone)]
pub struct Foreign(pub Arc<dyn ForeignAgents>);

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").finish_non_exhaustive()
    }
}

/// A task for another agent.
// tidy: plain data
#[derive(Clone, Debug)]
pub struct ForeignTask {
    /// With what it may do here.
    pub role: Role,
    pub prompt: String,
    /// Where it works.
    pub root: PathBuf,
    /// The project, also where it works in a worktree of it.
    pub project: PathBuf,
    /// The session that it works for.
    pub parent: String,
    pub call: String,
    pub conversation: Conversation,
    pub contract: AnswerContract,
    /// Of the call; the role's and the backend's hold where it says nothing.
    pub timeout_secs: Option<u64>,
    /// Sub-agents above it.
    pub depth: u32,
    pub approval: Approval,
}

/// What a task is done with.
pub struct ForeignGround {
    pub launcher: Arc<ForeignLauncher>,
    /// For a fallback that names a model of ours.
    pub own: Arc<dyn OwnAgents>,
    pub watcher: Arc<dyn ForeignWatcher>,
    pub cancel: CancellationToken,
}

/// Runs our own agent in the role of a task.
pub trait OwnAgents: Send + Sync {
    /// The error is one of the start.
    fn run(
        &self,
        task: OwnTask,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<OwnEnd, String>>;
}

/// A task for our own agent.
#[derive(Clone, Debug)]
pub struct OwnTask {
    /// A reference to a model of ours.
    pub model: String,
    pub prompt: String,
    /// A session whose conversation it goes on with.
    pub session: Option<String>,
}

/// How it ended.
#[derive(Clone, Debug, Default)]
pub struct OwnEnd {
    pub session: String,
    pub message: String,
    pub spent: Spent,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

impl OwnEnd {
    /// Whether the turn is over.
    pub fn take(&mut self, entry: &Entry) -> bool {
        if let Body::Message(message) = &entry.body {
            if message.role == Speaker::Assistant && !message.text.trim().is_empty() {
                self.message.clone_from(&message.text);
            }
        } else if let Body::Usage(usage) = &entry.body {
            self.spent.add(Spent::from(usage));
        } else if let Body::Error(error) = &entry.body {
            self.error = Some(error.message.clone());
        } else if let Body::TurnEnd(turn) = &entry.body {
            if turn.outcome != Outcome::Done && self.error.is_none() {
                self.error = Some("its turn did not end well".into());
            }
            return true;
        }
        false
    }
}

/// Follows another agent at work.
pub trait ForeignWatcher: Send + Sync {
    /// In the order of what happens.
    fn tell(&self, activity: ForeignActivity);

    /// The agent wants to do something and waits. Dropped when the task ends first.
    fn permit(&self, request: ForeignRequest) -> BoxFuture<'_, bool>;
}

/// What another agent does.
#[derive(Clone, Debug)]
pub enum ForeignActivity {
    /// Its program was started, with this command line.
    Started(String),
    /// Its own name for the conversation.
    Session(String),
    /// A piece of what it says; the whole follows.
    Said(String),
    /// A piece of its reasoning; the whole follows.
    Thought(String),
    Message(String),
    Reasoning(String),
    Call(ForeignCall),
    Result(ForeignResult),
    Todo(Vec<TodoItem>),
    /// What it has used up to now, in all.
    Spent(Spent),
    Retry {
        after_ms: u64,
        attempt: u32,
        reason: String,
    },
    /// A line for people.
    Notice(String),
}

/// A call of another agent.
#[derive(Clone, Debug)]
pub struct ForeignCall {
    pub id: String,
    /// Its name of the tool, or what the call is about.
    pub title: String,
    pub kind: ToolKind,
    pub input: Option<Json>,
    pub paths: Vec<PathBuf>,
}

/// What came of a call of another agent.
#[derive(Clone, Debug)]
pub struct ForeignResult {
    pub id: String,
    pub ok: bool,
    pub output: String,
}

/// Something that another agent asks for.
#[derive(Clone, Debug)]
pub struct ForeignRequest {
    pub backend: String,
    pub call: ForeignCall,
    /// Diffs and texts that it shows.
    pub preview: String,
}

/// How a task ended.
#[derive(Clone, Debug, Default)]
pub struct ForeignEnd {
    pub message: String,
    /// Why it failed, if it did, and how.
    pub failure: Option<(ForeignFailure, String)>,
    /// What else is known of it, for the result of the call.
    pub report: Value,
}

impl ForeignEnd {
    /// Lines that the result of the call has, too.
    pub fn warn(&mut self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        if !self.report.is_object() {
            self.report = json!({});
        }
        let known = self.report["warnings"].as_array().cloned();
        // The result puts each of its warnings in brackets.
        let bare = |line: &String| line.trim_matches(['[', ']']).to_owned();
        let lines = lines.iter().map(|line| json!(bare(line)));
        let all: Vec<Value> = known.into_iter().flatten().chain(lines).collect();
        self.report["warnings"] = json!(all);
    }
}

/// How a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFailure {
    /// It could not be begun.
    NotStarted,
    /// The agent failed, or said that it did.
    Agent,
    /// The answer is not what it has to be.
    Contract,
    Timeout,
    Cancelled,
}

impl ForeignFailure {
    /// In the log and in results.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Agent => "child_failed",
            Self::Contract => "contract",
            Self::Timeout => "timeout",
            Self::Cancelled => "interrupted",
        }
    }
}

/// A task, and where its end is kept for the call that waits.
#[derive(Clone)]
pub struct ForeignOrder {
    pub task: ForeignTask,
    end: Arc<Mutex<Option<ForeignEnd>>>,
}

impl ForeignOrder {
    pub fn new(task: ForeignTask) -> Self {
        Self {
            task,
            end: Arc::default(),
        }
    }

    pub fn finish(&self, end: ForeignEnd) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    pub fn take_end(&self) -> Option<ForeignEnd> {
        self.end
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}
