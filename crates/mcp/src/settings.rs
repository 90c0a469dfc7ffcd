//! What the binary says of servers: which there are, how they are reached and how long they may take; and the interfaces
//! by which it keeps what they need. Plain data.

use crate::launch::{Confinement, Launcher, Program};
use futures_util::future::BoxFuture;
use serde_json::Value;
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
    pub redaction: Redaction,
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
            redaction: Redaction::default(),
        }
    }
}

/// Takes secrets out of a text. The default changes nothing.
#[derive(Clone)]
pub struct Redaction(Arc<dyn Fn(String) -> String + Send + Sync>);

impl Redaction {
    pub fn new(redact: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    pub(crate) fn apply(&self, text: String) -> String {
        (self.0)(text)
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new(|text| text)
    }
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redaction")
    }
}

/// Keeps the tokens of servers, each by its address.
pub trait TokenStore: Send + Sync + std::fmt::Debug {
    fn load(&self, url: &str) -> Result<Option<Value>, String>;
    /// `None` takes them out.
    fn save<'a>(&'a self, url: &'a str, tokens: Option<Value>)
    -> BoxFuture<'a, Result<(), String>>;
    /// Held while one process renews a token; others wait.
    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn Send>, String>>;
}

/// How we are known to the server's issuer, where it cannot be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// A page of ours that says who we are, for issuers that read it.
    pub client_page: Option<String>,
    pub scopes: Vec<String>,
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
    Unusable(ostler_wire::Why),
}

/// How messages go over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpForm {
    /// Each to the same address, with its answer.
    Streamable,
    /// As the revision 2024-11-05 has it: to one address, and the answers come as events of another.
    Events,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub url: String,
    pub form: HttpForm,
    pub headers: Vec<(String, String)>,
    /// A command whose output, a JSON object, is more headers.
    pub headers_helper: Option<String>,
    /// Of that command.
    pub confinement: Confinement,
}

impl Address {
    /// The command for more headers as a program.
    pub(crate) fn helper(&self, context: &ServerContext) -> Option<Program> {
        let helper = self.headers_helper.as_ref()?;
        let mut argv = context.shell.clone();
        argv.push(helper.into());
        Some(Program {
            argv,
            cwd: None,
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
        ostler_wire::hex::short(&Sha256::digest(shown.as_bytes()), 16)
    }

    /// How long a call of a tool may go without a sign of life, where `general` holds for all servers.
    pub fn call_limit(&self, tool: &str, general: Duration) -> Duration {
        let own = self.tool_timeouts.get(tool).copied();
        own.or(self.call_timeout).unwrap_or(general)
    }

    pub fn offers(&self, tool: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == tool);
        (self.enabled_tools.is_empty() || names(&self.enabled_tools))
            && !names(&self.disabled_tools)
    }
}

/// What all servers of a process share.
#[derive(Clone)]
pub struct ServerContext {
    pub version: String,
    pub launcher: Arc<dyn Launcher>,
    /// argv before the text of a command.
    pub shell: Vec<OsString>,
    /// What servers may look at; canonical.
    pub root: PathBuf,
    /// Where lists are kept.
    pub cache: Option<PathBuf>,
    /// Somebody may add a prompt later, so that a server that is slow need not be waited for.
    pub interactive: bool,
    pub settings: Arc<McpSettings>,
}
