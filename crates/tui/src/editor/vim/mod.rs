//! Vim keys over the composer: modes, a register, and what a parsed command does to the text. Registers by name, macros,
//! marks and the command line are not here.

mod parse;
mod reach;

use super::{Editor, Outcome, buffer::Buffer, motion, piece::Piece, rows::Vertical, undo::Edit};
use crate::key::{Code, Key};
use parse::{Command, Find, Motion, Operator, Parse, Spot, Target, Verb};
use reach::{Reach, Span};
use std::ops::Range;

/// Bytes that putting something many times may add.
const MAX_PUT: usize = 32 << 10;
/// Keys of a change that `.` can do again.
const MAX_AGAIN: usize = 4_096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Insert,
    Normal,
    Visual,
    VisualLines,
}

#[derive(Debug, Default)]
pub struct Vim {
    mode: Mode,
    /// Keys of a command that is not whole yet.
    pending: Vec<char>,
    /// The end of the selection where the caret is not.
    anchor: usize,
    register: Register,
    find: Option<Find>,
    again: Again,
}

#[derive(Debug, Default)]
struct Register {
    piece: Piece,
    is_lines: bool,
}

/// The keys of the last change.
#[derive(Debug, Default)]
struct Again {
    keys: Vec<Key>,
    /// Keys in insert mode still belong to it.
    is_open: bool,
}

impl Vim {
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Back to insert mode, for the next text.
    pub fn reset(&mut self) {
        self.mode = Mode::Insert;
        self.pending.clear();
        if self.again.is_open {
            self.again = Again::default();
        }
    }

    pub fn selection(&self, buffer: &Buffer) -> Range<usize> {
        let (caret, piece) = (buffer.caret(), buffer.piece());
        let anchor = piece.snap(self.anchor);
        let (from, to) = (anchor.min(caret), anchor.max(caret));
        match self.mode {
            Mode::Insert | Mode::Normal => caret..caret,
            Mode::Visual => from..piece.next(to),
            Mode::VisualLines => piece.line(from).start..piece.line(to).end,
        }
    }
}

impl Editor {
    pub(super) fn vim_key(&mut self, key: Key, columns: usize) -> Outcome {
        let Some(vim) = &mut self.vim else {
            return Outcome::Ignored;
        };
        if vim.mode != Mode::Insert {
            return self.command_key(key, columns);
        }
        if vim.again.is_open && vim.again.keys.len() < MAX_AGAIN {
            vim.again.keys.push(key);
        }
        match key.code == Code::Esc {
            true => self.enter_normal(),
            false => self.plain_key(key, columns),
        }
    }

    fn enter_normal(&mut self) -> Outcome {
        if let Some(vim) = &mut self.vim {
            vim.mode = Mode::Normal;
            vim.again.is_open = false;
        }
        self.buffer.release();
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let to = piece.prev(at).max(piece.line(at).start);
        self.go(to);
        Outcome::Moved
    }

    fn command_key(&mut self, key: Key, columns: usize) -> Outcome {
        let Some(vim) = &mut self.vim else {
            return Outcome::Ignored;
        };
        if key.code == Code::Esc {
            let had = !vim.pending.is_empty() || vim.mode != Mode::Normal;
            vim.pending.clear();
            vim.mode = Mode::Normal;
            self.settle();
            return if had {
                Outcome::Moved
            } else {
                Outcome::Ignored
            };
        }
        if key == Key::ctrl('r') {
            let count = count_of(&std::mem::take(&mut vim.pending));
            return self.times(count, Buffer::redo);
        }
        let Some(c) = letter(&key) else {
            vim.pending.clear();
            vim.mode = Mode::Normal;
            let outcome = self.plain_key(key, columns);
            self.settle();
            return outcome;
        };
        vim.pending.push(c);
        let parse = match vim.mode {
            Mode::Insert | Mode::Normal => parse::normal(&vim.pending),
            Mode::Visual | Mode::VisualLines => parse::visual(&vim.pending),
        };
        match parse {
            Parse::More => Outcome::Moved,
            Parse::Nothing => {
                vim.pending.clear();
                Outcome::Ignored
            }
            Parse::Command(command) => {
                let keys = std::mem::take(&mut vim.pending);
                self.remember(&command, keys);
                self.run(command, columns)
            }
        }
    }

