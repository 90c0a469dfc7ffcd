//! A question of the model or a server: choices, several of them, or one's own words, which are written in the composer.

use super::asking::{LEAST_COLUMNS, Meaning, Page, Pick, Reply};
use super::choices::{answer_rows, hint_line, moved_into, scrolled};
use super::{Step, window};
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::Line;
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Ask, AskKind, Escape, Op, Secret, TextUse, Word, count_blanks};

/// Rows of the question, before there is room for more than one answer.
const ASKED_ROWS: usize = 2;

#[derive(Debug)]
pub struct Question {
    ask: Ask,
    /// Where the cursor is. Nobody confirms an option that they did not move to.
    chosen: Option<usize>,
    marked: Vec<bool>,
    /// Rows of what is asked that are scrolled away.
    scrolled: usize,
    /// What was typed of a secret, which never is in the composer.
    typed: Secret,
}

/// How a letter of a secret is shown.
const MASK: &str = "•";
/// Letters of a secret that are shown as such.
const MAX_MASKED: usize = 40;
/// Bytes of a secret.
const MAX_SECRET: usize = 8 << 10;

impl Question {
    pub fn new(ask: Ask) -> Self {
        Self {
            marked: vec![false; ask.options.len()],
            chosen: None,
            scrolled: 0,
            typed: Secret::new(""),
            ask,
        }
    }

    pub fn is_secret(&self) -> bool {
        self.ask.kind == AskKind::Secret
    }

    pub fn has_typed(&self) -> bool {
        !self.typed.reveal().is_empty()
    }

    /// More of a secret.
    pub fn type_text(&mut self, text: &str) {
        let mut typed = self.typed.reveal().to_owned();
        let is_part = |c: &char| !c.is_control();
        typed.extend(text.chars().filter(is_part));
        if typed.len() <= MAX_SECRET {
            self.typed = Secret::new(typed);
        }
    }

    /// Takes the last letter of a secret back, or all of it.
    pub fn untype(&mut self, all: bool) {
        let mut typed = self.typed.reveal().to_owned();
        match all {
            true => typed.clear(),
            false => drop(typed.pop()),
        }
        self.typed = Secret::new(typed);
    }

    /// The answer with the secret.
    pub fn told(&self) -> Op {
        self.op(self.typed.reveal())
    }

    /// The secret as it is shown.
    pub fn masked(&self) -> String {
        MASK.repeat(self.typed.reveal().chars().count().min(MAX_MASKED))
    }

    fn has_words(&self) -> bool {
        self.ask.text_use() == TextUse::Answer
    }

    fn index(&self, pick: Pick) -> Option<usize> {
        match pick {
            Pick::Chosen => self.chosen,
            Pick::Option(at) => Some(at),
            Pick::Nothing => None,
        }
    }

    fn id(&self, at: usize) -> Option<&str> {
        self.ask.options.get(at).map(|choice| choice.id.as_str())
    }

    fn toggle(&mut self, at: usize) {
        if let Some(mark) = self.marked.get_mut(at) {
            *mark = !*mark;
        }
    }

    fn marked_ids(&self) -> Vec<&str> {
        let marked = (0..self.marked.len()).filter(|n| self.marked.get(*n) == Some(&true));
        marked.filter_map(|n| self.id(n)).collect()
    }

    fn op(&self, choice: &str) -> Op {
        self.ask.answer(choice, None)
    }

    /// The question, and what is to be read before it is answered.
    fn above(&self, canvas: &Canvas) -> Vec<Line> {
        let mut asked = Vec::new();
        for line in count_blanks(&self.ask.subject).lines() {
            asked.extend(text::wrap(&canvas.line(line, Role::Strong), canvas.columns));
        }
        let preview = self.ask.preview.as_deref().unwrap_or_default();
        for line in count_blanks(preview).lines() {
            asked.extend(text::wrap(&canvas.line(line, Role::Text), canvas.columns));
        }
        asked
    }
}

impl Question {
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    pub fn page(&self) -> Page {
        (self.ask.ask.clone(), 0)
    }

