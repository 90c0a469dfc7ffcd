//! What a session has to let others work for it: roles and skills, limits, and the way to start a child for a call. The
//! child itself is a session like any other; `children` looks after it.

pub mod children;
mod open;
pub mod planner;
mod send;
mod skill;
mod worktree;

use crate::agents::children::{Assignment, ChildSettings, Slots, Spent};
use crate::confine::CallSandbox;
use crate::sources::Source;
use crate::sources::roles::{RoleSettings, Roles};
use crate::sources::skills::{SkillSettings, Skills};
use crate::sources::templates::Template;
use crate::state::SessionState;
use crate::tools::Tools;
pub use open::settle;
use ostler_wire::Json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

const MAX_DEPTH: u32 = 2;
const MAX_CHILDREN: usize = 4;

/// How sessions may have others work for them. The binary fills it from the configuration.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    pub roles: BTreeMap<String, RoleSettings>,
    /// Folders of roles, the more important first.
    pub role_sources: Vec<Source>,
    pub skills: SkillSettings,
    /// Sub-agents below sub-agents.
    pub max_depth: u32,
    /// Children of one session that run at once.
    pub max_children: usize,
    /// Of sub-agents that name none.
    pub model: Option<String>,
    /// By the name of a role or skill; these win.
    pub models: BTreeMap<String, String>,
    /// Asks of sub-agents go to the person, if there is one.
    pub attended: bool,
    /// Another model makes a plan before each turn.
    pub planner: Option<PlannerSettings>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerSettings {
    pub model: String,
    /// 0 = no limit.
    pub max_steps: u64,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            roles: BTreeMap::new(),
            role_sources: Vec::new(),
            skills: SkillSettings::default(),
            max_depth: MAX_DEPTH,
            max_children: MAX_CHILDREN,
            model: None,
            models: BTreeMap::new(),
            attended: true,
            planner: None,
        }
    }
}

/// What was read once and is shared by a session and those below it.
#[derive(Clone, Default)]
pub struct Offer {
    /// Commands that people wrote.
    pub templates: Arc<Vec<Template>>,
    pub roles: Arc<Roles>,
    pub skills: Arc<Skills>,
}

/// How a session stands among others.
#[derive(Clone, Default)]
pub struct Agents {
    pub settings: Arc<AgentSettings>,
    /// 0 for the person's own.
    pub depth: u32,
    /// The part that it plays for another.
    pub role: Option<String>,
    /// The skill that it was started for.
    pub skill: Option<String>,
    /// Where worktrees are put.
    pub home: PathBuf,
    /// The session of its planner.
    pub planned: Option<String>,
    /// Where children are asked for, and the places they have.
    pub door: Option<(mpsc::Sender<Assignment>, Slots)>,
}

/// The role that a child plays.
#[derive(Clone)]
pub struct ChildRole {
    pub role: String,
    /// Added to the system prompt.
    pub persona: String,
    /// The call that it is for.
    pub call: String,
    /// Of tools, as in `[tools] enabled`.
    pub filter: Vec<String>,
    pub network: bool,
    pub depth: u32,
    pub skill: Option<String>,
    /// Its own tree, if not that of its parent.
    pub root: Option<PathBuf>,
    /// Its asks go to the person.
    pub attended: bool,
    /// 0 = no limit.
    pub max_steps: u64,
    /// A session whose conversation it goes on with.
    pub continues: Option<String>,
}

/// What a call that delegates works with.
#[derive(Clone)]
pub struct Delegation {
    pub agents: Agents,
    /// As the session stands now; the assigned_role is for the call to fill in.
    pub child: ChildSettings,
    pub tools: Tools,
    /// For git, which makes worktrees.
    pub sandbox: CallSandbox,
}

impl SessionState {
    /// What a child of this session starts from.
    pub fn child(&self, title: String) -> ChildSettings {
        ChildSettings {
            entries: Vec::new(),
            parent: self.account.session.clone(),
            budget_session: self.account.budget_session.clone(),
            prefix: None,
            model: self.conversation.model.reference(),
            effort: self.settings.effort,
            policy: self.policy.clone(),
            permissions: self.permissions.clone(),
            title,
            assigned_role: None,
            offer: self.offers.offer.clone(),
        }
    }

    pub fn delegation(&self, sandbox: CallSandbox) -> Delegation {
        Delegation {
            sandbox,
            agents: self.offers.agents.clone(),
            child: self.child(String::new()),
            tools: self.tools.clone(),
        }
    }
}

/// What the prompt says of roles and skills, as far as there are tools for them.
pub fn listing(offer: &Offer, tools: &Tools) -> String {
    let has = |names: [&str; 2]| tools.names().any(|name| names.contains(&name));
    let mut out = String::new();
    if has(["task", "read_only_task"]) {
        out.push_str("# Roles\nSub-agents play one of these and know only their prompt.\n");
        out.push_str(&offer.roles.listing());
    }
    let skills = offer.skills.listing();
    if has(["skill", "read_only_skill"]) && !skills.is_empty() {
        out.push_str(
            "\n# Skills\nTold how to do certain work. Call the one that fits before you begin.\n",
        );
        out.push_str(&skills);
    }
    out.trim().to_owned()
}

/// What a result says of the tokens that a child took.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Bill {
    input: u64,
    cached: u64,
    output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

/// What the children of a session took, by a result in its log.
pub fn spent_below(output: &Json) -> Spent {
    if !output.get().contains("\"spent\":{") {
        return Spent::default();
    }
    let value = output.to_value();
    let bill = value.pointer("/data/spent").cloned().unwrap_or_default();
    let bill: Bill = serde_json::from_value(bill).unwrap_or_default();
    Spent {
        input: bill.input,
        cached: bill.cached,
        output: bill.output,
        cost: bill.cost,
    }
}
