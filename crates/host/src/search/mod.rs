//! What is looked for in a tree, as plain data, and the search on this machine. Only what the border lets pass is found.

mod entries;
mod ignored;
mod lines;
mod names;
mod walk;

use ostler_files::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use entries::MAX_ENTRIES;
pub use ignored::Ignored;
pub use lines::{MAX_LINE_BYTES, MAX_MATCHES, NameFilter, matcher, types};
pub use names::MAX_PATHS;
pub use walk::{MAX_WALKED, Tree, glob};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Files by a pattern of their names, the newest first.
    Names { tree: Tree, pattern: String },
    /// What is in a folder, as deep as this.
    Entries { tree: Tree, depth: usize },
    /// Lines of files.
    Lines { tree: Tree, query: LineQuery },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineQuery {
    /// A regular expression.
    pub pattern: String,
    pub ignore_case: bool,
    /// Names of files, `!` before those that are left out.
    pub glob: Option<String>,
    /// A type of files by its name or extension.
    pub kind: Option<String>,
    pub mode: Mode,
    /// Lines around each match.
    pub context: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Content,
    Files,
    Count,
}

/// What was found, of the kind that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Names(FoundNames),
    Entries(FoundEntries),
    Lines(FoundLines),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNames {
    /// As they are shown.
    pub paths: Vec<String>,
    pub total: u64,
    pub truncated: bool,
    /// The tree has more entries than one search looks at.
    pub partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEntries {
    /// The folder that was listed.
    pub base: PathBuf,
    pub entries: Vec<String>,
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLines {
    /// As they are shown, with path and number.
    pub lines: Vec<String>,
    /// Matches among them.
    pub count: usize,
    /// Files that were searched.
    pub searched: usize,
    pub truncated: bool,
    /// Files that could not be searched.
    pub skipped: Option<u64>,
}

/// Whether a search is to end early.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Ends a search that nobody waits for any more.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Searches on this machine, off the runtime's threads.
pub async fn search_here(search: Search) -> Result<Found> {
    let stop = Stop::default();
    let seen = stop.clone();
    let _stops = StopOnDrop(stop);
    let work = tokio::task::spawn_blocking(move || run(&search, &seen));
    work.await.unwrap_or_else(|error| {
        Err(Error::Search {
            text: error.to_string(),
        })
    })
}

fn run(search: &Search, stop: &Stop) -> Result<Found> {
    Ok(match search {
        Search::Names { tree, pattern } => Found::Names(names::find(tree, pattern, stop)?),
        Search::Entries { tree, depth } => Found::Entries(entries::find(tree, *depth, stop)?),
        Search::Lines { tree, query } => Found::Lines(lines::find(tree, query, stop)?),
    })
}
