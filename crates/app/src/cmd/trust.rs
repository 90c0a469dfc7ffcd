//! `ostler trust`: what a project's files would run, send or loosen, and the person's word on it. Also the question at
//! the start of a conversation. Nothing of the project takes part in how it is shown.

use super::choose::{self, Person};
use super::table::{self, Column};
use super::text;
use crate::boot::{self, Boot, UsageError};
use crate::config::files;
use crate::config::trust::{
    Answer, Approval, Book, Difference, MAX_ITEMS, Record, State, TrustError, Workspace,
};
use crate::exec::{FAILED, OK};
use crate::flags::{Listing, Trust};
use crate::lenient::Lenient;
use anyhow::{Context as _, anyhow};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(start: Lenient, args: Trust) -> anyhow::Result<u8> {
    match (args.list, args.remove) {
        (true, _) => list(&start.boot, args.format),
        (false, Some(path)) => remove(&start.boot, path),
        (false, None) => trust(&*start.strict()?, args.yes),
    }
}

/// Asks about a project that wants something and about which nothing was decided. Who cannot be asked gets the notice
/// that every start gives.
pub fn at_start(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    let workspace = &boot.loaded.workspace;
    let open = match workspace.state {
        State::Untrusted | State::Changed => workspace.items.len() <= MAX_ITEMS,
        State::NotNeeded | State::Trusted | State::ThisRun | State::Refused => false,
    };
    if !open || Person::look() == Person::Away {
        return Ok(boot);
    }
    text::say(shown(&boot.places.root, workspace).trim_end());
    let answer = loop {
        let question = "[t]rust it, [n]ot now, ne[v]er for this content: ";
        let line = choose::ask(question)?.unwrap_or_default();
        match line.to_ascii_lowercase().as_str() {
            "t" | "trust" => break Answer::Trusted,
            "v" | "never" => break Answer::Refused,
            "" | "n" | "no" | "not now" => return Ok(boot),
            _ => text::say("Type t, n or v."),
        }
    };
    match decide(&boot, answer) {
        Ok(()) => Ok(Arc::new(boot.anew()?)),
        Err(error) => {
            text::say(&format!("{error:#}"));
            Ok(boot)
        }
    }
}

fn trust(boot: &Boot, sure: bool) -> anyhow::Result<u8> {
    let workspace = &boot.loaded.workspace;
    match workspace.state {
        State::NotNeeded => {
            text::print("Nothing in this project needs trust.\n")?;
            return Ok(OK);
        }
        State::Trusted | State::ThisRun | State::Untrusted | State::Changed | State::Refused => {}
    }
    if workspace.items.len() > MAX_ITEMS {
        return Err(TrustError::TooMany(workspace.items.len()).into());
    }
    // Here the text goes through pipes as well, and is as foreign there.
    text::print(&text::visible(&shown(&boot.places.root, workspace)))?;
    if workspace.state == State::Trusted {
        return Ok(OK);
    }
    let yes = match (sure, Person::look()) {
        (true, _) => true,
        (false, Person::Here) => {
            let line = choose::ask("Trust it? [y/N] ")?.unwrap_or_default();
            matches!(line.to_ascii_lowercase().as_str(), "y" | "yes")
        }
        (false, Person::Away) => {
            let why = "nobody is there to ask; say yes with `ostler trust --yes`";
            return Err(UsageError(why.into()).into());
        }
    };
    if !yes {
        text::say("Nothing was changed.");
        return Ok(FAILED);
    }
    decide(boot, Answer::Trusted)?;
    text::print("Trusted. A change to any of this asks again.\n")?;
    Ok(OK)
}

/// Writes down what the person said to exactly the items that were shown.
fn decide(boot: &Boot, answer: Answer) -> anyhow::Result<()> {
    let Boot {
        global,
        env,
        places,
        loaded,
        ..
    } = boot;
    if answer == Answer::Trusted {
        let error = boot::load(global, (env, places), Approval::ThisRun).err();
        if let Some(error) = error {
            return Err(super::config::failed(boot, &error)
                .context("with this project trusted nothing would start; mend it first"));
        }
    }
    let now = jiff::Timestamp::now().to_string();
    let record = Record::new(answer, now, &loaded.workspace.items);
    write(boot, &places.root, Some(record))
}

