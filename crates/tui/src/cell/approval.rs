//! What was decided about a call, by whom or what.

use super::Fold;
use crate::line::{Line, Span};
use crate::rows::{self, spaces};
use crate::theme::{Role, Theme};
use crate::{say, text};
use ostler_wire::{Approval, Decision, PermissionChoice};

/// Bytes of a reason or rule.
const MAX_FACT: usize = 2 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved(Approval);

impl From<Approval> for Approved {
    fn from(approval: Approval) -> Self {
        Self(approval)
    }
}

impl Approved {
    /// The call says it already: that it ran, or that it was refused and why.
    pub fn goes_without_saying(&self) -> bool {
        match &self.0.decision {
            Decision::Chosen(PermissionChoice::Once) => true,
            decision if decision.refuses() => self.0.rule.is_none(),
            Decision::Chosen(_) | Decision::Allowed | Decision::Other(_) => false,
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        let Approval {
            tool_use_id: _,
            decision,
            rule,
            reason,
            saved,
        } = &self.0;
        let (mark, role) = match decision.refuses() {
            true => ("⊘ ", Role::Warning),
            false => ("✓ ", Role::Good),
        };
        let style = theme.style(role);
        let more = [
            reason.clone(),
            rule.as_deref().map(|x| say::rule(theme.language, x)),
            saved.as_deref().map(|x| say::rule_saved(theme.language, x)),
        ];
        let mut line = Line::new(say::approved(theme.language, decision), style);
        for fact in more.into_iter().flatten() {
            let fact = rows::bounded(&fact, MAX_FACT);
            line.push(Span::new(format!(" · {fact}"), theme.style(Role::Faint)));
        }
        let wrapped = text::wrap(&line, columns.saturating_sub(2));
        rows::indent(wrapped, &Line::new(mark, style), &spaces(2))
    }
}
