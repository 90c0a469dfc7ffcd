//! Finds calls that a model wrote into its answer as text. They count only where the marks of a notation that models are
//! trained on set them apart, where they start a line and end the answer, and where nothing before them says otherwise.

use super::foreign;
use super::json::Ended;
use super::notation::{
    FENCE, Strict, Tried, attempt, begins_call, block, fenced, json_calls, opens, without_end_marks,
};
use super::surroundings::{Place, judge_place};

/// Longer answers are not searched.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// How many places that look like the start of a call are tried.
const MAX_TRIES: usize = 64;
/// How many places of a text that was read are tried when its calls are collected.
const MAX_MENTIONS: usize = 16_384;

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// No call, or one that is quoted.
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
    /// What stands before it does not announce a call: other prose, an open comment, quotation, element or reasoning.
    Example,
    /// It stands within a line of prose, or text follows it.
    Misplaced,
    /// It is marked as a call, and cannot be read or has no end.
    Unreadable,
    /// The same call stands in something that the model has read.
    Quoted,
    /// The endpoint delivers calls as such, so text is text.
    Structured,
    /// It has the form of a call in a notation that is not read.
    Foreign,
}

/// Finds the calls at the end of an answer. `is_tool` says which names mean a tool that is offered.
pub fn calls_in_text(text: &str, ended: Ended, is_tool: impl Fn(&str) -> bool) -> Written {
    if text.len() > MAX_TEXT_BYTES {
        return Written::Nothing;
    }
    if is_unmarked(text.trim(), &is_tool) {
        return Written::Unsure(Doubt::Unmarked);
    }
    let mut has_example = false;
    for (tries, at) in candidates(text).enumerate() {
        let Some((before, rest)) = text.split_at_checked(at).filter(|_| tries < MAX_TRIES) else {
            return Written::Unsure(Doubt::Misplaced);
        };
        let tried = attempt(rest, ended);
        let is_call = !matches!(tried, Tried::Nothing) || begins_call(rest);
        match (judge_place(before), tried) {
            _ if !is_call => {}
            (Place::Quoted, _) => has_example = true,
            (Place::Inline, _) | (_, Tried::ThenText) => {
                return Written::Unsure(Doubt::Misplaced);
            }
            (Place::Apart | Place::Doubtful, Tried::Nothing) => {
                return Written::Unsure(Doubt::Unreadable);
            }
            (Place::Doubtful, Tried::Calls(_)) => return Written::Unsure(Doubt::Example),
            (Place::Apart, Tried::Calls(_)) if has_example => {
                return Written::Unsure(Doubt::Example);
            }
            (Place::Apart, Tried::Calls(calls)) => {
                return Written::Calls(before.trim_end().to_owned(), calls);
            }
        }
    }
    match foreign::ends_with_call(text, &is_tool) {
        true => Written::Unsure(Doubt::Foreign),
        false => Written::Nothing,
    }
}

/// Every call that stands in a text in any notation, wherever and however it stands there, marked or as bare JSON.
/// `None` where there is more that looks like one than is tried.
pub fn mentioned_calls(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let looks_like_call = |at: &usize| {
        let rest = text.get(*at..).unwrap_or("");
        opens(rest) || rest.strip_prefix('{').is_some_and(begins_with_key)
    };
    let places = text.match_indices(['<', '[', '{']).map(|(at, _)| at);
    for (tries, at) in places.filter(looks_like_call).enumerate() {
        if tries == MAX_MENTIONS {
            return None;
        }
        let rest = text.get(at..).unwrap_or("");
        let calls = match rest.starts_with('{') {
            true => json_calls(rest, Strict::No),
            false => block(rest, Ended::Whole),
        };
        found.extend(calls.into_iter().flat_map(|(calls, _)| calls));
    }
    Some(found)
}

/// Whether the inside of an object begins as that of a call does.
fn begins_with_key(text: &str) -> bool {
    const KEYS: [&str; 12] = [
        "name",
        "tool",
        "tool_name",
        "function",
        "arguments",
        "parameters",
        "args",
        "input",
        "tool_input",
        "id",
        "type",
        "index",
    ];
    let text = text.trim_start().trim_start_matches(['"', '\'']);
    KEYS.iter().any(|key| {
        let rest = text.strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with(['"', '\'', ':', ' ']))
    })
}

/// Whether the whole answer is a call without marks: JSON, bare or in one fenced block.
fn is_unmarked(whole: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let found = match whole.strip_prefix(FENCE) {
        Some(rest) => fenced(rest),
        None if whole.starts_with(['{', '[']) && !opens(whole) => json_calls(whole, Strict::Yes),
        None => None,
    };
    found.is_some_and(|(calls, rest)| {
        let known = calls.iter().all(|(name, _)| is_tool(name));
        !calls.is_empty() && known && without_end_marks(rest).is_empty()
    })
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

/// The mark that a line begins with, how long it is, and what follows it. The marks of quotations and list items may
/// stand before it.
fn fence_of(line: &str) -> (char, usize, &str) {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '-' | '*'));
    let line = match line.trim_start_matches(|c: char| c.is_ascii_digit()) {
        rest if rest.len() < line.len() => rest.trim_start_matches(['.', ')', ' ']),
        _ => line,
    };
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
    let Some(mark) = mark else {
        return (' ', 0, line);
    };
    let after = line.trim_start_matches(mark);
    (mark, line.len() - after.len(), after)
}
