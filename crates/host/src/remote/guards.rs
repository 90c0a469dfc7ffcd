//! What no sandbox holds at the place: protected files that a command made or changed all the same are put back when it has
//! ended. A change by a file tool meanwhile is the person's own, and stays.

use crate::sandbox::Watch;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// After which what was killed changes nothing more.
const AFTER_KILL: Duration = Duration::from_millis(300);

type Watched = Arc<Mutex<Watch>>;

/// Those of all commands of a link.
#[derive(Default)]
pub struct Guards(Mutex<Vec<Watched>>);

/// What is remembered for one command.
pub struct Guard {
    guards: Arc<Guards>,
    watched: Watched,
}

impl Guards {
    /// Remembers these paths as they are. To be called right before the command. Blocks.
    pub fn begin(self: &Arc<Self>, protected: &[PathBuf]) -> Guard {
        let watched = Arc::new(Mutex::new(Watch::new(protected)));
        self.all().push(watched.clone());
        Guard {
            guards: self.clone(),
            watched,
        }
    }

    /// A file tool has changed this path, by the person's word. Blocks.
    pub fn accept(&self, path: &Path) {
        let all = self.all().clone();
        for watched in all {
            lock(&watched).accept(path);
        }
    }

    /// The link has ended, and all commands are killed.
    pub async fn end(&self) {
        let all = std::mem::take(&mut *self.all());
        if all.is_empty() {
            return;
        }
        tokio::time::sleep(AFTER_KILL).await;
        let undo = move || all.iter().for_each(|watched| drop(undo(watched)));
        // A panic there leaves the rest as it is.
        let _done = tokio::task::spawn_blocking(undo).await;
    }

    fn all(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(watched: &Watched) -> MutexGuard<'_, Watch> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

fn undo(watched: &Watched) -> Vec<PathBuf> {
    let mut watch = lock(watched);
    match watch.is_unchanged() {
        true => Vec::new(),
        false => watch.undo().into_iter().map(|change| change.path).collect(),
    }
}

impl Guard {
    /// The same for whoever blocks.
    pub fn put_back_now(&self) -> Vec<PathBuf> {
        undo(&self.watched)
    }

    /// What was changed against the rules, and is as it was again.
    pub async fn put_back(&self) -> Vec<PathBuf> {
        let watched = self.watched.clone();
        let done = tokio::task::spawn_blocking(move || undo(&watched)).await;
        done.unwrap_or_default()
    }
}

impl Drop for Guard {
    /// What ran until now is killed, and may have changed something since.
    fn drop(&mut self) {
        let (guards, watched) = (self.guards.clone(), self.watched.clone());
        let late = async move {
            tokio::time::sleep(AFTER_KILL).await;
            let last = watched.clone();
            let _done = tokio::task::spawn_blocking(move || undo(&last)).await;
            guards.all().retain(|one| !Arc::ptr_eq(one, &watched));
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(late);
        }
    }
}
