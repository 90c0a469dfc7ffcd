//! `/mcp`: the servers, how each stands, and what can be done about it.

use super::context::column;
use ostler_mcp::{Servers, Snapshot, State, ToolInfo, Trust, tool_name};
use ostler_wire::{
    Act, Action, Cell, ColumnKind, Deed, Item, Language, List, Row, Table, View, Word,
};
use serde_json::{Value, json};

/// `trusted`: tools that may be used while planning.
pub fn panel(
    servers: Option<&Servers>,
    trusted: &mut Vec<String>,
    words: &str,
    language: Language,
) -> View {
    let Some(servers) = servers else {
        return View::Text(language.say(Word::McpNone).into());
    };
    let mut parts = words.split_whitespace();
    let verb = parts.next().unwrap_or_default();
    let name = parts.next().unwrap_or_default();
    let tool = parts.next();
    if !verb.is_empty() && servers.find(name).is_none() {
        return View::Error(language.fill(Word::McpNoServer, &[name]));
    }
    match verb {
        "" => list(servers, trusted, language),
        "reconnect" => {
            servers.restart(name);
            View::Text(language.fill(Word::McpReconnects, &[name]))
        }
        "tools" => tools(servers, name, trusted, language),
        "trust" => trust(servers, (name, tool), (Trust::Yes, trusted), language),
        "untrust" => trust(servers, (name, tool), (Trust::No, trusted), language),
        _ => View::Error(language.fill(Word::McpNoServer, &[verb])),
    }
}

/// The person's word on one tool of a server, or on all that only read.
fn trust(
    servers: &Servers,
    (name, tool): (&str, Option<&str>),
    (trust, trusted): (Trust, &mut Vec<String>),
    language: Language,
) -> View {
    let Some(handle) = servers.find(name) else {
        return View::Error(language.fill(Word::McpNoServer, &[name]));
    };
    let tools = match tool {
        // The person may know better than the server what a tool does.
        Some(tool) => {
            let lists = handle.snapshot().lists.unwrap_or_default();
            if lists.tools.iter().all(|known| known.name != tool) {
                return View::Error(language.fill(Word::McpNoTool, &[name, tool]));
            }
            vec![tool.to_owned()]
        }
        None => handle.readers(),
    };
    if tools.is_empty() {
        return View::Text(language.fill(Word::McpNoReaders, &[name]));
    }
    let place = servers.trust(&handle, &tools, trust);
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

/// The tools of a server, and whether each may be used while planning.
fn tools(servers: &Servers, name: &str, trusted: &[String], language: Language) -> View {
    let Some(handle) = servers.find(name) else {
        return View::Error(language.fill(Word::McpNoServer, &[name]));
    };
    let readers = handle.readers();
    let lists = handle.snapshot().lists.unwrap_or_default();
    let item = |tool: &ToolInfo| {
        let is_trusted = trusted.contains(&tool_name(name, &tool.name));
        let (verb, label) = match is_trusted {
            true => ("untrust", Word::McpUntrust),
            false => ("trust", Word::McpTrustTool),
        };
        let reads = readers.contains(&tool.name);
        let note = match (reads, is_trusted) {
            (true, true) => Some(Word::McpToolTrusted),
            (true, false) => Some(Word::McpToolReads),
            (false, _) => None,
        };
        let note = note.map(|word| format!(" · {}", language.say(word)));
        let about = tool.description.lines().next().unwrap_or_default();
        Item {
            label: tool.name.clone(),
            detail: format!("{about}{}", note.unwrap_or_default()),
            marked: is_trusted,
            actions: vec![Action {
                label: language.say(label).into(),
                act: Act::Command(format!("mcp {verb} {name} {}", tool.name)),
            }],
        }
    };
    View::List(List {
        title: language.fill(Word::McpToolsOf, &[name]),
        items: lists.tools.iter().map(item).collect(),
        empty: language.fill(Word::McpOffersNone, &[name]),
        ..List::default()
    })
}

fn list(servers: &Servers, trusted: &[String], language: Language) -> View {
    let rows = servers.snapshots().into_iter().map(|(name, snapshot)| {
        let action = |word: Word, act: Act| Action {
            label: language.say(word).into(),
            act,
        };
        let command = |verb: &str| Act::Command(format!("mcp {verb} {name}"));
        let readers = servers
            .find(&name)
            .map_or_else(Vec::new, |handle| handle.readers());
        let trusted = |tool: &String| trusted.contains(&tool_name(&name, tool));
        let is_trusted = !readers.is_empty() && readers.iter().all(trusted);
        let trust = match is_trusted {
            true => action(Word::McpUntrust, command("untrust")),
            false => action(Word::McpTrust, command("trust")),
        };
        let login = Deed::Copy(language.fill(Word::McpLoginCommand, &[&name]));
        Row {
            marked: snapshot.state == State::Ready,
            actions: vec![
                action(Word::McpTools, command("tools")),
                action(Word::McpReconnect, command("reconnect")),
                trust,
                action(Word::McpLogin, Act::Do(login)),
            ],
            cells: vec![
                Cell::text(name.as_str()),
                state_cell(&snapshot, language),
                offers(&snapshot, language),
                Cell::text(snapshot.about.server.as_str()),
            ],
        }
    });
    let column = |kind, key, word| column(language, kind, key, word);
    let columns = vec![
        column(ColumnKind::Text, "name", Word::ColName),
        column(ColumnKind::Text, "state", Word::ColState),
        column(ColumnKind::Text, "offers", Word::RowTools),
        column(ColumnKind::Prose, "server", Word::ColWhat),
    ];
    View::Table(Table {
        title: language.say(Word::McpTitle).into(),
        empty: language.say(Word::McpNone).into(),
        ..Table::new(columns, rows.collect())
    })
}

fn state_cell(snapshot: &Snapshot, language: Language) -> Cell {
    let (name, word) = match &snapshot.state {
        State::Idle => ("idle", Word::McpIdle),
        State::Starting => ("starting", Word::McpStarting),
        State::Ready => ("ready", Word::McpReady),
        State::Failed(why) => {
            let why = why.say(language);
            return Cell::named(why.lines().next().unwrap_or_default(), "failed");
        }
    };
    Cell::named(language.say(word), name)
}

/// How many tools, prompts and resources there are.
fn offers(snapshot: &Snapshot, language: Language) -> Cell {
    let Some(lists) = &snapshot.lists else {
        return Cell::absent();
    };
    let counts = [
        ("tools", lists.tools.len(), Word::ManyTools),
        ("prompts", lists.prompts.len(), Word::ManyPrompts),
        ("resources", lists.resources.len(), Word::ManyResources),
    ];
    let texts = counts.map(|(_, n, word)| language.many(word, n, &[&n.to_string()]));
    let values = counts.map(|(name, n, _)| (name.to_owned(), json!(n)));
    Cell::named(
        texts.join(language.say(Word::Comma)),
        Value::Object(values.into_iter().collect()),
    )
}
