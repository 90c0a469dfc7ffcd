//! Files that the person's own git reads as settings. Those in reach of commands and tools decide what it runs, like the
//! settings of the repository. Reads the disk, changes nothing.

use super::git::Git;
use crate::boot::Boot;
use ostler_host::{GitSettings, SettingsFile};
use std::path::PathBuf;

/// Settings of a repository.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// All of them, wherever they lie, with the links on the way.
pub fn find(boot: &Boot, roots: &[PathBuf]) -> Vec<SettingsFile> {
    let git = Git::of_all(roots);
    let home = boot.places.user_home.as_deref();
    // Those of a repository elsewhere, whose working tree the project is, are no settings that commands change.
    let is_settings = |path: &PathBuf| SETTINGS.iter().any(|name| path.ends_with(name));
    let own = git.protect.into_iter().filter(is_settings);
    GitSettings::of_person(home, &boot.env, &boot.places.root)
        .with_repositories(git.settings)
        .with_repositories(own)
        .find()
}

/// Those that git reads in whatever repository: the person's, and what they include.
pub fn of_person(boot: &Boot) -> Vec<PathBuf> {
    let home = boot.places.user_home.as_deref();
    let files = GitSettings::of_person(home, &boot.env, &boot.places.root).find();
    let each = files.into_iter().flat_map(|file| [file.written, file.real]);
    each.filter(|path| path.is_file()).collect()
}

/// What of them commands could change that write to these real folders: files that lie there or may have another name there,
/// and links on the way to any of them.
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
        let is_in_reach = |file: &&SettingsFile| is_below(&&file.real) || file.has_other_names();
        let in_reach = files.iter().filter(is_in_reach);
        let links = files.iter().flat_map(|file| &file.links);
        Self {
            files: in_reach.map(|file| file.real.clone()).collect(),
            links: links.filter(is_below).cloned().collect(),
        }
    }
}
