//! May it? The call whole, what it would change, and what each answer would do.

use super::asking::{Meaning, Page, Pick, Reply};
use super::choices::{answer_rows, hint_line, moved_into, scrolled};
use super::{Step, window};
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::Line;
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
    /// Where the cursor is. Nobody confirms an option that they did not move to.
    chosen: Option<usize>,
    stage: Stage,
    /// Rows of the preview that are scrolled away.
    scrolled: usize,
    /// The plan as the person has changed it.
    edited: Option<String>,
    edits: u8,
}

/// Which page of it is shown.
#[derive(Debug)]
enum Stage {
    Choices,
    /// A choice that outlives the session is to be confirmed, by `SAVE` or not.
    Confirm {
        choice: usize,
        chosen: Option<usize>,
    },
    /// A no, whose reason is being written.
    Reason(String),
}

/// Pages of changed plans are counted from here, after the other pages.
const FIRST_EDIT: u8 = 3;
/// Answers to whether something is to be saved.
const SAVE: usize = 0;
const GO_BACK: usize = 1;

impl Approval {
    pub fn new(ask: Ask) -> Self {
        Self {
            ask,
            chosen: None,
            stage: Stage::Choices,
            scrolled: 0,
            edited: None,
            edits: 0,
        }
    }

    /// The plan that is to be approved is another one now. It is not approved by that.
    pub fn edited(&mut self, text: String) {
        self.scrolled = 0;
        self.chosen = None;
        self.edited = Some(text);
        self.edits = self.edits.wrapping_add(1).max(FIRST_EDIT);
    }

    fn take(&mut self, at: usize) -> Step {
        let Some(choice) = self.ask.options.get(at) else {
            return Step::Stay;
        };
        self.chosen = Some(at);
        match choice.id.as_str() {
            "deny" | "keep" if self.reads_reason() => {
                self.stage = Stage::Reason(choice.id.clone());
                Step::Stay
            }
            "edit" => Step::Edit(self.preview().unwrap_or_default().to_owned()),
            "approve" if self.edited.is_some() => self.answer("edit", self.edited.clone()),
            _ if choice.outlives_session() => {
                self.stage = Stage::Confirm {
                    choice: at,
                    chosen: None,
                };
                Step::Stay
            }
            id => self.answer(id, None),
        }
    }

    fn answer(&self, choice: &str, reason: Option<String>) -> Step {
        Step::Answer(self.op(choice, reason))
    }

    fn op(&self, choice: &str, reason: Option<String>) -> Op {
        Op::Answer {
            ask: self.ask.ask.clone(),
            choice: choice.to_owned(),
            reason,
        }
    }

    /// What the person began themselves needs no reason to be left, nor does a budget.
    fn reads_reason(&self) -> bool {
        match self.ask.kind {
            AskKind::Plan => true,
            AskKind::Budget => false,
            AskKind::Permission | AskKind::Trust | AskKind::Question | AskKind::Elicitation => {
                self.ask.tool.is_some()
            }
        }
    }

    /// The option that says no.
    fn refusal(&self) -> Option<&str> {
        let refusal = self.ask.options.iter().find(|choice| choice.refuses());
        refusal.map(|choice| choice.id.as_str())
    }

    fn preview(&self) -> Option<&str> {
        self.edited.as_deref().or(self.ask.preview.as_deref())
    }

    fn index(&self, pick: Pick) -> Option<usize> {
        match (pick, &self.stage) {
            (Pick::Nothing, _) => None,
            (Pick::Option(at), _) => Some(at),
            (Pick::Chosen, Stage::Confirm { chosen, .. }) => *chosen,
            (Pick::Chosen, Stage::Choices | Stage::Reason(_)) => self.chosen,
        }
    }

    /// The index of the answer that a letter or number stands for on this page.
    fn by_letter(&self, letter: char) -> Option<usize> {
        let letter = letter.to_ascii_lowercase();
        let shown = self.shown();
        let by_letter = shown.iter().position(|(key, _)| *key == letter);
        let by_number = letter
            .to_digit(10)
            .and_then(|n| (n as usize).checked_sub(1));
        by_letter.or(by_number.filter(|at| *at < shown.len()))
    }

