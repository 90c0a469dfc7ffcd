//! Every key of a configuration file: its type, its default, and (as doc comments) the text that
//! editors show from the JSON Schema. Nothing here reads files or decides who may set what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetConfig;
use crate::context::ContextConfig;
use crate::oauth::TokenStore;
use crate::units::{ByteSize, ColorChoice, non_negative};

mod backends;
mod hooks;
mod places;
mod plugins;
mod providers;
mod roles;
mod serve;

pub use backends::{
    AdapterConfig, BackendConfig, BackendModelConfig, FallbackConfig, OutputParserConfig,
    OutputParserKind, Pick, PromptTransport,
};
pub use places::{AcpConfig, HelperConfig, HelperInstall, HostConfig};

pub use hooks::{HookConfig, HookEvent, RunsOn};
pub use plugins::{PluginConfig, PluginKind, PluginOauth, PluginProvides, PluginSampling};
pub use serve::{AuthMode, ServeConfig};

pub use roles::{CapabilitiesConfig, Filesystem, PersonaConfig, RoleConfig, SkillsConfig};

pub use providers::{AuthKind, ModelProfile, Price, ProviderConfig, Timeouts, built_in};

/// Configuration of Ostler. Every key is optional; an empty file works.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The model to use: a provider name (its default model), a model name, or
    /// "provider/model". Unset: the first provider with a key.
    pub default_model: Option<String>,
    /// Language of the surface: "en" or "zh". Unset: OSTLER_LANG, then the locale.
    pub language: Option<String>,
    /// How the agent behaves.
    pub agent: AgentConfig,
    /// Model endpoints. An entry with the name of a built-in provider changes only what it names.
    pub providers: Vec<ProviderConfig>,
    /// Single models, each with its own endpoint: the short form of `providers`.
    pub models: BTreeMap<String, ModelProfile>,
    /// Which tools the model gets and how they run.
    pub tools: ToolsConfig,
    /// MCP servers, whose tools the model gets.
    pub plugins: Vec<PluginConfig>,
    /// Commands that run at moments of a session. Those of all files run.
    pub hooks: Vec<HookConfig>,
    /// Programs of other agents that roles can be played by, by their command.
    pub backend: BTreeMap<String, BackendConfig>,
    /// Who can work for a session, by name.
    pub roles: BTreeMap<String, RoleConfig>,
    /// Where skills come from.
    pub skills: SkillsConfig,
    /// What may run without asking.
    pub permissions: PermissionsConfig,
    /// What commands can reach, whatever was permitted.
    pub sandbox: SandboxConfig,
    /// Where session logs are kept.
    pub sessions: SessionsConfig,
    /// What a session keeps, of what was said and of the tree.
    pub context: ContextConfig,
    /// What may be spent. Only your own file may set this.
    pub budget: BudgetConfig,
    /// What is shown on the terminal.
    pub display: DisplayConfig,
    /// The terminal UI.
    pub ui: UiConfig,
    /// Where keys may come from. Only your own file may set this.
    pub auth: AuthConfig,
    /// `ostler serve`. Only your own file may set this.
    pub serve: ServeConfig,
    /// `ostler acp`. Only your own file may set this.
    pub acp: AcpConfig,
    /// Connections to model servers.
    pub network: NetworkConfig,
    /// Other places to work at, by name: `--host NAME`. Only your own file may set this.
    #[schemars(extend("properties" = { "tmux": {
        "type": "boolean",
        "description": "Conversations run commands in a tmux pane that you watch and type in, as with `--tmux`."
    } }))]
    pub host: BTreeMap<String, HostConfig>,
    /// The helper that is copied to other places. Only your own file may set this.
    pub helper: HelperConfig,
}

