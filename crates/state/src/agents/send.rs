//! A call's work done by a child: its role found, a place waited for, its end turned into a result or a sentence that says
//! what became of it.

use super::{Bill, ChildRole, Delegation};
use crate::agents::children::{Assignment, Caller, ChildSettings, Ended, How, post_prompt};
use crate::agents::foreign::{ForeignEnd, ForeignFailure, ForeignOrder, ForeignTask};
use futures_util::future::BoxFuture;
use ostler_confine::worktree::{self, Worktree};
use ostler_guard::{Mode, Rule, time_shown};
use ostler_sources::roles::{Capabilities, PLANNER, Role};
use ostler_store::cut::shorten_prompt;
use ostler_store::cut::{Capture, clip};
use ostler_tools::builtin::task::describe_worktree;
use ostler_tools::tool::{
    AnswerContract, Context, Conversation, Delegate, SkillOrder, TaskOrder, ToolError,
};
use ostler_wire::{Delta, Op, Word};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Bytes of an answer that the caller gets; the whole is kept as a file.
const MAX_ANSWER: usize = 24 << 10;
/// Characters of what a child that failed had said.
const MAX_PARTIAL: usize = 2_000;

/// What is to be done.
pub struct Order {
    /// None plays the default of the tool.
    pub role: String,
    pub first: Op,
    /// For people.
    pub title: String,
    pub read_only: bool,
    /// In a git worktree of its own.
    pub worktree: bool,
    /// The skill that it is about, and the model that wants.
    pub skill: Option<(String, Option<String>)>,
    /// Seconds that the call gives it.
    pub timeout_secs: Option<u64>,
    pub conversation: Conversation,
    pub contract: AnswerContract,
}

impl Order {
    pub fn prompt(role: &str, prompt: String, description: Option<String>) -> Self {
        let title = description.filter(|text| !text.trim().is_empty());
        Self {
            role: role.to_owned(),
            title: shorten_prompt(&title.unwrap_or_else(|| prompt.clone())),
            first: post_prompt(prompt),
            read_only: false,
            worktree: false,
            skill: None,
            timeout_secs: None,
            conversation: Conversation::New,
            contract: AnswerContract::default(),
        }
    }

    /// How long one of ours may take.
    fn time_limit(&self, role: &Role) -> Duration {
        let own = self.timeout_secs.map(Duration::from_secs);
        own.unwrap_or_else(|| role.time_limit())
    }
}

impl Delegate for Delegation {
    fn run_task(
        &self,
        cx: Context<()>,
        task: TaskOrder,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let order = Order {
                read_only: task.read_only,
                worktree: task.worktree,
                timeout_secs: task.timeout_secs,
                conversation: task.conversation,
                contract: task.contract,
                ..Order::prompt(&task.role, task.prompt, task.description)
            };
            send(&cx, self, order).await
        })
    }

    fn run_skill(
        &self,
        cx: Context<()>,
        skill: SkillOrder,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move { super::skill::run(&cx, self, skill).await })
    }
}

/// Has it done and waits for the end.
pub async fn send(
    cx: &Context<()>,
    delegation: &Delegation,
    order: Order,
) -> Result<Value, ToolError> {
    let role = role(delegation, &order)?;
    let name = role.name.clone();
    let mut child = delegation.child.clone();
    child.title.clone_from(&order.title);
    let model = match &role.agent {
        Some(agent) => agent.shown(),
        None => {
            check_own(&order, &role)?;
            if let Some(model) = model(delegation, &order, &role) {
                child.effort = None;
                child.model = model;
            }
            child.model.clone()
        }
    };
    let work = carry_out((cx.clone(), delegation.clone()), order, role, child);
    // A call that is dropped has its child stopped by the turn's token; what is left of its tree is looked at all the same.
    let Sent {
        ended: sent,
        left,
        end,
    } = tokio::spawn(work).await.map_err(|_| interrupted())??;
    let ended = sent.map_err(|failed| match failed {
        Failed::Stopped => interrupted(),
        Failed::Open(why) => error(
            "not_started",
            &format!(
                "The sub-agent could not be started in the role {name} with the model {model}: {why} Use another role, or have the person set `model` in [roles.{name}]."
            ),
        ),
    })?;
    settle(cx, ended, left, end)
}

