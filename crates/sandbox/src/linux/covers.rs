//! Folders that a command sees as others: an emptied home, its own `/tmp`, `/run` and `/dev/shm`, private folders. What
//! the policy names below such a folder stays at its place.

use super::jail::Mount;
use crate::holder;
use ostler_files::sight::{self, Kind};
use std::path::{Path, PathBuf};

/// What of `/run` programs need to find their settings and each other, as names below it. None of them is a socket.
const KEPT_OF_RUN: &[&str] = &[
    // Where `/etc/resolv.conf` leads to.
    "systemd/resolve/resolv.conf",
    "systemd/resolve/stub-resolv.conf",
    "resolvconf",
    "NetworkManager/resolv.conf",
    "connman/resolv.conf",
    // The system of NixOS, and programs with more rights there.
    "current-system",
    "booted-system",
    "opengl-driver",
    "opengl-driver-32",
    "wrappers",
    // What the person plugged in, and the host of a container.
    "media",
    "host",
    ".containerenv",
    "utmp",
];
/// In the runtime folder of a user: where a manager of node versions keeps the links that are on the PATH.
const KEPT_OF_RUNTIME: &str = "fnm_multishells";

#[derive(Debug)]
pub(super) struct Cover {
    pub folder: PathBuf,
    pub by: By,
    /// Outer ones first, none inside of another.
    pub kept: Vec<PathBuf>,
    /// Links to be made again: what they say, and where.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Folders that are new, empty and writable.
    pub fresh: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Nothing, and nothing can be made in it.
    Empty,
    /// A new file system, to be written.
    Fresh,
    Folder {
        source: PathBuf,
        writable: bool,
    },
}

impl Cover {
    pub(super) fn new(folder: PathBuf, by: By) -> Self {
        Self {
            folder,
            by,
            kept: Vec::new(),
            links: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Keeps what lies below of these real paths.
    pub(super) fn keep<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        let below = |path: &&PathBuf| path.starts_with(&self.folder) && **path != self.folder;
        let mut paths: Vec<PathBuf> = paths.into_iter().filter(below).cloned().collect();
        self.kept.append(&mut paths);
        self.kept.sort();
        let mut outer: Vec<PathBuf> = Vec::with_capacity(self.kept.len());
        for path in self.kept.drain(..) {
            if holder(&path, &outer).is_none() {
                outer.push(path);
            }
        }
        self.kept = outer;
    }

    /// The same for paths that may be links, or lead through one.
    pub(super) fn keep_named(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.keep_link(path);
        }
        let real: Vec<PathBuf> = paths
            .iter()
            .flat_map(|path| sight::canonicalize(path))
            .collect();
        self.keep(&real);
    }

    fn keep_link(&mut self, path: &Path) {
        let Ok(inside) = path.strip_prefix(&self.folder) else {
            return;
        };
        let mut place = self.folder.clone();
        for part in inside {
            place.push(part);
            if let Some(target) = sight::read_link(&place) {
                self.links.push((target, place));
                break;
            }
        }
    }

    /// Whether a path is out of sight because of this.
    pub(super) fn hides(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
            && holder(path, &self.kept).is_none()
            && !self.kept.iter().any(|kept| kept.starts_with(path))
    }

    /// To be carried before anything else is mounted.
    pub(super) fn source(&self) -> Option<&PathBuf> {
        match &self.by {
            By::Folder { source, .. } => Some(source),
            By::Empty | By::Fresh => None,
        }
    }

    pub(super) fn mounts(&self) -> Vec<(Mount, PathBuf)> {
        let each = |kind: Mount| self.kept.iter().map(move |path| (kind, path.clone()));
        let here = |kind: Mount| (kind, self.folder.clone());
        let mut mounts: Vec<_> = each(Mount::Carry).collect();
        match &self.by {
            By::Empty => mounts.push(here(Mount::Clear)),
            By::Fresh => mounts.push(here(Mount::Fresh)),
            By::Folder { source, .. } => {
                mounts.push((Mount::Source, source.clone()));
                mounts.push(here(Mount::PutOver));
            }
        }
        mounts.extend(each(Mount::PutDown));
        for (target, place) in self.links.iter().filter(|(_, place)| !self.shows(place)) {
            mounts.push((Mount::Source, target.clone()));
            mounts.push((Mount::Link, place.clone()));
        }
        for path in &self.fresh {
            mounts.push((Mount::Fresh, path.clone()));
        }
        match self.by {
            By::Empty
            | By::Folder {
                writable: false, ..
            } => mounts.push(here(Mount::ReadOnly)),
            By::Fresh | By::Folder { writable: true, .. } => {}
        }
        mounts
    }

    fn shows(&self, path: &Path) -> bool {
        holder(path, &self.kept).is_some()
    }
}

/// `/run` without what programs outside left there.
pub(super) fn run_folder() -> Option<Cover> {
    let folder = PathBuf::from("/run");
    if !sight::look(&folder).is_ok_and(|seen| seen.kind == Kind::Folder) {
        return None;
    }
    let mut cover = Cover::new(folder.clone(), By::Empty);
    let user = rustix::process::getuid().as_raw().to_string();
    let runtime = folder.join("user").join(user).join(KEPT_OF_RUNTIME);
    let mut named: Vec<PathBuf> = KEPT_OF_RUN.iter().map(|name| folder.join(name)).collect();
    named.push(runtime);
    named.retain(|path| sight::look(path).is_ok());
    cover.keep_named(&named);
    Some(cover)
}
