//! `checkpoint`: the saved states of this project's tree, looked at, compared and brought back.

use super::context::{HubContext, report};
use crate::checkpoint::{
    Change, Covers, Error, Point, Record, Report as Restored, Scope, Side, TreeStore,
};
use jiff::Timestamp;
use ostler_confine::checkpoints;
use ostler_wire::{
    Column, ColumnKind, Report, Say, Table, View, Word, format_age, format_size, one_line,
    thousands,
};

#[derive(Debug)]
pub enum CheckpointRequest {
    List,
    Show(u64),
    Diff(u64, Point),
    Take(String, Scope),
    /// Until the store fits into so many bytes.
    Collect(u64),
}

/// Blocks: it reads and writes many files.
pub fn checkpoint(context: &HubContext, store: &TreeStore, request: &CheckpointRequest) -> View {
    let view = match request {
        CheckpointRequest::List => list(context, store),
        CheckpointRequest::Show(id) => store.get(*id).map(|record| show(context, &record)),
        CheckpointRequest::Diff(from, to) => store
            .diff(*from, *to)
            .map(|changes| View::Table(table_of_changes(context, &changes))),
        CheckpointRequest::Take(label, scope) => store
            .take(label, scope)
            .map(|record| taken(context, &record)),
        CheckpointRequest::Collect(quota) => store.gc(*quota).map(|collected| {
            let count = context.many(collected.removed.len(), Word::ManyCheckpoints);
            let sizes = [collected.bytes_before, collected.bytes_after].map(format_size);
            let text = context.fill(Word::CpRemoved, &[&count, &sizes[0], &sizes[1]]);
            report(text, &collected)
        }),
    };
    view.unwrap_or_else(|error| View::Error(error.say(context.language)))
}

fn list(context: &HubContext, store: &TreeStore) -> Result<View, Error> {
    let records = store.list()?;
    let now = Timestamp::now();
    let texts = |record: &Record| {
        vec![
            record.id.to_string(),
            format_age(&record.ts, now, context.language),
            thousands(record.stats.files),
            format_size(record.stats.added),
            context.say(holds(record.covers)).to_owned(),
            record.label.clone(),
        ]
    };
    let columns = vec![
        context.column(ColumnKind::Number, "id", Word::ColId),
        context.column(ColumnKind::Time, "ts", Word::ColAge),
        context.column(ColumnKind::Number, "", Word::ColFiles),
        context.column(ColumnKind::Number, "", Word::ColAdded),
        context.column(ColumnKind::Text, "covers", Word::ColHolds),
        context.column(ColumnKind::Prose, "label", Word::ColLabel),
    ];
    let summary = match records.is_empty() {
        true => String::new(),
        false => context.fill(Word::CpInAll, &[&format_size(store.bytes()?)]),
    };
    Ok(View::Table(Table {
        empty: context.say(Word::CpNone).into(),
        summary,
        ..Table::of_records(columns, &records, texts)
    }))
}

fn holds(covers: Covers) -> Word {
    match covers {
        Covers::Tree => Word::CpTree,
        Covers::Everything => Word::CpIgnoredToo,
        Covers::Paths => Word::CpSome,
    }
}

fn show(context: &HubContext, record: &Record) -> View {
    let seconds = record.ts.get(..19).unwrap_or(&record.ts);
    let files = usize::try_from(record.stats.files).unwrap_or(usize::MAX);
    let mut text = context.fill(
        Word::CpShown,
        &[
            &record.id.to_string(),
            &one_line(&record.label),
            &seconds.replace('T', " "),
            &format_age(&record.ts, Timestamp::now(), context.language),
            context.say(holds(record.covers)),
            &context.many(files, Word::Files),
            &format_size(record.stats.bytes),
        ],
    );
    if let Some(why) = record.degraded {
        let stopped = Error::Stopped(why, record.heaviest.clone());
        let why = checkpoints::reason(&stopped, context.language);
        text.push_str(&context.fill(Word::CpInPart, &[&why]));
    }
    if let Some(left) = record.history.as_ref().map(|h| h.left).filter(|l| *l > 0) {
        text.push_str(&match left {
            u64::MAX => context.say(Word::CpShowsNoHistory).to_owned(),
            left => context.fill(Word::CpShowsHistory, &[&format_size(left)]),
        });
    }
    for path in &record.named {
        text.push_str(&context.fill(Word::CpNamed, &[&one_line(path)]));
    }
    for left in &record.left_out {
        let (path, why) = (one_line(&left.path), one_line(&left.why));
        text.push_str(&context.fill(Word::CpLeftOut, &[&path, &why]));
    }
    report(text, record)
}

fn table_of_changes(context: &HubContext, changes: &[Change]) -> Table {
    let texts = |change: &Change| {
        let (mark, modes) = mark(context, change);
        vec![
            context.say(mark).to_owned(),
            format!("{}{modes}", change.path),
        ]
    };
    let columns = vec![
        Column::new(ColumnKind::Text, "", ""),
        Column::new(ColumnKind::Text, "path", ""),
    ];
    Table {
        empty: context.say(Word::CpNoDiffers).into(),
        ..Table::of_records(columns, changes, texts)
    }
}

/// What became of a path, and its modes where they differ.
fn mark(context: &HubContext, change: &Change) -> (Word, String) {
    let mode = |side: &Side| side.mode & 0o7777;
    match (&change.before, &change.after) {
        (None, _) => (Word::MarkAdded, String::new()),
        (_, None) => (Word::MarkRemoved, String::new()),
        (Some(a), Some(b)) if a.kind != b.kind => (Word::MarkReplaced, String::new()),
        (Some(a), Some(b)) if mode(a) != mode(b) => {
            let modes = [mode(a), mode(b)].map(|mode| format!("{mode:o}"));
            let modes = context.fill(Word::CpModes, &[&modes[0], &modes[1]]);
            (Word::MarkChanged, modes)
        }
        (Some(_), Some(_)) => (Word::MarkChanged, String::new()),
    }
}

fn taken(context: &HubContext, record: &Record) -> View {
    let files = usize::try_from(record.stats.files).unwrap_or(usize::MAX);
    let files = context.many(files, Word::Files);
    let left_out = record.left_out.iter().map(|left| {
        let values = [&*one_line(&left.path), &left.why];
        context.fill(Word::CpWasLeft, &values)
    });
    View::Report(Report {
        text: context.fill(Word::CpMade, &[&record.id.to_string(), &files]),
        value: serde_json::to_value(record).unwrap_or_default(),
        remarks: left_out.collect(),
        failed: false,
    })
}

/// What a restore did. The caller runs it, since the result is watched like that of a command.
pub fn restored(context: &HubContext, done: &Restored) -> View {
    let back = |path: &String| context.fill(Word::CpBack, &[&one_line(path)]);
    let mut text: String = done.changed.iter().map(back).collect();
    let paths = context.many(done.changed.len(), Word::ManyPaths);
    let (id, undo) = (done.restored.to_string(), done.before.to_string());
    text.push_str(&context.fill(Word::CpRestored, &[&paths, &id, &undo]));
    let left = done.kept.iter().map(|kept| {
        let why = kept.why.say(context.language);
        context.fill(Word::CpLeftAsIs, &[&one_line(&kept.path), &why])
    });
    View::Report(Report {
        text,
        value: serde_json::to_value(done).unwrap_or_default(),
        remarks: left.collect(),
        failed: !done.kept.is_empty(),
    })
}
