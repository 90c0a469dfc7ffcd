//! What the front end needs of the program around it: places to work in, stored sessions, and clients of those that run. The
//! binary implements it; nothing here knows an engine, a file or the environment.

use ostler_wire::{Ask, AskAnswer, BoxFuture, Client, HubError, Language, Open};
use std::path::PathBuf;
use std::sync::Arc;

/// What is behind the front end.
pub trait Backend: Send + Sync + 'static {
    fn about(&self) -> About;
    /// A folder to open a session in, with what the editor brings for it.
    fn place(
        &self,
        cwd: PathBuf,
        servers: Vec<Server>,
    ) -> BoxFuture<'_, Result<Box<dyn Place>, Refusal>>;
    /// Stored sessions, the newest first: of one folder, or of all that are known.
    fn list(&self, cwd: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<Listed>, Refusal>>;
    /// Deletes a session that nobody has open. One that is not there is gone already.
    fn delete(&self, id: String) -> BoxFuture<'_, Result<(), Refusal>>;
}

#[derive(Clone, Debug)]
pub struct About {
    pub version: String,
    pub language: Language,
}

/// A folder before a session is opened in it.
pub trait Place: Send + Sync {
    /// What is to be answered before: whether the project's files are trusted, whether the editor's servers may start. An
    /// answer may bring another question.
    fn questions(&self) -> BoxFuture<'_, Result<Vec<Arc<Ask>>, Refusal>>;
    fn answer(&self, ask: String, answer: AskAnswer) -> BoxFuture<'_, Result<(), Refusal>>;
    /// What was not answered is left out of the session.
    fn open(&self, which: Open, editor: EditorOffer) -> BoxFuture<'_, Result<Client, Refusal>>;
}

/// What an editor does itself for a session.
#[derive(Clone, Default)]
pub struct EditorOffer {
    /// Its own copies of files.
    pub files: Option<Arc<dyn EditorFiles>>,
    pub terminals: Option<Arc<dyn EditorTerminals>>,
}

/// Files as the editor has them, with what is not saved yet. Whoever calls has judged the path.
pub trait EditorFiles: Send + Sync {
    fn reads(&self) -> bool;
    fn writes(&self) -> bool;
    /// The text of a file; none where the editor cannot tell.
    fn read(&self, path: PathBuf) -> BoxFuture<'_, Option<String>>;
    /// Has the editor replace or make a file. The error is what the editor says.
    fn write(&self, path: PathBuf, text: String) -> BoxFuture<'_, Result<(), String>>;
}

/// Terminals of the editor, each for one command. Whoever calls has judged the command. Errors are what the editor says.
pub trait EditorTerminals: Send + Sync {
    /// The terminal, which the call shows from now on.
    fn create(&self, new: NewTerminal) -> BoxFuture<'_, Result<String, String>>;
    fn output(&self, terminal: String) -> BoxFuture<'_, Result<TerminalText, String>>;
    /// Waits for the end of the command, however long it takes.
    fn wait(&self, terminal: String) -> BoxFuture<'_, Result<TerminalExit, String>>;
    fn kill(&self, terminal: String) -> BoxFuture<'_, Result<(), String>>;
    /// Ends what still runs in it.
    fn release(&self, terminal: String) -> BoxFuture<'_, Result<(), String>>;
}

/// A command that an editor is to start.
#[derive(Clone, Debug)]
pub struct NewTerminal {
    /// The call that it belongs to.
    pub call: String,
    pub program: String,
    pub args: Vec<String>,
    /// Beside the variables of the editor, or in their place.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
}

/// What a terminal has shown, or the end of that.
#[derive(Clone, Debug)]
pub struct TerminalText {
    pub text: String,
    pub exit: Option<TerminalExit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalExit {
    pub code: Option<i32>,
    pub signal: Option<String>,
}

/// An MCP server that the editor brings for one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub name: String,
    pub reach: Reach,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    Program {
        command: PathBuf,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
    Address {
        url: String,
        headers: Vec<(String, String)>,
    },
    /// An address that sends events, as HTTP servers of 2024 do.
    Events {
        url: String,
        headers: Vec<(String, String)>,
    },
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub root: PathBuf,
    pub title: String,
    /// RFC 3339, UTC.
    pub updated: String,
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
}

impl From<HubError> for Refusal {
    fn from(HubError(message): HubError) -> Self {
        Self::new(Fault::Failed, message)
    }
}
