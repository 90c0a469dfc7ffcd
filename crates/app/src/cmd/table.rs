//! Aligned columns for the terminal, measured by what characters occupy there. Cells are text without control characters.

use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const GAP: &str = "  ";
/// A column that gives way never gets narrower than this.
const MIN_FLEXIBLE: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Left(&'static str),
    Right(&'static str),
    /// Cut so that the line fits the terminal.
    Flexible(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Column::Left(name) | Column::Right(name) | Column::Flexible(name) => name,
        }
    }
}

/// The columns of the terminal on stdout, when there is one.
pub fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// A header and the rows below it. Without a width nothing is cut.
pub fn render(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let header: Vec<String> = columns.iter().map(|c| c.name().to_uppercase()).collect();
    let cell =
        |row: &[String], i: usize| row.get(i).map(String::as_str).unwrap_or_default().width();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|i| {
            rows.iter()
                .map(|row| cell(row, i))
                .chain([cell(&header, i)])
                .max()
                .unwrap_or(0)
        })
        .collect();
    if let Some(width) = width {
        shrink(columns, &mut widths, width);
    }
    let mut out = String::new();
    for row in std::iter::once(&header).chain(rows) {
        let cells = columns
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(i, (column, width))| {
                let text = row.get(i).map(String::as_str).unwrap_or_default();
                match column {
                    Column::Left(_) => pad(text, *width),
                    Column::Right(_) => format!("{}{text}", spaces(text, *width)),
                    Column::Flexible(_) => pad(&cut(text, *width), *width),
                }
            });
        let line: Vec<String> = cells.collect();
        out.push_str(line.join(GAP).trim_end());
        out.push('\n');
    }
    out
}

/// The text in at most so many columns, marked where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used < width
        })
        .collect();
    kept + "…"
}

pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", spaces(text, width))
}

fn spaces(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

/// Takes from the flexible columns what the line is too wide.
fn shrink(columns: &[Column], widths: &mut [usize], width: usize) {
    let gaps = GAP.len() * columns.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    for (column, width) in columns.iter().zip(widths) {
        if matches!(column, Column::Flexible(_)) {
            let room = width.saturating_sub(MIN_FLEXIBLE).min(over);
            *width -= room;
            over -= room;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column::Left("id"),
        Column::Right("turns"),
        Column::Flexible("title"),
    ];

    /// Drawn, with the combining accent joined to its letter so that it can be seen here.
    fn drawn(width: Option<usize>) -> String {
        render(&COLUMNS, &rows(), width).replace("e\u{301}", "é")
    }

    fn rows() -> Vec<Vec<String>> {
        [
            ["a", "1", "修复解析器的错误"],
            ["bcd", "123456", "cafe\u{301} and more"],
            ["e", "", ""],
        ]
        .map(|row| row.map(str::to_owned).to_vec())
        .to_vec()
    }

    #[test]
    fn columns_align_by_what_is_seen() {
        insta::assert_snapshot!(drawn(None), @r"
        ID    TURNS  TITLE
        a         1  修复解析器的错误
        bcd  123456  café and more
        e
        ");
    }

    #[test]
    fn a_narrow_terminal_cuts_the_flexible_column() {
        insta::assert_snapshot!(drawn(Some(27)), @r"
        ID    TURNS  TITLE
        a         1  修复解析器的…
        bcd  123456  café and more
        e
        ");
        let narrow = drawn(Some(1));
        assert!(narrow.contains("修复解析器…"), "{narrow}");
    }
}
