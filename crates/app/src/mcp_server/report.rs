//! What came of a task, folded from the entries of its session, and how the client is told of it.

use ostler_mcp::server::ToolAnswer;
use ostler_wire::{
    Approval, Body, Checkpoint, Entry, GoalState, Language, Message, Outcome, ToolKind, ToolUse,
    Usage, When, clip, one_line,
};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files that a result names.
const MAX_FILES: usize = 200;
/// Remarks of a result.
const MAX_WARNINGS: usize = 30;
const MAX_WARNING: usize = 500;
/// Characters of a line about how far it has come.
const MAX_LINE: usize = 200;
/// Arguments that name a file.
const PATHS: [&str; 4] = ["path", "source_path", "destination_path", "notebook_path"];

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Turn(Outcome),
    /// It took longer than the call allowed.
    TimedOut,
    /// The client did not want it any more.
    Cancelled,
    /// The session ended in the middle.
    Lost,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Turn(Outcome::Done) => "done",
            Self::Turn(Outcome::Interrupted) => "interrupted",
            Self::Turn(Outcome::Error) | Self::Lost => "error",
            Self::Turn(Outcome::MaxSteps) => "max_steps",
            Self::Turn(Outcome::EmptyResponse) => "empty_response",
            Self::Turn(Outcome::Refusal) => "refusal",
            Self::TimedOut => "timeout",
            Self::Cancelled => "cancelled",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Turn(Outcome::Done) => "The task is done.",
            Self::Turn(Outcome::Interrupted) => "The task was interrupted.",
            Self::Turn(Outcome::Error) => "The task ended with an error.",
            Self::Turn(Outcome::MaxSteps) => "The task was stopped at its most steps.",
            Self::Turn(Outcome::EmptyResponse) => "The model answered nothing.",
            Self::Turn(Outcome::Refusal) => "The model refused.",
            Self::TimedOut => "The task was stopped: it took longer than timeout_secs.",
            Self::Cancelled => "The task was cancelled.",
            Self::Lost => "The session ended before the task.",
        }
    }
}

/// The saved trees around the changes of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trees {
    pub before: Option<u64>,
    pub after: Option<u64>,
}

/// What came of a task.
#[derive(Default)]
pub struct Report {
    answer: String,
    model: String,
    turns: u64,
    usage: Usage,
    cost: Option<f64>,
    error: Option<String>,
    pub warnings: Vec<String>,
    goal: Option<GoalState>,
    calls: HashMap<String, ToolUse>,
    /// Files that its tools edited, as the calls name them.
    edited: BTreeSet<String>,
    pub trees: Trees,
}

impl Report {
    /// Takes an entry in. Breaks when the task has ended.
    pub fn follow(&mut self, entry: &Entry) -> ControlFlow<Outcome> {
        let body = &entry.body;
        if let Some(message) = body.answer() {
            self.message(message);
        } else if let Body::ToolUse(call) = body {
            self.calls.insert(call.id.clone(), call.clone());
        } else if let Body::ToolResult(result) = body {
            let call = self.calls.remove(&result.tool_use_id);
            if let Some(call) = call.filter(|_| result.ok) {
                self.edited.extend(edited(&call));
            }
        } else if let Body::Usage(usage) = body {
            self.spent(usage);
        } else if let Body::Error(error) = body {
            self.error = Some(error.message.clone());
        } else if let Body::Notice(notice) = body {
            self.warn(&notice.text);
        } else if let Body::Approval(approval) = body {
            self.refused(approval);
        } else if let Body::Checkpoint(checkpoint) = body {
            self.saved(checkpoint);
        } else if let Body::Mode(mode) = body {
            self.goal = mode.goal.as_ref().map(|goal| goal.state);
        } else if let Body::TurnEnd(end) = body {
            return self.ended(end.outcome);
        }
        ControlFlow::Continue(())
    }

    pub fn fail(&mut self, why: String) {
        self.error = Some(why);
    }

