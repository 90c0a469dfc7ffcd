//! The look for repositories that commands made or changed, beside the session's other work: it may take longer than the next
//! command waits for it.

use ostler_host::sandbox::{Record, Repositories, Tampered};
use ostler_store::artifacts::Artifacts;
use ostler_tools::sandbox_report::Change;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// Most bytes of a changed file that are kept before it is put back.
pub(super) const MAX_ASIDE: u64 = 1 << 20;

/// One look at the repositories.
pub(super) struct Look {
    pub(super) artifacts: Option<Artifacts>,
    pub(super) call_id: String,
    pub(super) since: Option<SystemTime>,
    /// Until it is done, a session that finds us killed does it.
    pub(super) record: Option<Arc<Record>>,
}

/// The look at repositories below the project, which may take longer than the next command waits for it.
#[derive(Clone, Default)]
pub(super) struct Search {
    pub(super) repositories: Arc<Mutex<Vec<Repositories>>>,
    /// What was found and nobody was told of yet.
    pub(super) found: Arc<Mutex<Vec<Change>>>,
    /// Looks that nobody waited for to their end.
    pub(super) late: Arc<Mutex<Vec<JoinHandle<()>>>>,
    /// The folders that are looked through.
    pub(super) tops: Arc<Mutex<Vec<PathBuf>>>,
    /// Folders that no look got into and that somebody was told of.
    pub(super) named: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Search {
    /// With the first command: what is there is the person's. It runs beside the command, whose own files are younger.
    pub(super) fn begin(
        &self,
        looked_at: impl FnOnce() -> Vec<Repositories>,
        look: Look,
        is_needed: bool,
    ) {
        // Who has it locked is looking already.
        let is_first = match self.repositories.try_lock() {
            Ok(mut first) if first.is_empty() => {
                *first = looked_at();
                *lock(&self.tops) = first.iter().map(|one| one.root().to_owned()).collect();
                true
            }
            Ok(_) | Err(_) => false,
        };
        if is_first || is_needed {
            self.look(look);
        }
    }

    /// What was found so far, after waiting for the looks that go on, at most so long.
    pub(super) async fn wait(&self, patience: Option<Duration>) -> Vec<Change> {
        let mut late = std::mem::take(&mut *lock(&self.late));
        let all = async {
            while let Some(task) = late.last_mut() {
                // One that was lost with the runtime found nothing more.
                let _ = task.await;
                late.pop();
            }
        };
        match patience {
            Some(patience) => drop(tokio::time::timeout(patience, all).await),
            None => all.await,
        }
        lock(&self.late).extend(late);
        std::mem::take(&mut *lock(&self.found))
    }

    /// The folders of looks that go on; none when all are done.
    pub(super) fn unfinished(&self) -> Vec<PathBuf> {
        match lock(&self.late).iter().all(JoinHandle::is_finished) {
            true => Vec::new(),
            false => lock(&self.tops).clone(),
        }
    }

    /// What the last look did not get into, but for what is among these already.
    pub(super) fn still_missed(&self, told: &[Change]) -> Vec<Change> {
        let all = lock(&self.repositories);
        let missed = all.iter().flat_map(|one| one.missed().iter().cloned());
        let new = missed.filter(|path| !told.iter().any(|change| change.path == *path));
        new.map(Change::unseen).collect()
    }

    /// Begins a look in the background.
    pub(super) fn look(&self, look: Look) {
        let Look {
            artifacts,
            call_id,
            since,
            record,
        } = look;
        let (all, found) = (self.repositories.clone(), self.found.clone());
        let named = self.named.clone();
        let look = move || {
            let _until_done = record;
            let mut all = lock(&all);
            let Some(since) = since else {
                return;
            };
            let mut number = 0;
            let mut mend = |repositories: &Repositories, tampered: Tampered| {
                let name = format!("repository-{call_id}-{number}");
                number += 1;
                let bytes = repositories.read(&tampered.path, MAX_ASIDE);
                let aside = artifacts
                    .as_ref()
                    .zip(bytes)
                    .and_then(|(to, bytes)| keep_text(to, &name, &bytes));
                let change = Change {
                    aside,
                    undone: repositories.mend(&tampered).is_ok(),
                    path: tampered.path,
                    refused: tampered.refused,
                    unseen: false,
                };
                lock(&found).push(change);
            };
            // However deep the rest is, what lies near the top is mended at once.
            for repositories in all.iter_mut() {
                let (tampered, has_more) = repositories.check_upper(since);
                tampered.into_iter().for_each(|one| mend(repositories, one));
                if has_more {
                    let tampered = repositories.check(since);
                    tampered.into_iter().for_each(|one| mend(repositories, one));
                }
            }
            let missed = all.iter().flat_map(|one| one.missed().iter().cloned());
            for path in missed.filter(|path| lock(&named).insert(path.clone())) {
                lock(&found).push(Change::unseen(path));
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            lock(&self.late).push(runtime.spawn_blocking(look));
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn keep_text(artifacts: &Artifacts, name: &str, text: &[u8]) -> Option<PathBuf> {
    artifacts.keep(name, text).ok()
}
