//! What the server needs of the program around it: projects, stored sessions and clients of those that run. The binary
//! implements it; nothing here knows an engine, a file or the environment.

use ostler_wire::{
    Ask, AskAnswer, BoxFuture, Client, Entry, HubError, Language, Open, SessionInfo, View,
};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::ToSchema;

/// What is behind the server.
pub trait Backend: Send + Sync + 'static {
    fn about(&self) -> About;
    /// The time now, as entries have it.
    fn now(&self) -> String;
    fn projects(&self) -> &dyn Projects;
    fn sessions(&self) -> &dyn Sessions;
    fn questions(&self) -> &dyn StartQuestions;
}

#[derive(Clone, Debug)]
pub struct About {
    pub version: String,
    pub language: Language,
}

/// The folders that sessions work in.
pub trait Projects: Send + Sync {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Project>, Refusal>>;
    /// Remembers a folder. One that is known already is the same project.
    fn add(&self, root: PathBuf) -> BoxFuture<'_, Result<Project, Refusal>>;
    /// Forgets it; the folder and its sessions stay.
    fn remove(&self, id: &str) -> BoxFuture<'_, Result<(), Refusal>>;
    /// A command that is about no session.
    fn command(&self, id: &str, line: String) -> BoxFuture<'_, Result<View, Refusal>>;
    /// What a mention may name.
    fn files(&self, id: &str, query: String, limit: usize)
    -> BoxFuture<'_, Result<Files, Refusal>>;
    /// What requests took and cost in the last days, of all projects.
    fn usage(&self, days: u16) -> BoxFuture<'_, Result<Vec<UsageRow>, Refusal>>;
}

/// What a person decides before a session of a project opens, such as whether they trust its files.
pub trait StartQuestions: Send + Sync {
    fn list(&self, project: &str) -> BoxFuture<'_, Result<Vec<Arc<Ask>>, Refusal>>;
    /// An answer may bring another question.
    fn answer(
        &self,
        project: &str,
        ask: String,
        answer: AskAnswer,
    ) -> BoxFuture<'_, Result<(), Refusal>>;
}

/// Sessions on disk, and clients of those that run.
pub trait Sessions: Send + Sync {
    fn list(&self, wanted: Listing) -> BoxFuture<'_, Result<Vec<SessionInfo>, Refusal>>;
    fn open(&self, project: &str, which: Open) -> BoxFuture<'_, Result<Client, Refusal>>;
    /// The project of a stored session, by its whole id.
    fn project_of(&self, id: &str) -> BoxFuture<'_, Result<String, Refusal>>;
    /// Entries on the branch that goes on, oldest first: the last ones before an entry.
    fn entries(&self, id: &str, page: Page) -> BoxFuture<'_, Result<Entries, Refusal>>;
    fn document(&self, id: &str, which: Document) -> BoxFuture<'_, Result<Vec<u8>, Refusal>>;
    /// Deletes a session that nobody has open, with what lies beside it.
    fn delete(&self, id: &str) -> BoxFuture<'_, Result<(), Refusal>>;
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Project {
    pub id: String,
    #[schema(value_type = String)]
    pub root: PathBuf,
    pub name: String,
    pub trust: Trust,
}

/// Whether the person lets the files of a project run, send or loosen what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    NotNeeded,
    Trusted,
    Untrusted,
    Changed,
    Refused,
}

#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Files {
    pub items: Vec<FileItem>,
    /// There are more than were asked for.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileItem {
    pub path: String,
    pub folder: bool,
}

/// The requests of one day to one model, for one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct UsageRow {
    /// Of the person's zone.
    pub day: String,
    pub project: String,
    /// `provider/model`.
    pub model: String,
    pub requests: u64,
    pub input: u64,
    /// Of the input, read from a cache.
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    /// In USD; null where no price is known.
    pub cost: Option<f64>,
}

/// Which stored sessions are wanted.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub project: Option<String>,
    /// Words of titles or of what was said.
    pub query: String,
    pub limit: usize,
    /// Only these, by id.
    pub only: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub before: Option<u64>,
    pub limit: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub entries: Vec<Arc<Entry>>,
    /// Earlier ones exist.
    pub more: bool,
}

/// A file of a session that is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// The log, line by line.
    Log,
    Markdown,
    Html,
    /// Of a long one maybe only so many bytes of its end.
    Artifact {
        name: String,
        tail: Option<u64>,
    },
}

/// Why something was not done, as a sentence for the person.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub kind: Fault,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotFound,
    /// It is busy, or open elsewhere.
    Conflict,
    /// What was asked makes no sense.
    Invalid,
    Failed,
}

impl Refusal {
    pub fn new(kind: Fault, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Fault::NotFound, message)
    }
}

impl From<HubError> for Refusal {
    fn from(HubError(message): HubError) -> Self {
        Self::new(Fault::Failed, message)
    }
}