/// What became of work that was handed to a child.
struct Sent {
    ended: Result<Ended, Failed>,
    /// What it left in a tree of its own.
    left: Option<Value>,
    /// What another agent said of it.
    end: Option<ForeignEnd>,
}

/// Contracts are checked by those who run other agents.
fn check_own(order: &Order, role: &Role) -> Result<(), ToolError> {
    match order.contract == AnswerContract::default() {
        true => Ok(()),
        false => Err(error(
            "invalid_input",
            &format!(
                "The role {} is not played by another agent: `contract` and `validate_patch` are for those. Ask for the form in the prompt.",
                role.name
            ),
        )),
    }
}

/// Makes its tree, if it has one, sees it to its end, and says what it left there.
async fn carry_out(
    (cx, delegation): (Context<()>, Delegation),
    order: Order,
    role: Role,
    mut child: ChildSettings,
) -> Result<Sent, ToolError> {
    let mut tree = None;
    if order.worktree && !(order.read_only || role.capabilities.read_only) {
        tree = Some(Worktree::add(&delegation.sandbox, &delegation.agents.home).await?);
    }
    let caps = assign(&delegation, &order, &role, &cx, tree.as_ref(), &mut child);
    let foreign = role.agent.is_some().then(|| {
        let root = tree.as_ref().map(|tree| tree.root.clone());
        let role = Role {
            capabilities: caps,
            ..role.clone()
        };
        ForeignOrder::new(foreign_task(&cx, &delegation, &order, role, root))
    });
    child.foreign.clone_from(&foreign);
    // The program of another agent has a limit of its own, which knows that of its backend.
    let limit = match foreign {
        Some(_) => Duration::ZERO,
        None => order.time_limit(&role),
    };
    let ended = match cx.cancel.is_cancelled() {
        true => Err(Failed::Stopped),
        false => assignment(&cx, &delegation, child, order.first, limit).await,
    };
    let left = match tree {
        Some(tree) => Some(tree.settle(&delegation.sandbox, &order.title).await),
        None => None,
    };
    let end = foreign.and_then(|order| order.take_end());
    Ok(Sent { ended, left, end })
}

fn foreign_task(
    cx: &Context<()>,
    delegation: &Delegation,
    order: &Order,
    role: Role,
    root: Option<PathBuf>,
) -> ForeignTask {
    let project = cx.scope.root.clone();
    ForeignTask {
        prompt: match &order.first {
            Op::Prompt { text, .. } | Op::Say { text, .. } => text.clone(),
            Op::Command { line } => skill_prompt(delegation, line),
            Op::Answer { .. } | Op::Interrupt | Op::Complete(_) | Op::Close | Op::Finish => {
                String::new()
            }
        },
        role,
        root: root.unwrap_or_else(|| project.clone()),
        project,
        parent: delegation.child.parent.clone(),
        call: cx.call_id.clone(),
        conversation: order.conversation.clone(),
        contract: order.contract.clone(),
        timeout_secs: order.timeout_secs,
        depth: delegation.agents.depth,
        approval: delegation.approval,
    }
}

/// The text of a skill, which another agent does not have.
fn skill_prompt(delegation: &Delegation, line: &str) -> String {
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    let skill = delegation.child.definitions.skills.find(name);
    skill.map_or_else(
        || line.to_owned(),
        |skill| super::skill::text_of(skill, words),
    )
}

fn error(code: &'static str, message: &str) -> ToolError {
    ToolError::new(code, message)
}

