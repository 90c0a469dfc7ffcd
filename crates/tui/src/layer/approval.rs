//! May it? The call whole, what it would change, and what each answer would do.

use super::asking::{LEAST_COLUMNS, Meaning, Page, Pick, Reply};
use super::choices::{answer_rows, hint_line, moved_into, scrolled};
use super::{Step, heading, window};
use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::Line;
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Ask, Choice, Escape, PreviewFormat, Takes, Word, count_blanks};

/// Rows of the terminal that are left for what is above.
const SPARE_ROWS: usize = 2;
/// Rows of what is asked about, before there is room for more than one answer: nobody says yes to what they do not see.
const ASKED_ROWS: usize = 3;
/// A document with more lines, or longer ones, is shown as plain text: laid out, parts of it would be left out.
const MAX_LAID_OUT_LINES: usize = 500;
const MAX_LAID_OUT_LINE: usize = 8 * 1024;

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
    /// The words that this choice takes are being written.
    Reason(usize),
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
        match choice.takes {
            Takes::Reason => {
                self.stage = Stage::Reason(at);
                Step::Stay
            }
            Takes::EditedText => Step::Edit(self.preview().unwrap_or_default().to_owned()),
            Takes::Nothing if choice.confirm => {
                self.stage = Stage::Confirm {
                    choice: at,
                    chosen: None,
                };
                Step::Stay
            }
            Takes::Nothing => Step::Answer(self.ask.take(choice, self.edited.clone())),
        }
    }

    /// The answer of a page that was left with a choice.
    fn send(&self, at: usize) -> Step {
        let choice = self.ask.options.get(at);
        choice.map_or(Step::Stay, |choice| {
            Step::Answer(self.ask.take(choice, self.edited.clone()))
        })
    }

    /// The option that says no, and what its words are to say if it takes some.
    fn refusal(&self) -> Option<(&Choice, Option<&str>)> {
        let choice = self.ask.refusal()?;
        let hint = match choice.takes {
            Takes::Reason => Some(choice.hint.as_deref().unwrap_or_default()),
            Takes::Nothing | Takes::EditedText => None,
        };
        Some((choice, hint))
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

    /// The keys of the answers on this page, with those that are options.
    fn shown(&self) -> Vec<(char, Option<&Choice>)> {
        match &self.stage {
            Stage::Confirm { .. } => vec![('y', None), ('n', None)],
            Stage::Choices | Stage::Reason(_) => {
                let key = |(at, choice): (usize, &Choice)| {
                    let number = u32::try_from(at + 1).ok();
                    let number = number.and_then(|n| char::from_digit(n, 10)).unwrap_or('·');
                    choice.key.unwrap_or(number)
                };
                let options = self.ask.options.iter().enumerate();
                let keyed = options.map(|(at, choice)| (key((at, choice)), Some(choice)));
                keyed.collect()
            }
        }
    }
}

impl Approval {
    pub fn ask(&self) -> &Ask {
        &self.ask
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
            Stage::Reason(choice) => self.send(*choice),
            Stage::Confirm { .. } if at.is_none() => Step::Stay,
            Stage::Confirm { choice, .. } if at == Some(SAVE) => self.send(*choice),
            Stage::Confirm { .. } => {
                self.stage = Stage::Choices;
                Step::Stay
            }
        }
    }

    pub fn named(&self, text: &str) -> Option<Pick> {
        let text = text.trim().to_lowercase();
        let mut letters = text.chars();
        let at = match (letters.next(), letters.next(), &self.stage) {
            (Some(letter), None, _) => self.by_letter(letter),
            (_, _, Stage::Confirm { .. }) => {
                let key = WORDS.iter().find(|(word, _)| *word == text);
                key.and_then(|(_, key)| self.by_letter(*key))
            }
            (_, _, Stage::Choices | Stage::Reason(_)) => self.ask.named(&text),
        };
        at.map(Pick::Option)
    }

    pub fn refuses(&self, pick: Pick) -> bool {
        let at = self.index(pick);
        match &self.stage {
            Stage::Choices => {
                let choice = at.and_then(|at| self.ask.options.get(at));
                choice.is_some_and(|choice| choice.refuses)
            }
            Stage::Reason(_) => true,
            Stage::Confirm { .. } => false,
        }
    }

    pub fn reply(&self, text: Option<String>) -> Reply {
        let text = text.filter(|text| !text.trim().is_empty());
        match (self.refusal(), text) {
            (Some((no, Some(_))), Some(text)) => Reply::Sent(self.ask.answer(&no.id, Some(text))),
            (Some((no, _)), Some(_) | None) => Reply::Refused(self.ask.answer(&no.id, None)),
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
        let keys = match (&self.stage, self.ask.silence.escape) {
            (Stage::Reason(at), _) => {
                let choice = self.ask.options.get(*at);
                let hint = choice.and_then(|choice| choice.hint.as_deref());
                let label = choice.map_or("", |choice| choice.label.as_str());
                return canvas.fill(Word::ReasonKeys, &[hint.unwrap_or_default(), label]);
            }
            (Stage::Confirm { chosen: None, .. }, _) => Word::ConfirmFirstKeys,
            (Stage::Confirm { .. }, _) => Word::ConfirmKeys,
            (Stage::Choices, Escape::Answer) if self.chosen.is_none() => Word::TaskFirstKeys,
            (Stage::Choices, Escape::Answer) => Word::TaskAskKeys,
            (Stage::Choices, Escape::StopTurn) if self.chosen.is_none() => Word::FirstKeys,
            (Stage::Choices, Escape::StopTurn) => Word::AskKeys,
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
                choice.map_or_else(String::new, |choice| text_of(choice, canvas))
            }
        }
    }

    pub fn reply_hint(&self, text: &str, canvas: &Canvas) -> String {
        match self.refusal() {
            None => canvas.say(Word::ReplyNothing).to_owned(),
            Some((no, Some(_))) => canvas.fill(Word::ReplyReason, &[&no.label, text]),
            Some((no, None)) => canvas.fill(Word::ReplyRefuses, &[&no.label]),
        }
    }

    pub fn placeholder(&self, canvas: &Canvas) -> String {
        match (&self.stage, self.refusal()) {
            (Stage::Choices | Stage::Confirm { .. }, Some((_, Some(hint)))) => {
                canvas.fill(Word::OrType, &[hint])
            }
            (Stage::Reason(_), _) | (_, Some((_, None)) | None) => String::new(),
        }
    }

    /// The window has room for the call, or for the beginning of one that is scrolled.
    pub fn is_readable(&self, canvas: &Canvas) -> bool {
        let (above, room) = self.asked(canvas, self.below(canvas, "").len());
        canvas.columns >= LEAST_COLUMNS && (above.len() <= room || room >= ASKED_ROWS)
    }

    pub fn frame(&self, canvas: &Canvas, hint: &str) -> Frame {
        let below = self.below(canvas, hint);
        let (above, room) = self.asked(canvas, below.len());
        let mut rows = window(&above, self.scrolled, room, canvas);
        rows.extend(below);
        Frame { rows, caret: None }
    }
}

