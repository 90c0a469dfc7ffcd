//! What the session is at, as far as it was told, and the line that says so.

use super::tasks::Background;
use crate::canvas::Canvas;
use crate::line::{Line, Span};
use crate::text;
use crate::theme::Role;
use ostler_wire::{Delivery, Word};
use std::collections::VecDeque;
use std::time::Instant;

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
}

pub struct At {
    pub text: String,
    /// Nothing else went on when it began.
    pub alone: bool,
}

impl Work {
    /// What it is doing, for how long, and how to stop it.
    pub fn line(&self, canvas: &Canvas, now: Instant) -> Option<Line> {
        let since = self.since?;
        let text: &str = match (&self.at, self.stopping) {
            (_, true) => canvas.say(Word::Stopping),
            (Some(at), false) => &at.text,
            (None, false) => canvas.say(Word::Working),
        };
        let seconds = now.saturating_duration_since(since).as_secs();
        let mut line =
            Line::from(canvas.span(crate::transcript::spinner(since, now), Role::Accent));
        line.push(Span::plain(" "));
        line.push(canvas.span(text, Role::Text));
        let rest = format!(" {seconds}s · {}", canvas.say(Word::StopKey));
        line.push(canvas.span(rest, Role::Faint));
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
