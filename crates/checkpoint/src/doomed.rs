//! What a call is about to change and no checkpoint holds by itself: ignored files. As long as they are few and small they
//! are saved by name. It only looks.

use super::git::Repository;
use super::select::Rules;
use super::{Checkpoints, below};
use globset::GlobBuilder;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Ignored content that one checkpoint saves; more of it is made anew, not rewound.
const MAX_BYTES: u64 = 256 << 20;
const MAX_FILES: u64 = 20_000;
/// Names that are looked at to find ignored ones.
const MAX_NAMES: usize = 200_000;
/// Paths that one pattern stands for.
const MAX_MATCHES: usize = 1_000;
const MAX_DEPTH: usize = 64;

/// A path that a call names, as the shell reads it: it may hold `*`, `?` and `[]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub path: PathBuf,
    pub reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The path itself.
    Itself,
    /// All that lies below it, too.
    Below,
}

/// Ignored files that are about to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doomed {
    pub named: Vec<PathBuf>,
    /// Too much to save.
    pub passed: Vec<PathBuf>,
}

impl Checkpoints {
    pub fn doomed(&self, targets: &[Target]) -> Doomed {
        let mut search = Search {
            store: self,
            above: Rules::above(&self.root, Repository::around(&self.root).as_ref()),
            names: MAX_NAMES,
            found: Vec::new(),
        };
        for target in targets {
            for path in expanded(&self.root, &target.path) {
                search.at(&path, target.reach);
            }
        }
        let mut found = search.found;
        found.sort();
        found.dedup();
        let mut out = Doomed::default();
        let (mut bytes, mut files) = (MAX_BYTES, MAX_FILES);
        for path in found {
            match weigh(&path, bytes, files, 0) {
                Some((b, f)) => {
                    (bytes, files) = (bytes - b, files - f);
                    out.named.push(path);
                }
                None => out.passed.push(path),
            }
        }
        out
    }
}

struct Search<'a> {
    store: &'a Checkpoints,
    above: Rules,
    names: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    fn at(&mut self, path: &Path, reach: Reach) {
        let Ok(meta) = fs::symlink_metadata(path) else {
            return;
        };
        let Some(rel) = below(&self.store.root, path) else {
            return;
        };
        if rel.starts_with(b".git") && (rel.len() == 4 || rel.get(4) == Some(&b'/')) {
            return;
        }
        let mut rules = self.above.clone();
        let mut at = self.store.root.clone();
        let parts: Vec<_> = path.strip_prefix(&at).into_iter().flatten().collect();
        for (n, part) in parts.iter().enumerate() {
            rules = own(&rules, &at);
            at.push(part);
            if rules.ignore(&at, n + 1 < parts.len() || meta.is_dir()) {
                return self.found.push(path.to_owned());
            }
        }
        if meta.is_dir() && reach == Reach::Below {
            self.within(path, &rules, 0);
        }
    }

    /// The topmost ignored names in a folder that is not ignored.
    fn within(&mut self, dir: &Path, rules: &Rules, depth: usize) {
        let rules = own(rules, dir);
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if self.names == 0 || depth > MAX_DEPTH {
                return;
            }
            self.names -= 1;
            let path = entry.path();
            let is_ours = self.store.limits.excluded.contains(&path) || path == self.store.dir;
            let is_git = dir == self.store.root && entry.file_name() == ".git";
            if is_ours || is_git {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if rules.ignore(&path, is_dir) {
                self.found.push(path);
            } else if is_dir {
                self.within(&path, &rules, depth + 1);
            }
        }
    }
}

fn own(rules: &Rules, dir: &Path) -> Rules {
    match super::select::text(&dir.join(".gitignore")) {
        Some(text) => rules.with(dir, &text),
        None => rules.clone(),
    }
}

/// Bytes and files, if they stay within these.
fn weigh(path: &Path, bytes: u64, files: u64, depth: usize) -> Option<(u64, u64)> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Some((0, 0));
    };
    let (mut own, mut count) = (meta.len(), 1);
    if meta.is_dir() {
        own = 0;
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let left = (bytes.checked_sub(own)?, files.checked_sub(count)?);
            let (b, f) = weigh(&entry.path(), left.0, left.1, depth + 1)?;
            (own, count) = (own + b, count + f);
        }
    }
    (own <= bytes && count <= files && depth <= MAX_DEPTH).then_some((own, count))
}

/// The paths that a shell's pattern stands for now, below the root.
fn expanded(root: &Path, pattern: &Path) -> Vec<PathBuf> {
    let Ok(rest) = pattern.strip_prefix(root) else {
        return Vec::new();
    };
    let mut found = vec![root.to_owned()];
    for part in rest.components() {
        let Component::Normal(name) = part else {
            return Vec::new();
        };
        let text = name.to_string_lossy();
        if !text.contains(['*', '?', '[']) {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        }
        let Ok(glob) = GlobBuilder::new(&text).build() else {
            return Vec::new();
        };
        let glob = glob.compile_matcher();
        let hidden = text.starts_with('.');
        let mut next = Vec::new();
        for dir in found {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let shown = hidden || !name.as_encoded_bytes().starts_with(b".");
                if shown && next.len() < MAX_MATCHES && glob.is_match(&name) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    found
}
