//! `ostler sessions`: lists, shows, searches, exports and deletes sessions. Going on with one is `resume`.

use super::mcp::check_link;
use super::table::{self, Column};
use super::{resume, text, transcript};
use crate::boot::{Boot, UsageError};
use crate::config::files;
use crate::config::schema::SessionLocation;
use crate::config::units::ByteSize;
use crate::exec::OK;
use crate::flags::{ExportFormat, Listing, Sessions};
use crate::lenient::Lenient;
use crate::speech::{filled, many, spoken};
use anyhow::{Context as _, anyhow, bail};
use jiff::Timestamp;
use ostler_engine::compaction;
use ostler_engine::export;
use ostler_engine::history::{Found, HistoryError, Hit, Query, Reach, Words};
use ostler_engine::log;
use ostler_engine::store::{DryRun, title};
use ostler_wire::{Entry, SessionInfo, Word};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Hits of a search that are shown.
const MAX_HITS: usize = 50;
/// How long a search works on its index before it shows what is there.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(start: Lenient, args: Sessions) -> anyhow::Result<u8> {
    match args {
        Sessions::Resume(args) => return resume::run(start.strict()?, args).await,
        Sessions::List { all, format } => list(
            &start.warned(),
            if all { Which::All } else { Which::Project },
            format,
        )?,
        Sessions::Show { id, format } => show(&start.warned(), &id, format)?,
        Sessions::Search { words, format } => search(&start.warned(), &words, format)?,
        Sessions::Export { id, format, out } => export_to(&start.warned(), &id, format, out)?,
        Sessions::Delete { id } => delete(&start.warned(), &id)?,
        // With half a configuration the quota may be another one than the person set.
        Sessions::Gc {
            quota: None,
            dry_run,
        } => {
            let boot = start.strict()?;
            gc(&boot, boot.loaded.config.sessions.quota, dry(dry_run))?;
        }
        Sessions::Gc {
            quota: Some(written),
            dry_run,
        } => {
            let quota = ByteSize::parse(&written)
                .ok_or_else(|| UsageError(filled(Word::BadQuota, &[&written])))?;
            gc(&start.warned(), quota, dry(dry_run))?;
        }
    }
    Ok(OK)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Project,
    All,
}

fn dry(dry_run: bool) -> DryRun {
    if dry_run { DryRun::Yes } else { DryRun::No }
}

fn list(boot: &Boot, which: Which, format: Listing) -> anyhow::Result<()> {
    let store = boot.store();
    let sessions = match which {
        Which::Project => store.list(),
        Which::All => store.list_all(),
    };
    let sessions = sessions.map_err(|e| anyhow!(e))?;
    match (format, sessions.is_empty(), which) {
        (Listing::Json, _, _) => text::print_json(&sessions),
        (Listing::Text, true, Which::Project) => {
            text::say(spoken(Word::SesNoneHere));
            Ok(())
        }
        (Listing::Text, true, Which::All) => {
            text::say(spoken(Word::SesNone));
            Ok(())
        }
        (Listing::Text, false, which) => text::print(&drawn(&sessions, which)),
    }
}

fn drawn(sessions: &[SessionInfo], which: Which) -> String {
    let now = Timestamp::now();
    let mut columns = vec![
        Column::Left(spoken(Word::ColId)),
        Column::Right(spoken(Word::ColAge)),
        Column::Right(spoken(Word::ColTurns)),
        Column::Right(spoken(Word::ColCost)),
        Column::Flexible(spoken(Word::ColTitle)),
    ];
    if which == Which::All {
        columns.insert(1, Column::Left(spoken(Word::ColProject)));
    }
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            // A log without a single readable line has no time either.
            let title = if session.updated.is_empty() {
                spoken(Word::SesUnreadable)
            } else {
                &session.title
            };
            let mut row = vec![
                text::short(&session.id).to_owned(),
                text::age(&session.updated, now),
                session.turns.to_string(),
                text::cost(session.cost),
                text::one_line(title),
            ];
            if which == Which::All {
                row.insert(1, text::one_line(&session.project));
            }
            row
        })
        .collect();
    table::render(&columns, &rows, table::terminal_width())
}

/// The log of a session, with a word about what was wrong with it.
fn read(boot: &Boot, id: &str) -> anyhow::Result<(PathBuf, Vec<Entry>)> {
    let path = boot.store().find(id).map_err(|e| anyhow!(e))?;
    let (entries, damage) = log::read(&path)?;
    if let Some(notice) = damage.notice(crate::speech::language()) {
        text::say(&notice);
    }
    Ok((path, entries))
}

fn show(boot: &Boot, id: &str, format: Listing) -> anyhow::Result<()> {
    let (path, entries) = read(boot, id)?;
    match format {
        Listing::Json => text::print_foreign(&export::json(&entries)),
        Listing::Text => {
            text::print_foreign(&transcript::render(&stem(&path), &log::branch(entries)))
        }
    }
}

