//! The notations in which models write calls as text, by the rows of `notations.toml`: how each is marked, and how its
//! calls are read. A notation with closing marks needs all of them. Whether a call stands where it may run is not decided here.

use super::json::{self, Ended};
use super::{Fix, bare_name, object, unique, written};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub const MAX_CALLS: usize = 64;
/// A tag that is longer is not one of ours. Keeps the search linear.
const MAX_TAG_BYTES: usize = 256;

/// A tool's name and the text of its arguments, a JSON object.
pub type Call = (String, String);

pub const FENCE: &str = "```";
const ARGS_MARK: &str = "[ARGS]";
const ID_MARK: &str = "[CALL_ID]";
/// Before the name of the tool that a message of a channel is for.
const RECIPIENT_MARK: &str = "to=";
/// Ends the header of such a message, and a message that is none for a tool.
const MESSAGE_MARK: &str = "<|message|>";
const MESSAGE_END: &str = "<|end|>";
/// What one notation puts before the names of all its tags.
const TAG_PREFIX: &str = "｜DSML｜";
const FUNCTION: &str = "<function=";
const INVOKE: &str = "invoke";

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("notations.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    ends: Vec<String>,
    pub(super) notation: Vec<Notation>,
}

/// A row of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notation {
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table"))]
    pub(super) name: String,
    form: Form,
    #[serde(default)]
    open: String,
    #[serde(default)]
    close: String,
    #[serde(default = "yes")]
    needs_close: bool,
    #[serde(default)]
    section: [String; 2],
    #[serde(default)]
    call: [String; 2],
    /// Between the name and the arguments.
    #[serde(default)]
    arguments: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples for a test"))]
    pub(super) must: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples for a test"))]
    pub(super) must_not: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Element,
    Function,
    Invoke,
    Json,
    Named,
    Python,
    ByName,
    Escaped,
    Marks,
    Channel,
}

fn yes() -> bool {
    true
}

impl Notation {
    fn opens(&self, text: &str) -> bool {
        match self.form {
            Form::Element => tag(text, &self.open).is_some(),
            Form::Function => text.starts_with(FUNCTION),
            Form::Invoke => tag(text, INVOKE).is_some(),
            Form::Json
            | Form::Named
            | Form::Python
            | Form::ByName
            | Form::Escaped
            | Form::Channel => text.starts_with(&self.open),
            Form::Marks => text.starts_with(&self.section[0]) || text.starts_with(&self.call[0]),
        }
    }

    /// The calls of a text that it opens, and what follows them.
    fn read<'a>(&self, text: &'a str, ended: Ended) -> Option<(Vec<Call>, &'a str)> {
        match self.form {
            Form::Element => element(tag(text, &self.open)?.1, &self.open),
            Form::Function => function(text).map(one),
            Form::Invoke => invoke(text).map(one),
            Form::Json | Form::Named | Form::Python | Form::ByName | Form::Escaped => {
                let inside = text.strip_prefix(&self.open)?.trim_start();
                let (calls, rest) = match (self.form, inside.starts_with(['[', '{'])) {
                    (Form::Named, false) => one(named(inside)?),
                    (Form::Python, _) => written::python(inside)?,
                    (Form::ByName, _) => written::by_name(inside)?,
                    (Form::Escaped, _) => written::escaped(inside)?,
                    _ => json_calls(inside, Strict::No)?,
                };
                let closed = rest.trim_start().strip_prefix(&self.close);
                match closed.filter(|_| !self.close.is_empty()) {
                    Some(rest) => Some((calls, rest)),
                    None => (!self.needs_close && ended == Ended::Whole).then_some((calls, rest)),
                }
            }
            Form::Marks => marked(text, self),
            Form::Channel => channel(text).map(one),
        }
    }
}

fn notation_of(text: &str) -> Option<&'static Notation> {
    text.starts_with(['<', '[']).then_some(())?;
    TABLE.notation.iter().find(|notation| notation.opens(text))
}

/// How a candidate turned out.
pub enum Tried {
    /// Calls up to the end of the answer.
    Calls(Vec<Call>),
    /// A call, and something after it.
    ThenText,
    Nothing,
}

/// Whether a text begins with the opening mark of a notation.
pub fn opens(rest: &str) -> bool {
    notation_of(rest).is_some()
}

