//! A finished call on one line, with foreign text made safe for a terminal.

use ostler_tui::cell::Summary;
use ostler_wire::printable;

/// Characters of what a call is about.
const MAX_SUBJECT: usize = 80;
/// Characters of the line of its result.
const MAX_RESULT: usize = 120;

/// What it did, and the rest of the line.
pub fn one_line(summary: &Summary) -> (String, String) {
    let Summary {
        head,
        subject,
        facts,
        result,
        ..
    } = summary;
    let mut rest = String::new();
    if !subject.is_empty() {
        rest.push(' ');
        rest.push_str(&shorten(subject, MAX_SUBJECT));
    }
    rest.push_str(&printable(facts));
    if !result.trim().is_empty() {
        rest.push_str("  ");
        rest.push_str(&shorten(result.trim(), MAX_RESULT));
    }
    (printable(head), rest.trim_end().to_owned())
}

fn shorten(text: &str, most: usize) -> String {
    let flat = printable(text);
    match flat.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", flat.get(..at).unwrap_or_default()),
        None => flat,
    }
}
