//! How a front end holds a session: ops in, events out. A hub opens, attaches to and lists sessions.

use crate::{
    ClientId, Completion, CompletionRequest, Op, OpLine, Open, ReplyTo, SentOp, Snapshot,
    Subscription, View,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A session in the hands of a front end. Dropping it detaches.
pub struct Client {
    pub session_id: String,
    /// What happened on opening, for the person.
    pub notes: Vec<String>,
    /// How the session stood when this client attached.
    pub snapshot: Snapshot,
    pub ops: OpSender,
    pub events: Subscription,
}

/// Sends the ops of one client.
#[derive(Clone)]
pub struct OpSender {
    sender: mpsc::Sender<SentOp>,
    client: ClientId,
    /// Dropped with the last copy: the client has detached.
    _attached: Arc<Attached>,
}

struct Attached {
    on_detach: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(on_detach) = self.on_detach.take() {
            on_detach();
        }
    }
}

/// The session is over.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionClosed;

impl std::fmt::Display for SessionClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the session is over")
    }
}

impl std::error::Error for SessionClosed {}

impl OpSender {
    pub fn new(
        sender: mpsc::Sender<SentOp>,
        client: ClientId,
        on_detach: Box<dyn FnOnce() + Send + Sync>,
    ) -> Self {
        Self {
            sender,
            client,
            _attached: Arc::new(Attached {
                on_detach: Some(on_detach),
            }),
        }
    }

    pub fn client(&self) -> ClientId {
        self.client
    }

    pub async fn send(&self, op: Op) -> Result<(), SessionClosed> {
        self.send_line(op.into()).await
    }

    /// Sends an op whose replies carry its id.
    pub async fn send_line(&self, line: OpLine) -> Result<(), SessionClosed> {
        let sent = self.addressed(line);
        self.sender.send(sent).await.map_err(|_| SessionClosed)
    }

    /// Sends an op unless the session is over or has too many waiting.
    pub fn try_send(&self, op: Op) -> Result<(), SessionClosed> {
        let sent = self.addressed(op.into());
        self.sender.try_send(sent).map_err(|_| SessionClosed)
    }

    /// Waits until the session is over.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Waits until the session can take an op.
    pub async fn reserve(&self) -> Result<OpPermit<'_>, SessionClosed> {
        let permit = self.sender.reserve().await.map_err(|_| SessionClosed)?;
        Ok(OpPermit {
            permit,
            client: self.client,
        })
    }

    fn addressed(&self, line: OpLine) -> SentOp {
        SentOp {
            reply_to: ReplyTo {
                client: self.client,
                op: line.id,
                again: line.again,
            },
            op: line.op,
        }
    }
}

/// Room for one op.
pub struct OpPermit<'a> {
    permit: mpsc::Permit<'a, SentOp>,
    client: ClientId,
}

impl OpPermit<'_> {
    pub fn send(self, line: OpLine) {
        self.permit.send(SentOp {
            reply_to: ReplyTo {
                client: self.client,
                op: line.id,
                again: line.again,
            },
            op: line.op,
        });
    }
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
    /// Another client of a session that is open, from the entry after `after` on.
    fn attach(
        &self,
        id: &str,
        after: Option<u64>,
    ) -> impl Future<Output = Result<Client, HubError>> + Send;
    fn list(&self) -> Result<Vec<SessionInfo>, HubError>;
    /// The answer to a command that is about no session, such as `sessions` or `usage`, as it would follow `ostler` on a
    /// command line.
    fn command(&self, line: &str) -> impl Future<Output = Result<View, HubError>> + Send;
    /// What can follow `@` in the project, without a session.
    fn complete(&self, request: &CompletionRequest) -> impl Future<Output = Completion> + Send;
}