/// Whether a mark is followed by what a call has, so that it is more than a mention of the mark.
pub fn begins_call(text: &str) -> bool {
    let Some(notation) = notation_of(text) else {
        return false;
    };
    match notation.form {
        Form::Element => {
            let inside = tag(text, &notation.open).map_or("", |(_, inside)| inside.trim_start());
            let is_closed =
                without_end_marks(text).is_empty() || ends_with_tag(text, &notation.open);
            inside.starts_with(['{', '[', '<']) || inside.contains("<arg_key>") || is_closed
        }
        Form::Channel => text.contains(RECIPIENT_MARK),
        // The other marks are of no use in prose, but for the bare ones of these notations.
        Form::Json | Form::Named | Form::Python | Form::ByName | Form::Escaped => {
            text.trim() != notation.open
        }
        Form::Function | Form::Invoke | Form::Marks => true,
    }
}

fn ends_with_tag(text: &str, name: &str) -> bool {
    let text = text.trim_end();
    let last = text
        .rfind("</")
        .and_then(|at| closing(text.get(at..)?, name));
    last.is_some_and(str::is_empty)
}

/// Reads calls from here to the end of the answer.
pub fn attempt(text: &str, ended: Ended) -> Tried {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        rest = without_end_marks(rest);
        if rest.is_empty() && !calls.is_empty() {
            return Tried::Calls(calls);
        }
        match block(rest, ended) {
            Some((more, after)) if !more.is_empty() && calls.len() < MAX_CALLS => {
                calls.extend(more);
                rest = after;
            }
            Some(_) | None if calls.is_empty() => return Tried::Nothing,
            Some(_) | None => return Tried::ThenText,
        }
    }
}

pub fn without_end_marks(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(after) = TABLE
        .ends
        .iter()
        .find_map(|mark| rest.strip_prefix(mark.as_str()))
    {
        rest = after.trim_start();
    }
    rest
}

/// One block of any notation, and what follows it. In an answer that was cut only closing marks say that a call is whole.
pub fn block(text: &str, ended: Ended) -> Option<(Vec<Call>, &str)> {
    let text = text.trim_start();
    notation_of(text)?.read(text, ended)
}

fn one((call, rest): (Call, &str)) -> (Vec<Call>, &str) {
    (vec![call], rest)
}

/// ```` ```json {"name": …, "arguments": …} ``` ````
pub fn fenced(text: &str) -> Option<(Vec<Call>, &str)> {
    let (info, body) =
        text.split_at_checked(text.find(|c: char| !c.is_alphanumeric() && c != '_')?)?;
    if !matches!(info, "" | "json" | "tool_call" | "tool_calls") {
        return None;
    }
    let (calls, rest) = json_calls(body.trim_start(), Strict::Yes)?;
    let rest = rest.trim_start().strip_prefix(FENCE)?;
    Some((calls, rest))
}

/// `name[ARGS]{…}` or `name[CALL_ID]id[ARGS]{…}`.
fn named(text: &str) -> Option<(Call, &str)> {
    let (name, mut rest) = split_name(text)?;
    if let Some(after) = rest.strip_prefix(ID_MARK) {
        (_, rest) = split_name(after)?;
    }
    let rest = rest.strip_prefix(ARGS_MARK).unwrap_or(rest);
    let (arguments, rest) = json_object(rest.trim_start())?;
    Some(((name.to_owned(), arguments), rest))
}

/// `commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`, after messages that are for nobody.
fn channel(text: &str) -> Option<(Call, &str)> {
    let mut rest = text;
    for _ in 0..MAX_CALLS {
        let (header, body) = rest.split_once(MESSAGE_MARK)?;
        let Some((_, name)) = header.split_once(RECIPIENT_MARK) else {
            let (said, after) = body.split_once(MESSAGE_END)?;
            rest = (!said.contains(MESSAGE_MARK)).then_some(after.trim_start())?;
            continue;
        };
        let (name, _) = split_name(name)?;
        let name = bare_name(name).to_owned();
        let (arguments, rest) = json_object(body.trim_start())?;
        let rest = rest.trim_start().strip_prefix("<|call|>")?;
        return Some(((name, arguments), rest));
    }
    None
}

