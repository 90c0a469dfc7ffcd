//! Older work that was folded: how much it was and what became of the prompt, or the whole digest.

use super::{Fold, lines};
use crate::line::{Line, Span};
use crate::rows::{self, spaces};
use crate::say;
use crate::theme::{Role, Theme};
use ostler_wire::{Compaction, DigestBy, Word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded(Compaction);

impl From<Compaction> for Folded {
    fn from(compaction: Compaction) -> Self {
        Self(compaction)
    }
}

impl Folded {
    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let Self(compaction) = self;
        let language = theme.language;
        let mut parts = vec![say::folded(language, compaction)];
        match compaction.by {
            DigestBy::Model => {}
            DigestBy::Mechanical => parts.push(language.say(Word::FoldedByLog).to_owned()),
        }
        let focus = compaction.focus.as_deref();
        parts.extend(focus.map(|focus| language.fill(Word::FoldedFocus, &[focus])));
        if fold == Fold::Closed {
            parts.push(language.say(Word::ShowsIt).to_owned());
        }
        let style = theme.style(Role::Accent);
        let title = rows::prose(&parts.join(" · "), style, columns.saturating_sub(2));
        let mark = Line::from(Span::new("≡ ", style));
        let mut out = rows::indent(title, &mark, &spaces(2));
        if fold == Fold::Open {
            out.extend(lines::all(
                &compaction.digest,
                theme.style(Role::Faint),
                columns,
            ));
        }
        out
    }
}
