//! The projects of `ostler serve`: each has a configuration and a hub of its own, made when it is first needed.

use super::{spent, stored};
use crate::boot::Boot;
use crate::cmd::answers::Answers;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::questions::StartQuestions;
use crate::errors::Told as _;
use crate::setup::{self, SetupQuestions};
use crate::wiring::plugins::learn;
use ostler_config::files::{Access, lock, write};
use ostler_config::trust::State;
use ostler_engine::HubCommands as _;
use ostler_engine::store::project_name;
use ostler_serve::backend::{
    self, About, Backend, Fault, FileItem, Files, Project, Projects, Refusal, Sessions, Trust,
    UsageRow,
};
use ostler_wire::{
    Ask, AskAnswer, BoxFuture, CompletionRequest, Hub as _, HubError, Language, Questions as _,
    View, Word,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;

/// In the home: folders that were added in the browser.
const KEPT: &str = "projects.json";
/// Folders that are kept.
const MAX_KEPT: usize = 256;

/// What `ostler serve` serves.
pub struct Workbench {
    boot: Arc<Boot>,
    /// In the order in which they were named: the folder that it was started in is the first.
    projects: Mutex<Vec<Arc<Place>>>,
    setup: SetupQuestions,
    pub(super) stored: stored::Cache,
}

/// One project.
pub struct Place {
    pub id: String,
    pub root: PathBuf,
    hub: OnceCell<Arc<ConversationHub>>,
}

impl Place {
    fn new(root: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            id: project_name(&root),
            root,
            hub: OnceCell::new(),
        })
    }
}

impl Workbench {
    pub fn new(boot: Arc<Boot>, folders: &[PathBuf]) -> anyhow::Result<Self> {
        let mut roots = vec![boot.places.root.clone()];
        for folder in folders {
            // A folder that the person names has to be there.
            roots.push(boot.of_root(&boot.places.cwd.join(folder))?.places.root);
        }
        roots.extend(kept(&boot));
        let mut projects: Vec<Arc<Place>> = Vec::new();
        for place in roots.into_iter().map(Place::new) {
            if projects.iter().all(|known| known.id != place.id) {
                projects.push(place);
            }
        }
        Ok(Self {
            projects: Mutex::new(projects),
            setup: SetupQuestions::new(boot.clone()),
            stored: stored::Cache::default(),
            boot,
        })
    }

    pub fn language(&self) -> Language {
        self.boot.language
    }

    /// Ends all sessions, so that each can be resumed.
    pub async fn close(&self) {
        let all = self.all();
        let hubs = all.iter().filter_map(|place| place.hub.get());
        futures_util::future::join_all(hubs.map(|hub| hub.close())).await;
    }

    pub fn all(&self) -> Vec<Arc<Place>> {
        self.lock().clone()
    }

    /// The project of a place: the one that is known, or this one from now on.
    fn known(&self, place: Arc<Place>) -> Arc<Place> {
        let mut all = self.lock();
        let known = all.iter().find(|known| known.id == place.id).cloned();
        known.unwrap_or_else(|| {
            all.push(place.clone());
            place
        })
    }

    pub fn find(&self, id: &str) -> Result<Arc<Place>, Refusal> {
        let found = self.lock().iter().find(|place| place.id == id).cloned();
        let none = || Refusal::not_found(self.language().fill(Word::ServeNoProject, &[id]));
        found.ok_or_else(none)
    }

    /// The hub of a project. A folder that is gone has none.
    pub async fn hub(&self, place: &Place) -> Result<Arc<ConversationHub>, Refusal> {
        let made = place.hub.get_or_try_init(|| async {
            let boot = learn(Arc::new(self.boot.of_root(&place.root)?)).await?;
            let start = move || ConversationHub::start(boot, Attendance::Answers, |_| Ok(()));
            tokio::task::spawn_blocking(start).await?.map(Arc::new)
        });
        made.await
            .cloned()
            .map_err(|error| self.failed(place, &error))
    }