fn interrupted() -> ToolError {
    error(
        "interrupted",
        "The person interrupted this call. The sub-agent was stopped; what it did so far stays.",
    )
}

/// The role that is asked for, if it can be played here.
fn role(delegation: &Delegation, order: &Order) -> Result<Role, ToolError> {
    let most = delegation.agents.settings.max_depth;
    if delegation.agents.depth >= most {
        return Err(error(
            "too_deep",
            &format!(
                "Sub-agents may start others {most} deep, and this is one of the last. Do the work yourself."
            ),
        ));
    }
    let roles = &delegation.child.definitions.roles;
    let found = roles.find(&order.role).filter(|r| r.name != PLANNER);
    let Some(role) = found else {
        let names: Vec<&str> = roles.offered().map(|r| r.name.as_str()).collect();
        let wanted: String = order.role.chars().take(MAX_PARTIAL).collect();
        return Err(error(
            "unknown_role",
            &format!("There is no role `{wanted}`. Roles: {}.", names.join(", ")),
        ));
    };
    match role.enabled {
        true => Ok(role.clone()),
        false => Err(error(
            "role_disabled",
            &format!(
                "The role {} is switched off in the configuration. Use another one.",
                role.name
            ),
        )),
    }
}

/// The model that a child gets, if it is not that of its parent.
fn model(delegation: &Delegation, order: &Order, role: &Role) -> Option<String> {
    let settings = &delegation.agents.settings;
    let skill = order.skill.as_ref();
    let named = skill.map_or(&role.name, |(name, _)| name);
    let wanted = settings.models.get(named);
    let own = skill.and_then(|(_, model)| model.as_deref());
    let own = own.or_else(|| role.own_model());
    let model = wanted.map(String::as_str).or(own);
    model.or(settings.model.as_deref()).map(str::to_owned)
}

fn assign(
    delegation: &Delegation,
    order: &Order,
    role: &Role,
    cx: &Context<()>,
    tree: Option<&Worktree>,
    child: &mut ChildSettings,
) -> Capabilities {
    let mut caps = role.capabilities.clone();
    let permissions = &mut child.permissions;
    caps.read_only |= order.read_only || permissions.read_only || permissions.mode == Mode::Plan;
    permissions.read_only = caps.read_only;
    permissions.mode = Mode::Normal;
    permissions.goal = None;
    // Another agent has to reach its vendor all the same: its sandbox knows no other hosts.
    if !caps.network
        && role.agent.is_none()
        && let Ok(rule) = Rule::parse("Net", &format!("role {}", role.name))
    {
        Arc::make_mut(&mut child.policy).rules.deny.push(rule);
    }
    let mut persona = role.persona.clone();
    if tree.is_some() {
        persona.push_str(worktree::PERSONA);
    }
    child.assigned_role = Some(ChildRole {
        role: role.name.clone(),
        persona,
        call: cx.call_id.clone(),
        filter: caps.filter(delegation.tools.filter(), |name| {
            delegation.tools.allows(name)
        }),
        network: caps.network || role.agent.is_some(),
        depth: delegation.agents.depth + 1,
        skill: order.skill.as_ref().map(|(name, _)| name.clone()),
        root: tree.map(|tree| tree.root.clone()),
        attended: delegation.agents.settings.attended,
        max_steps: 0,
        continues: match &order.conversation {
            Conversation::Id(id) => Some(id.clone()),
            Conversation::New | Conversation::Last | Conversation::Named(_) => None,
        },
    });
    caps
}

/// Why there is no end to tell of.
pub enum Failed {
    Stopped,
    Open(String),
}

