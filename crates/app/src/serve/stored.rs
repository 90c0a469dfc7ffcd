//! The sessions of `ostler serve`: those on disk, and clients of those that run.

use super::projects::{Place, Served, Workbench, blocking};
use ostler_engine::history::{Query, Reach, Words};
use ostler_engine::store::{Store, info};
use ostler_engine::{export, log};
use ostler_serve::backend::{Document, Entries, Fault, Listing, Page, Refusal, Sessions};
use ostler_wire::{BoxFuture, Client, Hub as _, Open, Say as _, SessionInfo, Word};
use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Characters of the id of a session.
const ID: usize = 36;
/// Messages that a search looks at.
const MAX_HITS: usize = 200;
/// How long a search brings its index up to date.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an artifact that is handed out.
const MAX_ARTIFACT: u64 = 64 << 20;

/// What was read of logs, while they have not changed.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<PathBuf, Known>>);

struct Known {
    stamp: (SystemTime, u64),
    info: SessionInfo,
}

impl Cache {
    fn infos(&self, logs: &[PathBuf]) -> Vec<SessionInfo> {
        logs.iter().filter_map(|log| self.info(log)).collect()
    }

    fn info(&self, log: &Path) -> Option<SessionInfo> {
        let meta = log.metadata().ok()?;
        let stamp = (meta.modified().ok()?, meta.len());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(log).filter(|known| known.stamp == stamp) {
            return Some(known.info.clone());
        }
        let info = info(log)?;
        let of = Known {
            stamp,
            info: info.clone(),
        };
        known.insert(log.to_owned(), of);
        Some(info)
    }
}

impl Workbench {
    fn store(&self, place: &Place) -> Result<Store, Refusal> {
        Ok(self.boot_of(place)?.store())
    }

    /// Where the log of a session of ours lies, and of which project it is.
    fn log_of(&self, id: &str) -> Result<(Arc<Place>, Store, PathBuf), Refusal> {
        let none = || Refusal::not_found(self.language().fill(Word::StoreNoSession, &[id]));
        let is_id = id.len() == ID && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if !is_id {
            return Err(none());
        }
        for place in self.all() {
            // Another project may be gone.
            let Ok(store) = self.store(&place) else {
                continue;
            };
            let path = store.path_of(id);
            if path.is_file() {
                return Ok((place, store, path));
            }
        }
        Err(none())
    }

    fn list(&self, wanted: &Listing) -> Result<Vec<SessionInfo>, Refusal> {
        let places = match &wanted.project {
            Some(id) => vec![self.find(id)?],
            None => self.all(),
        };
        let mut all = Vec::new();
        for place in places {
            let Ok(store) = self.store(&place) else {
                continue;
            };
            let mut logs = match &wanted.only {
                Some(only) => only.iter().map(|id| store.path_of(id)).collect(),
                None => store
                    .own_logs()
                    .map_err(|why| Refusal::new(Fault::Failed, why))?,
            };
            logs.retain(|log| log.is_file());
            let infos = self.stored.infos(&logs);
            all.extend(match wanted.query.trim() {
                "" => infos,
                query => self.matching(&place, (store, infos), query),
            });
        }
        all.sort_by(|a, b| b.updated.cmp(&a.updated));
        all.dedup_by(|a, b| a.id == b.id);
        all.truncate(wanted.limit);
        Ok(all)
    }

    /// Those whose title has the words, or in which something that was said has them.
    fn matching(
        &self,
        place: &Place,
        (store, infos): (Store, Vec<SessionInfo>),
        query: &str,
    ) -> Vec<SessionInfo> {
        let home = match self.boot_of(place) {
            Ok(boot) => boot.places.home.clone(),
            Err(_) => return Vec::new(),
        };
        let found = store.history(&home, None).search_widely(
            Query {
                text: query.to_owned(),
                words: Words::All,
                reach: Reach::Project,
                limit: MAX_HITS,
                patience: PATIENCE,
            },
            &|| false,
        );
        // Without an index the titles are left.
        let hits = found.map(|found| found.hits).unwrap_or_default();
        let hits: HashSet<String> = hits.into_iter().map(|hit| hit.session).collect();
        let query = query.to_lowercase();
        let has = |info: &SessionInfo| {
            let title = info.title.to_lowercase();
            hits.contains(&info.id) || query.split_whitespace().all(|word| title.contains(word))
        };
        infos.into_iter().filter(has).collect()
    }