    /// Keeps the keys of a change for `.`, but not of one that needs a selection.
    fn remember(&mut self, command: &Command, keys: Vec<char>) {
        let is_change = match command.verb {
            Verb::Operate(Operator::Yank, _) | Verb::Operate(_, Target::Selection) => false,
            Verb::Operate(Operator::Delete | Operator::Change, _)
            | Verb::Insert(_)
            | Verb::PutAfter
            | Verb::PutBefore
            | Verb::Replace(_)
            | Verb::Join
            | Verb::SwapCase => true,
            Verb::Move(_)
            | Verb::Undo
            | Verb::Again
            | Verb::Select
            | Verb::SelectLines
            | Verb::SelectObject(..)
            | Verb::OtherEnd => false,
        };
        if let Some(vim) = self.vim.as_mut().filter(|_| is_change) {
            let keys = keys.into_iter().map(|c| Key::plain(Code::Char(c)));
            vim.again = Again {
                keys: keys.collect(),
                is_open: true,
            };
        }
    }

    fn run(&mut self, command: Command, columns: usize) -> Outcome {
        let count = command.count.unwrap_or(1);
        let is_held = !matches!(command.verb, Verb::Undo | Verb::Again | Verb::Move(_));
        if is_held {
            self.buffer.hold();
        }
        let outcome = match command.verb {
            Verb::Move(motion) => self.move_by(motion, command.count, columns),
            Verb::Operate(operator, target) => self.operate(operator, target, command.count),
            Verb::Insert(spot) => self.insert_at(spot),
            Verb::PutAfter => self.put_register(count, Spot::After),
            Verb::PutBefore => self.put_register(count, Spot::Here),
            Verb::Replace(c) => self.overwrite(count, c),
            Verb::SwapCase => self.rewrite(count, swap_case),
            Verb::Join => self.join_lines(count),
            Verb::Undo => self.times(count, Buffer::undo),
            Verb::Again => self.do_again(columns),
            Verb::Select => self.select(Mode::Visual),
            Verb::SelectLines => self.select(Mode::VisualLines),
            Verb::SelectObject(around, words) => {
                let at = self.buffer.caret();
                let range = motion::word_around(self.buffer.piece(), at, words, around);
                self.select_range(range)
            }
            Verb::OtherEnd => self.other_end(),
        };
        if is_held && self.mode() != Some(Mode::Insert) {
            self.buffer.release();
        }
        self.settle();
        outcome
    }