/// Waits for a place, starts it, and waits for its end.
pub async fn assignment(
    cx: &Context<()>,
    delegation: &Delegation,
    child: ChildSettings,
    first: Op,
    limit: Duration,
) -> Result<Ended, Failed> {
    let Some((door, slots)) = &delegation.agents.door else {
        return Err(Failed::Open("nobody looks after it here.".into()));
    };
    let slot = match slots.free.clone().try_acquire_owned() {
        Ok(slot) => slot,
        Err(_) => {
            cx.deltas.send(Delta::Progress {
                id: cx.call_id.clone(),
                name: cx.tool.to_string(),
                text: cx.language.say(Word::WaitsForPlace).into(),
            });
            tokio::select! {
                () = cx.cancel.cancelled() => return Err(Failed::Stopped),
                slot = slots.free.clone().acquire_owned() => slot.map_err(|_| Failed::Stopped)?,
            }
        }
    };
    let (reply, end) = oneshot::channel();
    let assignment = Assignment {
        child,
        first,
        call: Caller {
            id: cx.call_id.clone(),
            tool: cx.tool.to_string(),
            reply,
        },
        slot,
        limit: Some(limit).filter(|limit| !limit.is_zero()),
        cancel: cx.cancel.clone(),
    };
    door.send(assignment).await.map_err(|_| Failed::Stopped)?;
    match end.await {
        Ok(Ok(ended)) => Ok(ended),
        Ok(Err(why)) => Err(Failed::Open(why)),
        Err(_) => Err(Failed::Stopped),
    }
}

/// The result, or what went wrong.
fn settle(
    cx: &Context<()>,
    ended: Ended,
    left: Option<Value>,
    end: Option<ForeignEnd>,
) -> Result<Value, ToolError> {
    let session = ended.session.get(..8).unwrap_or(&ended.session);
    let who = format!("The sub-agent ({}, session {session})", ended.role);
    let took = time_shown(ended.took);
    let tree = left.as_ref().map_or_else(String::new, describe_worktree);
    let so_far = match ended.text.trim() {
        "" => String::new(),
        text => format!(" The last it said: {}", clip(text, MAX_PARTIAL)),
    };
    let fault = |code, what: String| Err(error(code, &format!("{who} {what}{tree}")));
    let failure = end.as_ref().and_then(|end| end.failure.as_ref());
    let failure = failure.map(|(failure, _)| *failure);
    match ended.how {
        How::Done if ended.text.trim().is_empty() => fault(
            "empty_answer",
            "ended without an answer. Do not take its work for done.".into(),
        ),
        How::Done => {
            let mut data = data(cx, ended, left);
            if let Some(end) = end {
                data["agent"] = end.report;
            }
            Ok(data)
        }
        How::Failed => {
            let why = match ended.text.trim() {
                "" => "it ended without a word",
                why => why,
            };
            let why = clip(why, MAX_PARTIAL);
            fault(
                failure.map_or("child_failed", ForeignFailure::code),
                format!("failed after {took}: {why}\nDo not take its work for done."),
            )
        }
        How::Stopped if cx.cancel.is_cancelled() => Err(interrupted()),
        How::Stopped => fault(
            "stopped",
            format!(
                "was stopped by the person after {took}. Ask before you start it again.{so_far}"
            ),
        ),
        How::OutOfTime => fault(
            "timeout",
            format!("ran out of time after {took} and was stopped.{so_far}"),
        ),
    }
}

fn data(cx: &Context<()>, ended: Ended, left: Option<Value>) -> Value {
    let name = format!("{}-answer.md", cx.call_id);
    let mut capture = Capture::new(MAX_ANSWER, cx.artifacts.clone(), name);
    capture.push(ended.text.as_bytes());
    let captured = capture.finish();
    let bill = Bill {
        input: ended.spent.input,
        cached: ended.spent.cached,
        output: ended.spent.output,
        cost: ended.spent.cost,
    };
    let mut data = json!({
        "text": captured.text,
        "truncated": captured.truncated,
        "role": ended.role,
        "session": ended.session,
        "seconds": ended.took.as_secs(),
        "spent": bill,
    });
    if let (Some(left), Some(object)) = (left, data.as_object_mut()) {
        object.insert("worktree".into(), left);
    }
    data
}