/// How the agent behaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentConfig {
    /// Operator instructions for the system prompt. "" removes those of a lower layer.
    pub system_prompt: Option<String>,
    /// A file with the operator instructions; it wins over `system_prompt` of the same file.
    pub system_prompt_file: Option<String>,
    /// Model requests in one turn; 0 means no limit. Only your own file may set this.
    pub max_steps: u64,
    /// Sampling temperature; sent only when set.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    /// Nucleus sampling; sent only when set.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub top_p: Option<f64>,
    /// Most tokens of one answer; sent only when set (some protocols need one and get a default).
    pub max_tokens: Option<u64>,
    /// How hard the model thinks; each protocol maps it to what it has.
    pub effort: Option<Effort>,
    /// Language of the visible reasoning.
    pub reasoning_language: ReasoningLanguage,
    /// Facts from memory that a prompt is about go with it. Only your own file may set this.
    pub memory_compiler: MemoryConfig,
    /// The hooks of `~/.claude/settings.json` run here, too. Only your own file may set this.
    pub shared_hooks: bool,
    /// Tools of servers that may be used in plan mode because they only read. It unlocks no tool that writes.
    pub plan_mode_allowed_tools: Vec<String>,
    /// A prompt that describes a large task begins in plan mode. Only your own file may set this.
    pub auto_plan: bool,
    /// Another model that makes a plan before each turn, in a session of its own.
    pub planner_model: Option<String>,
    /// Model requests of one plan; 0 means no limit. Only your own file may set this.
    pub planner_max_steps: u64,
    /// The model of sub-agents that name none. Unset: that of the session.
    pub subagent_model: Option<String>,
    /// The model of a role or a skill, by its name.
    pub subagent_models: BTreeMap<String, String>,
    /// Sub-agents below sub-agents. Only your own file may set this.
    pub max_depth: u64,
    /// Sub-agents of one session that work at once. Only your own file may set this.
    pub max_children: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            system_prompt: None,
            system_prompt_file: None,
            max_steps: 0,
            temperature: None,
            top_p: None,
            max_tokens: None,
            effort: None,
            reasoning_language: ReasoningLanguage::default(),
            memory_compiler: MemoryConfig::default(),
            shared_hooks: false,
            plan_mode_allowed_tools: Vec::new(),
            auto_plan: false,
            planner_model: None,
            planner_max_steps: 0,
            subagent_model: None,
            subagent_models: BTreeMap::new(),
            max_depth: 2,
            max_children: 4,
        }
    }
}

/// Recall of remembered facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryConfig {
    /// Whether facts are recalled. The tools for memory stay either way.
    pub enabled: bool,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Max,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningLanguage {
    #[default]
    Auto,
    Zh,
    En,
}

/// Which tools the model gets and how they run. `<tool> = false` takes one away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = { "type": "boolean" }))]
pub struct ToolsConfig {
    /// Names to enable, or "!name" to leave one out. Empty means all.
    pub enabled: Vec<String>,
    /// What the model sees of a result: compact text or the JSON envelope.
    pub result_format: ResultFormat,
    /// When a foreground command is killed; 0 means never.
    pub bash_timeout_seconds: u64,
    /// Ask before every command, also before one that only reads.
    pub shell_confirm: bool,
    /// How long a server's tool may go without a sign of life; 0 means without limit.
    pub mcp_call_timeout_seconds: u64,
    /// How long a server may take to start. Runs without a conversation wait that long for servers they know nothing of.
    pub mcp_start_seconds: u64,
    /// Tokens of the prompt that descriptions and schemas of servers' tools may take. Those beyond are shown by tool_search.
    pub mcp_schema_budget: u64,
    /// The shell that commands run in.
    pub shell: ShellConfig,
    /// How much of a result the model gets.
    pub limits: LimitsConfig,
    /// Fetching pages and searching the web.
    pub web: WebConfig,
    /// `<tool> = true|false`, moved here while loading.
    #[schemars(skip)]
    pub switches: BTreeMap<String, bool>,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            enabled: Vec::new(),
            result_format: ResultFormat::default(),
            bash_timeout_seconds: 120,
            shell_confirm: false,
            mcp_call_timeout_seconds: 300,
            mcp_start_seconds: 30,
            mcp_schema_budget: 10_000,
            shell: ShellConfig::default(),
            limits: LimitsConfig::default(),
            web: WebConfig::default(),
            switches: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResultFormat {
    #[default]
    Text,
    Envelope,
}

/// The shell that commands run in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShellConfig {
    /// Which interpreter to look for.
    pub prefer: ShellPreference,
    /// The interpreter's executable.
    pub path: Option<String>,
    /// Variables that commands get although they look like secrets.
    pub env_pass: Vec<String>,
    /// Variables that commands do not get. Lists of all files add up.
    pub env_drop: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShellPreference {
    #[default]
    Auto,
    Sh,
    Bash,
    Powershell,
    Pwsh,
}

/// How much of a result the model gets; the rest is kept as a file it can read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitsConfig {
    /// Bytes of a command's output, head and tail; 0 means all.
    pub bash_max_bytes: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            bash_max_bytes: 32 * 1024,
        }
    }
}

/// Fetching pages and searching the web.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WebConfig {
    /// Address of the search page; `{query}` is replaced by what is searched. Unset: the built-in
    /// one.
    pub search_url: Option<String>,
    /// Hosts (`host` or `host:port`) that may be fetched although their address is private.
    pub allow_private: Vec<String>,
}

