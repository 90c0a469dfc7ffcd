//! Calls in a row that only looked something up, as one: what was read, searched and listed.

use super::{Fold, Tool};
use crate::line::{Line, Span};
use crate::rows::{self, spaces};
use crate::text;
use crate::theme::{Role, Theme};
use ostler_wire::{CallVerb, Word};

/// Calls that are named; of more the number is said.
const MAX_NAMED: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct Lookups(Vec<Tool>);

impl Lookups {
    pub fn push(&mut self, tool: Tool) {
        self.0.push(tool);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of one kind in a row, with what each was about.
    fn runs(&self) -> Vec<(CallVerb, Vec<Span>)> {
        let mut runs: Vec<(CallVerb, Vec<Span>)> = Vec::new();
        for tool in self.0.iter().take(MAX_NAMED) {
            let Some(verb) = tool.lookup() else { continue };
            match runs.last_mut().filter(|(last, _)| *last == verb) {
                Some((_, about)) => about.push(tool.in_short()),
                None => runs.push((verb, vec![tool.in_short()])),
            }
        }
        runs
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        if let (Fold::Open, _) | (Fold::Closed, [_]) = (fold, self.0.as_slice()) {
            let each = self.0.iter().map(|tool| tool.rows(columns, theme, fold));
            return each.flatten().collect();
        }
        let mut line = Line::default();
        for (at, (verb, about)) in self.runs().into_iter().enumerate() {
            if at > 0 {
                line.push(Span::new(" · ", theme.style(Role::Faint)));
            }
            let verb = theme.language.say(verb.word(true));
            line.push(Span::new(verb, theme.style(Role::Strong)));
            for (at, span) in about.into_iter().enumerate() {
                line.push(Span::plain(if at == 0 { " " } else { ", " }));
                line.push(span);
            }
        }
        if let Some(more @ 1..) = self.0.len().checked_sub(MAX_NAMED) {
            let more = theme
                .language
                .fill(Word::CallsEarlier, &[&more.to_string()]);
            line.push(Span::new(format!(" · {more}"), theme.style(Role::Faint)));
        }
        let mark = Line::new("● ", theme.style(Role::Good));
        let wrapped = text::wrap(&line, columns.saturating_sub(2));
        rows::indent(wrapped, &mark, &spaces(2))
    }
}
