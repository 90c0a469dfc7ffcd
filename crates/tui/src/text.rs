//! Measuring, wrapping and cutting text by the cells it takes on a terminal, grapheme by grapheme. Pure.

pub use crate::cells::{TAB, grapheme_width, visible, width};
use crate::line::{Line, Span};
use crate::links;
use unicode_segmentation::UnicodeSegmentation;

/// Breaks a paragraph into rows of at most `columns` cells: at spaces, between wide characters, and within a word only
/// where it does not fit a row. Never empty.
pub fn wrap(line: &Line, columns: usize) -> Vec<Line> {
    let columns = columns.max(2);
    let linked = links::found(line);
    let line = linked.as_ref().unwrap_or(line);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let mut rows = Rows {
        columns,
        done: Vec::new(),
        row: Line::default(),
        used: 0,
    };
    // A word can be in several styles, so its pieces are gathered across spans.
    let mut word: Vec<Piece<'_>> = Vec::new();
    let mut last = None;
    for span in &line.spans {
        let mut start = 0;
        for (at, grapheme) in span.text().grapheme_indices(true) {
            let next = Shape::of(grapheme);
            if last.is_some_and(|last: Shape| last.parts_from(next)) {
                word.extend(Piece::new(span, start..at));
                rows.word(&word);
                word.clear();
                start = at;
            }
            last = Some(next);
        }
        word.extend(Piece::new(span, start..span.text().len()));
    }
    rows.word(&word);
    rows.end()
}

/// What a grapheme is to a line break.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Space,
    Letter,
    /// Of a script that is written without spaces, or a picture.
    Wide,
    /// Wide, but a row cannot begin with it.
    Closing,
    /// Wide, but a row cannot end with it.
    Opening,
}

impl Shape {
    fn of(grapheme: &str) -> Self {
        match grapheme {
            " " => Self::Space,
            "，" | "。" | "、" | "；" | "：" | "？" | "！" | "）" | "》" | "」" | "』" | "】"
            | "”" | "’" => Self::Closing,
            "（" | "《" | "「" | "『" | "【" | "“" | "‘" => Self::Opening,
            _ if grapheme_width(grapheme) == 2 => Self::Wide,
            _ => Self::Letter,
        }
    }

    fn parts_from(self, next: Self) -> bool {
        match (self, next) {
            (Self::Space, Self::Space) | (Self::Letter, Self::Letter) => false,
            (Self::Space, _) | (_, Self::Space) => true,
            (Self::Opening, _) | (_, Self::Closing) => false,
            (Self::Wide | Self::Closing, _) | (_, Self::Wide) => true,
            (Self::Letter, Self::Opening) => true,
        }
    }
}

struct Piece<'a> {
    text: &'a str,
    from: &'a Span,
}

impl<'a> Piece<'a> {
    fn new(from: &'a Span, range: std::ops::Range<usize>) -> Option<Self> {
        let text = from.text().get(range).filter(|text| !text.is_empty())?;
        Some(Self { text, from })
    }
}

struct Rows {
    columns: usize,
    done: Vec<Line>,
    row: Line,
    used: usize,
}

