//! The composer: a text of many lines with chips, kills, undo, history and vim keys. Keys and pastes in, an [`Outcome`] and
//! rows out. Knows no terminal, no clock and no files.

mod buffer;
mod history;
mod keymap;
mod kill;
mod motion;
mod piece;
mod rows;
mod search;
mod undo;
mod view;
mod vim;

#[cfg(test)]
mod tests;

pub use keymap::{ACTIONS, Action, Binding, KeyMap, KeyMapError, table};
pub use view::EditorView;
pub use vim::Mode;

use crate::key::{Code, Key};
use buffer::Buffer;
use history::{History, Search, Step};
use kill::{KillRing, Side};
use motion::Words;
use ostler_wire::{Image, thousands};
use piece::{Content, Piece};
use rows::{Rows, Vertical};
use std::{cell::Cell, ops::Range, sync::Arc};
use undo::Edit;
use vim::Vim;

/// A paste of more is a chip.
const PASTE_LINES: usize = 10;
const PASTE_CHARS: usize = 1_000;
/// A text that is set from outside is a chip as a whole if it has more bytes, so that every key costs little.
const FOLD_ABOVE: usize = 32 << 10;
/// A paste shorter than its label is never one.
const LABEL: usize = 60;
/// Shown bytes, and bytes with all that chips stand for, beyond which nothing can be put in at once.
const MAX_SHOWN: usize = 1 << 20;
const MAX_BYTES: usize = 32 << 20;

#[derive(Debug, Default)]
pub struct Options {
    /// What was sent before, newest last.
    pub history: Vec<String>,
    pub keys: KeyMap<Action>,
    pub vim: bool,
    pub labels: Labels,
}

/// Words that are shown, with `{size}`, `{lines}`, `{n}` and `{label}` for what is known then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub paste: String,
    /// Of a single line.
    pub paste_line: String,
    pub image: String,
    pub search: String,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            paste: "[pasted {size} KB, {lines} lines #{n}]".into(),
            paste_line: "[pasted {size} KB #{n}]".into(),
            image: "[image #{n} {label}]".into(),
            search: "history: ".into(),
        }
    }
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the key is free for others.
    Ignored,
    /// The text changed.
    Changed,
    /// The caret, or something else that is shown.
    Moved,
    /// Nothing, as the text would have more bytes than it may.
    TooLarge,
    /// The text is to be [taken](Editor::take) and sent.
    Submit,
    Leave,
}

/// What is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submitted {
    /// Pastes written out.
    pub text: String,
    pub images: Vec<Image>,
    /// As it was shown, with chips.
    pub shown: String,
}

#[derive(Debug)]
pub struct Editor {
    buffer: Buffer,
    history: History,
    search: Option<Search>,
    vim: Option<Vim>,
    keys: KeyMap<Action>,
    labels: Labels,
    kills: KillRing,
    before: Before,
    /// The column that the caret keeps to while it moves up and down.
    goal: Option<usize>,
    /// The place that the first row shown began with.
    top: Cell<usize>,
    numbers: Numbers,
}

/// Of the chips so far.
#[derive(Debug, Default)]
struct Numbers {
    pastes: usize,
    images: usize,
}

/// What the key before did, where it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Other,
    Kill,
    Yank {
        range: Range<usize>,
        turns: usize,
    },
}

impl Editor {
    pub fn new(options: Options) -> Self {
        Self {
            buffer: Buffer::default(),
            history: History::new(options.history),
            search: None,
            vim: options.vim.then(Vim::default),
            keys: options.keys,
            labels: options.labels,
            kills: KillRing::default(),
            before: Before::Other,
            goal: None,
            top: Cell::new(0),
            numbers: Numbers::default(),
        }
    }

    /// The text as it is shown: chips are their labels.
    pub fn text(&self) -> &str {
        self.buffer.piece().text()
    }

    pub fn caret(&self) -> usize {
        self.buffer.caret()
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.piece().is_empty()
    }

    pub fn has_images(&self) -> bool {
        !self.buffer.piece().images().is_empty()
    }

    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// The mode of the vim keys, where they are on.
    pub fn mode(&self) -> Option<Mode> {
        self.vim.as_ref().map(Vim::mode)
    }

