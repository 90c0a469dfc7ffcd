//! Places outside of the project that are the commands' own, such as their caches, as far as links of the project lead there.
//! Whoever follows such a link and asks git stands in a folder that a command has filled: repositories there and above are
//! looked into like those of the project, and nothing in them is the person's, however old it is.

use super::{Ground, Repositories, Tampered, changed};
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders that links may lead to, with those above them.
const MAX_LINKED: usize = 256;
/// Folders that are looked at in each of them.
const MAX_FOLDERS: usize = 2048;

impl Repositories {
    /// For commands that have these folders for themselves.
    pub fn with_folders_of_commands(self, folders: &[PathBuf]) -> Self {
        let real = |folder: &PathBuf| fs::canonicalize(folder).ok();
        Self {
            of_commands: folders.iter().filter_map(real).collect(),
            ..self
        }
    }

    /// What lies where links lead and would make git run something.
    pub(super) fn check_linked(&mut self, since: SystemTime) -> Vec<Tampered> {
        if self.of_commands.is_empty() {
            return Vec::new();
        }
        let mut old = std::mem::take(&mut self.linked);
        let mut found = Vec::new();
        let mut open = VecDeque::from(self.links());
        let mut followed = BTreeSet::new();
        while let Some(link) = open.pop_front() {
            let Some(target) = self.target(&link) else {
                continue;
            };
            if !followed.insert(target.clone()) {
                continue;
            }
            let is_new = changed(&link).is_none_or(|at| at >= since);
            for (folder, ground) in self.folders_for(&target) {
                if self.linked.len() >= MAX_LINKED {
                    self.missed.insert(self.root.clone());
                    return found;
                }
                let is_done = |one: &Repositories| one.ground == ground || ground == Ground::Folder;
                if self.linked.get(&folder).is_some_and(is_done) {
                    continue;
                }
                let one = old.remove(&folder).filter(|one| one.ground == ground);
                let mut one = one.unwrap_or_else(|| {
                    Self::of(folder.clone(), ground).with_home(self.home.clone())
                });
                found.extend(one.check_some(SystemTime::UNIX_EPOCH, MAX_FOLDERS));
                if is_new && !one.missed.is_empty() {
                    self.missed.insert(link.clone());
                }
                open.extend(one.links());
                self.linked.insert(folder, one);
            }
        }
        found
    }

    /// The one that holds a path outside of the project.
    pub(super) fn linked_above(&self, path: &Path) -> Option<&Self> {
        let mut above = path
            .ancestors()
            .filter_map(|folder| self.linked.get(folder));
        above.next().filter(|_| !path.starts_with(&self.root))
    }

    fn links(&self) -> Vec<PathBuf> {
        let all = self.folders.values().flat_map(|seen| seen.links.iter());
        all.cloned().collect()
    }

    /// The folder of the commands that a link leads to.
    fn target(&self, link: &Path) -> Option<PathBuf> {
        let target = fs::canonicalize(link).ok()?;
        let is_theirs = self.of_commands.iter().any(|top| target.starts_with(top));
        (is_theirs && !target.starts_with(&self.root) && target.is_dir()).then_some(target)
    }

    /// Where git finds a repository from a folder on: in what lies below, and in each folder above.
    fn folders_for(&self, target: &Path) -> Vec<(PathBuf, Ground)> {
        // What holds the project holds what is the person's.
        let whole = match self.root.starts_with(target) {
            true => Ground::Folder,
            false => Ground::Project,
        };
        let mut all = vec![(target.to_owned(), whole)];
        let is_theirs = |folder: &&Path| self.of_commands.iter().any(|top| folder.starts_with(top));
        let above = target.ancestors().skip(1).take_while(is_theirs);
        all.extend(above.map(|folder| (folder.to_owned(), Ground::Folder)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{EVIL, repository};
    use super::*;
    use std::os::unix::fs::symlink;

    /// What is found with a link of the project to a folder of the commands' cache, below the cache, after a minute.
    fn found(make: impl Fn(&Path), target: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (project, cache) = (top.join("project"), top.join("cache"));
        for folder in [&project.join("old"), &cache.join("a/b")] {
            fs::create_dir_all(folder).unwrap();
        }
        make(&cache);
        symlink(cache.join(target), project.join("old/link")).unwrap();
        let mut all =
            Repositories::new(&project).with_folders_of_commands(std::slice::from_ref(&cache));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let found = all.check(later);
        for one in &found {
            assert!(all.read(&one.path, 1 << 20).is_some());
            all.mend(one).unwrap();
        }
        assert_eq!(all.check(later), [], "mended");
        let name = |one: &Tampered| one.path.strip_prefix(&cache).unwrap().display().to_string();
        found.iter().map(name).collect()
    }

    #[test]
    fn repositories_behind_links_to_the_commands_folders_run_nothing() {
        let at = |name: &'static str| move |cache: &Path| repository(cache, name, EVIL);
        for (place, target, expect) in [
            ("a/b/.git", "a/b", &["a/b/.git/config"][..]),
            ("a/b", "a/b", &["a/b/config"]),
            ("a/b/c/.git", "a/b", &["a/b/c/.git/config"]),
            ("a/.git", "a/b", &["a/.git/config"]),
            (".git", "a/b", &[".git/config"]),
            (".", "a/b", &["config"]),
            ("a/b/.git", "a/b/.git", &["a/b/.git/config"]),
            // Nobody comes there by the link.
            ("x/.git", "a/b", &[]),
            ("a/c/.git", "a/b", &[]),
        ] {
            assert_eq!(found(at(place), target), expect, "{place} by {target}");
        }
    }

    #[test]
    fn a_link_behind_a_link_is_followed_too() {
        let make = |cache: &Path| {
            repository(cache, "far/.git", EVIL);
            symlink(cache.join("far"), cache.join("a/b/on")).unwrap();
            symlink("../b", cache.join("a/b/round")).unwrap();
        };
        assert_eq!(found(make, "a/b"), ["far/.git/config"]);
    }
}
