//! Sessions of other agents: which there are, and one of them read whole. Each form of a log is a file of its own.

mod blocks;
mod changes;
mod chat;
mod frames;
mod items;
mod lines;
mod ours;
mod parts;
mod requests;
mod tree;

use crate::agents::{Agent, SessionForm};
use crate::conversation::{Builder, Conversation, What};
use crate::files::{Files, Places};
use jiff::Timestamp;
use ostler_wire::{Why, Word};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Bytes at the start of a log that a list looks at, and once more if nobody spoke in them.
const PEEKS: [u64; 2] = [64 << 10, 2 << 20];
/// Bytes of one log.
const MAX_LOG: u64 = 512 << 20;
/// Sessions of one agent.
const MAX_SESSIONS: usize = 20_000;

/// A session as a list has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRef {
    /// As its agent calls it.
    pub id: String,
    pub path: PathBuf,
    pub form: SessionForm,
    pub bytes: u64,
    /// RFC 3339.
    pub updated: String,
    pub title: String,
    pub root: Option<PathBuf>,
}

/// What a reader of lines is given beside them.
struct Context<'a> {
    agent: &'a Agent,
    path: &'a Path,
}

impl Context<'_> {
    /// Whether the person said it: agents put words of their own into messages of the person.
    fn is_said(&self, text: &str) -> bool {
        let text = text.trim_start();
        !self
            .agent
            .not_said
            .iter()
            .any(|begin| text.starts_with(begin.as_str()))
    }
}

/// The sessions of an agent, the newest first, and what could not be read.
pub fn list(agent: &Agent, places: &Places) -> (Vec<SessionRef>, Vec<Why>) {
    let mut files = Files::new(places);
    let mut out = Vec::new();
    for row in &agent.sessions {
        let pattern = agent.path(&row.files, places);
        for path in files.matching(&pattern) {
            if out.len() >= MAX_SESSIONS {
                files.fault(&path, Word::ImportMany.into());
                break;
            }
            if let Err(why) = files.check(&path) {
                files.fault(&path, why);
                continue;
            }
            let found = match row.form {
                SessionForm::Parts => parts::list(&path),
                SessionForm::Requests => requests::list(&path),
                form @ (SessionForm::Blocks
                | SessionForm::Items
                | SessionForm::Changes
                | SessionForm::Tree
                | SessionForm::Frames
                | SessionForm::Chat
                | SessionForm::Log) => {
                    peek(&Context { agent, path: &path }, form).map(|one| one.into_iter().collect())
                }
            };
            match found {
                Ok(found) => out.extend(found),
                Err(why) => files.fault(&path, why),
            }
        }
    }
    out.sort_by(|a, b| b.updated.cmp(&a.updated));
    // A log that was moved to an archive is the same session.
    let mut seen = std::collections::BTreeSet::new();
    out.retain(|one| seen.insert(one.id.clone()));
    (out, files.faults)
}

/// What the start of a log tells of it; nothing of one in which nobody said anything.
fn peek(context: &Context<'_>, form: SessionForm) -> Result<Option<SessionRef>, Why> {
    let meta = std::fs::metadata(context.path).map_err(|e| Why::from(&e))?;
    let [first, second] = PEEKS;
    let mut read = self::read(context, form, first)?;
    if read.title.is_none() && said(&read).is_none() && meta.len() > first {
        read = self::read(context, form, second)?;
    }
    let Some(said) = read.title.clone().or_else(|| said(&read)) else {
        return Ok(None);
    };
    let updated = meta
        .modified()
        .ok()
        .and_then(|at| Timestamp::try_from(at).ok());
    Ok(Some(SessionRef {
        id: read.id,
        path: context.path.to_owned(),
        form,
        bytes: meta.len(),
        updated: updated.map(|at| format!("{at:.3}")).unwrap_or_default(),
        title: said
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .trim()
            .to_owned(),
        root: read.root,
    }))
}

/// What the person said first.
fn said(conversation: &Conversation) -> Option<String> {
    conversation.steps.iter().find_map(|step| match &step.what {
        What::Said { text, .. } => Some(text.clone()),
        What::Answer { .. } | What::Result(_) | What::Interrupted | What::Folded { .. } => None,
    })
}

