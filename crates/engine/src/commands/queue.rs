//! `/queue`: the prompts that wait for the running turn; they can be taken back into the composer or dropped.

use crate::cut::shorten_prompt;
use ostler_state::inbox::Inbox;
use ostler_wire::{Act, Action, Deed, Item, List, View, Word};

pub fn queue(inbox: &mut Inbox, words: &str) -> View {
    let language = inbox.children.language;
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    // The last one is the one that was just typed.
    let which = match rest.trim() {
        "" => None,
        number => match number.parse::<usize>().ok().and_then(|n| n.checked_sub(1)) {
            Some(at) => Some(at),
            None => return View::Error(language.say(Word::QueueUsage).into()),
        },
    };
    match verb {
        "" => list(inbox),
        "edit" | "drop" => {
            let Some(prompt) = inbox.take_waiting(which) else {
                return View::Text(language.say(Word::QueueEmpty).into());
            };
            match verb {
                "edit" => View::Do(Deed::Compose(prompt)),
                _ => {
                    let shown = shorten_prompt(&prompt);
                    View::Text(language.fill(Word::QueueDropped, &[&shown]))
                }
            }
        }
        // All of them, as one text: what an interrupted person wants back.
        "back" => {
            let mut all = Vec::new();
            while let Some(prompt) = inbox.take_waiting(Some(0)) {
                all.push(prompt);
            }
            View::Do(Deed::Compose(all.join("\n")))
        }
        _ => View::Error(language.say(Word::QueueUsage).into()),
    }
}

fn list(inbox: &mut Inbox) -> View {
    let language = inbox.children.language;
    let action = |label: Word, what: &str, at: usize| Action {
        label: language.say(label).into(),
        act: Act::Command(format!("queue {what} {}", at + 1)),
    };
    let items = inbox.waiting_texts().into_iter().enumerate();
    let items = items.map(|(at, text)| Item {
        label: shorten_prompt(&text),
        actions: vec![
            action(Word::ActEdit, "edit", at),
            action(Word::ActDrop, "drop", at),
        ],
        ..Item::default()
    });
    View::List(List {
        title: language.say(Word::QueueTitle).into(),
        items: items.collect(),
        empty: language.say(Word::QueueEmpty).into(),
        ..List::default()
    })
}
