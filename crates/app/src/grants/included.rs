//! Files that the person's own git reads as settings. Those in reach of commands and tools decide what it runs, like the
//! settings of the repository. Reads the disk, changes nothing.

use super::git::Git;
use crate::boot::Boot;
use ostler_host::{GitSettings, SettingsFile};
use std::path::PathBuf;

/// All of them, wherever they lie, with the links on the way.
pub fn find(boot: &Boot, roots: &[PathBuf]) -> Vec<SettingsFile> {
    let git = Git::of_all(roots);
    let home = boot.places.user_home.as_deref();
    let own = git.protect.into_iter();
    let own = own.filter(|path| path.ends_with("config.worktree"));
    GitSettings::of_person(home, &boot.env, &boot.places.root)
        .with_repositories(git.settings)
        .with_repositories(own)
        .find()
}

/// What of them lies below one of these real folders: the files themselves, and links on the way to any of them.
#[derive(Debug, Default)]
pub struct InReach {
    pub files: Vec<PathBuf>,
    pub links: Vec<PathBuf>,
}

impl InReach {
    pub fn new(files: &[SettingsFile], folders: &[PathBuf]) -> Self {
        let is_below = |path: &&PathBuf| {
            let mut folders = folders.iter();
            folders.any(|folder| path.starts_with(folder) && *path != folder)
        };
        let links = files.iter().flat_map(|file| &file.links);
        Self {
            files: files
                .iter()
                .map(|file| &file.real)
                .filter(is_below)
                .cloned()
                .collect(),
            links: links.filter(is_below).cloned().collect(),
        }
    }
}