/// Reads sessions whole. A database is copied once for all that are read from it.
#[derive(Default)]
pub struct Opener {
    copy: Option<(PathBuf, parts::Copy)>,
}

impl Opener {
    pub fn open(
        &mut self,
        agent: &Agent,
        session: &SessionRef,
        places: &Places,
    ) -> Result<Conversation, Why> {
        Files::new(places).check(&session.path)?;
        let is_database = matches!(session.form, SessionForm::Parts | SessionForm::Requests);
        let is_there = self
            .copy
            .as_ref()
            .is_some_and(|(path, _)| *path == session.path);
        if is_database && !is_there {
            let copy = parts::Copy::of(&session.path)?;
            self.copy = Some((session.path.clone(), copy));
        }
        match &self.copy {
            Some((_, copy)) if is_database => of_database(agent, session, copy),
            Some(_) | None => of_file(agent, session),
        }
    }
}

fn of_database(
    agent: &Agent,
    session: &SessionRef,
    copy: &parts::Copy,
) -> Result<Conversation, Why> {
    let context = Context {
        agent,
        path: &session.path,
    };
    match session.form == SessionForm::Parts {
        true => parts::read(copy, &session.id),
        false => requests::read(copy, &context, &session.id),
    }
}

fn of_file(agent: &Agent, session: &SessionRef) -> Result<Conversation, Why> {
    let context = Context {
        agent,
        path: &session.path,
    };
    match session.form {
        // These are no files of lines.
        SessionForm::Parts | SessionForm::Requests => Err(Word::ImportUnknownForm.into()),
        form @ (SessionForm::Blocks
        | SessionForm::Items
        | SessionForm::Changes
        | SessionForm::Tree
        | SessionForm::Frames
        | SessionForm::Chat
        | SessionForm::Log) => {
            if session.bytes > MAX_LOG {
                return Err(Word::ImportTooLarge.into());
            }
            read(&context, form, MAX_LOG)
        }
    }
}

fn read(context: &Context<'_>, form: SessionForm, most: u64) -> Result<Conversation, Why> {
    let mut builder = Builder::default();
    builder.conversation.id = stem(context.path);
    let mut lines = match form {
        SessionForm::Frames => frames::lines(context.path, most)?,
        SessionForm::Blocks
        | SessionForm::Items
        | SessionForm::Changes
        | SessionForm::Tree
        | SessionForm::Chat
        | SessionForm::Log
        | SessionForm::Parts
        | SessionForm::Requests => lines::Lines::open(context.path, most)?,
    };
    match form {
        SessionForm::Blocks => blocks::read(&mut lines, context, &mut builder),
        SessionForm::Items => items::read(&mut lines, context, &mut builder),
        SessionForm::Changes => changes::read(&mut lines, context, &mut builder),
        SessionForm::Tree => tree::read(&mut lines, context, &mut builder),
        SessionForm::Frames => frames::read(&mut lines, context, &mut builder),
        SessionForm::Chat => chat::read(&mut lines, context, &mut builder),
        SessionForm::Log => ours::read(&mut lines, &mut builder),
        // These are no files of lines.
        SessionForm::Parts | SessionForm::Requests => {}
    }
    let mut conversation = builder.done();
    conversation.unread += lines.unread();
    Ok(conversation)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A time as ours are written: of text, or of seconds or milliseconds since 1970.
fn time(value: &Value) -> String {
    let at = match value {
        Value::String(text) => text.parse::<Timestamp>().ok(),
        Value::Number(number) => number.as_f64().and_then(|n| {
            let millis = if n > 1e11 { n } else { n * 1_000.0 };
            Timestamp::from_millisecond(millis as i64).ok()
        }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}

/// The text of a value that is text, or a list of blocks with texts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Value::String(text) => Some(text.as_str()),
                block => block["text"].as_str(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => match fields.get("output").or_else(|| fields.get("content")) {
            Some(inner) => text_of(inner),
            None => value.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Arguments of a call that came as text.
fn arguments(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| serde_json::json!({ "input": text })),
        Value::Object(_) => value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => serde_json::json!({}),
    }
}

fn path_of(value: &Value) -> Option<PathBuf> {
    let path = PathBuf::from(value.as_str()?);
    path.is_absolute().then_some(path)
}
