//! The files of roles and skills that a person or a project has: which there are, and what in one of them grants something.
//! It does not know what the rest of a file means.

use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Files of one folder.
const MAX_FILES: usize = 500;
/// Entries of one folder that are looked at, so that which ones count does not depend on their order on the disk.
const MAX_SEEN: usize = 5_000;
/// Folders below each other that are looked into.
const MAX_DEPTH: usize = 2;

/// The file that makes a folder a skill.
pub const SKILL: &str = "SKILL.md";

const FENCE: &str = "---";

/// What is looked for in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `*.md`
    Roles,
    /// `*/SKILL.md`
    Skills,
}

/// The files of a folder, sorted, and how many there are beyond those that count.
pub fn files(folder: &Path, wanted: Wanted) -> (Vec<PathBuf>, usize) {
    let mut out = Vec::new();
    gather(folder, wanted, 0, &mut out);
    out.sort();
    let surplus = out.len().saturating_sub(MAX_FILES);
    out.truncate(MAX_FILES);
    (out, surplus)
}

fn gather(folder: &Path, wanted: Wanted, depth: usize, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten().take(MAX_SEEN) {
        if out.len() >= MAX_SEEN {
            return;
        }
        let path = entry.path();
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        // People link their skills in; whether a link may be followed is seen when it is read.
        match (wanted, path.is_dir()) {
            (Wanted::Skills, true) if is_hidden => {}
            (Wanted::Skills, true) => {
                let skill = path.join(SKILL);
                match skill.symlink_metadata() {
                    Ok(_) => out.push(skill),
                    Err(_) if depth + 1 < MAX_DEPTH => gather(&path, wanted, depth + 1, out),
                    Err(_) => {}
                }
            }
            (Wanted::Roles, false) if path.extension().is_some_and(|e| e == "md") => out.push(path),
            (Wanted::Roles, _) | (Wanted::Skills, false) => {}
        }
    }
}

/// What follows the front matter of a text; nothing where its end is missing.
pub fn body(text: &str) -> &str {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    split_front(bare).map_or("", |(_, body)| body)
}

/// The front matter of a text and what follows it; none where the end is missing.
pub fn split_front(text: &str) -> Option<(&str, &str)> {
    let Some(rest) = text
        .strip_prefix(FENCE)
        .and_then(|r| r.strip_prefix('\n').or(r.strip_prefix("\r\n")))
    else {
        return Some(("", text));
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let body = rest.get(at + line.len()..).unwrap_or_default();
            return Some((rest.get(..at).unwrap_or_default(), body));
        }
        at += line.len();
    }
    None
}

/// A file of a role or skill in two parts: its front matter, which grants tools, and the prose below it.
pub fn head_and_body(text: &str) -> (&str, &str) {
    let body = body(text);
    text.split_at(text.len() - body.len())
}

/// The commands that a text runs when it is used (`` !`command` ``), as they are written.
pub fn commands_in(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("!`")
        && let Some((command, more)) = after.split_once('`')
    {
        out.push(command);
        rest = more;
    }
    out
}

/// By which content is known again.
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    ostler_wire::hex::hex(&digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_first_count_and_the_rest_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..MAX_FILES + 20 {
            let folder = dir.path().join(format!("s{n:04}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(SKILL), "x").unwrap();
        }
        let (found, surplus) = files(dir.path(), Wanted::Skills);
        assert_eq!((found.len(), surplus), (MAX_FILES, 20));
        assert!(found.last().unwrap().starts_with(dir.path().join("s0499")));
    }
}
