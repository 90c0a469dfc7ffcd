//! Which folders of a tree are the largest, for people whose tree could not be saved. It looks at names and sizes, reads
//! nothing, follows no link, and ends after so many names.

use ostler_files::{Dir, Kind};
use ostler_wire::format_size;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Names that are looked at.
const MAX_NAMES: usize = 200_000;
/// Folders below each other that are told apart.
const DEPTH: usize = 2;
/// Folders that are named.
const MOST: usize = 3;
/// A file counts as at least so many bytes: many small ones take time, too.
const LEAST: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heavy {
    /// Below the root.
    pub path: String,
    pub files: u64,
    pub bytes: u64,
}

impl fmt::Display for Heavy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = format_size(self.bytes);
        write!(out, "{}/ ({size} / {})", self.path, self.files)
    }
}

/// Their names in one line.
pub fn folders(heaviest: &[Heavy]) -> String {
    let all: Vec<String> = heaviest.iter().map(Heavy::to_string).collect();
    all.join(", ")
}

/// The largest folders with what lies below them, the largest first.
pub fn heaviest(root: &Dir) -> Vec<Heavy> {
    let mut sums: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
    let mut todo: VecDeque<(Vec<u8>, usize)> = VecDeque::from([(Vec::new(), 0)]);
    let mut looked = 0;
    while let Some((path, depth)) = todo.pop_front() {
        let dir = match path.is_empty() {
            true => None,
            false => match root.enter(&path) {
                Ok(dir) => Some(dir),
                Err(_) => continue,
            },
        };
        let dir = dir.as_ref().unwrap_or(root);
        for name in dir.names().unwrap_or_default() {
            looked += 1;
            if looked > MAX_NAMES {
                return largest(sums);
            }
            let Ok(found) = dir.look(&name.bytes) else {
                continue;
            };
            let mut below = path.clone();
            super::join(&mut below, &name.bytes);
            match found.kind {
                Kind::Directory if below != b".git" => todo.push_back((below, depth + 1)),
                Kind::File if depth > 0 => {
                    let sum = sums.entry(top(&path)).or_default();
                    sum.0 += 1;
                    sum.1 += found.mark.size.max(LEAST);
                }
                Kind::Directory | Kind::File | Kind::Symlink | Kind::Other | Kind::Missing => {}
            }
        }
    }
    largest(sums)
}

/// The folder that a file in this one counts for.
fn top(path: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').take(DEPTH).collect();
    parts.join(&b'/')
}

fn largest(sums: BTreeMap<Vec<u8>, (u64, u64)>) -> Vec<Heavy> {
    let mut all: Vec<Heavy> = sums
        .into_iter()
        .map(|(path, (files, bytes))| Heavy {
            path: super::tree::quote(&path),
            files,
            bytes,
        })
        .collect();
    all.sort_by_key(|heavy| std::cmp::Reverse(heavy.bytes));
    all.truncate(MOST);
    all
}
