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
    /// How it stood when it was shown last: only what changed since is shown again.
    before: Vec<TodoItem>,
}

impl From<Todo> for TodoList {
    fn from(todo: Todo) -> Self {
        Self {
            items: todo.items,
            before: Vec::new(),
        }
    }
}

impl TodoList {
    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        if fold == Fold::Closed && self.is_same_plan() {
            return vec![self.line(columns, theme, |at, item| self.before.get(at) != Some(item))];
        }
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

    /// The same after another one was shown; `None` where nothing is new.
    pub fn after(mut self, before: Option<&Self>) -> Option<Self> {
        let before = before
            .map(|before| before.items.as_slice())
            .unwrap_or_default();
        if before == self.items {
            return None;
        }
        self.before = before.to_vec();
        Some(self)
    }

    fn is_same_plan(&self) -> bool {
        let texts = |items: &[TodoItem]| -> Vec<String> {
            items.iter().map(|item| item.text.clone()).collect()
        };
        !self.before.is_empty() && texts(&self.before) == texts(&self.items)
    }

    /// What is being done, in one row, unless all is done.
    pub fn now(&self, columns: usize, theme: &Theme) -> Option<Line> {
        let is_open = self.items.iter().any(|item| item.state != TodoState::Done);
        let is_now = |_, item: &TodoItem| item.state == TodoState::InProgress;
        is_open.then(|| self.line(columns, theme, is_now))
    }

    fn line(
        &self,
        columns: usize,
        theme: &Theme,
        is_shown: impl Fn(usize, &TodoItem) -> bool,
    ) -> Line {
        let done = self.count(TodoState::Done);
        let mut line: Line = [
            Span::new(
                theme.language.say(Word::TodoTitle),
                theme.style(Role::Strong),
            ),
            Span::new(
                format!(" {done}/{}", self.items.len()),
                theme.style(Role::Faint),
            ),
        ]
        .into_iter()
        .collect();
        for (at, item) in self.items.iter().enumerate() {
            if is_shown(at, item) {
                let (mark, style) = looks(item.state, theme);
                let text = rows::head(&item.text, MAX_ITEM);
                line.push(Span::new(format!("   {mark}{text}"), style));
            }
        }
        text::cut(&line, columns)
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
