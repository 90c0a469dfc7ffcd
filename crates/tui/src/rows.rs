//! What cells do with rows once they have them: break them without losing a space, put something before them, keep so
//! many of them. Pure.

use crate::line::{Line, Style};
use crate::{links, say, text};
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// Narrower than this nothing is laid out: what does not fit is cut by whoever draws.
pub const MIN_COLUMNS: usize = 20;

/// Bytes of a remark.
const MAX_PROSE: usize = 4 * 1024;

/// Breaks a row of code or output at the last cell, keeping every space. Never empty.
pub fn fold(line: &Line, columns: usize) -> Vec<Line> {
    let columns = columns.max(2);
    let linked = links::found(line);
    let line = linked.as_ref().unwrap_or(line);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let (mut rows, mut row, mut used) = (Vec::new(), Line::default(), 0);
    for span in &line.spans {
        let mut piece = String::new();
        for grapheme in span.text().graphemes(true) {
            let wide = text::grapheme_width(grapheme);
            if used + wide > columns {
                if !piece.is_empty() {
                    row.push(span.part(std::mem::take(&mut piece), span.style));
                }
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            piece.push_str(grapheme);
            used += wide;
        }
        if !piece.is_empty() {
            row.push(span.part(piece, span.style));
        }
    }
    rows.push(row);
    rows
}

/// Rows with `first` before the first and `rest` before the others.
pub fn indent(rows: Vec<Line>, first: &Line, rest: &Line) -> Vec<Line> {
    let before = |at: usize| if at == 0 { first } else { rest };
    rows.into_iter()
        .enumerate()
        .map(|(at, row)| joined(before(at), row))
        .collect()
}

pub fn joined(before: &Line, row: Line) -> Line {
    before.spans.iter().cloned().chain(row.spans).collect()
}

pub fn spaces(count: usize) -> Line {
    match count {
        0 => Line::default(),
        count => Line::plain(" ".repeat(count)),
    }
}

/// Lines of a remark, each wrapped at spaces. It can be an error page of a server, so it is kept short.
pub fn prose(text: &str, style: Style, columns: usize) -> Vec<Line> {
    bounded(text, MAX_PROSE)
        .lines()
        .flat_map(|line| text::wrap(&Line::new(line, style), columns))
        .collect()
}

/// The same text, or the beginning of it and how much is missing.
pub fn bounded(text: &str, max_bytes: usize) -> Cow<'_, str> {
    let kept = head(text, max_bytes);
    match text.len() - kept.len() {
        0 => kept.into(),
        dropped => format!("{kept} {}", say::bytes_left_out(dropped)).into(),
    }
}

/// At most `max_bytes` of a text, ending between two characters.
pub fn head(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_spaces() {
        let rows = fold(&Line::plain("a    b    c"), 4);
        let texts: Vec<String> = rows.iter().map(Line::text).collect();
        assert_eq!(texts, ["a   ", " b  ", "  c"]);
        assert_eq!(fold(&Line::default(), 4).len(), 1);
    }

    #[test]
    fn a_head_ends_between_characters() {
        assert_eq!(head("aä", 2), "a");
        assert_eq!(head("aä", 9), "aä");
    }

    proptest::proptest! {
        #[test]
        fn folding_loses_nothing(text in ".{0,200}", columns in 2_usize..40) {
            let line = Line::plain(text);
            let rows = fold(&line, columns);
            let joined: String = rows.iter().map(Line::text).collect();
            proptest::prop_assert_eq!(joined, line.text());
            for row in rows {
                proptest::prop_assert!(row.width() <= columns);
            }
        }
    }
}
