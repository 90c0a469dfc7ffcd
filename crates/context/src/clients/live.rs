//! The sessions that run in this process, so that further clients can attach to them.

use crate::clients::feed::{Attachment, Feed};
use ostler_wire::{Client, EntrySource, Op, OpSender, ReplyTo, SentOp, Subscription, View};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What attaching to a session takes.
pub struct LiveSession {
    pub id: String,
    pub ops: mpsc::Sender<SentOp>,
    pub feed: Feed,
    pub source: Arc<dyn EntrySource>,
}

impl LiveSession {
    /// A client that is shown everything after `after`.
    pub fn attach(&self, after: Option<u64>, notes: Vec<String>) -> Client {
        let Attachment {
            client,
            replies,
            live,
            snapshot,
            ..
        } = self.feed.attach();
        let register = self.feed.register().clone();
        let detach = Box::new(move || register.detach(client));
        Client {
            session_id: self.id.clone(),
            notes,
            snapshot,
            ops: OpSender::new(self.ops.clone(), client, detach),
            events: Subscription::of_ring(after, live, (client, replies), self.source.clone()),
        }
    }

    /// A client that attaches in the middle: it is shown everything after `after`, or from where the running turn began.
    fn join(&self, after: Option<u64>) -> Client {
        let Attachment {
            client,
            replies,
            live,
            snapshot,
            head,
        } = self.feed.attach();
        let register = self.feed.register().clone();
        let detach = Box::new(move || register.detach(client));
        let turn = snapshot.turn.filter(|_| snapshot.working);
        let now = turn.map_or(head, |turn| turn.checked_sub(1));
        let events =
            Subscription::of_ring(after.or(now), live, (client, replies), self.source.clone());
        Client {
            session_id: self.id.clone(),
            notes: Vec::new(),
            events: events.beginning_with(head, snapshot.to_deltas()),
            snapshot,
            ops: OpSender::new(self.ops.clone(), client, detach),
        }
    }
}

#[derive(Clone, Default)]
pub struct LiveSessions {
    sessions: Arc<Mutex<HashMap<String, LiveSession>>>,
}

/// Takes a session out of the register when it is dropped.
struct Registration {
    sessions: LiveSessions,
    id: String,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.id);
    }
}

impl LiveSessions {
    /// Runs a session as a task of its own, in the register until it ends, however that comes about.
    pub fn run(
        &self,
        session: LiveSession,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let registration = Registration {
            sessions: self.clone(),
            id: session.id.clone(),
        };
        self.lock().insert(session.id.clone(), session);
        tokio::spawn(async move {
            let _registered = registration;
            work.await;
        })
    }

    /// Another client of a session, by its id or a unique beginning of it. Without `after` it begins where the running turn
    /// does; what came before is its past.
    pub fn attach(&self, id: &str, after: Option<u64>) -> Option<Client> {
        let sessions = self.lock();
        let mut matching = sessions
            .values()
            .filter(|session| session.id.starts_with(id));
        match (matching.next(), matching.next()) {
            (Some(session), None) if !id.is_empty() => Some(session.join(after)),
            _ => None,
        }
    }

    /// Waits until the log of a session has an entry. False when it ends without one.
    pub async fn begun(&self, id: &str) -> bool {
        let head = self.lock().get(id).map(|s| s.feed.register().head());
        let Some(mut head) = head else {
            return false;
        };
        head.wait_for(Option::is_some).await.is_ok()
    }

    /// Shows every client of a session something that is not in the log.
    pub fn announce(&self, id: &str, view: View) {
        if let Some(session) = self.lock().get(id) {
            session.feed.announce(view);
        }
    }

    /// Waits until a session is over.
    pub async fn ended(&self, id: &str) {
        let ops = self.lock().get(id).map(|session| session.ops.clone());
        if let Some(ops) = ops {
            ops.closed().await;
        }
    }

    /// Stops what the sessions are at, ends them, and waits until they are over.
    pub async fn close(&self) {
        let all: Vec<_> = self.lock().values().map(|s| s.ops.clone()).collect();
        for op in [Op::Interrupt, Op::Close] {
            for ops in &all {
                let reply_to = ReplyTo::default();
                // One that is over already needs no telling.
                let _ = ops
                    .send(SentOp {
                        reply_to,
                        op: op.clone(),
                    })
                    .await;
            }
        }
        for ops in all {
            ops.closed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LiveSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
