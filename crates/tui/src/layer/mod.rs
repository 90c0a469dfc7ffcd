//! Layers stand above the composer and own the keys while they are there. A list and the pager hide the composer; a
//! question stands above it, and a menu below.

mod approval;
mod asking;
mod choices;
mod menu;
mod pager;
mod picker;
mod question;

pub use approval::Approval;
pub use asking::{Asking, Meaning, Page, Pick, Reply};
pub use choices::Field;
pub use menu::{Entry as MenuEntry, Menu, MenuKind};
pub use pager::Pager;
pub use picker::Picker;
pub use question::Question;

use crate::canvas::Canvas;
use crate::key::Key;
use crate::line::Line;
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Act, Ask, Op};

/// A modal layer.
#[derive(Debug)]
pub enum Layer {
    Ask(Asking),
    Picker(Picker),
    Pager(Pager),
}

/// What a key led to.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// The layer stays as it is or has changed.
    Stay,
    /// It is done with.
    Close,
    /// It is done with, and this goes to the session.
    Answer(Op),
    /// It is done with, and this is to be done.
    Act(Act),
    /// The person wants to change this text in their editor; `Asking::edited` takes the outcome.
    Edit(String),
    /// The turn is to stop.
    Stop,
}

impl Layer {
    /// The layer that an ask is put by.
    pub fn of(ask: &Ask) -> Self {
        Self::Ask(Asking::new(ask))
    }

    /// The question that it is.
    pub fn asking(&self) -> Option<&Asking> {
        match self {
            Self::Ask(asking) => Some(asking),
            Self::Picker(_) | Self::Pager(_) => None,
        }
    }

    pub fn asking_mut(&mut self) -> Option<&mut Asking> {
        match self {
            Self::Ask(asking) => Some(asking),
            Self::Picker(_) | Self::Pager(_) => None,
        }
    }

    /// The ask that it waits for an answer to.
    pub fn ask(&self) -> Option<&str> {
        self.asking().map(|asking| asking.ask().ask.as_str())
    }

    /// A key in a list or the pager. Questions have their own way.
    pub fn key(&mut self, key: Key, canvas: &Canvas) -> Step {
        match self {
            Self::Ask(_) => Step::Stay,
            Self::Picker(layer) => layer.key(key),
            Self::Pager(layer) => layer.key(key, canvas),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Picker(layer) => layer.paste(text),
            Self::Ask(_) | Self::Pager(_) => {}
        }
    }

    /// Rows of at most the canvas, and where the cursor is. The hint is for questions.
    pub fn frame(&self, canvas: &Canvas, hint: &str) -> Frame {
        match self {
            Self::Ask(asking) => asking.frame(canvas, hint),
            Self::Picker(layer) => layer.frame(canvas),
            Self::Pager(layer) => layer.frame(canvas),
        }
    }
}

/// A title in a rule from edge to edge; a long one is wrapped.
fn heading(title: &str, canvas: &Canvas) -> Vec<Line> {
    let mut rows = text::wrap(&canvas.line(title, Role::Warning), canvas.columns);
    if let [row] = rows.as_mut_slice()
        && let Some(rest @ 1..) = canvas.columns.checked_sub(row.width() + 4)
    {
        row.spans.insert(0, canvas.span("── ", Role::Frame));
        row.push(canvas.span(format!(" {}", "─".repeat(rest)), Role::Frame));
    }
    rows
}

/// A part of `rows` with a note of what is left out.
fn window(rows: &[Line], from: usize, room: usize, canvas: &Canvas) -> Vec<Line> {
    if rows.len() <= room {
        return rows.to_vec();
    }
    let shown = room.saturating_sub(1);
    let from = from.min(rows.len().saturating_sub(shown));
    let left = rows.len().saturating_sub(from + shown);
    let mut out: Vec<Line> = rows.iter().skip(from).take(shown).cloned().collect();
    let note = crate::say::more_rows(canvas.theme.language, left);
    let (note, role) = match left {
        0 => (note, Role::Faint),
        // They belong to what is approved, and nobody should miss that they are there.
        _ => (format!("{note} · pgdn"), Role::Warning),
    };
    out.push(canvas.line(note, role));
    out
}
