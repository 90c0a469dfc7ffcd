//! Everything unfolded, on the alternate screen: scroll, search, back.

use super::Step;
use super::choices::Field;
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::{Line, Span};
use crate::screen::Frame;
use crate::theme::Role;
use ostler_wire::Word;

#[derive(Debug)]
pub struct Pager {
    rows: Vec<Line>,
    top: usize,
    /// A search that is being typed.
    typing: Option<Field>,
    sought: String,
}

impl Pager {
    /// At its end, where the person was.
    pub fn new(rows: Vec<Line>, height: usize) -> Self {
        let top = rows.len().saturating_sub(height.saturating_sub(1));
        Self {
            rows,
            top,
            typing: None,
            sought: String::new(),
        }
    }

    pub fn key(&mut self, key: Key, canvas: &Canvas) -> Step {
        if let Some(field) = &mut self.typing {
            match key.code {
                Code::Esc => self.typing = None,
                Code::Enter => {
                    self.sought = field.text.to_lowercase();
                    self.typing = None;
                    self.seek(Direction::Up);
                }
                _ => {
                    field.key(key);
                }
            }
            return Step::Stay;
        }
        let page = canvas.rows.saturating_sub(2).max(1);
        let last = self
            .rows
            .len()
            .saturating_sub(canvas.rows.saturating_sub(1));
        self.top = match key.code {
            Code::Char('q') | Code::Esc => return Step::Close,
            Code::Char('c' | 't') if key.ctrl => return Step::Close,
            Code::Up | Code::Char('k') => self.top.saturating_sub(1),
            Code::Down | Code::Char('j') | Code::Enter => self.top + 1,
            Code::PageUp | Code::Char('b') => self.top.saturating_sub(page),
            Code::PageDown | Code::Char('f' | ' ') => self.top + page,
            Code::Home | Code::Char('g') => 0,
            Code::End | Code::Char('G') => last,
            Code::Char('/') => {
                self.typing = Some(Field::default());
                self.top
            }
            Code::Char('n') => {
                self.seek(Direction::Up);
                self.top
            }
            Code::Char('N') => {
                self.seek(Direction::Down);
                self.top
            }
            _ => self.top,
        }
        .min(last);
        Step::Stay
    }

    fn seek(&mut self, direction: Direction) {
        if self.sought.is_empty() {
            return;
        }
        let has = |n: &usize| {
            self.rows
                .get(*n)
                .is_some_and(|row| row.text().to_lowercase().contains(&self.sought))
        };
        let found = match direction {
            Direction::Up => (0..self.top).rev().find(has),
            Direction::Down => (self.top + 1..self.rows.len()).find(has),
        };
        if let Some(at) = found {
            self.top = at;
        }
    }

    pub fn frame(&self, canvas: &Canvas) -> Frame {
        let room = canvas.rows.saturating_sub(1);
        let mut rows: Vec<Line> = self
            .rows
            .iter()
            .skip(self.top)
            .take(room)
            // They were wrapped for the terminal as it was when the pager was opened.
            .map(|row| crate::text::cut(row, canvas.columns))
            .collect();
        rows.resize(room, Line::default());
        let (line, caret) = match &self.typing {
            Some(field) => {
                let (shown, _) = field.shown(canvas.columns.saturating_sub(12));
                let line = Line::from(Span::plain(canvas.fill(Word::SearchFor, &[&shown])));
                let column = line.width();
                (line, Some((rows.len(), column)))
            }
            None => (canvas.line(canvas.say(Word::PagerKeys), Role::Chosen), None),
        };
        rows.push(crate::text::cut(&line, canvas.columns));
        Frame { rows, caret }
    }
}

enum Direction {
    Up,
    Down,
}
