//! One folder of a project, as the look for repositories sees it: what lies below it, repositories in it, and of a git folder
//! what git would write through and the indexes.

use super::{BESIDE_HEAD, CONFIGS, DOT_GIT, HEAD, Stamp, is_folder};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, FileType};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Folders of a repository that hold files of git's own, and perhaps repositories. What else lies there belongs to other
/// programs.
const WITH_REPOSITORIES: [&str; 10] = [
    "modules",
    "worktrees",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "rr-cache",
    "reftable",
    "svn",
    "sl",
    "NOTES_MERGE_WORKTREE",
];
/// Those with names like those of a repository's own parts. A link of the project may lead to one that lies there.
const PARTS: [&str; 3] = ["logs", "refs", "info"];
/// The same whose files are never written to once they are there, and may be shared between repositories.
const STORES: [&str; 2] = ["objects", "lfs"];
const INDEX: &str = "index";
/// What makes a folder a repository as soon as it gets a `HEAD`.
const WITHOUT_HEAD: [&str; 3] = [CONFIGS[0], "objects", "refs"];
const SHARED_INDEX: &[u8] = b"sharedindex.";

/// Which part of a project a folder belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The working tree, or what other programs keep in a git folder.
    Tree,
    /// A folder of git's own files, in which repositories may lie.
    Git,
    /// One in which no repository belongs.
    Part,
    /// The same with objects, which are shared.
    Store,
}

/// What was seen of one folder.
#[derive(Debug)]
pub struct Seen {
    pub stamp: Stamp,
    pub area: Area,
    /// The folder, or one above it, came to its place since the last look.
    pub is_moved: bool,
    pub below: Vec<(PathBuf, Area)>,
    /// It is itself a repository, or holds one called `.git`.
    pub repositories: Vec<PathBuf>,
    /// Entries of a git folder that git could write through: links, files with another name, pipes and the like.
    pub strays: Vec<PathBuf>,
    pub indexes: Vec<PathBuf>,
    /// Links of a working tree that may lead out of the root.
    pub links: Vec<PathBuf>,
    /// All of its entries were read.
    pub whole: bool,
}

/// Reads a folder below a root, whose path holds no link.
pub fn read(folder: &Path, stamp: Stamp, area: Area, root: &Path) -> Seen {
    let mut seen = Seen {
        stamp,
        area,
        is_moved: false,
        below: Vec::new(),
        repositories: Vec::new(),
        strays: Vec::new(),
        indexes: Vec::new(),
        links: Vec::new(),
        whole: true,
    };
    let mut entries = Vec::new();
    match fs::read_dir(folder) {
        Ok(listed) => {
            for entry in listed {
                match entry {
                    Ok(entry) => entries.push(entry),
                    Err(_) => seen.whole = false,
                }
            }
        }
        Err(_) => seen.whole = false,
    }
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let has_head = entries.iter().any(|entry| entry.file_name() == HEAD);
    let has_more = entries.iter().any(|entry| {
        let name = entry.file_name();
        BESIDE_HEAD.iter().any(|beside| name == *beside)
            || (name == CONFIGS[0] && !is_folder(entry))
    });
    // A commit or an index may bring the `HEAD` later, by the person's own git.
    let has_rest = WITHOUT_HEAD.iter().all(|part| {
        let mut names = entries.iter().map(DirEntry::file_name);
        names.any(|name| name == *part)
    });
    let is_dot_git = folder.file_name() == Some(OsStr::new(DOT_GIT));
    let may_hold = matches!(area, Area::Tree | Area::Git);
    // One without a working tree, or one below `.git/modules`. Git takes less for one than this.
    let is_repository = match may_hold {
        true => is_dot_git || (has_head && has_more) || has_rest,
        // `logs` has a `HEAD` and `refs` of its own.
        false => has_rest || (has_head && is_git_folder(folder)),
    };
    if is_repository && !is_dot_git {
        seen.repositories.push(folder.to_owned());
    }
    let is_git = match area {
        Area::Git | Area::Part | Area::Store => true,
        Area::Tree => is_dot_git || (is_repository && is_git_folder(folder)),
    };
    for entry in &entries {
        let name = entry.file_name();
        if name == DOT_GIT {
            seen.repositories.push(entry.path());
        }
        if is_git && name != DOT_GIT && is_stray(entry, area) {
            seen.strays.push(entry.path());
        }
        if area == Area::Tree && name != DOT_GIT && leads_out(entry, folder, root) {
            seen.links.push(entry.path());
        }
        let shared = name.as_bytes().strip_prefix(SHARED_INDEX);
        let is_shared = |id: &[u8]| id.iter().all(u8::is_ascii_hexdigit);
        let is_index = name == INDEX || shared.is_some_and(is_shared);
        if is_repository && is_git && is_index && !is_folder(entry) {
            seen.indexes.push(entry.path());
        }
        if is_folder(entry) {
            let below = area_below(&name, area, is_repository);
            seen.below.push((entry.path(), below));
        }
    }
    seen
}

/// What a folder in another one is.
fn area_below(name: &OsStr, area: Area, is_repository: bool) -> Area {
    let is_one_of = |names: &[&str]| names.iter().any(|one| name == *one);
    match area {
        Area::Tree | Area::Git if is_repository => match name {
            name if name == DOT_GIT => Area::Tree,
            _ if is_one_of(&WITH_REPOSITORIES) => Area::Git,
            _ if is_one_of(&STORES) => Area::Store,
            _ if is_one_of(&PARTS) => Area::Part,
            _ => Area::Tree,
        },
        Area::Tree | Area::Git | Area::Part | Area::Store => area,
    }
}

/// Whether git would write to another place by an entry. Objects are shared between repositories by other names.
fn is_stray(entry: &DirEntry, area: Area) -> bool {
    let Ok(kind) = entry.file_type() else {
        return true;
    };
    is_special(kind)
        || (kind.is_file()
            && area != Area::Store
            && entry.metadata().is_ok_and(|meta| meta.nlink() > 1))
}

/// Whether an entry is a link whose words may lead out of the root. One that goes there by another link of the same tree need
/// not be known: the other one is.
fn leads_out(entry: &DirEntry, folder: &Path, root: &Path) -> bool {
    if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
        return false;
    }
    let Ok(target) = fs::read_link(entry.path()) else {
        return true;
    };
    let mut place = folder.to_owned();
    let mut is_below = false;
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => place = PathBuf::from("/"),
            Component::CurDir => {}
            // Up from a name that may be a link is anywhere.
            Component::ParentDir if is_below => return true,
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => {
                place.push(name);
                is_below = true;
            }
        }
    }
    !place.starts_with(root)
}

/// Neither a file nor a folder.
pub fn is_special(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

/// Whether git reads settings and hooks there now: nothing that it needs is missing. A file or link that leads to a
/// repository is one.
pub fn is_taken_for_repository(path: &Path) -> bool {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    !is_folder(path) || (is_there(&path.join(HEAD)) && is_git_folder(path))
}

/// Whether git takes a folder for a repository, by what it has to hold.
fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    has("commondir") || (has("objects") && has("refs"))
}
