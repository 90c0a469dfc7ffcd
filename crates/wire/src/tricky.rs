//! Characters that do something else than show themselves. Text of models, files and servers may have them; what is shown
//! to a person may not. How they are made visible is up to who shows it.
//! Some are tricky only where they stand: a joiner belongs into an emoji or into scripts that are written with it, a mark
//! onto a letter.

use std::borrow::Cow;
use std::fmt::Write;
use std::str::Chars;
use unicode_width::UnicodeWidthChar;

/// Marks that one letter may carry. No language needs as many; more of them reach into other rows.
const MAX_MARKS: usize = 8;
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
const BLACK_FLAG: char = '\u{1f3f4}';
/// What follows a black flag in the only flags that are spelled with hidden letters.
const TAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// The characters of a text, and whether each is tricky where it stands: it drives a terminal, turns the reading direction,
/// cannot be seen at all, or has nothing to join or to stand on. Line breaks and tabs are not.
pub fn marked(text: &str) -> Marked<'_> {
    Marked {
        rest: text.chars(),
        before: None,
        base: false,
        marks: 0,
        tags: 0,
        is_piece: false,
    }
}

/// The same for a piece of a text that is shown as it comes: what its ends need may be in the pieces around it.
pub fn marked_piece(text: &str) -> Marked<'_> {
    Marked {
        base: true,
        is_piece: true,
        ..marked(text)
    }
}

/// Whether nothing in a text is tricky.
pub fn is_plain(text: &str) -> bool {
    // Most characters are plain wherever they stand.
    let is_suspect = |c: char| is_tricky(c) || is_joiner(c) || is_zero_wide(c);
    !text.contains(is_suspect) || marked(text).all(|(_, is_tricky)| !is_tricky)
}

/// The text without what is tricky.
pub fn untricked(text: &str) -> String {
    let kept = marked(text).filter(|(_, is_tricky)| !is_tricky);
    kept.map(|(c, _)| c).collect()
}

/// A text in JSON with what is tricky written as escapes. It means the same, and drives no terminal.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_suspect = |c: char| is_tricky(c) && !c.is_ascii_whitespace();
    if !json.contains(is_suspect) && is_plain(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for (c, is_hidden) in marked(json) {
        // What is ASCII and not printable is escaped in JSON already, but for DEL.
        match is_hidden && (!c.is_ascii() || c == '\u{7f}') {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[derive(Clone, Debug)]
pub struct Marked<'a> {
    rest: Chars<'a>,
    before: Option<char>,
    /// There is something for a mark to stand on.
    base: bool,
    marks: usize,
    /// Hidden letters of a flag that are still to come.
    tags: usize,
    is_piece: bool,
}

impl Iterator for Marked<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let c = self.rest.next()?;
        let is_tricky = self.is_tricky(c);
        (self.base, self.marks) = match c {
            '\n' | '\t' => (false, 0),
            _ if is_tricky => (false, 0),
            c if is_zero_wide(c) => (self.base, self.marks + 1),
            _ => (true, 0),
        };
        self.before = Some(c).filter(|_| self.base);
        Some((c, is_tricky))
    }
}

impl Marked<'_> {
    fn is_tricky(&mut self, c: char) -> bool {
        if self.tags > 0 {
            self.tags -= 1;
            return false;
        }
        match c {
            c if is_tricky(c) => true,
            BLACK_FLAG => {
                let rest = self.rest.as_str();
                let flag = TAGS.iter().find(|tags| rest.starts_with(**tags));
                self.tags = flag.map_or(0, |tags| tags.chars().count());
                false
            }
            JOINER | NON_JOINER => !self.joins(c),
            c if is_selector(c) => !self.selects(c),
            c if is_later_jamo(c) => !self.before.map_or(self.is_piece && self.base, is_hangul),
            c if is_zero_wide(c) => !self.base || self.marks >= MAX_MARKS,
            _ => false,
        }
    }

    fn joins(&self, joiner: char) -> bool {
        let Some(before) = self.before else {
            return self.is_piece && self.base;
        };
        let is_picture = || {
            let next = self.rest.clone().next();
            (is_picture(before) || before == '\u{fe0f}') && next.map_or(self.is_piece, is_picture)
        };
        is_joined_script(before) || (joiner == JOINER && is_picture())
    }

    fn selects(&self, selector: char) -> bool {
        match self.before {
            None => self.is_piece && self.base,
            Some('0'..='9' | '#' | '*') => matches!(selector, '\u{fe0e}' | '\u{fe0f}'),
            Some(before) => !before.is_ascii() && !is_selector(before) && !before.is_whitespace(),
        }
    }
}

/// Tricky wherever it stands.
fn is_tricky(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_ascii() => c.is_ascii_control(),
        c => c.is_control() || is_turning(c) || is_invisible(c),
    }
}

fn is_turning(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}' | '\u{2028}'
        | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, JOINER | NON_JOINER)
}

/// Chooses between forms of what stands before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// Marks, selectors and what else takes no cell of its own.
fn is_zero_wide(c: char) -> bool {
    // Below are letters, and these are the bulk of the rest.
    let is_letter = c < '\u{300}' || matches!(c, '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    !is_letter && c.width() == Some(0)
}

/// Second and third parts of a syllable, which take a cell only with its first.
fn is_later_jamo(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7ff}')
}

