//! Views as plain text: columns aligned by what characters occupy on a terminal, and nothing in them that drives one.

use super::View;
use super::layout::{fit_columns, widest_cells};
use super::table::{Column, ColumnKind, Row, Table};
use crate::tricky::marked;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const GAP: &str = "  ";
/// A column that gives way never gets narrower than this.
const MIN_PROSE: usize = 12;

impl View {
    /// What people read; nothing for a deed. Without a width nothing is cut.
    pub fn plain(&self, width: Option<usize>) -> String {
        match self {
            View::Text(text) | View::Error(text) | View::Diff(text) => ended(visible(text)),
            View::Report(report) => ended(visible(&report.text)),
            View::Table(table) => table.plain(width),
            View::Group(views) => {
                let texts = views.iter().map(|view| view.plain(width));
                texts
                    .filter(|t| !t.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            View::List(list) => {
                let line = |(label, detail): (&str, &str)| one_line(&format!("{label}  {detail}"));
                let items = list
                    .items
                    .iter()
                    .map(|i| (i.label.as_str(), i.detail.as_str()));
                items.map(|item| line(item) + "\n").collect()
            }
            View::Completion(completion) => {
                let items = completion.items.iter();
                items
                    .map(|item| one_line(&format!("@{}", item.insert)) + "\n")
                    .collect()
            }
            View::Do(_) => String::new(),
        }
    }
}

impl Table {
    /// A header, the rows below it, sums and a summary.
    pub fn plain(&self, width: Option<usize>) -> String {
        if self.rows.is_empty() && self.sums.is_empty() {
            return ended(visible(&self.empty)) + &ended(visible(&self.summary));
        }
        let columns: Vec<&Column> = self.columns.iter().filter(|c| c.is_shown()).collect();
        let texts = |row: &Row| self.shown(row).map(one_line).collect();
        let head: Vec<String> = columns.iter().map(|c| c.name.to_uppercase()).collect();
        let named = head.iter().any(|name| !name.is_empty());
        let head = named.then_some(head);
        let rows = self.rows.iter().chain(&self.sums).map(texts);
        let lines: Vec<Vec<String>> = head.into_iter().chain(rows).collect();
        let kind = |at: usize| {
            columns
                .get(at)
                .map_or(ColumnKind::Text, |column| column.kind)
        };
        let least = |at: usize| match kind(at) {
            ColumnKind::Prose => MIN_PROSE,
            ColumnKind::Text | ColumnKind::Number | ColumnKind::Time | ColumnKind::Data => {
                usize::MAX
            }
        };
        let widest = widest_cells(lines.iter().map(|line| line.iter().map(|t| t.width())));
        let room = width.unwrap_or(usize::MAX);
        // Where nothing more can be cut, the terminal breaks the lines.
        let widths = fit_columns(&widest, least, GAP.len(), room).unwrap_or_else(|least| least);
        let mut out = String::new();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (text, width))| match kind(at) {
                ColumnKind::Text | ColumnKind::Data => pad_to_width(text, *width),
                ColumnKind::Number | ColumnKind::Time => format!("{}{text}", spaces(text, *width)),
                ColumnKind::Prose => pad_to_width(&cut_to_width(text, *width), *width),
            });
            let line: Vec<String> = cells.collect();
            out.push_str(line.join(GAP).trim_end());
            out.push('\n');
        }
        out + &ended(visible(&self.summary))
    }

    /// What people read in each row, the sums last.
    pub fn texts(&self) -> Vec<Vec<String>> {
        let texts = |row: &Row| self.shown(row).map(str::to_owned).collect();
        self.rows.iter().chain(&self.sums).map(texts).collect()
    }

    fn shown<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a str> {
        let shown = |at: usize| self.columns.get(at).is_none_or(Column::is_shown);
        let cells = row
            .cells
            .iter()
            .enumerate()
            .filter(move |(at, _)| shown(*at));
        cells.map(|(_, cell)| cell.text.as_str())
    }
}

/// The text in at most so many columns, marked where it was cut.
pub fn cut_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let beginning: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used < width
        })
        .collect();
    beginning + "…"
}

/// The text with blanks behind it, in so many columns.
pub fn pad_to_width(text: &str, width: usize) -> String {
    format!("{text}{}", spaces(text, width))
}

fn spaces(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

fn ended(text: String) -> String {
    match text.is_empty() || text.ends_with('\n') {
        true => text,
        false => text + "\n",
    }
}

/// Control characters as they are named, line breaks and tabs kept.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = marked(text).peekable();
    while let Some((c, is_tricky)) = letters.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if letters.peek().is_some_and(|(next, _)| *next == '\n') => {}
            '\0'..='\u{1f}' => {
                out.push('^');
                out.push(char::from_u32(u32::from(c) + 0x40).unwrap_or('?'));
            }
            c if is_tricky => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    let flat: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    visible(flat.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Cell;

    /// Drawn, with the combining accent joined to its letter so that it can be seen here.
    fn drawn(width: Option<usize>) -> String {
        let columns = vec![
            Column::new(ColumnKind::Text, "id", "id"),
            Column::data("hidden"),
            Column::new(ColumnKind::Number, "turns", "turns"),
            Column::new(ColumnKind::Prose, "title", "title"),
        ];
        let rows = [
            ["a", "h", "1", "修复解析器的错误"],
            ["bcd", "h", "123456", "cafe\u{301} and more"],
            ["e", "h", "", ""],
        ];
        let rows = rows.map(|row| Row::new(row.map(Cell::text).to_vec()));
        let table = Table::new(columns, rows.to_vec());
        table.plain(width).replace("e\u{301}", "é")
    }

    #[test]
    fn rows_of_any_length_align() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect();
        let rows = vec![row(&["会话", "1", "x"]), row(&["ab"]), row(&["", "22"])];
        let table = Table::of_texts(Vec::new(), rows);
        assert_eq!(table.plain(None), "会话  1   x\nab\n      22\n");
    }

    #[test]
    fn columns_align_by_what_is_seen() {
        let expect =
            "ID    TURNS  TITLE\na         1  修复解析器的错误\nbcd  123456  café and more\ne\n";
        assert_eq!(drawn(None), expect);
    }

    #[test]
    fn a_narrow_terminal_cuts_the_prose() {
        let expect =
            "ID    TURNS  TITLE\na         1  修复解析器的…\nbcd  123456  café and more\ne\n";
        assert_eq!(drawn(Some(27)), expect);
        let narrow = drawn(Some(1));
        assert!(narrow.contains("修复解析器…"), "{narrow}");
    }

    #[test]
    fn nothing_drives_the_terminal() {
        for (text, expect) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}]0;title\u{7}", "^[[31mred^[]0;title^G"),
            ("a\r\nb\rc", "a\nb^Mc"),
            ("\u{9b}31m\u{7f}\0", "\\u009b31m\\u007f^@"),
            ("a\u{202e}b", "a\\u202eb"),
            ("标题 é 👍🏽", "标题 é 👍🏽"),
        ] {
            assert_eq!(visible(text), expect);
        }
        assert_eq!(one_line(" a\n\tb\u{1b}\u{2028}c "), "a  b^[ c");
        let table = Table::of_texts(Vec::new(), vec![vec!["a\u{1b}\nb".into()]]);
        assert_eq!(table.plain(None), "a^[ b\n");
    }
}
