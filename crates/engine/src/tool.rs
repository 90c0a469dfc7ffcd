//! What a tool is: typed arguments, one declaration of what a call touches, and a run that never asks anyone.

use crate::arguments::read_arguments;
use crate::artifacts::Artifacts;
use crate::aside::Aside;
use crate::confine::{Commons, SandboxSettings, Terms};
use crate::crew::Hand;
use crate::feed::Feed;
use crate::history::History;
use crate::inbox::Answer;
use crate::jobs::Jobs;
use crate::memory::Memory;
use crate::petition::Petitions;
use crate::policy::{Containment, Guard};
use crate::seen::Seen;
use futures_util::future::BoxFuture;
use ostler_host::Host;
use ostler_llm::ToolSpec;
use ostler_wire::{Access, Body, Delta, Image, Json, Language, TodoItem};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool with typed arguments. The doc comments of `Args` are its schema, `PROSE` the description beside the code.
pub trait Typed: Send + Sync + 'static {
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    const NAME: &'static str;
    const PROSE: &'static str;

    /// What this call would touch; an empty list touches nothing.
    fn access(&self, args: &Self::Args, scope: &Scope) -> Result<Vec<Access>, ToolError>;

    fn run(
        &self,
        args: Self::Args,
        cx: Context,
    ) -> impl Future<Output = Result<Done, ToolError>> + Send;

    /// What the model reads of `data`. Pure; a change of it for old logs needs a new rendering version.
    fn render(data: &Value) -> Rendered;

    /// A question that dispatch puts to the person before the run; the answer is in `Context::answer`.
    fn question(_args: &Self::Args) -> Option<Question> {
        None
    }

    /// What the person may look at before they allow a run: the diff it would make. It changes nothing.
    fn preview(
        &self,
        _args: Self::Args,
        _cx: Context,
    ) -> impl Future<Output = Option<String>> + Send {
        std::future::ready(None)
    }

    /// Why it cannot succeed, found out before the person is bothered with it.
    fn objection(
        &self,
        _args: Self::Args,
        _cx: Context,
    ) -> impl Future<Output = Option<ToolError>> + Send {
        std::future::ready(None)
    }

    /// It touches nothing, and runs beside no other call all the same: it builds on what the one before left.
    const ALONE: bool = false;

    /// Of a tool that is not ours: it says of itself that it only reads.
    const SAYS_READ_ONLY: bool = false;
}

/// The same with its types erased, as the registry holds it.
pub trait Tool: Send + Sync {
    fn name(&self) -> &str;
    fn spec(&self) -> ToolSpec;
    fn access(&self, args: &Value, scope: &Scope) -> Result<Vec<Access>, ToolError>;
    fn question(&self, args: &Value) -> Option<Question>;
    fn run(&self, args: Value, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>>;
    fn render(&self, data: &Value) -> Rendered;

    fn preview(&self, _args: Value, _cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn objection(&self, _args: Value, _cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(std::future::ready(None))
    }

    fn runs_alone(&self) -> bool {
        false
    }

    fn says_read_only(&self) -> bool {
        false
    }

    /// What `tool_search` shows of it, where `spec` says less.
    fn unabridged(&self) -> Option<ToolSpec> {
        None
    }
}

/// Shells whose language is the one that commands are parsed in.
const KNOWN_SHELLS: [&str; 4] = ["sh", "bash", "dash", "ash"];

/// Folders for temporary files, which commands may see otherwise than we do.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What the pure part of a call may look at.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Canonical root that relative paths resolve against.
    pub root: PathBuf,
    /// The person's home, for `~/` in paths.
    pub user_home: Option<PathBuf>,
    /// Commands are read by a shell with a language of its own: what they do cannot be told for sure.
    pub foreign_shell: bool,
    /// The folder that commands see as `/tmp` and `/var/tmp`, where they see another one there than we do.
    pub temp: Option<PathBuf>,
    /// Folders below the real `/tmp` that commands see at their own path all the same.
    pub kept: Vec<PathBuf>,
    /// What holds commands: where nothing does, only a short list of them counts as readers.
    pub containment: Containment,
}

impl Scope {
    pub fn new(root: impl Into<PathBuf>, user_home: Option<PathBuf>) -> Self {
        Self {
            root: root.into(),
            user_home,
            foreign_shell: false,
            temp: None,
            kept: Vec::new(),
            containment: Containment::Sandbox,
        }
    }

