//! Knows calls in notations that are not read, such as elements with the name of a tool, or a function of Python. They
//! are never run: the model is told, so that its answer does not end the turn without a word.

use super::bare_name;

/// Longer pieces at the end of an answer are no call.
const MAX_BYTES: usize = 64 * 1024;
/// Elements around a call that name no tool.
const ELEMENTS: [&str; 4] = ["tool_use", "tool", "function", "action"];
/// What a fenced block that is a call says at its start.
const FENCED_CODE: &str = "```tool_code\n";
/// Around a list of calls.
const MARKS: [&str; 2] = ["<|tool_call_start|>", "<|tool_call_end|>"];
const ACTION: &str = "Action:";
const ACTION_INPUT: &str = "Action Input:";
const FENCE: &str = "```";

/// Whether an answer is, or ends with, something that has the form of a call.
pub(super) fn ends_with_call(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let whole = text.trim();
    let is_open = whole
        .lines()
        .filter(|line| line.trim_start().starts_with(FENCE))
        .count()
        % 2
        == 1;
    let last = whole.rsplit("\n\n").next().unwrap_or(whole);
    if whole.starts_with(FENCED_CODE) && whole.ends_with(FENCE) {
        return true;
    }
    !is_open
        && !whole.ends_with(FENCE)
        && whole.len() <= MAX_BYTES
        && (is_element(whole, is_tool)
            || [whole, last]
                .into_iter()
                .any(|text| is_function(text, is_tool))
            || is_action(whole, is_tool))
}

/// `<name>…</name>` from the start of a line to the end.
fn is_element(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let name = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once("</"))
        .map(|(_, name)| name);
    let Some(name) = name.filter(|name| ELEMENTS.contains(name) || is_tool(name)) else {
        return false;
    };
    let open = format!("<{name}>");
    text.starts_with(&open) || text.contains(&format!("\n{open}"))
}

/// `name(key=value)`, or a list of such.
fn is_function(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let [open, close] = MARKS;
    let (text, is_marked) = match text.strip_prefix(open) {
        Some(inside) => (inside.strip_suffix(close).unwrap_or(inside), true),
        None => (text, false),
    };
    let text = text.strip_prefix('[').unwrap_or(text);
    let text = text.strip_suffix(']').unwrap_or(text);
    let Some((name, arguments)) = text.split_once('(').filter(|_| text.ends_with(')')) else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let key = arguments.split('=').next().unwrap_or("");
    let has_key = arguments.contains('=') && !key.is_empty() && key.chars().all(is_name);
    name.chars().all(is_name) && is_tool(bare_name(name)) && (has_key || is_marked)
}

/// Lines as agents of the first days had them.
fn is_action(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(ACTION));
    let name = lines.next().and_then(|line| line.strip_prefix(ACTION));
    let is_tool = name.is_some_and(|name| is_tool(name.trim()));
    is_tool
        && lines
            .next()
            .is_some_and(|line| line.starts_with(ACTION_INPUT))
}
