//! The trait every place to work in implements, and the plain data of its file operations.

use crate::command::Command;
use crate::error::Result;
use crate::files::border::{Border, Protected};
use crate::process::Process;
use crate::sandbox::{self, Choice, Opened};
use bytes::Bytes;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

pub type NetworkFut<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<Opened, sandbox::Error>> + Send + 'a>>;
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A place where commands run and files lie. Paths are absolute.
pub trait Host: Send + Sync + 'static {
    /// Starts a command; an error means that it never ran.
    fn spawn(&self, command: Command) -> Fut<'_, Process>;

    /// What lies at a path, symlinks followed. Absence is an answer (`Kind::Missing`), so this also resolves the path
    /// of a file that is yet to be made.
    fn stat(&self, path: &Path) -> Fut<'_, Stat>;

    /// Reads part of a regular file, if the border lets it pass where it really lies; never waits for a fifo or a device.
    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content>;

    /// Replaces or makes a regular file in one step: readers see the old bytes or the new ones. Through a symlink it
    /// writes the target.
    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written>;

    /// Moves a file, folder or symlink (the link itself).
    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed>;

    /// The entries of a folder by name, at most `max_entries`, if the border lets the folder pass.
    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing>;

    /// A network for the sandboxed commands of a session; `None` where this place or the layer has none to share.
    fn network(&self, layer: Choice) -> NetworkFut<'_> {
        let _ = layer;
        Box::pin(async { Ok(None) })
    }
}

/// The folders below which files may be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub writable: Vec<PathBuf>,
    /// Below those, what is not to be changed all the same.
    pub reserved: Vec<PathBuf>,
    /// The same for what only the person's own yes opens.
    pub protected: Protected,
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
