//! Calls that have others do the work: skills that this session follows itself, and sub-agents that work beside each other.

use super::{Dispatched, Prepared, never_ran, permit, refuse, run_together};
use crate::log::LogError;
use crate::tool::Typed as _;
use crate::tools::skill::Skill;
use ostler_sources::skills::{RunAs, Skills};
use ostler_state::SessionState;
use ostler_state::checkpoints;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_wire::Access;
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

/// Takes a call to those that have others work beside each other, if it may run. Results stay in the order of the calls.
pub(super) async fn delegate(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: Prepared,
    together: &mut Vec<Prepared>,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    if together.len() == MAX_DELEGATED || !together.iter().all(sends) {
        run_together(state, inbox, together, cancel, done).await?;
    }
    let call = (prepared.call.id.clone(), prepared.tool.name().to_owned());
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
