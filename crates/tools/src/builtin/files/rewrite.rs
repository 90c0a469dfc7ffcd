//! Changing the text of a file that exists: its encoding, byte order mark and every byte that is not meant stay.

use super::{Faults, compute, diff, read, resolve};
use crate::builtin::text::{self, Binary, Coding, Unencodable};
use crate::seen::Seen;
use crate::tool::{Context, FileServices, ToolError};
use bytes::Bytes;
use ostler_host::{Span, WriteOptions, Written};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Larger files are for other programs.
pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Files up to this size are looked at for a diff beforehand.
const MAX_PREVIEWED: u64 = 1024 * 1024;
/// The code of an error about a path that leads to no file.
const NOT_THERE: &str = "path_error";
/// Bytes of a diff that goes with a result.
const MAX_DIFFERENCE: usize = 16 * 1024;

#[derive(Debug)]
pub struct Rewritten<T> {
    pub path: PathBuf,
    pub hash: String,
    /// The session had seen the file in another state than it was found in.
    pub changed_since_read: bool,
    /// What the change itself had to tell.
    pub told: T,
}

impl<T> Rewritten<T> {
    /// The fields that every changed file has in its envelope.
    pub fn data(&self) -> Value {
        let mut data = json!({"path": self.path.display().to_string(), "hash": self.hash});
        if self.changed_since_read {
            data["changed_since_read"] = true.into();
        }
        data
    }
}

/// Applies `change`, a pure function of the decoded text, and writes the result.
pub async fn rewrite<T: Send + 'static>(
    cx: &Context<FileServices>,
    path: &str,
    change: impl FnOnce(&str) -> Result<(String, T), ToolError> + Send + 'static,
) -> Result<Rewritten<T>, ToolError> {
    let path = resolve(&cx.scope, path)?;
    let shown = cx.scope.shown(&path);
    let content = match read(cx, &path, Span::head(MAX_BYTES)).await {
        Ok(content) => content,
        Err(fault) => return Err(Faults::Edit.tell(cx, &path, fault).await),
    };
    if content.truncated {
        let message = format!(
            "{shown} is larger than {MAX_BYTES} bytes. Change it with a program, through bash."
        );
        return Err(ToolError::new("read_error", message));
    }
    let known = cx.services.seen.known(&content.stat.path);
    let bytes = content.bytes;
    let (new, changed_since_read, told) = compute(bytes.len(), move || {
        let changed_since_read = known.is_some_and(|known| known != Seen::hash(&bytes));
        let (new, told) = changed(&bytes, &shown, change)?;
        Ok((new, changed_since_read, told))
    })
    .await?;
    if cx.cancel.is_cancelled() {
        return Err(ToolError::new(
            "interrupted",
            "Interrupted; nothing was written.",
        ));
    }
    let (written, hash) = write(cx, &path, new, Faults::Edit).await?;
    Ok(Rewritten {
        path: written.path,
        hash,
        changed_since_read,
        told,
    })
}

/// The diff that `change` would make. Nothing is written, and what would fail has none.
pub async fn preview(
    cx: &Context<FileServices>,
    path: &str,
    change: impl FnOnce(&str) -> Result<String, ToolError> + Send + 'static,
) -> Option<String> {
    attempt(cx, path, change).await?.ok()
}

/// Why `change` cannot be made, so that nobody is asked about it. Nothing is said of a file that may not be read unasked.
pub async fn objection(
    cx: &Context<FileServices>,
    path: &str,
    change: impl FnOnce(&str) -> Result<String, ToolError> + Send + 'static,
) -> Option<ToolError> {
    attempt(cx, path, change).await?.err()
}

/// What would come of a change; none where that cannot be known beforehand.
async fn attempt(
    cx: &Context<FileServices>,
    path: &str,
    change: impl FnOnce(&str) -> Result<String, ToolError> + Send + 'static,
) -> Option<Result<String, ToolError>> {
    let path = resolve(&cx.scope, path).ok()?;
    // What has to be asked for before it is read is not shown either.
    cx.guard.reads(&path).then_some(())?;
    let content = match read(cx, &path, Span::head(MAX_PREVIEWED)).await {
        Ok(content) => content,
        Err(fault) => {
            let error = Faults::Edit.tell(cx, &path, fault).await;
            return (error.code == NOT_THERE).then_some(Err(error));
        }
    };
    let bytes = (!content.truncated).then_some(content.bytes)?;
    let shown = cx.scope.shown(&path);
    let made = compute(bytes.len(), move || {
        let mut diff = String::new();
        changed(&bytes, &shown, |old| {
            let new = change(old)?;
            diff = diff::whole(old, &new);
            Ok((new, ()))
        })?;
        Ok(diff)
    });
    Some(made.await)
}

/// What differs between two texts, where neither is too large to be compared.
pub async fn difference(old: String, new: String) -> Option<String> {
    let bytes = old.len() + new.len();
    (bytes as u64 <= 2 * MAX_PREVIEWED).then_some(())?;
    let diff = move || Ok(diff::unified(&old, &new, MAX_DIFFERENCE));
    compute(bytes, diff).await.ok()
}

/// The same for a file that is made.
pub fn preview_new(content: &str) -> String {
    diff::whole("", content)
}

/// Writes within the writable roots and remembers the hash of what is there now.
pub async fn write(
    cx: &Context<FileServices>,
    path: &Path,
    new: Vec<u8>,
    faults: Faults,
) -> Result<(Written, String), ToolError> {
    let options = WriteOptions {
        roots: cx.guard.roots(&cx.services.settings.writable),
        create_parents: faults == Faults::Write,
    };
    let hash = Seen::hash(&new);
    match super::answered(cx.host.write(path, Bytes::from(new), options)).await {
        Ok(written) => {
            cx.services.seen.note(&written.path, &hash);
            Ok((written, hash))
        }
        Err(fault) => Err(faults.tell(cx, path, fault).await),
    }
}

fn changed<T>(
    bytes: &[u8],
    shown: &str,
    change: impl FnOnce(&str) -> Result<(String, T), ToolError>,
) -> Result<(Vec<u8>, T), ToolError> {
    let text = text::decode(bytes).map_err(|Binary { kind }| {
        let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
        ToolError::new(
            "read_error",
            format!("{shown} is a binary file{kind}. Change it with a program, through bash."),
        )
    })?;
    if !text.faithful {
        let label = text.coding.label().unwrap_or("UTF-8");
        let message = format!(
            "{shown} looks like {label}, but not all of its bytes are. An edit would damage it. Use a program, through bash."
        );
        return Err(ToolError::new("read_error", message));
    }
    let (content, told) = change(&text.content)?;
    let bytes = encode(&content, text.coding, shown)?;
    Ok((bytes, told))
}

fn encode(content: &str, coding: Coding, shown: &str) -> Result<Vec<u8>, ToolError> {
    text::encode(content, coding).map_err(|Unencodable(c)| {
        let label = coding.label().unwrap_or("UTF-8");
        ToolError::new(
            "write_error",
            format!("{shown} is encoded in {label}, which has no `{c}`. Nothing was written. Use other characters, or convert the file first."),
        )
    })
}
