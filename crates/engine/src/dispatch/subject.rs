//! What a call is about, in the words of a question.

use super::Prepared;
use crate::cut::clip;
use crate::memory::Memory;
use crate::sources::roles::Roles;
use crate::tool::Scope;
use ostler_wire::{Access, Language, Word};

/// Characters of a fact's name that are shown.
const MAX_NAME: usize = 80;

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
                let of_several = prepared.args["tasks"][number]["prompt"].as_str();
                let what = of_several.or_else(|| said(&["prompt", "task", "topic", "name"]));
                let who = who(role, *read_only, about);
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
    match parts.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {}", parts.join(", ")),
    }
}

/// A role, and if another agent plays it, which one and what it may do.
fn who(role: &str, read_only: bool, about: Surroundings<'_>) -> String {
    let found = about.roles.find(role);
    let Some((found, agent)) = found.and_then(|role| Some((role, role.agent.as_ref()?))) else {
        return role.to_owned();
    };
    let caps = &found.capabilities;
    let say = |word: Word| about.language.say(word);
    let mut may = vec![match read_only || caps.read_only {
        true => say(Word::MayOnlyRead),
        false => say(Word::MayChangeFiles),
    }];
    if !caps.shell {
        may.push(say(Word::MayRunNothing));
    }
    if !caps.network {
        may.push(say(Word::MayReachVendor));
    }
    let by = [role, &agent.shown(), &may.join(", ")].map(str::to_owned);
    about.language.fill(Word::RoleBy, &[&by[0], &by[1], &by[2]])
}
