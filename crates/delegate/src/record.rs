//! What an agent has told up to now: passes it on to the watcher, puts pieces together, and keeps what the outcome needs.
//! Everything it keeps is bounded.

use crate::activity::{
    Activity, Notice, NoticeSource, Piece, PieceKind, PlanStep, Retry, ToolFinished, ToolStarted,
    Watcher,
};
use crate::outcome::Cost;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Bytes of one message.
const MAX_MESSAGE: usize = 4 << 20;
/// Bytes of what a call gave.
const MAX_OUTPUT: usize = 64 << 10;
/// Bytes of a line for people.
const MAX_NOTICE: usize = 2_000;
/// Lines for people that are passed on; the rest are counted.
const MAX_NOTICES: usize = 200;
/// Lines that an error can quote.
const TAIL_LINES: usize = 20;
/// Bytes of them.
const TAIL_BYTES: usize = 4_000;
/// Calls whose names are remembered.
const MAX_CALLS: usize = 10_000;
/// An agent that is refused so often by its vendor is given up where another can take over.
const ENOUGH_RETRIES: u64 = 2;

pub struct Recorder {
    watcher: Arc<dyn Watcher>,
    told: Told,
    trouble: Trouble,
    open: Option<Piece>,
    notices: usize,
    calls: BTreeSet<String>,
    /// Calls that came without a name.
    unnamed: u64,
}

/// What the outcome is made of.
#[derive(Default)]
struct Told {
    session: Option<String>,
    last_message: Option<String>,
    answer: Option<String>,
    failure: Option<String>,
    done: bool,
    usage: Option<Cost>,
}

/// What went wrong.
#[derive(Default)]
struct Trouble {
    /// Parts of an error, in lower case, for which another model takes over.
    patterns: Vec<String>,
    /// Everything that may hold one of them.
    lines: Tail,
    /// The last lines that were no events.
    printed: Tail,
    retries: u64,
    gives_up: bool,
}

/// The last lines of something.
#[derive(Default)]
struct Tail {
    lines: VecDeque<String>,
}

impl Tail {
    fn push(&mut self, line: &str) {
        self.lines.push_back(cut(line, MAX_NOTICE));
        if self.lines.len() > TAIL_LINES {
            self.lines.pop_front();
        }
    }

    fn text(&self) -> String {
        let mut bytes = 0;
        let fits = |line: &&String| {
            bytes += line.len() + 1;
            bytes <= TAIL_BYTES
        };
        let mut lines: Vec<&str> = self
            .lines
            .iter()
            .rev()
            .take_while(fits)
            .map(String::as_str)
            .collect();
        lines.reverse();
        lines.join("\n")
    }
}

