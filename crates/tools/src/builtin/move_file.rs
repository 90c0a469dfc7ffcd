//! `move_file`: a file or folder under a new path, never silently over another one.

use super::files::{Fault, answered, resolve};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::{Error, RenameOptions};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolFact, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy)]
pub struct MoveFile;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    source_path: String,
    destination_path: String,
    #[serde(default)]
    overwrite: Option<bool>,
}

impl Args {
    fn paths(&self, scope: &Scope) -> Result<(PathBuf, PathBuf), ToolError> {
        let from = resolve(scope, &self.source_path)?;
        let to = resolve(scope, &self.destination_path)?;
        // `dir/` means into that folder.
        match from.file_name() {
            Some(name) if self.destination_path.ends_with('/') => Ok((from.clone(), to.join(name))),
            Some(_) | None => Ok((from, to)),
        }
    }
}

impl Typed for MoveFile {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "move_file";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .verb(CallVerb::Move)
        .result(ResultForm::Nothing)
        .question(Word::WantsToMove)
        .common_name("Edit")
        .fact(ToolFact::FileMoved)
        .marks(&[ToolMark::Deferred, ToolMark::OncePerAnswer]);
    const PROSE: &'static str = include_str!("move_file.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        let (from, to) = args.paths(scope)?;
        Ok(vec![Access::Write(from), Access::Write(to)])
    }

    fn subject(args: &Args) -> Subject {
        format!("{} → {}", args.source_path, args.destination_path).into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let (from, to) = args.paths(&cx.scope)?;
        check(&cx, &from, &to).await?;
        let options = RenameOptions {
            roots: cx.guard.roots(&cx.services.settings.writable),
            create_parents: true,
            overwrite: args.overwrite.unwrap_or(false),
        };
        let renamed = match answered(cx.host.rename(&from, &to, options)).await {
            Ok(renamed) => renamed,
            Err(fault) => return Err(tell(&cx, &to, fault)),
        };
        if let Some(known) = cx.services.seen.known(&renamed.from) {
            cx.services.seen.note(&renamed.to, &known);
            cx.services.seen.forget(&renamed.from);
        }
        let data = json!({
            "source_path": cx.scope.named(&renamed.from).display().to_string(),
            "destination_path": cx.scope.named(&renamed.to).display().to_string(),
            "overwrote": renamed.overwrote,
        });
        Ok(data.into())
    }

    fn render(data: &Value) -> Rendered {
        let text = match data.get("overwrote").and_then(Value::as_bool) {
            Some(true) => "Moved; the file that was there is gone.",
            Some(false) | None => "Moved.",
        };
        text.to_owned().into()
    }
}

/// Refuses before folders are made what could not end well.
async fn check(cx: &Context<FileServices>, from: &Path, to: &Path) -> Result<(), ToolError> {
    let invalid = |message: String| Err(ToolError::new("invalid_input", message));
    let (source, target) = match (place(cx, from).await, place(cx, to).await) {
        (Ok(source), Ok(target)) => (source, target),
        (Err(fault), _) => return Err(tell(cx, from, fault)),
        (_, Err(fault)) => return Err(tell(cx, to, fault)),
    };
    if let Some(hidden) = hidden_in(cx, &source) {
        let message = format!(
            "{} cannot be moved: {} may not be read, and would be found under another name.",
            cx.scope.shown(from),
            cx.scope.shown(hidden)
        );
        return Err(ToolError::new("forbidden", message));
    }
    if source == target {
        return invalid("Source and destination are the same path.".into());
    }
    if target.starts_with(&source) {
        return invalid(format!(
            "{} cannot be moved into itself.",
            cx.scope.shown(from)
        ));
    }
    Ok(())
}

/// A path that may not be read, if it lies in what is moved or the other way round: bans and mounts know it by its name.
fn hidden_in<'a>(cx: &'a Context<FileServices>, source: &Path) -> Option<&'a Path> {
    let policy = &cx.guard.policy;
    let commands = &cx.services.hidden;
    let mut hidden = (policy.folders.forbidden.iter())
        .chain(&policy.sealed)
        .chain(commands.iter());
    hidden
        .find(|path| path.starts_with(source) || source.starts_with(path))
        .map(PathBuf::as_path)
}

/// The path of the thing itself: its folder free of symlinks, its own name not followed.
async fn place(cx: &Context<FileServices>, path: &Path) -> Result<PathBuf, Fault> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(answered(cx.host.stat(parent)).await?.path.join(name)),
        (Some(_) | None, _) => Ok(path.to_owned()),
    }
}

fn tell(cx: &Context<FileServices>, path: &Path, fault: Fault) -> ToolError {
    match fault {
        Fault::Host(error @ Error::Exists { .. }) => {
            let message = format!(
                "{} already exists. Choose another name, or pass overwrite.",
                cx.scope.shown(path)
            );
            ToolError::new(error.code(), message)
        }
        Fault::Host(error) => ToolError::new(error.code(), format!("{error}.")),
        Fault::Timeout => ToolError::new("timeout", "The file system did not answer in time."),
        Fault::Interrupted => ToolError::new("interrupted", "Interrupted."),
    }
}

#[cfg(all(test, unix))]
mod tests;
