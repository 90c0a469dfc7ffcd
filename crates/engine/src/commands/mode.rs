//! `/approve`, `/mode`, `/plan` and `/goal`: how the session works, for the rest of the session. Nothing is saved here.

use ostler_context::goal::{Goal, MAX_CONTINUATIONS, Strategy};
use ostler_guard::{Approve, Mode, Posture, Stance};
use ostler_state::SessionState;
use ostler_state::inbox::{Inbox, Prompt, Purpose};
use ostler_state::permissions::PermissionState;
use ostler_wire::{Delta, GoalState, Language, View, Word};
use std::time::Instant;

pub fn approve(state: &mut SessionState, _: &mut Inbox, how: &str) -> View {
    if how.is_empty() {
        return View::Text(approval(&state.permissions, state.settings.language));
    }
    let Some(approve) = Approve::parse(how) else {
        return View::Error(state.settings.language.fill(Word::ApproveUsage, &[how]));
    };
    let before = state.permissions.stance;
    state
        .permissions
        .take(approve.stance(before, Instant::now()));
    let text = approval(&state.permissions, state.settings.language);
    changed(state, text)
}

fn approval(permissions: &PermissionState, language: Language) -> String {
    let means = match permissions.stance.at(Instant::now()) {
        Stance::Posture(Posture::Ask) => Word::MeansAsk,
        Stance::Posture(Posture::Edits) => Word::MeansEdits,
        Stance::Posture(Posture::Auto) | Stance::Until(..) => Word::MeansAuto,
        Stance::Posture(Posture::Yolo) => Word::MeansYolo,
        Stance::Shell => Word::MeansShell,
        Stance::Never => Word::MeansNever,
    };
    let name = posture(permissions, language);
    language.fill(Word::ApprovalMeans, &[&name, language.say(means)])
}

pub fn mode(state: &mut SessionState, _: &mut Inbox, name: &str) -> View {
    let language = state.settings.language;
    let now = state.permissions.mode;
    if name.is_empty() {
        return View::Text(language.fill(Word::ModeIs, &[language.say(word(now))]));
    }
    let Some(mode) = named(name, now) else {
        let names = Mode::ALL.map(Mode::name).join(", ");
        return View::Error(language.fill(Word::NoMode, &[name, &names]));
    };
    enter(state, mode)
}

/// What people call it.
pub fn word(mode: Mode) -> Word {
    match mode {
        Mode::Normal => Word::ModeNormal,
        Mode::Plan => Word::ModePlan,
        Mode::Goal => Word::ModeGoal,
    }
}

fn named(name: &str, now: Mode) -> Option<Mode> {
    match (name, now) {
        // A goal has to be named, so it is not stumbled into.
        ("next", Mode::Normal) => Some(Mode::Plan),
        ("next", Mode::Plan | Mode::Goal) => Some(Mode::Normal),
        (name, _) => Mode::parse(&name.to_ascii_lowercase()),
    }
}

/// The mode that a command of this name leads to from this one, if it is about that.
pub fn meant(command: &str, rest: &str, now: Mode) -> Option<Mode> {
    match (command, rest) {
        ("mode", name) => named(name, now),
        ("plan", _) => Some(Mode::Plan),
        ("goal", "clear") if now == Mode::Goal => Some(Mode::Normal),
        _ => None,
    }
}

pub fn plan(state: &mut SessionState, inbox: &mut Inbox, what: &str) -> View {
    if !what.is_empty() {
        inbox.put_first(Prompt {
            text: what.to_owned(),
            ..Prompt::default()
        });
    }
    enter(state, Mode::Plan)
}

fn enter(state: &mut SessionState, mode: Mode) -> View {
    let had_goal = state.permissions.goal.is_some();
    state.permissions.enter(mode);
    let ended = had_goal && state.permissions.goal.is_none();
    let language = state.settings.language;
    let now = match mode {
        Mode::Normal => language.fill(Word::ModeIs, &[language.say(word(mode))]),
        Mode::Plan => language.say(Word::ModeIsPlan).into(),
        Mode::Goal => language.say(Word::ModeIsGoal).into(),
    };
    let text = match ended {
        true => format!("{} {now}", language.say(Word::GoalOver)),
        false => now,
    };
    changed(state, text)
}

/// `/goal`: shows it, ends it, or begins one with the next turn.
pub fn goal(state: &mut SessionState, inbox: &mut Inbox, words: &str) -> View {
    let language = state.settings.language;
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let (strategy, objective) = match first {
        "--research" => (Strategy::Research, rest.trim()),
        "--simple" => (Strategy::Simple, rest.trim()),
        _ => (Strategy::ByWords, words.trim()),
    };
    match objective {
        "" if words.is_empty() => View::Text(match &state.permissions.goal {
            Some(goal) => said(goal, language),
            None => language.say(Word::GoalNone).into(),
        }),
        "" => View::Error(language.say(Word::GoalUsage).into()),
        "clear" => match state.permissions.mode {
            Mode::Goal => enter(state, Mode::Normal),
            Mode::Normal | Mode::Plan => View::Text(language.say(Word::GoalNone).into()),
        },
        objective => {
            inbox.put_first(Prompt {
                text: objective.to_owned(),
                purpose: Purpose::Goal(strategy),
                ..Prompt::default()
            });
            View::Text(language.say(Word::GoalBegins).into())
        }
    }
}

fn said(goal: &Goal, language: Language) -> String {
    let state = match goal.state {
        GoalState::Active => Word::GoalActive,
        GoalState::Done
        | GoalState::Blocked
        | GoalState::Stopped
        | GoalState::Limit
        | GoalState::Failed => Word::GoalWaits,
    };
    let (turn, most) = (goal.turn.to_string(), MAX_CONTINUATIONS.to_string());
    let mut text = language.fill(state, &[&turn, &most, &goal.objective]);
    for (word, more) in [(Word::GoalWhy, &goal.why), (Word::GoalState, &goal.folder)] {
        if let Some(more) = more {
            text.push_str("\n\n");
            text.push_str(&language.fill(word, &[more]));
        }
    }
    text
}

/// A change that could not be written down holds all the same; the person is told.
fn changed(state: &mut SessionState, text: String) -> View {
    let recorded = state.record_standing();
    let mode = state.permissions.shown(&state.policy, Instant::now());
    state.feed.delta(Delta::Mode {
        mode: Box::new(mode),
    });
    match recorded {
        Ok(()) => View::Text(text),
        Err(error) => {
            let why = error.say(state.settings.language);
            View::Error(format!("{text}; {why}"))
        }
    }
}

/// How things stand with prompts, for people.
pub fn posture(permissions: &PermissionState, language: Language) -> String {
    let name = permissions.stance.shown(Instant::now(), language);
    match permissions.turn.plan_approved {
        true => language.fill(Word::PlanWindow, &[&name]),
        false => name,
    }
}
