//! The originals of what was folded: one message a line, as the log has them, for whoever wants to look something up.

use ostler_host::{Depth, Pattern};
use ostler_wire::{Body, Entry};
use std::borrow::Borrow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const ENDING: &str = ".jsonl";

/// The file for a fold of this session now.
pub fn path(home: &Path, session: &str) -> PathBuf {
    let now: String = ostler_store::log::now()
        .chars()
        .filter(|c| !matches!(c, ':' | '.'))
        .collect();
    folder(home).join(format!("{now}{}", ending(session)))
}

/// Removes what was kept of a session that is deleted.
pub fn forget(home: &Path, session: &str) {
    let Ok(files) = std::fs::read_dir(folder(home)) else {
        return;
    };
    let ending = ending(session);
    for file in files.flatten() {
        let name = file.file_name();
        if !session.is_empty() && name.to_string_lossy().ends_with(&ending) {
            // One that stays is of no use to anybody, and of no harm.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Removes the oldest until the rest fits, but for those of this session: its digests name them. Logs have it all.
pub fn trim(home: &Path, session: &str, quota: u64) {
    let Ok(files) = std::fs::read_dir(folder(home)) else {
        return;
    };
    let mut all: Vec<(String, PathBuf, u64)> = Vec::new();
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if let Ok(meta) = file.metadata()
            && meta.is_file()
            && name.ends_with(ENDING)
        {
            all.push((name, file.path(), meta.len()));
        }
    }
    // A name begins with its time.
    all.sort();
    let mut total: u64 = all.iter().map(|(_, _, size)| size).sum();
    let own = ending(session);
    for (name, path, size) in all {
        if total <= quota {
            return;
        }
        if !name.ends_with(&own) && std::fs::remove_file(&path).is_ok() {
            total -= size;
        }
    }
}

fn folder(home: &Path) -> PathBuf {
    home.join("archive")
}

/// The files of this session, as a border has them.
pub fn own_files(home: &Path, session: &str) -> Pattern {
    Pattern {
        base: ostler_host::real_path(&folder(home)),
        glob: format!("*{}", ending(session)),
        depth: Depth::FromBase,
        rule: "the session's own archive".into(),
    }
}

fn ending(session: &str) -> String {
    format!("-{session}{ENDING}")
}

/// Writes what is a message, a call or a result. Only the person may read it.
pub fn write<E: Borrow<Entry>>(path: &Path, entries: &[E]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        ostler_host::private_dir(dir)?;
    }
    let mut text = String::new();
    for entry in entries {
        let entry: &Entry = entry.borrow();
        if is_message(&entry.body) {
            text.push_str(&entry.to_line()?);
            text.push('\n');
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        // Half of it would look like all of it.
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(())
}

fn is_message(body: &Body) -> bool {
    matches!(
        body,
        Body::Message(_) | Body::ToolUse(_) | Body::ToolResult(_) | Body::Interrupted(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_others_go_first() {
        let all = [
            "2026-01-02T000000000Z-a.jsonl",
            "2026-01-01T000000000Z-own.jsonl",
            "2026-01-03T000000000Z-b.jsonl",
            "2025-12-31T000000000Z-a.jsonl",
            "notes.txt",
        ];
        for (quota, gone) in [
            (400, vec![]),
            (399, vec![3]),
            (300, vec![3]),
            (299, vec![0, 3]),
            (100, vec![0, 2, 3]),
            // What the running session may need stays, whatever it takes.
            (0, vec![0, 2, 3]),
        ] {
            let home = tempfile::tempdir().unwrap();
            let dir = folder(home.path());
            std::fs::create_dir(&dir).unwrap();
            for name in all {
                std::fs::write(dir.join(name), [b'x'; 100]).unwrap();
            }
            trim(home.path(), "own", quota);
            let is_gone = |i: &usize| !dir.join(all[*i]).exists();
            let found: Vec<usize> = (0..all.len()).filter(is_gone).collect();
            assert_eq!(found, gone, "{quota}");
        }
    }
}
