//! The paths of the project, for a search behind `@`: read in the background when one is first wanted, kept, and read anew
//! when they are old. Ignored files and noise are left out. Which of them may be offered is judged by whoever answers.

use super::{MAX_LISTED, is_worth};
use ostler_host::search::Ignored;
use ostler_host::{Border, Host, Kind};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Paths that are kept.
const MAX_PATHS: usize = 200_000;
/// Bytes of all of them.
const MAX_BYTES: usize = 16 << 20;
/// After this time the next search has them read anew, and is answered from the old ones.
const FRESH: Duration = Duration::from_secs(5);
/// How long a first search waits for them.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is known of the tree. Its copies share it.
#[derive(Clone)]
pub struct Tree(Arc<Shared>);

struct Shared {
    paths: watch::Sender<Option<Arc<Vec<String>>>>,
    reading: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    is_under_way: bool,
    done: Option<Instant>,
}

impl Default for Tree {
    fn default() -> Self {
        Self(Arc::new(Shared {
            paths: watch::channel(None).0,
            reading: Mutex::default(),
        }))
    }
}

impl Tree {
    /// The paths below the root, relative to it, folders with a slash at the end; `None` while they are read for the first
    /// time.
    pub async fn paths(
        &self,
        host: &Arc<dyn Host>,
        root: &Path,
        border: &Arc<Border>,
    ) -> Option<Arc<Vec<String>>> {
        self.refresh(host, root, border);
        let mut paths = self.0.paths.subscribe();
        let known = paths.wait_for(Option::is_some);
        match tokio::time::timeout(PATIENCE, known).await {
            Ok(Ok(known)) => known.clone(),
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Has them read in the background, unless they are fresh or being read.
    fn refresh(&self, host: &Arc<dyn Host>, root: &Path, border: &Arc<Border>) {
        let mut reading = self
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_fresh = reading.done.is_some_and(|done| done.elapsed() < FRESH);
        if reading.is_under_way || is_fresh {
            return;
        }
        reading.is_under_way = true;
        let (shared, host) = (Arc::downgrade(&self.0), host.clone());
        let (root, border) = (root.to_owned(), border.clone());
        tokio::spawn(async move {
            let paths = read(&host, &root, &border, || shared.strong_count() > 0).await;
            // Nobody may want them any more.
            let Some(shared) = shared.upgrade() else {
                return;
            };
            shared.paths.send_replace(Some(Arc::new(paths)));
            let mut reading = shared
                .reading
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *reading = Reading {
                is_under_way: false,
                done: Some(Instant::now()),
            };
        });
    }
}

/// Level by level, so that what is near is there if the tree is too large.
async fn read(
    host: &Arc<dyn Host>,
    root: &Path,
    border: &Arc<Border>,
    is_wanted: impl Fn() -> bool,
) -> Vec<String> {
    let ignored = Ignored::new(root, root);
    let mut paths = Vec::new();
    let mut bytes = 0;
    let mut folders = VecDeque::from([(PathBuf::from(root), String::new())]);
    while let Some((folder, name)) = folders.pop_front() {
        if !is_wanted() {
            break;
        }
        // A folder that is gone, or that may not be listed, has no names to offer.
        let Ok(listing) = host.list(&folder, MAX_LISTED, border).await else {
            continue;
        };
        for entry in listing.entries {
            let Some(own) = entry.name.to_str().filter(|own| is_worth(own)) else {
                continue;
            };
            let (path, is_folder) = (folder.join(own), entry.kind == Kind::Directory);
            let is_named = matches!(entry.kind, Kind::File | Kind::Directory | Kind::Symlink);
            if !is_named || ignored.holds(&path, is_folder) {
                continue;
            }
            let slash = if is_folder { "/" } else { "" };
            let shown = format!("{name}{own}{slash}");
            bytes += shown.len();
            if paths.len() >= MAX_PATHS || bytes > MAX_BYTES {
                return paths;
            }
            if is_folder {
                folders.push_back((path, shown.clone()));
            }
            paths.push(shown);
        }
    }
    paths
}
