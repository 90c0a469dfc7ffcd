//! Programs in the sandbox that belong to no session: MCP servers, commands that make headers, model plugins. What they
//! change against the rules is compared with the state before the first of them started, for as long as one runs, and put
//! back when they have answered for the first time, when they end, and at the end of the process. What the person changes
//! in such a place meanwhile cannot be told apart: it is kept aside and named.

use super::SandboxShare;
use super::protection::unique_name;
use ostler_tools::SandboxReport;
use ostler_tools::sandbox_report::Change;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Of each project. It outlives every hub, so that the end of the process finds all programs.
static SHARES: Mutex<BTreeMap<PathBuf, Arc<SandboxShare>>> = Mutex::new(BTreeMap::new());
/// Told when the first of them is started.
static STARTED: Notify = Notify::const_new();

/// What the programs of a project share.
pub fn share_of(root: &Path) -> Arc<SandboxShare> {
    STARTED.notify_one();
    shares().entry(root.to_owned()).or_default().clone()
}

/// Puts back what programs of this project have changed up to now.
pub async fn look(root: &Path) {
    let share = shares().get(root).cloned();
    if let Some(share) = share {
        share.protection.look(&unique_name()).await;
    }
}

/// What was put back or cleaned since the last call, ready to show.
pub fn take_notice(root: &Path) -> Option<String> {
    let share = shares().get(root).cloned()?;
    notice(share.protection.take_found())
}

/// Waits until a program of this kind is started.
pub async fn started() {
    STARTED.notified().await;
}

/// To be called at the end of the process, when nothing needs the programs any more: waits for their end, kills what does
/// not end, and puts back what they changed. What that was, ready to show.
pub async fn finish() -> Option<String> {
    let all: Vec<Arc<SandboxShare>> = shares().values().cloned().collect();
    let mut changes = Vec::new();
    for share in all {
        changes.extend(share.protection.finish().await);
    }
    notice(changes)
}

/// The person has changed this path, or let it be changed: it is not put back. Blocks.
pub fn accept(path: &Path) {
    let all: Vec<Arc<SandboxShare>> = shares().values().cloned().collect();
    all.iter().for_each(|share| share.protection.accept(path));
}

fn notice(changes: Vec<Change>) -> Option<String> {
    let report = SandboxReport {
        changes,
        ..SandboxReport::default()
    };
    let lines = report.lines();
    (!lines.is_empty()).then(|| lines.trim_end().to_owned())
}

fn shares() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<SandboxShare>>> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SandboxShare {
    /// The person has changed these paths, or let them be changed: neither this session nor a running server puts them
    /// back.
    pub async fn accept(&self, paths: Vec<PathBuf>) {
        let protection = self.protection.clone();
        let all = move || {
            for path in paths {
                protection.accept(&path);
                accept(&path);
            }
        };
        // At the end of the runtime there is nothing more to compare.
        let _ = tokio::task::spawn_blocking(all).await;
    }
}
