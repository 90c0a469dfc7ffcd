//! From a conversation to the entries of a log of ours. The same conversation gives the same entries, so that a log that was
//! made before is known again, and what came since is added to it.

use crate::agents::Agent;
use crate::conversation::{Conversation, Piece, ResultFacts, What};
use ostler_wire::{
    Body, CallTitle, Compaction, DigestBy, Interrupted, Json, Message, Meta, Notice, Outcome, Part,
    ResultForm, Role, SCHEMA_VERSION, Settings, Stop, Todo, ToolResult, ToolUse, TurnEnd,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Bytes of one result that a log takes; what is longer is cut in the middle.
const MAX_RESULT: usize = 64 << 10;
/// Characters of a title.
const MAX_TITLE: usize = 120;
/// The first entries that are about the log, not of the work: meta, notice, and the title if there is one.
pub const TOLD_FIRST: usize = 3;
/// Version of the rendering of results that new sessions use.
const RENDERING: u32 = 1;

/// A tool of ours that does what a foreign one does.
#[derive(Clone, Debug)]
pub struct Ours {
    pub name: String,
    pub input: Value,
    pub form: ResultForm,
    pub title: Option<CallTitle>,
}

/// Finds the tool of ours that means the same, with its arguments in our names.
pub trait OurTools {
    fn find(&self, name: &str, input: &Value) -> Option<Ours>;

    /// Whether a tool of ours goes by this name.
    fn is_taken(&self, name: &str) -> bool;
}

/// The id that a session of another agent has here: always the same one, in the form that ours have.
pub fn log_id(agent: &Agent, id: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(agent.name.as_bytes());
    hash.update([0]);
    hash.update(id.as_bytes());
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash.finalize()) {
        *to = from;
    }
    uuid::Builder::from_random_bytes(bytes)
        .into_uuid()
        .hyphenated()
        .to_string()
}

/// The entries, each with its time. `notice` says where they come from.
pub fn bodies(
    agent: &Agent,
    conversation: &Conversation,
    (tools, notice, version): (&dyn OurTools, &str, &str),
) -> Vec<(String, Body)> {
    let mut maker = Maker {
        out: Vec::new(),
        calls: HashMap::new(),
        agent,
        tools,
        ts: conversation
            .steps
            .iter()
            .map(|step| step.ts.clone())
            .find(|ts| !ts.is_empty())
            .unwrap_or_default(),
        open: Open::Nothing,
    };
    let root = conversation.root.as_ref();
    maker.push(Body::Meta(Meta {
        schema_version: SCHEMA_VERSION,
        session_id: log_id(agent, &conversation.id),
        root: root
            .map(|root| root.display().to_string())
            .unwrap_or_default(),
        host: "local".into(),
        prefix: String::new(),
        rendering: RENDERING,
        version: version.into(),
        forked_from: None,
        child_of: None,
    }));
    maker.push(Body::Notice(Notice {
        text: notice.to_owned(),
    }));
    // A place for the title is kept, so that a title that comes later changes no number.
    let title = conversation
        .title
        .as_deref()
        .map(|title| clipped(title, MAX_TITLE));
    maker.push(Body::Settings(Settings {
        title: title.filter(|title| !title.trim().is_empty()),
        ..Settings::default()
    }));
    for step in &conversation.steps {
        if !step.ts.is_empty() {
            maker.ts.clone_from(&step.ts);
        }
        maker.step(&step.what);
    }
    maker.end_turn();
    maker.out
}

/// What of a turn has not ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// The person spoke, or calls were made: the model has not had the last word.
    Work,
    Answered,
}

struct Maker<'a> {
    out: Vec<(String, Body)>,
    /// Calls without a result: the tool and its form, and what it was called with.
    calls: HashMap<String, (Option<ResultForm>, bool, Value)>,
    agent: &'a Agent,
    tools: &'a dyn OurTools,
    ts: String,
    open: Open,
}

