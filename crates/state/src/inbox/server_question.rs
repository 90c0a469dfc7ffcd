//! Questions of an MCP server about a call that it carries out. The inbox puts them to the person; our own tools never
//! ask.

use ostler_context::interfaces::Person;
use ostler_wire::{Ask, AskAnswer, BoxFuture};
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait to be put.
pub const MAX_WAITING: usize = 16;

pub struct ServerQuestion {
    pub ask: Ask,
    pub reply: oneshot::Sender<AskAnswer>,
}

/// Where questions are handed in. Cheap to clone.
#[derive(Clone)]
pub struct ServerQuestions(pub mpsc::Sender<ServerQuestion>);

impl ServerQuestions {
    /// The person's answer; `None` when there is nobody to give one any more.
    pub async fn put(&self, ask: Ask) -> Option<AskAnswer> {
        let (reply, answer) = oneshot::channel();
        self.0.send(ServerQuestion { ask, reply }).await.ok()?;
        answer.await.ok()
    }
}

impl Person for ServerQuestions {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Option<AskAnswer>> {
        Box::pin(self.put(ask))
    }
}
