//! From events to cells: what is finished waits to be printed once, what goes on is drawn anew until it is finished.

mod past;
mod rows;

pub use past::cells;

use crate::canvas::Canvas;
use crate::cell::{Approved, Cell, Lookups, Notice, Reasoning, Retry, TodoList, Tool, Turn, User};
use crate::line::Line;
use crate::markdown::Stream;
use crate::text;
use crate::theme::Role as Part;
use crate::{diff, grid, markdown};
use ostler_wire::{Body, Delta, Event, Goal, GoalState, Language, Message, Role, View, Word};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time between two pictures of something that moves by itself.
pub const TICK: Duration = Duration::from_millis(120);
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Rows of a running call.
const LIVE_ROWS: usize = 6;
/// Bytes of a streamed thought that are kept for its live tail; the entry brings it whole.
const MAX_THOUGHT: usize = 64 << 10;

/// Columns of what is under way.
const MAX_DOING: usize = 40;

/// A moving sign.
pub fn spinner(since: Instant, now: Instant) -> &'static str {
    let ticks = now.saturating_duration_since(since).as_millis() / TICK.as_millis();
    let at = usize::try_from(ticks).unwrap_or(0) % SPINNER.len();
    SPINNER.get(at).copied().unwrap_or("·")
}

#[derive(Default)]
pub struct Transcript {
    show_reasoning: bool,
    language: Language,
    finished: VecDeque<Piece>,
    /// What was printed last, to know where a blank row belongs.
    last: Last,
    speaking: Option<Speaking>,
    thinking: Option<Thinking>,
    calls: Vec<Call>,
    /// Lookups that are over; the next one may join them.
    lookups: Lookups,
    /// The plan as it was shown last.
    plan: Option<TodoList>,
    turn: TurnSoFar,
    answer: String,
}

/// The turn that is under way.
#[derive(Default)]
struct TurnSoFar {
    since: Option<Instant>,
    usage: Turn,
    /// An error of it was shown.
    failed: bool,
    retry: Option<(Retry, Instant)>,
}

enum Piece {
    Cell(Box<Cell>),
    /// An answer whose last rows are final now.
    Said(Box<Stream>),
    Rows(Vec<Line>),
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Speech,
    Tool,
    Remark,
    Other,
}

struct Speaking {
    stream: Stream,
    text: String,
}

struct Thinking {
    text: String,
    since: Instant,
    took: Option<Duration>,
}

struct Call {
    cell: Tool,
    since: Option<Instant>,
}

impl Transcript {
    pub fn new(show_reasoning: bool, language: Language) -> Self {
        Self {
            show_reasoning,
            language,
            ..Self::default()
        }
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.speaking.is_none()
            && self.thinking.is_none()
            && self.calls.is_empty()
            && self.lookups.is_empty()
            && self.turn.since.is_none()
    }

