//! What the binary decides for the sessions of a process, one plain struct for each part of the engine.

use crate::agents::AgentSettings;
use crate::hooks::Hook;
use crate::servers::{PlaceLauncher, SandboxLauncher};
use ostler_confine::SandboxSettings;
use ostler_confine::checkpoints::{FarTree, Place};
use ostler_context::interfaces::extra::Extra;
use ostler_context::interfaces::{HubCommands, Models, Person, RuleStore, RuleWatch};
use ostler_context::window::ContextSettings;
use ostler_guard::{Mode, Policy};
use ostler_host::Host;
use ostler_host::checkpoint::Limits;
use ostler_host::pane::Pane;
use ostler_llm::Params;
use ostler_mcp::{McpSettings, ServerContext};
use ostler_sources::references::Voice;
use ostler_sources::templates::TemplateFolder;
use ostler_store::budget::Budget;
use ostler_store::redact::Redactor;
use ostler_tools::EditorTerminal;
use ostler_tools::tool::{Tool, ToolSettings};
use ostler_wire::{BoxFuture, HERE, Language};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// How a pane that the person shares is shown.
const PANE: &str = "tmux";

/// Everything that the sessions of a process are opened with.
#[derive(Clone)]
pub struct HubSettings {
    pub paths: Paths,
    pub run: RunSettings,
    pub model: ModelSettings,
    pub context: ContextSettings,
    /// Limits on the cost of checkpoints of the tree; none are made without it.
    pub checkpoints: Option<Limits>,
    pub permissions: PermissionSettings,
    /// Commands that run at fixed moments.
    pub hooks: Arc<[Hook]>,
    pub tools: ToolSettings,
    pub toolbox: ToolSources,
    /// Servers whose tools are used.
    pub mcp: Arc<McpSettings>,
    /// Roles, skills, and how sub-agents may work.
    pub agents: Arc<AgentSettings>,
    pub commands: CommandSources,
}

impl HubSettings {
    /// Where commands run, as the log has it.
    pub fn place_name(&self) -> &str {
        let elsewhere = self.toolbox.elsewhere.as_ref();
        elsewhere.map_or(HERE, |elsewhere| &elsewhere.name)
    }

