//! The host of a session at another place: everything is there, but for the files of Ostler's own home, which stay on this
//! machine: outputs that were kept, memory, skills.

use bytes::Bytes;
use ostler_host::remote::Remote;
use ostler_host::search::{Found, Search};
use ostler_host::{
    Border, Command, Content, Fut, Host, Listing, Local, Process, RenameOptions, Renamed, Span,
    Stat, WriteOptions, Written,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Routed {
    pub place: Remote,
    pub machine: Arc<Local>,
    /// Folders of this machine.
    pub own: Vec<PathBuf>,
}

impl Routed {
    fn of(&self, path: &Path) -> &dyn Host {
        match self.own.iter().any(|own| path.starts_with(own)) {
            true => &*self.machine,
            false => &self.place,
        }
    }
}

impl Host for Routed {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        self.place.spawn(command)
    }

    fn stat(&self, path: &Path) -> Fut<'_, Stat> {
        self.of(path).stat(path)
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        self.of(path).read(path, span, border)
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        self.of(path).write(path, bytes, options)
    }

    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        // From one machine to another nothing is moved: whoever has only one of the paths says so.
        self.of(from).rename(from, to, options)
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        self.of(path).list(path, max_entries, border)
    }

    fn search(&self, search: Search) -> Fut<'_, Found> {
        let (Search::Names { tree, .. }
        | Search::Entries { tree, .. }
        | Search::Lines { tree, .. }) = &search;
        self.of(&tree.base).search(search)
    }
}
