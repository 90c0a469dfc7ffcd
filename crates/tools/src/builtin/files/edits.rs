//! One or more replacements in a text, each seeing the one before, all or none. Pure.

use super::diff;
use super::nearest;
use super::replace::{Match, Miss, Replaced, Replacement, replace};
use crate::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes of all diffs of one call.
const MAX_DIFF: usize = 16 * 1024;
pub const MAX_EDITS: usize = 500;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Edit {
    pub old: String,
    pub new: String,
    #[serde(default)]
    #[schemars(with = "usize", default = "once")]
    pub expected_replacements: Option<usize>,
    /// What some models were taught to write for "as often as it occurs".
    #[serde(default)]
    #[schemars(skip)]
    pub replace_all: Option<bool>,
}

pub fn once() -> usize {
    1
}

/// What one edit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub replacements: usize,
    pub found: Match,
    pub diff: String,
}

impl Applied {
    pub fn data(&self) -> Value {
        json!({"replacements": self.replacements, "match": self.found.name(), "diff": self.diff})
    }
}

/// Refuses what no file could make right.
pub fn check(edit: &Edit) -> Result<(), ToolError> {
    let problem = if edit.old.is_empty() {
        "`old` is empty. To make a file or replace all of it use write_file."
    } else if edit.old == edit.new {
        "`old` and `new` are the same."
    } else if edit.expected_replacements == Some(0) {
        "expected_replacements must be at least 1."
    } else if edit.replace_all == Some(false) && edit.expected_replacements.is_some_and(|n| n > 1) {
        "replace_all is false, and expected_replacements is more than 1. Send one of them."
    } else {
        return Ok(());
    };
    Err(ToolError::new("invalid_input", problem))
}

/// The new text and what each edit did; the error comes with the index of the edit that failed.
pub fn apply(
    content: &str,
    edits: &[Edit],
    shown: &str,
) -> Result<(String, Vec<Applied>), (usize, ToolError)> {
    let mut current = content.to_owned();
    let mut applied = Vec::with_capacity(edits.len());
    let mut room = MAX_DIFF;
    for (at, edit) in edits.iter().enumerate() {
        let attempt = |expected: usize| {
            let wanted = Replacement {
                old: &edit.old,
                new: &edit.new,
                expected,
            };
            replace(&current, wanted)
        };
        // A number that was sent counts, whatever stands beside it.
        let takes_all = edit.replace_all == Some(true) && edit.expected_replacements.is_none();
        let done = match attempt(edit.expected_replacements.unwrap_or_else(once)) {
            Err(Miss::Count { found, .. }) if takes_all => attempt(found),
            done => done,
        };
        let Replaced {
            content,
            replacements,
            found,
        } = done.map_err(|miss| (at, explain(&current, edit, &miss, shown)))?;
        let diff = diff::unified(&current, &content, room);
        room = room.saturating_sub(diff.len());
        applied.push(Applied {
            replacements,
            found,
            diff,
        });
        current = content;
    }
    Ok((current, applied))
}

fn explain(content: &str, edit: &Edit, miss: &Miss, shown: &str) -> ToolError {
    match miss {
        Miss::Count { found, lines } => {
            let listed: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *found > lines.len() { " …" } else { "" };
            let (times, on) = if *found == 1 {
                ("time", "line")
            } else {
                ("times", "lines")
            };
            ToolError::new(
                "replacement_count_mismatch",
                format!(
                    "`old` occurs {found} {times} in {shown} ({on} {}{more}), expected {}. Add lines around it to `old`, or set expected_replacements.",
                    listed.join(", "),
                    edit.expected_replacements.unwrap_or_else(once),
                ),
            )
        }
        Miss::Overlap {
            lines: [one, other],
        } => ToolError::new(
            "replacement_count_mismatch",
            format!(
                "`old` occurs in {shown} at places that overlap (from lines {one} and {other}), so it is not clear which one is meant. Add lines around it to `old`."
            ),
        ),
        Miss::Unclear { line } => ToolError::new(
            "invalid_input",
            format!(
                "`old` begins within the indentation of line {line} in {shown}, so it is not clear how far the further lines of `new` are meant to be indented. Send `old` and `new` with the whole indentation."
            ),
        ),
        Miss::NotFound => {
            if let Some(told) = nearest::only_blanks(content, &edit.old) {
                let message = format!(
                    "`old` is not in {shown} as it is written; only blanks differ{told}\nCopy `old` exactly, white space included."
                );
                return ToolError::new("old_not_found", message);
            }
            let near = nearest::lines(content, &edit.old);
            let message = match near.is_empty() {
                true => {
                    format!("`old` is not in {shown}, nor anything like it. Read the file again.")
                }
                false => format!(
                    "`old` is not in {shown}. Nearest lines:{near}\nCopy `old` exactly, white space included."
                ),
            };
            ToolError::new("old_not_found", message)
        }
    }
}

/// What the model reads of one edit. It wrote the change itself, so only a place it did not name exactly is shown.
pub fn rendered(data: &Value) -> String {
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let count = match data.get("replacements").and_then(Value::as_u64) {
        Some(1) | None => "1 replacement".to_owned(),
        Some(n) => format!("{n} replacements"),
    };
    match text("match") {
        "exact" | "line-endings" => format!("{count}."),
        other => {
            let other = other.replace('-', " ");
            format!("{count}, matched up to {other}:\n{}", text("diff"))
        }
    }
}

/// A word about a file that was not as the session had seen it.
pub fn note_change(data: &Value, text: &mut String) {
    if data.get("changed_since_read").and_then(Value::as_bool) == Some(true) {
        text.push_str("\nThe file had changed since it was read; other parts of it may differ from what you know.");
    }
}
