//! The walk that `ls`, `glob` and `grep` share: hidden files yes, `.git` and ignored ones no, symlinks not followed.

use crate::tool::{Scope, ToolError};
use ignore::{DirEntry, WalkBuilder};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Entries looked at in one call; a tree beyond that is walked in parts.
pub const MAX_WALKED: usize = 300_000;

pub fn builder(base: &Path, scope: &Scope) -> WalkBuilder {
    let in_repository = base.ancestors().any(|dir| dir.join(".git").exists());
    let mut builder = WalkBuilder::new(base);
    builder
        .hidden(false)
        // It would read the person's home; what the repository says is enough.
        .git_global(false)
        .current_dir(&scope.root)
        // Outside of a repository `.gitignore` counts too, from the root down.
        .require_git(in_repository)
        .parents(in_repository || base != scope.root)
        .filter_entry(is_wanted);
    builder
}

/// Whether to look at an entry at all. What a call names itself always is.
pub fn is_wanted(entry: &DirEntry) -> bool {
    entry.depth() == 0 || entry.file_name() != ".git"
}

/// The folder or file a call is about; the root when it names none.
pub fn base(path: Option<&str>, scope: &Scope) -> PathBuf {
    scope.path(path.unwrap_or_default())
}

/// Runs blocking work that looks at `cancel` now and then.
pub async fn blocking<T: Send + 'static>(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let seen = cancel.clone();
    let task = tokio::task::spawn_blocking(move || work(&seen));
    tokio::select! {
        () = cancel.cancelled() => Err(interrupted()),
        done = task => done.unwrap_or_else(|e| Err(ToolError::new("read_error", format!("The search failed: {e}.")))),
    }
}

pub fn interrupted() -> ToolError {
    ToolError::new("interrupted", "Interrupted.")
}

/// Stops a walk on a path that cannot be walked.
pub fn exists(base: &Path, scope: &Scope) -> Result<std::fs::Metadata, ToolError> {
    std::fs::metadata(base).map_err(|e| {
        let shown = scope.shown(base);
        match e.kind() {
            std::io::ErrorKind::NotFound => {
                ToolError::new("not_found", format!("{shown} does not exist."))
            }
            std::io::ErrorKind::PermissionDenied => {
                ToolError::new("forbidden", format!("{shown} may not be read."))
            }
            _ => ToolError::new("read_error", format!("{shown} cannot be read: {e}.")),
        }
    })
}
