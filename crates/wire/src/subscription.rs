//! The event stream of one client, from some entry on: no gap, no duplicate entry, no lost reply.

use crate::{Ask, ClientId, Delta, Entry, Event, Reply};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{broadcast, mpsc};

/// Asks that are remembered as handed out; far fewer can be open.
const MAX_ASKED: usize = 256;
/// Replies that a client may leave unread before it is disconnected.
const MAX_REPLIES: usize = 256;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where a subscriber that fell behind reads what it missed. It may be on the other end of a socket.
pub trait EntrySource: Send + Sync {
    /// Entries after `last`, oldest first; all of them for `None`.
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>>;
    /// What was said on the branch that goes on, oldest first.
    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>>;
    /// Asks that still wait for an answer.
    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>>;
}

/// An event in the ring of a session: for every client, or for one.
#[derive(Clone, Debug)]
pub struct Posted {
    pub to: Option<ClientId>,
    pub event: Event,
}

/// Replies to one client that it has not read yet. The ring may drop what it carries; this does not.
#[derive(Clone, Default)]
pub struct Replies {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    replies: VecDeque<Arc<Reply>>,
    /// The client read too slowly; it gets nothing more.
    overflowed: bool,
}

impl Replies {
    /// False when the client has left too many unread: it is to be disconnected.
    pub fn add(&self, reply: Arc<Reply>) -> bool {
        let mut waiting = self.lock();
        if waiting.overflowed || waiting.replies.len() >= MAX_REPLIES {
            waiting.overflowed = true;
            return false;
        }
        waiting.replies.push_back(reply);
        true
    }

    /// Whether this very reply had not been handed out.
    fn take(&self, reply: &Arc<Reply>) -> bool {
        let mut waiting = self.lock();
        let at = waiting
            .replies
            .iter()
            .position(|known| Arc::ptr_eq(known, reply));
        at.and_then(|at| waiting.replies.remove(at)).is_some()
    }

    fn all(&self) -> Vec<Arc<Reply>> {
        self.lock().replies.iter().cloned().collect()
    }

