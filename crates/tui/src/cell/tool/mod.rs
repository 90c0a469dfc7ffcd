//! A call of a tool: what it is about, how it stands, and so much of what came of it as tells the story.

mod result;
mod tail;
mod title;
mod together;

pub use tail::Tail;
pub use together::Lookups;

use super::{Fold, lines};
use crate::line::{Line, Span};
use crate::theme::{Role, Theme};
use crate::{links, rows, say, text};
use ostler_wire::{CallTitle, CallVerb, Caller, Language, ResultForm, ToolResult, ToolUse, Word};
use result::Outcome;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Lines of output that are seen while a command runs, and after it.
const LIVE: usize = 5;
/// Cells of a title that what it is about keeps.
const MIN_SUBJECT: usize = 8;
/// Bytes of what a title says about the result.
const MAX_FACT: usize = 100;
/// Shorter calls do not say how long they took.
const WORTH_TELLING: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Tool {
    pub id: String,
    name: String,
    input: Value,
    title: Option<CallTitle>,
    repair: Option<String>,
    /// The person typed it.
    is_own: bool,
    state: State,
    outcome: Outcome,
    took: Duration,
    /// What it says while it runs.
    pub tail: Tail,
    /// What it is at, in its own words.
    pub progress: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Its turn has not come.
    #[default]
    Queued,
    /// The person is asked about it.
    Asked,
    Running(Duration),
    Done,
    Failed,
    Denied,
    Interrupted,
}

/// A finished call in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub head: String,
    pub subject: String,
    /// With the gap before them.
    pub facts: String,
    /// The line of its result that says most.
    pub result: String,
}

impl State {
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Asked | Self::Running(_) => false,
            Self::Done | Self::Failed | Self::Denied | Self::Interrupted => true,
        }
    }

    fn looks(self) -> (&'static str, Role) {
        match self {
            Self::Queued => ("○", Role::Faint),
            Self::Asked => ("?", Role::Accent),
            Self::Running(_) => ("○", Role::Tool),
            Self::Done => ("●", Role::Good),
            Self::Failed => ("✗", Role::Error),
            Self::Denied => ("⊘", Role::Warning),
            Self::Interrupted => ("■", Role::Warning),
        }
    }
}

impl Tool {
    pub fn new(call: &ToolUse) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.to_value(),
            title: call.title.clone(),
            repair: call.repair.clone(),
            is_own: call.by == Some(Caller::Person),
            state: State::default(),
            outcome: Outcome::default(),
            took: Duration::ZERO,
            tail: Tail::default(),
            progress: None,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    fn form(&self) -> ResultForm {
        self.title
            .as_ref()
            .map(|title| title.result)
            .unwrap_or_default()
    }

    /// An entry of its own shows what came of it.
    pub fn goes_without_saying(&self) -> bool {
        self.form() == ResultForm::Entry
            && match self.state {
                State::Queued | State::Asked | State::Running(_) | State::Done => true,
                State::Failed | State::Denied | State::Interrupted => false,
            }
    }

    /// What it looked up, if that is all it did.
    pub fn lookup(&self) -> Option<CallVerb> {
        let verb = self.title.as_ref()?.verb?;
        (self.state == State::Done && verb.looks_up()).then_some(verb)
    }

    /// It runs a command.
    pub fn runs_command(&self) -> bool {
        self.form() == ResultForm::Command
    }

    /// What it is about, for a list of several.
    fn in_short(&self) -> Span {
        let subject = title::subject(self.title.as_ref(), &self.input);
        match self
            .outcome
            .facts
            .first()
            .filter(|_| self.lookup() != Some(CallVerb::Read))
        {
            Some(fact) => Span::plain(format!("{subject} ({fact})")),
            None => Span::plain(subject.as_str()).leading_to(self.file(&subject)),
        }
    }

    /// Where it stands before it is over.
    pub fn set(&mut self, state: State) {
        self.state = state;
    }

    /// It is over. What it said meanwhile is in the result.
    pub fn finish(&mut self, result: &ToolResult, to: Language) {
        let envelope = result.output.to_value();
        self.took = Duration::from_millis(result.duration_ms);
        self.state = match (result.ok, envelope["error"]["code"].as_str()) {
            (true, _) => State::Done,
            (false, Some("denied" | "blocked")) => State::Denied,
            (false, Some("interrupted")) => State::Interrupted,
            (false, _) => State::Failed,
        };
        self.outcome = result::read(self.form(), &self.input, envelope, to);
        if self.is_own {
            self.outcome.show_a_screen();
        }
        for fact in &mut self.outcome.facts {
            fact.truncate(rows::head(fact, MAX_FACT).len());
        }
        if self.outcome.went_wrong && self.state == State::Done {
            self.state = State::Failed;
        }
        self.tail = Tail::default();
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let mut out = vec![self.title(columns, theme)];
        if let (Fold::Open, Some(repair)) = (fold, &self.repair) {
            out.push(lines::cut(repair, theme.style(Role::Warning), columns));
        }
        if fold == Fold::Open {
            out.extend(self.whole_input(columns, theme));
        }
        match self.state {
            State::Queued | State::Asked => {}
            State::Running(_) => out.extend(self.live(columns, theme)),
            // Its title says it all.
            State::Interrupted if fold == Fold::Closed => {}
            State::Done | State::Failed | State::Denied | State::Interrupted => {
                out.extend(self.outcome.rows(columns, theme, fold));
            }
        }
        out
    }