fn write(boot: &Boot, root: &Path, record: Option<Record>) -> anyhow::Result<()> {
    let _lock = files::lock(&boot.places.home)
        .with_context(|| format!("{} cannot be locked", boot.places.home.display()))?;
    let path = boot.places.trust();
    let aside = Book::load(&path).set(&path, root, record)?;
    if let Some(aside) = aside {
        text::say(&format!(
            "{} was damaged; it is kept as {}",
            path.display(),
            aside.display()
        ));
    }
    Ok(())
}

/// The items as a table, with what became of them since they were trusted.
fn shown(root: &Path, workspace: &Workspace) -> String {
    let root = text::one_line(&root.display().to_string());
    let items = text::many(workspace.items.len(), "item");
    let head = match workspace.state {
        State::NotNeeded | State::Trusted => format!("{root} is trusted, with {items} in force:"),
        State::ThisRun => format!("{root} is trusted for this run only. With trust, this holds:"),
        State::Untrusted => format!("{root} is not trusted. With trust, this takes effect:"),
        State::Refused => format!("{root} was refused. With trust, this takes effect:"),
        State::Changed => {
            format!("{root} has changed since you trusted it. With trust, this takes effect:")
        }
    };
    let row = |mark: &str, what: &str, place: String, text: String| {
        let cells = [mark, what, &place, &text];
        cells.map(text::one_line).to_vec()
    };
    let rows: Vec<Vec<String>> = workspace
        .differences()
        .into_iter()
        .map(|difference| match difference {
            Difference::Added(item) => {
                let mark = match workspace.state {
                    State::Changed => "new",
                    State::NotNeeded
                    | State::Trusted
                    | State::ThisRun
                    | State::Untrusted
                    | State::Refused => "",
                };
                row(mark, &item.what, item.place.to_string(), item.text.clone())
            }
            Difference::Changed(item, old) => {
                let text = format!("{}   (was {})", item.text, old.text);
                row("changed", &item.what, item.place.to_string(), text)
            }
            Difference::Removed(old) => row("removed", &old.what, String::new(), old.text.clone()),
            Difference::Same(item) => {
                row("", &item.what, item.place.to_string(), item.text.clone())
            }
        })
        .collect();
    let columns = [
        Column::Left(""),
        Column::Left("what"),
        Column::Left("where"),
        Column::Left("text"),
    ];
    format!("{head}\n{}", table::render(&columns, &rows, None))
}

#[derive(Serialize)]
struct Listed<'a> {
    root: &'a str,
    answer: Answer,
    since: &'a str,
    items: &'a [crate::config::trust::Known],
}

fn list(boot: &Boot, format: Listing) -> anyhow::Result<u8> {
    let book = Book::load(&boot.places.trust());
    if let Some(fault) = &book.fault {
        return Err(anyhow!("{}", text::one_line(fault)));
    }
    let all: Vec<Listed<'_>> = book
        .workspaces
        .iter()
        .map(|(root, record)| Listed {
            root,
            answer: record.answer,
            since: &record.since,
            items: &record.items,
        })
        .collect();
    match format {
        Listing::Json => text::print_json(&all)?,
        Listing::Text if all.is_empty() => text::print("No project was decided about.\n")?,
        Listing::Text => {
            let row = |one: &Listed<'_>| {
                let answer = match one.answer {
                    Answer::Trusted => "trusted",
                    Answer::Refused => "refused",
                };
                let since = text::age(one.since, jiff::Timestamp::now());
                let items = one.items.len().to_string();
                let root = text::one_line(one.root);
                vec![answer.to_owned(), since, items, root]
            };
            let rows: Vec<Vec<String>> = all.iter().map(row).collect();
            let columns = [
                Column::Left("answer"),
                Column::Right("age"),
                Column::Right("items"),
                Column::Left("project"),
            ];
            text::print(&table::render(&columns, &rows, None))?;
        }
    }
    Ok(OK)
}

fn remove(boot: &Boot, path: Option<PathBuf>) -> anyhow::Result<u8> {
    let root = match path {
        None => boot.places.root.clone(),
        // A project that is gone is forgotten by its old name.
        Some(path) => {
            let whole = boot.places.cwd.join(path);
            whole.canonicalize().unwrap_or(whole)
        }
    };
    let shown = text::one_line(&root.display().to_string());
    if Book::load(&boot.places.trust()).record(&root).is_none() {
        return Err(anyhow!(
            "{shown} is not in the list; `ostler trust --list` shows it"
        ));
    }
    write(boot, &root, None)?;
    text::print(&format!("{shown} is not trusted any more.\n"))?;
    Ok(OK)
}
