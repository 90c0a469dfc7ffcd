//! Shows a session on stdout and stderr: the assistant's text or the event stream on the one, everything else on the other.
//! It draws events; it knows no engine.

mod text;

use crate::color::{Ink, Paint};
use ostler_wire::{
    Act, Action, Body, Caller, Cell, Column, ColumnKind, Compaction, Deed, Delta, Entry, Event,
    GoalState, HERE, Language, List, Open, Outcome, ResultForm, Role, Table, ToolResult, ToolUse,
    Usage, View, Word, escape_json, printable, printable_piece, short_id,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The assistant's text.
    Text,
    /// The text of the last answer, and only when the turn went well.
    Final,
    /// Every event as a line, the result object last.
    Stream,
    /// The result object only.
    Result,
}

#[derive(Clone, Copy, Debug)]
pub struct Show {
    pub tool_calls: bool,
    pub reasoning: bool,
    pub tokens: bool,
    /// Stdout is a terminal, which no text may drive.
    pub on_terminal: bool,
    pub language: Language,
}

/// How the turn ended, for the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Turn(Outcome),
    /// The log could not be written.
    Unrecorded,
}

pub struct Printer<O, E> {
    out: O,
    err: E,
    format: Format,
    show: Show,
    paint: Paint,
    /// Bytes of the current answer's text that are out already.
    printed: usize,
    /// The last thing on stdout was not a line break.
    open_line: bool,
    /// The same on stderr, where reasoning and the person's own commands stream.
    open_stream: bool,
    /// Output of the running command of the person's own was shown.
    live: bool,
    calls: HashMap<String, ToolUse>,
    /// What was said on opening and will come again as an entry.
    told: Vec<String>,
    pub tally: Tally,
}

/// What the result object reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub text: String,
    pub turns: u64,
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub cost: Option<f64>,
    pub error: Option<(String, String)>,
    /// How a goal stands.
    pub goal: Option<GoalState>,
}

