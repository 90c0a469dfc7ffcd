//! The plan of the turn: what is done, what is being done, what is left.

use super::Fold;
use crate::line::{Line, Span, Style};
use crate::rows::{self, spaces};
use crate::theme::{Role, Theme};
use crate::{say, text};
use ostler_wire::{Todo, TodoItem, TodoState, Word};

/// Items that the transcript shows; around the one that is being done.
const FOLDED: usize = 12;

/// Bytes of an item.
const MAX_ITEM: usize = 2 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TodoList {
    pub items: Vec<TodoItem>,
}

impl From<Todo> for TodoList {
    fn from(todo: Todo) -> Self {
        Self { items: todo.items }
    }
}

impl TodoList {
    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let done = self.count(TodoState::Done);
        let faint = theme.style(Role::Faint);
        let title: Line = [
            Span::new(
                theme.language.say(Word::TodoTitle),
                theme.style(Role::Strong),
            ),
            Span::new(format!("  {done}/{}", self.items.len()), faint),
        ]
        .into_iter()
        .collect();
        let mut out = vec![title];
        let shown = match fold {
            Fold::Closed => self.window(),
            Fold::Open => 0..self.items.len(),
        };
        let after = self.items.len() - shown.end;
        if shown.start > 0 {
            out.push(Line::new(
                format!("  {}", say::earlier_lines(theme.language, shown.start)),
                faint,
            ));
        }
        for item in self.items.get(shown).unwrap_or_default() {
            let (mark, style) = looks(item.state, theme);
            let wrapped = text::wrap(
                &Line::new(rows::bounded(&item.text, MAX_ITEM), style),
                columns.saturating_sub(4),
            );
            let mark: Line = [Span::plain("  "), Span::new(mark, style)]
                .into_iter()
                .collect();
            out.extend(rows::indent(wrapped, &mark, &spaces(4)));
        }
        if after > 0 {
            out.push(Line::new(
                format!("  {}", say::more_lines(theme.language, after)),
                faint,
            ));
        }
        out
    }

    fn count(&self, state: TodoState) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }

    fn window(&self) -> std::ops::Range<usize> {
        let is_left = |item: &TodoItem| item.state != TodoState::Done;
        let current = self.items.iter().position(is_left).unwrap_or_default();
        let last = self.items.len().saturating_sub(FOLDED);
        let start = current.saturating_sub(2).min(last);
        start..(start + FOLDED).min(self.items.len())
    }
}

fn looks(state: TodoState, theme: &Theme) -> (&'static str, Style) {
    match state {
        TodoState::Pending => ("☐ ", Style::PLAIN),
        TodoState::InProgress => (
            "▶ ",
            Style {
                bold: true,
                ..theme.style(Role::Accent)
            },
        ),
        TodoState::Done => ("☑ ", theme.style(Role::Faint)),
    }
}
