//! The sessions that run in this process, so that further clients can attach to them.

use crate::feed::{Attachment, Feed};
use ostler_wire::{Client, EntrySource, OpSender, SentOp, Subscription};
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

    /// Another client of a session, by its id or a unique beginning of it.
    pub fn attach(&self, id: &str, after: Option<u64>) -> Option<Client> {
        let sessions = self.lock();
        let mut matching = sessions
            .values()
            .filter(|session| session.id.starts_with(id));
        match (matching.next(), matching.next()) {
            (Some(session), None) if !id.is_empty() => {
                let mut client = session.attach(after, Vec::new());
                client.events = client.events.catching_up();
                Some(client)
            }
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LiveSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
