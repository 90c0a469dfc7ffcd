//! What was changed, so that it can be taken back and done again. Changes are kept as differences: a large paste is held
//! once, however many changes follow.

use super::piece::Piece;
use std::collections::VecDeque;

const MAX_GROUPS: usize = 1_000;
/// Pastes and pictures that were removed again count, too.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub at: usize,
    pub removed: Piece,
    pub inserted: Piece,
    /// Where the caret was before.
    pub caret: usize,
}

/// What kind of change it is: like ones in a row are taken back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Typing,
    Erasing,
    Other,
}

#[derive(Debug, Default)]
pub struct Undo {
    done: VecDeque<Vec<Change>>,
    undone: Vec<Vec<Change>>,
    open: Open,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Closed,
    After(Edit),
    /// Everything from here on is one group.
    Held {
        begun: bool,
    },
}

impl Undo {
    pub fn record(&mut self, change: Change, edit: Edit) {
        if change.removed.is_empty() && change.inserted.is_empty() {
            return;
        }
        let forgotten = self.undone.drain(..).flatten();
        let freed: usize = forgotten.map(|change| weight(&change)).sum();
        self.bytes = self.bytes.saturating_sub(freed) + weight(&change);
        let joins = match self.open {
            Open::Closed => false,
            Open::After(before) => {
                before == edit && edit != Edit::Other && !self.begins_word(&change)
            }
            Open::Held { begun } => begun,
        };
        self.open = match self.open {
            Open::Held { .. } => Open::Held { begun: true },
            Open::Closed | Open::After(_) => Open::After(edit),
        };
        match self.done.back_mut().filter(|_| joins) {
            Some(group) => join(group, change),
            None => self.done.push_back(vec![change]),
        }
        self.bound();
    }

    /// What comes next is not joined to what was before.
    pub fn close(&mut self) {
        if let Open::After(_) = self.open {
            self.open = Open::Closed;
        }
    }

    pub fn hold(&mut self) {
        self.open = Open::Held { begun: false };
    }

    pub fn release(&mut self) {
        self.open = Open::Closed;
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The group to take back, last change first.
    pub fn undo(&mut self) -> Option<&[Change]> {
        self.release();
        self.undone.push(self.done.pop_back()?);
        self.undone.last().map(Vec::as_slice)
    }

    pub fn redo(&mut self) -> Option<&[Change]> {
        self.release();
        self.done.push_back(self.undone.pop()?);
        self.done.back().map(Vec::as_slice)
    }

    fn begins_word(&self, change: &Change) -> bool {
        let before = self.done.back().and_then(|group| group.last());
        let before = before.and_then(|c| c.inserted.text().chars().next_back());
        let now = change.inserted.text().chars().next();
        before.is_some_and(char::is_whitespace) && now.is_some_and(|c| !c.is_whitespace())
    }

    fn bound(&mut self) {
        while self.done.len() > 1 && (self.done.len() > MAX_GROUPS || self.bytes > MAX_BYTES) {
            let group = self.done.pop_front().unwrap_or_default();
            self.bytes = self.bytes.saturating_sub(group.iter().map(weight).sum());
        }
    }
}

fn join(group: &mut Vec<Change>, change: Change) {
    match group.last_mut() {
        Some(last)
            if last.removed.is_empty()
                && change.removed.is_empty()
                && last.at + last.inserted.len() == change.at =>
        {
            last.inserted.push(&change.inserted);
        }
        Some(_) | None => group.push(change),
    }
}

fn weight(change: &Change) -> usize {
    change.removed.weight() + change.inserted.weight()
}
