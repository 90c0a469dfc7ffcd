//! What a session has to let others work for it: roles and skills, limits, and the way to start a child for a call. The
//! child itself is a session like any other; `children` looks after it.

pub mod children;
pub mod foreign;
pub mod send;
mod skill;

use crate::agents::children::{Assignment, ChildSettings, Slots, Spent};
use crate::agents::foreign::{Approval, Foreign};
use ostler_confine::CallSandbox;
use ostler_sources::Source;
use ostler_sources::roles::{Role, RoleSettings};
use ostler_sources::skills::SkillSettings;
use ostler_tools::builtin::Tools;
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
    /// Runs the agents of others that play roles.
    pub foreign: Option<Foreign>,
    /// Another agent that sessions of the person are with, in place of a model.
    pub in_place: Option<Role>,
    /// Another model makes a plan before each turn.
    pub planner: Option<PlannerSettings>,
    /// A large task begins in plan mode.
    pub auto_plan: bool,
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
            foreign: None,
            in_place: None,
            planner: None,
            auto_plan: false,
        }
    }
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
    /// As the session is now; the call fills in the role.
    pub child: ChildSettings,
    pub tools: Tools,
    /// For git, which makes worktrees.
    pub sandbox: CallSandbox,
    /// Of the call.
    pub approval: Approval,
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