    /// The configuration of a project as it is now.
    pub fn boot_of(&self, place: &Place) -> Result<Arc<Boot>, Refusal> {
        let boot = match place.hub.get() {
            Some(hub) => hub.boot().anew(),
            None => self.boot.of_root(&place.root),
        };
        boot.map(Arc::new)
            .map_err(|error| self.failed(place, &error))
    }

    fn failed(&self, place: &Place, error: &anyhow::Error) -> Refusal {
        let kind = match place.root.is_dir() {
            true => Fault::Failed,
            false => Fault::NotFound,
        };
        Refusal::new(kind, self.language().told(error))
    }

    fn shown(&self, place: &Place) -> Project {
        let name = place.root.file_name();
        let name = name.map_or_else(
            || place.root.to_string_lossy(),
            |name| name.to_string_lossy(),
        );
        let state = self.boot_of(place).map(|boot| boot.loaded.workspace.state);
        Project {
            id: place.id.clone(),
            root: place.root.clone(),
            name: name.into_owned(),
            trust: match state {
                Ok(State::Trusted | State::ThisRun) => Trust::Trusted,
                Ok(State::Untrusted) => Trust::Untrusted,
                Ok(State::Changed) => Trust::Changed,
                Ok(State::Refused) => Trust::Refused,
                // What cannot be read asks for nothing.
                Ok(State::NotNeeded) | Err(_) => Trust::NotNeeded,
            },
        }
    }

    /// What setup wants to know next. When it is over, sessions are opened with what it wrote.
    async fn next_of_setup(&self) -> Result<Vec<Arc<Ask>>, Refusal> {
        let next = self.setup.next().await;
        let next = next.map_err(|why| Refusal::new(Fault::Failed, why))?;
        if next.is_none() {
            let all = self.all();
            all.iter()
                .filter_map(|place| place.hub.get())
                .for_each(|hub| hub.expire());
        }
        Ok(next.into_iter().collect())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Place>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what waits for the disk beside the event loop.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(Refusal::new(Fault::Failed, e.to_string())))
}

/// What the server gets: it wants to own what it waits for.
pub struct Served(pub Arc<Workbench>);

impl Backend for Served {
    fn about(&self) -> About {
        About {
            version: crate::VERSION.into(),
            language: self.0.language(),
        }
    }

    fn now(&self) -> String {
        ostler_engine::log::now()
    }

    fn projects(&self) -> &dyn Projects {
        self
    }

    fn sessions(&self) -> &dyn Sessions {
        self
    }

    fn questions(&self) -> &dyn backend::StartQuestions {
        self
    }
}

impl backend::StartQuestions for Served {
    fn list(&self, project: &str) -> BoxFuture<'_, Result<Vec<Arc<Ask>>, Refusal>> {
        let (bench, id) = (self.0.clone(), project.to_owned());
        let list = move || {
            let boot = bench.boot_of(&*bench.find(&id)?)?;
            let is_new = setup::is_needed(&boot);
            Ok((StartQuestions::new(boot).questions(), is_new))
        };
        Box::pin(async move {
            let (asks, is_new) = blocking(list).await?;
            match is_new && asks.is_empty() {
                true => self.0.next_of_setup().await,
                false => Ok(asks),
            }
        })
    }

    fn answer(
        &self,
        project: &str,
        ask: String,
        answer: AskAnswer,
    ) -> BoxFuture<'_, Result<(), Refusal>> {
        let (bench, id) = (self.0.clone(), project.to_owned());
        if SetupQuestions::is_one(&ask) {
            return Box::pin(async move {
                let taken = bench.setup.answer(&ask, &answer);
                taken.map_err(|HubError(why)| Refusal::new(Fault::Conflict, why))?;
                // What it wrote is there when its last answer is taken.
                bench.next_of_setup().await.map(drop)
            });
        }
        let answer = move || {
            let place = bench.find(&id)?;
            // The name of an ask is the hash of what it shows: what has changed since then is asked about anew.
            let questions = StartQuestions::new(bench.boot_of(&place)?);
            let taken = questions.answer(&ask, &answer);
            taken.map_err(|HubError(why)| Refusal::new(Fault::Conflict, why))?;
            if let Some(hub) = place.hub.get() {
                hub.expire();
            }
            Ok(())
        };
        Box::pin(blocking(answer))
    }
}

