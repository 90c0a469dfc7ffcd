//! `/approve`, `/mode`, `/plan` and `/goal`: how the session works, for the rest of the session. Nothing is saved here.

use crate::desk::Desk;
use crate::goal::{Goal, MAX_CONTINUATIONS, Strategy};
use crate::inbox::{Inbox, Prompt, Purpose};
use ostler_guard::{Approve, Mode};
use ostler_wire::{Delta, GoalState, Language, View, Word};
use std::time::Instant;

/// Where rules of a session are said to come from.
pub const SESSION: &str = "this session";

pub fn approve(desk: &mut Desk, _: &mut Inbox, how: &str) -> View {
    if how.is_empty() {
        return View::Text(approval(desk));
    }
    let Some(approve) = Approve::parse(how) else {
        return View::Error(desk.manner.language.fill(Word::ApproveUsage, &[how]));
    };
    desk.standing.take(approve.stance(Instant::now()));
    changed(desk, approval)
}

fn approval(desk: &Desk) -> String {
    desk.manner
        .language
        .fill(Word::ApprovalIs, &[&posture(desk)])
}

pub fn mode(desk: &mut Desk, _: &mut Inbox, name: &str) -> View {
    let language = desk.manner.language;
    let now = desk.standing.mode;
    if name.is_empty() {
        return View::Text(language.fill(Word::ModeIs, &[now.name()]));
    }
    let Some(mode) = named(name, now) else {
        let names = Mode::ALL.map(Mode::name).join(", ");
        return View::Error(language.fill(Word::NoMode, &[name, &names]));
    };
    enter(desk, mode)
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

pub fn plan(desk: &mut Desk, inbox: &mut Inbox, what: &str) -> View {
    if !what.is_empty() {
        inbox.put_first(Prompt {
            text: what.to_owned(),
            ..Prompt::default()
        });
    }
    enter(desk, Mode::Plan)
}

fn enter(desk: &mut Desk, mode: Mode) -> View {
    let had_goal = desk.standing.goal.is_some();
    desk.standing.enter(mode);
    let ended = had_goal && desk.standing.goal.is_none();
    let language = desk.manner.language;
    changed(desk, |desk| {
        let now = match desk.standing.mode {
            mode @ Mode::Normal => language.fill(Word::ModeIs, &[mode.name()]),
            Mode::Plan => language.say(Word::ModeIsPlan).into(),
            Mode::Goal => language.say(Word::ModeIsGoal).into(),
        };
        match ended {
            true => format!("{} {now}", language.say(Word::GoalOver)),
            false => now,
        }
    })
}

/// `/goal`: shows it, ends it, or begins one with the next turn.
pub fn goal(desk: &mut Desk, inbox: &mut Inbox, words: &str) -> View {
    let language = desk.manner.language;
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let (strategy, objective) = match first {
        "--research" => (Strategy::Research, rest.trim()),
        "--simple" => (Strategy::Simple, rest.trim()),
        _ => (Strategy::ByWords, words.trim()),
    };
    match objective {
        "" if words.is_empty() => View::Text(match &desk.standing.goal {
            Some(goal) => said(goal, language),
            None => language.say(Word::GoalNone).into(),
        }),
        "" => View::Error(language.say(Word::GoalUsage).into()),
        "clear" => match desk.standing.mode {
            Mode::Goal => enter(desk, Mode::Normal),
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
fn changed(desk: &mut Desk, text: impl FnOnce(&Desk) -> String) -> View {
    let recorded = desk.record_standing();
    let mode = desk.standing.shown(Instant::now());
    desk.feed.delta(Delta::Standing { mode });
    match recorded {
        Ok(()) => View::Text(text(desk)),
        Err(error) => {
            let why = error.say(desk.manner.language);
            View::Error(format!("{}; {why}", text(desk)))
        }
    }
}

/// How things stand with prompts, for people.
pub fn posture(desk: &Desk) -> String {
    let language = desk.manner.language;
    let name = desk.standing.stance.shown(Instant::now(), language);
    match desk.standing.window {
        true => language.fill(Word::PlanWindow, &[&name]),
        false => name,
    }
}
