//! Files by name pattern, the newest first.

use super::walk::{self, Tree};
use super::{FoundNames, Stop};
use ignore::DirEntry;
use ostler_files::TreeReader;
use ostler_files::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::SystemTime;

pub const MAX_PATHS: usize = 1000;

pub fn find(tree: &Tree, pattern: &str, stop: &Stop) -> Result<FoundNames> {
    let matcher = walk::glob(pattern).map_err(|text| Error::Search { text })?;
    walk::check_base(tree)?;
    let base = walk::start(tree);
    let base = base.as_path();
    // The oldest of the kept ones is on top.
    let mut kept: BinaryHeap<(Reverse<SystemTime>, PathBuf)> = BinaryHeap::new();
    let mut total = 0u64;
    let mut partial = false;
    for (walked, entry) in walk::builder(base, tree, &[]).build().enumerate() {
        if stop.is_asked() {
            return Err(walk::stopped());
        }
        if walked >= walk::MAX_WALKED {
            partial = true;
            break;
        }
        // What cannot be read has no files to offer.
        let Ok(entry) = entry else { continue };
        let below = entry.path().strip_prefix(base).unwrap_or(entry.path());
        if !matcher.is_match(below) || !is_file(&entry) {
            continue;
        }
        let modified = entry.metadata().ok().and_then(|m| m.modified().ok());
        total += 1;
        kept.push((
            Reverse(modified.unwrap_or(SystemTime::UNIX_EPOCH)),
            entry.into_path(),
        ));
        if kept.len() > MAX_PATHS {
            kept.pop();
        }
    }
    let mut reader = TreeReader::new(tree.border.clone());
    let found = kept.into_sorted_vec().into_iter().map(|(_, path)| path);
    // A folder may have been swapped for a link while it was listed; what is named is what is there.
    let found: Vec<PathBuf> = found.filter(|path| reader.locate(path).is_ok()).collect();
    let paths: Vec<String> = found.iter().map(|path| tree.shown(path)).collect();
    Ok(FoundNames {
        truncated: partial || total > paths.len() as u64,
        paths,
        total,
        partial,
    })
}

fn is_file(entry: &DirEntry) -> bool {
    if entry.path_is_symlink() {
        return entry.path().is_file();
    }
    entry.file_type().is_some_and(|t| t.is_file())
}