impl<O: Write, E: Write> Printer<O, E> {
    pub fn new(out: O, err: E, format: Format, show: Show, paint: Paint) -> Self {
        Self {
            out,
            err,
            format,
            show,
            paint,
            printed: 0,
            open_line: false,
            open_stream: false,
            live: false,
            calls: HashMap::new(),
            told: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Shows one event. `Some` when it ended the turn.
    pub fn event(&mut self, event: &Event, now: &str) -> io::Result<Option<End>> {
        if self.format == Format::Stream {
            let line = event.to_line(now)?;
            writeln!(self.out, "{}", escape_json(&line))?;
        }
        match event {
            Event::Entry(entry) => self.entry(entry),
            Event::Delta(delta) => self.delta(delta),
            Event::Reply(reply) => {
                self.view(&reply.view)?;
                Ok(None)
            }
            Event::Ask(_) => Ok(None),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.err.flush()
    }

    /// A line on stderr, between the streams.
    pub fn note(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        self.end_line()?;
        let text = crate::output::redactor().text(printable(text));
        let text = self.paint.with(ink, &text);
        writeln!(self.err, "{text}")
    }

    /// The same with its own line breaks.
    pub fn lines(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        for line in text.lines() {
            self.note(ink, line)?;
        }
        Ok(())
    }

    /// A remark on opening. The notice that says it in the log is not shown again.
    pub fn remark(&mut self, text: &str) -> io::Result<()> {
        self.told.push(text.to_owned());
        self.note(Ink::Grey, text)
    }

    /// The last line of the JSON formats.
    pub fn result(
        &mut self,
        session: &str,
        end: &End,
        took: std::time::Duration,
    ) -> io::Result<()> {
        match (self.format, end) {
            (Format::Text, _) => return self.end_line(),
            (Format::Final, End::Turn(Outcome::Done)) => {
                return writeln!(self.out, "{}", self.tally.text.trim_end());
            }
            (Format::Final, End::Turn(_) | End::Unrecorded) => return Ok(()),
            (Format::Stream | Format::Result, _) => {}
        }
        let (subtype, is_error) = match end {
            End::Turn(Outcome::Done) => ("success", false),
            End::Turn(Outcome::Interrupted) => ("interrupted", true),
            End::Turn(Outcome::Error) => ("error", true),
            End::Turn(Outcome::MaxSteps) => ("max_steps", true),
            End::Turn(Outcome::EmptyResponse) => ("empty_response", true),
            End::Turn(Outcome::Refusal) => ("refusal", true),
            End::Unrecorded => ("unrecorded", true),
        };
        let tally = &self.tally;
        let mut result = json!({
            "type": "result",
            "subtype": subtype,
            "is_error": is_error,
            "result": tally.text,
            "session_id": session,
            "num_turns": tally.turns,
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "usage": {"input": tally.input, "cached": tally.cached, "cache_write": tally.cache_write, "output": tally.output},
            "cost": tally.cost,
        });
        if let Some((kind, message)) = &tally.error {
            result["error"] = json!({"kind": kind, "message": message});
        }
        writeln!(self.out, "{}", escape_json(&result.to_string()))
    }

    /// Starts counting for the next prompt of the same session.
    pub fn next_turn(&mut self) {
        self.tally = Tally::default();
        self.printed = 0;
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<Option<End>> {
        match &entry.body {
            Body::Message(message) => match message.role {
                Role::Assistant => self.answer(&message.text)?,
                Role::User => self.printed = 0,
                Role::System => self.note(Ink::Grey, &message.text)?,
            },
            Body::ToolUse(call) => self.requested(call)?,
            Body::ToolResult(result) => self.finished(result)?,
            Body::Usage(usage) => self.usage(usage)?,
            Body::Notice(notice) if self.told.contains(&notice.text) => {}
            Body::Notice(notice) => self.lines(Ink::Yellow, &notice.text)?,
            Body::Error(error) => {
                self.tally.error = Some((error.kind.clone(), error.message.clone()));
                let text = self.show.language.fill(Word::ErrorIs, &[&error.message]);
                self.note(Ink::Red, &text)?;
            }
            Body::Interrupted(_) => {
                let text = self.show.language.say(Word::WasInterrupted);
                self.note(Ink::Yellow, text)?;
            }
            Body::TurnEnd(end) => return Ok(self.ended(end.outcome)),
            Body::Mode(mode) => self.tally.goal = mode.goal.as_ref().map(|goal| goal.state),
            Body::Compaction(compaction) => self.folded(compaction)?,
            Body::Todo(todo) => {
                let done = todo
                    .items
                    .iter()
                    .filter(|i| i.state == ostler_wire::TodoState::Done)
                    .count();
                if self.show.tool_calls {
                    let [done, all] = [done, todo.items.len()].map(|n| n.to_string());
                    let text = self.show.language.fill(Word::TodoDone, &[&done, &all]);
                    self.note(Ink::Grey, &text)?;
                }
            }
            Body::Settings(settings) => {
                if let Some(host) = &settings.host {
                    let language = self.show.language;
                    let here = language.say(Word::HostHere);
                    let host = if host == HERE { here } else { host };
                    let root = settings.root.as_deref().unwrap_or_default();
                    self.note(Ink::Grey, &language.fill(Word::PlaceNow, &[host, root]))?;
                }
            }
            Body::Meta(_)
            | Body::Approval(_)
            | Body::Child(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => {}
        }
        Ok(None)
    }

    /// Nothing while a goal goes on, and no success where it does not.
    fn ended(&mut self, outcome: Outcome) -> Option<End> {
        let outcome = match (self.tally.goal, outcome) {
            (Some(GoalState::Active), _) => return None,
            (Some(GoalState::Blocked | GoalState::Limit | GoalState::Failed), Outcome::Done) => {
                Outcome::Error
            }
            (Some(_) | None, outcome) => outcome,
        };
        Some(End::Turn(outcome))
    }

    fn delta(&mut self, delta: &Delta) -> io::Result<Option<End>> {
        match delta {
            Delta::AssistantDelta { text } => {
                self.printed += text.len();
                self.say(text)?;
            }
            Delta::ReasoningDelta { text } => {
                if self.show.reasoning && !text.is_empty() {
                    self.think(text)?;
                }
            }
            Delta::Retry {
                after_ms,
                attempt,
                of,
                reason,
            } => {
                let wait = format!("{:.1}", *after_ms as f64 / 1000.0);
                let attempt = attempt.to_string();
                let language = self.show.language;
                let text = match of {
                    0 => language.fill(Word::RetryPlain, &[attempt.as_str(), &wait, reason]),
                    of => {
                        let words = [attempt.as_str(), &of.to_string(), &wait, reason];
                        language.fill(Word::RetryPlainOf, &words)
                    }
                };
                self.note(Ink::Yellow, &text)?;
            }
            Delta::Unrecorded { message } => {
                self.tally.error = Some(("log".into(), message.clone()));
                let text = self.show.language.fill(Word::ErrorIs, &[message]);
                self.note(Ink::Red, &text)?;
                return Ok(Some(End::Unrecorded));
            }
            Delta::Announcement { view } => self.view(view)?,
            Delta::ToolOutput { id, chunk, .. } => {
                if self.calls.get(id).is_some_and(is_own) {
                    self.stream(chunk)?;
                    self.live = true;
                }
            }
            Delta::Progress { id, text, .. } => {
                // What belongs to no call is worth waiting for.
                let is_shown = self.show.tool_calls || id.is_empty();
                if is_shown && !text.is_empty() {
                    self.note(Ink::Grey, text)?;
                }
            }
            Delta::ToolStarted { .. }
            | Delta::Tasks { .. }
            | Delta::Budget { .. }
            | Delta::Jobs { .. }
            | Delta::Queue { .. }
            | Delta::Clients(_)
            | Delta::Idle
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. }
            | Delta::AskClosed { .. }
            | Delta::Mode { .. } => {}
        }
        Ok(None)
    }

    fn folded(&mut self, compaction: &Compaction) -> io::Result<()> {
        let Compaction {
            answers,
            calls,
            tokens_before,
            tokens_after,
            ..
        } = compaction;
        let numbers = [answers, calls, tokens_before, tokens_after].map(|n| n.to_string());
        let numbers = numbers.each_ref().map(String::as_str);
        let text = self.show.language.fill(Word::FoldedWork, &numbers);
        self.note(Ink::Grey, &text)
    }

    /// The whole answer is there; what a dropped delta left out follows now.
    fn answer(&mut self, text: &str) -> io::Result<()> {
        if let Some(rest) = text.get(self.printed..) {
            self.say(rest)?;
        }
        self.printed = 0;
        if !text.trim().is_empty() {
            self.tally.text = text.to_owned();
        }
        self.tally.turns += 1;
        self.end_line()
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        if self.format != Format::Text || text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.open_stream) {
            writeln!(self.err)?;
        }
        // Both streams may be the same terminal, which shows them in the order of the flushes.
        self.err.flush()?;
        self.open_line = !text.ends_with('\n');
        match self.show.on_terminal {
            true => self.out.write_all(printable_piece(text).as_bytes()),
            false => self.out.write_all(text.as_bytes()),
        }
    }

    /// A piece of reasoning. Pieces follow each other on the same line; only an open line of the answer ends before it.
    fn think(&mut self, text: &str) -> io::Result<()> {
        if self.open_line && self.show.on_terminal {
            self.end_answer_line()?;
        }
        let piece = self.paint.with(Ink::Grey, &printable_piece(text));
        write!(self.err, "{piece}")?;
        self.open_stream = !text.ends_with('\n');
        Ok(())
    }

    fn requested(&mut self, call: &ToolUse) -> io::Result<()> {
        self.calls.insert(call.id.clone(), call.clone());
        // Whoever typed it sees it already.
        self.live = false;
        Ok(())
    }

    fn finished(&mut self, result: &ToolResult) -> io::Result<()> {
        let call = self.calls.remove(&result.tool_use_id);
        if call.as_ref().is_some_and(is_own) {
            return self.ran(result);
        }
        if !self.show.tool_calls {
            return Ok(());
        }
        // One that an earlier process asked for and never ran: nobody who reads this saw it begin.
        let Some(call) = call else {
            return Ok(());
        };
        let form = call
            .title
            .as_ref()
            .map(|title| title.result)
            .unwrap_or_default();
        // An entry of its own says it.
        if form == ResultForm::Entry && result.ok {
            return Ok(());
        }
        let mut cell = ostler_tui::cell::Tool::new(&call);
        cell.finish(result, self.show.language);
        let (head, rest) = text::one_line(&cell.summary(self.show.language));
        let head = self.paint.with(Ink::Yellow, &head);
        let ink = if result.ok { Ink::Grey } else { Ink::Red };
        let rest = self.paint.with(ink, &rest);
        self.end_line()?;
        writeln!(self.err, "{head}{rest}")
    }

    /// What the person ran themselves is shown whole.
    fn ran(&mut self, result: &ToolResult) -> io::Result<()> {
        let output = result.output.to_value();
        let text = |key: &str| output.pointer(key).and_then(Value::as_str);
        if !self.live {
            for stream in ["/data/stdout", "/data/stderr"] {
                self.stream(text(stream).unwrap_or_default())?;
            }
        }
        self.end_line()?;
        let code = output.pointer("/data/exit_code").and_then(Value::as_i64);
        match (text("/error/message"), code) {
            (Some(why), _) => self.note(Ink::Red, why),
            (None, Some(code)) if code != 0 => {
                let code = code.to_string();
                let text = self.show.language.fill(Word::StateExited, &[&code]);
                self.note(Ink::Grey, &text)
            }
            (None, Some(_) | None) => Ok(()),
        }
    }

    fn stream(&mut self, chunk: &str) -> io::Result<()> {
        if !chunk.is_empty() {
            self.open_stream = !chunk.ends_with('\n');
            write!(self.err, "{}", printable_piece(chunk))?;
        }
        Ok(())
    }

    fn usage(&mut self, usage: &Usage) -> io::Result<()> {
        let tally = &mut self.tally;
        tally.input += usage.input;
        tally.cached += usage.cached;
        tally.cache_write += usage.cache_write;
        tally.output += usage.output;
        tally.cost = usage
            .cost
            .map(|more| tally.cost.unwrap_or(0.0) + more)
            .or(tally.cost);
        if !self.show.tokens {
            return Ok(());
        }
        let cost = usage
            .cost
            .map_or_else(String::new, |c| format!(", ${c:.4}"));
        let [input, cached, output] =
            [usage.input, usage.cached, usage.output].map(|n| n.to_string());
        let words = [input.as_str(), &cached, &output, &cost];
        let text = self.show.language.fill(Word::TokensPlain, &words);
        self.note(Ink::Cyan, &text)
    }

    fn view(&mut self, view: &View) -> io::Result<()> {
        match view {
            View::Text(text) => self.lines(Ink::Plain, text),
            View::Error(text) => self.lines(Ink::Red, text),
            View::Diff(text) => self.lines(Ink::Plain, text),
            // The loop does it.
            View::Do(_) => Ok(()),
            View::List(list) => self.list(list),
            View::Completion(_) => self.lines(Ink::Plain, view.plain(None).trim_end()),
            View::Report(report) => self.with_remarks(&report.text, &report.remarks),
            View::Group(views) => views.iter().try_for_each(|view| self.view(view)),
            View::Table(table) if table.is_menu() && !table.rows.is_empty() => {
                self.note(Ink::Plain, &table.title)?;
                self.with_remarks(&with_commands(table).plain(None), &table.remarks)
            }
            View::Table(table) => self.with_remarks(&table.plain(None), &table.remarks),
        }
    }

    fn with_remarks(&mut self, text: &str, remarks: &[String]) -> io::Result<()> {
        self.lines(Ink::Plain, text.trim_end())?;
        let mut remarks = remarks.iter();
        remarks.try_for_each(|remark| self.lines(Ink::Grey, remark))
    }

    /// Things to choose from, each with what to type for it.
    fn list(&mut self, list: &List) -> io::Result<()> {
        self.note(Ink::Plain, &list.title)?;
        if list.items.is_empty() {
            return self.note(Ink::Grey, &list.empty);
        }
        for item in &list.items {
            let mark = if item.marked { "*" } else { " " };
            let how = item.actions.first().map(command_for);
            let parts = [
                item.label.clone(),
                item.detail.clone(),
                how.unwrap_or_default(),
            ];
            let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
            self.note(Ink::Plain, &format!("{mark} {}", parts.join("  ")))?;
        }
        Ok(())
    }

    /// Ends the open lines of both streams, so that what follows on stderr has a line of its own.
    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open_stream) {
            writeln!(self.err)?;
        }
        self.end_answer_line()
    }

    fn end_answer_line(&mut self) -> io::Result<()> {
        let is_open = std::mem::take(&mut self.open_line);
        if self.format != Format::Text {
            return Ok(());
        }
        if is_open {
            writeln!(self.out)?;
        }
        self.out.flush()
    }
}

/// The table with what to type for each row in a last column.
fn with_commands(table: &Table) -> Table {
    let mut table = table.clone();
    let (columns, rows) = (&mut table.columns, &mut table.rows);
    columns.push(Column::new(ColumnKind::Text, "", ""));
    for row in rows.iter_mut() {
        row.cells.resize_with(columns.len() - 1, Cell::absent);
        let how = row.actions.first().map(command_for);
        row.cells.push(Cell::shown(how.unwrap_or_default()));
    }
    table
}

/// What to type for an action.
fn command_for(action: &Action) -> String {
    match &action.act {
        Act::Command(line) => format!("/{line}"),
        Act::Do(Deed::Open(Open::Resume(id))) => format!("/resume {}", short_id(id)),
        Act::Do(Deed::Theme(name)) => format!("/theme {name}"),
        Act::Do(Deed::Compose(text)) => text.trim_end().to_owned(),
        Act::Do(
            Deed::Open(Open::New | Open::Last | Open::Fork(_)) | Deed::Copy(_) | Deed::Leave,
        ) => String::new(),
    }
}

/// Whether the person typed it.
fn is_own(call: &ToolUse) -> bool {
    call.by == Some(Caller::Person)
}

/// The result object of a run that could not begin. There is no session to name.
pub fn failed_early(message: &str, exit_code: u8, took: std::time::Duration) {
    let result = json!({
        "type": "result",
        "subtype": "error",
        "is_error": true,
        "result": "",
        "session_id": null,
        "num_turns": 0,
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "usage": {"input": 0, "cached": 0, "cache_write": 0, "output": 0},
        "cost": null,
        "exit_code": exit_code,
        "error": {"kind": "start", "message": message},
    });
    // A reader that went away wants to know nothing.
    let _ = writeln!(io::stdout(), "{}", escape_json(&result.to_string()));
}

#[cfg(test)]
mod tests;