    /// For commands that this holds.
    pub fn held_by(self, containment: Containment) -> Self {
        Self {
            containment,
            ..self
        }
    }

    /// For commands that see this folder as `/tmp`, but for what is kept at its own path.
    pub fn with_temp(self, temp: Option<PathBuf>, kept: Vec<PathBuf>) -> Self {
        Self { temp, kept, ..self }
    }

    /// For commands that go to this interpreter.
    pub fn with_shell(self, argv: &[OsString]) -> Self {
        let name = argv.first().map(Path::new).and_then(Path::file_stem);
        let name = name.unwrap_or_default().to_string_lossy();
        Self {
            foreign_shell: !KNOWN_SHELLS.contains(&name.as_ref()),
            ..self
        }
    }

    /// A path as a model writes it, made absolute. Symlinks are not resolved here.
    pub fn path(&self, path: &str) -> PathBuf {
        let below_home = match path {
            "~" => Some(""),
            _ => path.strip_prefix("~/"),
        };
        let joined = match (below_home, &self.user_home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            (Some(_) | None, _) => self.root.join(path),
        };
        self.locate(&normalise(&joined))
    }

    /// Where a path really is that a command or a model names: below `/tmp` it is in the session's own folder.
    pub fn locate(&self, path: &Path) -> PathBuf {
        let Some(temp) = &self.temp else {
            return path.to_owned();
        };
        let own = [&self.root, temp].into_iter().chain(&self.kept);
        if own.into_iter().any(|kept| path.starts_with(kept)) {
            return path.to_owned();
        }
        let below = TEMPORARY.iter().find_map(|tmp| path.strip_prefix(tmp).ok());
        below.map_or_else(|| path.to_owned(), |rest| temp.join(rest))
    }

    /// The path as people like to read it: relative to the root where it lies below it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => self.named(path).display().to_string(),
        }
    }

    /// The path as commands see it: the other way of `locate`.
    pub fn named(&self, path: &Path) -> PathBuf {
        let temp = self.temp.as_ref();
        match temp.and_then(|temp| path.strip_prefix(temp).ok()) {
            Some(rest) => Path::new(TEMPORARY[0]).join(rest),
            None => path.to_owned(),
        }
    }

    /// A text with the folder for temporary files as commands see it.
    pub fn name_temp(&self, text: &str) -> String {
        match &self.temp {
            Some(temp) => text.replace(&temp.display().to_string(), TEMPORARY[0]),
            None => text.to_owned(),
        }
    }
}

/// Removes `.` and resolves `..` by name.
pub fn normalise(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Everything a run may use. Cheap to clone.
// tidy: plain data
#[derive(Clone)]
pub struct Context {
    pub call_id: String,
    pub tool: Arc<str>,
    pub scope: Arc<Scope>,
    pub host: Arc<dyn Host>,
    pub settings: Arc<ToolSettings>,
    pub cancel: CancellationToken,
    pub feed: Feed,
    pub artifacts: Artifacts,
    pub seen: Arc<Seen>,
    pub jobs: Arc<Jobs>,
    /// What was said before.
    pub history: Arc<History>,
    /// What is remembered over sessions.
    pub memory: Arc<Memory>,
    pub commons: Arc<Commons>,
    /// What the rules say of things met on the way.
    pub guard: Guard,
    /// What holds for the commands of this call.
    pub terms: Arc<Terms>,
    /// The task list of the session.
    pub todo: Arc<Vec<TodoItem>>,
    /// What the person said to `Typed::question`; `None` when nobody could be asked.
    pub answer: Option<Answer>,
    /// For those who carry out a call elsewhere and want to know something; our own tools do not ask.
    pub(crate) petitions: Option<Petitions>,
    /// The same for those who want a model's word.
    pub(crate) aside: Option<Aside>,
    /// For calls that have others do the work.
    pub(crate) hand: Option<Arc<Hand>>,
    pub language: Language,
}

impl Context {
    /// Shows live output of the running call. It may be dropped.
    pub fn show(&self, chunk: &str) {
        self.feed.delta(Delta::ToolOutput {
            id: self.call_id.clone(),
            name: self.tool.to_string(),
            chunk: chunk.into(),
        });
    }
}

/// Settings of tools, filled by the binary from the configuration.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// argv before the command text, e.g. `sh -c`.
    pub shell: Vec<OsString>,
    /// The whole environment of commands.
    pub env: Vec<(OsString, OsString)>,
    /// 0 = no limit.
    pub bash_timeout_seconds: u64,
    /// 0 = all of it.
    pub bash_max_bytes: usize,
    /// Roots that file mutators may write below.
    pub writable: Vec<PathBuf>,
    /// Hosts that `fetch_url` may reach although their address is private.
    pub allow_private: Vec<String>,
    /// `{query}` is replaced.
    pub search_url: String,
    /// PEM file with more roots of trust.
    pub ca_file: Option<PathBuf>,
    /// Results as JSON envelopes instead of text.
    pub envelope: bool,
    /// Of what the person is told; models read English.
    pub language: Language,
    /// What commands may touch.
    pub sandbox: SandboxSettings,
}

