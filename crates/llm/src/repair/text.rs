//! Finds calls that a model wrote into its answer as text, in the notations models are trained on.
//! Only at the very end of an answer, only for tools that exist, and only when nothing else follows.

use super::json::{self, Ended};
use super::{Fix, object};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Longer answers are not searched.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// How many places that look like the start of a call are tried.
const MAX_TRIES: usize = 64;
const MAX_CALLS: usize = 64;
/// A tag that is longer is not one of ours. Keeps the search linear.
const MAX_TAG_BYTES: usize = 256;

/// A tool's name and the text of its arguments, a JSON object.
type Call = (String, String);

const FENCE: &str = "```";
const LIST_MARK: &str = "[TOOL_CALLS]";
const ARGS_MARK: &str = "[ARGS]";
const CODE_MARK: &str = "<|python_tag|>";
/// Marks that stand alone at the end of an answer.
const END_MARKS: [&str; 6] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "</s>",
    "<｜end▁of▁sentence｜>",
];

/// A notation in which sections, calls and arguments are set apart by special marks.
struct Marks {
    section: [&'static str; 2],
    call: [&'static str; 2],
    /// Between the name and the arguments.
    arguments: &'static str,
}

const MARKS: [Marks; 2] = [
    Marks {
        section: ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
        call: ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"],
        arguments: "<｜tool▁sep｜>",
    },
    Marks {
        section: ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"],
        call: ["<|tool_call_begin|>", "<|tool_call_end|>"],
        arguments: "<|tool_call_argument_begin|>",
    },
];

/// How a candidate turned out.
enum Tried {
    /// Calls up to the end of the answer.
    Calls(Vec<Call>),
    /// A call, and something after it: whoever wrote that was not calling.
    ThenText,
    Nothing,
}

/// The text before the calls, and the calls. `None` when the answer holds no call, or might only talk about one.
pub fn calls_in_text(text: &str, known: &[&str]) -> Option<(String, Vec<(String, String)>)> {
    if text.len() > MAX_TEXT_BYTES {
        return None;
    }
    let whole = text.trim();
    if whole.starts_with(['{', '[']) && !whole.starts_with(LIST_MARK) {
        let (calls, rest) = json_calls(whole, Strict::Yes)?;
        let alone = without_end_marks(rest).is_empty() && are_known(&calls, known);
        return alone.then(|| (String::new(), calls));
    }
    for (tries, at) in candidates(text).enumerate() {
        if tries == MAX_TRIES {
            return None;
        }
        match attempt(text.get(at..)?, known) {
            Tried::Calls(calls) => return Some((text.get(..at)?.trim_end().to_owned(), calls)),
            Tried::ThenText => return None,
            Tried::Nothing => {}
        }
    }
    None
}

/// Places outside of fenced blocks where a call could start.
fn candidates(text: &str) -> impl Iterator<Item = usize> {
    let mut fenced = false;
    let mut line_start = 0;
    text.split_inclusive('\n').flat_map(move |line| {
        let start = line_start;
        line_start += line.len();
        let mut found = Vec::new();
        if line.trim_start().starts_with(FENCE) {
            if !fenced {
                found.push(start + line.len() - line.trim_start().len());
            }
            // A block may open and close on one line.
            if line.matches(FENCE).count() == 1 {
                fenced = !fenced;
            }
        } else if !fenced {
            found.extend(
                line.match_indices(['<', '['])
                    .map(|(at, _)| start + at)
                    .filter(|at| text.get(*at..).is_some_and(opens)),
            );
        }
        found
    })
}

fn opens(rest: &str) -> bool {
    rest.starts_with(LIST_MARK)
        || rest.starts_with(CODE_MARK)
        || rest.starts_with("<function=")
        || ["tool_call", "function_calls", "invoke"]
            .iter()
            .any(|name| tag(rest, name).is_some())
        || MARKS
            .iter()
            .any(|m| rest.starts_with(m.section[0]) || rest.starts_with(m.call[0]))
}

fn attempt(text: &str, known: &[&str]) -> Tried {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        rest = without_end_marks(rest);
        if rest.is_empty() && !calls.is_empty() {
            return Tried::Calls(calls);
        }
        match block(rest) {
            Some((more, after)) if are_known(&more, known) && calls.len() < MAX_CALLS => {
                calls.extend(more);
                rest = after;
            }
            Some(_) | None if calls.is_empty() => return Tried::Nothing,
            Some(_) | None => return Tried::ThenText,
        }
    }
}

fn are_known(calls: &[Call], known: &[&str]) -> bool {
    !calls.is_empty() && calls.iter().all(|(name, _)| known.contains(&name.as_str()))
}

fn without_end_marks(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(after) = END_MARKS.iter().find_map(|mark| rest.strip_prefix(mark)) {
        rest = after.trim_start();
    }
    rest
}

/// One block of any notation, and what follows it.
fn block(text: &str) -> Option<(Vec<Call>, &str)> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix(FENCE) {
        return fenced(rest);
    }
    if let Some(rest) = text.strip_prefix(LIST_MARK) {
        return list(rest.trim_start());
    }
    if let Some(rest) = text.strip_prefix(CODE_MARK) {
        return json_calls(rest.trim_start(), Strict::No);
    }
    if let Some(marks) = MARKS
        .iter()
        .find(|m| text.starts_with(m.section[0]) || text.starts_with(m.call[0]))
    {
        return marked(text, marks);
    }
    if text.starts_with("<function=") {
        return function(text).map(one);
    }
    if let Some((_, rest)) = tag(text, "tool_call") {
        return tool_call(rest);
    }
    if let Some((_, rest)) = tag(text, "function_calls") {
        return section(rest);
    }
    invoke(text).map(one)
}

