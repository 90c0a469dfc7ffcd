//! A session that other terminals show, too: what they say is printed here, a question that they answer is closed, and
//! leaving ends only what is ours to end. Also how one session is left for another.

use super::{Busy, Talk};
use crate::color::Ink;
use crate::conversation;
use ostler_engine::commands::transcript;
use ostler_wire::{Body, Client, Clients, Delta, Entry, Event, HERE, Hub as _, Open, Role, Word};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

/// Prompts of our own that are remembered until they come back as entries.
const MAX_PROMPTS: usize = 256;
/// Entries of the past that are shown when a session is joined.
const PAST: usize = 40;

/// What this terminal has sent, and which terminals show the session.
#[derive(Default)]
pub struct Exchange {
    /// Commands that were sent, which numbers them.
    pub commands: u64,
    /// Prompts that were sent and have not come back.
    prompts: VecDeque<String>,
    clients: Clients,
}

impl Exchange {
    pub fn new(client: &Client) -> Self {
        Self {
            clients: client.snapshot.clients.clone(),
            ..Self::default()
        }
    }

    /// The session runs in another process.
    pub fn is_remote(&self) -> bool {
        self.clients.is_remote()
    }

    /// The process of the session does not answer.
    pub fn is_silent(&self) -> bool {
        self.clients.silent
    }

    pub fn is_shared(&self) -> bool {
        self.clients.ids.len() > 1
    }

    pub fn sent_prompt(&mut self, text: &str) {
        if self.prompts.len() >= MAX_PROMPTS {
            self.prompts.pop_front();
        }
        self.prompts.push_back(text.to_owned());
    }

    /// Whether a prompt that was taken in was sent from here.
    fn is_own(&mut self, text: &str) -> bool {
        let at = self.prompts.iter().position(|sent| sent == text);
        at.and_then(|at| self.prompts.remove(at)).is_some()
    }
}

impl Talk {
    /// What was said before this terminal joined.
    pub(super) async fn show_past(&mut self) -> io::Result<()> {
        if !self.exchange.is_remote() {
            return Ok(());
        }
        let past = self.client.events.past(PAST).await;
        let past: Vec<Entry> = past.into_iter().map(Arc::unwrap_or_clone).collect();
        if past
            .iter()
            .any(|entry| matches!(entry.body, Body::Message(_)))
        {
            let text = transcript::render(&self.client.session_id, &past, self.language);
            self.printer.lines(Ink::Grey, text.trim_end())?;
        }
        self.printer.flush()
    }

    /// What an event means where several terminals show the session. Called before it is printed.
    pub(super) fn follow_others(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Delta(Delta::Clients(clients)) => self.exchange.clients.clone_from(clients),
            Event::Delta(Delta::Idle) => self.busy = Busy::Idle,
            Event::Delta(Delta::AskClosed { ask, answer, .. }) => {
                self.close_ask(ask, answer.as_deref())?;
            }
            Event::Entry(entry) => {
                if let Some((host, _)) = entry.body.place() {
                    let place = Some(host.to_owned()).filter(|host| host != HERE);
                    self.client.snapshot.place = place;
                }
                if let Body::Message(message) = &entry.body
                    && message.role == Role::User
                {
                    let is_own = self.exchange.is_own(&message.text);
                    let by_command = matches!(self.busy, Busy::Command { .. });
                    if !is_own && !by_command && self.exchange.is_shared() {
                        self.end_sign()?;
                        let text = message.typed.as_ref().unwrap_or(&message.text);
                        self.printer.lines(Ink::Green, &format!("> {text}"))?;
                    }
                }
            }
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        }
        Ok(())
    }

    /// A question waits no longer.
    fn close_ask(&mut self, id: &str, answer: Option<&str>) -> io::Result<()> {
        let stands = self.shown.ask.as_ref().is_some_and(|ask| ask.ask == id);
        self.forget(|ask| ask.ask == id);
        if let Some(answer) = answer.filter(|_| stands) {
            let answer = ostler_wire::printable(answer);
            let text = self.language.fill(Word::AnsweredElsewhere, &[&answer]);
            let text = self.paint.with(Ink::Grey, &text);
            writeln!(io::stderr(), "{text}")?;
        }
        Ok(())
    }

    /// Leaves one session for another, with the configuration as it is now; the old one stays when the new one cannot be
    /// opened.
    pub(super) async fn swap(&mut self, which: Open) -> anyhow::Result<()> {
        match self.hub.open(which).await {
            Ok(new) => {
                self.boot = self.hub.boot();
                let exchange = Exchange::new(&new);
                let old = std::mem::replace(&mut self.client, new);
                let was = std::mem::replace(&mut self.exchange, exchange);
                self.part_from(old, &was).await;
                conversation::announce(&self.boot, &self.client, &mut self.printer)?;
                self.busy = Busy::Idle;
                // What the old session asked and runs is not this one's.
                self.asks.clear();
                self.shown.close_question();
                self.background.tasks.clear();
                self.background.jobs.clear();
                self.show_past().await?;
                self.greet()?;
            }
            Err(error) => {
                self.printer.note(Ink::Red, &error.to_string())?;
                self.printer.flush()?;
            }
        }
        Ok(())
    }

    /// Leaves a session for another one. Where others show it, it goes on without this terminal.
    async fn part_from(&self, old: Client, was: &Exchange) {
        match was.is_shared() {
            true => drop(old),
            false => conversation::close(old).await,
        }
    }
}

/// Whether an event is seen, so that the sign has to make room.
pub fn speaks(event: &Event) -> bool {
    match event {
        Event::Delta(
            Delta::Tasks { .. }
            | Delta::Jobs { .. }
            | Delta::ToolStarted { .. }
            | Delta::Queue { .. }
            | Delta::Clients(_)
            | Delta::Idle
            | Delta::AskClosed { .. }
            | Delta::Budget { .. },
        ) => false,
        Event::Delta(Delta::Progress { text, .. }) => !text.is_empty(),
        Event::Delta(_) | Event::Entry(_) | Event::Ask(_) | Event::Reply(_) => true,
    }
}
