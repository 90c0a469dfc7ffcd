//! `edit_file`: one replacement in a text file.

use super::files::edits::{self, Applied, Edit};
use super::files::resolve;
use super::files::rewrite::{objection, preview, rewrite};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy)]
pub struct EditFile;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    #[serde(flatten)]
    edit: Edit,
}

impl Typed for EditFile {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "edit_file";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .result(ResultForm::Edit)
        .aliases(&["edit"])
        .common_name("Edit")
        .marks(&[ToolMark::OncePerAnswer]);
    const PROSE: &'static str = include_str!("edit_file.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let Args { path, edit } = args;
        edits::check(&edit)?;
        let shown = path.clone();
        let done = rewrite(&cx, &path, move |content| {
            let (content, mut applied) =
                edits::apply(content, &[edit], &shown).map_err(|(_, e)| e)?;
            Ok((content, applied.pop()))
        })
        .await?;
        let mut data = done.data();
        if let (Some(data), Some(Value::Object(told))) =
            (data.as_object_mut(), done.told.as_ref().map(Applied::data))
        {
            data.extend(told);
        }
        Ok(data.into())
    }

    async fn preview(&self, args: Args, cx: Context<FileServices>) -> Option<String> {
        let Args { path, edit } = args;
        edits::check(&edit).ok()?;
        let shown = path.clone();
        preview(&cx, &path, move |content| {
            let done = edits::apply(content, &[edit], &shown);
            done.map(|(new, _)| new).map_err(|(_, e)| e)
        })
        .await
    }

    async fn objection(&self, args: Args, cx: Context<FileServices>) -> Option<ToolError> {
        let Args { path, edit } = args;
        if let Err(error) = edits::check(&edit) {
            return Some(error);
        }
        let shown = path.clone();
        objection(&cx, &path, move |content| {
            let done = edits::apply(content, &[edit], &shown);
            done.map(|(new, _)| new).map_err(|(_, e)| e)
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        let mut text = edits::rendered(data);
        edits::note_change(data, &mut text);
        text.into()
    }
}

#[cfg(all(test, unix))]
mod tests;
