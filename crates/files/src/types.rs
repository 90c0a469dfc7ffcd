//! The plain data of file operations.

use super::protected::Protected;
use bytes::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

/// The folders below which files may be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub writable: Vec<PathBuf>,
    /// Below those, what is not to be changed all the same.
    pub reserved: Vec<PathBuf>,
    /// The same for what only the person's own yes opens.
    pub protected: Protected,
    /// The files that the rules were asked about, by their real paths: no other one is changed, wherever a link leads by
    /// now. None for what Ostler writes for itself.
    pub judged: Option<Vec<PathBuf>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    pub roots: Roots,
    pub create_parents: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenameOptions {
    pub roots: Roots,
    pub create_parents: bool,
    pub overwrite: bool,
}

/// The bytes of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub max_bytes: u64,
}

impl Span {
    /// From the start, at most this much.
    pub const fn head(max_bytes: u64) -> Self {
        Self {
            offset: 0,
            max_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    /// In listings only; `stat` follows links.
    Symlink,
    /// A device, socket or pipe.
    Other,
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Absolute and free of symlinks.
    pub path: PathBuf,
    pub kind: Kind,
    pub len: u64,
    pub modified: Option<SystemTime>,
    /// Permission bits, where the system has them.
    pub mode: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub bytes: Bytes,
    /// There is more after these bytes.
    pub truncated: bool,
    /// Its `len` is the length of the whole file, as far as the system tells.
    pub stat: Stat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where the bytes went: absolute and free of symlinks.
    pub path: PathBuf,
    pub created: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    pub from: PathBuf,
    pub to: PathBuf,
    pub overwrote: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    pub kind: Kind,
    pub len: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The folder itself, absolute and free of symlinks.
    pub path: PathBuf,
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// There are more than were asked for.
    pub truncated: bool,
}
