//! The entries of a folder, as deep as asked, without what is ignored.

use super::walk::{self, Tree};
use super::{FoundEntries, Stop};
use ignore::DirEntry;
use ostler_files::{Error, Result};
use ostler_files::{Kind, TreeReader};
use std::path::Path;

pub const MAX_ENTRIES: usize = 1000;

struct Item {
    depth: usize,
    /// Parts of the path, which sort a folder before its neighbours' children.
    key: Vec<String>,
    shown: String,
}

pub fn find(tree: &Tree, depth: usize, stop: &Stop) -> Result<FoundEntries> {
    if walk::check_base(tree)? != Kind::Directory {
        return Err(Error::NotDirectory {
            path: tree.base.clone(),
        });
    }
    let base = walk::start(tree);
    let base = base.as_path();
    let mut items = Vec::new();
    let mut truncated = false;
    let mut reader = TreeReader::new(tree.border.clone());
    let walker = walk::builder_to(base, depth, tree, &["node_modules"]);
    for (walked, entry) in walker.build().enumerate() {
        if stop.is_asked() {
            return Err(walk::stopped());
        }
        if walked > walk::MAX_WALKED {
            truncated = true;
            break;
        }
        match entry {
            Ok(entry) if entry.depth() == 0 => {}
            // A folder may have been swapped for a link while it was listed; what is named is what is there.
            Ok(entry) if reader.locate(entry.path()).is_ok() => items.push(item(&entry, base)),
            Ok(_) => {}
            Err(e) if e.depth() == Some(0) => {
                return Err(Error::Search {
                    text: e.to_string(),
                });
            }
            // A folder that may not be read is listed itself; that says enough.
            Err(_) => {}
        }
        if items.len() >= 10 * MAX_ENTRIES {
            truncated |= keep_upper(&mut items);
        }
    }
    truncated |= keep_upper(&mut items);
    items.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(FoundEntries {
        base: base.to_owned(),
        entries: items.into_iter().map(|i| i.shown).collect(),
        truncated,
    })
}

/// When not all fit the upper levels matter most. Says whether something was left out.
fn keep_upper(items: &mut Vec<Item>) -> bool {
    let too_many = items.len() > MAX_ENTRIES;
    if too_many {
        items.sort_by(|a, b| (a.depth, &a.key).cmp(&(b.depth, &b.key)));
        items.truncate(MAX_ENTRIES);
    }
    too_many
}

fn item(entry: &DirEntry, base: &Path) -> Item {
    let path = entry.path().strip_prefix(base).unwrap_or(entry.path());
    let key = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let mut shown = path.display().to_string();
    if entry.file_type().is_some_and(|t| t.is_dir()) {
        shown.push('/');
    } else if entry.path_is_symlink()
        && let Ok(target) = std::fs::read_link(entry.path())
    {
        shown.push_str(&format!(" -> {}", target.display()));
    }
    Item {
        depth: entry.depth(),
        key,
        shown,
    }
}