impl Projects for Served {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Project>, Refusal>> {
        let bench = self.0.clone();
        let list = move || Ok(bench.all().iter().map(|place| bench.shown(place)).collect());
        Box::pin(blocking(list))
    }

    fn add(&self, root: PathBuf) -> BoxFuture<'_, Result<Project, Refusal>> {
        let bench = self.0.clone();
        let add = move || {
            let known = bench.boot.of_root(&root);
            let boot = known.map_err(|error| {
                let kind = match root.is_dir() {
                    true => Fault::Failed,
                    false => Fault::NotFound,
                };
                Refusal::new(kind, bench.language().told(&error))
            })?;
            let place = Place::new(boot.places.root.clone());
            let place = bench.known(place);
            keep(&bench.boot, |roots| {
                if !roots.contains(&place.root) && roots.len() < MAX_KEPT {
                    roots.push(place.root.clone());
                }
            })?;
            Ok(bench.shown(&place))
        };
        Box::pin(blocking(add))
    }

    fn remove(&self, id: &str) -> BoxFuture<'_, Result<(), Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        let remove = move || {
            let place = bench.find(&id)?;
            keep(&bench.boot, |roots| {
                roots.retain(|root| *root != place.root)
            })?;
            bench.lock().retain(|place| place.id != id);
            Ok(())
        };
        Box::pin(blocking(remove))
    }

    fn command(&self, id: &str, line: String) -> BoxFuture<'_, Result<View, Refusal>> {
        let (bench, id) = (self.0.clone(), id.to_owned());
        let boot = blocking(move || bench.boot_of(&*bench.find(&id)?));
        Box::pin(async move {
            let answer = Answers(boot.await?).answer(line).await;
            answer.map_err(|HubError(why)| Refusal::new(Fault::Invalid, why))
        })
    }

    fn files(
        &self,
        id: &str,
        query: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<Files, Refusal>> {
        let found = self.0.find(id);
        Box::pin(async move {
            let hub = self.0.hub(&*found?).await?;
            let request = CompletionRequest {
                text: query,
                limit: Some(limit),
            };
            let found = hub.complete(&request).await;
            let items = found.items.into_iter().map(|item| FileItem {
                path: item.insert.trim_end_matches('/').to_owned(),
                folder: item.is_folder,
            });
            Ok(Files {
                items: items.collect(),
                truncated: found.truncated,
            })
        })
    }

    fn usage(&self, days: u16) -> BoxFuture<'_, Result<Vec<UsageRow>, Refusal>> {
        let bench = self.0.clone();
        Box::pin(blocking(move || spent::rows(&bench.boot, days)))
    }
}

/// The folders that were added. Those that are gone stay in the list: a disk may come back.
fn kept(boot: &Boot) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(boot.places.home.join(KEPT));
    text.ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

fn keep(boot: &Boot, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<(), Refusal> {
    let language = boot.language;
    let path: &Path = &boot.places.home.join(KEPT);
    let unwritten = |_: std::io::Error| {
        let shown = path.display().to_string();
        Refusal::new(
            Fault::Failed,
            language.fill(Word::CannotBeWritten, &[&shown]),
        )
    };
    let _lock = lock(&boot.places.home).map_err(unwritten)?;
    let mut roots = kept(boot);
    let before = roots.clone();
    change(&mut roots);
    if roots == before {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&roots).unwrap_or_default();
    write(path, text.as_bytes(), Access::Private).map_err(unwritten)
}
