//! `/memory`: what is remembered, and why it came up. What a person does here they did themselves: nobody is asked.

use super::Work;
use crate::memory::{Explained, Fact, Fate, Memory, MemoryError, Recalled, Worth};
use crate::session::Session;
use ostler_wire::{Act, Action, Item, Language, List, Say, View, Word};
use std::sync::Arc;

/// Facts of one list.
const MAX_LISTED: usize = 500;
const HITS: usize = 50;

pub fn memory<'a>(session: &'a mut Session, words: &'a str) -> Work<'a> {
    Box::pin(async move {
        let language = session.options.language;
        let mind = &session.desk.manner.mind;
        if words == "recall" {
            return match (&mind.last, mind.recalls) {
                (_, false) => View::Text(language.say(Word::MemoryOff).into()),
                (Some(last), true) => explained(last, language),
                (None, true) => View::Text(language.say(Word::MemoryNoPrompt).into()),
            };
        }
        let (store, words) = (mind.memory.clone(), words.to_owned());
        let work = tokio::task::spawn_blocking(move || look(&store, &words, language));
        match session.inbox.attend(work).await {
            Ok(Ok(view)) => view,
            Ok(Err(_)) | Err(_) => View::Text(String::new()),
        }
    })
}

fn look(store: &Arc<Memory>, words: &str, language: Language) -> View {
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let view = match (verb, rest) {
        ("" | "list", "") => store.list(None).map(|facts| list(&facts, language)),
        ("archived", "") => store.archived().map(|facts| archived(&facts, language)),
        ("files", "") => files(store, language),
        ("search", words) if !words.is_empty() => store.search(words, None, HITS).map(|hits| {
            let facts: Vec<Fact> = hits.into_iter().map(|hit| hit.fact).collect();
            found(&facts, words, language)
        }),
        ("show", id) if !id.is_empty() => store.read(id).map(|fact| View::Text(card(&fact))),
        ("edit", id) if !id.is_empty() => store.path_of(id).map(|path| {
            let path = path.display().to_string();
            View::Text(language.fill(Word::MemoryPath, &[&path]))
        }),
        ("archive", id) if !id.is_empty() => store
            .archive(id, None)
            .map(|fact| View::Text(language.fill(Word::MemoryDoArchive, &[&fact.name, &fact.id]))),
        ("restore", id) if !id.is_empty() => store
            .restore(id)
            .map(|fact| View::Text(language.fill(Word::MemoryDoRestore, &[&fact.name]))),
        _ => return View::Error(language.say(Word::MemoryUsage).into()),
    };
    view.unwrap_or_else(|error| View::Error(error.say(language)))
}

fn card(fact: &Fact) -> String {
    let dates: Vec<&str> = [&fact.created, &fact.updated]
        .into_iter()
        .map(|date| date.get(..10).unwrap_or(date))
        .filter(|date| !date.is_empty())
        .collect();
    format!(
        "**{}** `{}`\n\n{} · {} · {} · {}\n\n{}\n\n{}",
        fact.name,
        fact.id,
        fact.kind.name(),
        fact.place.name(),
        fact.version(),
        dates.join(" → "),
        fact.description,
        fact.body
    )
}

fn item(fact: &Fact, actions: &[(Word, &str)], language: Language) -> Item {
    let action = |(word, verb): &(Word, &str)| Action {
        label: language.say(*word).into(),
        act: Act::Command(format!("memory {verb} {}", fact.id)),
    };
    let date = fact.updated.get(..10).unwrap_or_default();
    let parts = [
        fact.id.as_str(),
        fact.kind.name(),
        fact.place.name(),
        date,
        &fact.description,
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Item {
        label: fact.name.clone(),
        detail: parts.join(" · "),
        actions: actions.iter().map(action).collect(),
        ..Item::default()
    }
}

const ACTIONS: [(Word, &str); 3] = [
    (Word::MemoryShow, "show"),
    (Word::MemoryEdit, "edit"),
    (Word::MemoryArchive, "archive"),
];

fn list(facts: &[Fact], language: Language) -> View {
    let items = facts.iter().take(MAX_LISTED);
    View::List(List {
        title: language.say(Word::MemoryTitle).into(),
        items: items.map(|fact| item(fact, &ACTIONS, language)).collect(),
        empty: language.say(Word::MemoryNone).into(),
        search: Some("memory search".into()),
    })
}

fn found(facts: &[Fact], words: &str, language: Language) -> View {
    View::List(List {
        title: language.fill(Word::MemoryFound, &[words]),
        items: facts
            .iter()
            .map(|fact| item(fact, &ACTIONS, language))
            .collect(),
        empty: language.fill(Word::MemoryFoundNone, &[words]),
        search: Some("memory search".into()),
    })
}

fn archived(facts: &[Fact], language: Language) -> View {
    let actions = [(Word::MemoryRestore, "restore")];
    let items = facts.iter().take(MAX_LISTED);
    View::List(List {
        title: language.say(Word::MemoryArchivedTitle).into(),
        items: items.map(|fact| item(fact, &actions, language)).collect(),
        empty: language.say(Word::MemoryArchivedNone).into(),
        ..List::default()
    })
}

fn files(store: &Memory, language: Language) -> Result<View, MemoryError> {
    let left = store.left_out()?;
    if left.is_empty() {
        return Ok(View::Text(language.say(Word::MemoryFilesNone).into()));
    }
    let lines: Vec<String> = left.iter().map(|left| left.say(language)).collect();
    Ok(View::Text(lines.join("\n\n")))
}

/// What came into question, and what became of it.
fn explained(last: &Recalled, language: Language) -> View {
    if last.why.is_empty() {
        let word = match last.words.is_empty() {
            true => Word::MemoryGeneric,
            false => Word::MemoryNoRecall,
        };
        return View::Text(language.say(word).into());
    }
    let columns = [
        Word::MemoryColFact,
        Word::MemoryColFate,
        Word::MemoryColScore,
        Word::MemoryColWords,
    ];
    let row = |explained: &Explained| {
        let words = explained.words.iter().map(|word| {
            let known = last.words.iter().find(|(known, _)| known == word);
            match known.map(|(_, worth)| worth) {
                Some(Worth::Common) => {
                    format!("{word} ({})", language.say(Word::MemoryNoMore))
                }
                Some(Worth::Rare | Worth::Medium) | None => word.clone(),
            }
        });
        vec![
            format!("{} {}", explained.id, explained.name),
            language.say(fate(explained.fate)).to_owned(),
            format!("{:.1}", explained.score),
            words.collect::<Vec<_>>().join(", "),
        ]
    };
    View::Table {
        columns: columns.map(|word| language.say(word).to_owned()).to_vec(),
        rows: last.why.iter().map(row).collect(),
    }
}

fn fate(fate: Fate) -> Word {
    match fate {
        Fate::Told => Word::FateTold,
        Fate::Known => Word::FateKnown,
        Fate::Common => Word::FateCommon,
        Fate::Faint => Word::FateFaint,
        Fate::Full => Word::FateFull,
    }
}
