//! A question of the model: choices, several of them, or one's own words.

use super::choices::{Field, around, moved, row, scrolled};
use super::{Step, window};
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::{Line, Span};
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Ask, Op, Word};

/// Rows of the question, before there is room for more than one answer.
const ASKED_ROWS: usize = 2;

#[derive(Debug)]
pub struct Question {
    ask: Ask,
    /// One behind the options is the line of one's own words.
    chosen: usize,
    marked: Vec<bool>,
    words: Field,
    /// Rows of what is asked that are scrolled away.
    scrolled: usize,
}

impl Question {
    pub fn new(ask: Ask) -> Self {
        Self {
            marked: vec![false; ask.options.len()],
            chosen: 0,
            words: Field::default(),
            scrolled: 0,
            ask,
        }
    }

    pub fn ask(&self) -> &str {
        &self.ask.ask
    }

    fn has_words(&self) -> bool {
        self.ask.free_text || self.ask.options.is_empty()
    }

    fn is_writing(&self) -> bool {
        self.has_words() && self.chosen >= self.ask.options.len()
    }

    pub fn key(&mut self, key: Key, canvas: &Canvas) -> Step {
        let len = self.ask.options.len() + usize::from(self.has_words());
        if let Some(chosen) = moved(self.chosen, len, key) {
            self.chosen = chosen;
            return Step::Stay;
        }
        let rows = || self.above(canvas).len();
        if let Some(at) = scrolled(self.scrolled, rows, canvas, key) {
            self.scrolled = at;
            return Step::Stay;
        }
        match key.code {
            Code::Esc => Step::Stop,
            Code::Char('c') if key.ctrl => Step::Stop,
            Code::Enter => self.send(),
            Code::Char(' ') if self.ask.multi && !self.is_writing() => {
                if let Some(mark) = self.marked.get_mut(self.chosen) {
                    *mark = !*mark;
                }
                Step::Stay
            }
            Code::Char(c @ '1'..='9') if !self.is_writing() && !key.ctrl => {
                let at = usize::from(c as u8 - b'1');
                if at >= self.ask.options.len() {
                    return Step::Stay;
                }
                self.chosen = at;
                match self.marked.get_mut(at) {
                    Some(mark) if self.ask.multi => {
                        *mark = !*mark;
                        Step::Stay
                    }
                    Some(_) | None => self.send(),
                }
            }
            _ if self.has_words() => {
                // Whoever types has words of their own.
                if self.words.key(key) {
                    self.chosen = self.ask.options.len();
                }
                Step::Stay
            }
            _ => Step::Stay,
        }
    }

    pub fn paste(&mut self, text: &str) {
        if self.has_words() {
            self.chosen = self.ask.options.len();
            self.words.push(text);
        }
    }

    fn send(&self) -> Step {
        let id = |n: usize| self.ask.options.get(n).map(|c| c.id.clone());
        let marked: Vec<String> = (0..self.ask.options.len())
            .filter(|n| self.marked.get(*n) == Some(&true))
            .filter_map(id)
            .collect();
        let words =
            Some(self.words.text.trim()).filter(|words| self.has_words() && !words.is_empty());
        let choice = match (self.ask.multi && !marked.is_empty(), self.is_writing()) {
            // Words of one's own join what is marked.
            (true, _) => {
                let all = marked.iter().map(String::as_str).chain(words);
                all.collect::<Vec<_>>().join(", ")
            }
            (false, true) => words.unwrap_or_default().to_owned(),
            (false, false) => id(self.chosen).unwrap_or_default(),
        };
        if choice.is_empty() {
            return Step::Stay;
        }
        Step::Answer(Op::Answer {
            ask: self.ask.ask.clone(),
            choice,
            reason: None,
        })
    }

    /// The question, and what is to be read before it is answered.
    fn above(&self, canvas: &Canvas) -> Vec<Line> {
        let mut asked = Vec::new();
        for line in self.ask.subject.lines() {
            asked.extend(text::wrap(&canvas.line(line, Role::Strong), canvas.columns));
        }
        let preview = self.ask.preview.as_deref().unwrap_or_default();
        for line in preview.lines() {
            asked.extend(text::wrap(&canvas.line(line, Role::Text), canvas.columns));
        }
        asked
    }

    pub fn frame(&self, canvas: &Canvas) -> Frame {
        let mut answers = Vec::new();
        for (n, choice) in self.ask.options.iter().enumerate() {
            let mark = match (self.ask.multi, self.marked.get(n) == Some(&true)) {
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
                (false, _) => "",
            };
            let label = format!("{mark}{}. {}", n + 1, choice.label);
            let detail = choice.detail.as_deref().unwrap_or_default();
            answers.push(row(canvas, n == self.chosen, &label, detail));
        }
        let nearest = self.chosen.min(answers.len().saturating_sub(1));
        let others = ASKED_ROWS + 1 + usize::from(self.has_words());
        let mut below = around(&answers, nearest, canvas.rows.saturating_sub(others));
        let mut caret = None;
        if self.has_words() {
            let (shown, column) = self.words.shown(canvas.columns.saturating_sub(2));
            let sign = if self.is_writing() { "› " } else { "  " };
            let mut line = Line::from(canvas.span(sign, Role::Accent));
            match shown.is_empty() && !self.is_writing() {
                true => line.push(canvas.span(canvas.say(Word::OwnWords), Role::Faint)),
                false => line.push(Span::plain(shown)),
            }
            if self.is_writing() {
                caret = Some((below.len(), column + 2));
            }
            below.push(line);
        }
        let keys = match (self.ask.multi, self.ask.is_from_background()) {
            (true, false) => Word::MultiKeys,
            (true, true) => Word::TaskMultiKeys,
            (false, false) => Word::AskKeys,
            (false, true) => Word::TaskAskKeys,
        };
        below.push(canvas.line(
            text::cut_text(canvas.say(keys), canvas.columns),
            Role::Faint,
        ));
        let room = canvas.rows.saturating_sub(below.len() + 1).max(2);
        let mut rows = window(&self.above(canvas), self.scrolled, room, canvas);
        let caret = caret.map(|(row, column)| (row + rows.len(), column));
        rows.extend(below);
        Frame { rows, caret }
    }
}
