//! What the binary says of servers: which there are, how they are reached and how long they may take. Plain data.

use super::auth::TokenStore;
use crate::confine::{self, Launch, SandboxSettings};
use crate::redact::Redactor;
use ostler_host::Host;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Servers and the limits that hold for all of them.
#[derive(Clone, Debug)]
pub struct McpSettings {
    pub servers: Vec<Server>,
    /// How long a server may take until it has said what it offers.
    pub start: Duration,
    /// How long a call may go without a sign of life; zero is without limit.
    pub call: Duration,
    /// A session does not begin without all of them.
    pub required: bool,
    /// Tokens that descriptions and schemas of all servers together may take of the prompt.
    pub schema_budget: u64,
    /// Certificates to trust beside the system's.
    pub ca_files: Vec<PathBuf>,
    /// Of servers that want a login.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// Where it is kept which tools the person trusts; without it that holds for a session.
    pub trust: Option<Arc<dyn ToolTrust>>,
    /// Takes secrets out of what is said about servers.
    pub redactor: Redactor,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            start: Duration::from_secs(30),
            call: Duration::from_secs(300),
            required: false,
            schema_budget: 10_000,
            ca_files: Vec::new(),
            tokens: None,
            trust: None,
            redactor: Redactor::default(),
        }
    }
}

/// Keeps which tools of a server the person trusts to read only. The binary implements it on the configuration.
pub trait ToolTrust: Send + Sync + std::fmt::Debug {
    /// The file that `set` would write to, ready to show.
    fn place(&self, server: &str) -> Option<String>;
    /// Adds tools, as the server calls them, or takes them out. Where that was written, ready to show.
    fn set(&self, server: &str, tools: &[String], trust: Trust) -> Result<String, String>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Yes,
    No,
}

/// A server as it is configured, everything expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub endpoint: Endpoint,
    /// As the server calls them; empty means all.
    pub enabled_tools: Vec<String>,
    pub disabled_tools: Vec<String>,
    pub call_timeout: Option<Duration>,
    /// For single tools, as the server calls them.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// Tools that the person knows to read only.
    pub trusted_read_only_tools: Vec<String>,
    pub sampling: Sampling,
}

/// Whether a server may have a model's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// When the person says so, each time.
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Program(Program),
    Address(Address),
    /// It cannot be reached the way it is configured: why, and what to do.
    Unusable(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    /// Absolute.
    pub cwd: PathBuf,
    /// Beside the environment of all commands.
    pub env: Vec<(OsString, OsString)>,
    pub confinement: Confinement,
}

/// In which sandbox the programs of a server run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// None, unless it depends on files that commands may change; then as one of the project. The person named it
    /// themselves and said nothing else.
    #[default]
    ByFiles,
    /// None: the person said so.
    Free,
    /// That of commands, with the network: the project named it.
    Project,
    /// That of commands, and not without: the person wants it so. Single hosts cannot be granted to it.
    Wanted,
}

impl Confinement {
    /// What holds for a program of which `depends` says whether commands may change what it depends on.
    pub(super) fn settled(self, depends: impl FnOnce() -> bool) -> Self {
        match self {
            Self::ByFiles if depends() => Self::Project,
            Self::ByFiles => Self::Free,
            Self::Free | Self::Project | Self::Wanted => self,
        }
    }
}

impl Program {
    /// Its whole environment, given that of all commands.
    pub(super) fn whole_env(&self, env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut env = env.to_vec();
        env.retain(|(name, _)| !self.env.iter().any(|(own, _)| own == name));
        env.extend(self.env.iter().cloned());
        env
    }

    /// What it depends on and commands may change. Blocks.
    pub(super) fn changeable(
        &self,
        sandbox: &SandboxSettings,
        env: &[(OsString, OsString)],
    ) -> Vec<PathBuf> {
        let launch = Launch {
            argv: &self.argv,
            cwd: &self.cwd,
            env: &self.whole_env(env),
        };
        confine::changeable(sandbox, &launch)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// A command whose output, a JSON object, is more headers.
    pub headers_helper: Option<String>,
    /// Of that command.
    pub confinement: Confinement,
}

impl Address {
    /// The command for more headers as a program.
    pub(super) fn helper(&self, around: &Surroundings) -> Option<Program> {
        let helper = self.headers_helper.as_ref()?;
        let mut argv = around.shell.clone();
        argv.push(helper.into());
        Some(Program {
            argv,
            cwd: around.root.clone(),
            env: Vec::new(),
            confinement: self.confinement,
        })
    }
}

impl Server {
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            enabled_tools: Vec::new(),
            disabled_tools: Vec::new(),
            call_timeout: None,
            tool_timeouts: BTreeMap::new(),
            trusted_read_only_tools: Vec::new(),
            sampling: Sampling::default(),
        }
    }

    /// Names what was configured: another program or address may offer something else.
    pub fn fingerprint(&self) -> String {
        let shown = format!("{} {:?}", self.name, self.endpoint);
        crate::hex::short(&Sha256::digest(shown.as_bytes()), 16)
    }

    /// Whether its program runs in a sandbox, started with this environment. Blocks.
    pub fn is_confined(&self, sandbox: &SandboxSettings, env: &[(OsString, OsString)]) -> bool {
        match &self.endpoint {
            Endpoint::Program(program) => {
                let depends = || !program.changeable(sandbox, env).is_empty();
                program.confinement.settled(depends) != Confinement::Free
            }
            Endpoint::Address(_) | Endpoint::Unusable(_) => false,
        }
    }

    pub fn offers(&self, tool: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == tool);
        (self.enabled_tools.is_empty() || names(&self.enabled_tools))
            && !names(&self.disabled_tools)
    }
}

/// What every server is started with.
#[derive(Clone)]
pub struct Surroundings {
    pub version: String,
    pub host: Arc<dyn Host>,
    /// The environment of commands, which has no key of a provider.
    pub env: Vec<(OsString, OsString)>,
    pub shell: Vec<OsString>,
    pub sandbox: SandboxSettings,
    /// What servers may look at; canonical.
    pub root: PathBuf,
    /// Where lists are kept.
    pub cache: Option<PathBuf>,
    /// Somebody may add a prompt later, so that a server that is slow need not be waited for.
    pub interactive: bool,
    pub settings: Arc<McpSettings>,
}