fn one((call, rest): (Call, &str)) -> (Vec<Call>, &str) {
    (vec![call], rest)
}

/// ```` ```json {"name": …, "arguments": …} ``` ````
fn fenced(text: &str) -> Option<(Vec<Call>, &str)> {
    let (info, body) =
        text.split_at_checked(text.find(|c: char| !c.is_alphanumeric() && c != '_')?)?;
    if !matches!(info, "" | "json" | "tool_call" | "tool_calls") {
        return None;
    }
    let (calls, rest) = json_calls(body.trim_start(), Strict::Yes)?;
    let rest = rest.trim_start().strip_prefix(FENCE)?;
    Some((calls, rest))
}

/// `[TOOL_CALLS][{…}, {…}]` or `[TOOL_CALLS]name[ARGS]{…}`.
fn list(text: &str) -> Option<(Vec<Call>, &str)> {
    if text.starts_with(['[', '{']) {
        return json_calls(text, Strict::No);
    }
    let (name, rest) = split_name(text)?;
    let rest = rest.strip_prefix(ARGS_MARK).unwrap_or(rest);
    let (arguments, rest) = json_object(rest.trim_start())?;
    Some((vec![(name.to_owned(), arguments)], rest))
}

/// `<tool_call>` around an object, around `<function=…>`, or around a name with `<arg_key>` and `<arg_value>` pairs.
fn tool_call(text: &str) -> Option<(Vec<Call>, &str)> {
    let text = text.trim_start();
    let (calls, rest) = if text.starts_with(['{', '[']) {
        json_calls(text, Strict::No)?
    } else if text.starts_with("<function=") {
        one(function(text)?)
    } else {
        let (name, mut rest) = split_name(text)?;
        let mut fields = Vec::new();
        while let Some((_, after)) = tag(rest.trim_start(), "arg_key") {
            let (key, after) = after.split_once("</arg_key>")?;
            let (_, after) = tag(after.trim_start(), "arg_value")?;
            let (value, after) = after.split_once("</arg_value>")?;
            fields.push((key.trim(), value));
            rest = after;
        }
        ((vec![(name.to_owned(), strings(&fields))]), rest)
    };
    Some((calls, closed(rest, "tool_call")?))
}

