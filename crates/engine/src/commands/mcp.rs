//! `/mcp`: the servers, how each stands, and what can be done about it.

use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::mcp::{Fleet, Snapshot, State, tool_name};
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
        "trust" => {
            for tool in readers(&servers, name) {
                if !desk.standing.trusted.contains(&tool) {
                    desk.standing.trusted.push(tool);
                }
            }
            View::Text(language.fill(Word::McpTrusted, &[name]))
        }
        "untrust" => {
            let tools = readers(&servers, name);
            desk.standing.trusted.retain(|tool| !tools.contains(tool));
            View::Text(language.fill(Word::McpUntrusted, &[name]))
        }
        _ => View::Error(language.fill(Word::McpNoServer, &[verb])),
    }
}

/// Tools that their server says only read.
fn readers(servers: &Fleet, name: &str) -> Vec<String> {
    let all = servers.snapshots();
    let lists = all.into_iter().find(|(server, _)| server == name);
    let lists = lists.and_then(|(_, snapshot)| snapshot.lists);
    let tools = lists.as_ref().map_or(&[][..], |lists| &lists.tools);
    let reading = tools.iter().filter(|tool| tool.read_only);
    reading.map(|tool| tool_name(name, &tool.name)).collect()
}

fn list(desk: &Desk, servers: &Fleet, language: Language) -> View {
    let items = servers.snapshots().into_iter().map(|(name, snapshot)| {
        let action = |word: Word, act: Act| Action {
            label: language.say(word).into(),
            act,
        };
        let command = |verb: &str| Act::Command(format!("mcp {verb} {name}"));
        let trusted = readers(servers, &name);
        let is_trusted =
            !trusted.is_empty() && trusted.iter().all(|t| desk.standing.trusted.contains(t));
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
        State::Failed(why) => why.lines().next().unwrap_or_default().to_owned(),
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
