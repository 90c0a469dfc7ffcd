//! Finds calls that a model wrote into its answer as text. A call counts only where the marks of a notation that models
//! are trained on set it apart, on a line of its own and at the very end. A fenced block and bare JSON are examples.

use super::json::{self, Ended};
use super::{Fix, object, unique};
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
const END_MARKS: [&str; 7] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "</s>",
    "<｜end▁of▁sentence｜>",
    // Some models forget the opening one.
    "</tool_call>",
];
/// After one of these a call may stand on the line of the prose before it.
const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];
/// What introduces an example rather than a call, in the line before it.
const EXPLAINING: [&str; 25] = [
    "example",
    "e.g.",
    "i.e.",
    "for instance",
    "syntax",
    "notation",
    "template",
    "looks like",
    "look like",
    "would be",
    "would call",
    "would look",
    "would run",
    "would send",
    "would write",
    "illustrat",
    "demonstrat",
    "not run",
    "n't run",
    "not execute",
    "n't execute",
    "例如",
    "示例",
    "例子",
    "语法",
];
const THINKING: [[&str; 2]; 8] = [
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<thought>", "</thought>"],
    ["<reasoning>", "</reasoning>"],
    ["<analysis>", "</analysis>"],
    ["<scratchpad>", "</scratchpad>"],
    ["[THINK]", "[/THINK]"],
    ["◁think▷", "◁/think▷"],
];
/// Beginnings of a line that is not plain prose: a quotation, a table, a heading, code, an item of a list.
const LAYOUT: [&str; 7] = [">", "|", "#", "`", "- ", "* ", "+ "];
/// Blanks before a line that make it a block of code.
const CODE_INDENT: usize = 4;

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

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// No call, or one that it only talks about.
    Nothing,
    /// The text before the calls, and of each call the tool and the text of its arguments.
    Calls(String, Vec<(String, String)>),
    /// Something like a call that is not run; the model has to say what it meant.
    Unsure(Doubt),
}

/// Why something like a call is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The answer is a JSON object or a fenced block, and no mark says that it is a call.
    Unmarked,
    /// The prose before it speaks of an example, or the reasoning before it has not ended.
    Example,
    /// It is marked as a call, and cannot be read or has no end.
    Unreadable,
}

/// How a candidate turned out.
enum Tried {
    /// Calls up to the end of the answer.
    Calls(Vec<Call>),
    /// A call, and something after it: whoever wrote that was not calling.
    ThenText,
    Nothing,
}

/// Finds the calls at the end of an answer. With `Ended::Cut` their closing marks have to be there.
pub fn calls_in_text(text: &str, ended: Ended, is_tool: impl Fn(&str) -> bool) -> Written {
    if text.len() > MAX_TEXT_BYTES {
        return Written::Nothing;
    }
    if is_unmarked(text.trim(), is_tool) {
        return Written::Unsure(Doubt::Unmarked);
    }
    for (tries, at) in candidates(text).enumerate() {
        let Some((before, rest)) = text.split_at_checked(at).filter(|_| tries < MAX_TRIES) else {
            return Written::Nothing;
        };
        let tried = attempt(rest, ended);
        match (tried, stands_apart(before)) {
            (Tried::Calls(_), true) if is_example(before) => {
                return Written::Unsure(Doubt::Example);
            }
            (Tried::Calls(calls), true) => {
                return Written::Calls(before.trim_end().to_owned(), calls);
            }
            (Tried::Calls(_), false) | (Tried::ThenText, _) => return Written::Nothing,
            (Tried::Nothing, true) if begins_call(rest) => {
                return Written::Unsure(Doubt::Unreadable);
            }
            (Tried::Nothing, false) if begins_call(rest) => return Written::Nothing,
            (Tried::Nothing, _) => {}
        }
    }
    Written::Nothing
}

/// Whether the whole answer is a call without marks: JSON, bare or in one fenced block.
fn is_unmarked(whole: &str, is_tool: impl Fn(&str) -> bool) -> bool {
    let found = match whole.strip_prefix(FENCE) {
        Some(rest) => fenced(rest),
        None if whole.starts_with(['{', '[']) && !whole.starts_with(LIST_MARK) => {
            json_calls(whole, Strict::Yes)
        }
        None => None,
    };
    found.is_some_and(|(calls, rest)| {
        let known = calls.iter().all(|(name, _)| is_tool(name));
        !calls.is_empty() && known && without_end_marks(rest).is_empty()
    })
}

/// Whether what follows is not in the middle of prose: on a line of its own, or after the end of a sentence.
fn stands_apart(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    match line.trim() {
        "" => !line.contains('\t') && line.len() < CODE_INDENT,
        prose if THINKING.iter().any(|[_, close]| prose.ends_with(close)) => true,
        prose => {
            let number = prose.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_item = number.len() < prose.len() && number.starts_with(['.', ')']);
            let is_layout = is_item || LAYOUT.iter().any(|mark| prose.starts_with(mark));
            prose.ends_with(SENTENCE_ENDS) && !is_layout
        }
    }
}

fn is_example(before: &str) -> bool {
    let line = before.trim_end().rsplit('\n').next().unwrap_or(before);
    let line = line.to_lowercase();
    let thinks =
        THINKING.iter().any(
            |[open, close]| match (before.rfind(open), before.rfind(close)) {
                (Some(open), Some(close)) => open > close,
                (Some(_), None) => true,
                (None, _) => false,
            },
        );
    // Nothing follows the call, so an element that the line before it opens is still open.
    let in_element = line.starts_with('<') && line.ends_with('>') && !line.contains("</");
    let is_section = opens(&line) || line == "<tool_calls>";
    thinks || in_element && !is_section || EXPLAINING.iter().any(|word| line.contains(word))
}

