//! From a model's answer to entries: calls get unique ids and arguments that are JSON objects, or a word on why not.

use ostler_llm::repair::{self, Doubt, Ended, Written};
use ostler_llm::{Answer, AnswerPart, Prefix};
use ostler_tools::arguments::Repair;
use ostler_tools::builtin::{canonical_name, find_foreign_name, fit_arguments, tool_search};
use ostler_wire::{Entry, Json, Message, Origin, Part, Replay, Role, Stop, ToolSpec, ToolUse};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

#[cfg(test)]
mod broken_calls;
#[cfg(test)]
mod corpus {
    mod tests;
}
mod quotation;
#[cfg(test)]
mod tests;

/// An answer ready for the log.
pub struct Accepted {
    pub message: Message,
    pub calls: Vec<ToolUse>,
    /// The text holds something like a call that was not taken for one.
    pub doubt: Option<Doubt>,
}

/// Calls of one answer that are taken at most; more are a model gone wild.
const MAX_CALLS: usize = 128;

/// Characters of a foreign name that the log shows.
const MAX_NAME_SHOWN: usize = 100;

/// What the log says of arguments that could not be read, before the reason.
const UNREADABLE: &str = "unreadable: ";

/// What the log says of a call that stood in the text.
const WRITTEN_NOTE: &str = "written as text";

/// The session that an answer belongs to.
pub struct Surroundings<'a> {
    pub origin: &'a Origin,
    /// Every tool that may be called.
    pub tools: &'a [ToolSpec],
    /// What the model was told at the start.
    pub prefix: &'a Prefix,
    /// Reads the entries before the answer. Only asked for where a call stands in the text.
    pub past: &'a dyn Fn() -> Vec<Arc<Entry>>,
}

/// `used` holds every call id of the session, and learns the new ones.
pub fn accept(
    mut answer: Answer,
    stop: Stop,
    session: &Surroundings<'_>,
    used: &mut HashSet<String>,
) -> Accepted {
    let (origin, tools) = (session.origin, session.tools);
    let whole = !matches!(stop, Stop::Cut | Stop::Interrupted);
    let ended = ended(&answer, stop);
    let found = match whole {
        true => find_written_calls(&mut answer, ended, session),
        false => Found::Nothing,
    };
    let keep = |replay: Option<Json>| {
        replay.map(|data| Replay {
            origin: origin.clone(),
            data,
        })
    };
    let (mut parts, mut calls, mut text) = (Vec::new(), Vec::new(), String::new());
    repair::drop_repeats(&mut answer.parts);
    refuse_lost_arguments(&mut answer, stop);
    for part in answer.parts {
        match part {
            AnswerPart::Reasoning { text, replay } => parts.push(Part::Reasoning {
                text,
                replay: keep(replay).filter(|_| whole),
            }),
            AnswerPart::Text { text: more, replay } => {
                text.push_str(&more);
                parts.push(Part::Text {
                    text: more,
                    replay: keep(replay).filter(|_| whole),
                });
            }
            AnswerPart::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                // A call of an answer that did not end may lack its end too.
                if !whole || calls.len() >= MAX_CALLS {
                    continue;
                }
                let id = unique(id, used);
                // Endpoints that never give a reason call tools without arguments, too.
                let is_bare = arguments.trim().is_empty() && is_over(stop);
                let ended = if is_bare { Ended::Whole } else { ended };
                let mut call = read_call(id.clone(), name, &arguments, ended, tools);
                if found == Found::Calls {
                    note_as_written(&mut call);
                }
                calls.push(call);
                parts.push(Part::Call {
                    id,
                    replay: keep(replay),
                });
            }
        }
    }
    Accepted {
        message: Message {
            role: Role::Assistant,
            text,
            typed: None,
            context: None,
            images: Vec::new(),
            parts,
            model: Some(origin.clone()),
            stop: Some(stop),
            op: None,
        },
        calls,
        doubt: found.doubt(),
    }
}

/// Says in the log that a call that can be read stood in the text.
fn note_as_written(call: &mut ToolUse) {
    if refusal(call).is_none() {
        let note = call.repair.get_or_insert_default();
        note.push_str(if note.is_empty() { "" } else { "; " });
        note.push_str(WRITTEN_NOTE);
    }
}

/// What the text of an answer holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Calls,
    Doubt(Doubt),
}

impl Found {
    fn doubt(self) -> Option<Doubt> {
        match self {
            Self::Doubt(doubt) => Some(doubt),
            Self::Nothing | Self::Calls => None,
        }
    }
}

/// How far the calls of an answer can be trusted to be complete.
fn ended(answer: &Answer, stop: Stop) -> Ended {
    // A filter breaks an answer off, as a limit does. An endpoint that gives no reason may have been cut off itself.
    match is_over(stop) && answer.stop.is_some() {
        true => Ended::Whole,
        false => Ended::Cut,
    }
}