    /// For the next time.
    pub fn history(&self) -> Vec<String> {
        self.history.texts()
    }

    pub fn key(&mut self, key: Key, columns: usize) -> Outcome {
        let outcome = if self.search.is_some() {
            self.search_key(key, columns)
        } else if self.vim.is_some() {
            self.vim_key(key, columns)
        } else {
            self.plain_key(key, columns)
        };
        if outcome == Outcome::Changed {
            self.goal = None;
        }
        outcome
    }

    /// A paste, as the terminal brackets it: short ones are text, long ones a chip.
    pub fn paste(&mut self, text: String) -> Outcome {
        if let Some(search) = &mut self.search {
            search.push(&self.history, &text);
            return Outcome::Moved;
        }
        let piece = Piece::plain(text);
        let is_much = piece.len() > LABEL && self.text().len() + piece.len() > FOLD_ABOVE;
        let is_long = piece.text().lines().nth(PASTE_LINES).is_some()
            || piece.text().chars().nth(PASTE_CHARS).is_some();
        let piece = match is_long || is_much {
            true => self.paste_chip(&piece),
            false => piece,
        };
        self.put(piece)
    }

    pub fn attach_image(&mut self, image: Image, label: &str) -> Outcome {
        self.search = None;
        self.numbers.images += 1;
        let number = self.numbers.images.to_string();
        let label = self
            .labels
            .image
            .replace("{n}", &number)
            .replace("{label}", label)
            .replace(" ]", "]");
        self.put(Piece::chip(&label, Content::Image(Arc::new(image))))
    }

    /// The text from the last space or chip up to the caret, for menus.
    pub fn word_before_caret(&self) -> (Range<usize>, &str) {
        let (piece, caret) = (self.buffer.piece(), self.buffer.caret());
        let mut start = caret;
        while start > 0 {
            let before = piece.prev(start);
            match motion::class(piece, before, Words::Big) {
                motion::Class::Space | motion::Class::Chip => break,
                motion::Class::Letter | motion::Class::Sign => start = before,
            }
        }
        (start..caret, piece.get(start..caret))
    }

    pub fn replace_word(&mut self, range: Range<usize>, text: &str) {
        self.replace(range, Piece::plain(text));
    }

    /// Like it, with one unit that shows `label` and stands for `text`.
    pub fn replace_with_chip(&mut self, range: Range<usize>, label: &str, text: &str) {
        self.replace(range, Piece::chip(label, Content::Text(text.into())));
    }

    /// Puts a text in the place of all; undo brings the old one back.
    pub fn set_text(&mut self, text: &str) {
        let piece = self.fold(Piece::plain(text));
        self.replace(0..self.buffer.piece().len(), piece);
    }

    /// The text with pastes written out and pictures as labels, for an editor outside.
    pub fn expanded(&self) -> String {
        self.buffer.piece().expand()
    }

    /// Takes such a text back: what is unchanged of the chips are chips again.
    pub fn set_expanded(&mut self, text: &str) {
        let mut rest = Piece::plain(text).text().to_owned();
        let mut piece = Piece::default();
        let now = self.buffer.piece().clone();
        for chip in now.chips() {
            let label = now.get(chip.range.clone());
            let whole = match &chip.content {
                Content::Text(text) => text.as_ref(),
                Content::Image(_) => label,
            };
            let Some((before, after)) = rest.split_once(whole).filter(|_| !whole.is_empty()) else {
                continue;
            };
            piece.push(&Piece::plain(before));
            piece.push(&Piece::chip(label, chip.content.clone()));
            rest = after.to_owned();
        }
        piece.push(&Piece::plain(rest));
        let piece = self.fold(piece);
        self.replace(0..self.buffer.piece().len(), piece);
    }

    /// What to keep in case of a crash. Pictures are not in it.
    pub fn draft(&self) -> Option<String> {
        let is_image = |chip: &piece::Chip| matches!(chip.content, Content::Image(_));
        let text = self.buffer.piece().without(is_image).expand();
        (!text.trim().is_empty()).then_some(text)
    }

    pub fn restore(&mut self, draft: &str) {
        self.set_text(draft);
    }

