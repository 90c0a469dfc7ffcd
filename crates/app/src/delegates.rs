//! Other agents as sessions have them: their programs are found, given an environment and a sandbox, and what they do is
//! handed on. How they are called and read is crate `delegate`.

mod activity;
mod launch;
mod own;
mod program;
mod setup;

use crate::boot::Boot;
use activity::Follower;
use launch::Ground;
use ostler_config::backends::{DEFAULT, Reference, parse_reference, supported};
use ostler_delegate::Delegation;
use ostler_delegate::outcome::{FailureKind, Outcome};
use ostler_delegate::request::{Contract, Request};
use ostler_delegate::services::{DEPTH_VARIABLE, Defaults, OwnAgent, Services};
use ostler_engine::agents::foreign::{
    Approval, ForeignAgents, ForeignEnd, ForeignFailure, ForeignGround, ForeignLauncher,
    ForeignRoles, ForeignTask,
};
use ostler_engine::roles::{Agent, Capabilities, Role};
use ostler_engine::tool::Conversation;
use ostler_wire::BoxFuture;
use std::path::PathBuf;
use std::sync::Arc;

/// Below our home: which conversation of an agent a session goes on with.
const CONVERSATIONS: &str = "cache/agents";

pub struct Delegates {
    ground: Ground,
    setup: setup::Backends,
    /// The files that the configuration is from.
    sources: Vec<PathBuf>,
    conversations: PathBuf,
    /// How many delegations this process is inside of.
    depth: u32,
    roles: ForeignRoles,
}

impl Delegates {
    pub fn new(boot: &Boot, hidden: &[String]) -> Self {
        let depth = boot.env.get(DEPTH_VARIABLE);
        let files = boot.loaded.files.iter().map(|(path, _)| path);
        Self {
            ground: Ground::new(boot, hidden),
            setup: setup::Backends::new(&boot.loaded.config),
            sources: files.filter(|path| path.is_file()).cloned().collect(),
            conversations: boot.places.home.join(CONVERSATIONS),
            depth: depth.and_then(|depth| depth.parse().ok()).unwrap_or(0),
            roles: match setup::is_configured(&boot.loaded.config) {
                true => ForeignRoles::Some,
                false => ForeignRoles::None,
            },
        }
    }

    /// The service for questions about agents.
    pub fn for_checks(&self, launcher: Arc<ForeignLauncher>, defaults: Defaults) -> Delegation {
        let launcher = self.ground.launch(launcher);
        self.delegation(self.setup.alone(), launcher, None, defaults)
    }

    /// The service for one task.
    fn delegation(
        &self,
        setup: ostler_delegate::setup::Setup,
        launcher: launch::Launch,
        own: Option<Arc<dyn OwnAgent>>,
        defaults: Defaults,
    ) -> Delegation {
        let services = Services {
            launcher: Arc::new(launcher),
            own,
            setups: Arc::new(setup::Fixed {
                setup,
                sources: self.sources.clone(),
            }),
            sessions: self.conversations.clone(),
        };
        Delegation::new(services, defaults)
    }

    async fn work(&self, task: ForeignTask, ground: ForeignGround) -> ForeignEnd {
        let request = match request(&task) {
            Ok(request) => request,
            Err(why) => return failed(ForeignFailure::NotStarted, why),
        };
        let launcher = self.ground.launch(ground.launcher.clone());
        let setup = self.setup.with_role(&task.role);
        let defaults = Defaults {
            cwd: task.root.clone(),
            client: None,
            conversation_id: Some(task.parent.clone()),
            depth: self.depth.saturating_add(task.depth),
        };
        let own = Arc::new(own::Own(ground.own));
        let delegation = self.delegation(setup, launcher, Some(own), defaults);
        let follower = Arc::new(Follower(ground.watcher));
        let outcome = delegation.three(&request, follower, &ground.cancel).await;
        end_of(outcome)
    }
}

impl ForeignAgents for Delegates {
    fn roles(&self) -> ForeignRoles {
        self.roles
    }

    fn agent_of(&self, model: &str) -> Option<Agent> {
        agent_of(model)
    }

    fn run(&self, task: ForeignTask, ground: ForeignGround) -> BoxFuture<'_, ForeignEnd> {
        Box::pin(self.work(task, ground))
    }
}

