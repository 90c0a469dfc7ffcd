//! What no command of a session may change and the system cannot hold: remembered before the first of them, compared after
//! each, and once more at the end when everything is dead. What the person changes while nothing of ours runs is theirs.

use super::history::{History, HistoryGround};
use super::search::{Look, MAX_ASIDE, Search, keep_text, lock};
use ostler_host::sandbox::{Others, Record, Records, Repositories, Watch};
use ostler_host::{Leftovers, Process, TreeEnd};
use ostler_store::artifacts::Artifacts;
use ostler_tools::sandbox_report::Change;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How far the times of files may lie behind the clock.
const COARSE: Duration = Duration::from_millis(50);
/// How long the end of a command waits for the look at repositories. In a large project the next command says what it found.
const PATIENCE: Duration = Duration::from_millis(25);
/// How long the end of a session waits for the last look at repositories; what is left to look at then is named.
const LAST_LOOK: Duration = Duration::from_secs(3);
/// How long programs that nobody waits for may take to end by themselves at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Clone, Default)]
pub struct Protection {
    state: Arc<Mutex<State>>,
    repositories: Search,
    history: History,
    /// Looks after programs that nobody waits for.
    looks: Arc<Mutex<Vec<JoinHandle<()>>>>,
    /// Kills those programs.
    ending: CancellationToken,
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
    /// What other sessions read of this, and a later one if we are killed. A look holds it until its end.
    record: Option<Arc<Record>>,
    /// All of ours that may still be there.
    own: Vec<Weak<Record>>,
    /// The project that the record is about.
    root: Option<PathBuf>,
}

/// What a session that was killed left to do.
#[derive(Default)]
struct Recovered {
    changes: Vec<Change>,
    /// Since when its commands ran.
    since: Option<SystemTime>,
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
    /// Folders outside of it that are the commands' own.
    pub of_commands: &'a [PathBuf],
    /// Git folders outside of it that commands write to.
    pub git_folders: &'a [PathBuf],
    /// What `~` means in settings of git.
    pub home: Option<&'a Path>,
    pub artifacts: Option<&'a Artifacts>,
    /// All paths that are protected, held by the sandbox or not.
    pub protected: &'a [PathBuf],
    /// Where sessions write down what was there before.
    pub records: Option<&'a Path>,
    /// The history that is measured while it runs, if nobody approved it.
    pub history: Option<&'a HistoryGround>,
}

/// A program that runs. Whoever waits for its end calls `end`; if this is dropped instead, whatever the reason, the look
/// follows when everything that the program started is dead.
pub struct Guarded {
    protection: Protection,
    /// None for a call of a program that goes on running.
    tree: Option<TreeEnd>,
    is_looked_at: bool,
    /// Whether the history is measured because of it.
    is_unapproved: bool,
    /// The call that started it has its result already.
    outlives_call: bool,
}

/// The look after a program that nobody waits for.
struct PendingLook {
    protection: Protection,
    tree: Option<TreeEnd>,
    is_done: bool,
    is_unapproved: bool,
}

