//! What waits to be done in a session: prompts and commands, with the client that sent each.

use super::{Inbox, MAX_WAITING};
use ostler_context::goal::Strategy;
use ostler_wire::{Delivery, Image, QueuedPrompt, ReplyTo, View, Word, clip, refuse_pictures};
use std::collections::VecDeque;

/// Characters of a waiting prompt that clients are shown.
const MAX_QUEUED_SHOWN: usize = 500;
/// Prompts and answers whose source is remembered.
const MAX_SOURCES: usize = 512;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<Image>,
    /// Where references are looked for, if not in the whole text.
    pub own_words: Option<String>,
    /// Where a file of the project names others, which is read by the rules for the project.
    pub project_words: Option<String>,
    /// The command that it stands for, as it was typed.
    pub typed: Option<String>,
    pub purpose: Purpose,
    /// What the model is told before the words.
    pub context: Option<String>,
    /// The client that sent it.
    pub reply_to: ReplyTo,
}

/// What a prompt is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    #[default]
    Words,
    /// It names a goal.
    Goal(Strategy),
    /// Nobody said it: a goal goes on.
    Continuation,
}

/// Prompts that came while something was done.
#[derive(Default)]
pub struct WaitingPrompts {
    pub steer: VecDeque<Prompt>,
    pub queue: VecDeque<Prompt>,
    /// How many of them clients were told of.
    pub shown: usize,
    /// Where the last ones came from.
    sources: VecDeque<ReplyTo>,
}

impl WaitingPrompts {
    /// Whether an op was taken before: a client whose connection was lost sends again what it does not know the end of, with
    /// the same id and as another client.
    pub fn is_repeated(&mut self, source: &ReplyTo) -> bool {
        if source.op.is_none() {
            return false;
        }
        let is_same = |known: &ReplyTo| known.op == source.op && known.client != source.client;
        if source.again && self.sources.iter().any(is_same) {
            return true;
        }
        if self.sources.len() >= MAX_SOURCES {
            self.sources.pop_front();
        }
        self.sources.push_back(source.clone());
        false
    }

    /// All of them, as clients are told.
    pub fn list(&self) -> Vec<QueuedPrompt> {
        let steer = self.steer.iter().map(|prompt| (prompt, Delivery::Steer));
        let queue = self.queue.iter().map(|prompt| (prompt, Delivery::Queue));
        let queued = |(prompt, delivery): (&Prompt, Delivery)| QueuedPrompt {
            text: clip(
                prompt.typed.as_ref().unwrap_or(&prompt.text),
                MAX_QUEUED_SHOWN,
            ),
            delivery,
        };
        steer.chain(queue).map(queued).collect()
    }
}

/// A command, and the client that gets its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub line: String,
    pub reply_to: ReplyTo,
}

impl Inbox {
    /// The prompts that wait, those that steer first.
    pub fn waiting_texts(&mut self) -> Vec<String> {
        let all = self.prompts.steer.iter().chain(&self.prompts.queue);
        all.map(|prompt| prompt.typed.as_ref().unwrap_or(&prompt.text).clone())
            .collect()
    }

    /// Takes back the waiting prompt at this place, or the last one.
    pub fn take_waiting(&mut self, at: Option<usize>) -> Option<String> {
        let steering = self.prompts.steer.len();
        let last = (steering + self.prompts.queue.len()).checked_sub(1)?;
        let at = at.unwrap_or(last);
        let prompt = match at.checked_sub(steering) {
            None => self.prompts.steer.remove(at),
            Some(at) => self.prompts.queue.remove(at),
        }?;
        self.sync_queue();
        Some(prompt.typed.unwrap_or(prompt.text))
    }

    /// A prompt has come; it waits, unless it was taken before or is more than a session takes.
    pub(super) fn put(&mut self, prompt: Prompt, delivery: Delivery) {
        if self.prompts.is_repeated(&prompt.reply_to) {
            return;
        }
        if let Some(why) = refuse_pictures(&prompt.images, self.children.language) {
            return self.feed.reply(&prompt.reply_to, "", View::Error(why));
        }
        let waiting = match delivery {
            Delivery::Steer => &mut self.prompts.steer,
            Delivery::Queue => &mut self.prompts.queue,
        };
        if waiting.len() < MAX_WAITING {
            return waiting.push_back(prompt);
        }
        let refused = View::Error(self.full(Word::PromptsFull));
        self.feed.reply(&prompt.reply_to, "", refused);
    }
}
