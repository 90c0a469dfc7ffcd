//! What is known of a session of the Agent Client Protocol: its updates into what the recorder takes. Updates are read by
//! their fields, so that one that is new or not quite right costs only itself.

use crate::activity::{
    NoticeSource, PermissionKind, PermissionOption, PermissionRequest, PieceKind, PlanState,
    PlanStep, ToolKind, ToolStarted,
};
use crate::outcome::Cost;
use crate::record::Recorder;
use crate::setup::catalogue::{JsonPath, text_of};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Calls of one session that are kept.
const MAX_CALLS: usize = 10_000;

/// Cheap to clone: the handlers of messages and the reader of the process share it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<State>>);

pub struct State {
    pub recorder: Recorder,
    /// The session whose updates count; those of a past that is replayed do not.
    pub session: Option<String>,
    calls: BTreeMap<String, Call>,
    noise: Vec<Regex>,
    /// Messages that are no words of the agent.
    no_message: Vec<Regex>,
}

/// A call as its updates have it.
#[derive(Default)]
struct Call {
    title: String,
    kind: Option<ToolKind>,
    input: Option<Value>,
    paths: Vec<PathBuf>,
    output: String,
    is_started: bool,
}

impl Shared {
    /// `noise` are lines of stderr that say nothing, `no_message` messages that are no words of the agent.
    pub fn new(recorder: Recorder, noise: &[String], no_message: &[String]) -> Self {
        let compile = |patterns: &[String]| patterns.iter().flat_map(|p| Regex::new(p)).collect();
        Self(Arc::new(Mutex::new(State {
            recorder,
            session: None,
            calls: BTreeMap::new(),
            noise: compile(noise),
            no_message: compile(no_message),
        })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn stderr(&self, line: &str) {
        let mut state = self.state();
        if !state.noise.iter().any(|noise| noise.is_match(line)) {
            state.recorder.notice(NoticeSource::Stderr, line);
        }
    }
}

impl State {
    /// `session/update`.
    pub fn update(&mut self, params: &Value) {
        let session = params.get("sessionId").and_then(Value::as_str);
        if self.session.is_none() || session != self.session.as_deref() {
            return;
        }
        let Some(update) = params.get("update") else {
            return;
        };
        match str_at(update, "sessionUpdate") {
            "agent_message_chunk" => self.chunk(PieceKind::Message, update),
            "agent_thought_chunk" => self.chunk(PieceKind::Reasoning, update),
            "tool_call" | "tool_call_update" => self.call(update),
            "plan" => {
                let entries = update.get("entries").and_then(Value::as_array);
                let steps = entries.into_iter().flatten().filter_map(step);
                self.recorder.plan(steps.collect());
            }
            "usage_update" => {
                let usd = JsonPath::parse("cost.amount").number(update);
                if usd.is_some() {
                    let before = self.recorder.cost().unwrap_or_default();
                    self.recorder.usage(Cost { usd, ..before });
                }
            }
            "notice" => {
                let text = update
                    .get("message")
                    .or(update.get("content"))
                    .and_then(text_of);
                self.recorder
                    .notice(NoticeSource::Agent, &text.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn chunk(&mut self, kind: PieceKind, update: &Value) {
        let text = update.get("content").and_then(block_text);
        let is_said = |text: &String| !self.no_message.iter().any(|none| none.is_match(text));
        if let Some(text) = text.filter(is_said) {
            self.recorder.piece(kind, &text);
        }
    }

    /// A call, or a change of one. One that nobody announced begins with its first change.
    fn call(&mut self, update: &Value) {
        let id = str_at(update, "toolCallId").to_owned();
        if id.is_empty() || (self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&id)) {
            return;
        }
        let call = self.calls.entry(id.clone()).or_default();
        call.merge(update);
        let status = str_at(update, "status");
        let is_over = matches!(status, "completed" | "failed");
        let is_known = status == "in_progress" && call.input.is_some();
        if (is_over || is_known) && !call.is_started {
            call.is_started = true;
            self.recorder.tool_started(call.started(&id));
        }
        if is_over {
            let started = call.started(&id);
            let output = std::mem::take(&mut call.output);
            self.recorder
                .tool_finished(started, status == "completed", &output);
        }
    }

    /// `session/request_permission`. The call begins here, if it did not before.
    pub fn permission(&mut self, params: &Value) -> PermissionRequest {
        let none = Value::Null;
        let update = params.get("toolCall").unwrap_or(&none);
        let id = str_at(update, "toolCallId").to_owned();
        let call = self.calls.entry(id.clone()).or_default();
        call.merge(update);
        let preview = call.output.clone();
        let tool = call.started(&id);
        if !call.is_started && !id.is_empty() {
            call.is_started = true;
            self.recorder.tool_started(tool.clone());
        }
        let options = params.get("options").and_then(Value::as_array);
        PermissionRequest {
            tool,
            preview,
            options: options.into_iter().flatten().map(option).collect(),
            ..PermissionRequest::default()
        }
    }

    /// What the answer to a prompt says of tokens.
    pub fn usage(&mut self, answer: &Value) {
        let count = |paths: [&str; 2]| {
            paths
                .iter()
                .find_map(|path| JsonPath::parse(path).count(answer))
        };
        let input = count(["usage.inputTokens", "_meta.quota.token_count.input_tokens"]);
        let output = count([
            "usage.outputTokens",
            "_meta.quota.token_count.output_tokens",
        ]);
        let cached = count([
            "usage.cachedReadTokens",
            "_meta.quota.token_count.cached_tokens",
        ]);
        // Some count what was in the cache apart; the sum of all tells.
        let total = JsonPath::parse("usage.totalTokens").count(answer);
        let whole = total.map(|total| total.saturating_sub(output.unwrap_or_default()));
        let input = input.max(whole);
        if input.is_some() || output.is_some() {
            let usd = self.recorder.cost().and_then(|cost| cost.usd);
            self.recorder.usage(Cost {
                usd,
                input_tokens: input.unwrap_or_default(),
                output_tokens: output.unwrap_or_default(),
                cached_tokens: cached.unwrap_or_default(),
            });
        }
    }
}

impl Call {
    fn merge(&mut self, update: &Value) {
        match str_at(update, "title") {
            "" => {}
            title => self.title = title.to_owned(),
        }
        if let Some(kind) = kind(str_at(update, "kind")) {
            self.kind = Some(kind);
        }
        let is_something =
            |input: &&Value| input.as_object().is_none_or(|fields| !fields.is_empty());
        let input = update.get("rawInput").filter(|input| !input.is_null());
        if let Some(input) = input.filter(is_something) {
            self.input = Some(input.clone());
        }
        let places = update.get("locations").and_then(Value::as_array);
        let paths = places
            .into_iter()
            .flatten()
            .map(|place| str_at(place, "path"));
        let paths: Vec<PathBuf> = paths
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .collect();
        if !paths.is_empty() {
            self.paths = paths;
        }
        let content = update.get("content").and_then(Value::as_array);
        let texts: Vec<String> = content
            .into_iter()
            .flatten()
            .filter_map(content_text)
            .collect();
        let raw = || {
            let raw = update.get("rawOutput").filter(|raw| !raw.is_null())?;
            text_of(raw.get("output").unwrap_or(raw))
        };
        // Some show the arguments as text while the model writes them, and name them only when the call runs.
        let is_over = matches!(str_at(update, "status"), "completed" | "failed");
        if self.input.is_none() && !is_over {
            self.input = texts.first().and_then(|text| arguments(text));
        }
        match texts.is_empty() {
            false => self.output = texts.join("\n"),
            true => self.output = raw().unwrap_or_else(|| std::mem::take(&mut self.output)),
        }
    }

    fn started(&self, id: &str) -> ToolStarted {
        ToolStarted {
            id: id.to_owned(),
            title: self.title.clone(),
            kind: self.kind.unwrap_or_default(),
            input: self.input.clone(),
            paths: self.paths.clone(),
        }
    }
}

/// A text that is whole arguments.
fn arguments(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    value
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
        .then_some(value)
}

fn str_at<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn block_text(block: &Value) -> Option<String> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") | None => block.get("text").and_then(text_of),
        Some("resource_link") => block.get("uri").and_then(text_of),
        Some(_) => None,
    }
}

/// A text, or a change of a file.
fn content_text(content: &Value) -> Option<String> {
    match str_at(content, "type") {
        "content" => content.get("content").and_then(block_text),
        "diff" => {
            let lines = |key: &str, mark: &str| {
                let text = str_at(content, key);
                text.lines()
                    .map(|line| format!("{mark}{line}\n"))
                    .collect::<String>()
            };
            let path = str_at(content, "path");
            Some(format!(
                "{path}\n{}{}",
                lines("oldText", "-"),
                lines("newText", "+")
            ))
        }
        _ => None,
    }
}

fn kind(name: &str) -> Option<ToolKind> {
    match name {
        "read" => Some(ToolKind::Read),
        "edit" | "delete" | "move" => Some(ToolKind::Edit),
        "search" => Some(ToolKind::Search),
        "execute" => Some(ToolKind::Execute),
        "fetch" => Some(ToolKind::Fetch),
        "think" => Some(ToolKind::Think),
        "" => None,
        _ => Some(ToolKind::Other),
    }
}

fn step(entry: &Value) -> Option<PlanStep> {
    Some(PlanStep {
        text: entry.get("content").and_then(text_of)?,
        state: match str_at(entry, "status") {
            "completed" => PlanState::Done,
            "in_progress" => PlanState::Running,
            _ => PlanState::Pending,
        },
    })
}

fn option(option: &Value) -> PermissionOption {
    PermissionOption {
        id: str_at(option, "optionId").to_owned(),
        label: str_at(option, "name").to_owned(),
        kind: match str_at(option, "kind") {
            "allow_once" => PermissionKind::AllowOnce,
            "allow_always" => PermissionKind::AllowAlways,
            "reject_always" => PermissionKind::RejectAlways,
            _ => PermissionKind::RejectOnce,
        },
    }
}
