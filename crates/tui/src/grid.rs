//! The table that a command answers with: columns side by side, or each row as a short list where the terminal is too
//! narrow for that.

use crate::canvas::Canvas;
use crate::line::Line;
use crate::rows::{indent, prose, spaces};
use crate::text;
use crate::theme::Role;
use ostler_wire::{Column, ColumnKind, Table, fit_columns, widest_cells};

/// Columns between two columns of a table.
const GUTTER: usize = 2;
/// The last column has at least this much room, or the others are not beside it.
const ROOM: usize = 24;

/// The rows of a table with its sums, and below them what it says about them.
pub fn rows(table: &Table, canvas: &Canvas) -> Vec<Line> {
    let columns: Vec<&Column> = table.columns.iter().filter(|c| c.is_shown()).collect();
    let cells = table.texts();
    let mut out = match cells.is_empty() {
        true => prose(&table.empty, canvas.style(Role::Text), canvas.columns),
        false => laid_out(&columns, cells, canvas),
    };
    for text in std::iter::once(&table.summary).chain(&table.remarks) {
        if !text.is_empty() {
            let style = canvas.style(Role::Faint);
            out.extend(prose(text.trim_end(), style, canvas.columns));
        }
    }
    out
}

fn laid_out(columns: &[&Column], mut rows: Vec<Vec<String>>, canvas: &Canvas) -> Vec<Line> {
    let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let measured = rows.iter().chain([&names]);
    let widest = widest_cells(measured.map(|row| row.iter().map(|cell| shown_width(cell))));
    align(columns, &widest, &mut rows);
    let least = |at: usize| match at + 1 == widest.len() {
        true => ROOM,
        false => usize::MAX,
    };
    let Ok(widths) = fit_columns(&widest, least, GUTTER, canvas.columns) else {
        let drawn = |row: &Vec<String>| match first_width(&widest, canvas.columns) {
            Some(width) => stepped(row, width, canvas),
            None => below(&names, row, canvas),
        };
        return rows.iter().flat_map(drawn).collect();
    };
    let mut out = Vec::new();
    if names.iter().any(|c| !c.is_empty()) {
        out.extend(beside(&names, &widths, Role::Faint, canvas));
    }
    for row in &rows {
        out.extend(beside(row, &widths, Role::Text, canvas));
    }
    out
}

/// Numbers stand below each other by their ends.
fn align(columns: &[&Column], widest: &[usize], rows: &mut [Vec<String>]) {
    for (at, (column, widest)) in columns.iter().zip(widest).enumerate() {
        match column.kind {
            ColumnKind::Number | ColumnKind::Time => {}
            ColumnKind::Text | ColumnKind::Prose | ColumnKind::Data => continue,
        }
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            let pad = widest.saturating_sub(shown_width(cell));
            cell.insert_str(0, &" ".repeat(pad));
        }
    }
}

/// Of two columns the first may take a part of the terminal, where that leaves room for the other.
fn first_width(widths: &[usize], columns: usize) -> Option<usize> {
    let width = columns * 2 / 5;
    let leaves_room = width + GUTTER + ROOM <= columns;
    (widths.len() == 2 && leaves_room).then_some(width)
}

/// Two cells beside each other; a first one that is too wide has a row of its own.
fn stepped(row: &[String], width: usize, canvas: &Canvas) -> Vec<Line> {
    let cell = |at: usize| row.get(at).map(String::as_str).unwrap_or_default();
    if shown_width(cell(0)) <= width {
        return beside(row, &[width, 0], Role::Text, canvas);
    }
    let mut out = text::wrap(&canvas.line(cell(0), Role::Text), canvas.columns);
    let rest = [String::new(), cell(1).to_owned()];
    out.extend(beside(&rest, &[width, 0], Role::Text, canvas));
    out
}

/// Of a cell as it is drawn: what cannot be seen is shown by a sign.
fn shown_width(cell: &str) -> usize {
    Line::plain(cell).width()
}

/// One row; its last cell may need several.
fn beside(row: &[String], widths: &[usize], role: Role, canvas: &Canvas) -> Vec<Line> {
    let (mut line, mut before) = (Line::default(), 0);
    for (at, width) in widths.iter().enumerate() {
        let cell = row.get(at).map(String::as_str).unwrap_or_default();
        if at + 1 == widths.len() {
            let room = canvas.columns.saturating_sub(before);
            let wrapped = text::wrap(&Line::new(cell, canvas.style(role)), room);
            return indent(wrapped, &line, &spaces(before));
        }
        let pad = width.saturating_sub(shown_width(cell)) + GUTTER;
        // Apart from its cell, whose last character may show in another way before a blank.
        line.push(canvas.span(cell, role));
        line.push(canvas.span(" ".repeat(pad), role));
        before += width + GUTTER;
    }
    vec![line]
}

/// The first cell, and the others below it with the names of their columns.
fn below(columns: &[String], row: &[String], canvas: &Canvas) -> Vec<Line> {
    let inner = canvas.narrower(GUTTER);
    let mut out = Vec::new();
    for (at, cell) in row.iter().enumerate() {
        if at == 0 {
            let line = canvas.line(cell, Role::Text);
            out.extend(text::wrap(&line, canvas.columns));
            continue;
        }
        let cell = cell.trim_start();
        if cell.is_empty() {
            continue;
        }
        let mut line = Line::default();
        if let Some(name) = columns.get(at).filter(|name| !name.is_empty()) {
            line.push(canvas.span(format!("{name}: "), Role::Faint));
        }
        line.push(canvas.span(cell, Role::Faint));
        let wrapped = text::wrap(&line, inner.columns);
        out.extend(indent(wrapped, &spaces(GUTTER), &spaces(GUTTER)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plain;
    use crate::theme::Theme;

    fn drawn(rows: &[Vec<String>], columns: usize, names: &[&str]) -> String {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        let table = Table::of_texts(names, rows.to_vec());
        let canvas = Canvas {
            columns,
            rows: 20,
            theme: Theme::default(),
        };
        let drawn = plain(&super::rows(&table, &canvas));
        let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    #[test]
    fn columns_stand_beside_each_other() {
        let rows = [
            ["/help [command]", "this list"],
            ["/mode", "show or change the mode of the session"],
        ];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        insta::assert_snapshot!(drawn(&rows, 44, &[]), @r"
        /help [command]  this list
        /mode            show or change the mode of
                         the session
        ");
        let wide = [
            "/memory [show|edit|archive|restore ID]",
            "what is remembered",
        ];
        let rows = [rows[1].clone(), wide.map(String::from).to_vec()];
        insta::assert_snapshot!(drawn(&rows, 50, &[]), @r"
        /mode                 show or change the mode of
                              the session
        /memory [show|edit|archive|restore ID]
                              what is remembered
        ");
    }

    #[test]
    fn on_a_narrow_terminal_they_stand_below_each_other() {
        let rows = [
            ["/help [command]", "this list"],
            ["/mode", "show or change the mode of the session"],
        ];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        insta::assert_snapshot!(drawn(&rows, 30, &["name", "what"]), @r"
        /help [command]
          what: this list
        /mode
          what: show or change the
          mode of the session
        ");
    }
}
