//! What Ostler keeps for itself in its home and no command reads: copies of files, indexes, and what was said in other
//! projects. Reads the disk, changes nothing.

use crate::boot::Boot;
use crate::grants::COMMAND_CACHES;
use std::fs;
use std::path::{Path, PathBuf};

/// In our own home, whether they are there or not yet. Copies of files may be of those that a deny rule names.
const ALWAYS: [&str; 13] = [
    "archive",
    "cache/history.sqlite",
    "cache/history.sqlite-shm",
    "cache/history.sqlite-wal",
    "cache/mcp",
    "cache/memory",
    "cache/models",
    "cache/prompts",
    "checkpoints",
    "holds",
    "ledger.jsonl",
    "prefixes",
    "projects",
];
/// Most entries of one folder that are hidden.
const MAX_ENTRIES: usize = 1024;

/// Checkpoints and caches, and the sessions and command caches of other projects as far as they are there now. What lies
/// in a home that is closed as a whole need not be named one by one, however many projects there are.
pub fn find(boot: &Boot) -> Vec<PathBuf> {
    let home = boot.places.home.canonicalize();
    let home = home.unwrap_or_else(|_| boot.places.home.clone());
    let store = boot.store();
    let commands = home.join(COMMAND_CACHES);
    let is_closed = !super::home::closed(boot).is_empty();
    let mut found: Vec<PathBuf> = ALWAYS.map(|name| home.join(name)).to_vec();
    if !is_closed {
        found.extend(entries_but(&home.join("cache"), &commands));
        found.extend(entries_but(&commands, &commands.join(store.project())));
    }
    for sessions in [home.join("sessions"), boot.sessions_dir()] {
        let real = sessions.canonicalize();
        if !(is_closed && real.is_ok_and(|real| real.starts_with(&home))) {
            found.extend(entries_but(&sessions, &sessions.join(store.project())));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Everything in a folder but this.
fn entries_but(folder: &Path, own: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path != own).take(MAX_ENTRIES).collect()
}