/// The inside of an element: an object, `<function=…>`, `<invoke>`, or a name with `<arg_key>` and `<arg_value>` pairs.
fn element<'a>(text: &'a str, name: &str) -> Option<(Vec<Call>, &'a str)> {
    let text = text.trim_start();
    if tag(text, INVOKE).is_some() {
        return section(text, name);
    }
    let (calls, rest) = if text.starts_with(['{', '[']) {
        json_calls(text, Strict::No)?
    } else if text.starts_with(FUNCTION) {
        one(function(text)?)
    } else {
        let (tool, mut rest) = split_name(text)?;
        let mut fields = Vec::new();
        while let Some((_, after)) = tag(rest.trim_start(), "arg_key") {
            let (key, after) = after.split_once("</arg_key>")?;
            let (_, after) = tag(after.trim_start(), "arg_value")?;
            let (value, after) = after.split_once("</arg_value>")?;
            fields.push((key.trim(), value));
            rest = after;
        }
        ((vec![(tool.to_owned(), strings(&fields)?)]), rest)
    };
    Some((calls, closing(rest.trim_start(), name)?))
}

/// `<function=name>` around `<parameter=key>` values or an object.
fn function(text: &str) -> Option<(Call, &str)> {
    let (name, rest) = text.strip_prefix(FUNCTION)?.split_once('>')?;
    let name = name.trim().trim_matches('"');
    let mut rest = rest.trim_start();
    if rest.starts_with('{') {
        let (arguments, after) = json_object(rest)?;
        let after = closing(after.trim_start(), "function")?;
        return Some(((name.to_owned(), arguments), after));
    }
    let mut fields = Vec::new();
    while let Some(after) = rest.strip_prefix("<parameter=") {
        let (key, after) = after.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        fields.push((key.trim().trim_matches('"'), value));
        rest = after.trim_start();
    }
    let call = (name.to_owned(), strings(&fields)?);
    Some((call, closing(rest.trim_start(), "function")?))
}

/// `<function_calls>` or another element around `<invoke>` blocks.
fn section<'a>(text: &'a str, element: &str) -> Option<(Vec<Call>, &'a str)> {
    let (call, mut rest) = invoke(text)?;
    let mut calls = vec![call];
    while let Some((call, after)) = invoke(rest).filter(|_| calls.len() < MAX_CALLS) {
        calls.push(call);
        rest = after;
    }
    Some((calls, closing(rest.trim_start(), element)?))
}

/// `<invoke name="…"><parameter name="…">value</parameter></invoke>`.
fn invoke(text: &str) -> Option<(Call, &str)> {
    let (name, mut rest) = tag(text.trim_start(), INVOKE)?;
    let mut fields = Vec::new();
    while let Some((key, after)) = tag(rest.trim_start(), "parameter") {
        let end = after
            .match_indices("</")
            .map(|(at, _)| at)
            .find(|at| closing(after.get(*at..).unwrap_or(""), "parameter").is_some())?;
        let (value, after) = after.split_at_checked(end)?;
        fields.push((key, value));
        rest = closing(after, "parameter")?;
    }
    let call = (name.to_owned(), strings(&fields)?);
    Some((call, closing(rest.trim_start(), INVOKE)?))
}

/// Calls between special marks; the name may have a type before it, or `functions.` and a number around it.
fn marked<'a>(text: &'a str, marks: &Notation) -> Option<(Vec<Call>, &'a str)> {
    let mut rest = text.strip_prefix(&marks.section[0]).unwrap_or(text);
    let mut calls = Vec::new();
    while let Some(after) = rest.trim_start().strip_prefix(&marks.call[0]) {
        let (name, after) = after.split_once(&marks.arguments)?;
        let (name, after) = match name.trim() {
            "function" => after.split_once('\n')?,
            _ => (name, after),
        };
        let name = bare_name(name);
        let body = after.trim_start();
        let (arguments, after) = match body.strip_prefix(FENCE) {
            Some(fenced) => {
                let (arguments, after) = json_object(fenced.split_once('\n')?.1.trim_start())?;
                (arguments, after.trim_start().strip_prefix(FENCE)?)
            }
            None => json_object(body)?,
        };
        if calls.len() == MAX_CALLS {
            return None;
        }
        calls.push((name.to_owned(), arguments));
        rest = after.trim_start().strip_prefix(&marks.call[1])?;
    }
    match text.starts_with(&marks.section[0]) {
        true => Some((calls, rest.trim_start().strip_prefix(&marks.section[1])?)),
        false => Some((calls, rest)),
    }
}

/// An opening tag by its local name, whatever stands before a colon. Gives its `name` attribute and what follows it.
fn tag<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (attributes, rest) = until_tag_end(local_name(text.strip_prefix('<')?, name)?)?;
    Some((attribute(attributes, "name=").unwrap_or(""), rest))
}

