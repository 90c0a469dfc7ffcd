//! What a delegation needs from outside: programs, our own agent, the configuration of a folder. This crate decides
//! nothing about sandboxes and asks nobody.

use crate::activity::Watcher;
use crate::outcome::Cost;
pub use crate::setup::StateFolder;
use crate::setup::{Allowance, Capabilities, Setup, SetupError};
use ostler_host::{Process, Stdio};
use ostler_wire::BoxFuture;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// All of it.
#[derive(Clone)]
pub struct Services {
    pub launcher: Arc<dyn Launcher>,
    /// Without one `ostler/…` cannot be called.
    pub own: Option<Arc<dyn OwnAgent>>,
    pub setups: Arc<dyn SetupSource>,
    /// The folder of session keys. Made where it is missing.
    pub sessions: PathBuf,
}

/// What a call that does not say otherwise has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// Absolute.
    pub cwd: PathBuf,
    pub client: Option<String>,
    pub conversation_id: Option<String>,
    /// How many delegations we are inside of: `DEPTH_VARIABLE` of our own environment.
    pub depth: u32,
}

/// In the environment of every agent: how many delegations it is inside of.
pub const DEPTH_VARIABLE: &str = "OSTLER_DELEGATION_DEPTH";
/// An agent inside of so many delegations starts no other.
pub const MAX_DEPTH: u32 = 2;

/// The configuration of a folder, merged and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedSetup {
    pub setup: Setup,
    /// The documents that it is from.
    pub sources: Vec<PathBuf>,
}

pub trait SetupSource: Send + Sync {
    /// What holds in a folder for a client. Called for each call; it may block shortly.
    fn load(&self, folder: &Path, client: Option<&str>) -> Result<LoadedSetup, SetupError>;
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    /// Absolute.
    pub cwd: PathBuf,
    /// Beside the environment that all agents get.
    pub env: Vec<(String, String)>,
    /// Variables of the person's environment that it gets where they are set: its own credentials and settings.
    pub passed_env: Vec<String>,
    pub stdio: Stdio,
    pub confinement: Confinement,
}

/// What the program may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub purpose: Purpose,
    /// The agent's name in the catalogue, or that of the program.
    pub backend: String,
    /// The folder that it works in: writable or not by the file system capability.
    pub project: PathBuf,
    /// Of the role: file system, shell, network, tools.
    pub capabilities: Capabilities,
    /// Folders with the agent's own state, writable.
    pub state: Vec<StateFolder>,
    /// Hosts of its vendor, reachable. `*.example.com` stands for all below.
    pub hosts: Vec<String>,
    /// Folders that the prompt names, readable.
    pub include: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An agent at work.
    Agent,
    /// A question about the agent: its version, its login. No project is touched.
    Check,
    /// `git apply --check` of a patch in the project, which is read only.
    Patch,
}

/// Starts programs, each in the sandbox that its confinement asks for.
pub trait Launcher: Send + Sync {
    fn launch<'a>(&'a self, program: &'a Program) -> BoxFuture<'a, Result<Process, LaunchError>>;

    /// Where a program lies that agents can be started from.
    fn find(&self, name: &str) -> Option<PathBuf>;
}

/// Why a program was not started, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("`{0}` is not installed or not on PATH")]
    Missing(String),
    #[error("the sandbox could not be made: {0}")]
    Sandbox(String),
    #[error(transparent)]
    Host(#[from] ostler_host::Error),
}

/// A task for our own agent, in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTask {
    /// `provider/model`.
    pub model: String,
    pub role: String,
    /// With the persona, in a new session.
    pub prompt: String,
    pub cwd: PathBuf,
    /// The session to go on with.
    pub session: Option<String>,
    pub capabilities: Capabilities,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnAnswer {
    pub session: String,
    pub message: String,
    pub cost: Option<Cost>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

pub trait OwnAgent: Send + Sync {
    /// Ends soon after `cancel`. An error is one of the start; those of the work are in the answer.
    fn run<'a>(
        &'a self,
        task: OwnTask,
        watcher: &'a Arc<dyn Watcher>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OwnAnswer, String>>;
}

impl Confinement {
    pub fn may_use_network(&self) -> bool {
        self.capabilities.network == Allowance::Allow
    }
}
