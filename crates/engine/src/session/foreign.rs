//! The session of another agent: a log of its own, a feed that is shown like that of any session, and one task that takes
//! ops in while the agent's program runs. It has no model of ours. One that works for a call does one prompt; one that a
//! person opened takes prompts as long as somebody is there.

mod own;
mod recorder;

use crate::log::LogError;
use ostler_context::clients::feed::Feed;
use ostler_state::agents::foreign::{
    Foreign, ForeignEnd, ForeignFailure, ForeignGround, ForeignLauncher, ForeignOrder,
};
use ostler_wire::{
    Body, Delivery, Delta, ErrorEntry, Interrupted, Language, Notice, Op, Outcome, QueuedPrompt,
    SentOp, TurnEnd, View, Word, clip,
};
pub use own::OwnSession;
pub use recorder::{Parts, Permits, Recorder, Rights};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Prompts that wait while the agent works.
const MAX_WAITING: usize = 64;
/// Characters of a waiting prompt that clients are shown.
const MAX_QUEUED_SHOWN: usize = 500;

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
    pub prompts: Prompts,
}

/// How many prompts a session takes.
pub enum Prompts {
    /// That of the call that it works for.
    One,
    /// As they come; these wait.
    Many(VecDeque<String>),
}

/// What an op means for the work.
enum Taken {
    Prompt(String),
    GoOn,
    Stop,
    /// What waits is done, then it is over.
    Last,
    Over,
}

impl ForeignSession {
    pub async fn run(mut self) {
        let mut clients = self.feed.register().count();
        let mut is_last = false;
        while let Some(prompt) = self.next_prompt(&mut clients, is_last).await {
            let (end, over) = self.work(prompt, &mut clients).await;
            if let Err(error) = self.finish(end).await {
                let message = error.say(self.language);
                self.feed.delta(Delta::Unrecorded { message });
            }
            self.recorder.sync();
            match (&mut self.prompts, over) {
                (Prompts::One, _) => {
                    while !matches!(self.next(&mut clients).await, Taken::Over) {}
                    break;
                }
                (Prompts::Many(_), Some(Taken::Over)) => break,
                (Prompts::Many(_), over) => is_last |= over.is_some(),
            }
            self.cancel = self.recorder.renew();
        }
        self.recorder.synced().await;
    }

    /// The prompt that waits longest, or the next one that comes.
    async fn next_prompt(
        &mut self,
        clients: &mut watch::Receiver<usize>,
        is_last: bool,
    ) -> Option<String> {
        if let Prompts::Many(waiting) = &mut self.prompts
            && let Some(prompt) = waiting.pop_front()
        {
            self.show_waiting();
            return Some(prompt);
        }
        if is_last {
            return None;
        }
        loop {
            match self.next(clients).await {
                Taken::Prompt(text) => return Some(text),
                Taken::GoOn | Taken::Stop => {}
                Taken::Last | Taken::Over => return None,
            }
        }
    }

    fn show_waiting(&self) {
        let Prompts::Many(waiting) = &self.prompts else {
            return;
        };
        let shown = waiting.iter().map(|text| QueuedPrompt {
            text: clip(text, MAX_QUEUED_SHOWN),
            delivery: Delivery::Queue,
        });
        self.feed.delta(Delta::Queue {
            prompts: shown.collect(),
        });
    }

    /// Has the agent do its task, while ops come in. Whether the session is over then.
    async fn work(
        &mut self,
        prompt: String,
        clients: &mut watch::Receiver<usize>,
    ) -> (ForeignEnd, Option<Taken>) {
        let opening = std::mem::take(&mut self.opening);
        let mut task = self.order.task.clone();
        if let Prompts::Many(_) = self.prompts {
            task.prompt.clone_from(&prompt);
        }
        if let Err(why) = self.recorder.begin(opening, prompt) {
            let why = why.say(self.language);
            return (failed(ForeignFailure::NotStarted, why), None);
        }
        if let Some(why) = self.recorder.broke_budget() {
            return (failed(ForeignFailure::NotStarted, why), None);
        }
        let mut over = None;
        let agents = self.agents.clone();
        let working = agents.0.run(
            task,
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
                end = &mut working => return (end, over),
                taken = self.next(clients), if !matches!(over, Some(Taken::Over)) => match taken {
                    Taken::Prompt(text) => self.wait(text),
                    Taken::GoOn => {}
                    Taken::Stop => self.cancel.cancel(),
                    Taken::Last => over = Some(Taken::Last),
                    Taken::Over => {
                        self.cancel.cancel();
                        over = Some(Taken::Over);
                    }
                },
            }
        }
    }

    fn wait(&mut self, prompt: String) {
        if let Prompts::Many(waiting) = &mut self.prompts
            && waiting.len() < MAX_WAITING
        {
            waiting.push_back(prompt);
            self.show_waiting();
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
            Op::Prompt { images, .. } if !images.is_empty() => {
                let text = self.language.say(Word::ForeignNoPictures).to_owned();
                self.feed.reply(&reply_to, "", View::Error(text));
                Taken::GoOn
            }
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
            Op::Close | Op::Finish if matches!(self.prompts, Prompts::One) => Taken::Over,
            Op::Close => {
                self.prompts = Prompts::Many(VecDeque::new());
                Taken::Last
            }
            Op::Finish => Taken::Last,
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
