//! A workspace to try tools in, for tests only: a temporary root on this machine and a context around it.

use crate::artifacts::Artifacts;
use crate::builtin;
use crate::history::History;
use crate::jobs::Jobs;
use crate::memory::Memory;
use crate::programs::NoPrograms;
use crate::redact::Redactor;
use crate::seen::Seen;
use crate::tool::{Context, Done, Question, Scope, Services, Tool, ToolError, ToolSettings, Uses};
use ostler_guard::resolve::resolved;
use ostler_guard::{Call, Guard, Policy, Posture};
use ostler_host::Local;
use ostler_wire::{Access, ToolDeclaration};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Bench {
    /// The root is a folder in it, so that there is an outside too.
    pub dir: tempfile::TempDir,
    pub seen: Arc<Seen>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("project")).unwrap();
        Self {
            dir,
            seen: Arc::default(),
        }
    }

    /// Canonical.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// Of sessions that lie outside of the root.
    pub fn history(&self) -> History {
        let home = self.dir.path().join("home");
        History {
            sessions: home.join("sessions"),
            home,
            project: "root-00000000".into(),
            session: None,
        }
    }

    pub fn memory(&self) -> Memory {
        Memory::new(
            &self.dir.path().join("home"),
            "root-00000000",
            Redactor::default(),
        )
    }

    /// Puts a file into the workspace, with its parents.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn context(&self, tool: &str) -> Context {
        self.context_under(tool, Policy::default())
    }

    /// The same under rules.
    pub fn context_under(&self, tool: &str, policy: Policy) -> Context {
        let root = self.root();
        let scope = Arc::new(Scope::new(root.clone(), None));
        let artifacts = Artifacts::new(self.dir.path().join("artifacts"));
        Context {
            call_id: "call-1".into(),
            tool: tool.into(),
            host: Arc::new(Local::new()),
            guard: Guard {
                policy: Arc::new(policy),
                scope: scope.clone(),
                tool: Arc::new(declared(tool)),
                posture: Posture::Ask,
                attended: false,
                border: Arc::default(),
                opened: Vec::new(),
            }
            .bounded(&[]),
            scope,
            cancel: Default::default(),
            deltas: Default::default(),
            artifacts: artifacts.clone(),
            answer: None,
            language: Default::default(),
            services: Services {
                settings: Arc::new(settings(root)),
                seen: self.seen.clone(),
                hidden: Arc::default(),
                programs: Arc::new(NoPrograms),
                jobs: Arc::new(Jobs::new(artifacts)),
                history: Arc::new(self.history()),
                memory: Arc::new(self.memory()),
                todo: Arc::default(),
                delegate: None,
                extension: Default::default(),
            },
        }
    }

    /// The same with what a tool uses.
    pub fn narrow<U: Uses>(&self, tool: &str) -> Context<U> {
        self.context(tool).narrow()
    }

    pub async fn run(&self, tool: &impl Tool, args: Value) -> Result<Done, ToolError> {
        run(tool, args, self.context(&tool.about().name)).await
    }

    /// What the model reads of it, with the temporary folder as `DIR`.
    pub async fn said(&self, tool: &impl Tool, args: Value) -> String {
        match self.run(tool, args).await {
            Ok(done) => tool.render(&done.data).text,
            Err(e) => {
                let dir = self.dir.path().canonicalize().unwrap();
                let message = e.message.replace(&dir.display().to_string(), "DIR");
                format!("{}: {message}", e.code)
            }
        }
    }

    /// The same as dispatch stores it.
    pub async fn envelope(&self, tool: &impl Tool, args: Value) -> Value {
        match self.run(tool, args).await {
            Ok(done) => json!({"ok": true, "data": done.data}),
            Err(e) => json!({"ok": false, "error": {"code": e.code, "message": e.message}}),
        }
    }
}

/// Settings of tools in this root.
pub fn settings(root: PathBuf) -> ToolSettings {
    ToolSettings {
        shell: vec!["sh".into(), "-c".into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        bash_timeout_seconds: 120,
        bash_max_bytes: 32 * 1024,
        writable: vec![root],
        allow_private: Vec::new(),
        served: None,
        search_url: String::new(),
        ca_file: None,
        envelope: false,
        language: ostler_wire::Language::English,
    }
}

/// Reads the arguments and says what the call would touch.
pub fn access(tool: &dyn Tool, args: &Value, scope: &Scope) -> Result<Vec<Access>, ToolError> {
    tool.access(args, scope)
}

pub fn question(tool: &dyn Tool, args: &Value) -> Option<Question> {
    tool.read(args).ok()?.question()
}

/// Runs a call for the paths that it names, as dispatch does.
pub async fn run(tool: &dyn Tool, args: Value, mut cx: Context) -> Result<Done, ToolError> {
    let accesses = tool.access(&args, &cx.scope).unwrap_or_default();
    let Guard { policy, scope, .. } = &cx.guard;
    let resolved = resolved(&*cx.host, &accesses, policy, scope).await;
    let decision = policy.decide_in(
        cx.guard.posture,
        Call {
            tool: &cx.guard.tool,
            accesses: &accesses,
            scope,
            resolved: &resolved,
        },
    );
    cx.guard = cx.guard.opening(&decision.touched);
    tool.read(&args)?.run(cx).await
}

/// What the built-in tool of this name declares, or one of a test.
fn declared(name: &str) -> ToolDeclaration {
    let builtin = builtin::declaration(name).cloned();
    builtin.unwrap_or_else(|| ToolDeclaration::of_other(name.to_owned(), false))
}
