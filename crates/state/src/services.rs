//! What the tools of a session work with.

use crate::settings::HubSettings;
use ostler_confine::checkpoints::SessionCheckpoints;
use ostler_confine::{SandboxSettings, SandboxShare};
use ostler_context::clients::feed::Feed;
use ostler_context::interfaces::RuleStore;
use ostler_host::Host;
use ostler_host::pane::Pane;
use ostler_mcp::Servers;
use ostler_store::artifacts::Artifacts;
use ostler_store::history::History;
use ostler_tools::EditorTerminal;
use ostler_tools::jobs::Jobs;
use ostler_tools::seen::Seen;
use ostler_tools::tool::{Scope, ToolSettings};
use ostler_wire::TodoItem;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What tools work with.
pub struct ToolServices {
    pub host: Arc<dyn Host>,
    pub settings: Arc<ToolSettings>,
    pub artifacts: Artifacts,
    pub seen: Arc<Seen>,
    pub jobs: Arc<Jobs>,
    pub history: Arc<History>,
    pub sandbox: SessionSandbox,
    /// The task list as it stands.
    pub todo: Arc<Vec<TodoItem>>,
    /// Where rules that shall hold for ever are kept.
    pub rules: Option<Arc<dyn RuleStore>>,
    /// Held by whoever changes the tree.
    pub writing: Arc<Semaphore>,
    pub checkpoints: SessionCheckpoints,
    pub servers: Option<Arc<Servers>>,
}

/// What programs on this machine run with while the project is at another place.
pub struct Machine {
    pub host: Arc<dyn Host>,
    pub sandbox: Arc<SandboxSettings>,
    pub share: Arc<SandboxShare>,
    pub tools: Arc<ToolSettings>,
    /// The folder that stands for the project.
    pub scope: Arc<Scope>,
}

impl Machine {
    fn of(settings: &HubSettings) -> Option<Self> {
        let elsewhere = settings.toolbox.elsewhere.as_ref()?;
        let scope = Scope::new(&elsewhere.stand_in, elsewhere.user_home.clone());
        Some(Self {
            host: elsewhere.machine.clone(),
            sandbox: Arc::new(elsewhere.sandbox.clone()),
            share: Arc::default(),
            tools: Arc::new(elsewhere.tools.clone()),
            scope: Arc::new(scope.with_shell(&elsewhere.tools.shell)),
        })
    }
}

impl ToolServices {
    pub fn new(
        settings: &HubSettings,
        artifacts: Artifacts,
        feed: &Feed,
        history: History,
        writing: Arc<Semaphore>,
    ) -> Self {
        Self {
            host: settings.toolbox.host.clone(),
            settings: Arc::new(settings.tools.clone()),
            jobs: Arc::new(Jobs::new(artifacts.clone()).telling(feed.sink())),
            sandbox: SessionSandbox::new(settings),
            artifacts,
            history: Arc::new(history),
            seen: Arc::new(Seen::default()),
            todo: Arc::default(),
            rules: settings.permissions.rules.clone(),
            writing,
            checkpoints: SessionCheckpoints::new(settings.checkpoint_place()),
            servers: None,
        }
    }

    /// The same at the place of these settings: nothing of it was seen or saved yet.
    pub fn move_to(&mut self, settings: &HubSettings) {
        self.host = settings.toolbox.host.clone();
        self.settings = Arc::new(settings.tools.clone());
        self.sandbox = SessionSandbox::new(settings);
        self.seen = Arc::default();
        self.rules = settings.permissions.rules.clone();
        self.checkpoints = SessionCheckpoints::new(settings.checkpoint_place());
    }
}

/// The sandbox of the session's programs.
pub struct SessionSandbox {
    /// The pane that the person shares, if commands run in one, where nothing confines them.
    pub pane: Option<Pane>,
    /// The same of an editor's terminals.
    pub terminal: Option<Arc<dyn EditorTerminal>>,
    pub settings: Arc<SandboxSettings>,
    pub share: Arc<SandboxShare>,
    /// This machine, where the session is at another place: hooks run here all the same.
    pub machine: Option<Machine>,
}

impl SessionSandbox {
    fn new(settings: &HubSettings) -> Self {
        Self {
            pane: settings.toolbox.pane.clone(),
            terminal: settings.toolbox.terminal.clone(),
            settings: Arc::new(settings.toolbox.sandbox.clone()),
            share: Arc::default(),
            machine: Machine::of(settings),
        }
    }

    /// Puts back what commands changed against the rules, at the place and here. What there is to say of it.
    pub async fn finish(&self) -> Vec<String> {
        let here = match &self.machine {
            Some(machine) => machine.share.finish().await,
            None => None,
        };
        self.share.finish().await.into_iter().chain(here).collect()
    }

    /// A copy that may be changed for one program.
    pub fn settings(&self) -> SandboxSettings {
        SandboxSettings::clone(&self.settings)
    }
}
