//! Runs of blanks as a count. A line that goes on behind three thousand spaces looks as if it ended before them, so what a
//! person is to approve shows such a run as `·×3000`.

use std::borrow::Cow;
use std::fmt::Write;

/// Blanks in a row that are shown as they are. Indentation and aligned columns stay below it.
const MAX_RUN: usize = 40;

/// The text with long runs of blanks within a line replaced by their count.
pub fn count_blanks(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((from, first)) = chars.next() {
        if !is_blank(first) {
            continue;
        }
        let (mut run, mut end) = (1, from + first.len_utf8());
        while let Some((at, c)) = chars.next_if(|(_, c)| is_blank(*c)) {
            (run, end) = (run + 1, at + c.len_utf8());
        }
        if run > MAX_RUN {
            out.push_str(text.get(copied..from).unwrap_or_default());
            let _ = write!(out, " ·×{run} ");
            copied = end;
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// White space within a line, and letters that are drawn as nothing.
fn is_blank(c: char) -> bool {
    let breaks_line = matches!(c, '\n' | '\r');
    let is_empty_letter = matches!(
        c,
        '\u{2800}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
    );
    (c.is_whitespace() && !breaks_line) || is_empty_letter
}

#[cfg(test)]
mod tests {
    use super::count_blanks;

    #[test]
    fn what_stands_behind_blanks_is_next_to_what_stands_before() {
        let wide = |blank: &str, times: usize| format!("a{}b\nc", blank.repeat(times));
        for (text, expect) in [
            (wide(" ", 3_000), "a ·×3000 b\nc".to_owned()),
            (wide("\t", 41), "a ·×41 b\nc".to_owned()),
            (wide("\u{3000}\u{2800}", 50), "a ·×100 b\nc".to_owned()),
            (wide(" ", 40), wide(" ", 40)),
            (wide("\n", 100), wide("\n", 100)),
            (" ".repeat(50), " ·×50 ".to_owned()),
            (String::new(), String::new()),
        ] {
            assert_eq!(count_blanks(&text), expect);
        }
    }
}