    pub fn meaning(&mut self, key: Key) -> Meaning {
        let len = self.ask.options.len();
        if let Some(chosen) = moved_into(self.chosen, len, key) {
            self.chosen = Some(chosen);
            return Meaning::Moved;
        }
        let is_bare = !key.ctrl && !key.alt && !key.shift;
        match key.code {
            Code::Enter if is_bare => Meaning::Picks(Pick::Chosen),
            // A mark is seen, answers nothing and can be taken away again.
            Code::Char(' ') if self.ask.multi && is_bare => match self.chosen {
                Some(at) => {
                    self.toggle(at);
                    Meaning::Moved
                }
                None => Meaning::Text,
            },
            Code::Char(c @ '1'..='9') if is_bare => match usize::from(c as u8 - b'1') {
                at if at < len => Meaning::Picks(Pick::Option(at)),
                _ => Meaning::Text,
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
        let before = self.chosen.map_or(Pick::Nothing, Pick::Option);
        let last = self.ask.options.len().saturating_sub(1);
        self.chosen = self.index(pick).map(|at| at.min(last));
        before
    }

    pub fn has_choice(&self) -> bool {
        self.chosen.is_some() || !self.marked_ids().is_empty()
    }

    pub fn pick(&mut self, pick: Pick) -> Step {
        self.select(pick);
        if let (Pick::Option(at), true) = (pick, self.ask.multi) {
            self.toggle(at);
            return Step::Stay;
        }
        let marked = self.marked_ids();
        let choice = match self.ask.multi && !marked.is_empty() {
            true => marked.join(", "),
            false => {
                let id = self.chosen.and_then(|at| self.id(at));
                id.unwrap_or_default().to_owned()
            }
        };
        match choice.is_empty() {
            true => Step::Stay,
            false => Step::Answer(self.op(&choice)),
        }
    }

    pub fn named(&self, text: &str) -> Option<Pick> {
        let at = text.trim().parse::<usize>().ok()?.checked_sub(1)?;
        (at < self.ask.options.len()).then_some(Pick::Option(at))
    }

    pub fn refuses(&self, pick: Pick) -> bool {
        let choice = self.index(pick).and_then(|at| self.ask.options.get(at));
        choice.is_some_and(|choice| choice.refuses)
    }

    pub fn reply(&self, text: Option<String>) -> Reply {
        match text.as_deref().map(str::trim) {
            // Words of one's own join what is marked.
            Some(words) if self.has_words() && !words.is_empty() => {
                let marked = self.marked_ids().into_iter().filter(|_| self.ask.multi);
                let all: Vec<&str> = marked.chain([words]).collect();
                Reply::Sent(self.op(&all.join(", ")))
            }
            Some(_) | None => match self.ask.refusal() {
                Some(no) => Reply::Refused(self.op(&no.id)),
                None => Reply::Nothing,
            },
        }
    }

    pub fn wants_words(&self) -> bool {
        self.ask.options.is_empty()
    }

    pub fn keys(&self, canvas: &Canvas) -> String {
        let keys = match (self.ask.multi, self.ask.silence.escape) {
            (_, Escape::StopTurn) if self.wants_words() => Word::WordsKeys,
            (_, Escape::Answer) if self.wants_words() => Word::TaskWordsKeys,
            (true, Escape::StopTurn) => Word::MultiKeys,
            (true, Escape::Answer) => Word::TaskMultiKeys,
            (false, Escape::StopTurn) if self.chosen.is_none() => Word::FirstKeys,
            (false, Escape::StopTurn) => Word::AskKeys,
            (false, Escape::Answer) if self.chosen.is_none() => Word::TaskFirstKeys,
            (false, Escape::Answer) => Word::TaskAskKeys,
        };
        canvas.say(keys).to_owned()
    }

    pub fn label(&self, pick: Pick, _: &Canvas) -> String {
        let choice = self.index(pick).and_then(|at| self.ask.options.get(at));
        choice.map_or_else(String::new, |choice| choice.label.clone())
    }

    pub fn reply_hint(&self, text: &str, canvas: &Canvas) -> String {
        match self.reply(Some(text.to_owned())) {
            Reply::Sent(_) => canvas.fill(Word::ReplyAnswers, &[text]),
            Reply::Refused(_) => {
                let label = self.ask.refusal().map_or("", |no| no.label.as_str());
                canvas.fill(Word::ReplyRefuses, &[label])
            }
            Reply::Nothing => canvas.say(Word::ReplyNothing).to_owned(),
        }
    }

    pub fn placeholder(&self, canvas: &Canvas) -> String {
        match (self.has_words(), self.ask.options.is_empty()) {
            (true, false) => canvas.say(Word::OwnWords).to_owned(),
            (true, true) | (false, _) => String::new(),
        }
    }

    /// The window has room for the question, or for the beginning of one that is scrolled.
    pub fn is_readable(&self, canvas: &Canvas) -> bool {
        let room = self.asked_rows(canvas, self.below(canvas, "").len());
        let fits = self.above(canvas).len() <= room || room > ASKED_ROWS;
        canvas.columns >= LEAST_COLUMNS && fits
    }

    pub fn frame(&self, canvas: &Canvas, hint: &str) -> Frame {
        let below = self.below(canvas, hint);
        let room = self.asked_rows(canvas, below.len()).max(ASKED_ROWS);
        let mut rows = window(&self.above(canvas), self.scrolled, room, canvas);
        rows.extend(below);
        Frame { rows, caret: None }
    }

    /// Rows that the question has above so many rows of answers.
    fn asked_rows(&self, canvas: &Canvas, below: usize) -> usize {
        canvas.rows.saturating_sub(below + 1)
    }

    /// The answers and the hint.
    fn below(&self, canvas: &Canvas, hint: &str) -> Vec<Line> {
        let mut answers = Vec::new();
        for (n, choice) in self.ask.options.iter().enumerate() {
            let mark = match (self.ask.multi, self.marked.get(n) == Some(&true)) {
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
                (false, _) => "",
            };
            let label = format!("{mark}{}. {}", n + 1, choice.label);
            let detail = choice.detail.as_deref().unwrap_or_default();
            answers.push((label, detail.to_owned()));
        }
        let room = canvas.rows.saturating_sub(ASKED_ROWS + 1);
        let mut below = answer_rows(&answers, self.chosen, canvas, room);
        below.push(hint_line(hint, canvas));
        below
    }
}
