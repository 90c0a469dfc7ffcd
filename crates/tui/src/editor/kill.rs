//! What was cut, to be put back: the newest first, older ones by turning the ring.

use super::piece::Piece;
use std::collections::VecDeque;

const MAX_ENTRIES: usize = 30;
const MAX_BYTES: usize = 32 << 20;

/// Which side of what was cut just before the new one was on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// Newest first.
#[derive(Debug, Default)]
pub struct KillRing {
    entries: VecDeque<Piece>,
}

impl KillRing {
    pub fn push(&mut self, piece: Piece) {
        self.entries.push_front(piece);
        self.bound();
    }

    /// Grows the newest one: cuts in a row belong together.
    pub fn grow(&mut self, mut piece: Piece, side: Side) {
        let newest = self.entries.pop_front().unwrap_or_default();
        let whole = match side {
            Side::Before => {
                piece.push(&newest);
                piece
            }
            Side::After => {
                let mut whole = newest;
                whole.push(&piece);
                whole
            }
        };
        self.push(whole);
    }

    /// The one so many turns away.
    pub fn get(&self, turns: usize) -> Option<&Piece> {
        let index = turns.checked_rem(self.entries.len())?;
        self.entries.get(index)
    }

    fn bound(&mut self) {
        let weight = |entries: &VecDeque<Piece>| entries.iter().map(Piece::weight).sum::<usize>();
        while self.entries.len() > MAX_ENTRIES
            || (self.entries.len() > 1 && weight(&self.entries) > MAX_BYTES)
        {
            self.entries.pop_back();
        }
    }
}
