//! Which entries of a tree are ignored, by `.ignore`, `.gitignore` and `.git/info/exclude`. A project brings these files, so
//! each is read by the bounded reader: one that is a device, a pipe or too large counts as absent. It walks nothing.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ostler_files::border::Border;
use ostler_files::read_bounded;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Bytes of one file.
const MAX_BYTES: u64 = 1 << 20;
/// Bytes of all files of one walk; what comes after them counts as absent.
const MAX_TOTAL_BYTES: u64 = 16 << 20;
/// Lines of one file.
const MAX_LINES: usize = 10_000;
const GIT: &str = ".git";

/// The ignore files of the folders that a walk comes to, each read once.
pub struct Ignored {
    /// The highest folder whose files count.
    top: PathBuf,
    levels: RwLock<HashMap<PathBuf, Arc<Level>>>,
    read: AtomicU64,
}

/// What a folder and those above it say.
struct Level {
    ignore: Option<Gitignore>,
    git_ignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// A repository begins here: what stands above says nothing of its files.
    is_repository: bool,
    above: Option<Arc<Level>>,
}

impl Ignored {
    /// For a walk that begins at `base`. Files count from the repository that holds the base, else from the root, else from
    /// the base itself.
    pub fn new(base: &Path, root: &Path) -> Self {
        let repository = base.ancestors().find(|dir| dir.join(GIT).exists());
        let top = match repository {
            Some(dir) => dir,
            None if base.starts_with(root) => root,
            None => base,
        };
        Self {
            top: top.to_owned(),
            levels: RwLock::default(),
            read: AtomicU64::new(0),
        }
    }

    /// Whether an entry below the base is ignored. Folders above it were looked at before.
    pub fn holds(&self, path: &Path, is_folder: bool) -> bool {
        let Some(folder) = path.parent() else {
            return false;
        };
        let level = self.level(folder);
        let mut found: [Option<bool>; 3] = [None; 3];
        let mut next = Some(&level);
        let mut in_repository = true;
        while let Some(level) = next {
            let files = [&level.ignore, &level.git_ignore, &level.exclude];
            for (at, (file, found)) in files.into_iter().zip(&mut found).enumerate() {
                let Some(file) = file.as_ref().filter(|_| at == 0 || in_repository) else {
                    continue;
                };
                let says = match file.matched(path, is_folder) {
                    Match::None => None,
                    Match::Ignore(_) => Some(true),
                    Match::Whitelist(_) => Some(false),
                };
                *found = found.or(says);
            }
            in_repository &= !level.is_repository;
            next = level.above.as_ref();
        }
        found.into_iter().flatten().next().unwrap_or(false)
    }

    fn level(&self, folder: &Path) -> Arc<Level> {
        let known = self.levels.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = known.get(folder) {
            return level.clone();
        }
        drop(known);
        let above = match folder.parent() {
            Some(above) if folder != self.top && above.starts_with(&self.top) => {
                Some(self.level(above))
            }
            Some(_) | None => None,
        };
        let level = Arc::new(self.look(folder, above));
        let mut known = self.levels.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(folder.to_owned()).or_insert(level).clone()
    }

    fn look(&self, folder: &Path, above: Option<Arc<Level>>) -> Level {
        let git = folder.join(GIT);
        let is_repository = git.exists();
        Level {
            ignore: self.file(folder, &folder.join(".ignore")),
            git_ignore: self.file(folder, &folder.join(".gitignore")),
            exclude: is_repository
                .then(|| self.file(folder, &git.join("info/exclude")))
                .flatten(),
            is_repository,
            above,
        }
    }

    fn file(&self, folder: &Path, path: &Path) -> Option<Gitignore> {
        let left = MAX_TOTAL_BYTES.saturating_sub(self.read.load(Ordering::Relaxed));
        let most = MAX_BYTES.min(left);
        let read = read_bounded(path, most, &Border::none()).ok()?;
        if read.truncated {
            return None;
        }
        self.read
            .fetch_add(read.bytes.len() as u64, Ordering::Relaxed);
        let text = String::from_utf8_lossy(&read.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.lines().take(MAX_LINES) {
            // A line that is no pattern says nothing; the others count.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|file| !file.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    fn check(files: &[(&str, &str)], expect: &[(&str, bool)]) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(&root, files);
        let ignored = Ignored::new(&root, &root);
        for (path, holds) in expect {
            let is_folder = path.ends_with('/');
            let path = root.join(path.trim_end_matches('/'));
            assert_eq!(ignored.holds(&path, is_folder), *holds, "{path:?}");
        }
    }

    #[test]
    fn the_nearest_file_and_the_strongest_kind_decide() {
        check(
            &[
                (".git/info/exclude", "private\n"),
                (
                    ".gitignore",
                    "\u{feff}target/\n*.log\n!keep.log\n/only-here\n",
                ),
                (".ignore", "!seen.log\nunseen\n"),
                ("sub/.gitignore", "!again.log\nlocal\n"),
                ("nested/.git/HEAD", "x"),
                ("nested/.gitignore", "inner\n"),
            ],
            &[
                ("target/", true),
                ("target", false),
                ("a.log", true),
                ("keep.log", false),
                ("seen.log", false),
                ("unseen", true),
                ("private", true),
                ("only-here", true),
                ("sub/only-here", false),
                ("sub/a.log", true),
                ("sub/again.log", false),
                ("sub/local", true),
                ("local", false),
                ("nested/a.log", false),
                ("nested/unseen", true),
                ("nested/inner", true),
            ],
        );
    }

    #[test]
    fn a_base_below_the_repository_has_the_files_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(
            &root,
            &[(".git/HEAD", "x"), (".gitignore", "*.log\n"), ("a/b/c", "")],
        );
        let ignored = Ignored::new(&root.join("a/b"), &root.join("a"));
        assert!(ignored.holds(&root.join("a/b/x.log"), false));
        assert!(!ignored.holds(&root.join("a/b/c"), false));
    }

    #[cfg(unix)]
    #[test]
    fn devices_pipes_and_floods_count_as_absent() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(
            &root,
            &[
                ("flood/.gitignore", &"x\n".repeat(1 << 20)),
                ("pipe/a", ""),
                ("zero/a", ""),
            ],
        );
        let pipe = root.join("pipe/.gitignore");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", root.join("zero/.ignore")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join("zero/.gitignore")).unwrap();
        std::os::unix::fs::symlink("/dev/tty", root.join(".gitignore")).unwrap();
        let ignored = Ignored::new(&root, &root);
        for folder in ["flood", "pipe", "zero"] {
            assert!(!ignored.holds(&root.join(folder).join("x"), false));
        }
    }
}
