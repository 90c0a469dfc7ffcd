//! `ostler trust`: what a project's files would run, send or loosen, and the person's word on it. Also the question at
//! the start of a conversation. Nothing of the project takes part in how it is shown.

mod items;
mod summary;

use super::choose::{self, Person};
use super::panel::print_view;
use crate::boot::{self, Boot};
use crate::errors::UsageError;
use crate::exit::{FAILED, OK};
use crate::flags::Trust;
use crate::lenient::Lenient;
use crate::output;
use anyhow::{Context as _, anyhow};
use items::Layout;
use ostler_config::files;
use ostler_config::plugins::gather;
use ostler_config::project::SERVERS;
use ostler_config::text::Speak as _;
use ostler_config::trust::{
    Answer, Approval, Book, Difference, Item, MAX_ITEMS, Record, State, TrustError, Workspace,
};
use ostler_engine::confine::SandboxMode;
use ostler_mcp::server_name;
use ostler_wire::{
    self as wire, Ask, AskKind, Column, ColumnKind, Escape, Language, Silence, Table, View, Word,
    format_age,
};
use serde::Serialize;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Columns of the widest mark before an item.
const MARK_WIDTH: usize = 8;

pub fn run(start: Lenient, mut args: Trust) -> anyhow::Result<u8> {
    match (args.list, args.remove.take()) {
        (true, _) => print_view(&list(&start.boot)?, args.format),
        (false, Some(path)) => remove(&start.boot, path),
        (false, None) => trust(&*start.strict()?, &args),
    }
}

/// `None` for what decides.
pub fn view(boot: &Boot, args: &Trust) -> anyhow::Result<Option<View>> {
    args.list.then(|| list(boot)).transpose()
}

/// What the person can say at the start of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Trust,
    NotNow,
    Never,
}

impl Choice {
    const ALL: [Self; 3] = [Self::Trust, Self::NotNow, Self::Never];

    /// What an answer carries.
    pub fn id(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::NotNow => "not_now",
            Self::Never => "never",
        }
    }

    fn shown(self, language: Language) -> wire::Choice {
        let choice = |word, key| wire::Choice {
            key: Some(key),
            refuses: self != Self::Trust,
            // It outlives the session.
            confirm: self == Self::Trust,
            ..wire::Choice::new(self.id(), language.say(word))
        };
        match self {
            Self::Trust => {
                choice(Word::TrustYes, 't').with_detail(language.say(Word::TrustYesMeans))
            }
            Self::NotNow => choice(Word::TrustNotNow, 'n'),
            Self::Never => choice(Word::TrustNever, 'v'),
        }
    }
}

/// The question at the start of a conversation. Its name is that of exactly the content that it shows.
pub struct TrustQuestion {
    pub ask: Ask,
    /// Why the content cannot be trusted by an answer; that choice is not offered then.
    obstacle: Option<String>,
}

/// About a project that wants something and about which nothing was decided.
pub fn question(boot: &Boot) -> Option<TrustQuestion> {
    let language = boot.language;
    let workspace = &boot.loaded.workspace;
    let is_open = match workspace.state {
        State::Untrusted | State::Changed => workspace.items.len() <= MAX_ITEMS,
        State::NotNeeded | State::Trusted | State::ThisRun | State::Refused => false,
    };
    if !is_open {
        return None;
    }
    let list = shown(boot, workspace);
    let obstacle = too_long(workspace, list.rows, &[], language);
    let question = TrustQuestion::new(boot, &list.at_start(), obstacle);
    if !question.ask.is_too_long() {
        return Some(question);
    }
    let hash = summary::hash_of_all(&workspace.items);
    let short = items::short_hash(&hash);
    let obstacle = language.filled(Word::TrustTooMuch, &[&list.rows, &short]);
    Some(TrustQuestion::new(boot, &list.end(), Some(obstacle)))
}

impl TrustQuestion {
    fn new(boot: &Boot, list: &str, obstacle: Option<String>) -> Self {
        let language = boot.language;
        let hash = summary::hash_of_all(&boot.loaded.workspace.items);
        let is_offered = |choice: &Choice| *choice != Choice::Trust || obstacle.is_none();
        let offered = Choice::ALL.into_iter().filter(is_offered);
        let whole = match &obstacle {
            None => list.trim_end().to_owned(),
            Some(why) => format!("{}\n{why}", list.trim_end()),
        };
        let subject = match obstacle {
            None => Word::TrustQuestion,
            Some(_) => Word::TrustNoQuestion,
        };
        let ask = Ask {
            ask: format!("trust-{hash}"),
            kind: AskKind::Trust,
            subject: language.say(subject).into(),
            options: offered.map(|choice| choice.shown(language)).collect(),
            // Nothing of it drives a terminal, whichever front end shows it.
            preview: Some(output::redactor().text(output::visible(&whole))),
            silence: Silence {
                escape: Escape::Answer,
                ..Silence::refuses(Choice::NotNow.id())
            },
            ..Ask::default()
        };
        Self { ask, obstacle }
    }