/// The value of an attribute, in quotes or up to the next blank.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let is_start = |at: &usize| {
        let before = attributes.get(..*at).unwrap_or("");
        before.is_empty() || before.ends_with(char::is_whitespace)
    };
    let at = attributes
        .match_indices(name)
        .map(|(at, _)| at)
        .find(is_start)?;
    let value = attributes.get(at + name.len()..)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) => value.get(1..)?.split(quote).next(),
        None => value.split_whitespace().next(),
    }
}

/// What follows a tag's name when that is the wanted one.
fn local_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
    let text = text.strip_prefix(TAG_PREFIX).unwrap_or(text);
    let end = text.bytes().take(MAX_TAG_BYTES).position(|b| !is_name(b))?;
    let (found, rest) = text.split_at_checked(end)?;
    (found.rsplit(':').next() == Some(name)).then_some(rest)
}

fn until_tag_end(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .take(MAX_TAG_BYTES)
        .position(|b| matches!(b, b'>' | b'\n'))?;
    let (head, rest) = text.split_at_checked(end)?;
    Some((head, rest.strip_prefix('>')?))
}

fn closing<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = until_tag_end(local_name(text.strip_prefix("</")?, name)?)?;
    Some(rest)
}

pub fn split_name(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    text.split_at_checked(end)
        .filter(|(name, _)| !name.is_empty())
}

/// Values written between tags are text; their types are the schema's business. A line break at either end is layout.
/// A name with two different values means nothing.
fn strings(fields: &[(&str, &str)]) -> Option<String> {
    let mut object = serde_json::Map::new();
    for (key, value) in fields {
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        let before = object.insert((*key).to_owned(), value.into());
        if before.is_some_and(|before| before != value) {
            return None;
        }
    }
    Some(serde_json::Value::Object(object).to_string())
}

fn json_object(text: &str) -> Option<(String, &str)> {
    let read = json::read(text, Ended::Cut).ok()?;
    let rest = text.get(read.used..)?;
    read.json.starts_with('{').then_some((read.json, rest))
}

/// Whether an object with other fields than a call has is one. Where no mark says so, it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    Yes,
    No,
}

/// An object or a list of objects that name a tool and its arguments. More may follow after `;`.
pub fn json_calls(text: &str, strict: Strict) -> Option<(Vec<Call>, &str)> {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        let read = json::read(rest, Ended::Cut).ok()?;
        let items: Vec<Box<RawValue>> = if read.json.starts_with('[') {
            serde_json::from_str(&read.json).ok()?
        } else {
            vec![serde_json::from_str(&read.json).ok()?]
        };
        if calls.len() + items.len() > MAX_CALLS {
            return None;
        }
        for item in items {
            calls.push(json_call(item.get(), strict)?);
        }
        rest = rest.get(read.used..)?;
        let after = rest.trim_start();
        let next = after.strip_prefix(';').unwrap_or(after).trim_start();
        if !next.starts_with('{') {
            return Some((calls, rest));
        }
        rest = next;
    }
}

fn json_call(text: &str, strict: Strict) -> Option<Call> {
    const NAMES: [&str; 3] = ["name", "tool", "tool_name"];
    const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "tool_input"];
    const BESIDE: [&str; 3] = ["id", "type", "index"];
    unique::check(text).ok()?;
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    if let Some(inner) = fields.get("function").filter(|f| f.get().starts_with('{')) {
        return json_call(inner.get(), strict);
    }
    let known = |key: &String| {
        let key = key.as_str();
        NAMES.contains(&key) || ARGUMENTS.contains(&key) || BESIDE.contains(&key)
    };
    if strict == Strict::Yes && !fields.keys().all(known) {
        return None;
    }
    let name = NAMES
        .iter()
        .chain(&["function"])
        .find_map(|key| serde_json::from_str::<String>(fields.get(*key)?.get()).ok())?;
    let arguments = ARGUMENTS.iter().find_map(|key| fields.get(*key));
    let arguments = match (arguments, strict) {
        (Some(arguments), Strict::Yes | Strict::No) => {
            let mut fixes: Vec<Fix> = Vec::new();
            object(arguments.get(), Ended::Whole, 1, &mut fixes).ok()?
        }
        (None, Strict::No) => "{}".to_owned(),
        (None, Strict::Yes) => return None,
    };
    Some((name, arguments))
}

#[cfg(test)]
pub(super) fn table() -> Table {
    toml::from_str(include_str!("notations.toml")).unwrap()
}
