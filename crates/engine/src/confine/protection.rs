//! What no command of a session may change and the system cannot hold: remembered before the first of them, compared after
//! each, and once more at the end when everything is dead. What the person changes while nothing of ours runs is theirs.

use super::verdict::Change;
use crate::artifacts::Artifacts;
use ostler_host::sandbox::{Repositories, Watch};
use ostler_host::{Leftovers, Process};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// Most bytes of a changed file that are kept before it is put back.
const MAX_ASIDE: u64 = 1 << 20;

/// How far the times of files may lie behind the clock.
const COARSE: Duration = Duration::from_millis(50);
/// How long the end of a command waits for the look at repositories. In a large project the next command says what it found.
const PATIENCE: Duration = Duration::from_millis(25);

#[derive(Clone, Default)]
pub struct Protection {
    state: Arc<Mutex<State>>,
    repositories: Search,
}

#[derive(Default)]
struct State {
    watch: Option<Watch>,
    /// Since when something of ours runs without a pause: what is older is the person's.
    since: Option<SystemTime>,
    /// Commands that run now.
    running: usize,
    /// What ended commands left in the background.
    leftovers: Vec<Leftovers>,
    /// Where changed files are kept.
    artifacts: Option<Artifacts>,
}

/// Where a command runs whose traces are looked for afterwards.
pub struct Ground<'a> {
    /// Protected paths that the sandbox cannot hold.
    pub loose: &'a [PathBuf],
    /// The project.
    pub root: Option<&'a Path>,
    /// Folders besides it in which commands may make repositories, where they may write.
    pub roots: &'a [PathBuf],
    pub writable: &'a [PathBuf],
    /// Git folders outside of it that commands write to.
    pub git_folders: &'a [PathBuf],
    pub artifacts: Option<&'a Artifacts>,
}

/// A command that runs: its end is looked at once, whatever becomes of it.
pub struct Guarded {
    protection: Protection,
}

impl Protection {
    /// To be called right before a command. Blocks.
    pub fn begin(&self, ground: &Ground<'_>) -> Guarded {
        let mut state = self.lock();
        // What has died since the last look may have written before.
        let quiet = state.running == 0 && state.leftovers.is_empty();
        state.leftovers.retain(Leftovers::is_alive);
        state.remember(ground, quiet);
        state.running += 1;
        let since = state.since;
        drop(state);
        if let Some(root) = ground.root {
            let looked_at = || {
                let elsewhere = ground.git_folders.iter();
                let elsewhere = elsewhere.map(|folder| Repositories::in_git_folder(folder));
                let is_open = |folder: &&PathBuf| {
                    !folder.starts_with(root) && ground.writable.contains(folder)
                };
                let others = ground.roots.iter().filter(is_open);
                [Repositories::new(root)]
                    .into_iter()
                    .chain(others.map(|folder| Repositories::new(folder)))
                    .chain(elsewhere)
                    .collect()
            };
            self.repositories
                .begin(looked_at, ground.artifacts.cloned(), since);
        }
        Guarded {
            protection: self.clone(),
        }
    }

    /// Ends what commands left in the background, and looks a last time.
    pub async fn finish(&self) -> Vec<Change> {
        self.end_leftovers("end").await.1
    }

    /// Ends what commands left in the background: of how many of them something was alive, and what was put back.
    pub async fn end_leftovers(&self, call_id: &str) -> (usize, Vec<Change>) {
        let leftovers = std::mem::take(&mut self.lock().leftovers);
        if leftovers.is_empty() {
            // Whatever changed since the last command, none of ours did it; its own look may still go on.
            return (0, self.repositories.wait(None).await);
        }
        let mut ended = 0;
        for one in leftovers.into_iter().filter(Leftovers::is_alive) {
            one.end().await;
            ended += 1;
        }
        (ended, self.put_back(call_id, None).await)
    }