    /// The choice with this id, if it was offered.
    pub fn choice(&self, id: &str) -> Option<Choice> {
        let is_offered = |choice: &Choice| self.ask.options.iter().any(|o| o.id == choice.id());
        let mut all = Choice::ALL.into_iter();
        all.find(|choice| choice.id() == id).filter(is_offered)
    }

    /// Puts it on the terminal; `None` where nobody is there.
    pub fn ask_in_lines(&self, language: Language) -> anyhow::Result<Option<Choice>> {
        if Person::look() == Person::Away {
            return Ok(None);
        }
        output::say(self.ask.preview.as_deref().unwrap_or_default());
        let question = language.say(match self.obstacle {
            None => Word::TrustKeys,
            Some(_) => Word::TrustKeysLong,
        });
        loop {
            let line = choose::ask_fresh(question, language)?.unwrap_or_default();
            match line.to_ascii_lowercase().as_str() {
                "t" | "trust" => match &self.obstacle {
                    None => return Ok(Some(Choice::Trust)),
                    Some(why) => output::say(why),
                },
                "v" | "never" => return Ok(Some(Choice::Never)),
                "" | "n" | "no" | "not now" => return Ok(Some(Choice::NotNow)),
                _ => output::say(language.say(Word::TrustType)),
            }
        }
    }
}

/// Writes down what the person said to the content of this configuration.
pub fn decide_now(boot: &Boot, choice: Choice) -> anyhow::Result<()> {
    match choice {
        Choice::Trust => decide(boot, Answer::Trusted),
        Choice::Never => decide(boot, Answer::Refused),
        Choice::NotNow => Ok(()),
    }
}

fn trust(boot: &Boot, args: &Trust) -> anyhow::Result<u8> {
    let language = boot.language;
    let workspace = &boot.loaded.workspace;
    match workspace.state {
        State::NotNeeded => {
            output::print(language.say(Word::TrustNothing))?;
            return Ok(OK);
        }
        State::Trusted | State::ThisRun | State::Untrusted | State::Changed | State::Refused => {}
    }
    if workspace.items.len() > MAX_ITEMS {
        return Err(TrustError::TooMany(workspace.items.len()).into());
    }
    // Here the text goes through pipes as well, and is as foreign there.
    let list = shown(boot, workspace);
    output::print(&output::visible(&list.whole()))?;
    if workspace.state == State::Trusted {
        return Ok(OK);
    }
    if let Some(why) = too_long(workspace, list.rows, &args.read, language) {
        return Err(anyhow!(why));
    }
    let yes = match (args.yes, Person::look()) {
        (true, _) => true,
        (false, Person::Here) => {
            let line =
                choose::ask_fresh(language.say(Word::TrustYesNo), language)?.unwrap_or_default();
            matches!(line.to_ascii_lowercase().as_str(), "y" | "yes")
        }
        (false, Person::Away) => {
            let why = language.say(Word::TrustNobody);
            return Err(UsageError(why.into()).into());
        }
    };
    if !yes {
        output::say(language.say(Word::Unchanged));
        return Ok(FAILED);
    }
    decide(boot, Answer::Trusted)?;
    output::print(language.say(Word::TrustDone))?;
    Ok(OK)
}

/// Why the person cannot trust what was shown: some of it was not, or it is more than anybody reads, and they did not name
/// it by its hash.
fn too_long(
    workspace: &Workspace,
    rows: usize,
    read: &[String],
    language: Language,
) -> Option<String> {
    let all = summary::hash_of_all(&workspace.items);
    if items::is_named(&all, read) {
        return None;
    }
    if summary::is_too_much(&workspace.items, rows, language) {
        return Some(language.filled(Word::TrustTooMuch, &[&rows, &items::short_hash(&all)]));
    }
    let long: Vec<&Item> = workspace
        .items
        .iter()
        .filter(|item| items::is_too_long(item, language))
        .collect();
    if long.iter().all(|item| items::is_named(&item.hash, read)) {
        return None;
    }
    let flag = |item: &&Item| format!("--read {}", items::short_hash(&item.hash));
    let flags: Vec<String> = long.iter().map(flag).collect();
    Some(language.filled(Word::TrustTooLong, &[&flags.join(" ")]))
}

/// Writes down what the person said to exactly the items that were shown.
fn decide(boot: &Boot, answer: Answer) -> anyhow::Result<()> {
    let language = boot.language;
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
            return Err(
                super::config::failed(boot, &error).context(language.say(Word::TrustBroken))
            );
        }
    }
    let now = jiff::Timestamp::now().to_string();
    let record = Record::new(answer, now, &loaded.workspace.items, language);
    write(boot, &places.root, Some(record))
}

