//! Reads files that decide what a session does (settings, servers, hooks, roles) as they were before the commands that run
//! there now. A command of another session may change such a file for as long as it runs; a session that begins meanwhile
//! must not obey what it wrote.

use super::record::{Records, Turn};
use super::watch::{Kept, Watch};
use ostler_files::{Border, Content, Error, Kind, Result, Stat};
use ostler_files::{admit, read_bounded};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Folders in which the sessions of this account write down the state before commands. A fact of the process, like the
/// home that it is in; where it is not set, files are read as they are.
static RECORDS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Says where sessions write down the state before commands, once and before a project is read.
pub fn set_records(folders: Vec<PathBuf>) {
    // The folders of a process do not change.
    let _ = RECORDS.set(folders);
}

pub(super) fn records_folders() -> &'static [PathBuf] {
    RECORDS.get().map(Vec::as_slice).unwrap_or_default()
}

/// A regular file as `read_bounded` reads it, or as it was before the commands that run now.
pub fn read_unchanged(path: &Path, most: u64, border: &Border) -> Result<Content> {
    read_beside(records_folders(), path, most, border)
}

fn read_beside(folders: &[PathBuf], path: &Path, most: u64, border: &Border) -> Result<Content> {
    let there = |folder: &&PathBuf| folder.is_dir();
    loop {
        let present: Vec<&PathBuf> = folders.iter().filter(there).collect();
        // While these are held no command begins, so what is not written down is as the person left it.
        let turns: Vec<(Records, Turn)> = present
            .iter()
            .filter_map(|folder| {
                let records = Records::new((*folder).clone());
                let turn = records.turn().ok()?;
                Some((records, turn))
            })
            .collect();
        let before = turns.iter().find_map(|(records, turn)| {
            let live = records.live(&BTreeSet::new(), turn);
            live.iter().find_map(|one| before(&one.watch, path))
        });
        let read = match before {
            Some(before) => remembered(before, path, most, border),
            None => read_bounded(path, most, border),
        };
        // The first command of all began meanwhile.
        if folders.iter().filter(there).count() == present.len() {
            return read;
        }
    }
}

/// What was at a path.
enum Before {
    Missing,
    File(Vec<u8>, u32),
    Folder,
    /// A link, with the folder that really held it.
    Link {
        target: PathBuf,
        folder: PathBuf,
    },
    /// It was not remembered what was in it.
    Unread,
    Other,
}

/// What a watch remembers of a path; nothing if it is about other paths.
fn before(watch: &Watch, path: &Path) -> Option<Before> {
    let (root, place) = watch
        .roots
        .iter()
        .find(|(root, _)| path.starts_with(root))?;
    let is_unseen = || watch.partial.iter().any(|part| path.starts_with(part));
    let below = path.strip_prefix(root).unwrap_or(Path::new(""));
    let real = place.join(below);
    Some(match watch.before.get(path) {
        Some(Kept::File { bytes, mode }) => Before::File(bytes.clone(), *mode),
        Some(Kept::Folder) => Before::Folder,
        Some(Kept::Link(target)) => Before::Link {
            target: target.clone(),
            folder: real.parent().unwrap_or(&real).to_owned(),
        },
        Some(Kept::Unread(_)) => Before::Unread,
        Some(Kept::Other) => Before::Other,
        None if is_unseen() => Before::Unread,
        None => Before::Missing,
    })
}

fn remembered(before: Before, path: &Path, most: u64, border: &Border) -> Result<Content> {
    let named = || path.to_path_buf();
    match before {
        Before::Missing => Err(Error::NotFound { path: named() }),
        Before::Folder => Err(Error::IsDirectory { path: named() }),
        Before::Other => Err(Error::NotRegular { path: named() }),
        Before::Link { target, folder } => read_bounded(&folder.join(target), most, border),
        Before::Unread => read_bounded(path, most, border),
        Before::File(mut bytes, mode) => {
            admit(border, path)?;
            let len = bytes.len() as u64;
            bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
            Ok(Content {
                truncated: len > most,
                bytes: bytes.into(),
                stat: Stat {
                    path: named(),
                    kind: Kind::File,
                    len,
                    modified: None,
                    mode: Some(mode),
                },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::SystemTime;

    fn text(folder: &Path, path: &Path) -> std::result::Result<String, String> {
        let read = read_beside(&[folder.to_owned()], path, 100, &Border::none());
        match read {
            Ok(read) => Ok(String::from_utf8_lossy(&read.bytes).into_owned()),
            Err(Error::NotFound { .. }) => Err("not found".into()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    /// What a running command makes of settings is not what a session that begins meanwhile reads.
    #[test]
    fn settings_are_those_before_the_commands_that_run() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let tree = top.join("tree");
        fs::create_dir_all(tree.join("agents")).unwrap();
        for (name, content) in [
            ("set", "mine"),
            ("gone", "mine"),
            ("agents/a", "a"),
            ("free", "x"),
        ] {
            fs::write(tree.join(name), content).unwrap();
        }
        std::os::unix::fs::symlink("free", tree.join("link")).unwrap();
        let folder = top.join("records");
        let read = |name: &str| text(&folder, &tree.join(name));
        // No session has ever run a command: nothing is made for looking.
        assert_eq!(read("set").as_deref(), Ok("mine"));
        assert!(!folder.exists());
        let records = Records::new(folder.clone());
        let roots = ["set", "gone", "new", "agents", "link"].map(|name| tree.join(name));
        let watch = Watch::new(&roots);
        let turn = records.turn().unwrap();
        let record = records
            .write(&tree, SystemTime::now(), &watch, &turn)
            .unwrap();
        drop(turn);
        for name in ["set", "new", "agents/a", "agents/b", "free"] {
            fs::write(tree.join(name), "evil").unwrap();
        }
        fs::remove_file(tree.join("gone")).unwrap();
        fs::remove_file(tree.join("link")).unwrap();
        fs::write(tree.join("link"), "evil").unwrap();
        for (name, expect) in [
            ("set", Ok("mine")),
            ("gone", Ok("mine")),
            ("new", Err("not found")),
            ("agents/a", Ok("a")),
            ("agents/b", Err("not found")),
            // Whatever is no setting is the command's to change.
            ("free", Ok("evil")),
            ("link", Ok("evil")),
        ] {
            assert_eq!(
                read(name).as_deref().map_err(String::as_str),
                expect,
                "{name}"
            );
        }
        // The command has ended, and what was not put back counts.
        drop(record);
        assert_eq!(read("set").as_deref(), Ok("evil"));
        assert_eq!(read("new").as_deref(), Ok("evil"));
    }
}
