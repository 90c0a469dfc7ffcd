//! The menu under the composer while a slash command or an @-reference is typed. The composer keeps its keys; the menu
//! takes arrows, Tab, Enter and Esc.

use super::choices::{label_columns, line, moved, padded};
use crate::canvas::Canvas;
use crate::key::Key;
use crate::line::Line;
use crate::text;
use crate::theme::Role;
use ostler_wire::Word;
use std::ops::Range;

/// Rows it takes; the height changes only when it opens or closes.
const ROWS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuKind {
    Commands,
    Files,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What typed letters are compared with.
    pub name: String,
    pub label: String,
    pub detail: String,
    /// What takes the place of the typed word.
    pub insert: String,
    /// More can be typed behind it, so the menu goes on (a folder).
    pub goes_on: bool,
}

#[derive(Debug)]
pub struct Menu {
    pub kind: MenuKind,
    /// The word of the composer that it completes, in bytes.
    pub word: Range<usize>,
    all: Vec<Entry>,
    fits: Vec<usize>,
    chosen: usize,
}

impl Menu {
    pub fn new(kind: MenuKind, word: Range<usize>, all: Vec<Entry>, typed: &str) -> Self {
        let mut menu = Self {
            kind,
            word,
            all,
            fits: Vec::new(),
            chosen: 0,
        };
        menu.sift(typed);
        menu
    }

    /// Of paths that fit what was typed, in their order.
    pub fn of_answer(word: Range<usize>, all: Vec<Entry>) -> Self {
        Self {
            kind: MenuKind::Files,
            word,
            fits: (0..all.len()).collect(),
            all,
            chosen: 0,
        }
    }

    /// Its paths are of several folders.
    pub fn is_search(&self) -> bool {
        self.all.iter().any(|entry| entry.label == entry.name)
    }

    /// Other letters were typed.
    pub fn retype(&mut self, word: Range<usize>, typed: &str) {
        self.word = word;
        self.sift(typed);
    }

    fn sift(&mut self, typed: &str) {
        let names: Vec<String> = self.all.iter().map(|e| e.name.clone()).collect();
        self.fits = crate::fuzzy::sift(typed, &names);
        // Who types the beginning of a name means it.
        self.fits
            .sort_by_key(|n| !names.get(*n).is_some_and(|name| name.starts_with(typed)));
        self.chosen = 0;
    }

    /// What was chosen with the arrows stays chosen.
    pub fn keep_choice(&mut self, old: &Self) {
        let chosen = old
            .chosen()
            .filter(|_| old.chosen > 0 && old.kind == self.kind);
        let Some(chosen) = chosen else { return };
        let is_same = |n: &usize| self.all.get(*n).is_some_and(|e| e.insert == chosen.insert);
        self.chosen = self.fits.iter().position(is_same).unwrap_or(0);
    }

    pub fn is_empty(&self) -> bool {
        self.fits.is_empty()
    }

    pub fn first(&self) -> Option<&Entry> {
        self.all.first()
    }

    /// Whether the key moved within it.
    pub fn moves(&mut self, key: Key) -> bool {
        match moved(self.chosen, self.fits.len(), key) {
            Some(chosen) => {
                self.chosen = chosen;
                true
            }
            None => false,
        }
    }

    pub fn chosen(&self) -> Option<&Entry> {
        self.all.get(*self.fits.get(self.chosen)?)
    }

    pub fn rows(&self, canvas: &Canvas) -> Vec<Line> {
        let height = ROWS.min(canvas.rows / 2).max(1);
        // The last row says how many there are, where not all can be seen.
        let is_counted = self.fits.len() > height && height > 2;
        let room = height - usize::from(is_counted);
        let from = self.chosen.saturating_sub(room.saturating_sub(1));
        let labels = self.all.iter().map(|entry| entry.label.as_str());
        let columns = label_columns(labels, canvas);
        let shown = self.fits.iter().enumerate().skip(from).take(room);
        let mut rows: Vec<Line> = shown
            .filter_map(|(n, i)| Some((n, self.all.get(*i)?)))
            .map(|(n, entry)| {
                let label = match entry.detail.is_empty() {
                    true => entry.label.clone(),
                    false => padded(&entry.label, columns),
                };
                let line = line(canvas, n == self.chosen, &label, &entry.detail);
                text::cut(&line, canvas.columns)
            })
            .collect();
        rows.resize(room, Line::default());
        if is_counted {
            let [at, of] = [self.chosen + 1, self.fits.len()].map(|n| n.to_string());
            let count = canvas.fill(Word::MenuCount, &[&at, &of]);
            rows.push(canvas.line(format!("  {count}"), Role::Faint));
        }
        rows
    }
}
