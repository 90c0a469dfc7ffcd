//! A table as rows: columns as wide as they need to be and the terminal allows, cells wrapped. Where not even that fits,
//! each row is shown as a list of its fields.

use crate::line::{Line, Span, Style};
use crate::rows;
use crate::text;
use crate::theme::{Role, Theme};
use ostler_wire::{fit_columns, widest_cells};
use pulldown_cmark::Alignment;

/// Cells a column keeps however narrow it gets.
const MIN_COLUMN: usize = 6;
const BETWEEN: &str = " │ ";
const BETWEEN_WIDTH: usize = 3;
/// Columns laid out side by side with cells that wrap; more are shown as fields.
const MAX_COLUMNS: usize = 40;

/// Paragraphs of one cell: `<br>` separates them.
pub type Cell = Vec<Line>;

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub alignments: Vec<Alignment>,
    pub head: Vec<Cell>,
    pub body: Vec<Vec<Cell>>,
}

impl Table {
    pub fn rows(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let natural = self.natural();
        let widths = fit_columns(&natural, |_| MIN_COLUMN, BETWEEN_WIDTH, columns);
        match widths {
            Ok(widths) if widths.len() <= MAX_COLUMNS || widths == natural => {
                self.grid(&widths, theme)
            }
            Ok(_) | Err(_) => self.fields(columns, theme),
        }
    }

    fn natural(&self) -> Vec<usize> {
        let count = self.head.len().max(self.alignments.len());
        let rows = std::iter::once(&self.head).chain(&self.body);
        let cells = |row: &Vec<Cell>| -> Vec<usize> { row.iter().take(count).map(width).collect() };
        // Nothing is drawn in no cell at all.
        widest_cells(rows.map(cells).chain([vec![1; count]]))
    }

    fn grid(&self, widths: &[usize], theme: &Theme) -> Vec<Line> {
        let frame = theme.style(Role::Frame);
        let strong = theme.style(Role::Strong);
        let ruler: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
        let ruler = Line::new(ruler.join("─┼─"), frame);
        let head: Vec<Cell> = self
            .head
            .iter()
            .map(|cell| cell.iter().map(|line| line.clone().on(strong)).collect())
            .collect();
        let body: Vec<Vec<Line>> = self
            .body
            .iter()
            .map(|row| self.grid_row(row, widths, frame))
            .collect();
        // Rows of several lines would run into each other.
        let is_tall = body.iter().any(|rows| rows.len() > 1);
        let mut out = self.grid_row(&head, widths, frame);
        out.push(ruler.clone());
        for (at, rows) in body.into_iter().enumerate() {
            if is_tall && at > 0 {
                out.push(ruler.clone());
            }
            out.extend(rows);
        }
        out
    }

    fn grid_row(&self, row: &[Cell], widths: &[usize], frame: Style) -> Vec<Line> {
        let wrapped: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                let cell = row.get(at).map(Vec::as_slice).unwrap_or_default();
                cell.iter()
                    .flat_map(|line| text::wrap(line, *width))
                    .collect()
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1).max(1);
        (0..height)
            .map(|y| {
                let mut out = Line::default();
                for (at, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                    if at > 0 {
                        out.push(Span::new(BETWEEN, frame));
                    }
                    let line = cell.get(y).cloned().unwrap_or_default();
                    let is_last = at + 1 == widths.len();
                    let alignment = self.alignments.get(at).copied().unwrap_or(Alignment::None);
                    pad(&mut out, line, *width, alignment, is_last);
                }
                out
            })
            .collect()
    }

    /// `name: value`, a field per row.
    fn fields(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut out = Vec::new();
        let strong = theme.style(Role::Strong);
        let names: Vec<Line> = self
            .head
            .iter()
            .map(|cell| one_line(cell).on(strong))
            .collect();
        for (at, row) in self.body.iter().enumerate() {
            if at > 0 {
                out.push(Line::new("─".repeat(MIN_COLUMN), theme.style(Role::Frame)));
            }
            for (at, cell) in row.iter().enumerate() {
                let mut line = names.get(at).cloned().unwrap_or_default();
                line.push(Span::new(": ", strong));
                let value = one_line(cell);
                value.spans.into_iter().for_each(|span| line.push(span));
                let wrapped = text::wrap(&line, columns.saturating_sub(2));
                out.extend(rows::indent(wrapped, &Line::default(), &rows::spaces(2)));
            }
        }
        if self.body.is_empty() {
            out.extend(names.iter().flat_map(|name| text::wrap(name, columns)));
        }
        out
    }
}

fn width(cell: &Cell) -> usize {
    cell.iter().map(Line::width).max().unwrap_or(0)
}

fn one_line(cell: &Cell) -> Line {
    let mut out = Line::default();
    for (at, line) in cell.iter().enumerate() {
        if at > 0 {
            out.push(Span::plain(" "));
        }
        line.spans.iter().for_each(|span| out.push(span.clone()));
    }
    out
}

fn pad(out: &mut Line, line: Line, width: usize, alignment: Alignment, is_last: bool) {
    let free = width.saturating_sub(line.width());
    let (before, after) = match alignment {
        Alignment::Right => (free, 0),
        Alignment::Center => (free / 2, free - free / 2),
        Alignment::Left | Alignment::None => (0, free),
    };
    if before > 0 {
        out.push(Span::plain(" ".repeat(before)));
    }
    line.spans.into_iter().for_each(|span| out.push(span));
    if after > 0 && !is_last {
        out.push(Span::plain(" ".repeat(after)));
    }
}
