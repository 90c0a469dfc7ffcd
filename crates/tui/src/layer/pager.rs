//! Everything unfolded, on the alternate screen: scroll, search, back.

use super::Step;
use super::choices::Field;
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::{Line, Span, Style};
use crate::screen::Frame;
use crate::theme::Role;
use ostler_wire::Word;
use std::ops::Range;

#[derive(Debug)]
pub struct Pager {
    rows: Vec<Line>,
    top: usize,
    /// A search that is being typed.
    typing: Option<Field>,
    sought: String,
    /// The row that the search is at; none where it found nothing.
    found: Option<usize>,
    /// Where a search goes first: back from the end, on from the beginning.
    onward: Direction,
}

impl Pager {
    /// At its end, where the person was.
    pub fn new(rows: Vec<Line>, height: usize) -> Self {
        let top = rows.len().saturating_sub(height.saturating_sub(1));
        Self {
            rows,
            top,
            typing: None,
            sought: String::new(),
            found: None,
            onward: Direction::Up,
        }
    }

    /// At its beginning: a text that is read for the first time.
    pub fn from_start(rows: Vec<Line>) -> Self {
        Self {
            top: 0,
            onward: Direction::Down,
            ..Self::new(rows, 0)
        }
    }

    /// The same text in rows of another width; the place in it stays about the same.
    pub fn rewrap(&mut self, rows: Vec<Line>) {
        self.top = self.top * rows.len() / self.rows.len().max(1);
        self.found = None;
        self.rows = rows;
    }

    pub fn key(&mut self, key: Key, canvas: &Canvas) -> Step {
        if let Some(field) = &mut self.typing {
            match key.code {
                Code::Esc => self.typing = None,
                Code::Enter => {
                    self.sought = field.text.to_lowercase();
                    self.typing = None;
                    // What can be seen counts, too.
                    self.found = match self.onward {
                        Direction::Up => Some(self.top + canvas.rows.saturating_sub(1)),
                        Direction::Down => self.top.checked_sub(1),
                    };
                    self.seek(self.onward, canvas);
                }
                _ => {
                    field.key(key);
                }
            }
            return Step::Stay;
        }
        let page = canvas.rows.saturating_sub(2).max(1);
        let last = self
            .rows
            .len()
            .saturating_sub(canvas.rows.saturating_sub(1));
        self.top = match key.code {
            Code::Char('q') | Code::Esc => return Step::Close,
            Code::Char('c' | 't') if key.ctrl => return Step::Close,
            Code::Up | Code::Char('k') => self.top.saturating_sub(1),
            Code::Down | Code::Char('j') | Code::Enter => self.top + 1,
            Code::PageUp | Code::Char('b') => self.top.saturating_sub(page),
            Code::PageDown | Code::Char('f' | ' ') => self.top + page,
            Code::Home | Code::Char('g') => 0,
            Code::End | Code::Char('G') => last,
            Code::Char('/') => {
                self.typing = Some(Field::default());
                self.top
            }
            Code::Char('n') => {
                self.seek(self.onward, canvas);
                self.top
            }
            Code::Char('N') => {
                self.seek(self.onward.reversed(), canvas);
                self.top
            }
            _ => self.top,
        }
        .min(last);
        Step::Stay
    }

    /// The next row with what is sought, from the other end when there is none; it is brought into view.
    fn seek(&mut self, direction: Direction, canvas: &Canvas) {
        if self.sought.is_empty() {
            return;
        }
        let len = self.rows.len();
        let before_first = match self.onward {
            Direction::Up => self.top,
            Direction::Down => usize::MAX,
        };
        let at = self.found.unwrap_or(before_first).min(len);
        let has = |n: &usize| {
            let row = self.rows.get(*n);
            row.is_some_and(|row| !matches(&row.text(), &self.sought).is_empty())
        };
        self.found = match direction {
            Direction::Up => (0..at).rev().chain((at..len).rev()).find(has),
            Direction::Down => (at + 1..len).chain(0..len.min(at + 1)).find(has),
        };
        let room = canvas.rows.saturating_sub(1).max(1);
        if let Some(at) = self.found
            && !(self.top..self.top + room).contains(&at)
        {
            self.top = at.saturating_sub(room / 2).min(len.saturating_sub(room));
        }
    }

    pub fn frame(&self, canvas: &Canvas) -> Frame {
        let room = canvas.rows.saturating_sub(1);
        let mut rows: Vec<Line> = self
            .rows
            .iter()
            .skip(self.top)
            .take(room)
            // They were wrapped for the terminal as it was when the pager was opened.
            .map(|row| crate::text::cut(&marked(row, &self.sought), canvas.columns))
            .collect();
        rows.resize(room, Line::default());
        let (line, caret) = match &self.typing {
            Some(field) => {
                let (shown, _) = field.shown(canvas.columns.saturating_sub(12));
                let line = Line::from(Span::plain(canvas.fill(Word::SearchFor, &[&shown])));
                let column = line.width();
                (line, Some((rows.len(), column)))
            }
            None => (self.keys(canvas), None),
        };
        rows.push(crate::text::cut(&line, canvas.columns));
        Frame { rows, caret }
    }

    /// What can be done, and where one is.
    fn keys(&self, canvas: &Canvas) -> Line {
        let end = (self.top + canvas.rows.saturating_sub(1)).min(self.rows.len());
        let keys = match (self.sought.is_empty(), self.found) {
            (false, None) => Word::NothingFits,
            (false, Some(_)) => Word::PagerFoundKeys,
            (true, _) => Word::PagerKeys,
        };
        let place = format!(" · {end}/{}", self.rows.len());
        canvas.line(format!("{}{place}", canvas.say(keys)), Role::Chosen)
    }
}

/// Where `sought`, which is in small letters, stands in a text.
fn matches(text: &str, sought: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (start, _) in text.char_indices() {
        if sought.is_empty() || found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let mut rest = sought;
        for (at, letter) in text.get(start..).unwrap_or_default().char_indices() {
            let small: String = letter.to_lowercase().collect();
            let Some(after) = rest.strip_prefix(small.as_str()) else {
                break;
            };
            rest = after;
            if rest.is_empty() {
                found.push(start..start + at + letter.len_utf8());
                break;
            }
        }
    }
    found
}

/// A row in which what is sought stands out.
fn marked(row: &Line, sought: &str) -> Line {
    let found = matches(&row.text(), sought);
    if found.is_empty() {
        return row.clone();
    }
    let mut out = Line::default();
    let mut before = 0;
    for span in &row.spans {
        for (at, letter) in span.text().char_indices() {
            let is_found = found.iter().any(|range| range.contains(&(before + at)));
            let style = Style {
                reverse: span.style.reverse || is_found,
                ..span.style
            };
            out.push(span.part(letter, style));
        }
        before += span.text().len();
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    fn reversed(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_found_in_any_letters() {
        for (text, sought, expect) in [
            ("Hello hello", "hello", &["Hello", "hello"][..]),
            ("aaa", "aa", &["aa"]),
            ("Größe ÜBER", "über", &["ÜBER"]),
            ("中文字", "文", &["文"]),
            ("abc", "", &[]),
            ("ab", "abc", &[]),
        ] {
            let row = marked(&Line::plain(text), sought);
            assert_eq!(row.text(), text);
            let found = matches(text, sought);
            let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expect, "{text}");
            let shown = row.spans.iter().filter(|span| span.style.reverse);
            let shown: String = shown.map(Span::text).collect();
            assert_eq!(shown, expect.concat(), "{text}");
        }
    }
}
