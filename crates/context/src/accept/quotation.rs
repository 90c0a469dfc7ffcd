//! Tells calls that a model makes from calls that it repeats: a call as text that stands in something the session has
//! read is a quotation or an injection. Reads entries of the log; decides nothing else.

use super::{Surroundings, read_call, refusal};
use ostler_guard::shell::is_hiding;
use ostler_llm::repair::{Ended, mentioned_calls};
use ostler_tools::builtin::canonical_name;
use ostler_wire::{Body, Entry, Origin, Role, ToolSpec};
use serde_json::Value;
use std::borrow::Borrow;

/// How often the escapes of JSON and HTML are undone: a call may stand in a text within a text.
const MAX_ESCAPED: usize = 3;
/// The argument that a command is; where two calls have the same, they are the same call.
const COMMAND: &str = "command";

/// Whether this endpoint has made a real call in the session, so that it needs no text for one.
pub fn delivers_calls<E: Borrow<Entry>>(entries: &[E], origin: &Origin, written: &str) -> bool {
    let mut by_origin = false;
    entries.iter().any(|entry| {
        let body = &entry.borrow().body;
        if let Body::Message(message) = body
            && message.role == Role::Assistant
        {
            by_origin = message.model.as_ref() == Some(origin);
        }
        let Body::ToolUse(call) = body else {
            return false;
        };
        let is_text = call
            .repair
            .as_deref()
            .is_some_and(|note| note.contains(written));
        // Of one that could not be read the log does not say how it came.
        by_origin && call.by.is_none() && !is_text && refusal(call).is_none()
    })
}

/// A call as it would be made: the tool by its own name, with fitted arguments, and texts without what cannot be seen.
struct Meant {
    tool: String,
    /// The name is that of a tool.
    known: bool,
    arguments: Value,
}

impl Meant {
    fn new(name: &str, arguments: &str, tools: &[ToolSpec]) -> Self {
        let bare = name.rsplit(['.', '/']).next().unwrap_or(name);
        let call = read_call(
            String::new(),
            bare.to_owned(),
            arguments,
            Ended::Whole,
            tools,
        );
        let own = canonical_name(&call.name);
        let mut meant = call.input.to_value();
        if refusal(&call).is_some() {
            meant = Value::String(arguments.to_owned());
        }
        Self {
            known: own.is_some() || tools.iter().any(|tool| tool.name == call.name),
            tool: own.map_or(call.name, str::to_owned),
            arguments: squeezed(meant),
        }
    }

    /// Arguments that one of them has beside the common ones do not make it another call.
    fn is_same(&self, other: &Self) -> bool {
        let (one, two) = (&self.arguments, &other.arguments);
        let command = one.get(COMMAND).filter(|command| command.is_string());
        self.tool == other.tool
            && (one == two
                || command.is_some() && command == two.get(COMMAND)
                || is_within(one, two)
                || is_within(two, one))
    }
}

fn is_within(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            !one.is_empty()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name) == Some(value))
        }
        (one, other) => one == other,
    }
}

