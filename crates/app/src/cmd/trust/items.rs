//! Items of a project as rows that a person reads before trusting them. What an item grants is shown whole, with its line
//! breaks; what is too long for that is not trusted by a question.

use crate::output::visible;
use ostler_config::text::Speak as _;
use ostler_config::trust::Item;
use ostler_wire::{Language, Word};
use unicode_width::UnicodeWidthChar;

/// Rows of one item that a person reads before a yes.
const MAX_ROWS: usize = 60;
/// Rows of the prose of a role or skill.
const MAX_PROSE_ROWS: usize = 20;
/// Columns of a row; a longer line goes on in the next.
const ROW_WIDTH: usize = 100;
/// Before a row that begins a line of the text, and before one that goes on with it.
const BREAK: &str = "⏎ ";
const FOLD: &str = "↪ ";
/// Digits of a hash that name an item.
const HASH_DIGITS: usize = 16;

/// What of an item is shown, row by row.
pub fn rows_of(item: &Item, language: Language) -> Vec<String> {
    let text = item.text.say(language);
    let grants = rows(&text);
    if grants.len() > MAX_ROWS {
        let more = grants.len() - MAX_ROWS;
        let place = &item.place.name;
        let mut shown: Vec<String> = grants.into_iter().take(MAX_ROWS).collect();
        shown.push(language.filled(Word::TrustLongRows, &[&more, place]));
        return shown;
    }
    let prose = match item.prose.is_empty() {
        true => Vec::new(),
        false => rows(&item.prose),
    };
    let more = prose.len().saturating_sub(MAX_PROSE_ROWS);
    let is_bare = text.is_empty();
    let grants = grants.into_iter().filter(|_| !is_bare);
    let first = usize::from(!is_bare);
    let prose = prose.into_iter().take(MAX_PROSE_ROWS).enumerate();
    let prose = prose.map(|(at, row)| match at < first {
        true => format!("{BREAK}{row}"),
        false => row,
    });
    let mut shown: Vec<String> = grants.chain(prose).collect();
    if more > 0 {
        shown.push(language.filled(Word::TrustMoreProse, &[&more, &item.place.name]));
    }
    shown
}

/// Whether what an item grants cannot be shown.
pub fn is_too_long(item: &Item, language: Language) -> bool {
    rows(&item.text.say(language)).len() > MAX_ROWS
}

/// The name by which an item that cannot be shown is trusted.
pub fn short_hash(item: &Item) -> &str {
    item.hash.get(..HASH_DIGITS).unwrap_or(&item.hash)
}

/// Whether the person gave the hash of this item.
pub fn is_named(item: &Item, hashes: &[String]) -> bool {
    let names = |hash: &String| hash.len() >= HASH_DIGITS && item.hash.starts_with(hash.as_str());
    hashes.iter().any(names)
}

/// A text on one row, its line breaks visible.
pub fn one_row(text: &str) -> String {
    rows(text).join(" ")
}

/// The lines of a text, folded, with all characters visible.
fn rows(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mark = if at == 0 { "" } else { BREAK };
        let shown = visible(&plain_blanks(line));
        for (n, piece) in fold(&shown).into_iter().enumerate() {
            let mark = if n == 0 { mark } else { FOLD };
            out.push(format!("{mark}{piece}"));
        }
    }
    out
}

/// Blanks that look like one and are none are named.
fn plain_blanks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => out.push(' '),
            ' ' => out.push(c),
            c if c.is_whitespace() && !c.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Pieces that fit into a row.
fn fold(line: &str) -> Vec<String> {
    let (mut out, mut width) = (vec![String::new()], 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if width + wide > ROW_WIDTH {
            out.push(String::new());
            width = 0;
        }
        width += wide;
        if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_config::tree::Place;

    fn place() -> Place {
        Place {
            name: "x.md".into(),
            position: None,
        }
    }

    fn shown(text: &str) -> Vec<String> {
        rows_of(
            &Item::new("x".into(), place(), text, text),
            Language::English,
        )
    }

    #[test]
    fn nothing_is_hidden_by_blanks_breaks_or_turns() {
        assert_eq!(
            shown("true # a\nevil\u{202e}\u{a0}x\r\nend\u{2028}y\u{7}"),
            ["true # a", "⏎ evil\\u202e\\u00a0x", "⏎ end\\u2028y^G"]
        );
        let long = format!("true #{}; evil", " ".repeat(200));
        assert_eq!(shown(&long).concat().replace(FOLD, ""), long);
        assert_eq!(shown(&long).len(), 3);
    }

    #[test]
    fn what_grants_is_whole_or_not_trusted() {
        for (lines, is_long) in [(1, false), (MAX_ROWS, false), (MAX_ROWS + 1, true)] {
            let text = vec!["line"; lines].join("\n");
            let item = Item::new("x".into(), place(), text.as_str(), &text);
            assert_eq!(is_too_long(&item, Language::English), is_long, "{lines}");
        }
        let wide = "x".repeat(MAX_ROWS * ROW_WIDTH + 1);
        assert!(is_too_long(
            &Item::new("x".into(), place(), wide.as_str(), &wide),
            Language::English
        ));
    }

    #[test]
    fn prose_is_cut_and_what_it_runs_is_not() {
        let about = "word ".repeat(1000);
        let body = "prose\n".repeat(100);
        let text =
            format!("---\ndescription: {about}\nallowed-tools: Bash\n---\n{body}!`run\nthis`\n");
        let item = Item::of_file("x".into(), place(), &text);
        let rows = rows_of(&item, Language::English);
        assert!(!is_too_long(&item, Language::English), "{rows:?}");
        for row in ["⏎ allowed-tools: Bash", "⏎ !`run", "⏎ this`"] {
            assert!(rows.iter().any(|shown| shown == row), "{row} {rows:?}");
        }
        assert!(rows.last().unwrap().contains("82"), "{rows:?}");
        let item = Item::of_file("x".into(), place(), "only\nprose");
        assert_eq!(rows_of(&item, Language::English), ["only", "⏎ prose"]);
    }
}
