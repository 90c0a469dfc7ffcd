//! Looks after one child from its first op to its end, and says how that went. What it reports goes to the parent's inbox.

use crate::agents::foreign::ForeignFailure;

use super::{CLOSING, Ended, How, Limits, Order, PATIENCE, Report, Spent, What, post};
use ostler_wire::{
    Body, Client, Delta, Doing, Entry, Event, Language, Op, Outcome, Role, View, Word,
};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Looks after one child from its prompt to its end.
pub struct Watch {
    pub id: String,
    /// Its role, and what it is to do.
    pub about: (String, String),
    pub session_id: String,
    pub client: Client,
    pub session: JoinHandle<()>,
    /// It began with a command instead of words.
    pub command: Option<String>,
    pub since: Instant,
    pub language: Language,
    pub reports: mpsc::Sender<Report>,
    pub seen: Seen,
}

/// What is known of how it went.
#[derive(Default)]
pub struct Seen {
    doing: Option<Doing>,
    answer: String,
    error: Option<String>,
    outcome: Option<Outcome>,
    /// It says itself that its time was over.
    timed_out: bool,
    over: bool,
    spent: Spent,
    /// Since when it waits for the person, whose time is not its own.
    asking: Option<Instant>,
}

impl Watch {
    pub async fn run(mut self, first: Op, mut orders: mpsc::Receiver<Order>, limits: Limits) {
        // A session that is gone already shows by its events.
        let _ = self.client.ops.send(first).await;
        let Limits {
            mut deadline,
            cancel,
        } = limits;
        let (mut overdue, mut why) = (None, None);
        while !self.seen.over {
            tokio::select! {
                biased;
                order = orders.recv(), if why.is_none() => match order {
                    Some(Order::Deadline(at)) => deadline = at,
                    Some(Order::Stop) | None => why = Some(How::Stopped),
                },
                () = cancel.cancelled(), if why.is_none() => why = Some(How::Stopped),
                () = until(deadline), if why.is_none() && self.seen.asking.is_none() => {
                    why = Some(How::OutOfTime);
                }
                () = until(overdue) => break,
                event = self.client.events.next() => match event {
                    Some(event) => {
                        let waited = self.seen.waited(&event);
                        deadline = deadline.map(|at| at + waited);
                        self.event(event).await;
                    }
                    None => break,
                },
            }
            if why.is_some() && overdue.is_none() {
                overdue = Some(Instant::now() + PATIENCE);
                post(&self.client.ops, Op::Interrupt);
            }
        }
        self.finish(why).await;
    }

    async fn event(&mut self, event: Event) {
        let doing = match &event {
            Event::Ask(ask) => {
                self.report(What::Asks(ask.clone())).await;
                Some(Doing::Asking)
            }
            Event::Delta(Delta::ToolStarted { name, .. }) => Some(Doing::Running(name.clone())),
            Event::Delta(Delta::Progress { text, .. })
                if text == self.language.say(Word::WaitsToWrite) =>
            {
                Some(Doing::Queueing)
            }
            Event::Delta(Delta::AssistantDelta { .. } | Delta::ReasoningDelta { .. }) => {
                Some(Doing::Thinking)
            }
            Event::Delta(Delta::Unrecorded { message }) => {
                self.seen.error = Some(message.clone());
                self.seen.over = true;
                None
            }
            // A command that could not be sent starts no turn.
            Event::Reply(reply) => {
                if let View::Error(why) = &reply.view
                    && self.command.as_ref() == Some(&reply.command)
                {
                    self.seen.error = Some(why.clone());
                    self.seen.over = true;
                }
                None
            }
            Event::Delta(_) => None,
            Event::Entry(entry) => {
                // One in the background can be taken back by itself.
                let works_for_a_call = !self.about.0.is_empty();
                if let Body::Checkpoint(saved) = &entry.body
                    && works_for_a_call
                {
                    self.report(What::Saved(saved.clone())).await;
                }
                if let Body::Notice(notice) = &entry.body
                    && self.is_refusal(&notice.text)
                {
                    self.report(What::Refused(notice.text.clone())).await;
                }
                self.seen.entry(entry)
            }
        };
        if doing.is_some() && doing != self.seen.doing {
            self.seen.doing.clone_from(&doing);
            if let Some(doing) = doing {
                self.report(What::Doing(doing, self.seen.spent.tokens()))
                    .await;
            }
        }
    }

    /// Whether a notice says that a call was refused because nobody can be asked, to this child or to one below it.
    fn is_refusal(&self, text: &str) -> bool {
        let words = [Word::HeadlessRefused, Word::HeadlessNoFlag];
        words.iter().any(|word| {
            let start = self
                .language
                .text((*word).into())
                .split("{}")
                .next()
                .unwrap_or_default();
            text.starts_with(start) || text.contains(&format!(": {start}"))
        })
    }

    async fn report(&self, what: What) {
        let child = self.id.clone();
        // A parent that is gone takes no reports; its orders have ended, too.
        let _ = self.reports.send(Report { child, what }).await;
    }

    async fn finish(mut self, why: Option<How>) {
        let _ = self.client.ops.try_send(Op::Close);
        let gone = async { while self.client.events.next().await.is_some() {} };
        if tokio::time::timeout(CLOSING, gone).await.is_err() {
            self.session.abort();
        }
        let seen = std::mem::take(&mut self.seen);
        let how = match (why, seen.outcome) {
            (Some(how), _) => how,
            (None, _) if seen.timed_out => How::OutOfTime,
            (None, Some(Outcome::Done)) => How::Done,
            (None, Some(Outcome::Interrupted)) => How::Stopped,
            (None, _) => How::Failed,
        };
        let text = match how {
            How::Done | How::Stopped | How::OutOfTime => seen.answer,
            How::Failed => seen.error.unwrap_or(seen.answer),
        };
        let (role, prompt) = self.about.clone();
        let ended = Ended {
            id: self.id.clone(),
            role,
            prompt,
            session: self.session_id.clone(),
            how,
            text,
            took: self.since.elapsed(),
            spent: seen.spent,
        };
        self.report(What::Ended(ended)).await;
    }
}

impl Seen {
    /// How long it has waited for the person, once it goes on.
    fn waited(&mut self, event: &Event) -> Duration {
        match event {
            Event::Ask(_) => {
                self.asking.get_or_insert_with(Instant::now);
                Duration::ZERO
            }
            Event::Entry(_) | Event::Delta(_) | Event::Reply(_) => {
                let since = self.asking.take();
                since.map_or(Duration::ZERO, |since| since.elapsed())
            }
        }
    }

    fn entry(&mut self, entry: &Entry) -> Option<Doing> {
        let body = &entry.body;
        if let Body::Message(message) = body {
            if message.role == Role::Assistant && !message.text.trim().is_empty() {
                self.answer.clone_from(&message.text);
            }
        } else if let Body::ToolResult(result) = body {
            self.spent.add(crate::agents::spent_below(&result.output));
            return Some(Doing::Thinking);
        } else if let Body::Usage(usage) = body {
            self.spent.add(usage.into());
        } else if let Body::Error(error) = body {
            self.error = Some(error.message.clone());
            self.timed_out = error.kind == ForeignFailure::Timeout.code();
        } else if let Body::TurnEnd(end) = body {
            self.outcome = Some(end.outcome);
            self.over = true;
        }
        None
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
