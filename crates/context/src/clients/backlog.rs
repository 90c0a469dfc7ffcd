//! Where a subscription reads what it missed: the log, and the questions that are open.

use crate::clients::feed::ClientRegister;
use ostler_store::log::{Source, branch};
use ostler_wire::{Ask, BoxFuture, Entry, EntrySource};
use std::sync::Arc;

pub struct Backlog {
    pub source: Source,
    pub register: ClientRegister,
}

impl EntrySource for Backlog {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        Box::pin(std::future::ready(self.source.entries_after(last)))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let all = self.source.entries_after(None).into_iter();
        let entries = branch(all.map(Arc::unwrap_or_clone).collect());
        let entries = entries.into_iter().map(Arc::new).collect();
        Box::pin(std::future::ready(entries))
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(self.register.open_asks()))
    }
}
