//! Event = Entry | Delta | Ask | Reply: stored then shown, shown if possible, must be answered, and what one client's op
//! gives back.

use crate::{Ask, Entry, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Entry(Arc<Entry>),
    Delta(Delta),
    Ask(Arc<Ask>),
    Reply(Arc<Reply>),
}

/// What an op gives back. It goes to the client that sent the op, is never dropped and is not in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The id of the op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The command, without its slash; empty for any other op.
    pub command: String,
    pub view: View,
    /// Further replies to the same op follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A transient update. It may be dropped: the entry that follows says it whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    AssistantDelta {
        text: String,
    },
    ReasoningDelta {
        text: String,
    },
    ToolStarted {
        id: String,
        name: String,
    },
    ToolOutput {
        id: String,
        name: String,
        chunk: String,
    },
    Retry {
        after_ms: u64,
        /// Tries that failed so far.
        attempt: u32,
        /// Tries in all; 0 where nobody knows.
        #[serde(default, skip_serializing_if = "is_zero")]
        of: u32,
        reason: String,
    },
    Progress {
        id: String,
        name: String,
        text: String,
    },
    /// The turn ended and the log could not be written, so no entry says it.
    Unrecorded {
        message: String,
    },
    /// The mode of a session that has no log yet to say it.
    Mode {
        mode: Box<crate::Mode>,
    },
    /// How much of the budget that is used most is spent.
    Budget {
        percent: u64,
    },
    /// An ask waits no longer: it was answered, by the client with this number, or withdrawn.
    AskClosed {
        ask: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<crate::ClientId>,
        /// What it was answered with, ready to show: the label of the choice, or the words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// Something for every client that is not in the log: a hook that failed, a task that ended.
    Announcement {
        view: Box<View>,
    },
    /// No turn is under way, and no entry says so: the process that was to run one is gone.
    Idle,
    /// For a client in another process: its op with this id has arrived.
    OpArrived {
        op: String,
    },
    /// For the client that sent it: the command of its op with this id was carried out.
    OpDone {
        op: String,
    },
    /// The clients of the session, whenever one attaches or leaves.
    Clients(Clients),
    /// The prompts that wait for the running turn, all of them, whenever that changes.
    Queue {
        prompts: Vec<QueuedPrompt>,
    },
    /// The prompts that run in the background, all of them, whenever one of them changes.
    Tasks {
        tasks: Vec<Task>,
    },
    /// The commands that run in the background, by id, all of them, whenever one begins or ends.
    Jobs {
        running: Vec<String>,
    },
}

/// The clients of a session, as one of them is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clients {
    /// In the order in which they attached.
    pub ids: Vec<crate::ClientId>,
    /// For a client in another process than the session's: how many such clients are older. The oldest takes the session
    /// over when its process ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process of the session does not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

impl Clients {
    /// The client is in another process than the session.
    pub fn is_remote(&self) -> bool {
        self.rank.is_some()
    }
}

/// A prompt that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedPrompt {
    pub text: String,
    pub delivery: crate::Delivery,
}

/// A prompt that runs in the background, in a session of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// `t1`, as commands and asks name it.
    pub id: String,
    /// The session that does it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    pub prompt: String,
    pub doing: Doing,
    /// Since it began.
    pub seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Thinking,
    /// The tool's name.
    Running(String),
    /// Another session is changing the tree.
    Queueing,
    /// For the person's answer.
    Asking,
    Ending,
}

impl Event {
    /// Reads what `to_line` has written. `None` for a line of a version that this one does not know.
    pub fn from_line(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            r#type: std::borrow::Cow<'a, str>,
        }
        let head: Head<'_> = serde_json::from_str(line).ok()?;
        match head.r#type.as_ref() {
            "ask" => Some(Event::Ask(Arc::new(serde_json::from_str(line).ok()?))),
            "view" => Some(Event::Reply(Arc::new(serde_json::from_str(line).ok()?))),
            _ => match serde_json::from_str::<Delta>(line) {
                Ok(delta) => Some(Event::Delta(delta)),
                Err(_) => Some(Event::Entry(Arc::new(Entry::from_line(line, 0).ok()?))),
            },
        }
    }

    /// The event as one line of the JSON stream. `ts` is the time of a delta or ask; an entry has its own.
    pub fn to_line(&self, ts: &str) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Stamped<'a, T> {
            #[serde(flatten)]
            body: &'a T,
            ts: &'a str,
        }
        #[derive(Serialize)]
        struct Typed<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            body: &'a T,
            ts: &'a str,
        }
        match self {
            Event::Entry(entry) => entry.to_line(),
            Event::Delta(body) => serde_json::to_string(&Stamped { body, ts }),
            Event::Ask(ask) => serde_json::to_string(&Typed {
                r#type: "ask",
                body: &**ask,
                ts,
            }),
            Event::Reply(reply) => serde_json::to_string(&Typed {
                r#type: "view",
                body: &**reply,
                ts,
            }),
        }
    }
}

/// Takes deltas of a session. The default drops them. Cheap to clone.
#[derive(Clone)]
pub struct DeltaSink(Arc<dyn Fn(Delta) + Send + Sync>);

impl DeltaSink {
    pub fn new(send: impl Fn(Delta) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    pub fn send(&self, delta: Delta) {
        (self.0)(delta);
    }
}

impl Default for DeltaSink {
    fn default() -> Self {
        Self::new(drop)
    }
}

/// For numbers that are left out where they say nothing.
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}
