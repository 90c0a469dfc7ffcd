//! The walk that all searches share: hidden files yes, `.git` and ignored ones no, symlinks not followed.

use super::ignored::Ignored;
use globset::{GlobBuilder, GlobSet};
use ignore::{DirEntry, WalkBuilder};
use ostler_files::border::Border;
use ostler_files::{Error, Result};
use ostler_files::{Kind, look, real_path};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Entries looked at in one call; a tree beyond that is walked in parts.
pub const MAX_WALKED: usize = 300_000;
/// What commands call the folder for temporary files.
const TEMPORARY: &str = "/tmp";

/// A folder or file to search, and what holds there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub base: PathBuf,
    /// The project: what is below it is shown by its path from there.
    pub root: PathBuf,
    /// The folder that commands see as `/tmp`.
    pub temp: Option<PathBuf>,
    pub border: Arc<Border>,
}

impl Tree {
    pub fn reads(&self, real: &Path) -> bool {
        self.border.judge(real).is_open()
    }

    /// A path as it is shown: from the root, or as commands see it.
    pub fn shown(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.root) {
            return match rest.as_os_str().is_empty() {
                true => ".".into(),
                false => rest.display().to_string(),
            };
        }
        let temp = self.temp.as_ref();
        match temp.and_then(|temp| path.strip_prefix(temp).ok()) {
            Some(rest) => Path::new(TEMPORARY).join(rest).display().to_string(),
            None => path.display().to_string(),
        }
    }
}

/// Paths by pattern. A set of one, because making a set can fail where making a single matcher panics.
pub fn glob(pattern: &str) -> std::result::Result<GlobSet, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.and_then(|glob| GlobSet::builder().add(glob).build())
        .map_err(|error| format!("`{pattern}` is not a glob: {}.", error.kind()))
}

/// Folders that the border shuts are not entered, nor is anything with one of these names. What counts is where the base
/// really lies, whatever it is called.
pub fn builder(base: &Path, tree: &Tree, skipped: &'static [&str]) -> WalkBuilder {
    builder_to(base, usize::MAX, tree, skipped)
}

/// The same down to a level.
pub fn builder_to(
    base: &Path,
    levels: usize,
    tree: &Tree,
    skipped: &'static [&str],
) -> WalkBuilder {
    let border = tree.border.clone();
    let ignored = Ignored::new(base, &tree.root);
    let (named, real) = (base.to_owned(), real_path(base));
    let mut builder = WalkBuilder::new(base);
    builder
        // The library would open ignore files whatever they are: `Ignored` reads them.
        .standard_filters(false)
        .max_depth(Some(levels))
        .current_dir(&tree.root)
        .filter_entry(move |entry| {
            let is_skipped = || skipped.iter().any(|name| entry.file_name() == *name);
            let is_wanted = || {
                let real = place_of(entry.path(), &named, &real);
                is_wanted(entry, &real, &border, levels)
            };
            entry.depth() == 0 || is_wanted() && !is_skipped() && !is_ignored(entry, &ignored)
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

/// Where an entry below the base really lies: links are not followed on the way.
fn place_of<'a>(path: &'a Path, named: &Path, real: &Path) -> Cow<'a, Path> {
    match path.strip_prefix(named) {
        Ok(below) if named != real => real.join(below).into(),
        Ok(_) | Err(_) => path.into(),
    }
}

/// Whether to look at an entry that a call does not name itself. Of a file that may not be read the name may be known, and
/// of a folder in one whose names may be listed.
fn is_wanted(entry: &DirEntry, real: &Path, border: &Border, levels: usize) -> bool {
    let is_folder = entry.file_type().is_some_and(|t| t.is_dir());
    let is_listed = |folder: &Path| border.listed.iter().any(|listed| listed == folder);
    let is_named = || levels == 1 && real.parent().is_some_and(is_listed);
    entry.file_name() != ".git" && (!is_folder || border.judge(real).is_open() || is_named())
}

/// Where to walk: the named folder, or what it really is where only that may be read.
pub fn start(tree: &Tree) -> PathBuf {
    match tree.reads(&tree.base) {
        true => tree.base.clone(),
        false => real_path(&tree.base),
    }
}

/// Stops a walk on a path that cannot be walked, or that really lies where the call may not look.
pub fn check_base(tree: &Tree) -> Result<Kind> {
    look(&tree.base, &tree.border)
}

/// Nobody waits for the answer any more.
pub fn stopped() -> Error {
    Error::Search {
        text: io::Error::from(io::ErrorKind::Interrupted).to_string(),
    }
}
