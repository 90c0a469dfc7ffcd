//! Two models, one turn: the planner looks and writes a plan in a session of its own, which goes on over the turns; the
//! plan is handed to this session as text. Neither ever reads the other's conversation.

use super::send::{Failed, errand};
use super::{Delegation, Duty};
use crate::children::{Ended, How, post_prompt};
use crate::cut::clip;
use crate::desk::Desk;
use crate::dispatch::Leave;
use crate::inbox::Inbox;
use crate::log::LogError;
use crate::roles::PLANNER;
use crate::tool::Typed as _;
use crate::tools::task::Task;
use ostler_guard::Mode;
use ostler_wire::{Body, Message, Notice, Role, Word};
use tokio_util::sync::CancellationToken;

/// Characters of a plan, and of an answer that the planner is told.
const MAX_PLAN: usize = 20_000;
const MAX_ANSWER: usize = 4_000;

/// Has a plan made for what the person said, if somebody is to. Without one the turn goes on all the same.
pub async fn before_turn(
    desk: &mut Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    words: &str,
) -> Result<(), LogError> {
    let Some(heir) = heir(desk) else {
        return Ok(());
    };
    let first = post_prompt(told(desk, words));
    let limit = heir.limit;
    let cx = desk.context("", &Task::ABOUT, &Leave::default(), cancel.clone());
    let delegation = heir.delegation;
    let working = errand(&cx, &delegation, delegation.heir.clone(), first, limit);
    let ended = match inbox.attend(working).await {
        Ok(ended) => ended,
        Err(_) => Err(Failed::Stopped),
    };
    desk.progress(Task::NAME, "");
    let language = desk.manner.language;
    let why = match ended {
        Ok(ended) if ended.how == How::Done && !ended.text.trim().is_empty() => {
            return hand_over(desk, ended);
        }
        Ok(_) | Err(Failed::Stopped) if cancel.is_cancelled() => return Ok(()),
        Ok(ended) => ended.text,
        Err(Failed::Open(why)) => why,
        Err(Failed::Stopped) => String::new(),
    };
    let text = language.fill(Word::NoPlan, &[why.trim()]);
    desk.commit(vec![Body::Notice(Notice { text })])
}

struct Planner {
    delegation: Delegation,
    limit: std::time::Duration,
}

/// The planner of this session, where it has one that is not its own model.
fn heir(desk: &Desk) -> Option<Planner> {
    let crew = &desk.offers.crew;
    let planner = crew.settings.planner.as_ref()?;
    let own = desk.conversation.model.reference();
    let is_own = own == planner.model || own.split('/').next() == Some(&planner.model);
    if crew.depth > 0 || is_own || desk.standing.mode == Mode::Plan {
        return None;
    }
    let role = desk.offers.offer.roles.find(PLANNER)?.clone();
    let mut delegation = desk.delegation();
    let mut caps = role.capabilities.clone();
    caps.read_only = true;
    delegation.heir.model.clone_from(&planner.model);
    delegation.heir.effort = None;
    delegation.heir.title = PLANNER.into();
    delegation.heir.standing.read_only = true;
    delegation.heir.standing.mode = Mode::Normal;
    delegation.heir.standing.goal = None;
    delegation.heir.duty = Some(Duty {
        role: role.name,
        persona: role.persona,
        call: String::new(),
        filter: caps.filter(desk.tools.filter(), |name| desk.tools.allows(name)),
        network: caps.network,
        // It does not delegate.
        depth: crew.settings.max_depth.max(1),
        skill: None,
        root: None,
        attended: crew.settings.attended,
        max_steps: planner.max_steps,
        continues: crew.planned.clone(),
    });
    Some(Planner {
        delegation,
        limit: role.timeout,
    })
}

/// What the person said, after what became of the last plan.
fn told(desk: &Desk, words: &str) -> String {
    let all = desk.log.source().entries_after(None);
    let last = all.iter().rev().find_map(|entry| {
        let Body::Message(message) = &entry.body else {
            return None;
        };
        (message.role == Role::Assistant).then_some(message.text.as_str())
    });
    match last.filter(|_| desk.offers.crew.planned.is_some()) {
        Some(answer) => format!(
            "[The other model has ended its turn with: {}]\n\n{words}",
            clip(answer.trim(), MAX_ANSWER)
        ),
        None => words.to_owned(),
    }
}

fn hand_over(desk: &mut Desk, ended: Ended) -> Result<(), LogError> {
    let plan = clip(ended.text.trim(), MAX_PLAN);
    desk.offers.crew.planned = Some(ended.session);
    let notice = desk.manner.language.fill(Word::PlanMade, &[&plan]);
    let note = format!(
        "<plan>\n{plan}\n</plan>\n[Another model has looked at the code and made this plan for what was asked. Carry it out where it holds, and say where it does not.]"
    );
    desk.commit(vec![
        Body::Notice(Notice { text: notice }),
        Body::Message(Message::note(note)),
    ])
}
