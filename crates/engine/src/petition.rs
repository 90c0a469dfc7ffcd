//! Questions that come up while a call is under way, from whoever carries it out elsewhere. The inbox puts them to the
//! person; our own tools never ask.

use crate::answer::Answer;
use ostler_wire::Ask;
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait to be put.
pub const MAX_WAITING: usize = 16;

pub struct Petition {
    pub ask: Ask,
    pub reply: oneshot::Sender<Answer>,
}

/// Where questions are handed in. Cheap to clone.
#[derive(Clone)]
pub struct Petitions(pub mpsc::Sender<Petition>);

impl Petitions {
    /// The person's answer; `None` when there is nobody to give one any more.
    pub async fn put(&self, ask: Ask) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Petition { ask, reply }).await.ok()?;
        answer.await.ok()
    }
}
