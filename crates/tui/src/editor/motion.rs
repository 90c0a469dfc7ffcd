//! Where a motion leads, in words and lines. Pure functions of a text and a place in it.

use super::piece::Piece;
use std::ops::Range;

/// What a word is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Letters and digits apart from signs.
    Small,
    /// Everything but spaces.
    Big,
}

/// What belongs to a word besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    Nothing,
    Spaces,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Space,
    Letter,
    Sign,
    Chip,
}

/// The class of the unit that begins here; the end of the text is a space.
pub fn class(piece: &Piece, at: usize, words: Words) -> Class {
    if piece.chip_at(at).is_some() {
        return Class::Chip;
    }
    match piece.get(at..piece.len()).chars().next() {
        None => Class::Space,
        Some(c) if c.is_whitespace() => Class::Space,
        Some(_) if words == Words::Big => Class::Letter,
        Some(c) if c.is_alphanumeric() || c == '_' => Class::Letter,
        Some(_) => Class::Sign,
    }
}

/// Behind the next run of letters, or behind the next chip.
pub fn word_right(piece: &Piece, mut at: usize) -> usize {
    let is_word = |at| matches!(class(piece, at, Words::Small), Class::Letter | Class::Chip);
    while at < piece.len() && !is_word(at) {
        at = piece.next(at);
    }
    run_end(piece, at, Words::Small)
}

/// To the start of the run of letters (or the chip) before.
pub fn word_left(piece: &Piece, mut at: usize, words: Words) -> usize {
    let is_word = |at| matches!(class(piece, at, words), Class::Letter | Class::Chip);
    while at > 0 && !is_word(piece.prev(at)) {
        at = piece.prev(at);
    }
    run_start(piece, at, words)
}

/// Behind the run of one class that begins or goes on here. A chip is a run of its own.
pub fn run_end(piece: &Piece, mut at: usize, words: Words) -> usize {
    let kind = class(piece, at, words);
    if kind == Class::Chip {
        return piece.next(at);
    }
    while at < piece.len() && class(piece, at, words) == kind {
        at = piece.next(at);
    }
    at
}

/// The start of the run that ends before this place.
fn run_start(piece: &Piece, mut at: usize, words: Words) -> usize {
    let kind = class(piece, piece.prev(at), words);
    if at == 0 || kind == Class::Chip {
        return piece.prev(at);
    }
    while at > 0 && class(piece, piece.prev(at), words) == kind {
        at = piece.prev(at);
    }
    at
}

/// `w`: the start of the next word; an empty line is a word, too.
pub fn next_word(piece: &Piece, at: usize, words: Words) -> usize {
    let mut at = match class(piece, at, words) {
        Class::Space if is_empty_line(piece, at) => piece.next(at),
        Class::Space => at,
        Class::Letter | Class::Sign | Class::Chip => run_end(piece, at, words),
    };
    while at < piece.len() && class(piece, at, words) == Class::Space && !is_empty_line(piece, at) {
        at = piece.next(at);
    }
    at
}

/// `e`: the last unit of this word, or of the next where this is the last already.
pub fn word_end(piece: &Piece, at: usize, words: Words) -> usize {
    let mut at = piece.next(at);
    while at < piece.len() && class(piece, at, words) == Class::Space {
        at = piece.next(at);
    }
    match at < piece.len() {
        true => piece.prev(run_end(piece, at, words)),
        false => piece.prev(piece.len()),
    }
}

/// `b`: the start of this word, or of the one before.
pub fn word_start(piece: &Piece, mut at: usize, words: Words) -> usize {
    loop {
        let before = piece.prev(at);
        if at == 0 || class(piece, before, words) != Class::Space {
            return run_start(piece, at, words);
        }
        at = before;
        if is_empty_line(piece, at) {
            return at;
        }
    }
}

/// The run around a place within its line: `iw`; with the spaces after it, else before it: `aw`.
pub fn word_around(piece: &Piece, at: usize, words: Words, around: Around) -> Range<usize> {
    let line = piece.line(at);
    let run = |at: usize| {
        let kind = class(piece, at, words);
        if kind == Class::Chip {
            return at..piece.next(at);
        }
        let same = |at| class(piece, at, words) == kind;
        let mut start = at;
        while start > line.start && same(piece.prev(start)) {
            start = piece.prev(start);
        }
        start..run_end(piece, at, words).min(line.end)
    };
    if line.is_empty() || at >= line.end {
        return at..at;
    }
    let mut range = run(at);
    if around == Around::Nothing {
        return range;
    }
    let is_space = |at| class(piece, at, words) == Class::Space;
    if is_space(at) {
        range.end = match range.end < line.end {
            true => run(range.end).end,
            false => range.end,
        };
    } else if range.end < line.end && is_space(range.end) {
        range.end = run(range.end).end;
    } else if range.start > line.start && is_space(piece.prev(range.start)) {
        range.start = run(piece.prev(range.start)).start;
    }
    range
}

/// The first place of a line that is no space.
pub fn line_text(piece: &Piece, at: usize) -> usize {
    let line = piece.line(at);
    let mut at = line.start;
    while at < line.end && class(piece, at, Words::Big) == Class::Space {
        at = piece.next(at);
    }
    at
}

/// The start of the line so many lines down (or up), or of the last (or first) one.
pub fn line_by(piece: &Piece, at: usize, down: isize) -> usize {
    let mut start = piece.line(at).start;
    for _ in 0..down.unsigned_abs() {
        start = match down > 0 {
            true => match piece.line(start).end {
                end if end < piece.len() => end + 1,
                _ => return start,
            },
            false => match start.checked_sub(1) {
                Some(before) => piece.line(before).start,
                None => return start,
            },
        };
    }
    start
}

fn is_empty_line(piece: &Piece, at: usize) -> bool {
    piece.line(at).is_empty()
}
