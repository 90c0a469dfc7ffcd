//! What is read of the project's own repository: where it lies, and which files it tracks. Git itself is not needed and
//! never run.

use super::cache::Cache;
use super::tree::{Rel, join};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A larger index is not read; then files that are tracked though ignored are left out.
const MAX_INDEX: u64 = 1 << 28;
/// Bytes of a `.git` file or `commondir`.
const MAX_POINTER: u64 = 1 << 14;
const HASH_BYTES: usize = 20;

/// A repository around a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The folder with its working tree.
    pub top: PathBuf,
    /// Where `HEAD` and the index are.
    pub dir: PathBuf,
    /// Where the refs are; another one in a linked working tree.
    pub common: PathBuf,
}

impl Repository {
    /// The nearest one at or above a folder.
    pub fn around(root: &Path) -> Option<Self> {
        root.ancestors().find_map(Self::at)
    }

    fn at(top: &Path) -> Option<Self> {
        let dot = top.join(".git");
        let meta = fs::symlink_metadata(&dot).ok()?;
        let dir = if meta.is_dir() {
            dot
        } else {
            let text = pointer(&dot)?;
            real(top.join(text.strip_prefix("gitdir:")?.trim()))
        };
        fs::symlink_metadata(dir.join("HEAD")).ok()?;
        let common = match pointer(&dir.join("commondir")) {
            Some(text) => real(dir.join(text.trim())),
            None => dir.clone(),
        };
        Some(Self {
            top: top.to_owned(),
            dir,
            common,
        })
    }

    /// Whether the git folders are the same.
    pub fn is_at(&self, other: &Self) -> bool {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        real(&self.dir) == real(&other.dir)
    }

    pub fn exclude(&self) -> PathBuf {
        self.common.join("info/exclude")
    }

    /// The tracked paths below a root, in order.
    pub fn tracked(&self, root: &Path) -> Vec<Rel> {
        let bytes = ostler_files::read_small(&self.dir.join("index"), MAX_INDEX);
        let paths = bytes.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        let mut above = Vec::new();
        for part in root
            .strip_prefix(&self.top)
            .into_iter()
            .flat_map(Path::iter)
        {
            join(&mut above, part.as_encoded_bytes());
        }
        if above.is_empty() {
            return paths;
        }
        above.push(b'/');
        paths
            .into_iter()
            .filter_map(|p| p.strip_prefix(&*above).map(<[u8]>::to_vec))
            .collect()
    }
}

/// Where a path of the repository's own leads.
fn real(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

fn pointer(path: &Path) -> Option<String> {
    String::from_utf8(ostler_files::read_small(path, MAX_POINTER)?).ok()
}

/// What the looks before found in the git folder, read when it is asked for.
#[derive(Default)]
pub(super) struct GitKnown {
    pub state: OnceCell<Cache>,
    pub files: OnceCell<Cache>,
}

/// A regular file in a git folder. No part of its path may be a link.
pub fn open_regular(path: &Path) -> Option<File> {
    regular(ostler_files::open_plain(path).ok()?)
}

fn regular(file: File) -> Option<File> {
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    Some(file)
}

/// The names in an index of version 2, 3 or 4 with SHA-1 ids.
fn parse(bytes: &[u8]) -> Option<Vec<Rel>> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (word(4)?, word(8)?);
    let mut at = 12;
    let mut out: Vec<Rel> = Vec::new();
    for _ in 0..count {
        let flags = at + 40 + HASH_BYTES;
        let extended = bytes.get(flags)? & 0x40 != 0;
        let name = flags + if extended { 4 } else { 2 };
        let (path, end) = match version {
            2 | 3 => {
                let path = until_nul(bytes, name)?.to_vec();
                let end = name + path.len();
                (path, at + (end - at + 8) / 8 * 8)
            }
            4 => {
                let (drop, rest) = varint(bytes, name)?;
                let tail = until_nul(bytes, rest)?;
                let before = out.last().map_or(&[][..], Vec::as_slice);
                let mut path = before.get(..before.len().checked_sub(drop)?)?.to_vec();
                path.extend_from_slice(tail);
                (path, rest + tail.len() + 1)
            }
            _ => return None,
        };
        out.push(path);
        at = end;
    }
    out.dedup();
    Some(out)
}

fn until_nul(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..memchr::memchr(0, rest)?)
}

/// A number as version 4 writes it, and where it ends.
fn varint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut at = at;
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}