/// Whether nothing says that more was to come.
fn is_over(stop: Stop) -> bool {
    match stop {
        Stop::End | Stop::Calls => true,
        Stop::Length | Stop::Cut | Stop::Interrupted | Stop::Refusal => false,
    }
}

/// Where a limit ended an answer right after the name of a call, its arguments are lost, not empty.
fn refuse_lost_arguments(answer: &mut Answer, stop: Stop) {
    if let Some(AnswerPart::Call { arguments, .. }) = answer.parts.last_mut()
        && !is_over(stop)
        && arguments.trim() == "{}"
    {
        arguments.clear();
    }
}

/// Weaker models write calls as text. They count when nothing else was called.
fn find_written_calls(answer: &mut Answer, ended: Ended, session: &Surroundings<'_>) -> Found {
    if answer
        .parts
        .iter()
        .any(|p| matches!(p, AnswerPart::Call { .. }))
    {
        return Found::Nothing;
    }
    let names: Vec<&str> = session.tools.iter().map(|t| t.name.as_str()).collect();
    // Reasoning after the text says that the answer was not over with it; some vendors send a sealed piece at the end.
    let is_sealed =
        |part: &AnswerPart| matches!(part, AnswerPart::Reasoning { text, .. } if text.is_empty());
    let last = answer.parts.iter_mut().rev().find(|part| !is_sealed(part));
    let Some(AnswerPart::Text { text, .. }) = last else {
        return Found::Nothing;
    };
    let is_tool =
        |name: &str| is_offered(name, &names) || find_name(name, &Value::Null, &names).is_some();
    let (before, calls) = match repair::calls_in_text(text, ended, is_tool) {
        Written::Calls(before, calls) => (before, calls),
        Written::Unsure(doubt) => return Found::Doubt(doubt),
        Written::Nothing => return Found::Nothing,
    };
    let past = (session.past)();
    if quotation::delivers_calls(&past, session.origin, WRITTEN_NOTE) {
        return Found::Doubt(Doubt::Structured);
    }
    let written = text.get(before.len()..).unwrap_or(text);
    if quotation::is_quotation(&past, session, &calls, written) {
        return Found::Doubt(Doubt::Quoted);
    }
    *text = before;
    for (name, arguments) in calls {
        answer.parts.push(AnswerPart::Call {
            id: String::new(),
            name,
            arguments,
            replay: None,
        });
    }
    answer
        .parts
        .retain(|p| !matches!(p, AnswerPart::Text { text, replay: None } if text.is_empty()));
    Found::Calls
}

/// Whether the session has a tool of this name, or one that is called so as well.
fn is_offered(name: &str, names: &[&str]) -> bool {
    names.contains(&name) || canonical_name(name).is_some_and(|name| names.contains(&name))
}

/// The tool that a name means which is none of a tool.
fn find_name(name: &str, arguments: &Value, names: &[&str]) -> Option<String> {
    let bare = repair::bare_name(name);
    if bare != name && is_offered(bare, names) {
        return Some(bare.to_owned());
    }
    let whole = find_foreign_name(name, arguments, names);
    whole.or_else(|| find_foreign_name(bare, arguments, names))
}

/// Gives a call the name of the tool that it means. Returns what was changed, for the log.
fn fit_name(name: &mut String, arguments: &str, names: &[&str]) -> Option<String> {
    if is_offered(name, names) {
        return None;
    }
    let arguments = serde_json::from_str(arguments).unwrap_or_default();
    let found = find_name(name, &arguments, names)?;
    let before = std::mem::replace(name, found);
    let shown: String = before.chars().take(MAX_NAME_SHOWN).collect();
    Some(format!("name {shown} taken as {name}"))
}

fn read_call(
    id: String,
    mut name: String,
    arguments: &str,
    ended: Ended,
    tools: &[ToolSpec],
) -> ToolUse {
    let names: Vec<&str> = tools.iter().map(|t| t.name.as_str()).collect();
    let mut via = None;
    let mended = repair::arguments(arguments, ended);
    let given = mended
        .as_ref()
        .map_or("null", |mended| mended.text.as_str());
    let mut renamed = fit_name(&mut name, given, &names);
    let (input, repair) = match mended {
        Ok(mut mended) => {
            let mut repairs = fit_names(&name, &mut mended.text);
            if let Some((tool, arguments)) = looked_up(&name, &mended.text) {
                via = Some(std::mem::replace(&mut name, tool));
                renamed = renamed.or_else(|| fit_name(&mut name, &arguments, &names));
                mended.text = arguments;
                repairs.extend(fit_names(&name, &mut mended.text));
            }
            let known_as = canonical_name(&name).unwrap_or(&name);
            let schema = tools
                .iter()
                .find(|t| t.name == known_as)
                .map(|t| t.parameters.to_value());
            let (text, coerced) = match schema {
                Some(schema) => coerce(mended.text, &schema),
                None => (mended.text, false),
            };
            let types = coerced.then(|| "argument types were adjusted to the schema".to_owned());
            let names = repairs.iter().map(ToString::to_string);
            let notes = renamed
                .into_iter()
                .chain(mended.note)
                .chain(types)
                .chain(names);
            let notes: Vec<String> = notes.collect();
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            match Json::from_text(text) {
                Ok(input) => (input, note),
                Err(e) => (empty(), Some(format!("{UNREADABLE}{e}"))),
            }
        }
        Err(why) => (empty(), Some(format!("{UNREADABLE}{why}"))),
    };
    ToolUse {
        id,
        name,
        input,
        repair,
        by: None,
        via,
        title: None,
    }
}