fn search(boot: &Boot, words: &[String], format: Listing) -> anyhow::Result<()> {
    // What the shell took as one word belongs together.
    let held = |word: &String| match word.contains(char::is_whitespace) {
        true => format!("\"{}\"", word.replace('"', " ")),
        false => word.clone(),
    };
    let query = Query {
        text: words.iter().map(held).collect::<Vec<_>>().join(" "),
        words: Words::All,
        reach: Reach::Global,
        limit: MAX_HITS,
        patience: PATIENCE,
    };
    let history = boot.store().history(&boot.places.home, None);
    let found = match history.search(&query, &|| false) {
        // Nothing but signs has no words in it, and so is nowhere.
        Err(HistoryError::NoWords) => Found::default(),
        other => other.map_err(|error| anyhow!(error.say(crate::speech::language())))?,
    };
    if let Some(notice) = found.notice(crate::speech::language()) {
        text::say(&notice);
    }
    let hits = together(found.hits);
    match format {
        Listing::Json => text::print_json(&hits),
        Listing::Text if hits.is_empty() => {
            text::say(&filled(Word::SesNoMessage, &[&words.join(" ")]));
            Ok(())
        }
        Listing::Text => {
            text::print(&listed(&hits))?;
            if hits.len() == MAX_HITS {
                text::say(&filled(Word::SesOnlyFirst, &[&MAX_HITS]));
            }
            Ok(())
        }
    }
}

/// The hits of a session one after the other, the session with the best one first.
fn together(hits: Vec<Hit>) -> Vec<Hit> {
    let mut order: Vec<String> = Vec::new();
    for hit in &hits {
        if !order.contains(&hit.session) {
            order.push(hit.session.clone());
        }
    }
    let mut hits = hits;
    hits.sort_by_key(|hit| order.iter().position(|id| *id == hit.session));
    hits
}

fn listed(hits: &[Hit]) -> String {
    let mut out = String::new();
    let mut session = "";
    for hit in hits {
        if hit.session != session {
            session = &hit.session;
            out.push_str(&format!(
                "{}  {}\n",
                text::short(session),
                text::one_line(&hit.title)
            ));
        }
        out.push_str(&format!(
            "    {:>4}  {}\n",
            hit.entry,
            text::one_line(&hit.text)
        ));
    }
    out
}

fn export_to(
    boot: &Boot,
    id: &str,
    format: ExportFormat,
    out: Option<PathBuf>,
) -> anyhow::Result<()> {
    let (_, entries) = read(boot, id)?;
    let document = match format {
        ExportFormat::Json => export::json(&entries),
        ExportFormat::Md => export::markdown(&log::branch(entries)),
        ExportFormat::Html => export::html(&log::branch(entries)),
    };
    let Some(out) = out else {
        return text::print_foreign(&document);
    };
    let path = boot.places.cwd.join(&out);
    check_link(boot, &path)?;
    files::write_document(&path, document.as_bytes())
        .with_context(|| filled(Word::CannotBeWritten, &[&out.display()]))?;
    text::say(&filled(Word::Wrote, &[&out.display()]));
    Ok(())
}

fn delete(boot: &Boot, id: &str) -> anyhow::Result<()> {
    let store = boot.store();
    let path = store.find(id).map_err(|e| anyhow!(e))?;
    if is_open(&path) {
        bail!(filled(Word::SesOpen, &[&text::short(&stem(&path))]));
    }
    let title = log::read(&path)
        .map(|(entries, _)| title(&entries))
        .unwrap_or_default();
    let gone = store.delete(&stem(&path)).map_err(|e| anyhow!(e))?;
    compaction::forget(&boot.places.home, &gone);
    text::print(&filled(
        Word::SesGone,
        &[&text::short(&gone), &text::one_line(&title)],
    ))
}

fn is_open(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn gc(boot: &Boot, quota: ByteSize, dry_run: DryRun) -> anyhow::Result<()> {
    if quota.0 == 0 {
        text::say(spoken(Word::SesNoQuota));
        return Ok(());
    }
    let gone = boot.store().gc(quota.0, dry_run);
    if dry_run == DryRun::No {
        for (id, _) in &gone {
            compaction::forget(&boot.places.home, id);
        }
    }
    let verb = match dry_run {
        DryRun::Yes => spoken(Word::SesWould),
        DryRun::No => spoken(Word::SesDid),
    };
    let mut out: String = gone
        .iter()
        .map(|(id, bytes)| format!("{verb} {}  {}\n", text::short(id), text::size(*bytes)))
        .collect();
    let bytes = gone.iter().map(|(_, bytes)| bytes).sum();
    out.push_str(&match gone.len() {
        0 => filled(Word::SesNothing, &[&quota]),
        n => filled(
            Word::SesDeleted,
            &[
                &verb,
                &many(n, Word::ManySessions),
                &text::size(bytes),
                &quota,
            ],
        ),
    });
    let prefixes = sweep(boot, dry_run);
    if !prefixes.is_empty() {
        let bytes = prefixes.iter().map(|(_, bytes)| bytes).sum();
        out.push_str(&filled(
            Word::SesPrefixes,
            &[
                &verb,
                &many(prefixes.len(), Word::ManyPrefixes),
                &text::size(bytes),
            ],
        ));
    }
    text::print(&out)
}

/// Where sessions lie in projects, nobody knows them all.
fn sweep(boot: &Boot, dry_run: DryRun) -> Vec<(String, u64)> {
    let used = match boot.loaded.config.sessions.location {
        SessionLocation::Home => boot.store().prefixes(),
        SessionLocation::Project => None,
    };
    used.map_or_else(Vec::new, |used| {
        ostler_engine::prefixes::sweep(&boot.places.home, &used, dry_run)
    })
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}