    /// The text of the last whole answer.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// A line of our own.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push(Cell::Notice(Notice::new(text)));
    }

    /// A command of the person, above what it answers.
    pub fn echo(&mut self, line: &str) {
        self.push(Cell::User(User::command(line)));
    }

    /// Tokens that the model has answered in this turn, as far as they were counted.
    pub fn answered_tokens(&self) -> u64 {
        self.turn.usage.output
    }

    /// What is under way, in a few words: the call that runs, or what the model does.
    pub fn doing(&self) -> Option<String> {
        if let Some(running) = self.calls.iter().find(|call| call.since.is_some()) {
            return Some(text::cut_text(
                &running.cell.in_words(self.language),
                MAX_DOING,
            ));
        }
        let word = match (&self.thinking, &self.speaking) {
            (Some(_), _) => Word::ModelThinks,
            (None, Some(_)) => Word::DoingAnswers,
            (None, None) => return None,
        };
        Some(self.language.say(word).to_owned())
    }

    /// The command that runs, and since when.
    pub fn running_command(&self) -> Option<Instant> {
        let mut commands = self.calls.iter().filter(|call| call.cell.runs_command());
        commands.find_map(|call| call.since)
    }

    /// What the plan of the turn is at, in one row.
    pub fn plan_row(&self, canvas: &Canvas) -> Option<Line> {
        self.plan.as_ref()?.now(canvas.columns, &canvas.theme)
    }

    /// Rows that are ready already.
    pub fn keep(&mut self, rows: Vec<Line>) {
        self.end_lookups();
        self.finished.push_back(Piece::Rows(rows));
    }

    pub fn view(&mut self, view: &View, canvas: &Canvas) {
        let rows = match view {
            // An entry has said it already.
            View::Text(text) if self.is_noted(text) => return,
            View::Text(text) => markdown::render(text, canvas.columns, &canvas.theme),
            View::Diff(text) => diff::rows(text, canvas.columns, &canvas.theme),
            View::Error(text) => {
                crate::rows::prose(text, canvas.style(Part::Error), canvas.columns)
            }
            View::Table(table) => grid::rows(table, canvas),
            View::Report(report) => {
                let style = canvas.style(Part::Text);
                let parts = std::iter::once(&report.text).chain(&report.remarks);
                parts
                    .flat_map(|text| text.lines())
                    .flat_map(|line| crate::rows::fold(&Line::new(line, style), canvas.columns))
                    .collect()
            }
            View::Group(views) => {
                return views.iter().for_each(|view| self.view(view, canvas));
            }
            View::List(_) | View::Completion(_) | View::Do(_) => return,
        };
        self.keep(rows);
    }

    /// A call is over. One that only looked something up waits for others of its kind.
    fn over(&mut self, tool: Tool) {
        if tool.goes_without_saying() {
            return;
        }
        match tool.lookup() {
            Some(_) => self.lookups.push(tool),
            None => self.push(Cell::Tool(Box::new(tool))),
        }
    }

    fn end_lookups(&mut self) {
        if !self.lookups.is_empty() {
            let lookups = Cell::Lookups(std::mem::take(&mut self.lookups));
            self.finished.push_back(Piece::Cell(Box::new(lookups)));
        }
    }

    fn plan_changed(&mut self, todo: TodoList) {
        if let Some(todo) = todo.after(self.plan.as_ref()) {
            self.plan = Some(todo.clone());
            self.push(Cell::Todo(todo));
        }
    }

    fn is_noted(&self, text: &str) -> bool {
        let last = self.finished.back();
        matches!(last, Some(Piece::Cell(cell)) if matches!(&**cell, Cell::Notice(n) if n.text == text))
    }

    fn push(&mut self, cell: Cell) {
        self.end_lookups();
        self.finished.push_back(Piece::Cell(Box::new(cell)));
    }

    pub fn event(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Entry(entry) => self.entry(&entry.body, now),
            Event::Delta(delta) => self.delta(delta, now),
            Event::Ask(_) | Event::Reply(_) => {}
        }
    }

    fn delta(&mut self, delta: &Delta, now: Instant) {
        match delta {
            Delta::AssistantDelta { text } => {
                self.turn.retry = None;
                self.stop_thinking(now);
                self.end_lookups();
                let speaking = self.speaking.get_or_insert_with(|| Speaking {
                    stream: Stream::new(),
                    text: String::new(),
                });
                speaking.stream.push(text);
                speaking.text.push_str(text);
            }
            Delta::ReasoningDelta { text } => {
                self.turn.retry = None;
                let thinking = self.thinking.get_or_insert_with(|| Thinking {
                    text: String::new(),
                    since: now,
                    took: None,
                });
                thinking.text.push_str(text);
                if thinking.text.len() > MAX_THOUGHT {
                    thinking.text = text::tail(&thinking.text, MAX_THOUGHT / 2);
                }
            }
            Delta::ToolStarted { id, .. } => {
                if let Some(call) = self.call(id) {
                    call.since = Some(now);
                }
            }
            Delta::ToolOutput { id, chunk, .. } => {
                if let Some(call) = self.call(id) {
                    call.cell.tail.push(chunk);
                }
            }
            Delta::Progress { id, text, .. } => {
                // Whatever was tried again is through.
                if id.is_empty() && text.is_empty() {
                    self.turn.retry = None;
                }
                if let Some(call) = self.call(id) {
                    call.cell.progress = Some(text.clone());
                }
            }
            Delta::Retry {
                after_ms,
                attempt,
                of,
                reason,
            } => {
                let left = Duration::from_millis(*after_ms);
                let retry = Retry {
                    reason: reason.clone(),
                    attempt: *attempt,
                    of: *of,
                    left,
                };
                self.turn.retry = Some((retry, now + left));
            }
            Delta::Unrecorded { message } => {
                self.end_turn();
                self.push(Cell::Notice(Notice::warning(message)));
            }
            Delta::Idle => self.end_turn(),
            Delta::Announcement { .. }
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. }
            | Delta::AskClosed { .. }
            | Delta::Queue { .. }
            | Delta::Clients(_)
            | Delta::Tasks { .. }
            | Delta::Budget { .. }
            | Delta::Jobs { .. }
            | Delta::Mode { .. } => {}
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.cell.id == id)
    }

    fn stop_thinking(&mut self, now: Instant) {
        if let Some(thinking) = &mut self.thinking {
            let took = now.saturating_duration_since(thinking.since);
            thinking.took.get_or_insert(took);
        }
    }

    fn entry(&mut self, body: &Body, now: Instant) {
        if let Body::Message(message) = body {
            match message.role {
                Role::User => {
                    self.turn.since.get_or_insert(now);
                    self.cells(body);
                }
                Role::Assistant => self.said(message, now),
                Role::System => {}
            }
        } else if let Body::ToolUse(call) = body {
            self.calls.push(Call {
                cell: Tool::new(call),
                since: None,
            });
        } else if let Body::ToolResult(result) = body {
            let mut calls = self.calls.iter();
            if let Some(at) = calls.position(|c| c.cell.id == result.tool_use_id) {
                let mut call = self.calls.remove(at);
                call.cell.finish(result, self.language);
                self.over(call.cell);
            }
        } else if let Body::Todo(todo) = body {
            self.plan_changed(todo.clone().into());
        } else if let Body::Error(_) = body {
            self.turn.failed = true;
            self.cells(body);
        } else if let Body::TurnEnd(_) = body {
            // The error has said it.
            if !std::mem::take(&mut self.turn.failed) {
                self.cells(body);
            }
            self.count_turn(now);
        } else if let Body::Usage(usage) = body {
            self.turn.retry = None;
            // What was asked between two turns belongs to neither.
            if usage.role.is_none() || self.turn.since.is_some() {
                self.turn.usage.add(usage);
            }
        } else if let Body::Mode(mode) = body {
            self.mode_changed(mode.goal.as_ref(), body, now);
        } else if let Body::Settings(settings) = body {
            // As with the mode; nothing else says that the session is at another place.
            if settings.host.is_some() {
                self.cells(body);
            }
        } else if let Body::Approval(approval) = body {
            if !Approved::from(approval.clone()).goes_without_saying() {
                self.cells(body);
            }
        } else {
            self.cells(body);
        }
    }

    /// The answer to the command says it, and the status line. A turn of a goal begins by it: nobody said anything.
    fn mode_changed(&mut self, goal: Option<&Goal>, body: &Body, now: Instant) {
        if goal.is_some_and(|goal| goal.state == GoalState::Active) {
            if self.turn.since.is_none() && goal.is_some_and(|goal| goal.turn > 0) {
                self.cells(body);
            }
            self.turn.since.get_or_insert(now);
        }
    }

    /// The turn is over: what it took.
    fn count_turn(&mut self, now: Instant) {
        self.end_open();
        let mut turn = std::mem::take(&mut self.turn.usage);
        let since = self.turn.since;
        turn.took = since.map(|since| now.saturating_duration_since(since));
        if turn.input > 0 {
            self.push(Cell::Turn(turn));
        }
        self.end_turn();
    }

    fn cells(&mut self, body: &Body) {
        for cell in Cell::of(body, self.language) {
            self.push(cell);
        }
    }

    /// The answer is on disk: what was streamed of it is completed, never repeated.
    fn said(&mut self, message: &Message, now: Instant) {
        self.stop_thinking(now);
        let took = self.thinking.take().and_then(|t| t.took);
        let mut speech = None;
        for cell in Cell::of(&Body::Message(message.clone()), self.language) {
            match cell {
                Cell::Reasoning(reasoning) if self.show_reasoning => {
                    self.push(Cell::Reasoning(Reasoning::thought(reasoning.text, took)));
                }
                Cell::Reasoning(_) => {}
                other => speech = Some(other),
            }
        }
        if !message.text.trim().is_empty() {
            self.answer.clone_from(&message.text);
        }
        match (self.speaking.take(), speech) {
            (Some(mut speaking), _) => {
                self.end_lookups();
                match message.text.strip_prefix(&speaking.text) {
                    Some(rest) => speaking.stream.push(rest),
                    // Deltas were lost: better twice than not at all.
                    None => speaking.stream.push(&format!("\n\n{}", message.text)),
                }
                speaking.stream.finish();
                self.finished
                    .push_back(Piece::Said(Box::new(speaking.stream)));
            }
            (None, Some(cell)) => self.push(cell),
            (None, None) => {}
        }
    }

    fn end_turn(&mut self) {
        self.end_open();
        self.thinking = None;
        self.turn.retry = None;
        self.turn.since = None;
        self.turn.failed = false;
    }

    /// Ends what is still under way.
    fn end_open(&mut self) {
        if let Some(mut speaking) = self.speaking.take() {
            speaking.stream.finish();
            self.finished
                .push_back(Piece::Said(Box::new(speaking.stream)));
        }
        for call in std::mem::take(&mut self.calls) {
            if !call.cell.goes_without_saying() {
                self.push(Cell::Tool(Box::new(call.cell)));
            }
        }
        self.end_lookups();
    }
}
