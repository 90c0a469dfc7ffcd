//! The last line of a turn: what it took.

use super::Fold;
use crate::line::Line;
use crate::theme::{Role, Theme};
use crate::{rows, say};
use ostler_wire::Usage;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// USD, as far as prices are known.
    pub cost: Option<f64>,
    pub took: Option<Duration>,
}

impl Turn {
    /// Adds a request of the turn.
    pub fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.cached = self.cached.saturating_add(usage.cached);
        self.output = self.output.saturating_add(usage.output);
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        let mut parts = vec![say::usage_input(theme.language, self.input)];
        if self.cached > 0 {
            let share = u128::from(self.cached) * 100 / u128::from(self.input.max(1));
            parts.push(say::usage_cached(theme.language, share.min(100) as u64));
        }
        parts.push(say::usage_output(theme.language, self.output));
        parts.extend(self.cost.map(say::cost));
        parts.extend(self.took.map(say::time));
        rows::prose(&parts.join(" · "), theme.style(Role::Faint), columns)
    }
}