fn write(boot: &Boot, root: &Path, record: Option<Record>) -> anyhow::Result<()> {
    let language = boot.language;
    let _lock = files::lock(&boot.places.home)
        .with_context(|| language.filled(Word::CannotBeLocked, &[&boot.places.home.display()]))?;
    let path = boot.places.trust();
    let aside = Book::load(&path).set(&path, root, record)?;
    if let Some(aside) = aside {
        output::say(&language.filled(Word::TrustDamaged, &[&path.display(), &aside.display()]));
    }
    Ok(())
}

/// What the person reads of a project before they decide.
struct Shown {
    head: String,
    /// The items as a table, with what became of them since they were trusted.
    table: String,
    /// Rows of the table.
    rows: usize,
    servers: String,
    summary: String,
    /// Columns of the terminal, if there is one.
    width: Option<usize>,
}

impl Shown {
    /// All of it, what is powerful last.
    fn whole(&self) -> String {
        let Self { head, table, .. } = self;
        format!("{}{table}{}", self.fold(head), self.fold(&self.tail()))
    }

    /// The same at the start of a conversation, where a list that nobody reads to its end is left out.
    fn at_start(&self) -> String {
        match summary::fits_window(self.rows) {
            true => self.whole(),
            false => self.end(),
        }
    }

    /// Without the list.
    fn end(&self) -> String {
        self.fold(&format!("{}{}", self.head, self.tail()))
    }

    fn tail(&self) -> String {
        format!("{}{}", self.servers, self.summary)
    }

    /// Lines that are wider than the terminal go on in marked rows.
    fn fold(&self, text: &str) -> String {
        let width = self
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(2).max(10));
        let rows = text.lines().flat_map(|line| items::folded(line, width));
        rows.map(|row| row + "\n").collect()
    }
}

fn shown(boot: &Boot, workspace: &Workspace) -> Shown {
    let language = boot.language;
    let root = output::one_line(&boot.places.root.display().to_string());
    let items = language.counted(workspace.items.len(), Word::ManyItems);
    let head = match workspace.state {
        State::NotNeeded | State::Trusted => language.filled(Word::TrustIs, &[&root, &items]),
        State::ThisRun => language.filled(Word::TrustIsRun, &[&root]),
        State::Untrusted => language.filled(Word::TrustIsNot, &[&root]),
        State::Refused => language.filled(Word::TrustIsRefused, &[&root]),
        State::Changed => language.filled(Word::TrustIsChanged, &[&root]),
    };
    let width = terminal_width();
    let marks = match workspace.state {
        State::Changed => MARK_WIDTH,
        State::NotNeeded | State::Trusted | State::ThisRun | State::Untrusted | State::Refused => 0,
    };
    let layout = Layout::new(width, marks);
    let differences = workspace.differences().into_iter();
    let rows: Vec<Vec<String>> = differences
        .flat_map(|difference| rows_of(difference, workspace.state, (layout, language)))
        .collect();
    let columns = [Word::ColWhat, Word::ColWhere, Word::ColText].map(|word| language.say(word));
    let columns = std::iter::once("").chain(columns).map(str::to_owned);
    let count = rows.len();
    Shown {
        head: format!("{head}\n"),
        table: Table::of_texts(columns.collect(), rows).plain(None),
        rows: count,
        servers: servers(boot, workspace),
        summary: summary::summary(&workspace.items, count, language),
        width,
    }
}

/// An item, row by row; only the first rows have its name and place.
fn rows_of(
    difference: Difference<'_>,
    state: State,
    (layout, language): (Layout, Language),
) -> Vec<Vec<String>> {
    let place = |item: &Item| item.place.to_string();
    let texts_of = |item: &Item| items::rows_of(item, layout.text, language);
    let (mark, what, place, texts) = match difference {
        Difference::Added(item) => {
            let mark = match state {
                State::Changed => language.say(Word::MarkNew),
                State::NotNeeded
                | State::Trusted
                | State::ThisRun
                | State::Untrusted
                | State::Refused => "",
            };
            (mark, &item.what, place(item), texts_of(item))
        }
        Difference::Changed(item, old) => {
            let mut texts = texts_of(item);
            let last = texts.pop().unwrap_or_default();
            let whole = language.filled(Word::WasInstead, &[&last, &items::one_row(&old.text)]);
            texts.extend(items::folded(&whole, layout.text));
            let mark = language.say(Word::MarkChanged);
            (mark, &item.what, place(item), texts)
        }
        Difference::Removed(old) => {
            let mark = language.say(Word::MarkRemoved);
            let texts = items::folded(&items::one_row(&old.text), layout.text);
            (mark, &old.what, String::new(), texts)
        }
        Difference::Same(item) => ("", &item.what, place(item), texts_of(item)),
    };
    let what = items::folded(&items::one_row(what), layout.what);
    let place = items::folded(&items::one_row(&place), layout.place);
    let count = texts.len().max(what.len()).max(place.len());
    let cell = |cells: &[String], at: usize| cells.get(at).cloned().unwrap_or_default();
    let row = |at: usize| {
        let mark = if at == 0 { mark } else { "" };
        let cells = [&what, &place, &texts].map(|cells| cell(cells, at));
        std::iter::once(mark.to_owned()).chain(cells).collect()
    };
    (0..count).map(row).collect()
}