impl Recorder {
    /// `patterns` are those of a fallback that can take over.
    pub fn new(watcher: Arc<dyn Watcher>, patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.trim().to_lowercase());
        Self {
            watcher,
            told: Told::default(),
            trouble: Trouble {
                patterns: patterns.filter(|pattern| !pattern.is_empty()).collect(),
                ..Trouble::default()
            },
            open: None,
            notices: 0,
            calls: BTreeSet::new(),
            unnamed: 0,
        }
    }

    pub fn session(&mut self, id: &str) {
        if self.told.session.as_deref() != Some(id) && !id.trim().is_empty() {
            self.told.session = Some(id.to_owned());
            self.watcher.activity(Activity::Session(id.to_owned()));
        }
    }

    pub fn piece(&mut self, kind: PieceKind, text: &str) {
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.flush();
        }
        let open = self.open.get_or_insert_with(|| Piece {
            kind,
            text: String::new(),
        });
        let room = MAX_MESSAGE.saturating_sub(open.text.len());
        open.text.push_str(prefix(text, room));
        let text = text.to_owned();
        self.watcher.activity(Activity::Piece(Piece { kind, text }));
    }

    /// A whole message, also one whose pieces came before.
    pub fn message(&mut self, text: &str) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.kind == PieceKind::Message)
        {
            self.open = None;
        }
        self.flush();
        let text = cut(text, MAX_MESSAGE);
        self.told.failure = None;
        self.told.last_message = Some(text.clone());
        self.watcher.activity(Activity::Message(text));
    }

    pub fn reasoning(&mut self, text: &str) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.kind == PieceKind::Reasoning)
        {
            self.open = None;
        }
        self.flush();
        self.watcher
            .activity(Activity::Reasoning(cut(text, MAX_MESSAGE)));
    }

    /// The last word. It is shown only if it was not said before.
    pub fn answer(&mut self, text: &str) {
        self.flush();
        let is_new = self.told.last_message.as_deref().map(str::trim) != Some(text.trim());
        if is_new {
            self.message(text);
        }
        self.told.failure = None;
        self.told.answer = Some(cut(text, MAX_MESSAGE));
    }

    /// Puts open pieces together.
    pub fn flush(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        match open.kind {
            PieceKind::Message if open.text.trim().is_empty() => {}
            PieceKind::Message => self.message(&open.text),
            PieceKind::Reasoning => self.watcher.activity(Activity::Reasoning(open.text)),
        }
    }

    pub fn tool_started(&mut self, mut call: ToolStarted) {
        self.flush();
        if call.id.is_empty() {
            self.unnamed += 1;
            call.id = format!("call-{}", self.unnamed);
        }
        if self.calls.len() < MAX_CALLS && self.calls.insert(call.id.clone()) {
            self.watcher.activity(Activity::ToolStarted(call));
        }
    }

    /// A call whose start was not told begins here, too.
    pub fn tool_finished(&mut self, started: ToolStarted, ok: bool, output: &str) {
        let mut started = started;
        self.flush();
        if started.id.is_empty() && self.unnamed > 0 {
            started.id = format!("call-{}", self.unnamed);
        }
        if !self.calls.contains(&started.id) {
            self.tool_started(started.clone());
        }
        if started.id.is_empty() {
            started.id = format!("call-{}", self.unnamed);
        }
        if self.calls.contains(&started.id) {
            self.watcher.activity(Activity::ToolFinished(ToolFinished {
                id: started.id,
                ok,
                output: cut(output, MAX_OUTPUT),
            }));
        }
    }

    pub fn plan(&mut self, steps: Vec<PlanStep>) {
        self.watcher.activity(Activity::Plan(steps));
    }

    /// What it has used in all.
    pub fn usage(&mut self, cost: Cost) {
        self.told.usage = Some(cost);
        self.watcher.activity(Activity::Usage(cost));
    }

    /// What one request used.
    pub fn add_usage(&mut self, more: Cost) {
        let before = self.told.usage.unwrap_or_default();
        let usd = match (before.usd, more.usd) {
            (None, None) => None,
            (before, more) => Some(before.unwrap_or_default() + more.unwrap_or_default()),
        };
        self.usage(Cost {
            usd,
            input_tokens: before.input_tokens.saturating_add(more.input_tokens),
            output_tokens: before.output_tokens.saturating_add(more.output_tokens),
            cached_tokens: before.cached_tokens.saturating_add(more.cached_tokens),
        });
    }

    /// It begins again: what failed before it counts no more.
    pub fn retry(&mut self, retry: Retry, details: &str) {
        self.told.failure = None;
        self.told.done = false;
        self.refused(retry, details);
    }

    /// Its vendor refused. `details` is looked at for the patterns, too.
    pub fn refused(&mut self, retry: Retry, details: &str) {
        self.trouble.retries += 1;
        self.trouble.lines.push(&retry.message);
        self.trouble.lines.push(details);
        let count = retry.attempt.unwrap_or(self.trouble.retries).max(self.trouble.retries);
        let is_refused = self.matches(&retry.message) || self.matches(details);
        self.trouble.gives_up |= is_refused && count >= ENOUGH_RETRIES;
        self.watcher.activity(Activity::Retry(Retry {
            message: cut(&retry.message, MAX_NOTICE),
            ..retry
        }));
    }

    /// The agent says that it failed. A message afterwards takes it back.
    pub fn failure(&mut self, text: &str, details: &str) {
        self.flush();
        self.trouble.lines.push(text);
        self.trouble.lines.push(details);
        self.told.failure = Some(cut(text.trim(), MAX_NOTICE));
    }

    /// A line for people.
    pub fn notice(&mut self, from: NoticeSource, line: &str) {
        let line = line.trim_end();
        if line.trim().is_empty() {
            return;
        }
        match from {
            NoticeSource::Stderr | NoticeSource::Output => {
                self.trouble.printed.push(line);
                self.trouble.lines.push(line);
            }
            NoticeSource::Agent | NoticeSource::Ours => {}
        }
        self.notices += 1;
        if self.notices <= MAX_NOTICES {
            let text = cut(line, MAX_NOTICE);
            self.watcher
                .activity(Activity::Notice(Notice { from, text }));
        }
    }

    pub fn done(&mut self) {
        self.flush();
        self.told.done = true;
    }

    pub fn is_done(&self) -> bool {
        self.told.done
    }

    /// Its vendor refuses, again and again, and another model can take over.
    pub fn gives_up(&self) -> bool {
        self.trouble.gives_up
    }

    pub fn session_id(&self) -> Option<&str> {
        self.told.session.as_deref()
    }

    /// The last word, or the last message.
    pub fn last(&self) -> Option<&str> {
        self.told.answer.as_deref().or(self.told.last_message.as_deref())
    }

    pub fn failed(&self) -> Option<&str> {
        self.told.failure.as_deref()
    }

    pub fn cost(&self) -> Option<Cost> {
        self.told.usage
    }

    /// The last lines that were no events.
    pub fn tail(&self) -> String {
        self.trouble.printed.text()
    }

    /// Whether something that went wrong, or `more`, holds a pattern.
    pub fn is_for_fallback(&self, more: &str) -> bool {
        self.matches(more) || self.trouble.lines.lines.iter().any(|line| self.matches(line))
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.trouble.patterns.iter().any(|pattern| text.contains(pattern))
    }
}

/// The beginning of a text, with a mark where it was cut.
pub fn cut(text: &str, most: usize) -> String {
    match prefix(text, most) {
        whole if whole.len() == text.len() => text.to_owned(),
        begin => format!("{begin}…"),
    }
}

fn prefix(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
