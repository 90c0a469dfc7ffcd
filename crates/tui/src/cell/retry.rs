//! A request failed and is sent again: why, and when.

use super::Fold;
use crate::line::Line;
use crate::rows::{self, spaces};
use crate::say;
use crate::theme::{Role, Theme};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    pub reason: String,
    /// Tries that failed so far.
    pub attempt: u32,
    /// Tries in all; 0 where nobody knows.
    pub of: u32,
    /// Until it is sent.
    pub left: Duration,
}

impl Retry {
    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        let style = theme.style(Role::Warning);
        let width = columns.saturating_sub(2);
        let mut text = rows::prose(
            &say::retry(theme.language, self.left, (self.attempt, self.of)),
            style,
            width,
        );
        text.extend(rows::prose(&self.reason, theme.style(Role::Faint), width));
        rows::indent(text, &Line::new("↻ ", style), &spaces(2))
    }
}
