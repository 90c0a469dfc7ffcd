//! Other names of forbidden files, and what lies beneath a folder but for some of it.

use crate::{Error, holder};
use ostler_files::sight::{self, Kind};
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// Most files of `forbid_read` that are looked at for other names.
pub const MAX_LINK_SEARCH: usize = 4096;

/// A file, whatever its names: device and number.
pub type FileId = (u64, u64);

/// The files below these paths that may have other names elsewhere. The upper ones come first, so that one large folder
/// does not take the place of all others.
pub fn linked_files(tops: &[PathBuf]) -> HashSet<FileId> {
    let mut found = HashSet::new();
    let mut open = VecDeque::from(tops.to_vec());
    // Where devices have a file system of their own, none of them has a name elsewhere.
    let device = |path: &str| sight::look(Path::new(path)).map(|seen| seen.device).ok();
    if device("/dev") != device("/") {
        open.retain(|top| top != Path::new("/dev"));
    }
    let mut seen = 0;
    while let Some(path) = open.pop_front() {
        seen += 1;
        let Ok(entry) = sight::count_names(&path) else {
            continue;
        };
        if entry.kind == Kind::File && entry.names > 1 {
            found.insert((entry.device, entry.inode));
        }
        if entry.kind == Kind::Folder
            && seen < MAX_LINK_SEARCH
            && let Ok(entries) = sight::entries(&path)
        {
            open.extend(entries);
        }
    }
    found
}

/// Everything below a path but these, in as few paths as possible: folders that hold something left out are replaced
/// by what is in them. A rule for a file holds for all its names, so other names of `linked` files are left out too.
pub fn beneath_but(
    top: &Path,
    left_out: &[PathBuf],
    linked: &HashSet<FileId>,
    limit: usize,
) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        if holder(&path, left_out).is_some() {
            continue;
        }
        if !left_out.iter().any(|out| out.starts_with(&path)) {
            if linked.is_empty() || !is_one_of(&path, linked) {
                found.push(path);
            }
        } else if let Ok(entries) = sight::entries(&path) {
            open.extend(entries);
        } else {
            // One that can be passed through, not listed, as that of all homes may be.
            let mut next: Vec<PathBuf> = left_out
                .iter()
                .filter_map(|out| out.strip_prefix(&path).ok()?.iter().next())
                .map(|name| path.join(name))
                .collect();
            next.sort();
            next.dedup();
            open.append(&mut next);
        }
        if found.len() + open.len() > limit {
            return Err(Error::TooMany { limit });
        }
    }
    Ok(found)
}

pub fn is_one_of(path: &Path, files: &HashSet<FileId>) -> bool {
    sight::look(path).is_ok_and(|seen| files.contains(&(seen.device, seen.inode)))
}
