//! Keys while the history is searched.

use super::{
    Editor, Outcome,
    history::Search,
    keymap::{Action, is_letter},
    undo::Edit,
};
use crate::key::{Code, Key};

impl Editor {
    pub(super) fn start_search(&mut self) -> Outcome {
        self.search = Some(Search::default());
        Outcome::Moved
    }

    pub(super) fn search_key(&mut self, key: Key, columns: usize) -> Outcome {
        let Some(search) = &mut self.search else {
            return Outcome::Ignored;
        };
        let action = self.keys.get(key);
        match (action, key.code) {
            (Some(Action::HistorySearch), _) => {
                search.older(&self.history);
                Outcome::Moved
            }
            (Some(Action::EraseLeft), _) => {
                if !search.pop(&self.history) {
                    self.search = None;
                }
                Outcome::Moved
            }
            (Some(Action::Submit), _) | (None, Code::Tab) => self.take_hit(),
            (None, Code::Char(c)) if is_letter(&key) => {
                search.push(&self.history, c.encode_utf8(&mut [0; 4]));
                Outcome::Moved
            }
            (None, Code::Esc) => self.stop_search(),
            (None, Code::Char('g' | 'c')) if key.ctrl => self.stop_search(),
            // Any other key works on what was found.
            (Some(_), _) => {
                let taken = self.take_hit();
                match self.key(key, columns) {
                    Outcome::Ignored | Outcome::Moved => taken,
                    outcome => outcome,
                }
            }
            (None, _) => Outcome::Ignored,
        }
    }

    fn stop_search(&mut self) -> Outcome {
        self.search = None;
        Outcome::Moved
    }

    fn take_hit(&mut self) -> Outcome {
        let hit = self.search.take().and_then(Search::into_hit);
        let Some(piece) = hit else {
            return Outcome::Moved;
        };
        let piece = self.fold(piece);
        let all = 0..self.buffer.piece().len();
        self.buffer.replace(all, piece, Edit::Other);
        self.edited();
        Outcome::Changed
    }
}
