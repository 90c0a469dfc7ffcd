//! The host of a session at another place: everything is there, but for the files of Ostler's own home, which stay on this
//! machine: outputs that were kept, memory, skills. A link that was cut is made anew by the next call; no call is made twice.

use super::reach::{self, Consent};
use crate::boot::Boot;
use crate::errors::Told as _;
use crate::location::{Connected, Target};
use bytes::Bytes;
use ostler_host::checkpoint::{self, Order, Tree};
use ostler_host::remote::Remote;
use ostler_host::search::{Found, Search};
use ostler_host::{
    Border, CheckpointFut, Command, Content, Error, Fut, Host, Listing, Local, Process,
    RenameOptions, Renamed, Span, Stat, WriteOptions, Written,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

pub struct Routed {
    pub boot: Arc<Boot>,
    pub name: String,
    pub target: Target,
    pub current: Mutex<Remote>,
    pub cut: watch::Sender<Option<String>>,
    pub machine: Arc<Local>,
    /// Folders of this machine.
    pub own: Vec<PathBuf>,
}

impl Routed {
    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// The place, which is connected anew if the link is cut.
    async fn place(&self) -> Result<Remote, Error> {
        let mut current = self.current.lock().await;
        if current.lost().is_none() {
            return Ok(current.clone());
        }
        let again = reach::connect(&self.boot, &self.target, Consent::Never).await;
        *current = again.map_err(|error| Error::Unreachable {
            place: self.name.clone(),
            reason: self.boot.language.told(&error),
        })?;
        Connected::follow(&self.cut, &current);
        Ok(current.clone())
    }
}

impl Host for Routed {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        Box::pin(async move { self.place().await?.spawn(command).await })
    }

    fn stat(&self, path: &Path) -> Fut<'_, Stat> {
        if self.is_own(path) {
            return self.machine.stat(path);
        }
        let path = path.to_owned();
        Box::pin(async move { self.place().await?.stat(&path).await })
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        if self.is_own(path) {
            return self.machine.read(path, span, border);
        }
        let (path, border) = (path.to_owned(), border.clone());
        Box::pin(async move { self.place().await?.read(&path, span, &border).await })
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        if self.is_own(path) {
            return self.machine.write(path, bytes, options);
        }
        let path = path.to_owned();
        Box::pin(async move { self.place().await?.write(&path, bytes, options).await })
    }

    /// From one machine to another nothing is moved: whoever has only one of the paths says so.
    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        if self.is_own(from) {
            return self.machine.rename(from, to, options);
        }
        let (from, to) = (from.to_owned(), to.to_owned());
        Box::pin(async move { self.place().await?.rename(&from, &to, options).await })
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        if self.is_own(path) {
            return self.machine.list(path, max_entries, border);
        }
        let (path, border) = (path.to_owned(), border.clone());
        Box::pin(async move { self.place().await?.list(&path, max_entries, &border).await })
    }

    fn search(&self, search: Search) -> Fut<'_, Found> {
        let (Search::Names { tree, .. }
        | Search::Entries { tree, .. }
        | Search::Lines { tree, .. }) = &search;
        match self.is_own(&tree.base) {
            true => self.machine.search(search),
            false => Box::pin(async move { self.place().await?.search(search).await }),
        }
    }

    fn checkpoint(&self, tree: Tree, order: Order) -> CheckpointFut<'_> {
        Box::pin(async move {
            let place = self
                .place()
                .await
                .map_err(|error| checkpoint::Error::Away {
                    place: self.name.clone(),
                    reason: match error {
                        Error::Unreachable { reason, .. } => reason,
                        other => other.to_string(),
                    },
                })?;
            place.checkpoint(tree, order).await
        })
    }
}
