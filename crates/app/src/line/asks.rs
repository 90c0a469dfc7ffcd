//! Questions between the lines. On a terminal the line to answer on is printed a moment after the question, and what was
//! typed before it is no answer; a script's next line is the answer.

use super::OnScreen;
use super::Talk;
use crate::asking::{self, Question};
use crate::color::Ink;
use crate::input::Said;
use ostler_host::keyboard::{Hidden, KeyByKey};
use ostler_wire::{Ask, AskKind, Choice, Delivery, Op, command_of, printable};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

/// What stands on the screen and waits for a line.
#[derive(Default)]
pub struct Shown {
    pub sign: bool,
    /// Edits prompts, on a terminal that can.
    pub edited: OnScreen,
    pub ask: Option<Arc<Ask>>,
    /// A choice that is to be confirmed.
    pub confirming: Option<Choice>,
    /// Until the question can be answered keys come one by one.
    pub keys: Option<KeyByKey>,
    /// While a secret is typed nothing of it is shown.
    pub hidden: Option<Hidden>,
    /// When the line to answer on is printed, and how it begins.
    pub invitation: Option<(Instant, String)>,
    /// Times that the person pressed Ctrl-C in this turn.
    pub stops: u32,
}

impl Shown {
    /// No question stands there any more; which one did.
    pub fn close_question(&mut self) -> Option<Arc<Ask>> {
        self.confirming = None;
        self.invitation = None;
        self.keys = None;
        if self.hidden.take().is_some() {
            // The line end that was typed was not shown either.
            let _ = writeln!(io::stderr());
        }
        self.ask.take()
    }
}

impl Talk {
    /// What stands before the line that the person types: the place, if it is another one.
    pub(super) fn sign(&self) -> String {
        self.paint.with(Ink::Green, &self.plain_sign())
    }

    /// The same without its colour.
    pub(super) fn plain_sign(&self) -> String {
        match &self.client.snapshot.place {
            Some(place) => format!("({})> ", printable(place)),
            None => "> ".to_owned(),
        }
    }

    /// Prints a question.
    pub(super) fn put(&mut self, asked: &Question) -> io::Result<()> {
        self.lines.set_aside();
        let mut err = io::stderr();
        write!(err, "{}", asked.text)?;
        match self.lines.by_hand {
            true => {
                // A line that was begun before is seen to be one only if it comes key by key.
                if self.shown.keys.is_none() {
                    self.shown.keys = KeyByKey::start(io::stdin());
                }
                let at = Instant::now() + asking::GUARD;
                self.shown.invitation = Some((at, asked.invitation.clone()));
            }
            false => write!(err, "{}", asked.invitation)?,
        }
        err.flush()
    }

    /// The question could be read: here is the line to answer on.
    pub(super) fn open_question(&mut self) -> io::Result<()> {
        if let Some((_, invitation)) = self.shown.invitation.take() {
            // Nobody answers in the middle of a word.
            if let Some(at) = self.lines.pauses_at(Instant::now()) {
                self.shown.invitation = Some((at, invitation));
                return Ok(());
            }
            self.shown.keys = None;
            let asks = self.shown.ask.as_ref();
            if asks.is_some_and(|ask| ask.kind == AskKind::Secret) {
                self.shown.hidden = Hidden::start(io::stdin());
            }
            self.lines.open(Instant::now());
            let mut err = io::stderr();
            write!(err, "{invitation}")?;
            err.flush()?;
        }
        Ok(())
    }

    /// A line while a question stands there. A command is not the answer to it.
    pub(super) async fn answer(&mut self, ask: &Arc<Ask>, said: Said) -> anyhow::Result<()> {
        let is_command = |line: &str| line.starts_with('/') && self.lines.by_hand;
        let line = match said {
            Said::Line(line) | Said::Early(line) => line,
            Said::NoAnswer(line) if is_command(line.trim()) => line,
            Said::NoAnswer(line) => return self.refuse_line(ask, &line),
            Said::Over => return self.send_answer(ask.leave()).await,
        };
        if is_command(line.trim()) && command_of(line.trim()).is_some() {
            return self.send(Op::say(line.trim(), Delivery::Queue)).await;
        }
        if let Some(choice) = self.shown.confirming.take() {
            return match asking::is_yes(&line) {
                true => self.send_answer(asking::take(ask, &choice)).await,
                false => self.ask_again(ask),
            };
        }
        match asking::to_confirm(ask, &line).filter(|_| self.lines.by_hand) {
            Some(choice) => {
                self.shown.confirming = Some(choice.clone());
                Ok(self.put(&asking::confirmation(choice, self.language))?)
            }
            None => self.send_answer(asking::answer(ask, &line)).await,
        }
    }

    async fn send_answer(&mut self, op: Op) -> anyhow::Result<()> {
        self.shown.close_question();
        self.send(op).await
    }

    /// Puts the same question again, below what was said meanwhile.
    fn ask_again(&mut self, ask: &Arc<Ask>) -> anyhow::Result<()> {
        self.shown.confirming = None;
        Ok(self.put(&asking::question(ask, self.language))?)
    }

    /// A line that was not typed as the answer. Words wait for the next prompt, as those that are typed ahead do.
    fn refuse_line(&mut self, ask: &Arc<Ask>, line: &str) -> anyhow::Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let mut err = io::stderr();
        writeln!(err, "{}", asking::no_answer(line, self.language))?;
        if !asking::is_answer(ask, line) {
            self.lines.keep(line);
        }
        self.ask_again(ask)
    }
}
