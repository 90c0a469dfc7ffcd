//! What of one repository can make git run something: settings, hooks, remotes, plans and pointers to other folders.

use super::{
    BACK, CONFIGS, LISTED, MAX_CONFIG, PLAN_FOLDERS, PLANS, POINTERS, Repositories, SAMPLE,
    is_folder,
};
use ostler_files::{Dir, Kind as FileKind};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files of one repository that can make git run something, by name.
pub(super) type Content = BTreeMap<PathBuf, Vec<u8>>;

impl Repositories {
    pub(super) fn content(&self, repository: &Path) -> Content {
        let mut content = Content::new();
        let Ok(folder) = self.open_folder(repository) else {
            // A link, or a file that leads elsewhere.
            content.extend(self.pointer(repository));
            return content;
        };
        for name in CONFIGS.iter().chain(&POINTERS) {
            // A folder is no file of settings for git either.
            if is_folder(&repository.join(name)) {
                continue;
            }
            if let Some(bytes) = read_at(&folder, name.as_ref()) {
                content.insert(repository.join(name), bytes);
            }
        }
        let is_linked =
            repository.parent().and_then(Path::file_name) == Some(OsStr::new("worktrees"));
        if let Some(bytes) = read_at(&folder, BACK.as_ref()).filter(|_| is_linked) {
            content.insert(repository.join(BACK), bytes);
        }
        for plan in PLANS.map(|plan| repository.join(plan)) {
            let folder = plan.parent().map(|folder| self.open_folder(folder));
            if let Some(Ok(folder)) = folder
                && let Some(bytes) = read_at(&folder, plan.file_name().unwrap_or_default())
            {
                content.insert(plan, bytes);
            }
        }
        for folder in PLAN_FOLDERS.map(|folder| repository.join(folder)) {
            if let Ok(target) = fs::read_link(&folder) {
                content.insert(folder, target.as_os_str().as_bytes().to_vec());
            }
        }
        for folder in LISTED.map(|name| repository.join(name)) {
            content.extend(self.listed(&folder));
        }
        content
    }

    /// The files of a folder that git runs or reads addresses from, or the folder itself if it is none.
    fn listed(&self, folder: &Path) -> Content {
        let mut content = Content::new();
        let Ok(held) = self.open_folder(folder) else {
            if folder.is_symlink() || folder.exists() {
                content.insert(folder.to_owned(), Vec::new());
            }
            return content;
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for name in entries.map(|entry| entry.file_name()) {
            if !name.as_bytes().ends_with(SAMPLE)
                && let Some(bytes) = read_at(&held, &name)
            {
                content.insert(folder.join(name), bytes);
            }
        }
        content
    }

    /// A `.git` that is a file or a link: where it leads.
    fn pointer(&self, path: &Path) -> Option<(PathBuf, Vec<u8>)> {
        let meta = fs::symlink_metadata(path).ok()?;
        let bytes = match meta.is_symlink() {
            true => fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec(),
            false => {
                let folder = self.open_folder(path.parent()?).ok()?;
                read_at(&folder, path.file_name()?)?
            }
        };
        Some((path.to_owned(), bytes))
    }
}

/// The bytes of a file in a folder; of a link, where it leads; of what is too long, something that is harmful.
fn read_at(folder: &Dir, name: &OsStr) -> Option<Vec<u8>> {
    let name = name.as_bytes();
    match folder.look(name).ok()?.kind {
        FileKind::Symlink => {
            let target = folder.read_link(name).ok()?;
            Some([b"[".as_slice(), &target].concat())
        }
        FileKind::File | FileKind::Directory | FileKind::Other | FileKind::Missing => {
            // What nobody may read says nothing to git either.
            folder.open_file(name).ok()?;
            let read = folder.read_file(name, MAX_CONFIG);
            Some(read.unwrap_or_else(|| b"[".to_vec()))
        }
    }
}
