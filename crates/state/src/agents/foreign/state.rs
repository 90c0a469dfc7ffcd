//! The state of another agent's program, in the person's home: what it may change of it, and what is put back. The next run
//! of the program, which the person starts, obeys its settings, hooks and skills, and nothing confines it.

use ostler_store::artifacts::Artifacts;
use ostler_tools::sandbox_report::Change;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most entries at the top of a folder that are remembered.
const MAX_ENTRIES: usize = 4096;
/// Most bytes of a file that are kept before it is taken out.
const MAX_KEPT: u64 = 1 << 20;

/// A folder or file of an agent's own state. All paths are real ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
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

    pub fn path(&self) -> &Path {
        &self.state.path
    }

    pub fn is_of(&self, other: &Self) -> bool {
        self.state.path == other.state.path
    }

    /// Takes out what is new and is none of what the agent may make. A link may be made under no name: the person's next
    /// run would write through it. Files are kept aside.
    /// `label` tells the files of several folders apart.
    pub fn clean(&self, artifacts: Option<&Artifacts>, label: usize) -> Vec<Change> {
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
        self.what_is_new().iter().enumerate().map(out).collect()
    }

    fn what_is_new(&self) -> Vec<OsString> {
        let mut new = entries(&self.state.path);
        new.retain(|name| {
            let is_link = self.state.path.join(name).is_symlink();
            !self.before.contains(name) && (is_link || !self.state.may_be(name))
        });
        new.into_iter().collect()
    }

    /// The same long after: what the person's own run has made since is not known from it, so all of it is moved.
    fn set_aside(&self, to: &Path) -> Vec<Change> {
        let mut changes = Vec::new();
        for name in self.what_is_new() {
            let (path, kept) = (self.state.path.join(&name), to.join(&name));
            let moved = ostler_host::private_dir(to).and_then(|()| fs::rename(&path, &kept));
            changes.push(Change {
                aside: moved.is_ok().then_some(kept),
                undone: moved.is_ok(),
                path,
                refused: Vec::new(),
                unseen: false,
            });
        }
        changes
    }
}

/// Folder beside the records of sessions, with a file for each task that may change the top of a folder of state.
const RECORDS: &str = "agents";
const ENDING: &str = "json";
/// Most such files that are looked at, and most bytes of one.
const MAX_RECORDS: usize = 256;
const MAX_RECORD: u64 = 4 << 20;

/// Tells the records of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What was there before a task, on disk and locked until it is over: whoever finds it unlocked puts back.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    _locked: File,
}

impl Record {
    /// None where nothing is to be remembered.
    pub fn write(records: &Path, tops: &[Top]) -> io::Result<Option<Self>> {
        if tops.is_empty() {
            return Ok(None);
        }
        let folder = records.join(RECORDS);
        ostler_host::private_dir(&folder)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
        let now = now.unwrap_or_default().as_nanos();
        let name = format!("{}-{number}-{now}", std::process::id());
        let (temp, path) = (folder.join(&name), folder.join(name + "." + ENDING));
        let mut file = ostler_host::private_options()
            .write(true)
            .create_new(true)
            .open(&temp)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(tops).map_err(io::Error::other)?)?;
        // It is locked and whole before anybody looks for it.
        fs::rename(&temp, &path)?;
        Ok(Some(Self {
            path,
            _locked: file,
        }))
    }

    /// The task is over, and its traces were looked at.
    pub fn remove(self) {
        // One that stays is looked at once more by the next session.
        let _ = fs::remove_file(&self.path);
    }
}

/// Moves aside what agents left at the top of their state in tasks of sessions that were killed. Blocks.
pub fn recover(records: &Path) -> Vec<Change> {
    let folder = records.join(RECORDS);
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut changes = Vec::new();
    for path in files.take(MAX_RECORDS).map(|entry| entry.path()) {
        let is_record = path.extension().is_some_and(|ending| ending == ENDING);
        let Some(file) = is_record.then(|| File::open(&path).ok()).flatten() else {
            continue;
        };
        // Whoever has it locked is at work.
        if file.try_lock().is_err() || !path.exists() {
            continue;
        }
        let is_fit = file.metadata().is_ok_and(|meta| meta.len() <= MAX_RECORD);
        let text = is_fit.then(|| fs::read(&path).ok()).flatten();
        let tops = text.and_then(|text| serde_json::from_slice::<Vec<Top>>(&text).ok());
        let aside = path.with_extension("aside");
        for (number, top) in tops.unwrap_or_default().iter().enumerate() {
            changes.extend(top.set_aside(&aside.join(number.to_string())));
        }
        let _ = fs::remove_file(&path);
    }
    changes
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
    fn what_a_killed_session_left_is_moved_aside_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let (top, records) = (dir.path().join("state"), dir.path().join("running"));
        fs::create_dir(&top).unwrap();
        fs::write(top.join("mine.toml"), "mine").unwrap();
        let state = OwnState {
            path: top.clone(),
            makes: vec!["*.db".into()],
            ..OwnState::default()
        };
        let tops = [Top::of(&state).unwrap()];
        let record = Record::write(&records, &tops).unwrap().unwrap();
        fs::create_dir(top.join("plugins")).unwrap();
        fs::write(top.join("plugins/evil"), "evil").unwrap();
        fs::write(top.join("hooks.json"), "evil").unwrap();
        fs::write(top.join("a.db"), "").unwrap();
        // It is at work.
        assert_eq!(recover(&records).len(), 0);
        assert!(top.join("hooks.json").exists());
        drop(record);
        let changes = recover(&records);
        let paths: Vec<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
        assert_eq!(paths, [top.join("hooks.json"), top.join("plugins")]);
        let left = BTreeSet::from(["a.db", "mine.toml"].map(OsString::from));
        assert_eq!(entries(&top), left);
        let aside = changes[1].aside.as_ref().unwrap();
        assert_eq!(fs::read(aside.join("evil")).unwrap(), b"evil");
        assert_eq!(recover(&records).len(), 0, "once");
        // A task that ended leaves nothing to do.
        Record::write(&records, &tops).unwrap().unwrap().remove();
        fs::write(top.join("later.json"), "the person's").unwrap();
        assert_eq!(recover(&records).len(), 0);
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