    /// Gives the text to be sent, remembers it, and starts afresh.
    pub fn take(&mut self) -> Submitted {
        let piece = self.buffer.take();
        self.history.push(&piece);
        self.search = None;
        self.before = Before::Other;
        self.goal = None;
        self.top.set(0);
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        Submitted {
            text: piece.expand(),
            images: piece.images(),
            shown: piece.text().to_owned(),
        }
    }

    fn paste_chip(&mut self, piece: &Piece) -> Piece {
        self.numbers.pastes += 1;
        let text = piece.text();
        let lines = text.matches('\n').count() + usize::from(!text.ends_with('\n'));
        let label = match lines {
            0 | 1 => &self.labels.paste_line,
            _ => &self.labels.paste,
        };
        let label = label
            .replace("{size}", &thousands(text.len().div_ceil(1_024) as u64))
            .replace("{lines}", &thousands(lines as u64))
            .replace("{n}", &self.numbers.pastes.to_string());
        Piece::chip(&label, Content::Text(text.into()))
    }

    fn fold(&mut self, piece: Piece) -> Piece {
        match piece.len() > FOLD_ABOVE && piece.chips().is_empty() {
            true => self.paste_chip(&piece),
            false => piece,
        }
    }

    /// Inserts at the caret.
    fn put(&mut self, piece: Piece) -> Outcome {
        if piece.is_empty() {
            return Outcome::Ignored;
        }
        let at = self.buffer.caret();
        let outcome = self.replace_bounded(at..at, piece);
        self.settle();
        outcome
    }

    fn replace_bounded(&mut self, range: Range<usize>, piece: Piece) -> Outcome {
        let now = self.buffer.piece();
        if now.len() + piece.len() > MAX_SHOWN || now.weight() + piece.weight() > MAX_BYTES {
            return Outcome::TooLarge;
        }
        self.replace(range, piece);
        Outcome::Changed
    }

    fn replace(&mut self, range: Range<usize>, piece: Piece) {
        self.buffer.replace(range, piece, Edit::Other);
        self.edited();
    }

    /// To be called after every change of the text.
    fn edited(&mut self) {
        self.history.leave();
        self.before = Before::Other;
        self.goal = None;
    }

    fn plain_key(&mut self, key: Key, columns: usize) -> Outcome {
        match (self.keys.get(key), key.code) {
            (Some(action), _) => self.act(action, columns),
            (None, Code::Char(c)) if keymap::is_letter(&key) => self.type_char(c),
            (None, _) => Outcome::Ignored,
        }
    }

    fn type_char(&mut self, c: char) -> Outcome {
        self.buffer.insert(Piece::plain(c), Edit::Typing);
        self.edited();
        Outcome::Changed
    }

    fn act(&mut self, action: Action, columns: usize) -> Outcome {
        let before = std::mem::take(&mut self.before);
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let line = piece.line(at);
        match action {
            Action::Submit => self.submit(),
            Action::Newline => self.type_char('\n'),
            Action::CharLeft => self.go(piece.prev(at)),
            Action::CharRight => self.go(piece.next(at)),
            Action::WordLeft => self.go(motion::word_left(piece, at, Words::Small)),
            Action::WordRight => self.go(motion::word_right(piece, at)),
            Action::LineStart => self.go(line.start),
            Action::LineEnd => self.go(line.end),
            Action::TextStart => self.go(0),
            Action::TextEnd => self.go(piece.len()),
            Action::Up => self.up_or_down(Vertical::Up, columns),
            Action::Down => self.up_or_down(Vertical::Down, columns),
            Action::EraseLeft => self.erase(piece.prev(at)..at),
            Action::EraseRight => self.erase(at..piece.next(at)),
            Action::EraseOrLeave if piece.is_empty() => Outcome::Leave,
            Action::EraseOrLeave => self.erase(at..piece.next(at)),
            Action::KillWordLeft => {
                self.kill(motion::word_left(piece, at, Words::Small)..at, &before)
            }
            Action::KillSpacedLeft => {
                self.kill(motion::word_left(piece, at, Words::Big)..at, &before)
            }
            Action::KillWordRight => self.kill(at..motion::word_right(piece, at), &before),
            // At an edge of the line its newline goes.
            Action::KillLineEnd if at == line.end => self.kill(at..piece.next(at), &before),
            Action::KillLineEnd => self.kill(at..line.end, &before),
            Action::KillLineStart if at == line.start => self.kill(piece.prev(at)..at, &before),
            Action::KillLineStart => self.kill(line.start..at, &before),
            Action::Yank => self.yank(at..at, 0),
            Action::YankOlder => match before {
                Before::Yank { range, turns } => self.yank(range, turns + 1),
                Before::Other | Before::Kill => Outcome::Ignored,
            },
            Action::Undo => self.undo(Buffer::undo),
            Action::Redo => self.undo(Buffer::redo),
            Action::HistoryOlder => self.browse(Step::Older),
            Action::HistoryNewer => self.browse(Step::Newer),
            Action::HistorySearch => self.start_search(),
        }
    }