    /// The keys of the answers on this page, and the ids of those that are options.
    fn shown(&self) -> Vec<(char, Option<&str>)> {
        match &self.stage {
            Stage::Confirm { .. } => vec![('y', None), ('n', None)],
            Stage::Choices | Stage::Reason(_) => {
                let options = self.ask.options.iter().enumerate();
                let key = |(at, choice): (usize, &Choice)| {
                    let number = u32::try_from(at + 1).ok();
                    let number = number.and_then(|n| char::from_digit(n, 10)).unwrap_or('·');
                    shortcut(&choice.id).unwrap_or(number)
                };
                let keyed =
                    options.map(|(at, choice)| (key((at, choice)), Some(choice.id.as_str())));
                keyed.collect()
            }
        }
    }
}

impl Approval {
    pub fn ask(&self) -> &str {
        &self.ask.ask
    }

    pub fn page(&self) -> Page {
        let page = match &self.stage {
            Stage::Choices => self.edits,
            Stage::Confirm { .. } => 1,
            Stage::Reason(_) => 2,
        };
        (self.ask.ask.clone(), page)
    }

    pub fn meaning(&mut self, key: Key) -> Meaning {
        let (at, len) = match &mut self.stage {
            Stage::Confirm { chosen, .. } => (chosen, GO_BACK + 1),
            Stage::Choices | Stage::Reason(_) => (&mut self.chosen, self.ask.options.len()),
        };
        if let Some(to) = moved_into(*at, len, key) {
            *at = Some(to);
            return Meaning::Moved;
        }
        let is_bare = !key.ctrl && !key.alt && !key.shift;
        match key.code {
            Code::Enter if is_bare => Meaning::Picks(Pick::Chosen),
            Code::Char(c) if is_bare => match self.by_letter(c) {
                Some(at) => Meaning::Picks(Pick::Option(at)),
                None => Meaning::Text,
            },
            _ => Meaning::Text,
        }
    }

    pub fn scroll(&mut self, key: Key, canvas: &Canvas) -> bool {
        let rows = || self.above(canvas).len();
        let Some(at) = scrolled(self.scrolled, rows, canvas, key) else {
            return false;
        };
        self.scrolled = at;
        true
    }

    pub fn select(&mut self, pick: Pick) -> Pick {
        let before = self.index(Pick::Chosen).map_or(Pick::Nothing, Pick::Option);
        let at = self.index(pick);
        match &mut self.stage {
            Stage::Confirm { chosen, .. } => *chosen = at.map(|at| at.min(GO_BACK)),
            Stage::Choices | Stage::Reason(_) => {
                let last = self.ask.options.len().saturating_sub(1);
                self.chosen = at.map(|at| at.min(last));
            }
        }
        before
    }

    pub fn has_choice(&self) -> bool {
        self.index(Pick::Chosen).is_some()
    }

    pub fn pick(&mut self, pick: Pick) -> Step {
        let at = self.index(pick);
        match &self.stage {
            Stage::Choices => at.map_or(Step::Stay, |at| self.take(at)),
            Stage::Reason(id) => self.answer(id, None),
            Stage::Confirm { .. } if at.is_none() => Step::Stay,
            Stage::Confirm { choice, .. } if at == Some(SAVE) => {
                let choice = self.ask.options.get(*choice);
                choice.map_or(Step::Stay, |choice| self.answer(&choice.id, None))
            }
            Stage::Confirm { .. } => {
                self.stage = Stage::Choices;
                Step::Stay
            }
        }
    }

    pub fn named(&self, text: &str) -> Option<Pick> {
        let text = text.trim().to_lowercase();
        let mut letters = text.chars();
        let at = match (letters.next(), letters.next()) {
            (Some(letter), None) => self.by_letter(letter),
            _ => {
                let key = WORDS.iter().find(|(word, _)| *word == text);
                let by_id = || {
                    let shown = self.shown();
                    shown.iter().position(|(_, id)| *id == Some(text.as_str()))
                };
                key.map_or_else(by_id, |(_, key)| self.by_letter(*key))
            }
        };
        at.map(Pick::Option)
    }

    pub fn refuses(&self, pick: Pick) -> bool {
        let at = self.index(pick);
        match &self.stage {
            Stage::Choices => {
                let choice = at.and_then(|at| self.ask.options.get(at));
                choice.is_some_and(Choice::refuses)
            }
            Stage::Reason(_) => true,
            Stage::Confirm { .. } => false,
        }
    }

