//! `write_file`: a whole file at once. It keeps the encoding of the file it replaces where that can say the new text, and
//! does not overwrite a state that this session never saw.

use super::files::scan::{Need, scan};
use super::files::{Fault, Faults, read, resolve, rewrite};
use super::text::{self, Coding};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::Span;
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Copy)]
pub struct WriteFile;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    content: String,
}

impl Typed for WriteFile {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "write_file";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .verb(CallVerb::Write)
        .result(ResultForm::WholeFile)
        .question(Word::WantsToWrite)
        .aliases(&["write"])
        .common_name("Write")
        .marks(&[ToolMark::ReplacesWhole, ToolMark::OncePerAnswer]);
    const PROSE: &'static str = include_str!("write_file.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        if args.path.ends_with('/') {
            return Err(ToolError::new(
                "invalid_input",
                "The path ends with a slash; name a file.",
            ));
        }
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let path = resolve(&cx.scope, &args.path)?;
        let Old { coding, text } = replaced(&cx, &path).await?;
        // For the person: what of the file is really new.
        let diff = match text.filter(|_| cx.guard.reads(&path)) {
            Some(old) => rewrite::difference(old, args.content.clone()).await,
            None => None,
        };
        let (bytes, coding) = match text::encode(&args.content, coding) {
            Ok(bytes) => (bytes, coding),
            // All of the file is replaced, so a new encoding damages nothing.
            Err(_) => (args.content.into_bytes(), Coding::UTF8),
        };
        let len = bytes.len();
        let (written, hash) = rewrite::write(&cx, &path, bytes, Faults::Write).await?;
        let mut data = json!({
            "path": cx.scope.named(&written.path).display().to_string(),
            "bytes": len,
            "created": written.created,
            "hash": hash,
        });
        if let Some(label) = coding.label() {
            data["encoding"] = label.into();
        }
        if let Some(diff) = diff.filter(|_| !written.created) {
            data["diff"] = diff.into();
        }
        Ok(data.into())
    }

    async fn preview(&self, args: Args, cx: Context<FileServices>) -> Option<String> {
        let Args { path, content } = args;
        let new = content.clone();
        match rewrite::preview(&cx, &path, move |_| Ok(new)).await {
            Some(diff) => Some(diff),
            None => Some(rewrite::preview_new(&content)),
        }
    }

    fn render(data: &Value) -> Rendered {
        let bytes = data
            .get("bytes")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let done = match data.get("created").and_then(Value::as_bool) {
            Some(true) => "Created",
            Some(false) | None => "Overwrote",
        };
        match data.get("encoding").and_then(Value::as_str) {
            Some(label) => format!("{done}, {bytes} bytes in {label}.").into(),
            None => format!("{done}, {bytes} bytes.").into(),
        }
    }
}

/// What is there before the writing.
struct Old {
    coding: Coding,
    /// Where it is text.
    text: Option<String>,
}

impl Old {
    const NOTHING: Self = Self {
        coding: Coding::UTF8,
        text: None,
    };
}

/// The file that is there, unless the session has seen another state of it.
async fn replaced(cx: &Context<FileServices>, path: &Path) -> Result<Old, ToolError> {
    let failed = async |fault| Err(Faults::Write.tell(cx, path, fault).await);
    let old = match read(cx, path, Span::head(rewrite::MAX_BYTES)).await {
        Ok(old) => old,
        // What is wrong with the path is told by the writing itself.
        Err(Fault::Host(_)) => return Ok(Old::NOTHING),
        Err(fault @ (Fault::Timeout | Fault::Interrupted)) => return failed(fault).await,
    };
    if let Some(known) = cx.services.seen.known(&old.stat.path) {
        let now = match scan(cx, path, &old, |_| Need::Nothing).await {
            Ok(now) => now,
            Err(fault) => return failed(fault).await,
        };
        if now.as_ref() != Some(&known) {
            let shown = cx.scope.shown(path);
            let message = format!(
                "{shown} has changed since it was read. Read it again, then write or edit."
            );
            return Err(ToolError::new("stale", message));
        }
    }
    if old.truncated {
        return Ok(Old::NOTHING);
    }
    let Ok(text) = text::decode(&old.bytes) else {
        return Ok(Old::NOTHING);
    };
    let coding = match text.coding {
        // Stray bytes go with the text they were in.
        Coding::Damaged { bom } => Coding::Utf8 { bom },
        Coding::Legacy(_) if !text.faithful => Coding::UTF8,
        coding @ (Coding::Utf8 { .. } | Coding::Utf16 { .. } | Coding::Legacy(_)) => coding,
    };
    Ok(Old {
        coding,
        text: Some(text.content),
    })
}

#[cfg(all(test, unix))]
mod tests;
