//! How a text lies on rows of a given width: where lines break softly, in which cell a place is, and which place is above
//! or below another. Nothing here depends on the caret, so that typing never makes rows jump.

use super::{
    motion::line_by,
    piece::{Piece, Unit},
};
use crate::text::{cut_text, grapheme_width, visible, width};
use std::{borrow::Cow, ops::Range};
use unicode_segmentation::UnicodeSegmentation;

/// Cells before the text: the prompt sign, or a mark of a soft break.
pub const GUTTER: usize = 2;
/// Below this there is no room for a gutter.
const GUTTER_FROM: usize = 8;
/// Cells that one grapheme may take once its hidden characters are made visible.
const MAX_UNIT: usize = 8;

/// What of the columns is whose. One cell at the end of a row is kept for the caret and for a space at a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub gutter: usize,
    room: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub range: Range<usize>,
    /// It goes on with the line of the row before.
    pub is_wrapped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vertical {
    Up,
    Down,
}

#[derive(Debug)]
pub struct Rows<'a> {
    piece: &'a Piece,
    pub frame: Frame,
    /// Never empty.
    pub rows: Vec<Row>,
}

impl Frame {
    pub fn new(columns: usize) -> Self {
        let gutter = match columns >= GUTTER_FROM {
            true => GUTTER,
            false => 0,
        };
        Self {
            gutter,
            room: columns.saturating_sub(gutter + 1).max(1),
        }
    }

    /// The unit as it is drawn.
    pub fn drawn<'t>(&self, unit: &Unit<'t>) -> Cow<'t, str> {
        match unit.text.as_bytes() {
            [b' '..=b'~'] => Cow::Borrowed(unit.text),
            _ if unit.is_chip => Cow::Borrowed(unit.text),
            // Letters are what they look like.
            _ if self.room > 1 && unit.text.chars().all(char::is_alphanumeric) => {
                Cow::Borrowed(unit.text)
            }
            _ => {
                let text = visible(unit.text.to_owned());
                Cow::Owned(match self.room.min(MAX_UNIT) {
                    most if width(&text) > most => cut_text(&text, most),
                    _ => text,
                })
            }
        }
    }

    fn width(&self, unit: &Unit<'_>) -> usize {
        match unit.text.as_bytes() {
            [b' '..=b'~'] => 1,
            _ if unit.is_chip => width(unit.text),
            _ => match self.drawn(unit) {
                Cow::Borrowed(grapheme) => grapheme_width(grapheme),
                Cow::Owned(text) => width(&text),
            },
        }
    }
}

impl<'a> Rows<'a> {
    /// Of the lines around a place: enough to show so many rows with it among them, or to move by as many.
    pub fn around(piece: &'a Piece, at: usize, count: usize, columns: usize) -> Self {
        let by = isize::try_from(count).unwrap_or(isize::MAX);
        let first = line_by(piece, at, -by);
        let last = piece.line(line_by(piece, at, by));
        let frame = Frame::new(columns);
        let mut rows = Vec::new();
        let mut start = first;
        for line in piece.get(first..last.end).split('\n') {
            let end = start + line.len();
            Breaker::new(frame, start, &mut rows).line(piece, start..end);
            start = end + 1;
        }
        Self { piece, frame, rows }
    }

    pub fn row_of(&self, at: usize) -> usize {
        let after = self.rows.partition_point(|row| row.range.start <= at);
        after.saturating_sub(1)
    }

    /// Row and cell of a place, the gutter counted.
    pub fn cell(&self, at: usize) -> (usize, usize) {
        let row = self.row_of(at);
        let start = self.rows.get(row).map_or(0, |row| row.range.start);
        let before = self.piece.units(start..at);
        let column: usize = before.map(|unit| self.frame.width(&unit)).sum();
        (row, self.frame.gutter + column)
    }

    /// The place in a row that is nearest to a cell without being behind it.
    pub fn place(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.rows.get(row)?.range.clone();
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.is_wrapped);
        let mut best = None;
        let mut used = self.frame.gutter;
        let mut consider = |at: usize, used: usize| {
            let is_ours = !goes_on || at < range.end;
            if is_ours && (used <= column || best.is_none()) && self.piece.is_border(at) {
                best = Some(at);
            }
        };
        consider(range.start, used);
        for unit in self.piece.units(range.clone()) {
            used += self.frame.width(&unit);
            consider(unit.end, used);
        }
        best
    }

    /// The place one row up or down from another, and `None` at the edge.
    pub fn beside(&self, at: usize, column: usize, way: Vertical) -> Option<usize> {
        let row = self.row_of(at);
        let row = match way {
            Vertical::Up => row.checked_sub(1)?,
            Vertical::Down => row + 1,
        };
        let start = self.rows.get(row)?.range.start;
        self.place(row, column).or_else(|| {
            // The whole row is the middle of a chip.
            let chip = self.piece.chip_over(start)?;
            Some(match way {
                Vertical::Up => chip.range.start,
                Vertical::Down => chip.range.end,
            })
        })
    }
}

