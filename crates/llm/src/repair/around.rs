//! What may stand around the object of a call's arguments: marks of a notation and a few plain words. Anything that could
//! be a part of the call, or says that it is not meant, makes it unclear.

use super::json::Ended;

/// Longer text before the object is no lead.
const MAX_LEAD: usize = 200;
/// Words before the object that may say that it is not meant.
const AGAINST: [&str; 7] = ["not", "never", "don", "isn", "example", "instead", "wrong"];

/// What follows the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    Nothing,
    /// Closing marks.
    Marks,
    /// Plain words.
    Words,
    /// What could belong to the arguments.
    More,
}

/// The text from the object on, if all before it is marks or plain words.
pub(super) fn without_lead(text: &str) -> Option<&str> {
    let mut rest = text;
    while !rest.starts_with('{') {
        let after = without_mark(rest).or_else(|| without_comment(rest));
        let Some(after) = after else {
            break;
        };
        rest = after.trim_start();
    }
    let at = rest.find('{')?;
    let (lead, object) = rest.split_at_checked(at)?;
    let is_plain =
        |c: char| c.is_alphanumeric() || c.is_whitespace() || ".,:：，。!?'’…=(-`".contains(c);
    let speaks_against = lead
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| AGAINST.contains(&word.to_lowercase().as_str()));
    (lead.len() <= MAX_LEAD && lead.chars().all(is_plain) && !speaks_against).then_some(object)
}

pub(super) fn judge_tail(text: &str, ended: Ended) -> Tail {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Tail::Nothing;
    }
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, '}' | ']' | ')' | '`' | ';')
        });
        match without_mark(rest).or_else(|| without_comment(rest)) {
            Some(after) => rest = after,
            None => break,
        }
    }
    let is_plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || ".,，。!?'’…-".contains(c);
    match (rest.is_empty(), ended) {
        (true, Ended::Whole | Ended::Cut) => Tail::Marks,
        // Where the answer was cut, the words may be a part of what was lost.
        (false, Ended::Whole) if rest.chars().all(is_plain) => Tail::Words,
        (false, Ended::Whole | Ended::Cut) => Tail::More,
    }
}

/// What follows a tag such as `</tool_call>` or `<|call|>`.
fn without_mark(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let is_name =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '|' | '｜' | '▁' | '/');
    let (name, after) = inside.split_once('>')?;
    (!name.is_empty() && name.len() <= MAX_LEAD && name.chars().all(is_name)).then_some(after)
}

fn without_comment(text: &str) -> Option<&str> {
    if text.starts_with("//") {
        return Some(text.split_once('\n').map_or("", |(_, after)| after));
    }
    let (_, after) = text.strip_prefix("/*")?.split_once("*/")?;
    Some(after)
}
