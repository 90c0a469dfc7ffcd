//! The session of another agent that works for a call: a log of its own, a feed that is shown like that of any child, and
//! one task that takes ops in while the agent's program runs. It has no model of ours; one prompt is all that it does.

mod own;
mod recorder;

use crate::agents::foreign::{
    Foreign, ForeignEnd, ForeignFailure, ForeignGround, ForeignLauncher, ForeignOrder,
};
use crate::clients::feed::Feed;
use crate::log::LogError;
use ostler_wire::{
    Body, Delta, ErrorEntry, Interrupted, Language, Notice, Op, Outcome, SentOp, TurnEnd, View,
    Word,
};
pub use own::OwnSession;
pub use recorder::{Parts, Permits, Recorder, Rights};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

pub struct ForeignSession {
    pub ops: mpsc::Receiver<SentOp>,
    pub feed: Feed,
    pub recorder: Arc<Recorder>,
    pub agents: Foreign,
    pub launcher: Arc<ForeignLauncher>,
    pub own: Arc<OwnSession>,
    pub order: ForeignOrder,
    /// What the log begins with.
    pub opening: Vec<Body>,
    /// Stops the agent.
    pub cancel: CancellationToken,
    pub language: Language,
}

/// What an op means for the work.
enum Taken {
    Prompt(String),
    GoOn,
    Stop,
    Over,
}

impl ForeignSession {
    pub async fn run(mut self) {
        let mut clients = self.feed.register().count();
        let mut prompt = None;
        while prompt.is_none() {
            match self.next(&mut clients).await {
                Taken::Prompt(text) => prompt = Some(text),
                Taken::GoOn | Taken::Stop => {}
                Taken::Over => return,
            }
        }
        let prompt = prompt.unwrap_or_default();
        let end = self.work(prompt, &mut clients).await;
        if let Err(error) = self.finish(end).await {
            let message = error.say(self.language);
            self.feed.delta(Delta::Unrecorded { message });
        }
        self.recorder.sync();
        while !matches!(self.next(&mut clients).await, Taken::Over) {}
        self.recorder.synced().await;
    }

    /// Has the agent do its task, while ops come in.
    async fn work(&mut self, prompt: String, clients: &mut watch::Receiver<usize>) -> ForeignEnd {
        let opening = std::mem::take(&mut self.opening);
        if let Err(why) = self.recorder.begin(opening, prompt) {
            return failed(ForeignFailure::NotStarted, why.say(self.language));
        }
        if let Some(why) = self.recorder.broke_budget() {
            return failed(ForeignFailure::NotStarted, why);
        }
        let agents = self.agents.clone();
        let working = agents.0.run(
            self.order.task.clone(),
            ForeignGround {
                launcher: self.launcher.clone(),
                own: self.own.clone(),
                watcher: self.recorder.clone(),
                cancel: self.cancel.clone(),
            },
        );
        let mut working = pin!(working);
        loop {
            tokio::select! {
                end = &mut working => return end,
                taken = self.next(clients) => match taken {
                    Taken::GoOn | Taken::Prompt(_) => {}
                    Taken::Stop | Taken::Over => self.cancel.cancel(),
                },
            }
        }
    }

    async fn next(&mut self, clients: &mut watch::Receiver<usize>) -> Taken {
        tokio::select! {
            op = self.ops.recv() => match op {
                Some(op) => self.take(op),
                None => Taken::Over,
            },
            changed = clients.changed() => match changed {
                Ok(()) if *clients.borrow_and_update() > 0 => Taken::GoOn,
                Ok(()) | Err(_) => Taken::Over,
            },
        }
    }

    fn take(&mut self, SentOp { reply_to, op }: SentOp) -> Taken {
        let taken = match op.parsed() {
            Op::Prompt { text, .. } => Taken::Prompt(text),
            Op::Answer {
                ask,
                choice,
                reason,
            } => {
                self.recorder.answer(&ask, &choice, reason);
                Taken::GoOn
            }
            Op::Command { line } => {
                let text = self.language.say(Word::ForeignTakesNone).to_owned();
                self.feed.reply(&reply_to, &line, View::Error(text));
                Taken::GoOn
            }
            Op::Say { .. } | Op::Complete(_) => Taken::GoOn,
            Op::Interrupt => Taken::Stop,
            Op::Close | Op::Finish => Taken::Over,
        };
        self.feed.finish_op(&reply_to);
        taken
    }

    /// Writes down how it ended.
    async fn finish(&self, mut end: ForeignEnd) -> Result<(), LogError> {
        if let Some(why) = self.recorder.take_fault() {
            end.failure = Some((ForeignFailure::Agent, why));
        }
        let mut bodies = self.recorder.rest(&end.message);
        let put_back = self.launcher.end().await;
        end.warn(&put_back);
        let notices = put_back
            .into_iter()
            .map(|text| Body::Notice(Notice { text }));
        bodies.extend(notices);
        let outcome = match &end.failure {
            None => Outcome::Done,
            Some((ForeignFailure::Cancelled, _)) => {
                bodies.push(Body::Interrupted(Interrupted::default()));
                Outcome::Interrupted
            }
            Some((failure, why)) => {
                bodies.push(Body::Error(ErrorEntry {
                    kind: failure.code().into(),
                    message: why.clone(),
                    details: None,
                }));
                Outcome::Error
            }
        };
        bodies.push(Body::TurnEnd(TurnEnd { outcome }));
        // Whoever waits for the end of the turn asks for it right after.
        self.order.finish(end);
        self.recorder.commit(bodies)
    }
}

fn failed(failure: ForeignFailure, why: String) -> ForeignEnd {
    ForeignEnd {
        failure: Some((failure, why)),
        ..ForeignEnd::default()
    }
}
