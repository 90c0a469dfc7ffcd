//! The text being written, its caret, and the way back. Every change goes through [`Buffer::replace`].

use super::{
    piece::Piece,
    undo::{Change, Edit, Undo},
};
use std::ops::Range;

#[derive(Debug, Default)]
pub struct Buffer {
    piece: Piece,
    /// Always on a border of the piece.
    caret: usize,
    undo: Undo,
}

impl Buffer {
    pub fn piece(&self) -> &Piece {
        &self.piece
    }

    pub fn caret(&self) -> usize {
        self.caret
    }

    /// Moves the caret; whether it moved.
    pub fn place(&mut self, at: usize) -> bool {
        let at = self.piece.snap(at);
        self.undo.close();
        std::mem::replace(&mut self.caret, at) != at
    }

    /// Puts `new` in the place of a range, with the caret after it, and gives what was there.
    pub fn replace(&mut self, range: Range<usize>, new: Piece, edit: Edit) -> Piece {
        let range = self.piece.widen(range);
        let removed = self.piece.splice(range.clone(), &new);
        let caret = self.piece.snap(range.start + new.len());
        let before = std::mem::replace(&mut self.caret, caret);
        let change = Change {
            at: range.start,
            removed: removed.clone(),
            inserted: new,
            caret: before,
        };
        self.undo.record(change, edit);
        removed
    }

    pub fn insert(&mut self, new: Piece, edit: Edit) {
        self.replace(self.caret..self.caret, new, edit);
    }

    /// Takes a range out; `None` where it was empty.
    pub fn remove(&mut self, range: Range<usize>, edit: Edit) -> Option<Piece> {
        let removed = self.replace(range, Piece::default(), edit);
        (!removed.is_empty()).then_some(removed)
    }

    pub fn undo(&mut self) -> bool {
        let Some(group) = self.undo.undo() else {
            return false;
        };
        for change in group.iter().rev() {
            let range = change.at..change.at + change.inserted.len();
            self.piece.splice(range, &change.removed);
            self.caret = change.caret;
        }
        self.caret = self.piece.snap(self.caret);
        true
    }

    pub fn redo(&mut self) -> bool {
        let Some(group) = self.undo.redo() else {
            return false;
        };
        for change in group {
            let range = change.at..change.at + change.removed.len();
            self.piece.splice(range, &change.inserted);
            self.caret = change.at + change.inserted.len();
        }
        self.caret = self.piece.snap(self.caret);
        true
    }

    /// Until [`release`](Self::release), all changes are taken back as one.
    pub fn hold(&mut self) {
        self.undo.hold();
    }

    pub fn release(&mut self) {
        self.undo.release();
    }

    /// Gives everything away and forgets the way back.
    pub fn take(&mut self) -> Piece {
        self.undo.clear();
        self.caret = 0;
        std::mem::take(&mut self.piece)
    }
}
