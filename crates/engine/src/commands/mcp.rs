//! `/mcp`: the servers, how each stands, and what can be done about it.

use crate::desk::Desk;
use crate::inbox::Inbox;
use ostler_mcp::{Servers, Snapshot, State, Trust, tool_name};
use ostler_wire::{Act, Action, Deed, Item, Language, List, View, Word};

pub fn panel(desk: &mut Desk, _: &mut Inbox, words: &str) -> View {
    let language = desk.manner.language;
    let Some(servers) = desk.shop.servers.clone() else {
        return View::Text(language.say(Word::McpNone).into());
    };
    let (verb, name) = words.split_once(' ').unwrap_or((words, ""));
    let name = name.trim();
    if !verb.is_empty() && servers.find(name).is_none() {
        return View::Error(language.fill(Word::McpNoServer, &[name]));
    }
    match verb {
        "" => list(desk, &servers, language),
        "reconnect" => {
            servers.restart(name);
            View::Text(language.fill(Word::McpReconnects, &[name]))
        }
        "trust" => trust(desk, &servers, name, Trust::Yes),
        "untrust" => trust(desk, &servers, name, Trust::No),
        _ => View::Error(language.fill(Word::McpNoServer, &[verb])),
    }
}

/// The person's word on all tools of a server that only read.
fn trust(desk: &mut Desk, servers: &Servers, name: &str, trust: Trust) -> View {
    let language = desk.manner.language;
    let Some(handle) = servers.find(name) else {
        return View::Error(language.fill(Word::McpNoServer, &[name]));
    };
    let tools = handle.readers();
    if tools.is_empty() {
        return View::Text(language.fill(Word::McpNoReaders, &[name]));
    }
    let place = servers.trust(&handle, &tools, trust);
    let trusted = &mut desk.standing.trusted;
    let names: Vec<String> = tools.iter().map(|tool| tool_name(name, tool)).collect();
    trusted.retain(|tool| !names.contains(tool));
    let said = match trust {
        Trust::Yes => {
            trusted.extend(names);
            Word::McpTrusted
        }
        Trust::No => Word::McpUntrusted,
    };
    let said = language.fill(said, &[name, &tools.join(", ")]);
    View::Text(match place {
        Ok(Some(place)) => format!("{said} {}", language.fill(Word::McpTrustKept, &[&place])),
        Ok(None) => said,
        Err(why) => format!("{said} {}", language.fill(Word::McpTrustLost, &[&why])),
    })
}

fn list(desk: &Desk, servers: &Servers, language: Language) -> View {
    let items = servers.snapshots().into_iter().map(|(name, snapshot)| {
        let action = |word: Word, act: Act| Action {
            label: language.say(word).into(),
            act,
        };
        let command = |verb: &str| Act::Command(format!("mcp {verb} {name}"));
        let readers = servers
            .find(&name)
            .map_or_else(Vec::new, |handle| handle.readers());
        let trusted = |tool: &String| desk.standing.trusted.contains(&tool_name(&name, tool));
        let is_trusted = !readers.is_empty() && readers.iter().all(trusted);
        let trust = match is_trusted {
            true => action(Word::McpUntrust, command("untrust")),
            false => action(Word::McpTrust, command("trust")),
        };
        let login = Deed::Copy(language.fill(Word::McpLoginCommand, &[&name]));
        Item {
            detail: detail(&snapshot, language),
            marked: snapshot.state == State::Ready,
            actions: vec![
                action(Word::McpReconnect, command("reconnect")),
                trust,
                action(Word::McpLogin, Act::Do(login)),
            ],
            label: name,
        }
    });
    View::List(List {
        title: language.say(Word::McpTitle).into(),
        items: items.collect(),
        empty: language.say(Word::McpNone).into(),
        ..List::default()
    })
}

fn detail(snapshot: &Snapshot, language: Language) -> String {
    let state = match &snapshot.state {
        State::Idle => language.say(Word::McpIdle).to_owned(),
        State::Starting => language.say(Word::McpStarting).to_owned(),
        State::Ready => language.say(Word::McpReady).to_owned(),
        State::Failed(why) => why
            .say(language)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let Some(lists) = &snapshot.lists else {
        return state;
    };
    let counts = [
        (lists.tools.len(), Word::ManyTools),
        (lists.prompts.len(), Word::ManyPrompts),
        (lists.resources.len(), Word::ManyResources),
    ];
    let counts = counts.map(|(n, word)| language.many(word, n, &[&n.to_string()]));
    let counts = counts.join(language.say(Word::Comma));
    [state, counts, snapshot.about.server.clone()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}
