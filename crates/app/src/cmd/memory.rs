//! `ostler memory`: what is remembered over sessions, looked at and kept in order. What a person does here needs no yes.

use super::table::{self, Column};
use super::text;
use crate::boot::Boot;
use crate::exec::{FAILED, OK};
use crate::flags::{Listing, Memory as Args};
use crate::speech::{self, filled, spoken};
use anyhow::{Context as _, anyhow};
use ostler_engine::memory::{Fact, Memory, Place};
use ostler_engine::store::project_name;
use ostler_wire::Word;
use serde_json::{Value, json};
use std::path::Path;

/// Facts that a search finds.
const HITS: usize = 20;

pub fn run(boot: &Boot, args: Args) -> anyhow::Result<u8> {
    let project = project_name(&boot.places.root);
    let memory = Memory::new(&boot.places.home, &project, boot.redactor.clone());
    match args {
        Args::List { archived, format } => {
            let facts = match archived {
                true => memory.archived()?,
                false => memory.list(None)?,
            };
            complain(&memory)?;
            list(&facts, format)?;
        }
        Args::Show { id, format } => show(&memory.read(&id)?, format)?,
        Args::Search { words, format } => {
            let hits = memory.search(&words.join(" "), None, HITS)?;
            let facts: Vec<Fact> = hits.into_iter().map(|hit| hit.fact).collect();
            list(&facts, format)?;
        }
        Args::Edit { id } => return edit(boot, &memory, &id),
        Args::Archive { id, format } => {
            let fact = memory.archive(&id, None)?;
            done(Word::MemArchived, &fact, format)?;
        }
        Args::Restore { id, format } => done(Word::MemRestored, &memory.restore(&id)?, format)?,
        Args::Path { id, format } => paths(&memory, id.as_deref(), format)?,
    }
    Ok(OK)
}

/// Files that are no facts, on stderr.
fn complain(memory: &Memory) -> anyhow::Result<()> {
    for left in memory.left_out()? {
        text::say(&left.say(speech::language()));
    }
    Ok(())
}

fn value(fact: &Fact) -> Value {
    json!({
        "id": fact.id, "revision": fact.version(), "name": fact.name, "description": fact.description,
        "type": fact.kind, "scope": fact.place, "created": fact.created, "updated": fact.updated,
        "content": fact.body,
    })
}

fn list(facts: &[Fact], format: Listing) -> anyhow::Result<()> {
    match format {
        Listing::Json => text::print_json(&facts.iter().map(value).collect::<Vec<_>>()),
        Listing::Text if facts.is_empty() => {
            text::say(spoken(Word::MemNone));
            Ok(())
        }
        Listing::Text => {
            let columns = [
                Column::Left(spoken(Word::ColId)),
                Column::Left(spoken(Word::ColScope)),
                Column::Left(spoken(Word::ColType)),
                Column::Left(spoken(Word::ColUpdated)),
                Column::Left(spoken(Word::ColName)),
                Column::Flexible(spoken(Word::ColAbout)),
            ];
            let row = |fact: &Fact| {
                let date = fact.updated.get(..10).unwrap_or_default();
                [
                    fact.id.as_str(),
                    fact.place.name(),
                    fact.kind.name(),
                    date,
                    &fact.name,
                    &fact.description,
                ]
                .map(text::one_line)
                .to_vec()
            };
            let rows: Vec<Vec<String>> = facts.iter().map(row).collect();
            text::print(&table::render(&columns, &rows, table::terminal_width()))
        }
    }
}

fn show(fact: &Fact, format: Listing) -> anyhow::Result<()> {
    match format {
        Listing::Json => text::print_json(&value(fact)),
        Listing::Text => {
            let head = format!("{} {}\n", fact.id, fact.version());
            text::print_foreign(&(head + &fact.card()))
        }
    }
}

fn done(what: Word, fact: &Fact, format: Listing) -> anyhow::Result<()> {
    match format {
        Listing::Json => text::print_json(&value(fact)),
        Listing::Text => {
            let name = text::one_line(&fact.name);
            text::print(&format!("{}: {name} ({})\n", spoken(what), fact.id))
        }
    }
}

fn paths(memory: &Memory, id: Option<&str>, format: Listing) -> anyhow::Result<()> {
    if let Some(id) = id {
        let path = memory.path_of(id)?;
        return match format {
            Listing::Json => text::print_json(&json!({"path": path})),
            Listing::Text => text::print_foreign(&format!("{}\n", path.display())),
        };
    }
    let (project, global) = (memory.folder(Place::Project), memory.folder(Place::Global));
    match format {
        Listing::Json => text::print_json(&json!({"project": project, "global": global})),
        Listing::Text => {
            text::print_foreign(&format!("{}\n{}\n", project.display(), global.display()))
        }
    }
}

fn edit(boot: &Boot, memory: &Memory, id: &str) -> anyhow::Result<u8> {
    let path = memory.path_of(id)?;
    let set = |name: &&str| boot.env.get(*name).filter(|value| !value.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].iter().find_map(set);
    let Some(editor) = editor else {
        return Err(anyhow!(filled(Word::MemNoEditor, &[&path.display()])));
    };
    let status =
        opened(boot, editor, &path).with_context(|| filled(Word::CannotStart, &[&editor]))?;
    // What is no fact any more is told at once, while it can still be mended.
    complain(memory)?;
    Ok(if status.success() { OK } else { FAILED })
}

fn opened(boot: &Boot, editor: &str, path: &Path) -> std::io::Result<std::process::ExitStatus> {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(editor);
    let programs = crate::sandbox::programs(boot);
    let Some(found) = programs.find(program) else {
        let why = filled(Word::NoSafeProgram, &[&program]);
        return Err(std::io::Error::other(why));
    };
    let mut command = std::process::Command::new(found);
    command.env("PATH", programs.path());
    // Editors read settings of the folder they start in, which is not to be the project.
    if let Some(folder) = path.parent() {
        command.current_dir(folder);
    }
    command.args(words).arg(path).status()
}
