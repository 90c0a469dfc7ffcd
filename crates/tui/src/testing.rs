//! For tests: rows as text in which styles can be seen.

use crate::line::{Color, Line, Span, Style};
use std::fmt::Write;

/// One row per line; what is not plain stands in `⟨style|text⟩`.
pub fn marked(rows: &[Line]) -> String {
    let mut out = String::new();
    for row in rows {
        row.spans.iter().for_each(|span| mark(span, &mut out));
        out.push('\n');
    }
    out
}

/// Rows without their styles.
pub fn plain(rows: &[Line]) -> String {
    rows.iter().map(|row| row.text() + "\n").collect()
}

fn mark(span: &Span, out: &mut String) {
    match style(span.style).as_str() {
        "" => out.push_str(span.text()),
        style => {
            let _ = write!(out, "⟨{style}|{}⟩", span.text());
        }
    }
}

fn style(style: Style) -> String {
    let mut out = String::new();
    for (is_on, letter) in [
        (style.bold, 'b'),
        (style.dim, 'd'),
        (style.italic, 'i'),
        (style.underline, 'u'),
        (style.strike, 's'),
        (style.reverse, 'r'),
    ] {
        if is_on {
            out.push(letter);
        }
    }
    for (color, sign) in [(style.fg, ""), (style.bg, "on")] {
        let _ = match color {
            Some(Color::Ansi(n)) => write!(out, "{sign}{n}"),
            Some(Color::Indexed(n)) => write!(out, "{sign}i{n}"),
            Some(Color::Rgb(r, g, b)) => write!(out, "{sign}#{r:02x}{g:02x}{b:02x}"),
            None => Ok(()),
        };
    }
    out
}
