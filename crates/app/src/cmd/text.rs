//! How the utilities print: results to stdout, remarks to stderr, sizes and ages for people, and nothing from a log that
//! drives the terminal.

use crate::speech::spoken;
use anyhow::Context as _;
use jiff::Timestamp;
use ostler_engine::redact::Redactor;
use ostler_wire::{Word, marked};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

/// Characters of an id that people type.
const SHORT_ID: usize = 8;
/// Older things show their date.
const MAX_DAYS: i64 = 99;

/// Writes a result to stdout. A reader that went away is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context(spoken(Word::NoStdout)),
    }
}

/// Takes the secrets that this process has come to know out of what it says beside its sessions.
pub fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);
    &REDACTOR
}

/// Writes text that came from a model or a file: as it is through a pipe, with its control characters visible on a terminal.
pub fn print_foreign(text: &str) -> anyhow::Result<()> {
    let text = redactor().text(text.to_owned());
    if io::stdout().is_terminal() {
        print(&visible(&text))
    } else {
        print(&text)
    }
}

pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_foreign(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// A remark on stderr. Nobody there to read it is no error.
pub fn say(text: &str) {
    let text = redactor().text(text.to_owned());
    let _ = writeln!(io::stderr(), "{}", visible(&text));
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

pub fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// How long ago, in one unit.
pub fn age(ts: &str, now: Timestamp) -> String {
    let Ok(then) = ts.parse::<Timestamp>() else {
        return "–".into();
    };
    let minutes = (now.as_second() - then.as_second()).max(0) / 60;
    match (minutes, minutes / 60, minutes / 60 / 24) {
        (0, _, _) => spoken(Word::AgeNow).into(),
        (minutes, 0, _) => format!("{minutes}m"),
        (_, hours, 0) => format!("{hours}h"),
        (_, _, days) if days <= MAX_DAYS => format!("{days}d"),
        (_, _, _) => ts.get(..10).unwrap_or(ts).to_owned(),
    }
}

pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{:.1} {unit}", bytes as f64 / *factor as f64),
        None => format!("{bytes} B"),
    }
}

/// USD, or a dash when the price is not known.
pub fn cost(usd: Option<f64>) -> String {
    usd.map_or_else(|| "–".into(), |usd| format!("${usd:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn numbers_for_people() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (ts, expect) in [
            ("2026-11-15T11:59:30.123Z", "now"),
            ("2026-11-15T13:00:00Z", "now"),
            ("2026-11-15T11:01:00Z", "59m"),
            ("2026-11-15T11:00:00Z", "1h"),
            ("2026-11-14T11:00:00Z", "1d"),
            ("2026-01-01T00:00:00Z", "2026-01-01"),
            ("", "–"),
            ("yesterday", "–"),
        ] {
            assert_eq!(age(ts, now), expect, "{ts}");
        }
        for (bytes, expect) in [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.5 kB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(size(bytes), expect);
        }
    }
}
