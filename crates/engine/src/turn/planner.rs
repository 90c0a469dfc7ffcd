//! Two models, one turn: the planner looks and writes a plan in a session of its own, which goes on over the turns; the
//! plan is handed to this session as text. Neither ever reads the other's conversation.

use crate::cut::clip;
use crate::dispatch::child_reports;
use crate::log::{Log, LogError};
use crate::tool::Typed as _;
use crate::tools::task::Task;
use ostler_guard::Mode;
use ostler_sources::roles::PLANNER;
use ostler_state::SessionState;
use ostler_state::agents::children::{Ended, How, post_prompt};
use ostler_state::agents::send::{Failed, assignment};
use ostler_state::agents::{ChildRole, Delegation};
use ostler_state::inbox::Inbox;
use ostler_state::permissions::Leave;
use ostler_wire::{Body, Message, Notice, Role, Word};
use tokio_util::sync::CancellationToken;

/// Characters of a plan, and of an answer that the planner is told.
const MAX_PLAN: usize = 20_000;
const MAX_ANSWER: usize = 4_000;

/// Has a plan made for what the person said, if somebody is to. Without one the turn goes on all the same.
pub async fn before_turn(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    words: &str,
) -> Result<(), LogError> {
    let Some(child) = child(state) else {
        return Ok(());
    };
    let first = post_prompt(planner_prompt(
        &state.log,
        words,
        state.extensions.agents.planned.as_ref(),
    ));
    let limit = child.limit;
    let cx = state.context("", &Task::ABOUT, &Leave::default(), cancel.clone());
    let cx = cx.with_services(());
    let delegation = child.delegation;
    let working = assignment(&cx, &delegation, delegation.child.clone(), first, limit);
    let ended = match inbox.attend(working).await {
        Ok(ended) => ended,
        Err(_) => Err(Failed::Stopped),
    };
    state.progress(Task::NAME, "");
    child_reports::commit(state, inbox)?;
    let language = state.settings.language;
    let why = match ended {
        Ok(ended) if ended.how == How::Done && !ended.text.trim().is_empty() => {
            return hand_over(state, ended);
        }
        Ok(_) | Err(Failed::Stopped) if cancel.is_cancelled() => return Ok(()),
        Ok(ended) => ended.text,
        Err(Failed::Open(why)) => why,
        Err(Failed::Stopped) => String::new(),
    };
    let text = language.fill(Word::NoPlan, &[why.trim()]);
    state.commit(vec![Body::Notice(Notice { text })])
}

struct Planner {
    delegation: Delegation,
    limit: std::time::Duration,
}

/// The planner of this session, where it has one that is not its own model.
fn child(state: &SessionState) -> Option<Planner> {
    let agents = &state.extensions.agents;
    let planner = agents.settings.planner.as_ref()?;
    let own = state.conversation.model.reference();
    let is_own = own == planner.model || own.split('/').next() == Some(&planner.model);
    if agents.depth > 0 || is_own || state.permissions.mode == Mode::Plan {
        return None;
    }
    let role = state.extensions.definitions.roles.find(PLANNER)?.clone();
    let terms = state
        .permissions
        .terms(&state.policy.rules, &Leave::default());
    let mut delegation = state.delegation(state.call_sandbox("", terms));
    let mut caps = role.capabilities.clone();
    let limit = role.time_limit();
    caps.read_only = true;
    delegation.child.model.clone_from(&planner.model);
    delegation.child.effort = None;
    delegation.child.title = PLANNER.into();
    delegation.child.permissions.read_only = true;
    delegation.child.permissions.mode = Mode::Normal;
    delegation.child.permissions.goal = None;
    delegation.child.assigned_role = Some(ChildRole {
        role: role.name,
        persona: role.persona,
        call: String::new(),
        filter: caps.filter(state.tools.filter(), |name| state.tools.allows(name)),
        network: caps.network,
        // It does not delegate.
        depth: agents.settings.max_depth.max(1),
        skill: None,
        root: None,
        attended: agents.settings.attended,
        max_steps: planner.max_steps,
        continues: agents.planned.clone(),
    });
    Some(Planner { delegation, limit })
}

/// What the person said, after what became of the last plan.
fn planner_prompt(log: &Log, words: &str, planned: Option<&String>) -> String {
    let all = log.source().entries_after(None);
    let last = all.iter().rev().find_map(|entry| {
        let Body::Message(message) = &entry.body else {
            return None;
        };
        (message.role == Role::Assistant).then_some(message.text.as_str())
    });
    match last.filter(|_| planned.is_some()) {
        Some(answer) => format!(
            "[The other model has ended its turn with: {}]\n\n{words}",
            clip(answer.trim(), MAX_ANSWER)
        ),
        None => words.to_owned(),
    }
}

fn hand_over(state: &mut SessionState, ended: Ended) -> Result<(), LogError> {
    let plan = clip(ended.text.trim(), MAX_PLAN);
    let notice = state.settings.language.fill(Word::PlanMade, &[&plan]);
    let note = format!(
        "<plan>\n{plan}\n</plan>\n[Another model has looked at the code and made this plan for what was asked. Carry it out where it holds, and say where it does not.]"
    );
    state.commit(vec![
        Body::Notice(Notice { text: notice }),
        Body::Message(Message::note(note)),
    ])
}
