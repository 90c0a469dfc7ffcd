//! Lines of a text as rows of a cell: the first or the last so many, cut or folded, behind an indentation.

use super::MAX_OPEN_ROWS;
use crate::line::{Line, Style};
use crate::rows::{self, spaces};
use crate::theme::{Role, Theme};
use crate::{say, text};

pub const INDENT: usize = 2;
/// Bytes of a line that are looked at when it is cut to a row.
const MAX_CUT: usize = 4 * 1024;
/// Bytes of a line that is shown whole.
const MAX_LINE: usize = 8 * 1024;

/// The last `count` lines, one row each, below how many there are before them.
pub fn tail(text: &str, count: usize, style: Style, columns: usize, theme: &Theme) -> Vec<Line> {
    let total = text.lines().count();
    let hidden = total.saturating_sub(count);
    let mut out = Vec::new();
    if hidden > 0 {
        let note = say::folded_before(theme.language, hidden);
        out.push(cut(&note, theme.style(Role::Faint), columns));
    }
    let last = text.lines().skip(hidden);
    out.extend(last.map(|line| cut(line, style, columns)));
    out
}

/// The first `count` lines, wrapped, then how many more there are.
pub fn head(text: &str, count: usize, style: Style, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut out = Vec::new();
    let mut lines = text.lines();
    for line in lines.by_ref().take(count) {
        out.extend(text::wrap(
            &Line::new(rows::bounded(line, MAX_LINE), style),
            columns,
        ));
        if out.len() > MAX_OPEN_ROWS {
            break;
        }
    }
    let hidden = lines.count();
    if hidden > 0 {
        let note = say::folded_after(theme.language, hidden);
        let note = Line::new(note, theme.style(Role::Faint));
        out.push(text::cut(&note, columns));
    }
    out
}

/// The first and the last lines, wrapped, and how many there are between them.
pub fn ends(
    text: &str,
    (first, last): (usize, usize),
    style: Style,
    columns: usize,
    theme: &Theme,
) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.len().saturating_sub(last).max(first.min(lines.len()));
    let hidden = end.saturating_sub(first);
    let wrapped =
        |line: &&str| text::wrap(&Line::new(rows::bounded(line, MAX_LINE), style), columns);
    let mut out: Vec<Line> = lines.iter().take(first).flat_map(wrapped).collect();
    out.truncate(MAX_OPEN_ROWS);
    if hidden > 0 {
        let note = say::folded_after(theme.language, hidden);
        out.push(text::cut(
            &Line::new(note, theme.style(Role::Faint)),
            columns,
        ));
    }
    out.extend(lines.iter().skip(end).flat_map(wrapped).take(MAX_OPEN_ROWS));
    out
}

/// All lines, folded, as far as a cell goes.
pub fn all(text: &str, style: Style, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    for line in text.lines() {
        let line = Line::new(rows::bounded(line, MAX_LINE), style);
        let folded = rows::fold(&line, columns.saturating_sub(INDENT));
        out.extend(rows::indent(folded, &spaces(INDENT), &spaces(INDENT)));
        // One more than fits, so that the note about the rest is due.
        if out.len() > MAX_OPEN_ROWS {
            break;
        }
    }
    out
}

/// One line in one row, indented.
pub fn cut(line: &str, style: Style, columns: usize) -> Line {
    let line = Line::new(rows::head(line, MAX_CUT), style);
    rows::joined(
        &spaces(INDENT),
        text::cut(&line, columns.saturating_sub(INDENT)),
    )
}

pub fn note(text: String, theme: &Theme) -> Line {
    Line::new(
        format!("{}{text}", " ".repeat(INDENT)),
        theme.style(Role::Faint),
    )
}
