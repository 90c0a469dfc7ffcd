//! What `ls`, `glob` and `grep` share: they search where the project lies, by `Host::search`.

use crate::tool::{Context, Scope, ToolError};
use ostler_guard::shell::is_listed;
use ostler_host::Error;
use ostler_host::search::{Found, Search, Tree};
use ostler_wire::Access;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Bytes of a pattern; longer ones are lists, which belong into several calls.
const MAX_PATTERN: usize = 8 * 1024;

/// Refuses a pattern that is too long to be one.
pub fn check_pattern(pattern: &str) -> Result<(), ToolError> {
    if pattern.len() <= MAX_PATTERN {
        return Ok(());
    }
    let message = format!(
        "The pattern has {} bytes; at most {MAX_PATTERN} are taken. Use a shorter one, or several calls.",
        pattern.len()
    );
    Err(ToolError::new("invalid_input", message))
}

/// Refuses a pattern that is no glob.
pub fn glob(pattern: &str) -> Result<(), ToolError> {
    check_pattern(pattern)?;
    let made = ostler_host::search::glob(pattern);
    made.map(drop)
        .map_err(|why| ToolError::new("invalid_input", why))
}

/// A name that stays on its line: one with line breaks or other control characters is quoted as in JSON.
pub fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => serde_json::Value::from(name).to_string().into(),
        false => name.into(),
    }
}

/// Names as the model reads them.
pub fn lines(names: &serde_json::Value) -> Vec<Cow<'_, str>> {
    let names = names.as_array().into_iter().flatten();
    names.filter_map(|n| n.as_str()).map(one_line).collect()
}

/// What a call reads that goes through a tree. Of some folders of the system anybody may see the names, and not more: so
/// where the base leads is part of what the call reads. Which folder is opened in the end is judged again then.
pub fn read_tree(base: PathBuf) -> Access {
    let leads_to_names = is_listed(&base) || is_listed(&ostler_host::real_path(&base));
    Access::Read(match leads_to_names {
        true => base.join("**"),
        false => base,
    })
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

/// The folder or file to search, with what this call may see of it.
pub fn tree<S>(base: PathBuf, cx: &Context<S>) -> Tree {
    Tree {
        base,
        root: cx.scope.root.clone(),
        temp: cx.scope.temp.clone(),
        border: cx.guard.border.clone(),
    }
}

/// Why a search gave nothing.
pub enum Stopped {
    Interrupted,
    Failed(Error),
}

impl Stopped {
    /// In the words of the model, for a search of this base.
    pub fn of(self, base: &Path, scope: &Scope) -> ToolError {
        let shown = scope.shown(base);
        match self {
            Self::Interrupted => interrupted(),
            Self::Failed(Error::NotFound { .. }) => {
                ToolError::new("not_found", format!("{shown} does not exist."))
            }
            Self::Failed(Error::Forbidden { .. }) => {
                ToolError::new("forbidden", format!("{shown} may not be read."))
            }
            Self::Failed(
                refused @ (Error::Withheld { .. }
                | Error::Beyond { .. }
                | Error::Unreachable { .. }),
            ) => ToolError::new(refused.code(), format!("{refused}.")),
            Self::Failed(other) => {
                ToolError::new("read_error", format!("{shown} cannot be read: {other}."))
            }
        }
    }
}

/// Searches where the project lies, until the call is interrupted.
pub async fn search<S>(cx: Context<S>, search: Search) -> Result<Found, Stopped> {
    tokio::select! {
        () = cx.cancel.cancelled() => Err(Stopped::Interrupted),
        found = cx.host.search(search) => found.map_err(Stopped::Failed),
    }
}

/// A host that gives another answer than was asked for.
pub fn other_answer() -> ToolError {
    ToolError::new(
        "read_error",
        "The search gave another answer than was asked for.",
    )
}
