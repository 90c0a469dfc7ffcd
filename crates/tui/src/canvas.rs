//! What there is to draw on: the size, the look and the language.

use crate::line::{Line, Span, Style};
use crate::theme::{Role, Theme};
use ostler_wire::Word;

#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    pub columns: usize,
    pub rows: usize,
    pub theme: Theme,
}

impl Canvas {
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    pub fn span(&self, text: impl Into<String>, role: Role) -> Span {
        Span::new(text, self.style(role))
    }

    pub fn line(&self, text: impl Into<String>, role: Role) -> Line {
        Line::new(text, self.style(role))
    }

    pub fn say(&self, word: Word) -> &'static str {
        self.theme.language.say(word)
    }

    pub fn fill<const N: usize>(&self, word: Word<N>, values: &[&str; N]) -> String {
        self.theme.language.fill(word, values)
    }

    pub fn many<const N: usize>(&self, word: Word<N>, number: usize, values: &[&str; N]) -> String {
        self.theme.language.many(word, number, values)
    }

    /// The same with that many columns less.
    pub fn narrower(&self, columns: usize) -> Self {
        Self {
            columns: self.columns.saturating_sub(columns).max(2),
            ..*self
        }
    }
}
