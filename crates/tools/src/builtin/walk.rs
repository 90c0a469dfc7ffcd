//! The walk that `ls`, `glob` and `grep` share: hidden files yes, `.git` and ignored ones no, symlinks not followed.

use super::ignored::Ignored;
use crate::tool::{Scope, ToolError};
use globset::{GlobBuilder, GlobSet};
use ignore::{DirEntry, WalkBuilder};
use ostler_guard::Guard;
use ostler_guard::shell::is_listed;
use ostler_host::{Error, Kind};
use ostler_wire::Access;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Entries looked at in one call; a tree beyond that is walked in parts.
pub const MAX_WALKED: usize = 300_000;

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

/// Paths by pattern. A set of one, because making a set can fail where making a single matcher panics.
pub fn glob(pattern: &str) -> Result<GlobSet, ToolError> {
    check_pattern(pattern)?;
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.and_then(|glob| GlobSet::builder().add(glob).build())
        .map_err(|e| {
            ToolError::new(
                "invalid_input",
                format!("`{pattern}` is not a glob: {}.", e.kind()),
            )
        })
}

/// Folders that the rules shut are not entered, nor is anything with one of these names. What counts is where the base
/// really lies, whatever it is called.
pub fn builder(base: &Path, guard: &Guard, skipped: &'static [&str]) -> WalkBuilder {
    builder_to(base, usize::MAX, guard, skipped)
}

/// The same down to a level.
pub fn builder_to(
    base: &Path,
    levels: usize,
    guard: &Guard,
    skipped: &'static [&str],
) -> WalkBuilder {
    let (scope, guard) = (guard.scope.clone(), guard.clone());
    let ignored = Ignored::new(base, &scope.root);
    let (named, real) = (base.to_owned(), ostler_host::real_path(base));
    let mut builder = WalkBuilder::new(base);
    builder
        // The library would open ignore files whatever they are: `Ignored` reads them.
        .standard_filters(false)
        .max_depth(Some(levels))
        .current_dir(&scope.root)
        .filter_entry(move |entry| {
            let is_skipped = || skipped.iter().any(|name| entry.file_name() == *name);
            entry.depth() == 0
                || is_wanted(
                    entry,
                    &place_of(entry.path(), &named, &real),
                    &guard,
                    levels,
                ) && !is_skipped()
                    && !is_ignored(entry, &ignored)
        });
    builder
}

fn is_ignored(entry: &DirEntry, ignored: &Ignored) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    ignored.holds(entry.path(), is_folder)
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

/// Where an entry below the base really lies: links are not followed on the way.
fn place_of<'a>(path: &'a Path, named: &Path, real: &Path) -> Cow<'a, Path> {
    match path.strip_prefix(named) {
        Ok(below) if named != real => real.join(below).into(),
        Ok(_) | Err(_) => path.into(),
    }
}

/// Whether to look at an entry that a call does not name itself. Of a file that may not be read the name may be known, and
/// of a folder in one whose names may be listed.
fn is_wanted(entry: &DirEntry, real: &Path, guard: &Guard, levels: usize) -> bool {
    let is_folder = entry.file_type().is_some_and(|t| t.is_dir());
    let is_named = || levels == 1 && real.parent().is_some_and(is_listed);
    entry.file_name() != ".git" && (!is_folder || guard.reads(real) || is_named())
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

/// Where to walk: the named folder, or what it really is where only that may be read.
pub fn start(base: &Path, guard: &Guard) -> PathBuf {
    match guard.reads(base) {
        true => base.to_owned(),
        false => ostler_host::real_path(base),
    }
}

/// Stops a walk on a path that cannot be walked, or that really lies where the call may not look.
pub fn check_base(base: &Path, guard: &Guard) -> Result<Kind, ToolError> {
    ostler_host::look(base, &guard.border).map_err(|error| {
        let shown = guard.scope.shown(base);
        match error {
            Error::NotFound { .. } => {
                ToolError::new("not_found", format!("{shown} does not exist."))
            }
            Error::Forbidden { .. } => {
                ToolError::new("forbidden", format!("{shown} may not be read."))
            }
            refused @ (Error::Withheld { .. } | Error::Beyond { .. }) => {
                ToolError::new(refused.code(), format!("{refused}."))
            }
            other => ToolError::new("read_error", format!("{shown} cannot be read: {other}.")),
        }
    })
}
