//! `delete_range`: whole lines between two lines that are named by their text.

use super::files::rewrite::{objection, preview, rewrite};
use super::files::{diff, edits, nearest, resolve};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

const MAX_DIFF: usize = 16 * 1024;
/// Line numbers listed when an anchor is not unique.
const MAX_LISTED: usize = 10;

#[derive(Clone, Copy)]
pub struct DeleteRange;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    start_anchor: String,
    end_anchor: String,
}

impl Typed for DeleteRange {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "delete_range";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .result(ResultForm::Edit)
        .common_name("Edit")
        .marks(&[ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("delete_range.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let Args {
            path,
            start_anchor,
            end_anchor,
        } = args;
        let done = rewrite(&cx, &path, move |content| {
            let (new, lines) = delete(content, &start_anchor, &end_anchor)?;
            let diff = diff::unified(content, &new, MAX_DIFF);
            Ok((new, (lines, diff)))
        })
        .await?;
        let mut data = done.data();
        let (lines, diff) = done.told;
        data["lines"] = lines.into();
        data["diff"] = diff.into();
        Ok(data.into())
    }

    async fn preview(&self, args: Args, cx: Context<FileServices>) -> Option<String> {
        let change = args.change();
        preview(&cx, &args.path, change).await
    }

    async fn objection(&self, args: Args, cx: Context<FileServices>) -> Option<ToolError> {
        let change = args.change();
        objection(&cx, &args.path, change).await
    }

    fn render(data: &Value) -> Rendered {
        let mut text = match data.get("lines").and_then(Value::as_u64) {
            Some(1) | None => "Deleted 1 line.".to_owned(),
            Some(lines) => format!("Deleted {lines} lines."),
        };
        edits::note_change(data, &mut text);
        text.into()
    }
}

impl Args {
    /// The text without the range.
    fn change(&self) -> impl FnOnce(&str) -> Result<String, ToolError> + Send + 'static {
        let (start, end) = (self.start_anchor.clone(), self.end_anchor.clone());
        move |content| delete(content, &start, &end).map(|(new, _)| new)
    }
}

/// The text without the range, and how many lines that were.
fn delete(content: &str, start: &str, end: &str) -> Result<(String, usize), ToolError> {
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let first = locate(content, &lines, start, "start_anchor")?;
    let last = locate(content, &lines, end, "end_anchor")?;
    if first > last {
        let message = format!(
            "start_anchor is on line {}, after end_anchor on line {}. Swap them.",
            first + 1,
            last + 1
        );
        return Err(ToolError::new("invalid_input", message));
    }
    let mut kept: String = lines.iter().take(first).copied().collect();
    if last + 1 == lines.len() && !content.ends_with('\n') {
        // The file had no final line ending before and has none after.
        kept.truncate(
            kept.strip_suffix('\n')
                .map_or(kept.len(), |k| k.strip_suffix('\r').unwrap_or(k).len()),
        );
    }
    kept.extend(lines.iter().skip(last + 1).copied());
    Ok((kept, last - first + 1))
}

/// The index of the only line that reads like the anchor; white space around it counts only where it has to.
fn locate(content: &str, lines: &[&str], anchor: &str, name: &str) -> Result<usize, ToolError> {
    let anchor = plain(anchor);
    if anchor.trim().is_empty() || anchor.contains('\n') {
        let message = format!("{name} must be the text of one line that is not blank.");
        return Err(ToolError::new("invalid_input", message));
    }
    let all = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| same(plain(line)))
            .map(|(at, _)| at)
            .collect()
    };
    let mut found = all(&|line| line == anchor);
    if found.is_empty() {
        found = all(&|line| line.trim() == anchor.trim());
    }
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            let near = nearest::lines(content, anchor);
            let near = if near.is_empty() {
                String::new()
            } else {
                format!(" Nearest:{near}")
            };
            Err(ToolError::new(
                "anchor_not_found",
                format!("No line is {name}.{near}"),
            ))
        }
        many => {
            let listed: Vec<String> = many
                .iter()
                .take(MAX_LISTED)
                .map(|at| (at + 1).to_string())
                .collect();
            let more = if many.len() > MAX_LISTED { " …" } else { "" };
            let message = format!(
                "{name} matches {} lines ({}{more}); it must match one. Choose another line, or use edit_file.",
                many.len(),
                listed.join(", ")
            );
            Err(ToolError::new("anchor_not_unique", message))
        }
    }
}

fn plain(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests;
