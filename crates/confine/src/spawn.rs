//! The one place of the engine that starts programs: it prepares the sandbox, puts it on and spawns. Who may run a program at
//! all is decided elsewhere; `cargo xtask tidy` finds every other place that spawns.

use super::{
    Confined, HistoryGround, Outcome, SandboxMode, SandboxSettings, SandboxShare, Terms,
    environment, prepare,
};
use futures_util::future::BoxFuture;
use ostler_guard::Policy;
use ostler_host::pane::Pane;
use ostler_host::{Command, Exit, Host, Process, sandbox};
use ostler_store::artifacts::Artifacts;
use ostler_tools::tool::{Scope, ToolError, ToolSettings};
use ostler_tools::{Confinement, EditorTerminal, Programs, SandboxReport, Started};
use ostler_wire::Why;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Folder beside the records in which changed files are kept that belong to no session.
const ASIDE: &str = "aside";

/// What starting a program takes from its session.
#[derive(Clone)]
pub struct Services {
    pub host: Arc<dyn Host>,
    pub sandbox: SandboxSettings,
    pub share: Arc<SandboxShare>,
    /// Its rules about hosts bind the proxy.
    pub policy: Arc<Policy>,
    /// Hosts that may be reached although their address is private.
    pub allow_private: Vec<String>,
    /// Where this process serves people: never reached.
    pub served: Option<SocketAddr>,
    /// Where a changed protected file is kept before it is put back; `None` keeps none.
    pub artifacts: Option<Artifacts>,
    pub call_id: String,
    /// The project, in which repositories that a command made are looked for afterwards.
    pub root: Option<PathBuf>,
    pub user_home: Option<PathBuf>,
    /// For a program that nobody approved: the history that it takes nothing of.
    pub history: Option<HistoryGround>,
}

impl Services {
    /// For programs that no call of a session starts. They share no network with commands and reach no single hosts.
    pub fn without_session(host: Arc<dyn Host>, sandbox: SandboxSettings) -> Self {
        Self {
            host,
            sandbox,
            share: Arc::default(),
            policy: Arc::default(),
            allow_private: Vec::new(),
            served: None,
            artifacts: None,
            call_id: String::new(),
            root: None,
            user_home: None,
            history: None,
        }
    }
}

impl Services {
    /// Where changed files are kept: with the session, else beside the records.
    pub fn aside(&self) -> Option<Artifacts> {
        let records = self.sandbox.records.as_ref();
        let beside = || records.map(|records| Artifacts::new(records.join(ASIDE)));
        self.artifacts.clone().or_else(beside)
    }
}

/// The sandbox of one call: what starting its programs takes from the session, and the terms that it was judged for.
#[derive(Clone)]
pub struct CallSandbox {
    pub host: Arc<dyn Host>,
    pub settings: Arc<SandboxSettings>,
    pub share: Arc<SandboxShare>,
    pub policy: Arc<Policy>,
    pub tools: Arc<ToolSettings>,
    pub artifacts: Artifacts,
    pub scope: Arc<Scope>,
    pub call_id: String,
    pub terms: Terms,
    /// If nobody approved the call.
    pub history: Option<HistoryGround>,
    /// Where commands in the foreground run, if the person shares a pane.
    pub pane: Option<Pane>,
    /// The same, if they run in terminals of an editor.
    pub terminal: Option<Arc<dyn EditorTerminal>>,
}

impl CallSandbox {
    pub fn services(&self) -> Services {
        Services {
            host: self.host.clone(),
            sandbox: SandboxSettings::clone(&self.settings),
            share: self.share.clone(),
            policy: self.policy.clone(),
            allow_private: self.tools.allow_private.clone(),
            served: self.tools.served,
            artifacts: Some(self.artifacts.clone()),
            call_id: self.call_id.clone(),
            root: Some(self.scope.root.clone()),
            user_home: self.scope.user_home.clone(),
            history: self.history.clone(),
        }
    }
}

