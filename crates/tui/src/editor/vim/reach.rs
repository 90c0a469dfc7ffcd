//! How far a motion of vim reaches, and what an operator takes of it. Pure.

use super::parse::{Find, Motion, Operator, Way};
use crate::editor::{
    motion::{self, Class, Words},
    piece::Piece,
};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub to: usize,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Exclusive,
    /// What is at the far end belongs to it.
    Inclusive,
    Lines,
}

impl Reach {
    /// What an operator takes, and whether it takes whole lines.
    pub fn range(self, piece: &Piece, at: usize) -> (Range<usize>, bool) {
        let (from, to) = (at.min(self.to), at.max(self.to));
        match self.span {
            Span::Exclusive => (from..to, false),
            Span::Inclusive => (from..piece.next(to), false),
            Span::Lines => (piece.line(from).start..piece.line(to).end, true),
        }
    }
}

/// `None` where the motion leads nowhere.
pub fn reach(piece: &Piece, at: usize, motion: Motion, count: Option<usize>) -> Option<Reach> {
    let times = count.unwrap_or(1);
    let by = isize::try_from(times).unwrap_or(1);
    let line = piece.line(at);
    let repeat = |step: &dyn Fn(usize) -> usize| repeat(at, times, step);
    let exclusive = |to| Reach {
        to,
        span: Span::Exclusive,
    };
    let lines = |to| Reach {
        to,
        span: Span::Lines,
    };
    Some(match motion {
        Motion::Left => exclusive(repeat(&|at| piece.prev(at).max(line.start))),
        Motion::Right => exclusive(repeat(&|at| piece.next(at).min(line.end))),
        Motion::Up if line.start == 0 => return None,
        Motion::Up => lines(motion::line_by(piece, at, -by)),
        Motion::Down if line.end == piece.len() => return None,
        Motion::Down => lines(motion::line_by(piece, at, by)),
        Motion::Word(words) => exclusive(repeat(&|at| motion::next_word(piece, at, words))),
        Motion::Back(words) => exclusive(repeat(&|at| motion::word_start(piece, at, words))),
        Motion::End(words) => Reach {
            to: repeat(&|at| motion::word_end(piece, at, words)),
            span: Span::Inclusive,
        },
        Motion::LineStart => exclusive(line.start),
        Motion::LineText => exclusive(motion::line_text(piece, at)),
        Motion::LineEnd => exclusive(piece.line(motion::line_by(piece, at, by - 1)).end),
        Motion::FirstLine => lines(motion::line_by(piece, 0, by - 1)),
        Motion::LastLine if count.is_some() => lines(motion::line_by(piece, 0, by - 1)),
        Motion::LastLine => lines(piece.line(piece.len()).start),
        Motion::Find(find) => Reach {
            to: found(piece, at, find, times)?,
            span: match find.way {
                Way::Forth => Span::Inclusive,
                Way::Back => Span::Exclusive,
            },
        },
        // Made into a find by the one who knows the last.
        Motion::FindAgain | Motion::FindBack => return None,
    })
}

/// Where `w` leads an operator: never over the end of the line of the last word, and to change a word is not to change the
/// spaces behind it.
pub fn word_for(
    piece: &Piece,
    at: usize,
    words: Words,
    count: Option<usize>,
    operator: Operator,
) -> usize {
    let step = |at| motion::next_word(piece, at, words);
    let last = repeat(at, count.unwrap_or(1) - 1, &step);
    let on_word = motion::class(piece, last, words) != Class::Space;
    match operator {
        Operator::Change if on_word => motion::run_end(piece, last, words),
        Operator::Change | Operator::Delete | Operator::Yank => {
            step(last).min(piece.line(last).end)
        }
    }
}

/// Stops early where a step leads nowhere.
fn repeat(mut at: usize, times: usize, step: &dyn Fn(usize) -> usize) -> usize {
    for _ in 0..times {
        let next = step(at);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// The place of the n-th such letter of the line, or the one next to it.
fn found(piece: &Piece, at: usize, find: Find, times: usize) -> Option<usize> {
    let line = piece.line(at);
    let is_it =
        |unit: &crate::editor::piece::Unit<'_>| !unit.is_chip && unit.text.starts_with(find.letter);
    let index = times.checked_sub(1)?;
    match find.way {
        Way::Forth => {
            let after = piece.next(at).min(line.end)..line.end;
            let hit = piece.units(after).filter(is_it).nth(index)?.start();
            Some(if find.is_till { piece.prev(hit) } else { hit })
        }
        Way::Back => {
            let hits: Vec<usize> = piece
                .units(line.start..at)
                .filter(is_it)
                .map(|unit| unit.start())
                .collect();
            let hit = *hits.iter().rev().nth(index)?;
            Some(if find.is_till { piece.next(hit) } else { hit })
        }
    }
}