/// Breaks one line.
struct Breaker<'r> {
    frame: Frame,
    rows: &'r mut Vec<Row>,
    start: usize,
    used: usize,
    /// Where the row could end, and the cells up to there.
    chance: Option<(usize, usize)>,
    is_wrapped: bool,
}

impl<'r> Breaker<'r> {
    fn new(frame: Frame, start: usize, rows: &'r mut Vec<Row>) -> Self {
        Self {
            frame,
            rows,
            start,
            used: 0,
            chance: None,
            is_wrapped: false,
        }
    }

    fn line(mut self, piece: &Piece, line: Range<usize>) {
        for unit in piece.units(line.clone()) {
            self.unit(unit);
        }
        self.end_row(line.end);
    }

    fn unit(&mut self, unit: Unit<'_>) {
        let wide = self.frame.width(&unit);
        let is_space = matches!(unit.text, " " | "\t");
        let is_apart = unit.is_chip || wide > 1;
        if is_apart && !is_space {
            self.chance = Some((unit.start(), self.used));
        }
        if self.used + wide > self.frame.room {
            if is_space && wide == 1 {
                return self.end_row(unit.end);
            }
            self.make_room(unit.start(), wide);
        }
        match wide > self.frame.room {
            true => self.split(unit),
            false => self.used += wide,
        }
        if is_apart || is_space {
            self.chance = Some((unit.end, self.used));
        }
    }

    fn make_room(&mut self, at: usize, wide: usize) {
        if let Some((end, used)) = self.chance.take().filter(|(end, _)| *end > self.start) {
            let rest = self.used - used;
            self.end_row(end);
            self.used = rest;
        }
        if self.used > 0 && self.used + wide > self.frame.room {
            self.end_row(at);
        }
    }

    /// A chip longer than a row.
    fn split(&mut self, unit: Unit<'_>) {
        for (i, grapheme) in unit.text.grapheme_indices(true) {
            let wide = grapheme_width(grapheme);
            if self.used > 0 && self.used + wide > self.frame.room {
                self.end_row(unit.start() + i);
            }
            self.used += wide;
        }
    }

    fn end_row(&mut self, end: usize) {
        self.rows.push(Row {
            range: self.start..end,
            is_wrapped: self.is_wrapped,
        });
        self.start = end;
        self.used = 0;
        self.chance = None;
        self.is_wrapped = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: usize) -> Vec<String> {
        let piece = Piece::plain(text);
        let rows = Rows::around(&piece, 0, 100, columns);
        let text = |row: &Row| {
            let mark = if row.is_wrapped { "~" } else { "" };
            format!("{mark}{}", piece.get(row.range.clone()))
        };
        rows.rows.iter().map(text).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_keep_them() {
        // Two cells of gutter and one for the caret: ten columns hold seven.
        for (text, expect) in [
            ("", vec![""]),
            ("one two", vec!["one two"]),
            ("one two three", vec!["one two ", "~three"]),
            ("one two ", vec!["one two ", "~"]),
            ("one  three", vec!["one  ", "~three"]),
            ("abcdefghij", vec!["abcdefg", "~hij"]),
            ("a bcdefghijk", vec!["a ", "~bcdefgh", "~ijk"]),
            ("中文字符", vec!["中文字", "~符"]),
            ("a\n\nb", vec!["a", "", "b"]),
            ("ab中文字", vec!["ab中文", "~字"]),
        ] {
            assert_eq!(shown(text, 10), expect, "{text}");
        }
    }

    #[test]
    fn a_place_has_a_cell() {
        for (text, at, expect) in [
            ("", 0, (0, 2)),
            ("中文", 6, (0, 6)),
            ("e\u{301}x", 4, (0, 4)),
            ("👩‍👩‍👧", 18, (0, 4)),
            ("abcdefg", 7, (0, 9)),
            ("abcdefgh", 7, (1, 2)),
            ("abcdefg ", 8, (1, 2)),
            ("a\tb", 2, (0, 7)),
            ("a\n", 2, (1, 2)),
            ("\u{1b}x", 1, (0, 3)),
        ] {
            let piece = Piece::plain(text);
            assert_eq!(
                Rows::around(&piece, 0, 100, 10).cell(at),
                expect,
                "{text} {at}"
            );
        }
    }
}
