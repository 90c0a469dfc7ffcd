//! What a call is about, in the words of a question.

use super::Prepared;
use crate::cut::clip;
use crate::memory::Memory;
use crate::tool::Scope;
use ostler_guard::Decision;
use ostler_sources::roles::Roles;
use ostler_wire::{Access, Language, Word};
use serde_json::Value;
use std::path::Path;

/// Characters of a name that are shown.
const MAX_NAME: usize = 80;
/// Characters of the id of a conversation that are shown.
const MAX_ID: usize = 200;
/// What a terminal or a form may begin a new line at.
const LINE_ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// What the words of a question are taken from, beside the call.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub scope: &'a Scope,
    pub memory: &'a Memory,
    pub roles: &'a Roles,
    pub language: Language,
}

/// What a call is about, for people.
pub fn subject(prepared: &Prepared, about: Surroundings<'_>) -> String {
    let name = prepared.tool.name();
    let runs = |access: &Access| matches!(access, Access::Run(_));
    // A command is shown whole, as it will run: redirections and all.
    let said = |keys: &[&str]| {
        let mut keys = keys.iter();
        keys.find_map(|key| prepared.args.get(key)?.as_str())
    };
    let written = said(&["command", "cmd", "script", "text"]);
    if let (true, Some(command)) = (prepared.accesses.iter().any(runs), written) {
        // The same words do something else in another folder.
        let folder = said(&["cwd", "workdir", "directory"]);
        let folder = folder.filter(|folder| about.scope.root != about.scope.root.join(folder));
        let place = folder.map_or(String::new(), |folder| format!("[in {folder}] "));
        return format!("{name}: {place}{command}");
    }
    let parts: Vec<String> = prepared
        .accesses
        .iter()
        .enumerate()
        .map(|(number, access)| match access {
            Access::Read(path) | Access::Write(path) => about.scope.shown(path),
            Access::Run(segments) => {
                let texts: Vec<&str> = segments.iter().map(|s| s.text.as_str()).collect();
                texts.join("; ")
            }
            // What an address or a search says leaves the machine with it.
            Access::Net(host) => match said(&["url", "query"]) {
                Some(sent) => sent.to_owned(),
                None => host.clone(),
            },
            Access::Mcp { server, tool, .. } => format!("{server} {tool}"),
            Access::Job(id) => id.clone(),
            // Whoever says yes has to see to what, and to whom.
            Access::Delegate { role, read_only } => {
                let of_several = &prepared.args["tasks"][number];
                let args = match of_several.is_null() {
                    true => &prepared.args,
                    false => of_several,
                };
                let what = of_several["prompt"].as_str();
                let what = what.or_else(|| said(&["prompt", "task", "topic", "name"]));
                let who = who(role, *read_only, args, about);
                match what {
                    Some(what) => format!("{who}: {what}"),
                    None => who,
                }
            }
            Access::History => about.language.say(Word::AllHistory).into(),
            Access::Memory => {
                // Nobody knows a fact by its id.
                let known = said(&["id"]).and_then(|id| about.memory.read(id).ok());
                let name = known.as_ref().map(|fact| fact.name.as_str());
                let name = name.or_else(|| said(&["name", "id"]));
                name.map_or_else(|| "memory".into(), |name| clip(name, MAX_NAME))
            }
        })
        .collect();
    let delegates = |access: &Access| matches!(access, Access::Delegate { .. });
    match parts.as_slice() {
        [] => name.to_owned(),
        [_, _, ..] if prepared.accesses.iter().all(delegates) => listed(name, &parts),
        parts => format!("{name}: {}", parts.join(", ")),
    }
}

/// The subject, and what a path in it really is where that lies outside, or is written through a link.
pub fn with_real_paths(
    prepared: &Prepared,
    decision: &Decision,
    about: Surroundings<'_>,
) -> String {
    let mut subject = subject(prepared, about);
    let is_written = |path: &Path| prepared.accesses.contains(&Access::Write(path.to_owned()));
    let led = decision.resolved.iter();
    let led = led.filter(|(named, real)| named != real && is_written(named));
    let led = led.map(|(_, real)| real);
    for path in decision.outside.iter().chain(led) {
        let path = about.scope.shown(path);
        if !subject.contains(&path) {
            subject.push_str(&format!(" -> {path}"));
        }
    }
    subject
}

/// Several calls of one tool in one question.
pub fn of_several(name: &str, subjects: &[&str]) -> String {
    let prefix = format!("{name}: ");
    let bare = |text: &&str| text.strip_prefix(&prefix).unwrap_or(text).to_owned();
    let parts: Vec<String> = subjects.iter().map(bare).collect();
    listed(name, &parts)
}

/// One item for each, whose further lines are set in: the text of one cannot look like the next.
fn listed(name: &str, parts: &[String]) -> String {
    let mut out = format!("{name}:");
    for (number, part) in parts.iter().enumerate() {
        let lines: Vec<&str> = part.split(LINE_ENDS).collect();
        out.push_str(&format!("\n{}. {}", number + 1, lines.join("\n    ")));
    }
    out
}

/// A role, and if another agent plays it, which one and what it may do. What else the call says of how it works.
fn who(role: &str, read_only: bool, args: &Value, about: Surroundings<'_>) -> String {
    let role = &clip(role, MAX_NAME).replace(LINE_ENDS, " ");
    let found = about.roles.find(role);
    let found = found.and_then(|role| Some((role, role.agent.as_ref()?)));
    let say = |word: Word| about.language.say(word).to_owned();
    let mut may = Vec::new();
    if let Some((found, _)) = found {
        let caps = &found.capabilities;
        may.push(match read_only || caps.read_only {
            true => say(Word::MayOnlyRead),
            false => say(Word::MayChangeFiles),
        });
        if !caps.shell {
            may.push(say(Word::MayRunNothing));
        }
        if !caps.network {
            may.push(say(Word::MayReachVendor));
        }
    }
    if args["worktree"] == true {
        may.push(say(Word::WorksInTree));
    }
    if let Some(id) = args["session_id"].as_str().filter(|id| !id.is_empty()) {
        let id = clip(id, MAX_ID).replace(LINE_ENDS, " ");
        may.push(about.language.fill(Word::GoesOnWith, &[&id]));
    }
    if let Some(seconds) = args["timeout_secs"].as_u64() {
        let seconds = seconds.to_string();
        may.push(about.language.fill(Word::WorksAtMost, &[&seconds]));
    }
    let may = may.join(", ");
    match (found, may.is_empty()) {
        (Some((_, agent)), _) => {
            let agent = agent.shown();
            about.language.fill(Word::RoleBy, &[role, &agent, &may])
        }
        (None, true) => role.clone(),
        (None, false) => format!("{role} ({may})"),
    }
}
