//! Reads the files of others: regular ones of ordinary size, found by patterns, and none that a repository or a command
//! could have written. What is in the way is told, never followed to its end.

use ostler_files::{Border, Error, read_bounded, real_path};
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Of a file of settings or prose.
pub const MAX_TEXT: u64 = 4 << 20;
/// Entries of folders that one pattern looks at.
const MAX_LOOKED_AT: usize = 50_000;
/// Folders below each other that `**` goes into.
const MAX_DEPTH: usize = 6;

/// Where this person's files are.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub user_home: PathBuf,
    /// The environment, as far as it names folders of others.
    pub env: BTreeMap<String, String>,
    /// Folders that a repository or a command may have written: nothing in them is the person's own.
    pub others: Vec<PathBuf>,
}

/// Reads for one survey, and keeps what went wrong.
pub struct Files<'a> {
    pub places: &'a Places,
    pub faults: Vec<Why>,
}

impl<'a> Files<'a> {
    pub fn new(places: &'a Places) -> Self {
        Self {
            places,
            faults: Vec::new(),
        }
    }

    /// A path as people write it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.places.user_home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// The text of a file; nothing if there is none, or if it cannot be read, which is kept as a fault.
    pub fn text(&mut self, path: &Path) -> Option<String> {
        let bytes = self.bytes(path, MAX_TEXT)?;
        match String::from_utf8(bytes) {
            Ok(text) => Some(text.trim_start_matches('\u{feff}').to_owned()),
            Err(_) => {
                self.fault(path, Word::ImportNotText.into());
                None
            }
        }
    }

    pub fn bytes(&mut self, path: &Path, most: u64) -> Option<Vec<u8>> {
        if let Err(why) = self.check(path) {
            self.fault(path, why);
            return None;
        }
        match read_bounded(path, most, &Border::none()) {
            Ok(read) if read.truncated => {
                self.fault(path, Word::ImportTooLarge.into());
                None
            }
            Ok(read) => Some(read.bytes.into()),
            Err(Error::NotFound { .. } | Error::NotDirectory { .. }) => None,
            Err(error) => {
                self.fault(path, Why::from(&error));
                None
            }
        }
    }

    /// Whether a file is the person's own, wherever links lead.
    pub fn check(&self, path: &Path) -> Result<(), Why> {
        let real = real_path(path);
        match self
            .places
            .others
            .iter()
            .any(|other| real.starts_with(other))
        {
            true => Err(Word::ImportOfProject.into()),
            false => Ok(()),
        }
    }

    pub fn fault(&mut self, path: &Path, why: Why) {
        let shown = self.shown(path);
        self.faults
            .push(Why::ours(Word::Because, [shown.into(), why]));
    }

    /// The files that a pattern names, sorted: `*` is a run of a name, `**` folders. Links to folders are not followed.
    pub fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let parts: Vec<&OsStr> = pattern.iter().collect();
        let mut found = Vec::new();
        let mut left = MAX_LOOKED_AT;
        expand(PathBuf::new(), &parts, &mut left, &mut found);
        if left == 0 {
            self.fault(pattern, Word::ImportMany.into());
        }
        found.sort();
        found
    }
}

fn is_pattern(part: &OsStr) -> bool {
    part.to_string_lossy().contains('*')
}

fn expand(base: PathBuf, parts: &[&OsStr], left: &mut usize, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else {
        if base.is_file() {
            found.push(base);
        }
        return;
    };
    if *part == "**" {
        expand_deep(&base, rest, (MAX_DEPTH, left), found);
    } else if is_pattern(part) {
        let pattern = part.to_string_lossy();
        for (name, _) in entries(&base, left) {
            if fits(&pattern, &name.to_string_lossy()) {
                expand(base.join(name), rest, left, found);
            }
        }
    } else {
        expand(base.join(part), rest, left, found);
    }
}

fn expand_deep(
    base: &Path,
    rest: &[&OsStr],
    (depth, left): (usize, &mut usize),
    found: &mut Vec<PathBuf>,
) {
    expand(base.to_owned(), rest, left, found);
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for (name, is_folder) in entries(base, left) {
        if is_folder {
            expand_deep(&base.join(name), rest, (depth, left), found);
        }
    }
}

/// Names in a folder, and whether each is a folder itself.
fn entries(folder: &Path, left: &mut usize) -> Vec<(std::ffi::OsString, bool)> {
    let Ok(read) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for entry in read.flatten() {
        let Some(less) = left.checked_sub(1) else {
            break;
        };
        *left = less;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        out.push((entry.file_name(), is_folder));
    }
    out.sort();
    out
}

/// Whether a name fits a pattern of `*`.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expect) in [
            ("*.jsonl", "a.jsonl", true),
            ("*.jsonl", "a.json", false),
            ("session-*.json*", "session-1.jsonl", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*b*c", "axbxxc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, name), expect, "{pattern} {name}");
        }
    }
}