    pub fn warn(&mut self, text: &str) {
        let text = clip(&one_line(text), MAX_WARNING);
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn message(&mut self, message: &Message) {
        self.turns += 1;
        if !message.text.trim().is_empty() {
            self.answer.clone_from(&message.text);
        }
    }

    fn spent(&mut self, usage: &Usage) {
        self.usage.input += usage.input;
        self.usage.cached += usage.cached;
        self.usage.cache_write += usage.cache_write;
        self.usage.output += usage.output;
        let cost = usage.cost.map(|more| self.cost.unwrap_or(0.0) + more);
        self.cost = cost.or(self.cost);
        if usage.role.is_none() {
            self.model = format!("{}/{}", usage.provider, usage.model);
        }
    }

    fn refused(&mut self, approval: &Approval) {
        if !approval.decision.refuses() {
            return;
        }
        let call = self.calls.get(&approval.tool_use_id);
        let call = call.map_or_else(|| "a call".to_owned(), describe);
        let why = approval.reason.as_deref().or(approval.rule.as_deref());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        self.warn(&format!("Not permitted: {call}{why}"));
    }

    fn saved(&mut self, checkpoint: &Checkpoint) {
        let id = checkpoint.saved.id;
        match checkpoint.when {
            When::Before => self.trees.before = self.trees.before.or(Some(id)),
            When::Also => {}
            When::After => self.trees.after = Some(id),
        }
    }

    /// Nothing while a goal goes on, and no success where it does not.
    fn ended(&self, outcome: Outcome) -> ControlFlow<Outcome> {
        match (self.goal, outcome) {
            (Some(GoalState::Active), _) => ControlFlow::Continue(()),
            (Some(GoalState::Blocked | GoalState::Limit | GoalState::Failed), Outcome::Done) => {
                ControlFlow::Break(Outcome::Error)
            }
            (Some(_) | None, outcome) => ControlFlow::Break(outcome),
        }
    }

    /// What the client is told. `changed`: what differs between the saved trees.
    pub fn answer(
        mut self,
        session: &str,
        root: &Path,
        (status, took): (Status, Duration),
        changed: Vec<String>,
    ) -> ToolAnswer {
        let is_error = status != Status::Turn(Outcome::Done);
        let mut files: BTreeSet<String> = changed.into_iter().collect();
        files.extend(self.edited.iter().map(|path| inside(root, path)));
        let more = files.len().saturating_sub(MAX_FILES);
        let files: Vec<String> = files.into_iter().take(MAX_FILES).collect();
        let error = match (is_error, self.error.take()) {
            (false, _) => None,
            (true, Some(why)) => Some(format!("{} {why}", status.sentence())),
            (true, None) => Some(status.sentence().to_owned()),
        };
        let usage = &self.usage;
        let data = json!({
            "session_id": session,
            "status": status.name(),
            "answer": self.answer,
            "model": self.model,
            "cost_usd": self.cost,
            "usage": {
                "input": usage.input,
                "cached": usage.cached,
                "cache_write": usage.cache_write,
                "output": usage.output,
            },
            "requests": self.turns,
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "changed_files": files,
            "changed_files_left_out": more,
            "warnings": self.warnings,
            "error": error,
        });
        ToolAnswer {
            text: text(&data),
            data: Some(data),
            is_error,
        }
    }
}

/// The result in words, for clients that pass no structured results on.
fn text(data: &Value) -> String {
    let field = |name: &str| data[name].as_str().unwrap_or_default();
    let list = |name: &str| {
        let all = data[name].as_array();
        let all = all.into_iter().flatten().filter_map(Value::as_str);
        all.map(str::to_owned).collect::<Vec<String>>()
    };
    let mut parts = vec![field("error").to_owned(), field("answer").to_owned()];
    let mut facts = vec![format!("session_id: {}", field("session_id"))];
    let files = list("changed_files");
    if !files.is_empty() {
        facts.push(format!("changed files: {}", files.join(", ")));
    }
    let warnings = list("warnings");
    facts.extend(warnings.iter().map(|warning| format!("note: {warning}")));
    parts.push(facts.join("\n"));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn edited(call: &ToolUse) -> Vec<String> {
    let is_edit = call
        .title
        .as_ref()
        .is_some_and(|title| title.kind == ToolKind::Edit);
    let input = call.input.to_value();
    let paths = PATHS.iter().filter(|_| is_edit);
    let paths = paths.filter_map(|key| input.get(key)?.as_str());
    paths.map(str::to_owned).collect()
}

/// A path of the project without the project's own.
fn inside(root: &Path, path: &str) -> String {
    let whole: PathBuf = root.join(path);
    let inner = whole.strip_prefix(root).unwrap_or(&whole);
    inner.display().to_string()
}

/// A call in one line, for progress: `Running cargo test`.
pub fn describe(call: &ToolUse) -> String {
    let title = call.title.as_ref();
    let verb = title.and_then(|title| title.verb);
    let verb = verb.map(|verb| Language::English.say(verb.word(false)));
    let subject = title
        .map(|title| title.subject.as_str())
        .unwrap_or_default();
    let text = format!("{} {subject}", verb.unwrap_or(&call.name));
    clip(&one_line(text.trim()), MAX_LINE)
}

/// What an entry says of how far the task has come.
pub fn progress(entry: &Entry) -> Option<String> {
    if let Body::ToolUse(call) = &entry.body {
        return Some(describe(call));
    }
    if let Body::Compaction(_) = &entry.body {
        return Some("Compacting the conversation".into());
    }
    let message = entry.body.answer()?;
    let line = message.text.lines().find(|line| !line.trim().is_empty())?;
    Some(clip(&one_line(line.trim()), MAX_LINE))
}
