//! Calls that have others do the work: skills that this session follows itself, and sub-agents that work beside each other.

use super::permit::surroundings;
use super::subject::{of_several, subject};
use super::{Dispatched, Prepared, ReadCall, never_ran, permit, prepare, refuse, run_together};
use crate::log::LogError;
use crate::tool::Typed as _;
use crate::tools::skill::Skill;
use ostler_sources::roles::Roles;
use ostler_sources::skills::{RunAs, Skills};
use ostler_state::SessionState;
use ostler_state::checkpoints;
use ostler_state::hooks::Moment;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_wire::{Access, Ask, PermissionChoice, Word};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Calls of one answer that have others work and are under way together; how many of those work at once is up to `children`.
const MAX_DELEGATED: usize = 64;

/// The text of a skill that this session follows itself is no work of others.
pub(super) fn is_only_read(skills: &Skills, tool: &str, args: &Value) -> bool {
    tool == Skill::NAME && inline_skill(skills, args).is_some()
}

fn inline_skill<'a>(skills: &'a Skills, args: &Value) -> Option<&'a ostler_sources::skills::Skill> {
    let name = args.get("name").or_else(|| args.get("skill"))?.as_str()?;
    let skill = skills.find(name)?;
    (skill.run_as == RunAs::Inline).then_some(skill)
}

/// A role of ours that changes nothing has the call count as one that only reads: nobody is asked to start it. What a call of
/// a skill names is no role.
pub(super) fn by_role(roles: &Roles, tool: &str, accesses: Vec<Access>) -> Vec<Access> {
    let only_reads = |name: &str| {
        let found = roles.find(name).filter(|_| tool != Skill::NAME);
        found.is_some_and(|role| role.capabilities.read_only && role.agent.is_none())
    };
    let judged = |access: Access| match access {
        Access::Delegate { role, read_only } => Access::Delegate {
            read_only: read_only || only_reads(&role),
            role,
        },
        other => other,
    };
    accesses.into_iter().map(judged).collect()
}

/// The skill that a call has brought into this session.
pub(super) fn followed(
    skills: &Skills,
    prepared: &Prepared,
) -> Option<ostler_sources::skills::Skill> {
    let skill = inline_skill(skills, &prepared.args).filter(|skill| !skill.hidden);
    skill
        .filter(|_| prepared.tool.name() == Skill::NAME)
        .cloned()
}

/// Others do the work, whether they may write or not.
pub(super) fn sends(prepared: &Prepared) -> bool {
    let works = |access: &Access| matches!(access, Access::Delegate { .. });
    !prepared.accesses.is_empty() && prepared.accesses.iter().all(works)
}

/// Others do the work, and may write.
pub(super) fn delegates(prepared: &Prepared) -> bool {
    let writes = |access: &Access| {
        matches!(
            access,
            Access::Delegate {
                read_only: false,
                ..
            }
        )
    };
    !prepared.accesses.is_empty() && prepared.accesses.iter().all(writes)
}

/// Those that follow this one. Hooks may change a call before it is asked about, so with them each is asked about by itself.
fn others(
    state: &SessionState,
    prepared: &Prepared,
    upcoming: &[ReadCall],
) -> Vec<(String, String)> {
    if state.settings.hooks.has(Moment::PreTool) {
        return Vec::new();
    }
    let is_alike = |other: &Prepared| {
        other.tool.name() == prepared.tool.name() && other.accesses == prepared.accesses
    };
    let following = upcoming
        .iter()
        .map_while(|call| prepare(state, call.clone()).ok());
    following
        .take_while(is_alike)
        .map(|other| (other.call.id.clone(), subject(&other, surroundings(state))))
        .collect()
}

/// The question, with the calls that it is about, too.
pub(super) fn with_others(state: &SessionState, prepared: &Prepared, ask: Ask) -> Ask {
    let others = &state.permissions.turn.batch.others;
    if others.is_empty() {
        return ask;
    }
    let all = others.iter().map(|(_, subject)| subject.as_str());
    let all: Vec<&str> = std::iter::once(ask.subject.as_str()).chain(all).collect();
    Ask {
        subject: of_several(prepared.tool.name(), &all),
        title: state
            .settings
            .language
            .say(Word::WantsToDelegateSeveral)
            .into(),
        ..ask
    }
}

/// The answer is for all that the question was about.
pub(super) fn settle(state: &mut SessionState, chosen: PermissionChoice, reason: Option<&String>) {
    let batch = &mut state.permissions.turn.batch;
    for (id, _) in batch.others.drain(..) {
        let answer = match chosen {
            PermissionChoice::Deny => Err(reason.cloned()),
            PermissionChoice::Once
            | PermissionChoice::Session
            | PermissionChoice::SessionExact
            | PermissionChoice::Always
            | PermissionChoice::AlwaysProject => Ok(()),
        };
        batch.answers.insert(id, answer);
    }
}

/// What the person said to this call already.
pub(super) fn answered(
    state: &mut SessionState,
    prepared: &Prepared,
) -> Option<Result<(), Option<String>>> {
    let answers = &mut state.permissions.turn.batch.answers;
    answers.remove(&prepared.call.id)
}

/// Takes a call to those that have others work beside each other, if it may run. Results stay in the order of the calls.
pub(super) async fn delegate(
    state: &mut SessionState,
    inbox: &mut Inbox,
    (prepared, upcoming): (Prepared, &[ReadCall]),
    together: &mut Vec<Prepared>,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    if together.len() == MAX_DELEGATED || !together.iter().all(sends) {
        run_together(state, inbox, together, cancel, done).await?;
    }
    let call = (prepared.call.id.clone(), prepared.tool.name().to_owned());
    state.permissions.turn.batch.others = others(state, &prepared, upcoming);
    let error = match Box::pin(permit::permit(state, inbox, &prepared)).await? {
        Err(error) => error,
        Ok(leave) => {
            let call = (call.0.as_str(), call.1.as_str());
            match checkpoints::before(state, inbox, call, &prepared.accesses).await? {
                Ok(()) => {
                    together.push(Prepared { leave, ..prepared });
                    return Ok(());
                }
                Err(Stopped) => never_ran(),
            }
        }
    };
    run_together(state, inbox, together, cancel, done).await?;
    refuse(state, &prepared.call, error, done)
}
