//! What the model thought: one line, or all of it.

use super::Fold;
use super::lines::INDENT;
use crate::line::{Line, Span};
use crate::theme::{Role, Theme};
use crate::{rows, say, text};
use ostler_wire::Word;
use std::time::Duration;

/// Lines of it that are seen while it goes on.
const LIVE: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasoning {
    pub text: String,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Thinking,
    /// How long it took, where that is known.
    Thought(Option<Duration>),
}

impl Reasoning {
    /// For how long, the row with the activity says.
    pub fn thinking(text: String) -> Self {
        Self {
            text,
            state: State::Thinking,
        }
    }

    pub fn thought(text: String, took: Option<Duration>) -> Self {
        Self {
            text,
            state: State::Thought(took),
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let style = theme.style(Role::Reasoning);
        let title = match self.state {
            State::Thinking => theme.language.say(Word::Thinking).to_owned(),
            State::Thought(took) => say::thought(theme.language, took),
        };
        let mut title = Line::new(title, style);
        let body = match (fold, self.state) {
            (Fold::Open, _) => {
                let text = crate::markdown::render(self.text.trim(), columns - INDENT, theme);
                let text = text.into_iter().map(|line| line.on(style)).collect();
                rows::indent(text, &rows::spaces(INDENT), &rows::spaces(INDENT))
            }
            (Fold::Closed, State::Thinking) => {
                // What nobody can see need not be laid out.
                let recent = recent(self.text.trim_end());
                let text = crate::markdown::render(recent, columns - INDENT, theme);
                // Of the few rows none is empty.
                let said = text.into_iter().filter(|line| line.width() > 0);
                let text = said.map(|line| line.on(style)).collect();
                let mut rows = rows::indent(text, &rows::spaces(INDENT), &rows::spaces(INDENT));
                rows.drain(..rows.len().saturating_sub(LIVE));
                rows
            }
            (Fold::Closed, State::Thought(_)) => {
                let hint = format!(" · {}", theme.language.say(Word::ShowsIt));
                title.push(Span::new(hint, theme.style(Role::Faint)));
                Vec::new()
            }
        };
        let mut out = vec![text::cut(&title, columns)];
        out.extend(body);
        out
    }
}

/// The end of a text, from the beginning of a line.
fn recent(text: &str) -> &str {
    const BYTES: usize = 2_000;
    let mut from = text.len().saturating_sub(BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = text.get(from..).unwrap_or_default();
    match (from, end.split_once('\n')) {
        (0, _) | (_, None) => end,
        (_, Some((_, lines))) => lines,
    }
}
