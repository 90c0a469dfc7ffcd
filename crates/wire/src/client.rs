//! How a front end holds a session: ops in, events out. A hub opens and lists sessions.

use crate::{Ask, Entry, Event, Op};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};

/// Asks that are remembered as handed out; far fewer can be open.
const MAX_ASKED: usize = 256;

/// Where a subscriber that fell behind reads what it missed.
pub trait EntrySource: Send + Sync {
    /// Entries after `last`, oldest first; all of them for `None`.
    fn entries_after(&self, last: Option<u64>) -> Vec<Arc<Entry>>;
    /// What was said on the branch that goes on, oldest first.
    fn branch(&self) -> Vec<Arc<Entry>>;
    /// Asks that still wait for an answer.
    fn pending_asks(&self) -> Vec<Arc<Ask>>;
}

/// A session in someone's hands.
pub struct Client {
    pub session_id: String,
    /// `provider/model` that answers.
    pub model: String,
    /// What happened on opening, for the person.
    pub notes: Vec<String>,
    pub mode: crate::Mode,
    /// Tokens that the model can take; 0 = unknown.
    pub window: u64,
    /// What may follow a slash.
    pub commands: Vec<crate::CommandInfo>,
    pub ops: mpsc::Sender<Op>,
    pub events: Subscription,
}

/// The event stream from some entry on, with no gap and no duplicate entry.
pub struct Subscription {
    live: broadcast::Receiver<Event>,
    source: Arc<dyn EntrySource>,
    backlog: VecDeque<Event>,
    last: Option<u64>,
    /// The asks that were handed out and may still be open.
    asked: VecDeque<String>,
}

impl Subscription {
    /// Continues after `last`; `live` must have been subscribed before this call.
    pub fn after(
        last: Option<u64>,
        live: broadcast::Receiver<Event>,
        source: Arc<dyn EntrySource>,
    ) -> Self {
        let mut subscription = Self {
            live,
            source,
            backlog: VecDeque::new(),
            last,
            asked: VecDeque::new(),
        };
        subscription.catch_up();
        subscription
    }

    /// Like `after`, from now on: what lies in the log already is not repeated.
    pub fn from_now(
        last: Option<u64>,
        live: broadcast::Receiver<Event>,
        source: Arc<dyn EntrySource>,
    ) -> Self {
        Self {
            live,
            source,
            backlog: VecDeque::new(),
            last,
            asked: VecDeque::new(),
        }
    }

    /// The next event, or `None` when the session is over.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let event = match self.backlog.pop_front() {
                Some(event) => event,
                None => match self.live.recv().await {
                    Ok(event) => event,
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        self.catch_up();
                        continue;
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            };
            if self.is_new(&event) {
                return Some(event);
            }
        }
    }

    /// An event that is there already, so that a front end can draw several at once.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            let event = match self.backlog.pop_front() {
                Some(event) => event,
                None => match self.live.try_recv() {
                    Ok(event) => event,
                    Err(broadcast::error::TryRecvError::Lagged(_)) => {
                        self.catch_up();
                        continue;
                    }
                    Err(
                        broadcast::error::TryRecvError::Empty
                        | broadcast::error::TryRecvError::Closed,
                    ) => return None,
                },
            };
            if self.is_new(&event) {
                return Some(event);
            }
        }
    }

    /// The last entries of what was there before, oldest first.
    pub fn past(&self, limit: usize) -> Vec<Arc<Entry>> {
        let mut all = self.source.branch();
        let last = self.last;
        all.retain(|entry| last.is_some_and(|last| entry.entry <= last));
        let skip = all.len().saturating_sub(limit);
        all.split_off(skip)
    }

    fn is_new(&mut self, event: &Event) -> bool {
        match event {
            Event::Entry(entry) => {
                if self.last.is_some_and(|last| entry.entry <= last) {
                    return false;
                }
                self.last = Some(entry.entry);
                true
            }
            Event::Ask(ask) => {
                if self.asked.contains(&ask.ask) {
                    return false;
                }
                // The oldest are not open any more, and do not come again.
                if self.asked.len() >= MAX_ASKED {
                    self.asked.pop_front();
                }
                self.asked.push_back(ask.ask.clone());
                true
            }
            Event::Delta(_) => true,
        }
    }

    fn catch_up(&mut self) {
        let missed = self.source.entries_after(self.last);
        self.backlog.extend(missed.into_iter().map(Event::Entry));
        self.backlog
            .extend(self.source.pending_asks().into_iter().map(Event::Ask));
    }
}

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Open {
    New,
    /// By id, or a unique beginning of one.
    Resume(String),
    /// The newest of this project.
    Last,
    /// A new session that starts with a copy of another one.
    Fork(String),
}

/// One line of a session list.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SessionInfo {
    pub id: String,
    pub title: String,
    pub project: String,
    /// RFC 3339, UTC, of the last entry.
    pub updated: String,
    pub turns: u64,
    pub cost: Option<f64>,
    pub bytes: u64,
}

/// Why a hub could not do what was asked, as a sentence for the person.
#[derive(Debug, PartialEq, Eq)]
pub struct HubError(pub String);

impl std::fmt::Display for HubError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HubError {}

/// Opens and lists sessions.
pub trait Hub {
    fn open(&self, which: Open) -> impl Future<Output = Result<Client, HubError>> + Send;
    fn list(&self) -> Result<Vec<SessionInfo>, HubError>;
}