/// The columns of the terminal that the list is shown on, which may be that of stderr.
fn terminal_width() -> Option<usize> {
    let is_terminal = io::stderr().is_terminal() && io::stdout().is_terminal();
    let size = is_terminal.then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| usize::from(width.0))
}

/// Which servers of the project run confined.
fn servers(boot: &Boot, workspace: &Workspace) -> String {
    let language = boot.language;
    let is_server = |what: &&str| {
        let mut keys = SERVERS.iter().chain(&["plugins"]);
        // Variables of a server are items of their own.
        !what.contains(" ${") && keys.any(|key| what.starts_with(&format!("{key}.")))
    };
    let items = workspace.items.iter().map(|item| item.what.as_str());
    let names: Vec<String> = items.filter(is_server).map(output::one_line).collect();
    if names.is_empty() {
        return String::new();
    }
    let confined =
        crate::grants::mode(boot) != SandboxMode::Off && crate::grants::active(boot).is_ok();
    let word = match confined {
        true => Word::TrustConfined,
        false => Word::TrustUnconfined,
    };
    language.filled(word, &[&names.join(", ")]) + &renamed(boot)
}

/// Which servers of the project are named like others, and what their tools are called.
fn renamed(boot: &Boot) -> String {
    let language = boot.language;
    let (global, places) = (&boot.global, &boot.places);
    let Ok(loaded) = boot::load(global, (&boot.env, places), Approval::ThisRun) else {
        return String::new();
    };
    let mut out = String::new();
    for one in gather(&loaded, places, &mut Vec::new()) {
        if let Some(written) = &one.written {
            let name = server_name(&one.plugin.name);
            let (written, place) = (output::one_line(written), output::one_line(&one.place));
            out.push_str(&language.filled(Word::TrustRenamed, &[&written, &place, &name]));
        }
    }
    out
}

#[derive(Serialize)]
struct Listed<'a> {
    root: &'a str,
    answer: Answer,
    since: &'a str,
    items: &'a [ostler_config::trust::Known],
}

/// What was said to which project.
pub fn list(boot: &Boot) -> anyhow::Result<View> {
    let language = boot.language;
    let book = Book::load(&boot.places.trust());
    if let Some(fault) = &book.fault {
        return Err(anyhow!("{}", output::one_line(&fault.say(language))));
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
    let texts = |one: &Listed<'_>| {
        let answer = match one.answer {
            Answer::Trusted => language.say(Word::AnswerTrusted),
            Answer::Refused => language.say(Word::AnswerRefused),
        };
        let since = format_age(one.since, jiff::Timestamp::now(), language);
        let items = one.items.len().to_string();
        vec![answer.to_owned(), since, items, one.root.to_owned()]
    };
    let columns = vec![
        Column::new(ColumnKind::Text, "answer", language.say(Word::ColAnswer)),
        Column::new(ColumnKind::Time, "since", language.say(Word::ColAge)),
        Column::new(ColumnKind::Number, "", language.say(Word::ColItems)),
        Column::new(ColumnKind::Text, "root", language.say(Word::ColProject)),
    ];
    Ok(View::Table(Table {
        empty: language.say(Word::TrustNoProject).into(),
        ..Table::of_records(columns, &all, texts)
    }))
}

fn remove(boot: &Boot, path: Option<PathBuf>) -> anyhow::Result<u8> {
    let language = boot.language;
    let root = match path {
        None => boot.places.root.clone(),
        // A project that is gone is forgotten by its old name.
        Some(path) => {
            let whole = boot.places.cwd.join(path);
            whole.canonicalize().unwrap_or(whole)
        }
    };
    let shown = output::one_line(&root.display().to_string());
    if Book::load(&boot.places.trust()).record(&root).is_none() {
        return Err(anyhow!(language.filled(Word::TrustNotListed, &[&shown])));
    }
    write(boot, &root, None)?;
    output::print(&language.filled(Word::TrustGone, &[&shown]))?;
    Ok(OK)
}
