//! A folder of which a command sees only what is listed: an empty one in its place, with the listed paths put into it.

use super::jail::Mount;
use super::places::place;
use crate::holder;
use ostler_files::sight;
use std::path::{Path, PathBuf};

/// What is seen of a folder that is closed.
#[derive(Debug)]
pub(super) struct Closed {
    pub folder: PathBuf,
    /// Outer ones first, none inside of another.
    pub shown: Vec<PathBuf>,
    /// At the top of the folder: there, but not to be opened.
    pub blank: Vec<PathBuf>,
}

impl Closed {
    pub(super) fn new(folder: PathBuf, mut listed: Vec<PathBuf>, forbidden: &[PathBuf]) -> Self {
        listed.sort();
        let mut shown: Vec<PathBuf> = Vec::with_capacity(listed.len());
        for path in listed {
            if holder(&path, &shown).is_none() {
                shown.push(path);
            }
        }
        // Names that commands are refused instead of not finding them, so that what is said of it makes sense.
        let at_top = |path: &PathBuf| path.parent() == Some(&folder) && !sight::is_folder(path);
        let blank = forbidden.iter().filter_map(|path| place(path));
        let mut blank: Vec<PathBuf> = blank.filter(at_top).collect();
        blank.retain(|path| sight::look(path).is_ok() && !shown.contains(path));
        blank.sort();
        blank.dedup();
        Self {
            folder,
            shown,
            blank,
        }
    }

    /// Whether a path is out of sight because of this.
    pub(super) fn hides(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
            && path != self.folder
            && holder(path, &self.shown).is_none()
            && !self
                .shown
                .iter()
                .chain(&self.blank)
                .any(|seen| seen.starts_with(path))
    }

    pub(super) fn mounts(&self) -> Vec<(Mount, PathBuf)> {
        let each = |kind: Mount| self.shown.iter().map(move |path| (kind, path.clone()));
        let mut mounts: Vec<_> = each(Mount::CarryLinked).collect();
        mounts.push((Mount::Clear, self.folder.clone()));
        mounts.extend(each(Mount::PutDown));
        for path in &self.blank {
            mounts.push((Mount::Touch, path.clone()));
            mounts.push((Mount::HideFile, path.clone()));
        }
        mounts.push((Mount::ReadOnly, self.folder.clone()));
        mounts
    }
}
