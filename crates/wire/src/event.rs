//! Event = Entry | Delta | Ask: stored then shown, shown if possible, must be answered.

use crate::{Ask, Entry, View};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Entry(Arc<Entry>),
    Delta(Delta),
    Ask(Arc<Ask>),
}

/// A transient update. It may be dropped: the entry that follows says it whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        attempt: u32,
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
    /// How things stand in a session that has no log yet to say it.
    Standing {
        mode: crate::Mode,
    },
    /// How much of the budget that is used most is spent.
    Budget {
        percent: u64,
    },
    /// A command was carried out; this is what it says.
    View {
        command: String,
        view: View,
    },
    /// The prompts that run in the background, all of them, whenever one of them changes.
    Tasks {
        tasks: Vec<Task>,
    },
}

/// A prompt that runs in the background, in a session of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// `t1`, as commands and asks name it.
    pub id: String,
    pub prompt: String,
    pub doing: Doing,
    /// Since it began.
    pub seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The event as one line of the JSON stream. `ts` is the time of a delta or ask; an entry has its own.
    pub fn to_line(&self, ts: &str) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Stamped<'a, T> {
            #[serde(flatten)]
            body: &'a T,
            ts: &'a str,
        }
        #[derive(Serialize)]
        struct Typed<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            ask: &'a Ask,
            ts: &'a str,
        }
        match self {
            Event::Entry(entry) => entry.to_line(),
            Event::Delta(body) => serde_json::to_string(&Stamped { body, ts }),
            Event::Ask(ask) => serde_json::to_string(&Typed {
                r#type: "ask",
                ask,
                ts,
            }),
        }
    }
}