/// Whether a mark is followed by what a call has, so that it is more than a mention of the mark.
fn begins_call(text: &str) -> bool {
    let inside = ["tool_call", "function_calls"]
        .iter()
        .find_map(|name| tag(text, name));
    let Some((_, rest)) = inside else {
        // The other marks are of no use in prose, but for the bare ones of these notations.
        return ![LIST_MARK, CODE_MARK].contains(&text.trim());
    };
    let rest = rest.trim_start();
    rest.starts_with(['{', '[', '<']) || rest.contains("<arg_key>")
}

/// Places outside of fenced blocks where a call could start.
fn candidates(text: &str) -> impl Iterator<Item = usize> {
    let mut fence: Option<(char, usize)> = None;
    let mut line_start = 0;
    text.split_inclusive('\n').flat_map(move |line| {
        let start = line_start;
        line_start += line.len();
        let (mark, length, after) = fence_of(line);
        match fence {
            Some((open, least)) => {
                if mark == open && length >= least && after.trim().is_empty() {
                    fence = None;
                }
                return Vec::new();
            }
            // Three and more on one line with their ends are code within the line.
            None if length >= FENCE.len() => {
                if mark != '`' || !after.contains('`') {
                    fence = Some((mark, length));
                }
                return Vec::new();
            }
            None => {}
        }
        line.match_indices(['<', '['])
            .map(|(at, _)| start + at)
            .filter(|at| text.get(*at..).is_some_and(opens))
            .collect()
    })
}

/// The mark that a line begins with, how long it is, and what follows it.
fn fence_of(line: &str) -> (char, usize, &str) {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
    let Some(mark) = mark else {
        return (' ', 0, line);
    };
    let after = line.trim_start_matches(mark);
    (mark, line.len() - after.len(), after)
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

fn attempt(text: &str, ended: Ended) -> Tried {
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

fn without_end_marks(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(after) = END_MARKS.iter().find_map(|mark| rest.strip_prefix(mark)) {
        rest = after.trim_start();
    }
    rest
}

/// One block of any notation, and what follows it.
fn block(text: &str, ended: Ended) -> Option<(Vec<Call>, &str)> {
    let text = text.trim_start();
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
        return marked(text, marks, ended);
    }
    if text.starts_with("<function=") {
        return function(text, ended).map(one);
    }
    if let Some((_, rest)) = tag(text, "tool_call") {
        return tool_call(rest, ended);
    }
    if let Some((_, rest)) = tag(text, "function_calls") {
        return section(rest, ended);
    }
    invoke(text, ended).map(one)
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
fn tool_call(text: &str, ended: Ended) -> Option<(Vec<Call>, &str)> {
    let text = text.trim_start();
    let (calls, rest) = if text.starts_with(['{', '[']) {
        json_calls(text, Strict::No)?
    } else if text.starts_with("<function=") {
        one(function(text, ended)?)
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
        ((vec![(name.to_owned(), strings(&fields)?)]), rest)
    };
    Some((calls, closed(rest, "tool_call", ended)?))
}

/// `<function=name>` around `<parameter=key>` values or an object.
fn function(text: &str, ended: Ended) -> Option<(Call, &str)> {
    let (name, rest) = text.strip_prefix("<function=")?.split_once('>')?;
    let name = name.trim().trim_matches('"');
    let mut rest = rest.trim_start();
    if rest.starts_with('{') {
        let (arguments, after) = json_object(rest)?;
        let after = closed(after, "function", ended)?;
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
    Some((call, closed(rest, "function", ended)?))
}

/// `<function_calls>` around `<invoke>` blocks.
fn section(text: &str, ended: Ended) -> Option<(Vec<Call>, &str)> {
    let (call, mut rest) = invoke(text, ended)?;
    let mut calls = vec![call];
    while let Some((call, after)) = invoke(rest, ended).filter(|_| calls.len() < MAX_CALLS) {
        calls.push(call);
        rest = after;
    }
    Some((calls, closed(rest, "function_calls", ended)?))
}

/// `<invoke name="…"><parameter name="…">value</parameter></invoke>`.
fn invoke(text: &str, ended: Ended) -> Option<(Call, &str)> {
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
    let call = (name.to_owned(), strings(&fields)?);
    Some((call, closed(rest, "invoke", ended)?))
}

/// Calls between special marks; the name may have a type before it, or `functions.` and a number around it.
fn marked<'a>(text: &'a str, marks: &Marks, ended: Ended) -> Option<(Vec<Call>, &'a str)> {
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
        rest = match (after.strip_prefix(marks.call[1]), ended) {
            (Some(rest), _) => rest,
            (None, Ended::Whole) => after,
            (None, Ended::Cut) => return None,
        };
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

/// After a closing tag, which may be missing where an answer ends that was not cut.
fn closed<'a>(text: &'a str, name: &str, ended: Ended) -> Option<&'a str> {
    let text = text.trim_start();
    let at_end = || ended == Ended::Whole && without_end_marks(text).is_empty();
    closing(text, name).or_else(|| at_end().then_some(""))
}

fn split_name(text: &str) -> Option<(&str, &str)> {
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
