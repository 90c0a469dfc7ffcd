//! The state of another agent's program, in the person's home: what it may change of it, and what is put back. The next run
//! of the program, which the person starts, obeys its settings, hooks and skills, and nothing confines it.

use ostler_store::artifacts::Artifacts;
use ostler_tools::sandbox_report::Change;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most entries at the top of a folder that are remembered.
const MAX_ENTRIES: usize = 4096;
/// Most bytes of a file that are kept before it is taken out.
const MAX_KEPT: u64 = 1 << 20;

/// A folder or file of an agent's own state. All paths are real ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnState {
    pub path: PathBuf,
    /// What in it the agent changes.
    pub writable: Vec<PathBuf>,
    /// Inside of that, what stays as it is.
    pub kept: Vec<PathBuf>,
    /// Folders that are empty for it, and its own, where folders can be mounted; elsewhere they are put back.
    pub private: Vec<PathBuf>,
    /// Files that it makes at the top, as names in which `*` stands for anything. With any, the folder itself is writable,
    /// and whatever else changes at its top is put back.
    pub makes: Vec<String>,
    /// What is watched at that top even where it does not exist.
    pub deciding: Vec<PathBuf>,
}

impl OwnState {
    /// What the sandbox lets it change.
    pub fn open(&self) -> Vec<PathBuf> {
        match self.makes.is_empty() {
            true => self
                .writable
                .iter()
                .filter(|it| it.exists())
                .cloned()
                .collect(),
            // A link in it may be one that an earlier run left.
            false => vec![self.path.clone()],
        }
    }

    /// What of that stays as it is.
    pub fn fixed(&self) -> Vec<PathBuf> {
        let mut fixed = self.kept.clone();
        if self.makes.is_empty() {
            return fixed;
        }
        fixed.extend(self.deciding.iter().cloned());
        let names = entries(&self.path);
        let others = names.iter().filter(|name| !self.may_be(name));
        fixed.extend(others.map(|name| self.path.join(name)));
        fixed.retain(|path| !self.private.contains(path));
        fixed.sort();
        fixed.dedup();
        fixed
    }

    /// Whether the agent may make or change an entry of this name at the top.
    fn may_be(&self, name: &OsStr) -> bool {
        let is_named = |path: &PathBuf| {
            let inner = path.strip_prefix(&self.path);
            inner.is_ok_and(|inner| inner.starts_with(Path::new(name)))
        };
        let fits = |pattern: &String| name.to_str().is_some_and(|name| fits(pattern, name));
        self.writable.iter().any(is_named) || self.makes.iter().any(fits)
    }
}

/// A folder of state that is writable itself, and what it had.
#[derive(Debug)]
pub struct Top {
    state: OwnState,
    before: BTreeSet<OsString>,
}

impl Top {
    /// None where the top is not writable.
    pub fn of(state: &OwnState) -> Option<Self> {
        (!state.makes.is_empty()).then(|| Self {
            before: entries(&state.path),
            state: state.clone(),
        })
    }

    pub fn is_of(&self, other: &Self) -> bool {
        self.state.path == other.state.path
    }

    /// Takes out what is new and is none of what the agent may make. A link may be made under no name: the person's next
    /// run would write through it. Files are kept aside.
    /// `label` tells the files of several folders apart.
    pub fn clean(&self, artifacts: Option<&Artifacts>, label: usize) -> Vec<Change> {
        let new = entries(&self.state.path);
        let new = new.difference(&self.before).filter(|name| {
            let is_link = self.state.path.join(name).is_symlink();
            is_link || !self.state.may_be(name)
        });
        let out = |(number, name): (usize, &OsString)| {
            let path = self.state.path.join(name);
            let keep = |bytes: Vec<u8>| {
                artifacts?
                    .keep(&format!("state-{label}-{number}"), &bytes)
                    .ok()
            };
            Change {
                aside: read(&path).and_then(keep),
                undone: remove(&path).is_ok(),
                path,
                refused: Vec::new(),
                unseen: false,
            }
        };
        new.enumerate().map(out).collect()
    }
}

fn entries(folder: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take(MAX_ENTRIES)
        .map(|entry| entry.file_name())
        .collect()
}

/// The text of a regular file that is not too long.
fn read(path: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_fit = found.is_file() && found.len() <= MAX_KEPT;
    is_fit.then(|| fs::read(path).ok()).flatten()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Whether a name is one of a pattern, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(left) = name.strip_prefix(head) else {
        return false;
    };
    let ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
    ends.into_iter()
        .any(|at| fits(rest, left.get(at..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, expect) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*.sqlite", "state_5.sqlite", true),
            ("*.sqlite", "state_5.sqlite-wal", false),
            ("x*y*", "x1y2", true),
            ("x*y*", "x1z2", false),
            ("projects.json*", "projects.json", true),
        ] {
            assert_eq!(fits(pattern, name), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn only_what_is_named_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["sessions", "skills"] {
            fs::create_dir(top.join(folder)).unwrap();
        }
        fs::write(top.join("auth.json"), "").unwrap();
        let narrow = OwnState {
            path: top.clone(),
            writable: vec![top.join("sessions"), top.join("gone.json")],
            deciding: vec![top.join("hooks")],
            ..OwnState::default()
        };
        assert_eq!(narrow.open(), [top.join("sessions")]);
        assert!(narrow.fixed().is_empty() && Top::of(&narrow).is_none());
        let wide = OwnState {
            makes: vec!["*.db".into()],
            ..narrow
        };
        assert_eq!(wide.open(), std::slice::from_ref(&top));
        let fixed = ["auth.json", "hooks", "skills"].map(|name| top.join(name));
        assert_eq!(wide.fixed(), fixed);
        let before = Top::of(&wide).unwrap();
        for name in ["a.db", "gone.json", "odd.json"] {
            fs::write(top.join(name), name).unwrap();
        }
        fs::create_dir(top.join("plugins-2")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", top.join("b.db")).unwrap();
        let aside = Artifacts::new(dir.path().join("aside"));
        let changes = before.clean(Some(&aside), 0);
        let paths: Vec<&PathBuf> = changes.iter().map(|change| &change.path).collect();
        let expect = ["b.db", "odd.json", "plugins-2"].map(|name| top.join(name));
        assert_eq!(paths, expect.iter().collect::<Vec<_>>());
        assert!(
            changes
                .iter()
                .all(|change| change.undone && !change.path.exists())
        );
        assert!(changes[1].aside.is_some() && top.join("a.db").exists());
    }
}
