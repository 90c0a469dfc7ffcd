//! What no sandbox holds at the place: protected files that a command made or changed all the same are put back when it has
//! ended. A change by a file tool meanwhile is the person's own, and stays.

use ostler_sandbox::{Record, Records, Watch};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// After which what was killed changes nothing more.
const AFTER_KILL: Duration = Duration::from_millis(300);

/// Records lie beside checkpoints, where no command comes.
const RECORDS: &str = "records";

type Watched = Arc<Mutex<Held>>;

/// Those of all commands of a link.
#[derive(Default)]
pub struct Guards {
    watched: Mutex<Vec<Watched>>,
    /// Where it is written down what was there, for the helper that comes after one that was killed.
    records: Option<Records>,
}

/// What is remembered for one command.
pub struct Guard {
    guards: Arc<Guards>,
    watched: Watched,
}

/// The protected paths as they were, and where that is written down.
struct Held {
    watch: Watch,
    record: Option<Record>,
    tree: PathBuf,
    since: SystemTime,
}

impl Guards {
    /// `checkpoints` is where those lie.
    pub fn new(checkpoints: Option<&Path>) -> Self {
        Self {
            watched: Mutex::default(),
            records: checkpoints.map(|folder| Records::new(folder.join(RECORDS))),
        }
    }

    /// Puts back what commands of a helper changed that was killed before it could do so itself. Blocks.
    pub fn recover(&self) -> Vec<PathBuf> {
        let Some(records) = &self.records else {
            return Vec::new();
        };
        let everywhere = Path::new("/");
        let put_back = records.put_back(everywhere);
        if let Ok(turn) = records.turn() {
            let others = records.others(everywhere, &BTreeSet::new(), &turn);
            others.dead.into_iter().for_each(|(_, left)| left.remove());
        }
        let done = put_back.into_iter().filter(|one| one.done);
        done.map(|one| one.path).collect()
    }

    /// Remembers these paths of a project as they are. To be called right before the command. Blocks.
    pub fn begin(self: &Arc<Self>, tree: &Path, protected: &[PathBuf]) -> Guard {
        let (watch, since) = (Watch::new(protected), SystemTime::now());
        let records = self.records.as_ref().filter(|_| !protected.is_empty());
        // Where nothing can be written down it is put back by this process alone.
        let record = records.and_then(|records| {
            let turn = records.turn().ok()?;
            records.write(tree, since, &watch, &turn).ok()
        });
        let watched = Arc::new(Mutex::new(Held {
            watch,
            record,
            tree: tree.to_owned(),
            since,
        }));
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
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn accept(&mut self, path: &Path) {
        self.watch.accept(path);
        if let Some(record) = &self.record
            && record.update(&self.tree, self.since, &self.watch).is_err()
        {
            // What is written down would undo it.
            self.record = None;
        }
    }
}

fn lock(watched: &Watched) -> MutexGuard<'_, Held> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

fn undo(watched: &Watched) -> Vec<PathBuf> {
    let watch = &mut lock(watched).watch;
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
