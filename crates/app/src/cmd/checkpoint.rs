//! `ostler checkpoint`: the saved states of this project's tree, looked at, compared and brought back.

use super::table::{self, Column};
use super::text;
use crate::boot::{Boot, UsageError};
use crate::config::units::ByteSize;
use crate::exec::{FAILED, OK};
use crate::flags::{Checkpoint, Listing};
use crate::speech::{filled, many, spoken};
use anyhow::anyhow;
use jiff::Timestamp;
use ostler_engine::checkpoint::{
    Change, Checkpoints, Covers, Error, Git, Guard, Ignored, Kept, Limits, Point, Record, Report,
    Scope, Side, Unseen, What,
};
use ostler_engine::confine::{Services, WatchedCall};
use ostler_wire::{Word, thousands};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub async fn run(boot: Arc<Boot>, args: Checkpoint) -> anyhow::Result<u8> {
    // It reads and writes many files; the runtime has other things to do.
    tokio::task::spawn_blocking(move || blocking(&boot, args)).await?
}

fn blocking(boot: &Boot, args: Checkpoint) -> anyhow::Result<u8> {
    let store = open(boot)?;
    match args {
        Checkpoint::List { format } => list(&store, format)?,
        Checkpoint::Show { id, format } => show(&store, id, format)?,
        Checkpoint::Diff { from, to, format } => {
            let to = to.map_or(Point::Now, Point::At);
            changes(&store.diff(from, to)?, format)?;
        }
        Checkpoint::Take { label, ignored } => {
            let ignored = match ignored {
                true => Ignored::Saved,
                false => Ignored::LeftOut,
            };
            let label = label.unwrap_or_else(|| spoken(Word::CpByHand).into());
            let scope = Scope {
                ignored,
                ..Scope::default()
            };
            let record = store.take(&label, &scope)?;
            let files = usize::try_from(record.stats.files).unwrap_or(usize::MAX);
            let files = many(files, Word::Files);
            text::print(&filled(Word::CpMade, &[&record.id, &files]))?;
            left_out(&record);
        }
        Checkpoint::Restore(args) => {
            let what = What {
                paths: args.paths.iter().map(|p| boot.places.cwd.join(p)).collect(),
                git: if args.git { Git::Restored } else { Git::Left },
            };
            let unseen = match (args.force, args.keep) {
                (true, _) => Unseen::Overwrite,
                (false, true) => Unseen::Keep,
                (false, false) => Unseen::Refuse,
            };
            let guard = Guard {
                expected: None,
                unseen,
            };
            let report = restore(boot, &store, (args.id, &what, &guard))?;
            return restored(&report, args.format);
        }
        Checkpoint::Gc { quota, format } => gc(boot, &store, (quota, format))?,
    }
    Ok(OK)
}

/// Brings files back. A checkpoint may hold what a command left running wrote, so the result is judged like that of a
/// command: what is protected stays as it is unless the person names it, and repositories are cleaned.
fn restore(
    boot: &Boot,
    store: &Checkpoints,
    (id, what, guard): (u64, &What, &Guard),
) -> anyhow::Result<Report> {
    let mut sandbox = crate::sandbox::settings(boot)?;
    let is_named = |path: &PathBuf| what.paths.contains(path);
    sandbox.policy.protect.retain(|path| !is_named(path));
    sandbox.policy.compared.retain(|path| !is_named(path));
    let services = Services {
        call_id: "restore".into(),
        root: Some(boot.places.root.clone()),
        user_home: boot.places.user_home.clone(),
        ..Services::without_session(boot.host(), sandbox)
    };
    let runtime = tokio::runtime::Handle::current();
    let watched = runtime.block_on(WatchedCall::begin_restore(services));
    let report = store.restore(id, what, guard);
    let refused = watched.map(|watched| runtime.block_on(watched.end_wholly()));
    let hint = spoken(Word::CpKeepForce);
    let mut report = report.map_err(|e| match e {
        Error::Unseen { .. } => anyhow!("{e}. {hint}"),
        other => other.into(),
    })?;
    for path in refused.into_iter().flatten() {
        let name = path.strip_prefix(&boot.places.root).unwrap_or(&path);
        let path = name.display().to_string();
        report.changed.retain(|changed| *changed != path);
        let why = Word::CpNotRestored.into();
        report.kept.push(Kept { path, why });
    }
    Ok(report)
}

/// What checkpoints of sessions may cost; none when the configuration wants none.
pub fn wanted(boot: &Boot) -> Option<Limits> {
    boot.loaded.config.context.checkpoints.then(|| limits(boot))
}

fn limits(boot: &Boot) -> Limits {
    let context = &boot.loaded.config.context;
    Limits {
        quota: context.checkpoint_quota.0,
        history: context.checkpoint_history.0,
        time: Duration::from_secs(context.checkpoint_seconds),
        user_home: boot.places.user_home.clone(),
        excluded: vec![boot.places.home.clone(), boot.sessions_dir()],
        ..Limits::default()
    }
}

fn open(boot: &Boot) -> anyhow::Result<Checkpoints> {
    let limits = limits(boot);
    let dir = ostler_engine::store::checkpoints_dir(&boot.places.home, &boot.places.root);
    Ok(Checkpoints::open(&dir, &boot.places.root, limits)?)
}