    /// The same for people: nothing where that is this machine as always.
    pub fn place_shown(&self) -> Option<String> {
        let elsewhere = self.toolbox.elsewhere.as_ref();
        let place = elsewhere.map(|elsewhere| elsewhere.name.clone());
        let pane = self.toolbox.pane.as_ref().map(|_| PANE.to_owned());
        let names: Vec<String> = place.into_iter().chain(pane).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The folder on this machine whose settings and instructions hold.
    pub fn stand_in(&self) -> &Path {
        match &self.toolbox.elsewhere {
            Some(elsewhere) => &elsewhere.stand_in,
            None => &self.paths.root,
        }
    }

    /// The same session at another place: what is about the place is taken from there.
    pub fn moved_to(&self, there: Self) -> Self {
        let mut moved = self.clone();
        moved.paths.root = there.paths.root;
        moved.paths.user_home = there.paths.user_home;
        moved.run.system = there.run.system;
        moved.checkpoints = there.checkpoints;
        moved.permissions.policy = there.permissions.policy;
        moved.permissions.rules = there.permissions.rules;
        moved.permissions.watch = there.permissions.watch;
        moved.hooks = there.hooks;
        moved.tools = there.tools;
        moved.toolbox = ToolSources {
            filter: moved.toolbox.filter,
            more: moved.toolbox.more,
            ..there.toolbox
        };
        moved.commands.extras = there.commands.extras;
        moved
    }

    /// Where checkpoints are made. A session that leaves no trace makes none.
    pub fn checkpoint_place(&self) -> Option<Place> {
        let limits = self.checkpoints.clone().filter(|_| self.run.save)?;
        let elsewhere = self.toolbox.elsewhere.as_ref();
        let elsewhere = elsewhere.filter(|elsewhere| !elsewhere.has_project_here);
        let there = elsewhere.map(|elsewhere| FarTree {
            name: elsewhere.name.clone(),
            host: self.toolbox.host.clone(),
            stand_in: elsewhere.stand_in.clone(),
            protect: self.toolbox.sandbox.policy.protect.clone(),
        });
        Some(Place {
            home: self.paths.home.clone(),
            // Of another place it is looked up there.
            real: match there {
                Some(_) => self.paths.root.clone(),
                None => ostler_host::real_path(&self.paths.root),
            },
            root: self.paths.root.clone(),
            limits,
            there,
        })
    }

    /// What servers are started with.
    pub fn server_context(&self) -> ServerContext {
        let (host, sandbox, tools, user_home) = match &self.toolbox.elsewhere {
            Some(Elsewhere {
                machine,
                sandbox,
                tools,
                user_home,
                ..
            }) => (machine, sandbox, tools, user_home),
            None => (
                &self.toolbox.host,
                &self.toolbox.sandbox,
                &self.tools,
                &self.paths.user_home,
            ),
        };
        ServerContext {
            version: self.run.version.clone(),
            launcher: Arc::new(SandboxLauncher {
                host: host.clone(),
                env: tools.env.clone(),
                sandbox: sandbox.clone(),
                writable: tools.writable.clone(),
                root: self.paths.project.clone(),
                user_home: user_home.clone(),
                there: self.toolbox.elsewhere.as_ref().map(|_| PlaceLauncher {
                    host: self.toolbox.host.clone(),
                    env: self.tools.env.clone(),
                    sandbox: self.toolbox.sandbox.clone(),
                    root: self.paths.root.clone(),
                    user_home: self.paths.user_home.clone(),
                }),
            }),
            shell: tools.shell.clone(),
            root: self.paths.project.clone(),
            cache: Some(self.paths.home.join("cache/mcp")),
            interactive: self.run.interactive,
            settings: self.mcp.clone(),
        }
    }
}

/// The folders that sessions work in and are stored in.
#[derive(Clone)]
pub struct Paths {
    pub home: PathBuf,
    pub user_home: Option<PathBuf>,
    /// Canonical. At another place it is a path there.
    pub root: PathBuf,
    /// The folder on this machine that the sessions and settings of the project belong to: the root, unless that is at
    /// another place.
    pub project: PathBuf,
    /// For what an unsaved session has to keep on disk.
    pub temp: PathBuf,
    /// Folder that holds a folder of sessions per project.
    pub sessions: PathBuf,
}

/// How sessions of this process run.
#[derive(Clone)]
pub struct RunSettings {
    pub version: String,
    pub save: bool,
    /// A person can answer asks.
    pub interactive: bool,
    /// Whose words the prompts are.
    pub voice: Voice,
    pub language: Language,
    /// Steps of one turn; 0 = no limit.
    pub max_steps: u64,
    /// Facts that a prompt is about go with it without a question.
    pub recall: bool,
    /// Facts for the first prompt: the system, the shell.
    pub system: String,
    /// Lines for the operator section of the prompt.
    pub operator: Vec<String>,
    /// Knows the values that are shown neither to the model nor in the log nor in a front end.
    pub redactor: Redactor,
}

/// The model, and what its requests may cost.
#[derive(Clone)]
pub struct ModelSettings {
    /// As the person named it for this run; a resumed session keeps its own otherwise.
    pub wanted: Option<String>,
    pub models: Arc<dyn Models>,
    pub params: Params,
    /// What may be spent, shared by all sessions of the process.
    pub budget: Budget,
}

/// What sessions may do.
#[derive(Clone)]
pub struct PermissionSettings {
    pub policy: Policy,
    pub watch: Option<Arc<dyn RuleWatch>>,
    /// Where rules are saved; without it none is offered.
    pub rules: Option<Arc<dyn RuleStore>>,
    /// As the person named it for this run; a resumed session keeps its own otherwise.
    pub mode: Option<Mode>,
    /// Tools of servers that may be used while planning.
    pub plan_tools: Vec<String>,
}

/// Which tools there are, and the place that they work on.
#[derive(Clone)]
pub struct ToolSources {
    pub host: Arc<dyn Host>,
    pub filter: Vec<String>,
    /// Tools beside the built-in ones.
    pub more: Vec<&'static dyn Tool>,
    /// What the programs that tools start may touch.
    pub sandbox: SandboxSettings,
    /// Where the host is another place than this machine.
    pub elsewhere: Option<Elsewhere>,
    /// The pane that the person shares, if commands run in one.
    pub pane: Option<Pane>,
    /// Terminals of an editor, if commands run in them.
    pub terminal: Option<Arc<dyn EditorTerminal>>,
}

/// A session whose project lies at another place. What is the person's own runs on this machine as always.
#[derive(Clone)]
pub struct Elsewhere {
    /// As people call the place.
    pub name: String,
    /// The folder on this machine that stands for the project.
    pub stand_in: PathBuf,
    /// The project lies on this machine all the same, and only commands run there.
    pub has_project_here: bool,
    /// This machine, where servers run.
    pub machine: Arc<dyn Host>,
    /// What servers may touch on this machine.
    pub sandbox: SandboxSettings,
    /// What servers are started with: that of this machine.
    pub tools: ToolSettings,
    pub user_home: Option<PathBuf>,
    /// Why the link is cut, while it is being made again.
    pub link: Option<watch::Receiver<Option<String>>>,
}

/// Commands beside the built-in ones.
#[derive(Clone, Default)]
pub struct CommandSources {
    /// Folders of Markdown commands, the more important first.
    pub templates: Vec<TemplateFolder>,
    /// Commands of the binary.
    pub extras: Vec<Arc<dyn Extra>>,
    /// Those that are about no session.
    pub hub: Option<Arc<dyn HubCommands>>,
    /// For sessions that go on at another place.
    pub places: Option<Arc<dyn PlaceSwitch>>,
}

/// Connects to other places for a session that goes on there. The binary implements it on the configuration.
pub trait PlaceSwitch: Send + Sync {
    /// The settings of a session at the place that these words name. The error is for the person. Dropping the future gives
    /// it up.
    fn go<'a>(
        &'a self,
        words: &'a str,
        person: Option<Arc<dyn Person>>,
    ) -> BoxFuture<'a, Result<Arrival, String>>;

    /// Who answers what is asked while the session runs, such as the password for a link that was cut.
    fn meet(&self, person: Arc<dyn Person>);
}

/// What a session at another place is to know.
pub struct Arrival {
    pub settings: HubSettings,
    /// What the person should know of it.
    pub notes: Vec<String>,
}
