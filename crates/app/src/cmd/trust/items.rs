//! Items of a project as rows that a person reads before trusting them. What an item grants is shown whole, with its line
//! breaks; what is too long for that is not trusted by a question.

use crate::output::visible;
use ostler_config::text::Speak as _;
use ostler_config::trust::Item;
use ostler_wire::{Language, Word, count_blanks};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows of one item that a person reads before a yes.
const MAX_ROWS: usize = 60;
/// Rows of the prose of a role or skill.
const MAX_PROSE_ROWS: usize = 20;
/// Columns of a row where no terminal says how wide it is; a longer line goes on in the next.
const ROW_WIDTH: usize = 100;
/// The least columns of the text of an item, and those between two columns.
const LEAST_WIDTH: usize = 6;
const GAP: usize = 2;
/// Before a row that begins a line of the text, and before one that goes on with it.
const BREAK: &str = "⏎ ";
const FOLD: &str = "↪ ";
/// Digits of a hash that name an item.
const HASH_DIGITS: usize = 16;

/// How wide the columns of the list are. A cell that is wider goes on in the next row, where it is marked: it must not reach
/// the first column of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub what: usize,
    pub place: usize,
    pub text: usize,
}

impl Layout {
    /// For a terminal of so many columns, if there is one; `mark` columns stand before the items.
    pub fn new(width: Option<usize>, mark: usize) -> Self {
        let Some(width) = width else {
            return Self {
                what: usize::MAX,
                place: usize::MAX,
                text: ROW_WIDTH,
            };
        };
        let side = (width / 4).max(LEAST_WIDTH);
        let marks = mark + 3 * (GAP + BREAK.width());
        let left = width.saturating_sub(2 * side + marks);
        Self {
            what: side,
            place: side,
            text: left.clamp(LEAST_WIDTH, ROW_WIDTH),
        }
    }
}

/// What of an item is shown, row by row.
pub fn rows_of(item: &Item, width: usize, language: Language) -> Vec<String> {
    let text = item.text.say(language);
    let grants = rows(&text, width);
    if is_too_long(item, language) {
        let more = grants.len().saturating_sub(MAX_ROWS);
        let place = &item.place.name;
        let mut shown: Vec<String> = grants.into_iter().take(MAX_ROWS).collect();
        shown.push(language.filled(Word::TrustLongRows, &[&more, place]));
        return shown;
    }
    let prose = match item.prose.is_empty() {
        true => Vec::new(),
        false => rows(&item.prose, width),
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
    rows(&item.text.say(language), ROW_WIDTH).len() > MAX_ROWS
}

/// The name by which an item that cannot be shown is trusted.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

/// Whether the person gave this hash.
pub fn is_named(hash: &str, given: &[String]) -> bool {
    let names = |one: &String| one.len() >= HASH_DIGITS && hash.starts_with(one.as_str());
    given.iter().any(names)
}

/// A text on one row, its line breaks visible.
pub fn one_row(text: &str) -> String {
    rows(text, usize::MAX).join(" ")
}

/// The lines of a text, folded, with all characters visible.
fn rows(text: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mark = if at == 0 { "" } else { BREAK };
        let shown = visible(&count_blanks(&plain_blanks(line)));
        let mut pieces = folded(&shown, width).into_iter();
        out.extend(pieces.next().map(|first| format!("{mark}{first}")));
        out.extend(pieces);
    }
    out
}

/// A line in pieces that fit; those that go on with it are marked.
pub fn folded(line: &str, width: usize) -> Vec<String> {
    let pieces = fold(line, width).into_iter().enumerate();
    let marked = pieces.map(|(n, piece)| match n {
        0 => piece,
        _ => format!("{FOLD}{piece}"),
    });
    marked.collect()
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
fn fold(line: &str, columns: usize) -> Vec<String> {
    let (mut out, mut width) = (vec![String::new()], 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if width + wide > columns {
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
            ROW_WIDTH,
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
        assert_eq!(shown(&long), ["true # ·×200 ; evil"]);
        let wide = format!("true #{}; evil", "x".repeat(200));
        assert_eq!(shown(&wide).concat().replace(FOLD, ""), wide);
        assert_eq!(shown(&wide).len(), 3);
    }

    #[test]
    fn what_grants_is_whole_or_not_trusted() {
        for (lines, is_long) in [(1, false), (MAX_ROWS, false), (MAX_ROWS + 1, true)] {
            let text = vec!["line"; lines].join("\n");
            let item = Item::new("x".into(), place(), text.as_str(), &text);
            assert_eq!(is_too_long(&item, Language::English), is_long, "{lines}");
        }
        // What stands behind many blanks is beside what stands before them, on the same row.
        let hidden = format!("true{}; touch EVIL", " ".repeat(3000));
        assert_eq!(one_row(&hidden), "true ·×3000 ; touch EVIL");
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
        let rows = rows_of(&item, ROW_WIDTH, Language::English);
        assert!(!is_too_long(&item, Language::English), "{rows:?}");
        for row in ["⏎ allowed-tools: Bash", "⏎ !`run", "⏎ this`"] {
            assert!(rows.iter().any(|shown| shown == row), "{row} {rows:?}");
        }
        assert!(rows.last().unwrap().contains("82"), "{rows:?}");
        let item = Item::of_file("x".into(), place(), "only\nprose");
        assert_eq!(
            rows_of(&item, ROW_WIDTH, Language::English),
            ["only", "⏎ prose"]
        );
    }
}
