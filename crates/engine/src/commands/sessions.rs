//! `sessions`: lists, shows, searches and deletes the sessions of this machine. `/resume` chooses from the same list.

use super::context::{HubContext, report};
use super::transcript;
use crate::history::{Hit, Query, Reach, Words};
use crate::log;
use crate::prefixes;
use crate::store::{DryRun, title};
use jiff::Timestamp;
use ostler_context::digest::archive;
use ostler_wire::{
    Act, Action, Cell, Column, ColumnKind, Deed, Entry, Open, Report, Row, SessionInfo, Table,
    View, Word, format_size, one_line, short_id,
};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Hits of a search that are shown.
const MAX_HITS: usize = 50;
/// How long a search works on its index before it shows what is there.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionsRequest {
    List(Projects),
    /// To read; programs read the export.
    Show(String),
    /// Messages with all of these; a word with blanks belongs together.
    Search(Vec<String>),
    Delete(String),
    Collect(Collect),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projects {
    This,
    All,
}

/// Deletes the oldest sessions until the rest fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collect {
    pub quota: u64,
    /// The quota as the person wrote it.
    pub written: String,
    pub dry_run: DryRun,
    pub prefixes: Prefixes,
}

/// Whether prompts that no session needs are deleted, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    Swept,
    /// Where sessions lie in projects, nobody knows them all.
    Left,
}

pub fn sessions(context: &HubContext, request: &SessionsRequest) -> View {
    let view = match request {
        SessionsRequest::List(projects) => list(context, *projects),
        SessionsRequest::Show(id) => show(context, id),
        SessionsRequest::Search(words) => search(context, words),
        SessionsRequest::Delete(id) => delete(context, id),
        SessionsRequest::Collect(wanted) => Ok(collect(context, wanted)),
    };
    view.unwrap_or_else(View::Error)
}

fn list(context: &HubContext, projects: Projects) -> Result<View, String> {
    let (listed, empty) = match projects {
        Projects::This => (context.store.list()?, Word::SesNoneHere),
        Projects::All => (context.store.list_all()?, Word::SesNone),
    };
    Ok(View::Table(Table {
        title: context.say(Word::SesTitle).into(),
        empty: context.say(empty).into(),
        ..table(context, listed, projects)
    }))
}

/// Sessions that can be resumed.
pub(super) fn table(
    context: &HubContext,
    sessions: impl IntoIterator<Item = SessionInfo>,
    projects: Projects,
) -> Table {
    let now = Timestamp::now();
    let row = |info: SessionInfo| {
        let title = match info.updated.is_empty() {
            // A log without a single readable line has no time either.
            true => Cell::named(context.say(Word::SesUnreadable), info.title),
            false => Cell::text(info.title),
        };
        Row {
            actions: actions(context, &info.id),
            ..Row::new(vec![
                Cell::id(&info.id),
                Cell::text(info.project),
                Cell::age(&info.updated, now, context.language),
                Cell::count(info.turns),
                Cell::cost(info.cost),
                title,
                Cell::data(&info.bytes),
            ])
        }
    };
    let project = match projects {
        Projects::This => Column::data("project"),
        Projects::All => context.column(ColumnKind::Text, "project", Word::ColProject),
    };
    let columns = vec![
        context.column(ColumnKind::Text, "id", Word::ColId),
        project,
        context.column(ColumnKind::Time, "updated", Word::ColAge),
        context.column(ColumnKind::Number, "turns", Word::ColTurns),
        context.column(ColumnKind::Number, "cost", Word::ColCost),
        context.column(ColumnKind::Prose, "title", Word::ColTitle),
        Column::data("bytes"),
    ];
    Table {
        label: "title".into(),
        ..Table::new(columns, sessions.into_iter().map(row).collect())
    }
}

/// What can be done with a session of this project.
pub(super) fn actions(context: &HubContext, id: &str) -> Vec<Action> {
    let action = |word: Word, open: Open| Action {
        label: context.say(word).into(),
        act: Act::Do(Deed::Open(open)),
    };
    vec![
        action(Word::ActResume, Open::Resume(id.to_owned())),
        action(Word::ActFork, Open::Fork(id.to_owned())),
    ]
}

/// The log of a session, and what was wrong with it.
pub(super) fn read(context: &HubContext, path: &Path) -> Result<(Vec<Entry>, Vec<String>), String> {
    let (entries, damage) = log::read(path).map_err(|error| error.say(context.language))?;
    Ok((
        entries,
        damage.notice(context.language).into_iter().collect(),
    ))
}

fn show(context: &HubContext, id: &str) -> Result<View, String> {
    let path = context.store.find(id)?;
    let (entries, remarks) = read(context, &path)?;
    Ok(View::Report(Report {
        text: transcript::render(&stem(&path), &log::branch(entries), context.language),
        remarks,
        ..Report::default()
    }))
}

