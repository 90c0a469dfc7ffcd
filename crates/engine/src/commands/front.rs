//! `/help`, `/copy`, `/theme`, `/quit`: what a front end shows or does.

use crate::log::Log;
use ostler_wire::{Body, CommandGroup, CommandInfo, Deed, Language, Role, Table, View, Word};

pub fn help(all: &[CommandInfo], name: &str, language: Language) -> View {
    let wanted = name.trim_start_matches('/');
    if !wanted.is_empty() {
        return match all.iter().find(|c| c.name == wanted) {
            Some(c) => {
                let line = format!("/{} {}", c.name, c.arguments).trim_end().to_owned();
                let usage = View::Table(Table::of_texts(
                    Vec::new(),
                    vec![vec![line, c.help.clone()]],
                ));
                match more(wanted) {
                    Some(more) => View::Group(vec![usage, View::Text(language.say(more).into())]),
                    None => usage,
                }
            }
            None => View::Error(language.fill(Word::NoCommand, &[wanted])),
        };
    }
    let groups = CommandGroup::ALL.into_iter().filter_map(|group| {
        let of_group = all.iter().filter(|c| c.group == group);
        let rows: Vec<Vec<String>> = of_group
            .map(|c| vec![format!("/{}", c.name), c.help.clone()])
            .collect();
        let head = vec![language.say(group.word()).to_owned(), String::new()];
        (!rows.is_empty()).then(|| View::Table(Table::of_texts(head, rows)))
    });
    let docs = View::Text(language.say(Word::HelpDocs).to_owned());
    View::Group(groups.chain([docs]).collect())
}

/// What the words after a command do.
fn more(name: &str) -> Option<Word> {
    Some(match name {
        "approve" => Word::MoreApprove,
        "compact" => Word::MoreCompact,
        "diff" => Word::MoreDiff,
        "fork" => Word::MoreFork,
        "goal" => Word::MoreGoal,
        "mcp" => Word::MoreMcp,
        "memory" => Word::MoreMemory,
        "mode" => Word::MoreMode,
        "permissions" => Word::MorePermissions,
        "queue" => Word::MoreQueue,
        "resume" => Word::MoreResume,
        "rewind" => Word::MoreRewind,
        "session" => Word::MoreSession,
        _ => return None,
    })
}

/// The last answer, or its n-th from the end.
pub fn copy(log: &Log, which: &str) -> View {
    let nth = which.parse::<usize>().unwrap_or(1).max(1) - 1;
    let entries = log.source().entries_after(None);
    let answers = entries.iter().rev().filter_map(|entry| {
        let Body::Message(message) = &entry.body else {
            return None;
        };
        let said = message.role == Role::Assistant && !message.text.trim().is_empty();
        said.then_some(&message.text)
    });
    let text = answers.skip(nth).map(String::clone).next();
    View::Do(Deed::Copy(text.unwrap_or_default()))
}

/// What colours there are is the front end's to say; without a name it lists them.
pub fn theme(name: &str) -> View {
    View::Do(Deed::Theme(name.to_owned()))
}

/// Whoever shows the session asks first where that would stop something.
pub fn quit() -> View {
    View::Do(Deed::Leave)
}