/// What a run leaves.
pub struct Done {
    /// The envelope's `data`, an object.
    pub data: Value,
    /// Entries beside the result (the todo list).
    pub also: Vec<Body>,
}

impl From<Value> for Done {
    fn from(data: Value) -> Self {
        Self {
            data,
            also: Vec::new(),
        }
    }
}

/// A failed call, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub code: &'static str,
    pub message: String,
}

impl ToolError {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub images: Vec<Image>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Words {
        text: String,
        choices: Vec<String>,
        multi: bool,
    },
    /// May this plan be carried out?
    Plan(String),
}

impl<T: Typed> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: T::NAME.into(),
            description: T::PROSE.trim().into(),
            parameters: Json::of(&crate::schema::of::<T::Args>()),
        }
    }

    fn access(&self, args: &Value, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Typed::access(self, &parse::<T>(args)?, scope)
    }

    fn question(&self, args: &Value) -> Option<Question> {
        T::question(&parse::<T>(args).ok()?)
    }

    fn run(&self, args: Value, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(async move { Typed::run(self, parse::<T>(&args)?, cx).await })
    }

    fn render(&self, data: &Value) -> Rendered {
        T::render(data)
    }

    fn preview(&self, args: Value, cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { Typed::preview(self, parse::<T>(&args).ok()?, cx).await })
    }

    fn objection(&self, args: Value, cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move { Typed::objection(self, parse::<T>(&args).ok()?, cx).await })
    }

    fn runs_alone(&self) -> bool {
        T::ALONE
    }

    fn says_read_only(&self) -> bool {
        T::SAYS_READ_ONLY
    }
}

fn parse<T: Typed>(args: &Value) -> Result<T::Args, ToolError> {
    read_arguments(T::NAME, args).map(|(args, _)| args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_models_write_them() {
        let scope = Scope::new("/repo", Some("/home/ann".into()));
        for (path, expect, shown) in [
            ("", "/repo", "."),
            (".", "/repo", "."),
            ("src//a.rs", "/repo/src/a.rs", "src/a.rs"),
            ("./a/../b", "/repo/b", "b"),
            ("../x", "/x", "/x"),
            ("../../../x", "/x", "/x"),
            ("/etc/./x/..", "/etc", "/etc"),
            ("~", "/home/ann", "/home/ann"),
            ("~/", "/home/ann", "/home/ann"),
            ("~/a", "/home/ann/a", "/home/ann/a"),
            ("~//etc", "/home/ann/etc", "/home/ann/etc"),
            ("~bob/a", "/repo/~bob/a", "~bob/a"),
        ] {
            let resolved = scope.path(path);
            assert_eq!(resolved, Path::new(expect), "{path}");
            assert_eq!(scope.shown(&resolved), shown, "{path}");
        }
    }
}
