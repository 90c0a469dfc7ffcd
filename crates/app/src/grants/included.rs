//! Files of settings that git reads because others include them. Those that lie where commands and tools write decide what
//! the person's git runs, like the settings of the repository. Reads the disk, changes nothing.

use super::git::Git;
use crate::boot::Boot;
use ostler_config::paths::absolute;
use ostler_host::sandbox::included_settings;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Most files that are read.
const MAX_FILES: usize = 256;
/// Most bytes of one.
const MAX_SETTINGS: u64 = 256 << 10;
/// Settings of the person and of the machine, which may include files of a project.
const OF_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];
const OF_MACHINE: &str = "/etc/gitconfig";

/// Included files below these folders, whatever the condition of the include is.
pub fn find(boot: &Boot, roots: &[PathBuf]) -> Vec<PathBuf> {
    let home = boot.places.user_home.as_deref();
    let git = Git::of_all(roots);
    let mut open: VecDeque<PathBuf> = git.settings.into();
    let own = git.protect.into_iter();
    open.extend(own.filter(|path| path.ends_with("config.worktree")));
    open.extend(OF_PERSON.iter().filter_map(|name| Some(home?.join(name))));
    let xdg = boot.env.get("XDG_CONFIG_HOME").map(Path::new);
    open.extend(xdg.map(|folder| folder.join("git/config")));
    open.push_back(OF_MACHINE.into());
    let inside = |path: &Path| {
        let real = ostler_host::real_path(path);
        let is_below = |root: &PathBuf| {
            let real_root = ostler_host::real_path(root);
            (path.starts_with(root) && path != root)
                || (real.starts_with(&real_root) && real != real_root)
        };
        roots.iter().any(is_below)
    };
    follow(open, home)
        .into_iter()
        .filter(|path| inside(path))
        .collect()
}

/// All files that these include, and those that they include.
fn follow(mut open: VecDeque<PathBuf>, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut read = BTreeSet::new();
    while let Some(file) = open.pop_front() {
        if read.len() >= MAX_FILES || !read.insert(file.clone()) {
            continue;
        }
        let border = ostler_host::Border::none();
        let Ok(text) = ostler_host::read_bounded(&file, MAX_SETTINGS, &border) else {
            continue;
        };
        let folder = file.parent().unwrap_or(&file);
        for written in included_settings(&text.bytes) {
            let path = absolute(&written, folder, home);
            open.push_back(path.clone());
            found.insert(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn includes_are_followed_on_whatever_condition() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let put = |name: &str, text: &str| {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("p/.git/config", "[include]\n\tpath = ../.gitconfig\n");
        put(
            "p/.gitconfig",
            "[includeIf \"gitdir:~/x/\"]\n\tpath = more/a\n\tpath = ~/b\n",
        );
        put(
            "p/more/a",
            "[include]\n\tpath = ../.gitconfig\n\tpath = none\n",
        );
        let start = VecDeque::from([top.join("p/.git/config")]);
        let found = follow(start, Some(&top.join("home")));
        let names = ["p/.gitconfig", "p/more/a", "p/more/none", "home/b"];
        assert_eq!(found, names.map(|name| top.join(name)).into());
    }
}