impl Approval {
    /// What is asked about, and the rows that it has above so many rows of answers.
    fn asked(&self, canvas: &Canvas, below: usize) -> (Vec<Line>, usize) {
        let left = canvas.rows.saturating_sub(below);
        let room = left.saturating_sub(SPARE_ROWS).max(left.min(ASKED_ROWS));
        let mut above = self.above(canvas);
        // The least is the call itself.
        if room < ASKED_ROWS && above.len() > room {
            above.remove(0);
        }
        (above, room)
    }

    /// The title, the subject and the preview.
    fn above(&self, canvas: &Canvas) -> Vec<Line> {
        if let Stage::Confirm { choice, .. } = &self.stage {
            return self.confirmation(*choice, canvas);
        }
        let title = match &self.ask.from {
            Some(from) => canvas.fill(Word::ChildWantsTo, &[from, &self.ask.title]),
            None => self.ask.title.clone(),
        };
        let mut rows = heading(&title, canvas);
        let bar = canvas.span("│ ", Role::Frame);
        let inner = canvas.narrower(2);
        let mut barred = |lines: Vec<Line>| {
            for mut line in lines {
                line.spans.insert(0, bar.clone());
                rows.push(line);
            }
        };
        let is_document = self.ask.preview_format == PreviewFormat::Markdown;
        if !(is_document && self.preview().is_some()) {
            // The title names the tool already.
            let tool = self.ask.tool.as_deref().unwrap_or_default();
            let subject = self.ask.subject.strip_prefix(tool);
            let subject = subject.and_then(|rest| rest.strip_prefix(": "));
            let subject = count_blanks(subject.unwrap_or(&self.ask.subject));
            for line in subject.lines() {
                barred(text::wrap(&inner.line(line, Role::Strong), inner.columns));
            }
        }
        if let Some(preview) = self.preview() {
            let preview = &*count_blanks(preview);
            barred(match self.ask.preview_format {
                PreviewFormat::Markdown if is_shown_whole(preview) => {
                    crate::markdown::render(preview, inner.columns, &inner.theme)
                }
                PreviewFormat::Diff => {
                    crate::diff::whole_rows(preview, &self.ask.subject, inner.columns, &inner.theme)
                }
                PreviewFormat::Markdown | PreviewFormat::Text => {
                    let row = |line: &str| text::wrap(&inner.line(line, Role::Text), inner.columns);
                    preview.lines().flat_map(row).collect()
                }
            });
        }
        rows
    }

    /// What exactly would be saved, and where.
    fn confirmation(&self, choice: usize, canvas: &Canvas) -> Vec<Line> {
        let mut rows = heading(canvas.say(Word::SaveForGood), canvas);
        let choice = self.ask.options.get(choice);
        let detail = choice.and_then(|choice| choice.detail.as_deref());
        let label = choice.map_or("", |choice| choice.label.as_str());
        let inner = canvas.narrower(2);
        for (line, role) in [
            (label, Role::Text),
            (detail.unwrap_or_default(), Role::Strong),
        ] {
            for mut line in text::wrap(&inner.line(&*count_blanks(line), role), inner.columns) {
                line.spans.insert(0, canvas.span("│ ", Role::Frame));
                rows.push(line);
            }
        }
        rows
    }

    /// The answers and the hint.
    fn below(&self, canvas: &Canvas, hint: &str) -> Vec<Line> {
        let chosen = self.index(Pick::Chosen);
        let answer = |(n, (key, choice)): (usize, (char, Option<&Choice>))| {
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
}

/// Whether the layout of a document leaves nothing of it out.
fn is_shown_whole(document: &str) -> bool {
    let is_short = |line: &str| line.len() <= MAX_LAID_OUT_LINE;
    document.lines().count() <= MAX_LAID_OUT_LINES && document.lines().all(is_short)
}

/// A choice, and what its words are to say.
fn text_of(choice: &Choice, canvas: &Canvas) -> String {
    match (&choice.takes, &choice.hint) {
        (Takes::Reason, Some(hint)) => canvas.fill(Word::AndSay, &[&choice.label, hint]),
        (Takes::Reason | Takes::Nothing | Takes::EditedText, _) => choice.label.clone(),
    }
}

/// Words that are typed for a letter of the confirmation.
const WORDS: [(&str, char); 2] = [("yes", 'y'), ("no", 'n')];
