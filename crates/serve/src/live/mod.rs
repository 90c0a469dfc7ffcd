//! The sessions that this server has open, and the list of all sessions with what each is at.

pub mod lines;
pub mod session;

use crate::backend::{Backend, Listing, Refusal};
use crate::problem::{Kind, Problem};
use ostler_wire::{Client, Open, SessionInfo, Subscription, Word};
use serde::Serialize;
use session::{OpenSession, State};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// A session that nobody looks at and that is at nothing is let go after this; it is resumed when somebody comes back.
const LEFT_ALONE: Duration = Duration::from_secs(600);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(30);
/// Sessions that are open at once.
const MAX_OPEN: usize = 128;
/// Changes of lists that a stream may fall behind.
const ROWS: usize = 256;
/// For a session that is deleted to end.
const ENDING: Duration = Duration::from_secs(5);

/// One line of the list of sessions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SessionRow)]
pub struct Row {
    pub id: String,
    pub project: String,
    pub title: String,
    /// RFC 3339, UTC, of the last entry; empty for a session without one.
    pub updated: String,
    pub turns: u64,
    pub cost: Option<f64>,
    pub bytes: u64,
    pub state: State,
}

pub struct Live {
    backend: Arc<dyn Backend>,
    sessions: Mutex<HashMap<String, Arc<OpenSession>>>,
    /// Two requests do not open one session twice.
    opening: tokio::sync::Mutex<()>,
    rows: broadcast::Sender<Arc<Row>>,
}

impl Live {
    pub fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Self {
            backend,
            sessions: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            rows: broadcast::Sender::new(ROWS),
        })
    }

    /// Rows of the list, whenever one changes.
    pub fn rows(&self) -> broadcast::Receiver<Arc<Row>> {
        self.rows.subscribe()
    }

    pub fn find(&self, id: &str) -> Option<Arc<OpenSession>> {
        self.lock().get(id).cloned()
    }

    /// A session by its whole id; one that is closed is resumed.
    pub async fn get(self: &Arc<Self>, id: &str) -> Result<Arc<OpenSession>, Problem> {
        if let Some(open) = self.find(id) {
            open.touch();
            return Ok(open);
        }
        let project = self.backend.sessions().project_of(id).await?;
        self.open(&project, Open::Resume(id.to_owned())).await
    }

    pub async fn open(
        self: &Arc<Self>,
        project: &str,
        which: Open,
    ) -> Result<Arc<OpenSession>, Problem> {
        let _one = self.opening.lock().await;
        if let Open::Resume(id) = &which
            && let Some(open) = self.find(id)
        {
            open.touch();
            return Ok(open);
        }
        if self.lock().len() >= MAX_OPEN {
            let language = self.backend.about().language;
            return Err(Problem::new(
                Kind::Conflict,
                language.say(Word::ServeTooManyOpen),
            ));
        }
        let client = self.backend.sessions().open(project, which).await?;
        Ok(self.hold(client, project))
    }

    /// Keeps a session open, and shows what happens in it.
    fn hold(self: &Arc<Self>, client: Client, project: &str) -> Arc<OpenSession> {
        if let Some(open) = self.find(&client.session_id) {
            return open;
        }
        let (open, events) = OpenSession::new(client, project.to_owned());
        self.lock().insert(open.id.clone(), open.clone());
        tokio::spawn(self.clone().follow(open.clone(), events));
        self.announce(&open.id);
        open
    }

    async fn follow(self: Arc<Self>, open: Arc<OpenSession>, mut events: Subscription) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = look.tick() => match open.is_left_alone(LEFT_ALONE) {
                    true => None,
                    false => continue,
                },
            };
            let Some(event) = event else { break };
            if open.take(event) {
                self.announce(&open.id);
            }
        }
        self.lock().remove(&open.id);
        open.end();
        self.announce(&open.id);
    }

    /// Tells streams what the list now says of a session.
    fn announce(self: &Arc<Self>, id: &str) {
        if self.rows.receiver_count() == 0 {
            return;
        }
        let (live, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            let wanted = Listing {
                limit: 1,
                only: Some(vec![id]),
                ..Listing::default()
            };
            if let Ok(rows) = live.list(wanted).await {
                for row in rows {
                    // Who listens may just have left.
                    let _ = live.rows.send(Arc::new(row));
                }
            }
        });
    }

    /// Stored sessions and those that are open and have no entry yet, newest first.
    pub async fn list(&self, wanted: Listing) -> Result<Vec<Row>, Refusal> {
        let limit = wanted.limit;
        let stored = self.backend.sessions().list(wanted.clone()).await?;
        let open: Vec<Arc<OpenSession>> = self.lock().values().cloned().collect();
        let is_wanted = |open: &OpenSession| {
            let by_id = wanted.only.as_ref();
            wanted.query.is_empty()
                && wanted.project.as_ref().is_none_or(|p| *p == open.project)
                && by_id.is_none_or(|only| only.contains(&open.id))
                && stored.iter().all(|info| info.id != open.id)
        };
        let fresh = open.iter().filter(|open| is_wanted(open));
        let fresh = fresh.map(|open| Row {
            id: open.id.clone(),
            project: open.project.clone(),
            title: String::new(),
            updated: String::new(),
            turns: 0,
            cost: None,
            bytes: 0,
            state: open.state(),
        });
        let mut rows: Vec<Row> = fresh.collect();
        rows.extend(stored.into_iter().map(|info| {
            let open = open.iter().find(|open| open.id == info.id);
            row(info, open.map_or(State::Closed, |open| open.state()))
        }));
        rows.truncate(limit);
        Ok(rows)
    }

    pub async fn delete(self: &Arc<Self>, id: &str) -> Result<(), Problem> {
        let _one = self.opening.lock().await;
        if let Some(open) = self.find(id) {
            if matches!(open.state(), State::Working | State::Asks) {
                let language = self.backend.about().language;
                return Err(Problem::new(
                    Kind::Conflict,
                    language.say(Word::ServeDeleteWorks),
                ));
            }
            open.close().await;
            // One that does not end is still locked, and says so.
            let _ = tokio::time::timeout(ENDING, open.over().cancelled()).await;
        }
        self.backend.sessions().delete(id).await?;
        let gone = Row {
            id: id.to_owned(),
            project: String::new(),
            title: String::new(),
            updated: String::new(),
            turns: 0,
            cost: None,
            bytes: 0,
            state: State::Deleted,
        };
        // Nobody may be looking at the list.
        let _ = self.rows.send(Arc::new(gone));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OpenSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(info: SessionInfo, state: State) -> Row {
    Row {
        id: info.id,
        project: info.project,
        title: info.title,
        updated: info.updated,
        turns: info.turns,
        cost: info.cost,
        bytes: info.bytes,
        state,
    }
}