    async fn put_back(&self, call_id: &str, patience: Option<Duration>) -> Vec<Change> {
        let protection = self.clone();
        let name = call_id.to_owned();
        let look = move || {
            let mut state = protection.lock();
            (state.put_back(&name), state.artifacts.clone(), state.since)
        };
        let looked = tokio::task::spawn_blocking(look).await;
        let Ok((mut changes, artifacts, since)) = looked else {
            return Vec::new();
        };
        self.repositories.look(artifacts, call_id, since);
        changes.extend(self.repositories.wait(patience).await);
        changes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Guarded {
    /// What an ended command left in the background may still write.
    pub fn take_leftovers(&self, process: &mut Process) {
        let leftovers = process.take_leftovers();
        self.protection.lock().leftovers.extend(leftovers);
    }

    /// Puts back what changed.
    pub async fn end(self, call_id: &str) -> Vec<Change> {
        let protection = self.protection.clone();
        let changes = protection.put_back(call_id, Some(PATIENCE)).await;
        drop(self);
        changes
    }

    /// The same, with all that the look at repositories finds.
    pub async fn end_wholly(self, call_id: &str) -> Vec<Change> {
        let protection = self.protection.clone();
        let changes = protection.put_back(call_id, None).await;
        drop(self);
        changes
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let mut state = self.protection.lock();
        state.running = state.running.saturating_sub(1);
    }
}

impl State {
    /// Remembers what is there. If nothing of ours ran since the last look, all of it is as the person wants it.
    fn remember(&mut self, ground: &Ground<'_>, quiet: bool) {
        if let Some(artifacts) = ground.artifacts {
            self.artifacts = Some(artifacts.clone());
        }
        if quiet {
            self.since = SystemTime::now().checked_sub(COARSE);
        }
        match &mut self.watch {
            Some(watch) if quiet => watch.renew(ground.loose),
            Some(watch) => watch.add(ground.loose),
            None if !ground.loose.is_empty() => self.watch = Some(Watch::new(ground.loose)),
            None => {}
        }
    }

    fn put_back(&mut self, call_id: &str) -> Vec<Change> {
        let Some(watch) = &mut self.watch else {
            return Vec::new();
        };
        let artifacts = self.artifacts.as_ref();
        let keep = |(number, path): (usize, &PathBuf)| {
            let name = format!("protected-{call_id}-{number}");
            let bytes = watch.read(path, MAX_ASIDE)?;
            artifacts.and_then(|to| keep_text(to, &name, &bytes))
        };
        // Whoever changed it, perhaps the person meanwhile: nothing is lost.
        let changed = watch.changed();
        let kept: Vec<_> = changed.iter().enumerate().map(keep).collect();
        let aside: Vec<_> = kept.into_iter().zip(changed).collect();
        let undone = watch.undo().into_iter().map(|change| Change {
            undone: change.undone.is_ok(),
            aside: aside
                .iter()
                .find(|(_, path)| *path == change.path)
                .and_then(|(kept, _)| kept.clone()),
            path: change.path,
            refused: change.refused,
        });
        undone.collect()
    }
}

/// The look at repositories below the project, which may take longer than the next command waits for it.
#[derive(Clone, Default)]
struct Search {
    repositories: Arc<Mutex<Vec<Repositories>>>,
    /// What was found and nobody was told of yet.
    found: Arc<Mutex<Vec<Change>>>,
    /// Looks that nobody waited for to their end.
    late: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Search {
    /// With the first command: what is there is the person's. It runs beside the command, whose own files are younger.
    fn begin(
        &self,
        looked_at: impl FnOnce() -> Vec<Repositories>,
        artifacts: Option<Artifacts>,
        since: Option<SystemTime>,
    ) {
        // Who has it locked is looking already.
        let Ok(mut first) = self.repositories.try_lock() else {
            return;
        };
        if !first.is_empty() {
            return;
        }
        *first = looked_at();
        drop(first);
        self.look(artifacts, "begin", since);
    }

    /// What was found so far, after waiting for the looks that go on, at most so long.
    async fn wait(&self, patience: Option<Duration>) -> Vec<Change> {
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

    /// Begins a look in the background.
    fn look(&self, artifacts: Option<Artifacts>, call_id: &str, since: Option<SystemTime>) {
        let (all, found) = (self.repositories.clone(), self.found.clone());
        let call_id = call_id.to_owned();
        let look = move || {
            let mut all = lock(&all);
            let Some(since) = since else {
                return;
            };
            let checked = all.iter_mut().flat_map(|repositories| {
                let tampered = repositories.check(since).into_iter();
                let repositories = &*repositories;
                tampered.map(move |tampered| (repositories, tampered))
            });
            for (number, (repositories, tampered)) in checked.enumerate() {
                let name = format!("repository-{call_id}-{number}");
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
                };
                lock(&found).push(change);
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            lock(&self.late).push(runtime.spawn_blocking(look));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn keep_text(artifacts: &Artifacts, name: &str, text: &[u8]) -> Option<PathBuf> {
    artifacts.keep(name, text).ok()
}
