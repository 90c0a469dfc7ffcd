//! `/help`, `/copy`, `/theme`, `/quit`: what a front end shows or does.

use crate::desk::Desk;
use crate::inbox::Inbox;
use ostler_wire::{Act, Action, Body, Deed, Item, List, Role, View, Word};

/// Looks that front ends have.
const THEMES: [&str; 4] = ["ansi", "dark", "light", "mono"];

pub fn help(desk: &mut Desk, _: &mut Inbox, name: &str) -> View {
    let language = desk.manner.language;
    let all = super::list(desk);
    let wanted = name.trim_start_matches('/');
    let shown = all.iter().filter(|c| wanted.is_empty() || c.name == wanted);
    let rows: Vec<Vec<String>> = shown
        .map(|c| {
            vec![
                format!("/{} {}", c.name, c.arguments).trim_end().to_owned(),
                c.help.clone(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return View::Error(language.fill(Word::NoCommand, &[wanted]));
    }
    View::Table {
        columns: Vec::new(),
        rows,
    }
}

/// The last answer, or its n-th from the end.
pub fn copy(desk: &mut Desk, _: &mut Inbox, which: &str) -> View {
    let nth = which.parse::<usize>().unwrap_or(1).max(1) - 1;
    let entries = desk.log.source().entries_after(None);
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

pub fn theme(desk: &mut Desk, _: &mut Inbox, name: &str) -> View {
    if !name.is_empty() {
        return View::Do(Deed::Theme(name.to_owned()));
    }
    let language = desk.manner.language;
    let items = THEMES.map(|name| Item {
        label: name.into(),
        actions: vec![Action {
            label: language.say(Word::ActUse).into(),
            act: Act::Do(Deed::Theme(name.into())),
        }],
        ..Item::default()
    });
    View::List(List {
        title: language.say(Word::ThemeTitle).into(),
        items: items.to_vec(),
        ..List::default()
    })
}

/// Leaves, once somebody has said yes where prompts would be stopped by it.
pub fn quit(inbox: &mut Inbox, sure: &str) -> View {
    let running = inbox.children.names();
    if running.is_empty() || sure == "yes" {
        return View::Do(Deed::Leave);
    }
    let language = inbox.children.language;
    let item = |label: Word, act: Act| Item {
        label: language.say(label).into(),
        actions: vec![Action {
            label: language.say(label).into(),
            act,
        }],
        ..Item::default()
    };
    View::List(List {
        title: language.fill(Word::QuitTitle, &[&running]),
        items: vec![
            item(Word::QuitNo, Act::Do(Deed::Compose(String::new()))),
            item(Word::QuitYes, Act::Command("quit yes".into())),
        ],
        ..List::default()
    })
}