/// Emoji and what they are made of.
fn is_picture(c: char) -> bool {
    matches!(c,
        '©' | '®' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Of scripts in which joiners change how letters are written.
fn is_joined_script(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1b00}'..='\u{1bff}' | '\u{a840}'..='\u{a87f}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10ac0}'..='\u{11fff}')
}

/// Control and hidden characters made visible, so that nothing from a model or a file drives the terminal.
pub fn printable(text: &str) -> String {
    printable_block(text).replace(['\n', '\t'], " ")
}

/// The same over several lines.
pub fn printable_block(text: &str) -> String {
    shown(marked(text))
}

/// The same for what is printed as it comes.
pub fn printable_piece(text: &str) -> String {
    shown(marked_piece(text))
}

fn shown(marked: Marked<'_>) -> String {
    marked
        .map(|(c, is_tricky)| if is_tricky { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `?` in place of what is tricky.
    fn seen(text: &str) -> String {
        let shown = marked(text).map(|(c, is_tricky)| if is_tricky { '?' } else { c });
        let shown: String = shown.collect();
        assert_eq!(is_plain(text), shown == text, "{text:?}");
        shown
    }

    #[test]
    fn json_that_is_escaped_means_the_same() {
        let text = "a\u{9b}1m\u{202e}b\u{7f}\u{200b}\u{e0041}中 é";
        let json = format!("{{\"x\": \"{text}\",\n\t\"y\": 1}}");
        let escaped = escape_json(&json);
        assert_eq!(
            escaped,
            "{\"x\": \"a\\u009b1m\\u202eb\\u007f\\u200b\\udb40\\udc41中 é\",\n\t\"y\": 1}"
        );
        let value: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(value["x"], text);
    }

    #[test]
    fn what_people_write_is_not_tricky() {
        for text in [
            "plain\ttext\n",
            "标题 é ž e\u{301} n\u{303}\u{323}",
            "👩\u{200d}💻 ❤\u{fe0f} ❤\u{fe0f}\u{200d}🔥",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦 👍\u{1f3fd} 🧑\u{1f3fb}\u{200d}🚀",
            "🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🇩🇪 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "🙂\u{200d}↔\u{fe0f} 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष ශ\u{dca}\u{200d}ර\u{dd3}",
            "שָׁלוֹם สวัสดี நிலம் 한국어 \u{1112}\u{1161}\u{11ab}",
            "葛\u{fe00} ᠠ\u{180b}",
        ] {
            assert_eq!(seen(text), text);
        }
    }

    #[test]
    fn what_drives_turns_or_hides_is_tricky_everywhere() {
        let tricks = "\0\u{7}\u{8}\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{200b}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\
            \u{202e}\u{2028}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{3164}\u{feff}\u{e0041}\u{e0101}";
        for trick in tricks.chars() {
            for (before, after) in [("", ""), ("a", "b"), ("中", "文"), ("👩", "💻"), ("ی", "خ")]
            {
                let text = format!("{before}{trick}{after}");
                assert_eq!(seen(&text), format!("{before}?{after}"), "{trick:?}");
            }
        }
    }

    #[test]
    fn joiners_selectors_and_marks_need_what_they_belong_to() {
        for (text, expect) in [
            ("\u{200d}", "?"),
            ("a\u{200d}b", "a?b"),
            ("中\u{200d}文", "中?文"),
            ("👩\u{200d}", "👩?"),
            ("👩\u{200d}x", "👩?x"),
            ("x\u{200d}👩", "x?👩"),
            ("👩\u{200d}\u{200d}💻", "👩??💻"),
            ("pay\u{200c}pal", "pay?pal"),
            ("👩\u{200c}💻", "👩?💻"),
            ("\u{fe0f}", "?"),
            ("a\u{fe0f}b", "a?b"),
            ("1\u{fe01}", "1?"),
            (" \u{fe0f}", " ?"),
            ("❤\u{fe0f}\u{fe0f}\u{fe0e}", "❤\u{fe0f}??"),
            ("\u{301}a", "?a"),
            ("a\u{1161}", "a?"),
            ("中\u{11ab}\u{1161}", "中??"),
            ("a\n\u{301}b", "a\n?b"),
            ("a\t\u{301}", "a\t?"),
            ("\u{200b}\u{301}", "??"),
            ("🏴\u{e0067}\u{e0062}", "🏴??"),
            (
                "x\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                "x??????",
            ),
        ] {
            assert_eq!(seen(text), expect, "{text:?}");
        }
        let tower = format!("a{}b", "\u{301}".repeat(10));
        let expect = format!("a{}??b", "\u{301}".repeat(8));
        assert_eq!(seen(&tower), expect);
    }

    #[test]
    fn a_piece_may_be_cut_anywhere() {
        let whole = "👩\u{200d}💻 e\u{301} ❤\u{fe0f}";
        for (at, _) in whole.char_indices() {
            let (one, other) = whole.split_at(at);
            for piece in [one, other] {
                assert!(marked_piece(piece).all(|(_, tricky)| !tricky), "{piece:?}");
            }
        }
        let found: Vec<bool> = marked_piece("a\n\u{301}\u{202e}").map(|(_, t)| t).collect();
        assert_eq!(found, [false, false, true, true]);
    }
}
