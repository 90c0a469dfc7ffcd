//! What the session is at, as far as it was told, and the line that says so.

use super::tasks::Background;
use super::walk::Walk;
use crate::canvas::Canvas;
use crate::line::{Line, Span};
use crate::text;
use crate::theme::Role;
use ostler_wire::{Delivery, Word};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What the session is at.
#[derive(Default)]
pub struct Work {
    pub since: Option<Instant>,
    pub stopping: bool,
    /// The call of the person's own that runs outside a turn.
    pub own: Option<String>,
    /// What it says it is at; it may be outside a turn.
    pub at: Option<At>,
    /// Prompts that were sent and are not in the transcript yet.
    pub waiting: VecDeque<(String, Delivery)>,
    pub background: Background,
    /// What the conversation is about, for titles and notifications.
    pub task: Option<String>,
    /// The prompt of the turn, while nothing was answered.
    pub unanswered: Option<String>,
    /// Shift-Tab was the last key.
    pub walk: Option<Walk>,
    /// Commands of keys, whose answers the status line shows.
    quiet: VecDeque<String>,
}

/// Characters of a task.
const MAX_TASK: usize = 40;
/// Commands of keys that wait for an answer.
const MAX_QUIET: usize = 16;

/// What the transcript knows of the turn.
#[derive(Clone, Default)]
pub struct Seen {
    /// What is under way, in a few words.
    pub doing: Option<String>,
    /// Tokens of the answers so far.
    pub tokens: u64,
    /// Since when a command runs.
    pub command_since: Option<Instant>,
}

/// A command that runs longer may be worth sending to the background.
const LONG: Duration = Duration::from_secs(2);

pub struct At {
    pub text: String,
    /// Nothing else went on when it began.
    pub alone: bool,
}

impl Work {
    /// A prompt of the person has begun a turn, or joined one.
    pub fn begin(&mut self, prompt: &str) {
        let first = prompt.lines().next().unwrap_or_default().trim();
        if self.task.is_none() && !first.is_empty() {
            self.task = Some(text::cut_text(first, MAX_TASK));
        }
        self.unanswered = Some(prompt.to_owned());
    }

    /// What waits goes back to where it came from.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    pub fn expect_quiet(&mut self, line: &str) {
        if self.quiet.len() >= MAX_QUIET {
            self.quiet.pop_front();
        }
        self.quiet.push_back(line.to_owned());
    }

    /// Whether a key sent this command.
    pub fn is_quiet(&mut self, line: &str) -> bool {
        let at = self.quiet.iter().position(|quiet| quiet == line);
        at.is_some_and(|at| self.quiet.remove(at).is_some())
    }

    /// What it is doing, for how long, and how to stop it.
    pub fn line(&self, canvas: &Canvas, seen: &Seen, now: Instant) -> Option<Line> {
        let since = self.since?;
        let text: &str = match (&self.at, self.stopping) {
            (_, true) => canvas.say(Word::Stopping),
            (Some(at), false) => &at.text,
            (None, false) => match &seen.doing {
                Some(doing) => doing,
                None => canvas.say(Word::Working),
            },
        };
        let seconds = now.saturating_duration_since(since).as_secs();
        let mut rest = vec![format!("{seconds}s")];
        if seen.tokens > 0 {
            let tokens = crate::say::tokens_short(seen.tokens);
            rest.push(canvas.fill(Word::TokensSoFar, &[&tokens]));
        }
        rest.push(canvas.say(Word::StopKey).to_owned());
        let is_long = |since: Instant| now.saturating_duration_since(since) >= LONG;
        if seen.command_since.is_some_and(is_long) {
            rest.push(canvas.say(Word::BackgroundKey).to_owned());
        }
        let mut line =
            Line::from(canvas.span(crate::transcript::spinner(since, now), Role::Accent));
        line.push(Span::plain(" "));
        line.push(canvas.span(text, Role::Text));
        line.push(canvas.span(format!(" {}", rest.join(" · ")), Role::Faint));
        Some(text::cut(&line, canvas.columns))
    }

    /// What goes on beside calls; nothing any more when there is no text.
    pub fn tells(&mut self, text: &str, now: Instant) {
        let before = self.at.take();
        let alone = before.map_or(self.since.is_none(), |at| at.alone);
        if !text.is_empty() {
            self.since.get_or_insert(now);
            self.at = Some(At {
                text: text.to_owned(),
                alone,
            });
        } else if alone {
            self.since = None;
            self.stopping = false;
        }
    }
}