impl Maker<'_> {
    fn push(&mut self, body: Body) {
        self.out.push((self.ts.clone(), body));
    }

    fn end_turn(&mut self) {
        if self.open == Open::Answered {
            let outcome = Outcome::Done;
            self.push(Body::TurnEnd(TurnEnd { outcome }));
        }
        self.open = Open::Nothing;
    }

    fn step(&mut self, what: &What) {
        match what {
            What::Said { text, images } => {
                self.end_turn();
                let mut message = Message::user(text.clone());
                message.images.clone_from(images);
                self.push(Body::Message(message));
                self.open = Open::Work;
            }
            What::Answer { pieces, model } => self.answer(pieces, model.clone()),
            What::Result(facts) => self.result(facts),
            What::Interrupted => {
                self.push(Body::Interrupted(Interrupted::default()));
                let outcome = Outcome::Interrupted;
                self.push(Body::TurnEnd(TurnEnd { outcome }));
                self.open = Open::Nothing;
            }
            What::Folded { digest } => {
                self.end_turn();
                let through = (self.out.len() as u64).saturating_sub(1);
                self.push(Body::Compaction(Compaction {
                    through,
                    digest: digest.clone(),
                    by: DigestBy::Model,
                    ..Compaction::default()
                }));
            }
        }
    }

    fn answer(&mut self, pieces: &[Piece], model: Option<ostler_wire::Origin>) {
        let (mut parts, mut text, mut calls) = (Vec::new(), String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Reasoning(reasoning) => parts.push(Part::Reasoning {
                    text: reasoning.clone(),
                    replay: None,
                }),
                Piece::Text(more) => {
                    text.push_str(more);
                    parts.push(Part::Text {
                        text: more.clone(),
                        replay: None,
                    });
                }
                Piece::Call { id, name, input } => {
                    parts.push(Part::Call {
                        id: id.clone(),
                        replay: None,
                    });
                    calls.push(self.call(id, name, input));
                }
            }
        }
        let has_calls = !calls.is_empty();
        self.open = match has_calls {
            true => Open::Work,
            false => Open::Answered,
        };
        self.push(Body::Message(Message {
            parts,
            text,
            model,
            role: Role::Assistant,
            stop: Some(match has_calls {
                true => Stop::Calls,
                false => Stop::End,
            }),
            ..Message::user("")
        }));
        for call in calls {
            self.push(Body::ToolUse(call));
        }
    }

    fn call(&mut self, id: &str, name: &str, input: &Value) -> ToolUse {
        let ours = self.tools.find(name, input);
        let is_server = ours.is_none() && name.starts_with("mcp__");
        let form = ours.as_ref().map(|ours| ours.form);
        let (name, input, title) = match ours {
            Some(ours) => (ours.name, ours.input, ours.title),
            // A result in another form must not be laid out as one of ours.
            None if self.tools.is_taken(name) => {
                (format!("{}_{name}", self.agent.name), input.clone(), None)
            }
            None => (name.to_owned(), input.clone(), None),
        };
        self.calls
            .insert(id.to_owned(), (form, is_server, input.clone()));
        ToolUse {
            id: id.to_owned(),
            name,
            input: Json::of(&input),
            repair: None,
            by: None,
            via: None,
            title,
        }
    }

    fn result(&mut self, facts: &ResultFacts) {
        // A result without a call belongs to nothing.
        let Some((form, is_server, input)) = self.calls.remove(&facts.call) else {
            return;
        };
        let facts = self.read_marks(facts, form);
        let ok = !facts.failed || form == Some(ResultForm::Command) && facts.exit.is_some();
        let output = match (ok, is_server) {
            (false, _) => {
                json!({"ok": false, "error": {"code": "failed", "message": bounded(&facts.text)}})
            }
            (true, true) => json!({"ok": true, "data": {"text": bounded(&facts.text)}}),
            (true, false) => json!({"ok": true, "data": data(form, &facts, &input)}),
        };
        self.push(Body::ToolResult(ToolResult {
            tool_use_id: facts.call.clone(),
            output: Json::of(&output),
            ok,
            duration_ms: 0,
        }));
        let items = input.get("items").cloned().unwrap_or_default();
        if ok
            && form == Some(ResultForm::Entry)
            && let Ok(items) = serde_json::from_value(items)
        {
            self.push(Body::Todo(Todo { items }));
        }
        self.open = Open::Work;
    }

    /// The exit code and the bare output of a command, where its text tells them.
    fn read_marks(&self, facts: &ResultFacts, form: Option<ResultForm>) -> ResultFacts {
        let mut facts = facts.clone();
        if form != Some(ResultForm::Command) {
            return facts;
        }
        let told = |line: &str| {
            let marks = self.agent.exit_marks.iter();
            let rest = marks.filter_map(|mark| line.trim().strip_prefix(mark.as_str()));
            rest.filter_map(|rest| rest.split_whitespace().next()?.parse().ok())
                .next()
        };
        if facts.exit.is_none() {
            facts.exit = facts.text.lines().find_map(told);
        }
        let mut text = facts.text.as_str();
        if let Some((_, rest)) = self
            .agent
            .output_marks
            .iter()
            .find_map(|mark| text.split_once(mark.as_str()))
        {
            text = rest;
        }
        let lines: Vec<&str> = text.lines().filter(|line| told(line).is_none()).collect();
        facts.text = lines.join("\n").trim_end().to_owned();
        facts
    }
}

