//! `/approve`, `/mode`, `/plan` and `/permissions`: what may run, for the rest of the session. Nothing is saved here.

use crate::desk::Desk;
use crate::goal::{Goal, MAX_CONTINUATIONS, Strategy};
use crate::inbox::{Inbox, Prompt, Purpose};
use crate::standing::Grant;
use crate::tools::unknown_tool;
use ostler_guard::{Approve, Mode, Rule, Rules};
use ostler_wire::{Access, Delta, GoalState, Language, Say, Table, View, Word};
use std::path::PathBuf;
use std::sync::Arc;
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

pub fn permissions(desk: &mut Desk, _: &mut Inbox, words: &str) -> View {
    let (verb, rule) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rule = rule.trim();
    match (verb, rule.is_empty()) {
        ("", _) => table(desk),
        ("remove", false) => remove(desk, rule),
        ("allow" | "ask" | "deny", false) => add(desk, verb, rule),
        _ => View::Error(desk.manner.language.say(Word::PermissionsUsage).into()),
    }
}

fn add(desk: &mut Desk, verb: &str, text: &str) -> View {
    let rule = match Rule::parse(text, SESSION) {
        Ok(rule) => rule,
        Err(error) => return View::Error(error.say(desk.manner.language)),
    };
    if let Some(name) = unknown_tool(&rule).filter(|_| verb == "deny") {
        return View::Error(desk.manner.language.fill(Word::RuleIdle, &[text, name]));
    }
    let shown = rule.canonical();
    let list = list(&mut Arc::make_mut(&mut desk.policy).rules, verb);
    list.push(rule);
    View::Text(desk.manner.language.fill(Word::RuleHolds, &[verb, &shown]))
}

fn list<'a>(rules: &'a mut Rules, verb: &str) -> &'a mut Vec<Rule> {
    match verb {
        "deny" => &mut rules.deny,
        "ask" => &mut rules.ask,
        _ => &mut rules.allow,
    }
}

/// Takes out what this session added. What a file says is changed there.
fn remove(desk: &mut Desk, text: &str) -> View {
    let wanted = Rule::parse(text, SESSION).map(|rule| rule.canonical());
    let is_meant = |rule: &Rule| rule.text == text || Ok(rule.canonical()) == wanted;
    let rules = &mut Arc::make_mut(&mut desk.policy).rules;
    let mut removed = 0;
    let mut kept = None;
    for list in [&mut rules.deny, &mut rules.ask, &mut rules.allow] {
        list.retain(|rule| {
            let ours = rule.from == SESSION;
            if is_meant(rule) && !ours {
                kept = Some(rule.from.clone());
            }
            let goes = is_meant(rule) && ours;
            removed += usize::from(goes);
            !goes
        });
    }
    let language = desk.manner.language;
    match (removed, kept) {
        (0, None) => View::Error(language.fill(Word::NoRule, &[text])),
        (0, Some(from)) => View::Error(language.fill(Word::RuleInFile, &[text, &from])),
        (_, None) => View::Text(language.fill(Word::RuleRemoved, &[text])),
        (_, Some(from)) => View::Text(language.fill(Word::RuleRemovedHere, &[text, &from])),
    }
}

fn table(desk: &Desk) -> View {
    let row = |what: &str, value: String, from: &str| vec![what.to_owned(), value, from.to_owned()];
    let language = desk.manner.language;
    let mut rows = vec![
        row(
            language.say(Word::RowMode),
            desk.standing.mode.name().into(),
            "",
        ),
        row(language.say(Word::RowApproval), posture(desk), ""),
    ];
    let own = language.say(Word::ThisSession);
    let rules = &desk.policy.rules;
    for (verb, list) in [
        ("deny", &rules.deny),
        ("ask", &rules.ask),
        ("allow", &rules.allow),
    ] {
        let from = |rule: &Rule| match rule.from == SESSION {
            true => own.to_owned(),
            false => rule.from.clone(),
        };
        rows.extend(list.iter().map(|r| row(verb, r.canonical(), &from(r))));
    }
    for grant in &desk.standing.grants {
        if let Some(text) = granted(desk, grant) {
            rows.push(row(language.say(Word::Granted), text, own));
        }
    }
    let terms = &desk.standing.terms;
    let may = |word: Word, what: &str| language.fill(word, &[what]);
    let path = |word: Word, p: &PathBuf| may(word, &p.display().to_string());
    let hosts = terms.hosts.iter().map(|host| may(Word::MayReach, host));
    let writable = terms.writable.iter().map(|p| path(Word::MayWrite, p));
    let readable = terms.readable.iter().map(|p| path(Word::MayRead, p));
    let agent = terms.ssh_agent.then(|| may(Word::MayUseAgent, ""));
    for text in hosts.chain(writable).chain(readable).chain(agent) {
        rows.push(row(language.say(Word::Sandbox), text, own));
    }
    View::Table(Table::of_texts(
        [Word::ColWhat, Word::ColValue, Word::ColFrom]
            .map(|word| language.say(word).to_owned())
            .to_vec(),
        rows,
    ))
}

fn granted(desk: &Desk, grant: &Grant) -> Option<String> {
    let may = |word: Word, what: &str| desk.manner.language.fill(word, &[what]);
    let one = |access: &Access| match access {
        Access::Run(segments) => {
            let texts: Vec<&str> = segments.iter().map(|s| s.text.as_str()).collect();
            Some(texts.join("; "))
        }
        Access::Net(host) => Some(host.clone()),
        Access::Mcp { server, tool, .. } => Some(format!("{server} {tool}")),
        Access::Delegate { role, .. } => Some(role.clone()),
        Access::Read(path) => Some(may(Word::MayRead, &desk.scope.shown(path))),
        Access::Write(path) => Some(may(Word::MayEdit, &desk.scope.shown(path))),
        Access::Job(id) => Some(id.clone()),
        Access::History => Some(desk.manner.language.say(Word::AllHistory).into()),
        Access::Memory => None,
    };
    match grant {
        Grant::Editing => Some(may(Word::MayEditAll, "")),
        Grant::Exactly(Access::Write(_)) => None,
        Grant::Exactly(access) => one(access),
        Grant::Call(accesses) => accesses.first().and_then(one),
    }
}
