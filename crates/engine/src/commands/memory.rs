//! `memory`: what is remembered, and why it came up. What a person does here they did themselves: nobody is asked.

use super::Work;
use super::context::{HubContext, report};
use crate::memory::{Explained, Fact, Fate, MemoryError, Place, Recalled, Worth};
use ostler_state::session::Session;
use ostler_wire::{Act, Action, Cell, Column, ColumnKind, Language, Row, Say, Table, View, Word};
use serde_json::{Value, json};

/// Facts in a menu.
const MAX_LISTED: usize = 500;
const HITS: usize = 50;

/// What is wanted of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRequest {
    List,
    Archived,
    /// Files that are no facts.
    Files,
    Search(String),
    Show(String),
    /// Where a person can edit it.
    Edit(String),
    Archive(String),
    Restore(String),
    /// Where facts lie, or one of them.
    Path(Option<String>),
}

impl MemoryRequest {
    fn parse(words: &str) -> Option<Self> {
        let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim();
        Some(match (verb, rest) {
            ("" | "list", "") => Self::List,
            ("archived", "") => Self::Archived,
            ("files", "") => Self::Files,
            ("path", "") => Self::Path(None),
            (_, "") => return None,
            ("search", words) => Self::Search(words.into()),
            ("show", id) => Self::Show(id.into()),
            ("edit", id) => Self::Edit(id.into()),
            ("archive", id) => Self::Archive(id.into()),
            ("restore", id) => Self::Restore(id.into()),
            ("path", id) => Self::Path(Some(id.into())),
            _ => return None,
        })
    }
}

/// `/memory`. What came up with the last prompt is known to the session alone.
pub(super) fn slash<'a>(session: &'a mut Session, words: &'a str) -> Work<'a> {
    Box::pin(async move {
        let language = session.options.run.language;
        let recall = &session.state.settings.recall;
        if words == "recall" {
            return match (&recall.last, recall.recalls) {
                (_, false) => View::Text(language.say(Word::MemoryOff).into()),
                (Some(last), true) => explained(last, language),
                (None, true) => View::Text(language.say(Word::MemoryNoPrompt).into()),
            };
        }
        let Some(request) = MemoryRequest::parse(words) else {
            return View::Error(language.say(Word::MemoryUsage).into());
        };
        let context = HubContext::of(session);
        let work = tokio::task::spawn_blocking(move || memory(&context, &request));
        match session.inbox.attend(work).await {
            Ok(Ok(View::Table(mut table))) => {
                table.rows.truncate(MAX_LISTED);
                table.drop_data();
                View::Table(table)
            }
            Ok(Ok(view)) => view,
            Ok(Err(_)) | Err(_) => View::Text(String::new()),
        }
    })
}

/// Looks at facts and keeps them in order.
pub fn memory(context: &HubContext, request: &MemoryRequest) -> View {
    let view = answer(context, request);
    view.unwrap_or_else(|error| View::Error(error.say(context.language)))
}