    fn has_overflowed(&self) -> bool {
        self.lock().overflowed
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Subscription {
    feed: Feed,
    source: Arc<dyn EntrySource>,
    backlog: VecDeque<Event>,
    last: Option<u64>,
    /// The asks that were handed out and may still be open.
    asked: VecDeque<String>,
    /// Some events of the ring were missed; the source has them.
    behind: bool,
    /// Where a client that attached in the middle begins.
    beginning: Option<Beginning>,
}

/// How a session stood when a client attached, before the first event of the ring.
struct Beginning {
    /// The last entry.
    head: Option<u64>,
    deltas: Vec<Delta>,
}

enum Feed {
    /// The session runs in this process.
    Ring {
        live: broadcast::Receiver<Posted>,
        client: ClientId,
        replies: Replies,
    },
    /// It runs elsewhere, and its owner sees to gaps and duplicates.
    Pipe(mpsc::Receiver<Event>),
}

impl Subscription {
    /// Continues after `last`; `live` must have been subscribed before this call.
    pub fn of_ring(
        last: Option<u64>,
        live: broadcast::Receiver<Posted>,
        (client, replies): (ClientId, Replies),
        source: Arc<dyn EntrySource>,
    ) -> Self {
        Self {
            feed: Feed::Ring {
                live,
                client,
                replies,
            },
            source,
            backlog: VecDeque::new(),
            last,
            asked: VecDeque::new(),
            behind: false,
            beginning: None,
        }
    }

    /// The same, beginning with what the log has after `last`.
    pub fn catching_up(mut self) -> Self {
        self.behind = true;
        self
    }

    /// The same for a client that attaches in the middle: the entries up to `head` come first, then these deltas, then what
    /// the ring has carried since.
    pub fn beginning_with(mut self, head: Option<u64>, deltas: Vec<Delta>) -> Self {
        self.beginning = Some(Beginning { head, deltas });
        self.catching_up()
    }

    /// The last entry that was handed out or was known from the start.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Events that come through a pipe, in order and without gaps.
    pub fn of_pipe(
        last: Option<u64>,
        events: mpsc::Receiver<Event>,
        source: Arc<dyn EntrySource>,
    ) -> Self {
        Self {
            feed: Feed::Pipe(events),
            source,
            backlog: VecDeque::new(),
            last,
            asked: VecDeque::new(),
            behind: false,
            beginning: None,
        }
    }

    /// The next event, or `None` when the session is over or this client was disconnected.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if self.behind {
                self.catch_up().await;
            }
            let event = match self.backlog.pop_front() {
                Some(event) => event,
                None => match &mut self.feed {
                    Feed::Pipe(events) => events.recv().await?,
                    Feed::Ring { live, client, .. } => match live.recv().await {
                        Ok(posted) if posted.to.is_none_or(|to| to == *client) => posted.event,
                        Ok(_) => continue,
                        Err(broadcast::error::RecvError::Lagged(_)) => {
                            self.behind = true;
                            continue;
                        }
                        Err(broadcast::error::RecvError::Closed) => return None,
                    },
                },
            };
            if self.is_disconnected() {
                return None;
            }
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
                None if self.behind => return None,
                None => match &mut self.feed {
                    Feed::Pipe(events) => events.try_recv().ok()?,
                    Feed::Ring { live, client, .. } => match live.try_recv() {
                        Ok(posted) if posted.to.is_none_or(|to| to == *client) => posted.event,
                        Ok(_) => continue,
                        Err(broadcast::error::TryRecvError::Lagged(_)) => {
                            self.behind = true;
                            return None;
                        }
                        Err(
                            broadcast::error::TryRecvError::Empty
                            | broadcast::error::TryRecvError::Closed,
                        ) => return None,
                    },
                },
            };
            if self.is_disconnected() {
                return None;
            }
            if self.is_new(&event) {
                return Some(event);
            }
        }
    }

    /// The last entries of what was there before, oldest first.
    pub async fn past(&self, limit: usize) -> Vec<Arc<Entry>> {
        let mut all = self.source.branch().await;
        let last = self.last;
        all.retain(|entry| last.is_some_and(|last| entry.entry <= last));
        let skip = all.len().saturating_sub(limit);
        all.split_off(skip)
    }

    /// Where entries that were missed, or lie further back, come from.
    pub fn source(&self) -> &Arc<dyn EntrySource> {
        &self.source
    }

    fn is_disconnected(&self) -> bool {
        match &self.feed {
            Feed::Ring { replies, .. } => replies.has_overflowed(),
            Feed::Pipe(_) => false,
        }
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
            Event::Delta(Delta::AskClosed { ask, .. }) => {
                let known = self.asked.len();
                self.asked.retain(|asked| asked != ask);
                self.asked.len() < known
            }
            Event::Reply(reply) => match &self.feed {
                Feed::Ring { replies, .. } => replies.take(reply),
                Feed::Pipe(_) => true,
            },
            Event::Delta(_) => true,
        }
    }

    async fn catch_up(&mut self) {
        let missed = self.source.entries_after(self.last).await;
        let open = self.source.pending_asks().await;
        // Nothing is waited for from here on: a caller that gives up in between loses no event.
        self.behind = false;
        let beginning = self.beginning.take();
        let is_due = |entry: &Arc<Entry>| match &beginning {
            // What was appended later follows the deltas, and the ring has it.
            Some(beginning) => beginning.head.is_some_and(|head| entry.entry <= head),
            None => true,
        };
        let missed = missed.into_iter().filter(is_due);
        self.backlog.extend(missed.map(Event::Entry));
        let deltas = beginning.into_iter().flat_map(|b| b.deltas);
        self.backlog.extend(deltas.map(Event::Delta));
        let closed = self
            .asked
            .iter()
            .filter(|id| open.iter().all(|ask| ask.ask != **id));
        let closed = closed.map(|id| {
            Event::Delta(Delta::AskClosed {
                ask: id.clone(),
                by: None,
                answer: None,
            })
        });
        self.backlog.extend(closed);
        self.backlog.extend(open.into_iter().map(Event::Ask));
        if let Feed::Ring { replies, .. } = &self.feed {
            self.backlog
                .extend(replies.all().into_iter().map(Event::Reply));
        }
    }
}
