//! A goal over the turns of a session: which prompts begin one or go on with it, when the next turn begins by itself, and
//! what the end of a turn means for it. How a goal is audited is in `goal`.

use crate::cut::shorten_prompt;
use crate::dispatch::own::confirmed;
use crate::log::LogError;
use ostler_context::goal::{Goal, Strategy, research, signal};
use ostler_guard::{Mode, Policy};
use ostler_state::SessionState;
use ostler_state::inbox::{Inbox, Prompt, Purpose, Stopped};
use ostler_state::permissions::{PermissionState, SESSION};
use ostler_wire::{Body, GoalState, Interrupted, Language, Notice, Outcome, TurnEnd, Word};
use std::time::Instant;

/// What a prompt is for becomes clear before its turn: it may be a goal, go on with one, or look like one. What is to be
/// said about it goes before the prompt.
pub(crate) async fn admit(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: &mut Prompt,
) -> Result<Vec<Body>, Stopped> {
    let waiting = state.permissions.mode == Mode::Goal;
    let words = prompt.purpose == Purpose::Words;
    let meant = words && is_meant(state, inbox, &prompt.text).await?;
    Ok(match (prompt.purpose, &mut state.permissions.goal) {
        (Purpose::Continuation, Some(goal)) => {
            prompt.text = goal.go_on();
            state.permissions.unrecorded = true;
            Vec::new()
        }
        (Purpose::Goal(strategy), _) => begin(state, prompt, strategy).await,
        (Purpose::Words, None) if waiting => begin(state, prompt, Strategy::ByWords).await,
        (Purpose::Words, Some(goal)) if !goal.is_active() => {
            goal.resume();
            prompt.context = Some(goal.block());
            state.permissions.unrecorded = true;
            Vec::new()
        }
        (Purpose::Words, None) if meant => begin(state, prompt, Strategy::Research).await,
        (Purpose::Words | Purpose::Continuation, _) => Vec::new(),
    })
}

/// Whether the person means a goal although they did not say so. Who stops here wants neither.
async fn is_meant(state: &SessionState, inbox: &mut Inbox, text: &str) -> Result<bool, Stopped> {
    let normal = state.permissions.mode == Mode::Normal;
    let is_child = state.account.budget_session != state.account.session;
    if !normal || is_child || !state.settings.interactive || !signal::is_strong(text) {
        return Ok(false);
    }
    let language = state.settings.language;
    let (ask, yes, no) = (Word::GoalAsk, Word::GoalYes, Word::GoalNo);
    // It is not in the transcript yet.
    let question = format!("{}\n{}", language.say(ask), shorten_prompt(text));
    let is_meant = confirmed(inbox, question, language.say(yes), language.say(no)).await;
    match inbox.turn().is_cancelled() {
        true => Err(Stopped),
        false => Ok(is_meant),
    }
}

async fn begin(state: &mut SessionState, prompt: &mut Prompt, strategy: Strategy) -> Vec<Body> {
    let mut goal = Goal::new(&prompt.text);
    let long = match strategy {
        Strategy::ByWords => signal::is_long(&goal.objective),
        Strategy::Simple => false,
        Strategy::Research => true,
    };
    let mut notices = Vec::new();
    if long {
        let host = state.services.host.clone();
        let language = state.settings.language;
        match research::make(host, &state.scope.root, &goal.objective, language).await {
            Ok(folder) => {
                state.allow(research::rule(&folder, SESSION).into_iter().collect());
                goal.folder = Some(folder);
            }
            Err(why) => {
                let text = state.settings.language.fill(Word::GoalNoFolder, &[&why]);
                notices.push(Body::Notice(Notice { text }));
            }
        }
    }
    prompt.context = Some(goal.block());
    state.permissions.enter(Mode::Goal);
    state.permissions.goal = Some(goal);
    state.permissions.unrecorded = true;
    notices
}

/// What a turn that ended so means for the goal: what is to be written down before its end is.
pub(crate) fn conclude(
    (permissions, policy): (&mut PermissionState, &Policy),
    outcome: Outcome,
    language: Language,
) -> Vec<Body> {
    let goal = permissions.goal.as_mut();
    let Some(goal) = goal.filter(|goal| goal.is_active()) else {
        return Vec::new();
    };
    let (mut bodies, end) = goal.conclude(outcome, language);
    if end == GoalState::Active {
        return bodies;
    }
    let shown = goal.shown();
    if end == GoalState::Done {
        permissions.enter(Mode::Normal);
    }
    bodies.push(Body::Mode(ostler_wire::Mode {
        goal: Some(shown),
        ..permissions.shown(policy, Instant::now())
    }));
    bodies
}

/// The person stopped it between two turns: it waits, and front ends are told as of a turn.
pub(crate) fn stop(state: &mut SessionState) -> Result<(), LogError> {
    let mut bodies = vec![Body::Interrupted(Interrupted::default())];
    bodies.extend(conclude(
        (&mut state.permissions, &state.policy),
        Outcome::Interrupted,
        state.settings.language,
    ));
    bodies.push(Body::TurnEnd(TurnEnd {
        outcome: Outcome::Interrupted,
    }));
    state.commit(bodies)
}

/// The turn that begins by itself, if it is time for one.
pub(crate) fn next(permissions: &PermissionState) -> Option<Prompt> {
    let goal = permissions.goal.as_ref()?;
    goal.is_due().then(|| Prompt {
        purpose: Purpose::Continuation,
        ..Prompt::default()
    })
}