fn answer(context: &HubContext, request: &MemoryRequest) -> Result<View, MemoryError> {
    let memory = &context.memory;
    let fact = |text: String, fact: &Fact| report(text, &value(fact));
    Ok(match request {
        MemoryRequest::List => View::Table(Table {
            title: context.say(Word::MemoryTitle).into(),
            empty: context.say(Word::MemoryNone).into(),
            search: Some("memory search".into()),
            remarks: left_out(context)?,
            ..table(context, &memory.list(None)?, &ACTIONS)
        }),
        MemoryRequest::Archived => View::Table(Table {
            title: context.say(Word::MemoryArchivedTitle).into(),
            empty: context.say(Word::MemoryArchivedNone).into(),
            remarks: left_out(context)?,
            ..table(
                context,
                &memory.archived()?,
                &[(Word::MemoryRestore, "restore")],
            )
        }),
        MemoryRequest::Search(words) => {
            let hits = memory.search(words, None, HITS)?;
            let facts: Vec<Fact> = hits.into_iter().map(|hit| hit.fact).collect();
            View::Table(Table {
                title: context.fill(Word::MemoryFound, &[words]),
                empty: context.fill(Word::MemoryFoundNone, &[words]),
                search: Some("memory search".into()),
                ..table(context, &facts, &ACTIONS)
            })
        }
        MemoryRequest::Files => View::Text(match left_out(context)? {
            left if left.is_empty() => context.say(Word::MemoryFilesNone).into(),
            left => left.join("\n\n"),
        }),
        MemoryRequest::Show(id) => {
            let found = memory.read(id)?;
            let text = format!("{} {}\n{}", found.id, found.version(), found.card());
            fact(text, &found)
        }
        MemoryRequest::Edit(id) => {
            let path = memory.path_of(id)?.display().to_string();
            View::Text(context.fill(Word::MemoryPath, &[&path]))
        }
        MemoryRequest::Archive(id) => {
            let gone = memory.archive(id, None)?;
            let text = context.fill(Word::MemoryDoArchive, &[&gone.name, &gone.id]);
            fact(text, &gone)
        }
        MemoryRequest::Restore(id) => {
            let back = memory.restore(id)?;
            let text = context.fill(Word::MemoryDoRestore, &[&back.name, &back.id]);
            fact(text, &back)
        }
        MemoryRequest::Path(Some(id)) => {
            let path = memory.path_of(id)?;
            report(path.display().to_string(), &json!({"path": path}))
        }
        MemoryRequest::Path(None) => {
            let (project, global) = (memory.folder(Place::Project), memory.folder(Place::Global));
            let text = format!("{}\n{}", project.display(), global.display());
            report(text, &json!({"project": project, "global": global}))
        }
    })
}

/// Files that are no facts.
fn left_out(context: &HubContext) -> Result<Vec<String>, MemoryError> {
    let left = context.memory.left_out()?;
    Ok(left.iter().map(|left| left.say(context.language)).collect())
}

/// A fact for programs.
fn value(fact: &Fact) -> Value {
    json!({
        "id": fact.id, "revision": fact.version(), "name": fact.name, "description": fact.description,
        "type": fact.kind, "scope": fact.place, "created": fact.created, "updated": fact.updated,
        "content": fact.body,
    })
}

const ACTIONS: [(Word, &str); 3] = [
    (Word::MemoryShow, "show"),
    (Word::MemoryEdit, "edit"),
    (Word::MemoryArchive, "archive"),
];

fn table(context: &HubContext, facts: &[Fact], actions: &[(Word, &str)]) -> Table {
    let row = |fact: &Fact| Row {
        actions: actions
            .iter()
            .map(|(word, verb)| Action {
                label: context.say(*word).into(),
                act: Act::Command(format!("memory {verb} {}", fact.id)),
            })
            .collect(),
        ..Row::new(vec![
            Cell::text(fact.id.as_str()),
            Cell::text(fact.place.name()),
            Cell::text(fact.kind.name()),
            Cell::named(
                fact.updated.get(..10).unwrap_or_default(),
                fact.updated.as_str(),
            ),
            Cell::text(fact.name.as_str()),
            Cell::text(fact.description.as_str()),
            Cell::data(&fact.version()),
            Cell::data(&fact.created),
            Cell::data(&fact.body),
        ])
    };
    let columns = vec![
        context.column(ColumnKind::Text, "id", Word::ColId),
        context.column(ColumnKind::Text, "scope", Word::ColScope),
        context.column(ColumnKind::Text, "type", Word::ColType),
        context.column(ColumnKind::Text, "updated", Word::ColUpdated),
        context.column(ColumnKind::Text, "name", Word::ColName),
        context.column(ColumnKind::Prose, "description", Word::ColAbout),
        Column::data("revision"),
        Column::data("created"),
        Column::data("content"),
    ];
    Table {
        label: "name".into(),
        ..Table::new(columns, facts.iter().map(row).collect())
    }
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
    View::Table(Table::of_texts(
        columns.map(|word| language.say(word).to_owned()).to_vec(),
        last.why.iter().map(row).collect(),
    ))
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
