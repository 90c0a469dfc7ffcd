//! May it? The call whole, what it would change, and what each answer would do.

use super::choices::{Field, around, moved, row, scrolled};
use super::{Step, window};
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::{Line, Span};
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Ask, AskKind, Choice, Op, Word};

/// Rows of the terminal that are left for what is above.
const SPARE_ROWS: usize = 2;
/// Rows of what is asked about, before there is room for more than one answer: nobody says yes to what they do not see.
const ASKED_ROWS: usize = 3;

#[derive(Debug)]
pub struct Approval {
    ask: Ask,
    chosen: usize,
    /// Rows of the preview that are scrolled away.
    scrolled: usize,
    /// The answer whose reason is being written.
    reason: Option<(String, Field)>,
}

impl Approval {
    pub fn new(ask: Ask) -> Self {
        Self {
            ask,
            chosen: 0,
            scrolled: 0,
            reason: None,
        }
    }

    pub fn ask(&self) -> &str {
        &self.ask.ask
    }

    pub fn key(&mut self, key: Key, canvas: &Canvas) -> Step {
        if let Some((choice, field)) = &mut self.reason {
            return match key.code {
                Code::Esc => {
                    self.reason = None;
                    Step::Stay
                }
                Code::Enter => {
                    let reason = Some(field.text.trim().to_owned()).filter(|r| !r.is_empty());
                    let choice = choice.clone();
                    self.answer(choice, reason)
                }
                _ => {
                    field.key(key);
                    Step::Stay
                }
            };
        }
        if let Some(chosen) = moved(self.chosen, self.ask.options.len(), key) {
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
            Code::Enter => self.take(self.chosen),
            Code::Char(c) if !key.ctrl && !key.alt => {
                let letter = c.to_ascii_lowercase();
                let of = |choice: &Choice| shortcut(&choice.id) == Some(letter);
                match self.ask.options.iter().position(of) {
                    Some(at) => self.take(at),
                    None if c.is_ascii_digit() || c == ' ' => Step::Stay,
                    None => Step::Write,
                }
            }
            _ => Step::Stay,
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let Some((_, field)) = &mut self.reason {
            field.push(text);
        }
    }

    pub fn edited(&mut self, text: String) -> Step {
        self.answer("edit".into(), Some(text))
    }

    fn take(&mut self, at: usize) -> Step {
        let Some(choice) = self.ask.options.get(at) else {
            return Step::Stay;
        };
        self.chosen = at;
        match choice.id.as_str() {
            // What the person began themselves needs no reason to be left, nor does a budget.
            "deny" if self.ask.tool.is_none() => self.answer("deny".into(), None),
            "deny" | "keep" if self.ask.kind != AskKind::Budget => {
                self.reason = Some((choice.id.clone(), Field::default()));
                Step::Stay
            }
            "edit" => Step::Edit(self.ask.preview.clone().unwrap_or_default()),
            id => {
                let id = id.to_owned();
                self.answer(id, None)
            }
        }
    }

    fn answer(&self, choice: String, reason: Option<String>) -> Step {
        Step::Answer(Op::Answer {
            ask: self.ask.ask.clone(),
            choice,
            reason,
        })
    }

    pub fn frame(&self, canvas: &Canvas) -> Frame {
        let below = self.below(canvas);
        let left = canvas.rows.saturating_sub(below.rows.len());
        let room = left.saturating_sub(SPARE_ROWS).max(left.min(ASKED_ROWS));
        let mut above = self.above(canvas);
        // The least is the call itself.
        if room < ASKED_ROWS && above.len() > room {
            above.remove(0);
        }
        let mut rows = window(&above, self.scrolled, room, canvas);
        let caret = below.caret.map(|(row, column)| (row + rows.len(), column));
        rows.extend(below.rows);
        Frame { rows, caret }
    }

    /// The title, the subject and the preview.
    fn above(&self, canvas: &Canvas) -> Vec<Line> {
        let title = match (self.ask.kind, &self.ask.tool, &self.ask.from) {
            (AskKind::Plan, _, _) => canvas.say(Word::PlanReady).to_owned(),
            (AskKind::Budget, _, Some(from)) => {
                format!("{from}: {}", canvas.say(Word::BudgetReached))
            }
            (AskKind::Budget, _, None) => canvas.say(Word::BudgetReached).to_owned(),
            (_, tool, Some(from)) => {
                let tool = tool.as_deref().unwrap_or_default();
                canvas.fill(Word::ChildWantsTo, &[from, tool])
            }
            (_, Some(tool), None) => canvas.fill(Word::WantsTo, &[tool]),
            (AskKind::Permission, None, None) => canvas.say(Word::OwnQuestion).to_owned(),
            (_, None, None) => canvas.fill(Word::WantsTo, &["ostler"]),
        };
        let mut rows = text::wrap(&canvas.line(title, Role::Warning), canvas.columns);
        let bar = canvas.span("│ ", Role::Frame);
        let inner = canvas.narrower(2);
        let mut barred = |lines: Vec<Line>| {
            for mut line in lines {
                line.spans.insert(0, bar.clone());
                rows.push(line);
            }
        };
        if !(self.ask.kind == AskKind::Plan && self.ask.preview.is_some()) {
            // The title names the tool already.
            let tool = self.ask.tool.as_deref().unwrap_or_default();
            let subject = self.ask.subject.strip_prefix(tool);
            let subject = subject.and_then(|rest| rest.strip_prefix(": "));
            for line in subject.unwrap_or(&self.ask.subject).lines() {
                barred(text::wrap(&inner.line(line, Role::Strong), inner.columns));
            }
        }
        if let Some(preview) = &self.ask.preview {
            barred(match self.ask.kind {
                AskKind::Plan => crate::markdown::render(preview, inner.columns, &inner.theme),
                AskKind::Permission
                | AskKind::Question
                | AskKind::Trust
                | AskKind::Elicitation
                | AskKind::Budget => crate::diff::rows(preview, inner.columns, &inner.theme),
            });
        }
        rows
    }

    /// The answers, or the line for a reason.
    fn below(&self, canvas: &Canvas) -> Frame {
        if let Some((_, field)) = &self.reason {
            let (shown, column) = field.shown(canvas.columns.saturating_sub(2));
            let mut line = Line::from(canvas.span("› ", Role::Accent));
            line.push(Span::plain(shown));
            return Frame {
                rows: vec![canvas.line(canvas.say(Word::WhyNot), Role::Faint), line],
                caret: Some((1, column + 2)),
            };
        }
        let answer = |(n, choice): (usize, &Choice)| {
            let letter = shortcut(&choice.id).map_or_else(String::new, |c| format!("{c}  "));
            let label = format!("{letter}{}", self.label(choice, canvas));
            let detail = choice.detail.as_deref().unwrap_or_default();
            row(canvas, n == self.chosen, &label, detail)
        };
        let answers: Vec<Vec<Line>> = self.ask.options.iter().enumerate().map(answer).collect();
        let room = canvas.rows.saturating_sub(ASKED_ROWS + 1);
        let mut rows = around(&answers, self.chosen, room);
        let keys = match self.ask.is_from_background() {
            // Esc is a no to whoever asks; the turn goes on.
            true => Word::TaskAskKeys,
            false => Word::AskKeys,
        };
        rows.push(canvas.line(
            text::cut_text(canvas.say(keys), canvas.columns),
            Role::Faint,
        ));
        Frame { rows, caret: None }
    }

    /// A question of Ostler's own, about no call: its answers have words of their own.
    fn is_ours(&self) -> bool {
        self.ask.kind == AskKind::Permission && self.ask.tool.is_none() && self.ask.from.is_none()
    }

    /// In the person's language where the answer is one of the known ones.
    fn label<'a>(&self, choice: &'a Choice, canvas: &Canvas) -> &'a str {
        if self.ask.kind == AskKind::Budget || self.is_ours() {
            return &choice.label;
        }
        let word = match choice.id.as_str() {
            "once" => Word::AllowOnce,
            "session" => Word::AllowSession,
            "always" => Word::AllowAlways,
            "deny" => Word::DenyReason,
            "approve" => Word::PlanApprove,
            "edit" => Word::PlanEdit,
            "keep" => Word::PlanKeep,
            _ => return &choice.label,
        };
        canvas.say(word)
    }
}

/// The letter of an answer.
fn shortcut(id: &str) -> Option<char> {
    match id {
        "once" | "approve" | "trust" => Some('y'),
        "session" => Some('s'),
        "always" => Some('a'),
        "deny" => Some('n'),
        "edit" => Some('e'),
        "keep" => Some('k'),
        _ => None,
    }
}
