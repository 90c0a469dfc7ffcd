//! `multi_edit`: several replacements in one file, all or none, each seeing the one before.

use super::files::edits::{self, Applied, Edit, MAX_EDITS};
use super::files::resolve;
use super::files::rewrite::{objection, preview, rewrite};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy)]
pub struct MultiEdit;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    edits: Vec<Edit>,
}

impl Typed for MultiEdit {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "multi_edit";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .result(ResultForm::Edit)
        .aliases(&["multiedit"])
        .common_name("MultiEdit")
        .marks(&[ToolMark::OncePerAnswer]);
    const PROSE: &'static str = include_str!("multi_edit.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let Args { path, edits } = args;
        if edits.is_empty() || edits.len() > MAX_EDITS {
            let message = format!("Give 1 to {MAX_EDITS} edits; there are {}.", edits.len());
            return Err(ToolError::new("invalid_input", message));
        }
        for (at, edit) in edits.iter().enumerate() {
            edits::check(edit).map_err(|e| at_edit(at, e))?;
        }
        let shown = path.clone();
        let done = rewrite(&cx, &path, move |content| {
            edits::apply(content, &edits, &shown).map_err(|(at, e)| at_edit(at, e))
        })
        .await?;
        let mut data = done.data();
        data["edits"] = done.told.iter().map(Applied::data).collect();
        Ok(data.into())
    }

    async fn preview(&self, args: Args, cx: Context<FileServices>) -> Option<String> {
        let Args { path, edits } = args;
        if edits.len() > MAX_EDITS || edits.iter().any(|edit| edits::check(edit).is_err()) {
            return None;
        }
        let shown = path.clone();
        preview(&cx, &path, move |content| {
            let done = edits::apply(content, &edits, &shown);
            done.map(|(new, _)| new).map_err(|(_, e)| e)
        })
        .await
    }

    async fn objection(&self, args: Args, cx: Context<FileServices>) -> Option<ToolError> {
        let Args { path, edits } = args;
        for (at, edit) in edits.iter().enumerate() {
            if let Err(error) = edits::check(edit) {
                return Some(at_edit(at, error));
            }
        }
        let shown = path.clone();
        objection(&cx, &path, move |content| {
            let done = edits::apply(content, &edits, &shown);
            done.map(|(new, _)| new).map_err(|(at, e)| at_edit(at, e))
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        let edits = data
            .get("edits")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut text = match edits.len() {
            1 => "1 edit done.".to_owned(),
            n => format!("{n} edits done."),
        };
        for (at, edit) in edits.iter().enumerate() {
            let found = edit.get("match").and_then(Value::as_str);
            if !matches!(found, Some("exact" | "line-endings")) {
                text.push_str(&format!("\nedits[{at}]: {}", edits::rendered(edit)));
            }
        }
        edits::note_change(data, &mut text);
        text.into()
    }
}

fn at_edit(at: usize, error: ToolError) -> ToolError {
    ToolError::new(
        error.code,
        format!("edits[{at}]: {} No edit was made.", error.message),
    )
}

#[cfg(test)]
mod tests;