    /// In normal mode the caret is on something, not behind it.
    pub(super) fn settle(&mut self) {
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let line = piece.line(at);
        let is_behind = at == line.end && at > line.start;
        let to = piece.prev(at);
        if self.mode() == Some(Mode::Normal) && is_behind {
            self.buffer.place(to);
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        if let Some(vim) = &mut self.vim {
            vim.mode = mode;
        }
    }

    fn times(&mut self, count: usize, step: fn(&mut Buffer) -> bool) -> Outcome {
        let mut outcome = Outcome::Ignored;
        for _ in 0..count {
            match self.undo(step) {
                Outcome::Ignored => break,
                done => outcome = done,
            }
        }
        self.settle();
        outcome
    }

    fn do_again(&mut self, columns: usize) -> Outcome {
        let keys = self.vim.as_ref().map(|vim| vim.again.keys.clone());
        let mut outcome = Outcome::Ignored;
        for key in keys.unwrap_or_default() {
            match self.vim_key(key, columns) {
                Outcome::Changed => outcome = Outcome::Changed,
                Outcome::Ignored
                | Outcome::Moved
                | Outcome::TooLarge
                | Outcome::Submit
                | Outcome::Leave => {}
            }
        }
        outcome
    }

    fn move_by(&mut self, motion: Motion, count: Option<usize>, columns: usize) -> Outcome {
        if motion == Motion::Up {
            return self.move_rows(Vertical::Up, count, columns);
        }
        if motion == Motion::Down {
            return self.move_rows(Vertical::Down, count, columns);
        }
        let Some(reach) = self.reach(motion, count) else {
            return Outcome::Ignored;
        };
        let to = match reach.span {
            Span::Lines => motion::line_text(self.buffer.piece(), reach.to),
            Span::Exclusive | Span::Inclusive => reach.to,
        };
        let from = self.buffer.caret();
        self.go(to);
        self.settle();
        if motion == Motion::LineEnd {
            self.goal = Some(usize::MAX);
        }
        match self.buffer.caret() == from {
            true => Outcome::Ignored,
            false => Outcome::Moved,
        }
    }

    fn move_rows(&mut self, way: Vertical, count: Option<usize>, columns: usize) -> Outcome {
        let mut outcome = Outcome::Ignored;
        for _ in 0..count.unwrap_or(1) {
            match self.up_or_down(way, columns) {
                Outcome::Ignored => break,
                done => outcome = done,
            }
            self.settle();
        }
        outcome
    }

    fn reach(&mut self, motion: Motion, count: Option<usize>) -> Option<Reach> {
        let vim = self.vim.as_mut()?;
        if let Motion::Find(find) = motion {
            vim.find = Some(find);
        }
        let motion = if motion == Motion::FindAgain {
            Motion::Find(vim.find?)
        } else if motion == Motion::FindBack {
            Motion::Find(vim.find?.turned())
        } else {
            motion
        };
        reach::reach(self.buffer.piece(), self.buffer.caret(), motion, count)
    }

    fn operate(&mut self, operator: Operator, target: Target, count: Option<usize>) -> Outcome {
        let at = self.buffer.caret();
        let piece = self.buffer.piece();
        let (range, is_lines) = match target {
            Target::Lines => {
                let down = isize::try_from(count.unwrap_or(1) - 1).unwrap_or(0);
                let last = motion::line_by(piece, at, down);
                (piece.line(at).start..piece.line(last).end, true)
            }
            Target::Object(around, words) => (motion::word_around(piece, at, words, around), false),
            Target::Selection => (self.selection(), self.mode() == Some(Mode::VisualLines)),
            Target::Motion(Motion::Word(words)) => (
                at..reach::word_for(piece, at, words, count, operator),
                false,
            ),
            Target::Motion(motion) => {
                let Some(reach) = self.reach(motion, count) else {
                    return Outcome::Ignored;
                };
                reach.range(self.buffer.piece(), at)
            }
        };
        self.set_mode(Mode::Normal);
        self.apply(operator, range, is_lines)
    }

    fn apply(&mut self, operator: Operator, range: Range<usize>, is_lines: bool) -> Outcome {
        let piece = self.buffer.piece().slice(range.clone());
        let is_nothing = piece.is_empty() && !is_lines;
        if let Some(vim) = self.vim.as_mut().filter(|_| !is_nothing) {
            vim.register = Register { piece, is_lines };
        }
        match operator {
            Operator::Yank => {
                if !is_lines {
                    self.go(range.start);
                }
                Outcome::Moved
            }
            Operator::Change => {
                self.buffer.replace(range, Piece::default(), Edit::Other);
                self.edited();
                self.set_mode(Mode::Insert);
                Outcome::Changed
            }
            Operator::Delete if is_nothing => Outcome::Ignored,
            Operator::Delete => {
                let range = match is_lines {
                    true => with_newline(self.buffer.piece(), range),
                    false => range,
                };
                self.buffer.replace(range, Piece::default(), Edit::Other);
                if is_lines {
                    let to = motion::line_text(self.buffer.piece(), self.buffer.caret());
                    self.buffer.place(to);
                }
                self.edited();
                Outcome::Changed
            }
        }
    }

    fn insert_at(&mut self, spot: Spot) -> Outcome {
        self.set_mode(Mode::Insert);
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let line = piece.line(at);
        let to = match spot {
            Spot::Here => at,
            Spot::After => piece.next(at).min(line.end),
            Spot::LineText => motion::line_text(piece, at),
            Spot::LineEnd | Spot::LineBelow => line.end,
            Spot::LineAbove => line.start,
        };
        self.go(to);
        match spot {
            Spot::LineBelow | Spot::LineAbove => {
                self.replace(to..to, Piece::plain('\n'));
                if spot == Spot::LineAbove {
                    self.buffer.place(to);
                }
                Outcome::Changed
            }
            Spot::Here | Spot::After | Spot::LineText | Spot::LineEnd => Outcome::Moved,
        }
    }

    /// `p` is after, `P` is here.
    fn put_register(&mut self, count: usize, spot: Spot) -> Outcome {
        let Some(register) = self.vim.as_ref().map(|vim| &vim.register) else {
            return Outcome::Ignored;
        };
        let (one, is_lines) = (register.piece.clone(), register.is_lines);
        if one.is_empty() && !is_lines {
            return Outcome::Ignored;
        }
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let line = piece.line(at);
        let newline = Piece::plain('\n');
        let is_after = spot == Spot::After;
        let mut new = Piece::default();
        for _ in 0..count.min(MAX_PUT / (one.len() + 1)).max(1) {
            match (is_lines, is_after) {
                (false, _) => new.push(&one),
                (true, true) => {
                    new.push(&newline);
                    new.push(&one);
                }
                (true, false) => {
                    new.push(&one);
                    new.push(&newline);
                }
            }
        }
        let (to, first) = match (is_lines, is_after) {
            (true, true) => (line.end, line.end + 1),
            (true, false) => (line.start, line.start),
            (false, true) => (piece.next(at).min(line.end.max(at)), 0),
            (false, false) => (at, 0),
        };
        let outcome = self.replace_bounded(to..to, new);
        let piece = self.buffer.piece();
        let caret = match is_lines {
            true => motion::line_text(piece, first),
            false => piece.prev(self.buffer.caret()),
        };
        if outcome == Outcome::Changed {
            self.buffer.place(caret);
        }
        outcome
    }

    fn overwrite(&mut self, count: usize, c: char) -> Outcome {
        let outcome = self.rewrite(count, |_| c.to_string());
        if outcome == Outcome::Changed {
            let last = self.buffer.piece().prev(self.buffer.caret());
            self.buffer.place(last);
        }
        outcome
    }

    /// `r` and `~`: as many units of the line as asked, each made into another text.
    fn rewrite(&mut self, count: usize, to: impl Fn(&str) -> String) -> Outcome {
        let (at, piece) = (self.buffer.caret(), self.buffer.piece());
        let end = piece.line(at).end;
        let mut new = Piece::default();
        let mut upto = at;
        for unit in piece.units(at..end).take(count) {
            match unit.is_chip {
                true => new.push(&piece.slice(unit.start()..unit.end)),
                false => new.push(&Piece::plain(to(unit.text))),
            }
            upto = unit.end;
        }
        if upto == at {
            return Outcome::Ignored;
        }
        self.replace(at..upto, new);
        Outcome::Changed
    }

    fn join_lines(&mut self, count: usize) -> Outcome {
        let mut outcome = Outcome::Ignored;
        for _ in 0..count.saturating_sub(1).max(1) {
            let (at, piece) = (self.buffer.caret(), self.buffer.piece());
            let end = piece.line(at).end;
            if end >= piece.len() {
                break;
            }
            let next = motion::line_text(piece, end + 1);
            let space = match next == piece.line(end + 1).end || end == piece.line(at).start {
                true => "",
                false => " ",
            };
            self.replace(end..next, Piece::plain(space));
            self.buffer.place(end);
            outcome = Outcome::Changed;
        }
        outcome
    }

    fn select(&mut self, mode: Mode) -> Outcome {
        let caret = self.buffer.caret();
        if let Some(vim) = &mut self.vim {
            (vim.mode, vim.anchor) = match vim.mode {
                Mode::Insert | Mode::Normal => (mode, caret),
                now if now == mode => (Mode::Normal, caret),
                Mode::Visual | Mode::VisualLines => (mode, vim.anchor),
            };
        }
        Outcome::Moved
    }

    fn select_range(&mut self, range: Range<usize>) -> Outcome {
        let last = self.buffer.piece().prev(range.end).max(range.start);
        if let Some(vim) = &mut self.vim {
            vim.anchor = range.start;
        }
        self.go(last);
        Outcome::Moved
    }

    fn other_end(&mut self) -> Outcome {
        let caret = self.buffer.caret();
        let anchor = self
            .vim
            .as_mut()
            .map(|vim| std::mem::replace(&mut vim.anchor, caret));
        self.go(anchor.unwrap_or(caret));
        Outcome::Moved
    }
}

/// The letter that a key of a command stands for.
fn letter(key: &Key) -> Option<char> {
    if key.ctrl || key.alt {
        return None;
    }
    match key.code {
        Code::Char(c) => Some(c),
        Code::Left | Code::Backspace => Some('h'),
        Code::Right => Some('l'),
        Code::Up => Some('k'),
        Code::Down => Some('j'),
        Code::Home => Some('0'),
        Code::End => Some('$'),
        Code::Delete => Some('x'),
        Code::Enter
        | Code::Tab
        | Code::Esc
        | Code::PageUp
        | Code::PageDown
        | Code::Insert
        | Code::F(_) => None,
    }
}

fn count_of(pending: &[char]) -> usize {
    match parse::normal(&[pending, &['u']].concat()) {
        Parse::Command(command) => command.count.unwrap_or(1),
        Parse::More | Parse::Nothing => 1,
    }
}

/// Whole lines with the newline after them, or, at the end, the one before.
fn with_newline(piece: &Piece, lines: Range<usize>) -> Range<usize> {
    match lines.end < piece.len() {
        true => lines.start..lines.end + 1,
        false => lines.start.saturating_sub(1)..lines.end,
    }
}

fn swap_case(text: &str) -> String {
    let swapped = text.chars().flat_map(|c| -> Vec<char> {
        match c.is_uppercase() {
            true => c.to_lowercase().collect(),
            false => c.to_uppercase().collect(),
        }
    });
    swapped.collect()
}