impl Rows {
    fn word(&mut self, word: &[Piece<'_>]) {
        let wide: usize = word.iter().map(|piece| width(piece.text)).sum();
        let is_space = word
            .iter()
            .all(|piece| piece.text.bytes().all(|b| b == b' '));
        if self.used + wide > self.columns {
            // Spaces at a break are the break.
            if is_space {
                return self.next();
            }
            if self.used > 0 && wide <= self.columns {
                self.next();
            }
        }
        if self.used + wide <= self.columns {
            let starts = self.used == 0 && !self.done.is_empty() && is_space;
            if !starts {
                for piece in word {
                    self.put(piece.text, width(piece.text), piece.from);
                }
            }
            return;
        }
        for piece in word {
            for grapheme in piece.text.graphemes(true) {
                let wide = grapheme_width(grapheme);
                if self.used + wide > self.columns {
                    self.next();
                }
                self.put(grapheme, wide, piece.from);
            }
        }
    }

    fn put(&mut self, text: &str, wide: usize, from: &Span) {
        self.row.push(from.part(text, from.style));
        self.used += wide;
    }

    fn next(&mut self) {
        self.done.push(std::mem::take(&mut self.row));
        self.used = 0;
    }

    fn end(mut self) -> Vec<Line> {
        if !self.row.spans.is_empty() || self.done.is_empty() {
            self.next();
        }
        self.done
    }
}

/// The beginning of a row that fits, with `…` where something is missing.
pub fn cut(line: &Line, columns: usize) -> Line {
    if line.width() <= columns {
        return line.clone();
    }
    let room = columns.saturating_sub(1);
    let (mut out, mut used) = (Line::default(), 0);
    for span in &line.spans {
        for grapheme in span.text().graphemes(true) {
            let wide = grapheme_width(grapheme);
            if used + wide > room {
                if columns > 0 {
                    out.push(span.part("…", span.style));
                }
                return out;
            }
            used += wide;
            out.push(span.part(grapheme, span.style));
        }
    }
    out
}

/// The same for a text.
pub fn cut_text(text: &str, columns: usize) -> String {
    cut(&Line::plain(text), columns).text()
}

/// Bytes of the text without its last grapheme.
pub fn without_last(text: &str) -> usize {
    text.grapheme_indices(true)
        .next_back()
        .map_or(0, |(at, _)| at)
}

/// The end of a text that fits.
pub fn tail(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut from = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme_width(grapheme);
        if used > columns {
            break;
        }
        from = at;
    }
    text.get(from..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_cells() {
        for (text, expect) in [
            ("abc", 3),
            ("中文", 4),
            ("e\u{301}", 1),
            ("👩‍👩‍👧", 2),
            ("🇩🇪", 2),
            ("", 0),
        ] {
            assert_eq!(width(text), expect, "{text}");
        }
    }

    #[test]
    fn nothing_drives_the_terminal() {
        for (text, expect) in [
            ("plain ünï", "plain ünï"),
            ("\u{1b}[2Jx", "␛[2Jx"),
            ("a\tb", "a    b"),
            ("a\r\nb", "a⏎b"),
            ("a\r", "a"),
            ("keep\r.txt", "keep␍.txt"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("user\u{202e}gpj.exe", "user\u{fffd}gpj.exe"),
            ("\u{2066}a\u{2069}", "\u{fffd}a\u{fffd}"),
            ("a\u{200d}b\u{200b}c", "a\u{fffd}b\u{fffd}c"),
            ("\u{301}a\n\u{301}\u{fe0f}", "\u{fffd}a⏎\u{fffd}\u{fffd}"),
            (
                "👩\u{200d}👧 👍\u{1f3fd} ❤\u{fe0f}",
                "👩\u{200d}👧 👍\u{1f3fd} ❤\u{fe0f}",
            ),
            ("\u{7}", "␇"),
        ] {
            assert_eq!(visible(text.into()), expect);
        }
    }

    #[test]
    fn rows_fit_and_nothing_is_lost() {
        for (text, columns, expect) in [
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 8, vec!["one two ", "three"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("中文字符", 5, vec!["中文", "字符"]),
            ("", 5, vec![""]),
            ("a bbbbbbbb c", 4, vec!["a bb", "bbbb", "bb c"]),
            ("see (this), or", 11, vec!["see (this),", "or"]),
            ("see `code` or", 7, vec!["see ", "`code` ", "or"]),
            ("我们去吧。走", 8, vec!["我们去", "吧。走"]),
        ] {
            let rows: Vec<String> = wrap(&Line::plain(text), columns)
                .iter()
                .map(Line::text)
                .collect();
            assert_eq!(rows, expect, "{text} at {columns}");
        }
    }

    proptest::proptest! {
        #[test]
        fn wrapping_keeps_every_letter(text in ".{0,200}", columns in 2_usize..60) {
            let line = Line::plain(text);
            let rows = wrap(&line, columns);
            let letters = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            let joined: String = rows.iter().map(Line::text).collect();
            proptest::prop_assert_eq!(letters(&joined), letters(&line.text()));
            for row in rows {
                proptest::prop_assert!(row.width() <= columns);
            }
        }

        #[test]
        fn a_cut_fits(text in ".{0,80}", columns in 0_usize..40) {
            proptest::prop_assert!(cut(&Line::plain(text), columns).width() <= columns);
        }
    }
}