    pub fn reply(&self, text: Option<String>) -> Reply {
        let text = text.filter(|text| !text.trim().is_empty());
        let reads = self.reads_reason();
        match (self.refusal(), text) {
            (Some(id), Some(text)) if reads => Reply::Sent(self.op(id, Some(text))),
            (Some(id), Some(_) | None) => Reply::Refused(self.op(id, None)),
            (None, _) => Reply::Nothing,
        }
    }

    pub fn wants_words(&self) -> bool {
        matches!(self.stage, Stage::Reason(_))
    }

    pub fn go_back(&mut self) -> bool {
        match &self.stage {
            Stage::Choices => false,
            Stage::Confirm { .. } | Stage::Reason(_) => {
                self.stage = Stage::Choices;
                true
            }
        }
    }

    pub fn keys(&self, canvas: &Canvas) -> String {
        let keys = match (&self.stage, self.ask.kind, self.ask.is_from_background()) {
            (Stage::Reason(_), AskKind::Plan, _) => Word::WhatToChange,
            (Stage::Reason(_), _, _) => Word::WhyNot,
            (Stage::Confirm { chosen: None, .. }, _, _) => Word::ConfirmFirstKeys,
            (Stage::Confirm { .. }, _, _) => Word::ConfirmKeys,
            // Esc refuses the call of the background task; the turn goes on.
            (Stage::Choices, _, true) if self.chosen.is_none() => Word::TaskFirstKeys,
            (Stage::Choices, _, true) => Word::TaskAskKeys,
            (Stage::Choices, _, false) if self.chosen.is_none() => Word::FirstKeys,
            (Stage::Choices, _, false) => Word::AskKeys,
        };
        canvas.say(keys).to_owned()
    }

    pub fn label(&self, pick: Pick, canvas: &Canvas) -> String {
        let Some(at) = self.index(pick) else {
            return String::new();
        };
        match &self.stage {
            Stage::Confirm { .. } if at == SAVE => canvas.say(Word::SaveRule).to_owned(),
            Stage::Confirm { .. } => canvas.say(Word::GoBack).to_owned(),
            Stage::Choices | Stage::Reason(_) => {
                let choice = self.ask.options.get(at);
                choice.map_or_else(String::new, |choice| {
                    self.text_of(choice, canvas).to_owned()
                })
            }
        }
    }

    pub fn reply_hint(&self, text: &str, canvas: &Canvas) -> String {
        match (self.refusal(), self.ask.kind, self.reads_reason()) {
            (None, _, _) => canvas.say(Word::ReplyNothing).to_owned(),
            (Some(_), AskKind::Plan, _) => canvas.fill(Word::ReplyKeeps, &[text]),
            (Some(_), _, true) => canvas.fill(Word::ReplyDenies, &[text]),
            (Some(_), _, false) => canvas.say(Word::ReplyRefuses).to_owned(),
        }
    }

    pub fn placeholder(&self, canvas: &Canvas) -> &'static str {
        match (&self.stage, self.ask.kind, self.reads_reason()) {
            (Stage::Reason(_), _, _) | (_, _, false) => "",
            (_, AskKind::Plan, true) => canvas.say(Word::OrWhatToChange),
            (_, _, true) => canvas.say(Word::OrWhyNot),
        }
    }

    pub fn frame(&self, canvas: &Canvas, hint: &str) -> Frame {
        let below = self.below(canvas, hint);
        let left = canvas.rows.saturating_sub(below.len());
        let room = left.saturating_sub(SPARE_ROWS).max(left.min(ASKED_ROWS));
        let mut above = self.above(canvas);
        // The least is the call itself.
        if room < ASKED_ROWS && above.len() > room {
            above.remove(0);
        }
        let mut rows = window(&above, self.scrolled, room, canvas);
        rows.extend(below);
        Frame { rows, caret: None }
    }
}