/// What may run without asking. Rules of all files add up; deny wins over ask, ask over allow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionsConfig {
    /// What happens to a call that changes something and that no rule names.
    pub mode: PermissionMode,
    /// What a question becomes when nobody is there to answer.
    pub headless: Headless,
    /// Where questions of sub-agents go: to you, or answered as `headless` says.
    pub subagent: SubagentAsks,
    /// Rules for calls that run without asking.
    pub allow: Vec<String>,
    /// Rules for calls that always ask.
    pub ask: Vec<String>,
    /// Rules for calls that never run.
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionMode {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Headless {
    /// Edits in the project and commands that the sandbox holds run, the rest is refused.
    #[default]
    Sandbox,
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubagentAsks {
    #[default]
    Inherit,
    Headless,
}

/// What commands can reach, whatever was permitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxConfig {
    /// enforce: where the system can; require: refuse to start where it cannot.
    pub bash: SandboxMode,
    /// What confines commands. auto takes the strongest that works; the others are taken alone.
    /// Only your own file may set this.
    pub layer: SandboxLayer,
    /// Whether commands reach the whole network. Single hosts are granted by rules: Net(host).
    pub network: bool,
    /// Directories outside the workspace that may be written. Lists of all files add up.
    pub allow_write: Vec<String>,
    /// Files and directories that may not be read; `${VAR:-x}` is expanded. Your own list replaces the
    /// default one, a project's list adds to it.
    pub forbid_read: Vec<String>,
    /// The directory that file tools may change; the root when unset.
    pub workspace_root: Option<String>,
}

/// What `forbid_read` is when nobody sets it.
const FORBID_READ: &str = include_str!("schema/forbid_read.txt");

/// The rows of the default `forbid_read`: those of the list, and the logins of all agents that can be called.
pub fn default_forbid_read() -> impl Iterator<Item = &'static str> {
    let lines = FORBID_READ.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.chain(ostler_delegate::setup::catalogue::logins())
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            bash: SandboxMode::default(),
            layer: SandboxLayer::default(),
            network: false,
            allow_write: Vec::new(),
            forbid_read: default_forbid_read().map(str::to_owned).collect(),
            workspace_root: None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    #[default]
    Enforce,
    Require,
    Off,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLayer {
    #[default]
    Auto,
    Namespaces,
    Landlock,
    Bubblewrap,
}

/// Where session logs are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionsConfig {
    /// In the home of Ostler, or in `.ostler/` of the project.
    pub location: SessionLocation,
    /// What `ostler sessions gc` keeps, like "2GB"; 0 means everything. Only your own file may
    /// set this.
    pub quota: ByteSize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionLocation {
    #[default]
    Home,
    Project,
}

/// What is shown on the terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DisplayConfig {
    /// "auto", "always" or "never"; true and false mean auto and never.
    pub color: ColorChoice,
    /// Tokens and cost after each turn: with --verbose, or without it where you set this yourself.
    pub show_tokens: bool,
    /// Which tools run.
    pub show_tool_calls: bool,
    /// The model's reasoning, where it gives any.
    pub show_reasoning: bool,
}

/// The terminal UI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UiConfig {
    /// "ansi" (your palette), "dark", "light" or "mono".
    pub theme: Option<String>,
    /// Vim keys in the composer.
    pub vim: bool,
    /// Tell you, when the window is not looked at, that it waits or has finished.
    pub notify: bool,
    /// The status line, such as "{model} {branch}"; `ostler help terminal` lists the names.
    pub status_line: Option<String>,
    /// Keys by action, such as `undo = ["ctrl-z"]`; `ostler help terminal` lists them.
    pub keys: BTreeMap<String, Vec<String>>,
}

impl Default for UiConfig {
    fn default() -> Self {
        Self {
            theme: None,
            vim: false,
            notify: true,
            status_line: None,
            keys: BTreeMap::new(),
        }
    }
}

impl Default for DisplayConfig {
    fn default() -> Self {
        Self {
            color: ColorChoice::default(),
            show_tokens: true,
            show_tool_calls: true,
            show_reasoning: true,
        }
    }
}

/// Where keys may come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuthConfig {
    /// Whether the process environment may supply provider keys.
    pub use_process_env: bool,
    /// Where tokens of `ostler login` are kept. This version has no keyring.
    pub store: TokenStore,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            use_process_env: true,
            store: TokenStore::default(),
        }
    }
}

/// Connections to model servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkConfig {
    /// A file with further certificate authorities (PEM), beside those of the system.
    pub ca_file: Option<String>,
    /// Timeouts of every endpoint.
    pub timeouts: Timeouts,
}
