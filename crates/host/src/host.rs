//! The trait every place to work in implements.

use crate::command::Command;
use crate::process::Process;
use crate::search::{self, Found, Search};
use bytes::Bytes;
use ostler_checkpoint::{self as checkpoint, Order, Reply, Tree};
use ostler_files::Result;
use ostler_files::border::Border;
use ostler_files::{Content, Listing, RenameOptions, Renamed, Span, Stat, WriteOptions, Written};
use ostler_sandbox::{self as sandbox, Choice, Opened};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

pub type NetworkFut<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<Opened, sandbox::Error>> + Send + 'a>>;
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

pub type CheckpointFut<'a> = Pin<Box<dyn Future<Output = checkpoint::Result<Reply>> + Send + 'a>>;

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

    /// Looks for files and for lines in them, where they lie. Dropping the future ends the search.
    fn search(&self, search: Search) -> Fut<'_, Found> {
        Box::pin(search::search_here(search))
    }

    /// A network for the sandboxed commands of a session; `None` where this place or the layer has none to share.
    fn network(&self, layer: Choice) -> NetworkFut<'_> {
        let _ = layer;
        Box::pin(async { Ok(None) })
    }

    /// Saves, compares and brings back a tree, by what is kept at the place. This machine's own are in `checkpoint`.
    fn checkpoint(&self, tree: Tree, order: Order) -> CheckpointFut<'_> {
        let _ = order;
        Box::pin(async move { Err(checkpoint::none_at(&tree.root)) })
    }
}