impl Approval {
    /// The title, the subject and the preview.
    fn above(&self, canvas: &Canvas) -> Vec<Line> {
        if let Stage::Confirm { choice, .. } = &self.stage {
            return self.confirmation(*choice, canvas);
        }
        let title = match (self.ask.kind, &self.ask.tool, &self.ask.from) {
            (AskKind::Plan, _, _) => canvas.say(Word::PlanReady).to_owned(),
            (AskKind::Budget, _, Some(from)) => {
                format!("{from}: {}", canvas.say(Word::BudgetReached))
            }
            (AskKind::Budget, _, None) => canvas.say(Word::BudgetReached).to_owned(),
            (_, tool, Some(from)) => {
                let title = title_of(tool.as_deref().unwrap_or_default(), canvas);
                canvas.fill(Word::ChildWantsTo, &[from, &title])
            }
            (_, Some(tool), None) => title_of(tool, canvas),
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
        if !(self.ask.kind == AskKind::Plan && self.preview().is_some()) {
            // The title names the tool already.
            let tool = self.ask.tool.as_deref().unwrap_or_default();
            let subject = self.ask.subject.strip_prefix(tool);
            let subject = subject.and_then(|rest| rest.strip_prefix(": "));
            for line in subject.unwrap_or(&self.ask.subject).lines() {
                barred(text::wrap(&inner.line(line, Role::Strong), inner.columns));
            }
        }
        if let Some(preview) = self.preview() {
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

    /// What exactly would be saved, and where.
    fn confirmation(&self, choice: usize, canvas: &Canvas) -> Vec<Line> {
        let title = canvas.line(canvas.say(Word::SaveForGood), Role::Warning);
        let mut rows = text::wrap(&title, canvas.columns);
        let choice = self.ask.options.get(choice);
        let detail = choice.and_then(|choice| choice.detail.as_deref());
        let label = choice.map_or("", |choice| self.text_of(choice, canvas));
        let inner = canvas.narrower(2);
        for (line, role) in [
            (label, Role::Text),
            (detail.unwrap_or_default(), Role::Strong),
        ] {
            for mut line in text::wrap(&inner.line(line, role), inner.columns) {
                line.spans.insert(0, canvas.span("│ ", Role::Frame));
                rows.push(line);
            }
        }
        rows
    }

    /// The answers and the hint.
    fn below(&self, canvas: &Canvas, hint: &str) -> Vec<Line> {
        let chosen = self.index(Pick::Chosen);
        let answer = |(n, (key, id)): (usize, (char, Option<&str>))| {
            let choice = self.ask.options.get(n).filter(|_| id.is_some());
            let detail = choice.and_then(|choice| choice.detail.as_deref());
            let label = self.label(Pick::Option(n), canvas);
            (
                format!("{key}  {label}"),
                detail.unwrap_or_default().to_owned(),
            )
        };
        let shown = match &self.stage {
            Stage::Reason(_) => Vec::new(),
            Stage::Choices | Stage::Confirm { .. } => self.shown(),
        };
        let answers: Vec<(String, String)> = shown.into_iter().enumerate().map(answer).collect();
        let room = canvas.rows.saturating_sub(ASKED_ROWS + 1);
        let mut rows = answer_rows(&answers, chosen, canvas, room);
        rows.push(hint_line(hint, canvas));
        rows
    }

    /// A question of Ostler's own, about no call: its answers have words of their own.
    fn is_ours(&self) -> bool {
        self.ask.kind == AskKind::Permission && self.ask.tool.is_none() && self.ask.from.is_none()
    }

    /// In the person's language where the answer is one of the known ones.
    fn text_of<'a>(&self, choice: &'a Choice, canvas: &Canvas) -> &'a str {
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

/// What a tool asks for, as a question.
fn title_of(tool: &str, canvas: &Canvas) -> String {
    let word = match tool {
        "bash" | "bash_input" => Word::WantsToRun,
        "edit_file" | "multi_edit" | "notebook_edit" | "delete_range" | "delete_symbol" => {
            Word::WantsToEdit
        }
        "write_file" => Word::WantsToWrite,
        "move_file" => Word::WantsToMove,
        "read_file" | "ls" | "grep" | "glob" => Word::WantsToRead,
        "fetch_url" => Word::WantsToFetch,
        "web_search" => Word::WantsToSearch,
        "task" | "read_only_task" => Word::WantsToDelegate,
        "remember" => Word::WantsToRemember,
        "forget" => Word::WantsToForget,
        _ => return canvas.fill(Word::WantsTo, &[tool]),
    };
    canvas.say(word).to_owned()
}

/// Words that are typed for a letter.
const WORDS: [(&str, char); 2] = [("yes", 'y'), ("no", 'n')];

/// The letter of an answer.
fn shortcut(id: &str) -> Option<char> {
    match id {
        "once" | "approve" => Some('y'),
        "session" => Some('s'),
        "always" => Some('a'),
        "deny" => Some('n'),
        "edit" => Some('e'),
        "keep" => Some('k'),
        _ => None,
    }
}
