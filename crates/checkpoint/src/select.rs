//! Which files belong to a checkpoint: all that no ignore rule leaves out, and those that are wanted in spite of one.
//! Rules are those of git: `.gitignore` files from the top of the repository down, and its `info/exclude`.

use super::followed::Followed;
use super::git::Repository;
use super::tree::{Rel, is_within};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

pub const IGNORE_FILE: &[u8] = b".gitignore";
/// More of an ignore file is not read.
pub const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// The ignore rules that hold in a folder.
#[derive(Clone, Default)]
pub struct Rules {
    /// Outermost first; the innermost that speaks decides.
    files: Vec<Rc<Gitignore>>,
    /// Differs when any of the text differs.
    pub print: u64,
}

impl Rules {
    /// What holds in the root because of what lies above it. `.gitignore` of the root itself is not in it.
    pub fn above(root: &Path, repository: Option<&Repository>) -> Self {
        let mut rules = Self::default();
        let Some(repository) = repository else {
            return rules;
        };
        if let Some(text) = text(&repository.exclude()) {
            rules = rules.with(&repository.top, &text);
        }
        let outside = root.ancestors().skip(1);
        let mut dirs: Vec<&Path> = outside
            .take_while(|dir| dir.starts_with(&repository.top))
            .collect();
        dirs.reverse();
        for dir in dirs {
            if let Some(text) = text(&dir.join(".gitignore")) {
                rules = rules.with(dir, &text);
            }
        }
        rules
    }

    /// The same and the ignore file of a folder.
    pub fn with(&self, dir: &Path, text: &[u8]) -> Self {
        let mut builder = GitignoreBuilder::new(dir);
        for line in String::from_utf8_lossy(text).lines() {
            // A pattern that is none leaves nothing out.
            let _bad = builder.add_line(None, line);
        }
        let mut rules = self.clone();
        rules.print = mix(mix(self.print, dir.as_os_str().as_encoded_bytes()), text);
        rules.files.extend(builder.build().ok().map(Rc::new));
        rules
    }

    pub fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        for file in self.files.iter().rev() {
            match file.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// What is kept whatever the rules say.
#[derive(Default)]
pub struct Wanted {
    /// These and all below them.
    pub named: BTreeSet<Rel>,
    /// These files.
    pub files: BTreeSet<Rel>,
    /// Tracked files, in order.
    pub tracked: Vec<Rel>,
    /// What earlier checkpoints have.
    pub followed: Followed,
}

impl Wanted {
    pub fn whole(&self, path: &[u8]) -> bool {
        if self.named.is_empty() {
            return false;
        }
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(i, _)| i)
            .chain([path.len(), 0]);
        ends.into_iter()
            .any(|end| path.get(..end).is_some_and(|p| self.named.contains(p)))
    }

    pub fn file(&self, path: &[u8]) -> bool {
        self.files.contains(path)
            || self
                .tracked
                .binary_search_by(|p| p.as_slice().cmp(path))
                .is_ok()
    }

    /// The names in a folder that lead to something wanted.
    pub fn names(&self, dir: &[u8]) -> BTreeSet<Vec<u8>> {
        let mut start = dir.to_vec();
        if !start.is_empty() {
            start.push(b'/');
        }
        let mut names = BTreeSet::new();
        let from = self
            .tracked
            .partition_point(|p| p.as_slice() < start.as_slice());
        let sorted = self.tracked.get(from..).unwrap_or_default().iter();
        let mut add = |paths: &mut dyn Iterator<Item = &Rel>| {
            for path in paths {
                let Some(rest) = path.strip_prefix(start.as_slice()) else {
                    break;
                };
                if let Some(name) = rest.split(|b| *b == b'/').next().filter(|n| !n.is_empty()) {
                    names.insert(name.to_vec());
                }
            }
        };
        add(&mut sorted.into_iter());
        add(&mut self.files.range(start.clone()..));
        add(&mut self.named.range(start.clone()..));
        names
    }

    pub fn below(&self, dir: &[u8]) -> bool {
        let mut start = dir.to_vec();
        start.push(b'/');
        let from = self
            .tracked
            .partition_point(|p| p.as_slice() < start.as_slice());
        let first = [
            self.tracked.get(from),
            self.files.range(start.clone()..).next(),
            self.named.range(start.clone()..).next(),
        ];
        first.into_iter().flatten().any(|p| is_within(p, dir))
    }
}

pub fn text(path: &Path) -> Option<Vec<u8>> {
    ostler_files::read_small(path, MAX_IGNORE_BYTES)
}

/// FNV-1a, enough to notice a change.
fn mix(seed: u64, bytes: &[u8]) -> u64 {
    let start = seed ^ 0xcbf2_9ce4_8422_2325;
    bytes.iter().chain(&[0]).fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