    fn submit(&mut self) -> Outcome {
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let line = piece.line(at);
        let before = piece.get(line.start..at);
        let slashes = before.len() - before.trim_end_matches('\\').len();
        if at == line.end && slashes % 2 == 1 && piece.is_border(at - 1) {
            self.replace(at - 1..at, Piece::plain('\n'));
            return Outcome::Changed;
        }
        match piece.text().trim().is_empty() {
            true => Outcome::Ignored,
            false => Outcome::Submit,
        }
    }

    fn go(&mut self, at: usize) -> Outcome {
        self.goal = None;
        match self.buffer.place(at) {
            true => Outcome::Moved,
            false => Outcome::Ignored,
        }
    }

    fn up_or_down(&mut self, way: Vertical, columns: usize) -> Outcome {
        let at = self.buffer.caret();
        let rows = Rows::around(self.buffer.piece(), at, 1, columns);
        let column = self.goal.unwrap_or_else(|| rows.cell(at).1);
        // Right after an entry was fetched the next key fetches the next, however many rows it has.
        let walks_on =
            way == Vertical::Up && self.history.is_browsing() && at == self.buffer.piece().len();
        match rows.beside(at, column, way).filter(|_| !walks_on) {
            Some(to) => {
                self.buffer.place(to);
                self.goal = Some(column);
                Outcome::Moved
            }
            None => self.browse(match way {
                Vertical::Up => Step::Older,
                Vertical::Down => Step::Newer,
            }),
        }
    }

    fn browse(&mut self, step: Step) -> Outcome {
        let Some(piece) = self.history.step(step, self.buffer.piece()) else {
            return Outcome::Ignored;
        };
        let piece = self.fold(piece);
        let all = 0..self.buffer.piece().len();
        self.buffer.replace(all, piece, Edit::Other);
        self.goal = None;
        Outcome::Changed
    }

    fn erase(&mut self, range: Range<usize>) -> Outcome {
        if self.buffer.remove(range, Edit::Erasing).is_none() {
            return Outcome::Ignored;
        }
        self.edited();
        Outcome::Changed
    }

    fn kill(&mut self, range: Range<usize>, before: &Before) -> Outcome {
        let side = match range.end <= self.buffer.caret() {
            true => Side::Before,
            false => Side::After,
        };
        let Some(removed) = self.buffer.remove(range, Edit::Other) else {
            return Outcome::Ignored;
        };
        match before {
            Before::Kill => self.kills.grow(removed, side),
            Before::Other | Before::Yank { .. } => self.kills.push(removed),
        }
        self.edited();
        self.before = Before::Kill;
        Outcome::Changed
    }

    fn yank(&mut self, range: Range<usize>, turns: usize) -> Outcome {
        let Some(piece) = self.kills.get(turns).cloned() else {
            return Outcome::Ignored;
        };
        let range = self.buffer.piece().widen(range);
        let after = range.start..range.start + piece.len();
        let outcome = self.replace_bounded(range, piece);
        if outcome == Outcome::Changed {
            let range = after;
            self.before = Before::Yank { range, turns };
        }
        outcome
    }

    fn undo(&mut self, step: fn(&mut Buffer) -> bool) -> Outcome {
        if !step(&mut self.buffer) {
            return Outcome::Ignored;
        }
        self.edited();
        Outcome::Changed
    }

    fn selection(&self) -> Range<usize> {
        let vim = self.vim.as_ref();
        vim.map_or(0..0, |vim| vim.selection(&self.buffer))
    }
}
