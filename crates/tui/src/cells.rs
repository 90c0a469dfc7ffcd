//! How many cells a text takes on a terminal, and the text with what a terminal would act upon made visible. Pure.

use ostler_wire::{is_plain, marked};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns a tab leads to the next multiple of, where a text has any.
pub const TAB: usize = 4;

/// Cells that a text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Cells of one grapheme: a cluster is never wider than two.
pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [byte] if byte.is_ascii() => 1,
        _ => grapheme.width().min(2),
    }
}

/// The text with everything a terminal would act upon, or that would reorder or hide what is around it, made visible.
/// Tabs become spaces; a line break cannot be in a row and becomes a sign.
pub fn visible(text: String) -> String {
    if is_plain(&text) && !text.contains(['\n', '\t']) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = marked(&text).peekable();
    while let Some((c, is_tricky)) = rest.next() {
        match c {
            '\t' => out.push_str(&" ".repeat(TAB)),
            '\n' => out.push('⏎'),
            // As a part of a line's end it is nothing to see; elsewhere it would hide that it is there.
            '\r' if rest.peek().is_none_or(|(next, _)| *next == '\n') => {}
            '\u{7f}' => out.push('␡'),
            c if c.is_ascii_control() => {
                out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'));
            }
            _ if is_tricky => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