impl Programs for CallSandbox {
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, ToolError>> {
        Box::pin(async move {
            let mut services = self.services();
            if self.pane.is_some() || self.terminal.is_some() {
                // What runs beside the pane or the terminal is held no more than what runs in it: the person was told, and asked.
                services.sandbox.mode = SandboxMode::Off;
            }
            let spawned = spawn(&services, command, &self.terms).await?;
            let confinement = spawned
                .confined
                .map(|confined| -> Box<dyn Confinement> { confined });
            Ok(Started {
                process: spawned.process,
                confinement,
                missing: spawned.missing,
            })
        })
    }

    fn pane(&self) -> Option<Pane> {
        self.pane.clone()
    }

    fn terminal(&self) -> Option<Arc<dyn EditorTerminal>> {
        self.terminal.clone()
    }
}

impl Confinement for Confined {
    fn take_leftovers(&self, process: &mut Process) {
        Confined::take_leftovers(self, process);
    }

    fn outlive_call(&mut self) {
        if let Some(guarded) = &mut self.guarded {
            guarded.outlive_call();
        }
    }

    fn end<'a>(
        self: Box<Self>,
        exit: Exit,
        outputs: &'a [&'a str],
    ) -> BoxFuture<'a, SandboxReport> {
        Box::pin(Confined::end(*self, exit, outputs))
    }
}

/// A program that runs.
pub struct Spawned {
    pub process: Process,
    /// To be ended with the program, for a caller who wants to know what was refused and put back. Whoever drops it may
    /// forget it: what the program changed against the rules is put back when all that it started is dead.
    pub confined: Option<Box<Confined>>,
    /// Why it runs without a sandbox although one is wanted.
    pub missing: Option<Why>,
}

/// Why a program did not start.
#[derive(Debug)]
pub enum SpawnError {
    /// One is required, and it is switched off.
    Off,
    /// The sandbox could not be made.
    Sandbox(sandbox::Error),
    /// What was granted makes no sense, or the runtime ends.
    Terms(ToolError),
    Host(ostler_host::Error),
}

impl From<SpawnError> for ToolError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Off => Self::new("sandbox_unavailable", "Not run: the sandbox is off."),
            SpawnError::Sandbox(error @ sandbox::Error::Unavailable { .. }) => {
                Self::new("sandbox_unavailable", format!("Not run: {error}."))
            }
            SpawnError::Sandbox(
                error @ (sandbox::Error::Path { .. }
                | sandbox::Error::Conflict { .. }
                | sandbox::Error::Replaced { .. }
                | sandbox::Error::TooMany { .. }
                | sandbox::Error::Network { .. }
                | sandbox::Error::Kernel { .. }),
            ) => Self::new("sandbox_error", format!("Not run: {error}.")),
            SpawnError::Terms(error) => error,
            SpawnError::Host(error) => Self::new(error.code(), format!("{error}.")),
        }
    }
}

/// Starts a program under the session's settings and these terms. The sandbox it is to run in is made here and only here:
/// one that `command` brings along is replaced.
pub async fn spawn(
    services: &Services,
    mut command: Command,
    terms: &Terms,
) -> Result<Spawned, SpawnError> {
    command.sandbox = None;
    if terms.read_only {
        environment::make_reader(&mut command.env);
    }
    let outcome = Box::pin(prepare(services, &command, terms)).await?;
    let (mut confined, missing) = match outcome {
        Outcome::Free => match services.sandbox.mode {
            SandboxMode::Require => return Err(SpawnError::Off),
            SandboxMode::Enforce | SandboxMode::Off => (None, None),
        },
        Outcome::Unavailable(why) => (None, Some(why)),
        Outcome::Confined(confined) => {
            confined.put_on(&mut command);
            (Some(confined), None)
        }
    };
    let process = services.host.spawn(command).await;
    let mut process = process.map_err(SpawnError::Host)?;
    if let Some(guarded) = confined.as_mut().and_then(|it| it.guarded.as_mut()) {
        guarded.follow(&mut process);
    }
    Ok(Spawned {
        process,
        confined,
        missing,
    })
}