/// Texts without blanks, invisible characters, quotes and the ends of commands, none of which make another call.
fn squeezed(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let is_idle = |c: char| c.is_whitespace() || is_hiding(c) || "'\"\\;".contains(c);
            Value::String(text.chars().filter(|c| !is_idle(*c)).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(squeezed).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, squeezed(value)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Whether one of the calls stands in a prompt, a result, or the instructions. `text` is how the answer has them.
pub fn is_quotation<E: Borrow<Entry>>(
    entries: &[E],
    session: &Surroundings<'_>,
    calls: &[(String, String)],
    text: &str,
) -> bool {
    let (prefix, tools) = (session.prefix, session.tools);
    let calls: Vec<Meant> = calls
        .iter()
        .map(|(name, arguments)| Meant::new(name, arguments, tools))
        .collect();
    let text = without_blanks(text);
    let holds = |source: &str| {
        source.contains(['<', '[', '{', '&', '＜', '\\'])
            && spellings(source)
                .iter()
                .any(|source| holds_call(source, &calls, &text, tools))
    };
    let described = prefix.tools.iter().any(|tool| holds(&tool.description));
    described
        || holds(&prefix.system)
        || entries.iter().any(|entry| {
            let body = &entry.borrow().body;
            if let Body::ToolResult(result) = body {
                return any_text(&result.output.to_value(), &holds);
            }
            body.message().is_some_and(|message| match message.role {
                Role::Assistant => false,
                Role::User | Role::System => {
                    let parts = [message.typed.as_deref(), message.context.as_deref()];
                    holds(&message.text) || parts.into_iter().flatten().any(holds)
                }
            })
        })
}

fn any_text(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, holds)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, holds)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The same words, or a call that is the same in any notation. A name that is no tool's may be another name of the tool.
fn holds_call(source: &str, calls: &[Meant], text: &str, tools: &[ToolSpec]) -> bool {
    let Some(mentioned) = mentioned_calls(source) else {
        return true;
    };
    let is_same = |(name, arguments): &(String, String)| {
        let mention = Meant::new(name, arguments, tools);
        calls.iter().any(|own| match mention.known {
            true => own.is_same(&mention),
            false => own.is_same(&Meant::new(&own.tool, arguments, tools)),
        })
    };
    mentioned.iter().any(is_same) || without_blanks(source).contains(text)
}

/// A text as it is, and as it reads without what surrounds the lines of a file in listings, quotations and comments,
/// without the escapes of JSON and HTML, and always without invisible characters.
fn spellings(source: &str) -> Vec<String> {
    let is_seen = |c: &char| *c == '\n' || *c == '\t' || !is_hiding(*c) || c.is_whitespace();
    let seen: String = source
        .chars()
        .filter(is_seen)
        .map(|c| match c {
            '＜' => '<',
            '＞' => '>',
            c => c,
        })
        .collect();
    let bare: Vec<&str> = seen.lines().map(without_leader).collect();
    let bare = bare.join("\n");
    let mut all = Vec::new();
    for mut text in [seen, bare] {
        for _ in 0..=MAX_ESCAPED {
            if all.contains(&text) {
                break;
            }
            let next = unescaped(&text);
            all.push(std::mem::replace(&mut text, next));
        }
    }
    all
}

/// A text with the escapes of JSON, Markdown and HTML undone once.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(c) = after.chars().next() else {
            out.push('\\');
            rest = "";
            break;
        };
        rest = after.get(c.len_utf8()..).unwrap_or_default();
        let code = rest
            .get(..4)
            .filter(|_| c == 'u')
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        match (c, code) {
            (_, Some(code)) => {
                out.push(code);
                rest = rest.get(4..).unwrap_or_default();
            }
            ('n', None) => out.push('\n'),
            ('t', None) => out.push('\t'),
            ('r', None) => {}
            (c, None) if c.is_ascii_punctuation() => out.push(c),
            (c, None) => out.extend(['\\', c]),
        }
    }
    out.push_str(rest);
    let out = out.replace("&lt;", "<").replace("&gt;", ">");
    out.replace("&quot;", "\"").replace("&amp;", "&")
}

/// A line without its number, its path as in search results, and the marks of diffs, quotations, lists and comments.
fn without_leader(line: &str) -> &str {
    let mut rest = line.trim_start();
    if let Some((place, after)) = rest.split_once(':')
        && !place.contains(char::is_whitespace)
        && let Some((number, text)) = after.split_once([':', '-'])
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        rest = text.trim_start();
    }
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < rest.len() {
        rest = number.trim_start_matches(['\t', ' ', '→', ':', '|', '.', ')']);
    }
    rest.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '>' | '+' | '-' | '*' | '/' | '#' | '|')
    })
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