/// `<function=name>` around `<parameter=key>` values or an object.
fn function(text: &str) -> Option<(Call, &str)> {
    let (name, rest) = text.strip_prefix("<function=")?.split_once('>')?;
    let name = name.trim().trim_matches('"');
    let mut rest = rest.trim_start();
    if rest.starts_with('{') {
        let (arguments, after) = json_object(rest)?;
        return Some(((name.to_owned(), arguments), closed(after, "function")?));
    }
    let mut fields = Vec::new();
    while let Some(after) = rest.strip_prefix("<parameter=") {
        let (key, after) = after.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        fields.push((key.trim().trim_matches('"'), value));
        rest = after.trim_start();
    }
    let call = (name.to_owned(), strings(&fields));
    Some((call, closed(rest, "function")?))
}

/// `<function_calls>` around `<invoke>` blocks.
fn section(text: &str) -> Option<(Vec<Call>, &str)> {
    let (call, mut rest) = invoke(text)?;
    let mut calls = vec![call];
    while let Some((call, after)) = invoke(rest).filter(|_| calls.len() < MAX_CALLS) {
        calls.push(call);
        rest = after;
    }
    Some((calls, closed(rest, "function_calls")?))
}

/// `<invoke name="…"><parameter name="…">value</parameter></invoke>`.
fn invoke(text: &str) -> Option<(Call, &str)> {
    let (name, mut rest) = tag(text.trim_start(), "invoke")?;
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
    let call = (name.to_owned(), strings(&fields));
    Some((call, closed(rest, "invoke")?))
}

/// Calls between special marks; the name may have a type before it, or `functions.` and a number around it.
fn marked<'a>(text: &'a str, marks: &Marks) -> Option<(Vec<Call>, &'a str)> {
    let mut rest = text.strip_prefix(marks.section[0]).unwrap_or(text);
    let mut calls = Vec::new();
    while let Some(after) = rest.trim_start().strip_prefix(marks.call[0]) {
        let (name, after) = after.split_once(marks.arguments)?;
        let (name, after) = match name.trim() {
            "function" => after.split_once('\n')?,
            _ => (name, after),
        };
        let name = name.trim();
        let name = name.strip_prefix("functions.").unwrap_or(name);
        let name = name.split(':').next().unwrap_or(name);
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
        let after = after.trim_start();
        rest = after.strip_prefix(marks.call[1]).unwrap_or(after);
    }
    let rest = rest.trim_start();
    Some((calls, rest.strip_prefix(marks.section[1]).unwrap_or(rest)))
}

/// An opening tag by its local name, whatever stands before a colon. Gives its `name` attribute and what follows it.
fn tag<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (attributes, rest) = until_tag_end(local_name(text.strip_prefix('<')?, name)?)?;
    let value = attributes
        .trim()
        .strip_prefix("name=")
        .map_or("", |value| value.trim_matches(['"', '\'']));
    Some((value, rest))
}

/// What follows a tag's name when that is the wanted one.
fn local_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
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

/// After a closing tag, which may be missing where the answer ends.
fn closed<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let text = text.trim_start();
    closing(text, name).or_else(|| without_end_marks(text).is_empty().then_some(""))
}

fn split_name(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    text.split_at_checked(end)
        .filter(|(name, _)| !name.is_empty())
}

/// Values written between tags are text; their types are the schema's business. A line break at either end is layout.
fn strings(fields: &[(&str, &str)]) -> String {
    let object: serde_json::Map<String, serde_json::Value> = fields
        .iter()
        .map(|(key, value)| {
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            ((*key).to_owned(), value.into())
        })
        .collect();
    serde_json::Value::Object(object).to_string()
}

fn json_object(text: &str) -> Option<(String, &str)> {
    let read = json::read(text, Ended::Cut).ok()?;
    let rest = text.get(read.used..)?;
    read.json.starts_with('{').then_some((read.json, rest))
}

/// Whether an object with other fields than a call has is one. Where no mark says so, it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strict {
    Yes,
    No,
}

/// An object or a list of objects that name a tool and its arguments. More may follow after `;`.
fn json_calls(text: &str, strict: Strict) -> Option<(Vec<Call>, &str)> {
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
