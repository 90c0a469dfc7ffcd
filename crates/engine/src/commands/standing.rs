//! `/approve`, `/mode`, `/plan` and `/permissions`: what may run, for the rest of the session. Nothing is saved here.

use crate::desk::Desk;
use crate::inbox::{Inbox, Prompt};
use crate::policy::{Approve, Mode, Rule, Rules};
use crate::standing::Grant;
use ostler_wire::{Access, Delta, View};
use std::sync::Arc;
use std::time::Instant;

/// Where rules of a session are said to come from.
pub const SESSION: &str = "this session";

pub fn approve(desk: &mut Desk, _: &mut Inbox, how: &str) -> View {
    if how.is_empty() {
        return View::Text(format!("Approval: {}", posture(desk)));
    }
    let Some(approve) = Approve::parse(how) else {
        return View::Error(format!(
            "/approve does not know `{how}`. Write ask, all, none, or a time such as 10m."
        ));
    };
    desk.standing.take(approve.stance(Instant::now()));
    changed(desk, |desk| format!("Approval: {}", posture(desk)))
}

pub fn mode(desk: &mut Desk, _: &mut Inbox, name: &str) -> View {
    if name.is_empty() {
        return View::Text(format!("Mode: {}", desk.standing.mode.name()));
    }
    let Some(mode) = Mode::parse(&name.to_ascii_lowercase()) else {
        let names = Mode::ALL.map(Mode::name).join(" or ");
        return View::Error(format!("There is no mode `{name}`. Write {names}."));
    };
    enter(desk, mode)
}

pub fn plan(desk: &mut Desk, inbox: &mut Inbox, what: &str) -> View {
    if !what.is_empty() {
        inbox.put_first(Prompt {
            text: what.to_owned(),
            images: Vec::new(),
        });
    }
    enter(desk, Mode::Plan)
}

fn enter(desk: &mut Desk, mode: Mode) -> View {
    desk.standing.enter(mode);
    changed(desk, |desk| match desk.standing.mode {
        Mode::Normal => "Mode: normal".into(),
        Mode::Plan => {
            "Mode: plan. Nothing is changed until you approve a plan; /mode normal leaves it."
                .into()
        }
    })
}

/// A change that could not be written down holds all the same; the person is told.
fn changed(desk: &mut Desk, text: impl FnOnce(&Desk) -> String) -> View {
    let recorded = desk.record_standing();
    let mode = desk.standing.shown(Instant::now());
    desk.feed.delta(Delta::Standing { mode });
    match recorded {
        Ok(()) => View::Text(text(desk)),
        Err(error) => View::Error(format!("{}; {error}", text(desk))),
    }
}

/// How things stand with prompts, for people.
pub fn posture(desk: &Desk) -> String {
    let name = desk.standing.stance.name(Instant::now());
    match desk.standing.window {
        true => format!("{name}; the approved plan runs without asking until the turn ends"),
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
        _ => View::Error("Write /permissions allow|ask|deny|remove RULE, such as /permissions allow Bash(cargo test:*).".into()),
    }
}

fn add(desk: &mut Desk, verb: &str, text: &str) -> View {
    let rule = match Rule::parse(text, SESSION) {
        Ok(rule) => rule,
        Err(error) => return View::Error(error.to_string()),
    };
    if let Some(name) = rule.unknown_tool().filter(|_| verb == "deny") {
        return View::Error(format!(
            "The rule `{text}` would stop nothing: there is no tool `{name}`."
        ));
    }
    let shown = rule.canonical();
    let list = list(&mut Arc::make_mut(&mut desk.policy).rules, verb);
    list.push(rule);
    View::Text(format!("{verb} {shown}, for this session"))
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
    match (removed, kept) {
        (0, None) => View::Error(format!(
            "There is no rule `{text}`. /permissions shows them."
        )),
        (0, Some(from)) => View::Error(format!(
            "The rule `{text}` is written in {from}; `ostler permissions remove` takes it out there."
        )),
        (_, None) => View::Text(format!("Removed: {text}")),
        (_, Some(from)) => View::Text(format!(
            "Removed for this session: {text}; it stays in {from}"
        )),
    }
}

fn table(desk: &Desk) -> View {
    let row = |what: &str, value: String, from: &str| vec![what.to_owned(), value, from.to_owned()];
    let mut rows = vec![
        row("mode", desk.standing.mode.name().into(), ""),
        row("approval", posture(desk), ""),
    ];
    let rules = &desk.policy.rules;
    for (verb, list) in [
        ("deny", &rules.deny),
        ("ask", &rules.ask),
        ("allow", &rules.allow),
    ] {
        rows.extend(list.iter().map(|r| row(verb, r.canonical(), &r.from)));
    }
    for grant in &desk.standing.grants {
        if let Some(text) = granted(desk, grant) {
            rows.push(row("granted", text, SESSION));
        }
    }
    let terms = &desk.standing.terms;
    let hosts = terms.hosts.iter().map(|host| format!("reach {host}"));
    let writable = terms
        .writable
        .iter()
        .map(|p| format!("write {}", p.display()));
    let readable = terms
        .readable
        .iter()
        .map(|p| format!("read {}", p.display()));
    let agent = terms.ssh_agent.then(|| "use the ssh agent".to_owned());
    for text in hosts.chain(writable).chain(readable).chain(agent) {
        rows.push(row("sandbox", text, SESSION));
    }
    View::Table {
        columns: vec!["what".into(), "value".into(), "from".into()],
        rows,
    }
}

fn granted(desk: &Desk, grant: &Grant) -> Option<String> {
    let one = |access: &Access| match access {
        Access::Run(segments) => {
            let texts: Vec<&str> = segments.iter().map(|s| s.text.as_str()).collect();
            Some(texts.join("; "))
        }
        Access::Net(host) => Some(host.clone()),
        Access::Mcp { server, tool } => Some(format!("{server} {tool}")),
        Access::Delegate(role) => Some(role.clone()),
        Access::Read(path) => Some(format!("read {}", desk.scope.shown(path))),
        Access::Write(path) => Some(format!("edit {}", desk.scope.shown(path))),
        Access::Job(id) => Some(id.clone()),
        Access::Memory => None,
    };
    match grant {
        Grant::Editing => Some("editing files".into()),
        Grant::Exactly(Access::Write(_)) => None,
        Grant::Exactly(access) => one(access),
        Grant::Call(accesses) => accesses.first().and_then(one),
    }
}