    fn entries(&self, id: &str, page: Page) -> Result<Entries, Refusal> {
        let (_, _, path) = self.log_of(id)?;
        let language = self.language();
        let found = log::page(&path, page.before, page.limit);
        let (entries, more) = found.map_err(|e| Refusal::new(Fault::Failed, e.say(language)))?;
        Ok(Entries {
            entries: entries.into_iter().map(Arc::new).collect(),
            more,
        })
    }

    fn document(&self, id: &str, which: &Document) -> Result<Vec<u8>, Refusal> {
        let (_, store, path) = self.log_of(id)?;
        if let Document::Artifact { name, tail } = which {
            return self.artifact(&store.folder_of(id), name, *tail);
        }
        let language = self.language();
        let failed = |why: String| Refusal::new(Fault::Failed, why);
        let (entries, _) = log::read(&path).map_err(|e| failed(e.say(language)))?;
        let text = match which {
            Document::Markdown => export::markdown(&log::branch(entries)),
            Document::Html => export::html(&log::branch(entries)),
            Document::Log | Document::Artifact { .. } => {
                let lines: Result<Vec<String>, _> = entries.iter().map(|e| e.to_line()).collect();
                let lines = lines.map_err(|e| failed(e.to_string()))?;
                lines.into_iter().map(|line| line + "\n").collect()
            }
        };
        Ok(text.into_bytes())
    }

    /// A file of the folder beside a log: no link, and nothing that never ends.
    fn artifact(&self, folder: &Path, name: &str, tail: Option<u64>) -> Result<Vec<u8>, Refusal> {
        let none = || Refusal::not_found(self.language().say(Word::ServeNothingHere));
        let path = folder.join(name);
        let is_plain = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if path.parent() != Some(folder) || !is_plain(&path) {
            return Err(none());
        }
        let mut file = ostler_host::open_without_waiting(&path).map_err(|_| none())?;
        // What was opened is what was looked at, whatever was put there meanwhile.
        let real = ostler_host::real_path(&path);
        if real.parent() != Some(&ostler_host::real_path(folder)) {
            return Err(none());
        }
        let size = file.metadata().map_err(|_| none())?.len();
        let skipped = tail.map_or(0, |tail| size.saturating_sub(tail));
        file.seek(SeekFrom::Start(skipped)).map_err(|_| none())?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_ARTIFACT).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|_| none())
    }
}

impl Sessions for Served {
    fn list(&self, wanted: Listing) -> BoxFuture<'_, Result<Vec<SessionInfo>, Refusal>> {
        let bench = self.0.clone();
        Box::pin(blocking(move || bench.list(&wanted)))
    }

    fn open(&self, project: &str, which: Open) -> BoxFuture<'_, Result<Client, Refusal>> {
        let (bench, project) = (self.0.clone(), project.to_owned());
        Box::pin(async move {
            let place = bench.find(&project)?;
            if let Open::Resume(id) = &which {
                let (bench, id) = (bench.clone(), id.clone());
                blocking(move || bench.log_of(&id).map(drop)).await?;
            }
            let hub = bench.hub(&place).await?;
            if !place.root.is_dir() {
                let shown = place.root.display().to_string();
                let gone = bench.language().fill(Word::ServeRootGone, &[&shown]);
                return Err(Refusal::not_found(gone));
            }
            let mut client = hub.open(which).await?;
            // Whether the project is trusted, and what else is odd: no terminal has said it.
            let language = bench.language();
            let boot = hub.boot();
            let told = boot.loaded.notices.iter().map(|one| one.say(language));
            let told: Vec<String> = told.filter(|one| !client.notes.contains(one)).collect();
            client.notes.splice(0..0, told);
            Ok(client)
        })
    }

    fn project_of(&self, id: &str) -> BoxFuture<'_, Result<String, Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        Box::pin(blocking(move || {
            bench.log_of(&id).map(|(place, _, _)| place.id.clone())
        }))
    }

    fn entries(&self, id: &str, page: Page) -> BoxFuture<'_, Result<Entries, Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        Box::pin(blocking(move || bench.entries(&id, page)))
    }

    fn document(&self, id: &str, which: Document) -> BoxFuture<'_, Result<Vec<u8>, Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        Box::pin(blocking(move || bench.document(&id, &which)))
    }

    fn delete(&self, id: &str) -> BoxFuture<'_, Result<(), Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        Box::pin(blocking(move || {
            let language = bench.language();
            // One that was never written is gone with its process.
            let Ok((_, store, path)) = bench.log_of(&id) else {
                return Ok(());
            };
            log::check_free(&path).map_err(|e| Refusal::new(Fault::Conflict, e.say(language)))?;
            let deleted = store.delete(&id).map(drop);
            deleted.map_err(|why| Refusal::new(Fault::Conflict, why))
        }))
    }
}