fn list(store: &Checkpoints, format: Listing) -> anyhow::Result<()> {
    let records = store.list()?;
    match format {
        Listing::Json => text::print_json(&records),
        Listing::Text if records.is_empty() => {
            text::say(spoken(Word::CpNone));
            Ok(())
        }
        Listing::Text => {
            let now = Timestamp::now();
            let rows: Vec<Vec<String>> = records.iter().map(|r| row(r, now)).collect();
            let columns = [
                Column::Right(spoken(Word::ColId)),
                Column::Right(spoken(Word::ColAge)),
                Column::Right(spoken(Word::ColFiles)),
                Column::Right(spoken(Word::ColAdded)),
                Column::Left(spoken(Word::ColHolds)),
                Column::Flexible(spoken(Word::ColLabel)),
            ];
            let mut out = table::render(&columns, &rows, table::terminal_width());
            out.push_str(&filled(Word::CpInAll, &[&text::size(store.bytes()?)]));
            text::print(&out)
        }
    }
}

fn row(record: &Record, now: Timestamp) -> Vec<String> {
    vec![
        record.id.to_string(),
        text::age(&record.ts, now),
        thousands(record.stats.files),
        text::size(record.stats.added),
        holds(record.covers).into(),
        text::one_line(&record.label),
    ]
}

fn holds(covers: Covers) -> &'static str {
    match covers {
        Covers::Tree => spoken(Word::CpTree),
        Covers::Everything => spoken(Word::CpIgnoredToo),
        Covers::Paths => spoken(Word::CpSome),
    }
}

fn show(store: &Checkpoints, id: u64, format: Listing) -> anyhow::Result<()> {
    let record = store.get(id)?;
    if format == Listing::Json {
        return text::print_json(&record);
    }
    let seconds = record.ts.get(..19).unwrap_or(&record.ts);
    let files = usize::try_from(record.stats.files).unwrap_or(usize::MAX);
    let mut out = filled(
        Word::CpShown,
        &[
            &id,
            &text::one_line(&record.label),
            &seconds.replace('T', " "),
            &text::age(&record.ts, Timestamp::now()),
            &holds(record.covers),
            &many(files, Word::Files),
            &text::size(record.stats.bytes),
        ],
    );
    if let Some(why) = record.degraded {
        out.push_str(&filled(Word::CpInPart, &[&spoken(why.word())]));
    }
    if let Some(left) = record.history.as_ref().map(|h| h.left).filter(|l| *l > 0) {
        out.push_str(&match left {
            u64::MAX => spoken(Word::CpShowsNoHistory).to_owned(),
            left => filled(Word::CpShowsHistory, &[&text::size(left)]),
        });
    }
    for path in &record.named {
        out.push_str(&filled(Word::CpNamed, &[&text::one_line(path)]));
    }
    for left in &record.left_out {
        let (path, why) = (text::one_line(&left.path), text::one_line(&left.why));
        out.push_str(&filled(Word::CpLeftOut, &[&path, &why]));
    }
    text::print(&out)
}

fn changes(changes: &[Change], format: Listing) -> anyhow::Result<()> {
    match format {
        Listing::Json => text::print_json(&changes),
        Listing::Text if changes.is_empty() => {
            text::say(spoken(Word::CpNoDiffers));
            Ok(())
        }
        Listing::Text => text::print(&changes.iter().map(line).collect::<String>()),
    }
}

fn line(change: &Change) -> String {
    let mode = |side: &Side| side.mode & 0o7777;
    let (mark, note) = match (&change.before, &change.after) {
        (None, _) => (spoken(Word::MarkAdded), String::new()),
        (_, None) => (spoken(Word::MarkRemoved), String::new()),
        (Some(a), Some(b)) if a.kind != b.kind => (spoken(Word::MarkReplaced), String::new()),
        (Some(a), Some(b)) if mode(a) != mode(b) => (
            spoken(Word::MarkChanged),
            filled(
                Word::CpModes,
                &[
                    &format_args!("{:o}", mode(a)),
                    &format_args!("{:o}", mode(b)),
                ],
            ),
        ),
        (Some(_), Some(_)) => (spoken(Word::MarkChanged), String::new()),
    };
    format!(
        "{}  {}{note}\n",
        table::pad(mark, 8),
        text::one_line(&change.path)
    )
}

fn restored(report: &Report, format: Listing) -> anyhow::Result<u8> {
    let code = if report.kept.is_empty() { OK } else { FAILED };
    if format == Listing::Json {
        text::print_json(report)?;
        return Ok(code);
    }
    let mut out: String = report
        .changed
        .iter()
        .map(|path| filled(Word::CpBack, &[&text::one_line(path)]))
        .collect();
    let paths = many(report.changed.len(), Word::ManyPaths);
    out.push_str(&filled(
        Word::CpRestored,
        &[&paths, &report.restored, &report.before],
    ));
    text::print(&out)?;
    for kept in &report.kept {
        text::say(&filled(
            Word::CpLeftAsIs,
            &[&text::one_line(&kept.path), &kept.why],
        ));
    }
    Ok(code)
}

fn gc(
    boot: &Boot,
    store: &Checkpoints,
    (quota, format): (Option<String>, Listing),
) -> anyhow::Result<()> {
    let quota = match quota {
        None => limits(boot).quota,
        Some(written) => {
            let size = ByteSize::parse(&written)
                .ok_or_else(|| UsageError(filled(Word::BadQuota, &[&written])))?;
            size.0
        }
    };
    let collected = store.gc(quota)?;
    if format == Listing::Json {
        return text::print_json(&collected);
    }
    text::print(&filled(
        Word::CpRemoved,
        &[
            &many(collected.removed.len(), Word::ManyCheckpoints),
            &text::size(collected.bytes_before),
            &text::size(collected.bytes_after),
        ],
    ))
}

fn left_out(record: &Record) {
    for left in &record.left_out {
        text::say(&filled(
            Word::CpWasLeft,
            &[&text::one_line(&left.path), &left.why],
        ));
    }
}