/// The agent that a role's model names.
pub fn agent_of(model: &str) -> Option<Agent> {
    match parse_reference(model) {
        Reference::Own(_) => None,
        Reference::Acp(command) => Some(Agent {
            backend: command.to_owned(),
            model: String::new(),
        }),
        Reference::Of { backend, .. } if !supported().any(|known| known == backend) => None,
        Reference::Of {
            backend,
            model,
            variant,
        } => Some(Agent {
            backend: backend.to_owned(),
            model: match (model, variant) {
                (DEFAULT, _) => String::new(),
                (model, Some(variant)) => format!("{model}@{variant}"),
                (model, None) => model.to_owned(),
            },
        }),
    }
}

/// The role of another agent that a person talks to; none for what is no other agent. Without a model it is its own.
pub fn in_place(name: &str) -> Option<Role> {
    let is_whole = name.contains('/') || matches!(parse_reference(name), Reference::Acp(_));
    let model = match is_whole {
        true => name.to_owned(),
        false => format!("{name}/{DEFAULT}"),
    };
    let agent = agent_of(&model).filter(|agent| !agent.backend.trim().is_empty())?;
    Some(Role {
        name: "agent".into(),
        description: String::new(),
        persona: String::new(),
        model: Some(model),
        capabilities: Capabilities::default(),
        enabled: true,
        timeout: None,
        agent: Some(agent),
        from: String::new(),
    })
}

fn request(task: &ForeignTask) -> Result<Request, String> {
    let contract = match task.contract.name.as_deref() {
        None => None,
        Some(name) if name == Contract::PatchWithCitations.name() => {
            Some(Contract::PatchWithCitations)
        }
        Some(name) => {
            let known = Contract::PatchWithCitations.name();
            return Err(format!(
                "There is no contract `{name}`; there is `{known}`."
            ));
        }
    };
    let (parent, role) = (&task.parent, &task.role.name);
    Ok(Request {
        prompt: task.prompt.clone(),
        role: Some(role.clone()),
        session_id: match &task.conversation {
            Conversation::Id(id) => Some(id.clone()),
            Conversation::New | Conversation::Last | Conversation::Named(_) => None,
        },
        is_session_approved: task.approval == Approval::Given,
        force_new_session: task.conversation == Conversation::New,
        session_key: match &task.conversation {
            // One that nobody goes on with has a key of its own, so that it waits for no other.
            Conversation::New => Some(format!("{parent}/{}", uuid::Uuid::new_v4())),
            Conversation::Named(name) => Some(format!("{parent}/{role}/{name}")),
            Conversation::Last | Conversation::Id(_) => None,
        },
        timeout_secs: task.timeout_secs,
        contract,
        validate_patch: task.contract.validate_patch,
        key_root: Some(task.project.clone()),
        ..Request::default()
    })
}

fn failed(failure: ForeignFailure, why: String) -> ForeignEnd {
    ForeignEnd {
        failure: Some((failure, why)),
        ..ForeignEnd::default()
    }
}

fn end_of(outcome: Outcome) -> ForeignEnd {
    let failure = match outcome.failure {
        Some(FailureKind::Request | FailureKind::Setup | FailureKind::NotStarted) => {
            Some(ForeignFailure::NotStarted)
        }
        Some(FailureKind::Agent) => Some(ForeignFailure::Agent),
        Some(FailureKind::Contract) => Some(ForeignFailure::Contract),
        Some(FailureKind::Timeout) => Some(ForeignFailure::Timeout),
        Some(FailureKind::Cancelled) => Some(ForeignFailure::Cancelled),
        None if outcome.success => None,
        None => Some(ForeignFailure::Agent),
    };
    let why = || {
        let errors = outcome.contract_errors.join("; ");
        let error = outcome.error.clone().filter(|error| !error.is_empty());
        error.unwrap_or(errors)
    };
    let failure = failure.map(|failure| (failure, why()));
    let message = outcome.message.clone();
    let mut report = serde_json::to_value(&outcome).unwrap_or_default();
    report["warnings"] = serde_json::json!(outcome.warnings);
    if report["model"] == DEFAULT {
        report["model"] = serde_json::Value::Null;
    }
    if let Some(fields) = report.as_object_mut() {
        // The call has these by other names.
        for known in [
            "agent_messages",
            "message",
            "cost",
            "session_key",
            "success",
        ] {
            fields.remove(known);
        }
        fields.retain(|_, value| !value.is_null() && value != &serde_json::json!([]));
    }
    ForeignEnd {
        message,
        failure,
        report,
    }
}