    fn title(&self, columns: usize, theme: &Theme) -> Line {
        let (mark, role) = self.state.looks();
        let facts = self.facts(theme.language);
        let mut line: Line = [
            Span::new(format!("{mark} "), theme.style(role)),
            Span::new(self.head(theme.language), theme.style(Role::Strong)),
        ]
        .into_iter()
        .collect();
        let subject = title::subject(self.title.as_ref(), &self.input);
        if !subject.is_empty() {
            let taken = line.width() + 2 + text::width(&facts);
            let room = columns.saturating_sub(taken).max(MIN_SUBJECT);
            let gap = if self.verb().is_some() { " " } else { "  " };
            line.push(Span::plain(gap));
            let shown = Span::plain(text::cut_text(&subject, room));
            line.push(shown.leading_to(self.file(&subject)));
        }
        if !facts.is_empty() {
            line.push(Span::new(facts, theme.style(Role::Faint)));
        }
        text::cut(&line, columns)
    }

    /// The file that its subject names.
    fn file(&self, subject: &str) -> Option<Arc<str>> {
        let is_path = ["path", "destination_path"]
            .into_iter()
            .any(|name| self.input.get(name).and_then(Value::as_str) == Some(subject));
        links::path(subject).filter(|_| is_path)
    }

    fn verb(&self) -> Option<CallVerb> {
        self.title.as_ref()?.verb
    }

    /// What it does or did: its verb, or its name where it has none.
    fn head(&self, to: Language) -> String {
        match self.verb() {
            // What was denied was not done.
            Some(verb) => {
                let is_done = self.state.is_over() && self.state != State::Denied;
                to.say(verb.word(is_done)).to_owned()
            }
            None => title::name(&self.name),
        }
    }

    /// What follows the subject in its title, with the gap before it.
    fn facts(&self, to: Language) -> String {
        let mut facts = self.outcome.facts.clone();
        match self.state {
            State::Asked => facts.push(to.say(Word::WaitsForYou).into()),
            State::Denied => facts.push(to.say(Word::Denied).into()),
            State::Interrupted => facts.push(to.say(Word::Stopped).into()),
            State::Queued | State::Running(_) | State::Done | State::Failed => {}
        }
        let took = match self.state {
            State::Running(so_far) => so_far,
            State::Queued
            | State::Asked
            | State::Done
            | State::Failed
            | State::Denied
            | State::Interrupted => self.took,
        };
        if took >= WORTH_TELLING {
            facts.push(say::time(took));
        }
        match facts.as_slice() {
            [] => String::new(),
            // What changed belongs to the name of the file.
            facts if facts.concat().starts_with('(') => format!(" {}", facts.join(" · ")),
            facts => format!("  {}", facts.join(" · ")),
        }
    }

    /// What it does, with what it is about.
    pub fn in_words(&self, to: Language) -> String {
        let subject = title::subject(self.title.as_ref(), &self.input);
        format!("{} {subject}", self.head(to)).trim_end().to_owned()
    }

    /// The call on one line, for output without cells. Foreign text is as it came.
    pub fn summary(&self, to: Language) -> Summary {
        Summary {
            head: self.head(to),
            subject: title::subject(self.title.as_ref(), &self.input),
            facts: self.facts(to),
            result: self.outcome.headline().unwrap_or_default().to_owned(),
        }
    }

    /// The arguments that the title could not show.
    fn whole_input(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        match title::whole(self.title.as_ref(), &self.input) {
            Some(text) => lines::all(&text, theme.style(Role::Faint), columns),
            None => Vec::new(),
        }
    }

    fn live(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let faint = theme.style(Role::Faint);
        let mut out = Vec::new();
        if let Some(progress) = &self.progress {
            out.push(lines::cut(progress, theme.style(Role::Accent), columns));
        }
        let (hidden, last) = self.tail.last(LIVE);
        if hidden > 0 {
            out.push(lines::note(
                say::earlier_lines(theme.language, hidden),
                theme,
            ));
        }
        out.extend(last.map(|line| lines::cut(line, faint, columns)));
        out
    }
}