/// The data of an envelope in a form that front ends and models are shown.
fn data(form: Option<ResultForm>, facts: &ResultFacts, input: &Value) -> Value {
    let text = bounded(&facts.text);
    let path = input.get("path").cloned().unwrap_or_default();
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let Some(form) = form else {
        return Value::String(text);
    };
    match form {
        ResultForm::Command => json!({
            "stdout": text, "stderr": "", "exit_code": facts.exit.unwrap_or(0), "timed_out": false,
        }),
        ResultForm::File => {
            let content = facts.content.as_deref().map_or(text, bounded);
            let count = content.lines().count();
            json!({"path": path, "content": content, "truncated": false, "bytes": content.len(), "lines": count})
        }
        ResultForm::WholeFile => {
            let content = input
                .get("content")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let created = facts.text.to_lowercase().contains("creat");
            json!({"path": path, "bytes": content.len(), "created": created})
        }
        ResultForm::Edit => {
            let diff = facts.diff.as_deref().map_or(text, bounded);
            let count = input
                .get("edits")
                .and_then(Value::as_array)
                .map_or(1, Vec::len);
            json!({"path": path, "replacements": count.max(1), "match": "exact", "diff": diff})
        }
        ResultForm::Matches => {
            let found = lines(&text);
            json!({"count": found.len(), "matches": found, "searched": 1, "truncated": false})
        }
        ResultForm::Paths => {
            let found = lines(&text);
            json!({"total": found.len(), "paths": found, "truncated": false})
        }
        ResultForm::Entries => json!({"entries": lines(&text), "truncated": false}),
        ResultForm::WebResults => json!({"results": [{"title": "", "url": "", "snippet": text}]}),
        ResultForm::Page => json!({"status": 200, "title": "", "content": text}),
        ResultForm::Answer => json!({"answer": text}),
        // These tell no more than their arguments.
        ResultForm::Nothing | ResultForm::Cell | ResultForm::Entry if input.is_object() => {
            input.clone()
        }
        ResultForm::Report => {
            json!({"text": text, "role": "agent", "session": "", "seconds": 0})
        }
        ResultForm::Nothing
        | ResultForm::Cell
        | ResultForm::Entry
        | ResultForm::Text
        | ResultForm::Time
        | ResultForm::Facts
        | ResultForm::Fact
        | ResultForm::Plan => json!({"text": text, "content": text}),
    }
}

/// The beginning and the end of what is too long.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_RESULT {
        return text.to_owned();
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=MAX_RESULT / 2).rev().find(is_boundary).unwrap_or(0);
    let from = text.len() - MAX_RESULT / 2;
    let tail = (from..text.len()).find(is_boundary).unwrap_or(text.len());
    let left = tail - head;
    format!(
        "{}\n[… {left} bytes left out at the import …]\n{}",
        text.get(..head).unwrap_or_default(),
        text.get(tail..).unwrap_or_default()
    )
}

fn clipped(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(most).collect()
}