impl Protection {
    /// To be called right before a command. Blocks.
    pub fn begin(&self, ground: &Ground<'_>) -> Guarded {
        let mut state = self.lock();
        // What has died since the last look may have written before.
        let quiet = state.running == 0 && state.leftovers.is_empty();
        let had_leftovers = !state.leftovers.is_empty();
        state.leftovers.retain(Leftovers::is_alive);
        let is_alone = state.leftovers.is_empty();
        let recovered = state.remember(ground, quiet);
        state.running += 1;
        let since = recovered.since.or(state.since);
        let record = state.record.clone();
        drop(state);
        self.begin_history(ground.history, had_leftovers, is_alone);
        lock(&self.repositories.found).extend(recovered.changes);
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
                    .map(|one| one.with_home(ground.home.map(Path::to_owned)))
                    .map(|one| one.with_folders_of_commands(ground.of_commands))
                    .collect()
            };
            let artifacts = ground.artifacts.cloned();
            let look = Look {
                artifacts,
                call_id: "begin".into(),
                since,
                record,
            };
            let is_needed = recovered.since.is_some();
            self.repositories.begin(looked_at, look, is_needed);
        }
        Guarded {
            protection: self.clone(),
            tree: None,
            is_looked_at: false,
            is_unapproved: ground.history.is_some(),
            outlives_call: false,
        }
    }

    /// Ends what commands left in the background and programs that nobody waits for, and looks a last time.
    pub async fn finish(&self) -> Vec<Change> {
        let are_dead = self.end_programs().await;
        let mut changes = self.end_all("end", Some(LAST_LOOK)).await.1;
        changes.extend(self.history.take_untold());
        match self.repositories.unfinished() {
            // The record stays, so that the next start looks further.
            tops if !tops.is_empty() => changes.extend(tops.into_iter().map(Change::unseen)),
            _ if !are_dead => {}
            _ => {
                changes.extend(self.repositories.still_missed(&changes));
                self.lock().record = None;
            }
        }
        changes
    }

    /// Waits until the programs that nobody waits for have ended and were looked at; kills those that take too long.
    /// Whether all of them are done.
    async fn end_programs(&self) -> bool {
        let mut looks = std::mem::take(&mut *lock(&self.looks));
        if looks.is_empty() {
            return true;
        }
        if !join_all(&mut looks, LAST_WORDS).await {
            self.ending.cancel();
        }
        let are_done = join_all(&mut looks, LAST_LOOK).await;
        lock(&self.looks).extend(looks);
        are_done
    }

    /// Puts back what programs have changed up to now; what is found is told by `take_found`.
    pub async fn look(&self, call_id: &str) {
        let changes = self.put_back(call_id, Some(PATIENCE)).await;
        lock(&self.repositories.found).extend(changes);
    }

    /// Before a command: brings back what those before it took of the history, and remembers it if nobody approved it.
    /// Leftovers of commands may have died since the last look.
    fn begin_history(&self, ground: Option<&HistoryGround>, had_leftovers: bool, is_alone: bool) {
        if had_leftovers {
            self.history.mend_and_tell_later();
        }
        if is_alone {
            self.history.rest();
        }
        if let Some(ground) = ground {
            self.history.begin(ground);
        }
    }

    /// To be called before the tree is saved and at the end of a turn: brings back what running commands took of the history
    /// that nobody approved. That, and what no result has told.
    pub async fn look_at_history(&self) -> Vec<Change> {
        let protection = self.clone();
        let look = move || {
            let mut state = protection.lock();
            state.leftovers.retain(Leftovers::is_alive);
            let is_alone = state.leftovers.is_empty();
            drop(state);
            protection.history.mend_and_tell_later();
            if is_alone {
                protection.history.rest();
            }
            protection.history.take_untold()
        };
        // It fails only when the runtime ends.
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// What looks have found that nobody waited for.
    pub fn take_found(&self) -> Vec<Change> {
        std::mem::take(&mut *lock(&self.repositories.found))
    }

    /// The person has changed this path, or let it be changed: it is not put back. Blocks.
    pub fn accept(&self, path: &Path) {
        let mut state = self.lock();
        let State {
            watch,
            record,
            since,
            root,
            ..
        } = &mut *state;
        let Some(watch) = watch else {
            return;
        };
        watch.accept(path);
        if let (Some(record), Some(since), Some(root)) = (record, since, root) {
            // Who cannot write it down is protected by what this process remembers.
            let _ = record.update(root, *since, watch);
        }
    }

    /// Whether a look that is still to come compares this path with what it was.
    pub fn may_put_back(&self, path: &Path, records: Option<&Path>) -> bool {
        let mut state = self.lock();
        state.leftovers.retain(Leftovers::is_alive);
        let compares = |watch: &Watch| watch.paths().iter().any(|one| path.starts_with(one));
        let runs = state.running > 0 || !state.leftovers.is_empty();
        if runs && state.watch.as_ref().is_some_and(compares) {
            return true;
        }
        let own = state.own.iter().filter_map(Weak::upgrade);
        let own = own.map(|record| record.path().to_owned()).collect();
        drop(state);
        let Some(records) = records.filter(|records| records.is_dir()) else {
            return false;
        };
        let records = Records::new(records.to_owned());
        let Ok(turn) = records.turn() else {
            return false;
        };
        let others = records.live(&own, &turn);
        others.iter().any(|written| compares(&written.watch))
    }

    /// One program less that runs.
    fn release(&self, is_unapproved: bool) {
        let mut state = self.lock();
        if is_unapproved {
            self.history.end();
        }
        if state.leftovers.is_empty() {
            self.history.rest();
        }
        state.running = state.running.saturating_sub(1);
        if state.running == 0 && state.leftovers.is_empty() {
            state.record = None;
        }
    }

    /// Ends what commands left in the background: of how many of them something was alive, and what was put back.
    pub async fn end_leftovers(&self, call_id: &str) -> (usize, Vec<Change>) {
        self.end_all(call_id, None).await
    }

    async fn end_all(&self, call_id: &str, patience: Option<Duration>) -> (usize, Vec<Change>) {
        let leftovers = std::mem::take(&mut self.lock().leftovers);
        if leftovers.is_empty() {
            // Whatever changed since the last command, none of ours did it; its own look may still go on.
            return (0, self.repositories.wait(patience).await);
        }
        let mut ended = 0;
        for one in leftovers.into_iter().filter(Leftovers::is_alive) {
            one.end().await;
            ended += 1;
        }
        (ended, self.put_back(call_id, patience).await)
    }

    async fn put_back(&self, call_id: &str, patience: Option<Duration>) -> Vec<Change> {
        let protection = self.clone();
        let name = call_id.to_owned();
        let look = move || {
            let mut state = protection.lock();
            let changes = state.put_back(&name);
            let look = Look {
                artifacts: state.artifacts.clone(),
                call_id: name,
                since: state.since,
                record: state.record.clone(),
            };
            (changes, look)
        };
        let looked = tokio::task::spawn_blocking(look).await;
        let Ok((mut changes, look)) = looked else {
            return Vec::new();
        };
        self.repositories.look(look);
        changes.extend(self.repositories.wait(patience).await);
        changes.extend(self.mend_history().await);
        changes
    }

    async fn mend_history(&self) -> Vec<Change> {
        let history = self.history.clone();
        let mended = tokio::task::spawn_blocking(move || history.mend()).await;
        // It fails only when the runtime ends.
        mended.unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Guarded {
    /// The program that is looked after.
    pub fn follow(&mut self, process: &mut Process) {
        self.tree = Some(process.tree_end());
    }

    /// What an ended command left in the background may still write.
    pub fn take_leftovers(&self, process: &mut Process) {
        let leftovers = process.take_leftovers();
        self.protection.lock().leftovers.extend(leftovers);
    }

    /// The call that started it ends before it does: the person is told what no result tells.
    pub fn outlive_call(&mut self) {
        self.outlives_call = true;
    }

    /// Puts back what changed.
    pub async fn end(mut self, call_id: &str) -> Vec<Change> {
        let protection = self.protection.clone();
        if self.outlives_call {
            let mended = protection.mend_history().await;
            protection.history.tell_later(mended.iter().cloned());
            let mut changes = protection.put_back(call_id, Some(PATIENCE)).await;
            changes.extend(mended);
            self.is_looked_at = true;
            return changes;
        }
        let changes = protection.put_back(call_id, Some(PATIENCE)).await;
        self.is_looked_at = true;
        changes
    }

    /// The same, with all that the look at repositories finds.
    pub async fn end_wholly(mut self, call_id: &str) -> Vec<Change> {
        let protection = self.protection.clone();
        let changes = protection.put_back(call_id, None).await;
        self.is_looked_at = true;
        changes
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.is_looked_at {
            return self.protection.release(self.is_unapproved);
        }
        let look = PendingLook {
            protection: self.protection.clone(),
            tree: self.tree.take(),
            is_done: false,
            is_unapproved: self.is_unapproved,
        };
        // Without a runtime the record stays for the next session.
        if tokio::runtime::Handle::try_current().is_ok() {
            let mut looks = lock(&self.protection.looks);
            looks.retain(|look| !look.is_finished());
            looks.push(tokio::spawn(look.run()));
        }
    }
}

impl PendingLook {
    async fn run(mut self) {
        if let Some(tree) = &mut self.tree {
            let ending = self.protection.ending.clone();
            let is_dead = tokio::select! {
                () = tree.wait() => true,
                () = ending.cancelled() => false,
            };
            if !is_dead {
                tree.kill();
                tree.wait().await;
            }
        }
        let changes = self.protection.put_back(&unique_name(), None).await;
        lock(&self.protection.repositories.found).extend(changes);
        self.is_done = true;
    }
}

impl Drop for PendingLook {
    fn drop(&mut self) {
        if self.is_done {
            return self.protection.release(self.is_unapproved);
        }
        if let Some(record) = &self.protection.lock().record {
            record.leave();
        }
    }
}

/// The name of a look that belongs to no call. Those of several processes may keep files in one folder.
pub fn unique_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    format!("afterwards-{}", now.unwrap_or_default().as_nanos())
}

/// Waits for tasks, at most so long; those that have ended are taken out. Whether that is all of them.
async fn join_all(tasks: &mut Vec<JoinHandle<()>>, patience: Duration) -> bool {
    let all = async {
        while let Some(task) = tasks.last_mut() {
            // One that was lost with the runtime left its record.
            let _ = task.await;
            tasks.pop();
        }
    };
    tokio::time::timeout(patience, all).await.is_ok()
}

impl State {
    /// Remembers what is there. If nothing of ours ran since the last look, all of it is as the person wants it, except
    /// what commands of other sessions are changing: of that, the state that those remember counts.
    fn remember(&mut self, ground: &Ground<'_>, quiet: bool) -> Recovered {
        if let Some(artifacts) = ground.artifacts {
            self.artifacts = Some(artifacts.clone());
        }
        if let Some(root) = ground.root {
            self.root = Some(root.to_owned());
        }
        let records = ground
            .records
            .map(|folder| Records::new(folder.to_owned()))
            .zip(ground.root);
        let turn = records.as_ref().and_then(|(all, _)| all.turn().ok());
        let mut others = Others::default();
        if quiet {
            self.since = SystemTime::now().checked_sub(COARSE);
            self.record = None;
            self.own.retain(|record| record.strong_count() > 0);
            let own = self.own.iter().filter_map(Weak::upgrade);
            let own = own.map(|record| record.path().to_owned()).collect();
            if let (Some((all, root)), Some(turn)) = (&records, &turn) {
                others = all.others(root, &own, turn);
            }
        }
        let mut recovered = Recovered::default();
        for (mut written, leftover) in others.dead {
            written.watch.retain(ground.protected);
            let changes = put_back(&mut written.watch, self.artifacts.as_ref(), "recovered");
            recovered.changes.extend(changes);
            let older = recovered.since.is_none_or(|since| written.since < since);
            if older {
                recovered.since = Some(written.since);
            }
            // One that began further up is done with by a session up there, which looks at all its repositories.
            let is_whole = ground
                .root
                .is_none_or(|root| !is_below(root, &written.tree));
            if is_whole {
                leftover.remove();
            }
        }
        match &mut self.watch {
            Some(watch) if quiet => watch.renew(ground.loose),
            Some(watch) => watch.add(ground.loose),
            None if !ground.loose.is_empty() => self.watch = Some(Watch::new(ground.loose)),
            None => {}
        }
        for written in &others.live {
            if let Some(watch) = &mut self.watch {
                watch.take_over(&written.watch);
            }
            self.since = self.since.map(|since| since.min(written.since));
        }
        if let (Some((all, root)), Some(turn), Some(since)) = (&records, &turn, self.since) {
            let nothing = Watch::new(&[]);
            let watch = self.watch.as_ref().unwrap_or(&nothing);
            match &self.record {
                // Who cannot write it down is protected by what this process remembers.
                Some(record) => drop(record.update(root, since, watch)),
                None => self.record = all.write(root, since, watch, turn).ok().map(Arc::new),
            }
            self.own.extend(self.record.as_ref().map(Arc::downgrade));
        }
        recovered
    }

    fn put_back(&mut self, call_id: &str) -> Vec<Change> {
        match &mut self.watch {
            Some(watch) => put_back(watch, self.artifacts.as_ref(), call_id),
            None => Vec::new(),
        }
    }
}

/// Whether a folder lies in another one, and is not that one.
fn is_below(folder: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (folder, other) = (real(folder), real(other));
    folder != other && folder.starts_with(&other)
}

/// Puts back what differs, and keeps what was there.
fn put_back(watch: &mut Watch, artifacts: Option<&Artifacts>, call_id: &str) -> Vec<Change> {
    if watch.is_unchanged() {
        return Vec::new();
    }
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
        unseen: false,
    });
    undone.collect()
}
