//! The composer as rows to draw, and the cell of the caret.

use super::{
    Editor,
    piece::{Piece, Unit},
    rows::{Row, Rows},
};
use crate::{
    line::{Line, Span, Style},
    text::{cut, width},
    theme::{Role, Theme},
};
use std::ops::Range;

const PROMPT: &str = "› ";
const SOFT_BREAK: &str = "⋮ ";
const MORE_ABOVE: &str = "⌃ ";
const MORE_BELOW: &str = "⌄ ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorView {
    pub rows: Vec<Line>,
    /// Row and column, both from 0, where the cursor of the terminal belongs.
    pub caret: (usize, usize),
}

/// Stretches that look different from the rest.
struct Looks<'a> {
    theme: &'a Theme,
    selected: Range<usize>,
    matched: Range<usize>,
}

impl Editor {
    /// At most `max_rows` rows of at most `columns` cells, with the caret among them.
    pub fn view(&self, columns: usize, max_rows: usize, theme: &Theme) -> EditorView {
        let columns = columns.max(2);
        let max_rows = max_rows.max(1);
        if self.search.is_some() {
            return self.search_view(columns, max_rows, theme);
        }
        let piece = self.buffer.piece();
        let rows = Rows::around(piece, self.buffer.caret(), max_rows, columns);
        let looks = Looks {
            theme,
            selected: self.selection(),
            matched: 0..0,
        };
        let (row, column) = rows.cell(self.buffer.caret());
        let window = self.window(&rows, row, max_rows);
        EditorView {
            caret: (row - window.start, column),
            rows: draw(piece, &rows, window, &looks),
        }
    }

    /// The rows that are shown: those of the last time as long as the caret is among them.
    fn window(&self, rows: &Rows<'_>, caret: usize, max_rows: usize) -> Range<usize> {
        let count = rows.rows.len();
        let last = rows.row_of(self.top.get());
        let lowest = caret.saturating_sub(max_rows - 1);
        let top = last
            .clamp(lowest, caret)
            .min(count.saturating_sub(max_rows));
        let offset = rows.rows.get(top).map_or(0, |row| row.range.start);
        self.top.set(offset);
        top..(top + max_rows).min(count)
    }

    /// What is being looked for, then what was found.
    fn search_view(&self, columns: usize, max_rows: usize, theme: &Theme) -> EditorView {
        let (query, hit) = match &self.search {
            Some(search) => (search.query(), search.hit()),
            None => ("", None),
        };
        let label_role = match hit.is_none() && !query.is_empty() {
            true => Role::Warning,
            false => Role::Faint,
        };
        // A narrow terminal shows the end of a long query.
        let label = cut(
            &Line::new(self.labels.search.as_str(), theme.style(label_role)),
            columns / 2,
        );
        let room = columns.saturating_sub(label.width() + 1);
        let mut tail = Line::plain(query).text();
        while width(&tail) > room {
            tail.remove(0);
        }
        let mut first = label;
        first.push(Span::plain(tail));
        let caret = (0, first.width().min(columns - 1));
        let (piece, matched) = match hit {
            Some(hit) => (&hit.piece, hit.range.clone()),
            None => (self.buffer.piece(), 0..0),
        };
        let found = Rows::around(piece, matched.start, max_rows, columns);
        let top = found.row_of(matched.start);
        let looks = Looks {
            theme,
            selected: 0..0,
            matched,
        };
        let window = top..(top + max_rows - 1).min(found.rows.len());
        let mut rows = vec![first];
        rows.extend(draw(piece, &found, window, &looks));
        EditorView { rows, caret }
    }
}

fn draw(piece: &Piece, rows: &Rows<'_>, window: Range<usize>, looks: &Looks<'_>) -> Vec<Line> {
    let shown = rows.rows.iter().skip(window.start).take(window.len());
    let count = shown.len();
    shown
        .enumerate()
        .map(|(i, row)| {
            let mut line = Line::default();
            if rows.frame.gutter > 0 {
                let is_last = i + 1 == count && row.range.end < piece.len();
                line.push(gutter(row, (i == 0, is_last), looks.theme));
            }
            draw_row(&mut line, piece, rows, row, looks);
            line
        })
        .collect()
}

/// The sign before a row; `edges` says whether rows above or below it are not shown.
fn gutter(row: &Row, edges: (bool, bool), theme: &Theme) -> Span {
    let faint = theme.style(Role::Faint);
    match (row.range.start, edges, row.is_wrapped) {
        (0, _, false) => Span::new(PROMPT, theme.style(Role::User)),
        (_, (true, _), _) => Span::new(MORE_ABOVE, faint),
        (_, (_, true), _) => Span::new(MORE_BELOW, faint),
        (_, _, true) => Span::new(SOFT_BREAK, faint),
        (_, _, false) => Span::plain("  "),
    }
}

fn draw_row(line: &mut Line, piece: &Piece, rows: &Rows<'_>, row: &Row, looks: &Looks<'_>) {
    let mut run = String::new();
    let mut style = Style::PLAIN;
    for unit in piece.units(row.range.clone()) {
        let next = looks.style(&unit);
        if next != style && !run.is_empty() {
            line.push(Span::new(std::mem::take(&mut run), style));
        }
        style = next;
        run.push_str(&rows.frame.drawn(&unit));
    }
    if !run.is_empty() {
        line.push(Span::new(run, style));
    }
}

impl Looks<'_> {
    fn style(&self, unit: &Unit<'_>) -> Style {
        let role = match unit.is_chip {
            true => Role::Accent,
            false => Role::Text,
        };
        let mut style = self.theme.style(role);
        for (range, role) in [(&self.selected, Role::Chosen), (&self.matched, Role::Match)] {
            if range.start < unit.end && unit.start() < range.end {
                style = style.with(self.theme.style(role));
            }
        }
        style
    }
}
