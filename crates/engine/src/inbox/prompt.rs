//! What waits to be done in a session: prompts and commands, with the client that sent each.

use crate::goal::Strategy;
use ostler_wire::{Image, ReplyTo};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<Image>,
    /// Where references are looked for, if not in the whole text.
    pub own_words: Option<String>,
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
}

/// A command, and the client that gets its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub line: String,
    pub reply_to: ReplyTo,
}