/// Gives the parameters the names that the tool has for them, so that all who read the call read the same. Arguments
/// that have to be refused stay as they are: the tool says why.
fn fit_names(name: &str, text: &mut String) -> Vec<Repair> {
    let fitted = serde_json::from_str(text)
        .ok()
        .and_then(|args| fit_arguments(name, &args))
        .and_then(Result::ok);
    match fitted {
        Some((args, repairs)) if !repairs.is_empty() => {
            *text = args.to_string();
            repairs
        }
        Some(_) | None => Vec::new(),
    }
}

/// What the model reads when something like a call in its text was not run.
pub fn doubt_note(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Unmarked => {
            "[Your answer is a tool call written as JSON text. It was not run: only a real call is. If you meant it, make the call itself, or write it as <tool_call>{\"name\": …, \"arguments\": {…}}</tool_call> with nothing after it. If it was an example, say so in words.]"
        }
        Doubt::Example => {
            "[Your answer ends with a tool call as text, after other text that may speak of an example or quote it. It was not run. If you meant it, make the call itself, or send it again with nothing before it. If it was an example, say that you are done.]"
        }
        Doubt::Misplaced => {
            "[Your answer has a tool call as text within a line or with text after it. It was not run. If you meant it, make the call itself, or send it again on a line of its own at the very end. If it was an example, say that you are done.]"
        }
        Doubt::Unreadable => {
            "[Your answer ends with a tool call as text that is cut off, lacks its closing tag or cannot be read. It was not run. Make the call again, whole; if it is long, in smaller parts.]"
        }
        Doubt::Quoted => {
            "[Your answer ends with a tool call as text that stands in a prompt, a file or a result that you have read. It was not run: text that was read does not call tools. If you mean it yourself, make a real call.]"
        }
        Doubt::Foreign => {
            "[Your answer ends with something like a tool call, in a notation that is not read. It was not run. If you meant it, make the call itself, or write it as <tool_call>{\"name\": …, \"arguments\": {…}}</tool_call> with nothing after it. If it was an example, say that you are done.]"
        }
        Doubt::Structured => {
            "[Your answer ends with a tool call as text. It was not run: you have made real calls in this session, so only those count. If you meant it, make the call itself. If it was an example, say that you are done.]"
        }
    }
}

/// Why the arguments could not be read.
pub fn refusal(call: &ToolUse) -> Option<&str> {
    call.repair.as_deref()?.strip_prefix(UNREADABLE)
}

/// The call that one of `tool_search` stands for: what is run, asked for and shown is that one.
fn looked_up(name: &str, arguments: &str) -> Option<(String, String)> {
    if canonical_name(name) != Some(tool_search::NAME) {
        return None;
    }
    let input = serde_json::from_str(arguments).ok()?;
    let (tool, arguments) = tool_search::inner(&input)?;
    let arguments = match arguments {
        // Some models write objects within arguments as text.
        Some(Value::String(text)) => repair::arguments(text, Ended::Whole).ok()?.text,
        Some(arguments) => arguments.to_string(),
        None => "{}".into(),
    };
    Some((tool.to_owned(), arguments))
}

/// Strings for numbers and the like, where the schema leaves no doubt. Untouched text stays byte for byte.
fn coerce(text: String, schema: &Value) -> (String, bool) {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return (text, false);
    };
    let before = value.clone();
    repair::coerce(&mut value, schema);
    if value == before {
        (text, false)
    } else {
        (value.to_string(), true)
    }
}

fn empty() -> Json {
    Json::from(serde_json::json!({}))
}

/// Models and servers reuse ids; a session does not.
fn unique(id: String, used: &mut HashSet<String>) -> String {
    let base = if id.is_empty() { "call".to_owned() } else { id };
    let mut candidate = base.clone();
    let mut n = used.len();
    while !used.insert(candidate.clone()) {
        n += 1;
        candidate = format!("{base}_{n}");
    }
    candidate
}