fn search(context: &HubContext, words: &[String]) -> Result<View, String> {
    let quoted = |word: &String| match word.contains(char::is_whitespace) {
        true => format!("\"{}\"", word.replace('"', " ")),
        false => word.clone(),
    };
    let query = Query {
        text: words.iter().map(quoted).collect::<Vec<_>>().join(" "),
        words: Words::All,
        reach: Reach::Global,
        limit: MAX_HITS,
        patience: PATIENCE,
    };
    let history = context.store.history(&context.home, None);
    let found = history
        .search_widely(query, &|| false)
        .map_err(|error| error.say(context.language))?;
    let mut remarks: Vec<String> = found.notice(context.language).into_iter().collect();
    let hits = by_session(found.hits);
    if hits.is_empty() {
        remarks.push(context.fill(Word::SesNoMessage, &[&words.join(" ")]));
    } else if hits.len() == MAX_HITS {
        remarks.push(context.fill(Word::SesOnlyFirst, &[&MAX_HITS.to_string()]));
    }
    Ok(View::Report(Report {
        text: hit_lines(&hits),
        value: serde_json::to_value(&hits).unwrap_or_default(),
        remarks,
        ..Report::default()
    }))
}

/// The hits of a session one after the other, the session with the best one first.
fn by_session(mut hits: Vec<Hit>) -> Vec<Hit> {
    let mut order: Vec<String> = Vec::new();
    for hit in &hits {
        if !order.contains(&hit.session) {
            order.push(hit.session.clone());
        }
    }
    hits.sort_by_key(|hit| order.iter().position(|id| *id == hit.session));
    hits
}

fn hit_lines(hits: &[Hit]) -> String {
    let mut out = String::new();
    let mut session = "";
    for hit in hits {
        if hit.session != session {
            session = &hit.session;
            let title = one_line(&hit.title);
            out.push_str(&format!("{}  {title}\n", short_id(session)));
        }
        let text = one_line(&hit.text);
        out.push_str(&format!("    {:>4}  {text}\n", hit.entry));
    }
    out
}

fn delete(context: &HubContext, id: &str) -> Result<View, String> {
    let path = context.store.find(id)?;
    let id = stem(&path);
    if is_open(&path) {
        return Err(context.fill(Word::SesOpen, &[short_id(&id)]));
    }
    let title = log::read(&path)
        .map(|(entries, _)| title(&entries))
        .unwrap_or_default();
    let gone = context.store.delete(&id)?;
    archive::forget(&context.home, &gone);
    let text = context.fill(Word::SesGone, &[short_id(&gone), &one_line(&title)]);
    Ok(report(text, &gone))
}

fn is_open(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn collect(context: &HubContext, wanted: &Collect) -> View {
    if wanted.quota == 0 {
        return View::Report(Report {
            remarks: vec![context.say(Word::SesNoQuota).into()],
            ..Report::default()
        });
    }
    let gone = context.store.gc(wanted.quota, wanted.dry_run);
    let verb = match wanted.dry_run {
        DryRun::Yes => context.say(Word::SesWould),
        DryRun::No => {
            let ids = gone.iter().map(|(id, _)| id);
            ids.for_each(|id| archive::forget(&context.home, id));
            context.say(Word::SesDid)
        }
    };
    let line =
        |(id, bytes): &(String, u64)| format!("{verb} {}  {}\n", short_id(id), format_size(*bytes));
    let mut text: String = gone.iter().map(line).collect();
    text.push_str(&match gone.len() {
        0 => context.fill(Word::SesNothing, &[&wanted.written]),
        n => {
            let bytes = format_size(gone.iter().map(|(_, bytes)| bytes).sum());
            let count = context.many(n, Word::ManySessions);
            context.fill(Word::SesDeleted, &[verb, &count, &bytes, &wanted.written])
        }
    });
    let prefixes = sweep(context, wanted);
    if !prefixes.is_empty() {
        let bytes = format_size(prefixes.iter().map(|(_, bytes)| bytes).sum());
        let count = context.many(prefixes.len(), Word::ManyPrefixes);
        text.push_str(&context.fill(Word::SesPrefixes, &[verb, &count, &bytes]));
    }
    report(text, &gone)
}

fn sweep(context: &HubContext, wanted: &Collect) -> Vec<(String, u64)> {
    let used = match wanted.prefixes {
        Prefixes::Swept => context.store.prefixes(),
        Prefixes::Left => None,
    };
    used.map_or_else(Vec::new, |used| {
        prefixes::sweep(&context.home, &used, wanted.dry_run)
    })
}

/// The session, or the newest of this project.
pub(super) fn find(context: &HubContext, id: Option<&str>) -> Result<PathBuf, String> {
    match id {
        Some(id) => context.store.find(id),
        None => context.store.last(),
    }
}

/// The id of the session whose log this is.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}
