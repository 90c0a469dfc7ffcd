//! The command line: one table of commands and flags. What they do is elsewhere.

mod agents;
mod attach;
mod checkpoint;
pub mod chinese;
mod doctor;
mod import;
mod mcp;
mod mcp_server;
mod memory;
mod place;
mod serve;
mod sessions;
mod uninstall;

pub use agents::{Agents, Skills};
pub use attach::{Attach, Remote, RemotePlace};
pub use checkpoint::Checkpoint;
pub use doctor::Doctor;
pub use import::Import;
pub use mcp::{Mcp, McpAdd, McpScope, McpType};
pub use mcp_server::McpServer;
pub use memory::{Memory, MemorySwitch};
pub use place::{Host, PlaceFlags};
pub use serve::Serve;
pub use sessions::{ExportFormat, Sessions, SessionsCommand};
pub use uninstall::Uninstall;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Of `agent.effort`.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "max"];

/// A coding agent for the terminal. Without a command it starts a conversation.
#[derive(Debug, Parser)]
#[command(name = "ostler", version = crate::VERSION, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    /// Run this prompt and exit, as `exec -p` does
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Continue the newest session of this project
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "session", "fork"])]
    pub continue_last: bool,
    /// Continue the session with this id, or choose one from a list
    #[arg(short = 'r', long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["session", "fork"])]
    pub resume: Option<String>,
    /// The first prompt of the conversation
    #[arg(long = "start-with", value_name = "PROMPT", hide = true)]
    pub start: Option<String>,
    #[command(flatten)]
    pub output: Output,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Work in this folder instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The model: a provider, a model, or provider/model
    #[arg(long, short = 'm', global = true, value_name = "MODEL")]
    pub model: Option<String>,
    /// The provider of --model, or its default model
    #[arg(long, global = true, value_name = "NAME")]
    pub provider: Option<String>,
    /// Another agent in place of a model: codex, claude/MODEL, or acp:COMMAND for one that speaks ACP
    #[arg(long, global = true, value_name = "AGENT", conflicts_with_all = ["model", "provider", "effort"])]
    pub backend: Option<String>,
    /// How hard the model thinks: none, minimal, low, medium, high, max
    #[arg(long, global = true, value_name = "EFFORT", value_parser = EFFORTS, hide_possible_values = true)]
    pub effort: Option<String>,
    /// Operator instructions for the system prompt; "" clears the configured ones
    #[arg(long, global = true, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Continue this session
    #[arg(long, global = true, value_name = "ID", conflicts_with = "fork")]
    pub session: Option<String>,
    /// Start a new session with a copy of this one
    #[arg(long, global = true, value_name = "ID")]
    pub fork: Option<String>,
    /// Keep no session log
    #[arg(long, global = true)]
    pub no_save: bool,
    /// How to work: normal, plan to look only and make a plan first, or goal to go on until it is reached
    #[arg(long, global = true, value_name = "MODE", hide_possible_values = true)]
    pub mode: Option<Mode>,
    /// What may run without asking: ask (nothing), edits (edits in the project), auto (what the sandbox holds) or yolo
    #[arg(long, global = true, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    /// Allow everything that no rule denies
    #[arg(
        long,
        global = true,
        conflicts_with = "permission_mode",
        alias = "dangerously-skip-permissions"
    )]
    pub yolo: bool,
    /// Only these tools, comma-separated; !name leaves one out
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub allowed_tools: Vec<String>,
    /// A rule for this run: what it speaks of may run unasked, like Net(example.com)
    #[arg(long, global = true, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Run commands without the operating system's sandbox
    #[arg(long, global = true)]
    pub no_sandbox: bool,
    /// Trust what this project's files bring, for this run only
    #[arg(long, global = true)]
    pub trust_workspace: bool,
    /// Do not begin without every MCP server
    #[arg(long, global = true)]
    pub require_mcp: bool,
    /// Most model requests of one turn; 0 means no limit
    #[arg(long, global = true, value_name = "N")]
    pub max_steps: Option<u32>,
    /// Most that this run may cost: USD, or tokens like 500ktokens
    #[arg(long, global = true, value_name = "LIMIT", value_parser = ostler_config::budget::Cap::parse)]
    pub budget: Option<ostler_config::budget::Cap>,
    /// Another configuration file in place of the user's
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A further folder that file tools may change
    #[arg(long, global = true, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// No colours
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Plain lines, no terminal UI
    #[arg(long, global = true)]
    pub plain: bool,
    /// Say more on stderr
    #[arg(long, short = 'v', global = true)]
    pub verbose: bool,
    /// No progress on stderr: only errors and what needs you
    #[arg(long, short = 'q', global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Run commands in a tmux pane that you can watch and type in; =SESSION: in a session of your own tmux
    #[arg(long, global = true, value_name = "SESSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub tmux: Option<String>,
    #[command(flatten)]
    pub place: PlaceFlags,
    #[command(flatten)]
    pub attach: Attach,
    /// Where `ostler serve` listens: no command and no tool of this process reaches it
    #[arg(skip)]
    pub served: Option<std::net::SocketAddr>,
    /// Servers that the editor of a session brings
    #[arg(skip)]
    pub brought: Vec<ostler_config::schema::PluginConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Normal,
    Plan,
    Goal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PermissionMode {
    #[value(alias = "default")]
    Ask,
    #[value(aliases = ["acceptEdits", "accept-edits"])]
    Edits,
    Auto,
    #[value(aliases = ["danger-full-access", "bypassPermissions"])]
    Yolo,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one prompt and print the answer
    #[command(visible_alias = "run")]
    Exec(Exec),
    /// Continue a session
    Resume(Resume),
    /// List, show, search, export and delete sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Write a file with what a new session needs to continue another one
    Handoff(Handoff),
    /// Show and change settings
    #[command(subcommand)]
    Config(Config),
    /// Try, list, remove and suggest permission rules; audit what a session touched
    #[command(subcommand)]
    Permissions(Permissions),
    /// Manage memory: list, show, search, edit, archive and restore facts
    #[command(subcommand)]
    Memory(Memory),
    /// Manage MCP servers: add, list, test, log in
    #[command(subcommand)]
    Mcp(Mcp),
    /// List and show skills
    #[command(subcommand)]
    Skills(Skills),
    /// List and show roles of sub-agents
    #[command(subcommand)]
    Agents(Agents),
    /// Find keys and local servers, test the connection, write a configuration
    Setup(Setup),
    /// Take over settings, servers, commands and sessions of other agents
    Import(Import),
    /// Log in to a provider, in the browser or with a code on another device
    Login(Login),
    /// Forget a login
    Logout(Logout),
    /// Log in, log out, and see which logins there are
    #[command(subcommand)]
    Auth(Auth),
    /// Check the installation: configuration, keys, tools, sessions
    Doctor(Doctor),
    /// Review and trust this project's settings
    Trust(Trust),
    /// Tokens and cost of past requests
    Usage(Usage),
    /// List the models to choose from, with context window and price
    Models {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Prompt-cache report for a session
    #[command(subcommand)]
    Cache(Cache),
    /// Checkpoints of this project's files: list, compare, restore
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// Watch a short coding session, offline and without an account
    Demo(Demo),
    /// Serve sessions to browsers and programs on this machine
    Serve(Serve),
    /// Look at another place to work at, or take the helper away from it
    #[command(subcommand)]
    Host(Host),
    /// Speak the Agent Client Protocol on stdin and stdout: an editor starts this
    Acp,
    /// Offer this agent as an MCP server to other agents and programs
    McpServer(McpServer),
    /// Remove the program, and with --purge all that it keeps
    Uninstall(Uninstall),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
pub struct Exec {
    /// The prompt; - reads it from stdin
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub words: Vec<String>,
    /// The prompt
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT")]
    pub prompt: Option<String>,
    #[command(flatten)]
    pub output: Output,
    /// Where prompts come from: text, or stream-json for one op a line on stdin
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub input_format: InputFormat,
    /// The answer must be JSON that fits this JSON Schema
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Output {
    /// What goes to stdout: text, json (every event), or result (one object)
    #[arg(long, value_name = "FORMAT", conflicts_with = "output_format")]
    pub format: Option<Format>,
    /// The same with other names: text, json (one object), stream-json (every event)
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
}

impl Output {
    pub fn is_set(self) -> bool {
        self.format.is_some() || self.output_format.is_some()
    }

    /// What stands after a command is nearer to it than what stands before.
    pub fn or(self, before: Output) -> Output {
        if self.is_set() { self } else { before }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    #[value(alias = "stream-json")]
    Json,
    Result,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    Text,
    StreamJson,
}

/// Formats of commands that only look something up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Args)]
pub struct Resume {
    /// The session, or the beginning of its id; the newest of this project when left out
    pub id: Option<String>,
    /// The newest session of this project
    #[arg(long, conflicts_with = "id")]
    pub last: bool,
    /// A session of another agent; without an id they are listed
    #[arg(long, value_name = "AGENT", conflicts_with = "last", value_parser = import::agents())]
    pub from: Option<String>,
    /// Run this prompt in it and exit
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT")]
    pub prompt: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Handoff {
    /// What the next session is for, in your words
    #[arg(long, value_name = "TEXT")]
    pub goal: String,
    /// The session, or the beginning of its id; the newest of this project when left out
    #[arg(long, value_name = "ID")]
    pub from_session: Option<String>,
    /// A file instead of stdout
    #[arg(long, short = 'o', value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// From the log alone, without a request to a model
    #[arg(long)]
    pub no_model: bool,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// The configuration files and which of them exist
    Path,
    /// Write a commented starter file
    Init,
    /// One setting
    Get { key: String },
    /// Change one setting, keeping comments and order
    Set {
        key: String,
        value: String,
        /// In the project's ostler.toml instead of the user's file
        #[arg(long)]
        project: bool,
    },
    /// Every setting in force
    Show {
        /// And where each came from
        #[arg(long)]
        origin: bool,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Whether remembered facts are recalled with your prompts
    #[command(alias = "memory-v5")]
    Memory {
        #[arg(value_enum, default_value = "status")]
        switch: MemorySwitch,
    },
    /// The JSON Schema of the file, for editors
    Schema,
}

#[derive(Debug, Subcommand)]
pub enum Permissions {
    /// What would be said to a call, without running it
    Check {
        tool: String,
        /// The arguments as JSON; for bash also the command itself
        args: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Every rule, where it stands, and what is odd about it
    List {
        /// Count the calls of sessions since then that each rule decides: 12h, 30d or 4w
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Take a rule out of the files that hold it
    Remove {
        rule: String,
        /// Only from this file
        #[arg(long, value_enum)]
        layer: Option<RuleLayer>,
    },
    /// The smallest rules for what was allowed by hand
    Suggest {
        /// How far to look back, like 12h, 30d or 4w
        #[arg(long, value_name = "TIME", default_value = "30d")]
        since: String,
        /// Save them
        #[arg(long)]
        apply: bool,
        /// In this file
        #[arg(long, value_enum, default_value = "user")]
        layer: RuleLayer,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Every path and host that a session touched, call by call
    Audit {
        /// The session, or the beginning of its id; the newest of this project when left out
        session: Option<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}

/// A file that holds rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleLayer {
    User,
    Local,
    Project,
}

#[derive(Debug, Default, Args)]
pub struct Setup {
    /// Use this provider without asking
    #[arg(long = "use", value_name = "PROVIDER")]
    pub provider: Option<String>,
    /// Save this key for it; - reads it from stdin
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Another endpoint
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The protocol of that endpoint, as `kind` in the configuration
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Do not test the connection
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Default, Args)]
pub struct Login {
    /// The provider, that of the model in use when left out; or the address of an `ostler serve`
    pub provider: Option<String>,
    /// Open no browser: print what to open elsewhere
    #[arg(long)]
    pub no_browser: bool,
    /// With a code that is typed in on another device
    #[arg(long)]
    pub device: bool,
}

#[derive(Debug, Args)]
pub struct Logout {
    /// The provider, the only one with a login when left out; or the address of an `ostler serve`
    pub provider: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Auth {
    /// As `ostler login`
    Login(Login),
    /// As `ostler logout`
    Logout(Logout),
    /// Which providers have a login, and until when
    Status {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}

#[derive(Debug, Args)]
pub struct Trust {
    /// Do not ask
    #[arg(long, short = 'y', conflicts_with_all = ["list", "remove"])]
    pub yes: bool,
    /// Trust an item that is too long to be shown, by its hash; may be repeated
    #[arg(long, value_name = "HASH", conflicts_with_all = ["list", "remove"])]
    pub read: Vec<String>,
    /// The projects that were decided about
    #[arg(long)]
    pub list: bool,
    /// Forget a project; this one when no path is given
    #[arg(long, value_name = "PATH", num_args = 0..=1, conflicts_with = "list")]
    pub remove: Option<Option<PathBuf>>,
    /// text, or json for programs; with --list
    #[arg(long, value_enum, default_value_t, requires = "list")]
    pub format: Listing,
}

#[derive(Debug, Args)]
pub struct Usage {
    /// What the sums are for
    #[arg(long, value_enum, default_value = "day")]
    pub by: UsageBy,
    /// Draw bars beside the sums, also where the output is no terminal
    #[arg(long)]
    pub chart: bool,
    /// text, or json for programs
    #[arg(long, value_enum, default_value_t)]
    pub format: Listing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageBy {
    Day,
    Model,
    Project,
    Session,
}

#[derive(Debug, Subcommand)]
pub enum Cache {
    /// Each request: what it shared with the one before, and where it broke
    Why {
        /// The newest session of this project when left out
        id: Option<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Fail when a prompt of the session did not continue the one before
    Check { id: Option<String> },
}

#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    pub output: Output,
    /// Keep the scratch folder here instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
