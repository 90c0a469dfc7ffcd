//! Puts files of a project back: all of them or one, and not what somebody else changed meanwhile unless the person says so.

use super::{MAX_NAMED, item, leave};
use crate::checkpoint::{
    Error, Guard, Point as Moment, Report, Scope, Span, TreeStore, Unseen, What,
};
use ostler_confine::checkpoints::{self, Place};
use ostler_confine::{Services, WatchedCall};
use ostler_state::session::Session;
use ostler_wire::{Act, Item, Language, List, Saved, View, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files to be put back, and how.
pub struct Files {
    /// Only this, by its whole path.
    pub only: Option<PathBuf>,
    pub tree: Saved,
    pub also: Vec<Saved>,
    pub seen: Option<Saved>,
    pub unseen: Unseen,
    /// Trees between which somebody else changed files.
    pub between: Vec<(Saved, Saved)>,
}

/// What was put back, with the trees around it.
pub struct Restored {
    pub before: Saved,
    pub after: Saved,
    /// The tree as the session has seen it.
    pub seen: Saved,
    pub changed: Vec<String>,
    pub kept: Vec<String>,
    /// Something that commands had left in the background was ended for it.
    pub ended: bool,
}

/// Puts files back. What stands in the way is a view: the files that changed unseen, with what to do about them.
pub async fn put_back(session: &mut Session, files: Files, again: &str) -> Result<Restored, View> {
    put_back_or(session, files, |how| format!("{again} {how}")).await
}

/// `again` is the command that does the same with another answer to what changed unseen.
pub async fn put_back_or(
    session: &mut Session,
    files: Files,
    again: impl Fn(&str) -> String,
) -> Result<Restored, View> {
    let language = session.options.run.language;
    let Some(place) = session.state.services.checkpoints.place() else {
        return Err(View::Error(language.say(Word::RewindNoFiles).into()));
    };
    let writing = session.state.services.writing.clone();
    let _turn = writing.acquire_owned().await;
    // What still runs could change files at the same time, and has no part in what comes back.
    let ended = session.state.services.sandbox.share.end_leftovers().await;
    // What commands left in a checkpoint is judged like what they leave in the project.
    let watched = WatchedCall::begin_restore(services(session)).await;
    let (opened, label) = (place.clone(), language.say(Word::CpProtected));
    // Not to be dropped half way: what it did has to be written down.
    let work = tokio::task::spawn_blocking(move || restore(&opened, &files)).await;
    let refused = match watched {
        Some(watched) => watched.end_wholly().await,
        None => Vec::new(),
    };
    let root = session.state.scope.root.clone();
    let leave = |done: Restored| {
        let work = move || leave_out(done, &refused, (&place, &root), label);
        tokio::task::spawn_blocking(work)
    };
    let work = match work {
        Ok(Ok(done)) => leave(done).await,
        Ok(Err(error)) => Ok(Err(error)),
        Err(error) => Err(error),
    };
    match work {
        Ok(Ok(done)) => Ok(Restored { ended, ..done }),
        Ok(Err(Error::Unseen { paths, .. })) => Err(unseen_list(&paths, again, language)),
        Ok(Err(error)) => {
            let why = checkpoints::reason(&error, language);
            Err(View::Error(language.fill(Word::RewindFailed, &[&why])))
        }
        Err(error) => Err(View::Error(error.to_string())),
    }
}

/// What looking at the files afterwards takes from the session.
fn services(session: &Session) -> Services {
    let (services, scope) = (&session.state.services, &session.state.scope);
    Services {
        share: services.sandbox.share.clone(),
        artifacts: Some(services.artifacts.clone()),
        call_id: "rewind".into(),
        root: Some(scope.root.clone()),
        user_home: scope.user_home.clone(),
        ..Services::without_session(services.host.clone(), services.sandbox.settings())
    }
}

/// Names what was not brought back after all. The tree is another one than the restore left.
fn leave_out(
    mut done: Restored,
    refused: &[PathBuf],
    (place, root): (&Arc<Place>, &Path),
    label: &str,
) -> Result<Restored, Error> {
    if refused.is_empty() {
        return Ok(done);
    }
    for path in refused {
        let name = path.strip_prefix(root).unwrap_or(path);
        let name = name.display().to_string();
        done.changed.retain(|changed| *changed != name);
        done.kept.push(name);
    }
    let store = place.open()?;
    let record = match store.take(label, &Scope::default()) {
        // Files came back all the same.
        Err(Error::Stopped(..)) => return Ok(done),
        taken => taken?,
    };
    let saved = checkpoints::saved(&record, store.place().map(str::to_owned));
    if done.seen == done.after {
        done.seen = saved.clone();
    }
    done.after = saved;
    Ok(done)
}

fn restore(place: &Arc<Place>, files: &Files) -> Result<Restored, Error> {
    let store = place.open()?;
    let target = checkpoints::find(&store, &files.tree)?;
    let seen = files
        .seen
        .as_ref()
        .map(|seen| checkpoints::find(&store, seen));
    let guard = Guard {
        expected: seen.transpose().ok().flatten().map(|record| record.id),
        unseen: files.unseen,
    };
    let span = |(from, to): &(Saved, Saved)| {
        let from = checkpoints::find(&store, from).ok()?.id;
        let to = checkpoints::find(&store, to).ok()?.id;
        Some(Span { from, to })
    };
    let spans: Vec<Span> = files.between.iter().filter_map(span).collect();
    let what = What {
        paths: files.only.iter().cloned().collect(),
        ..What::default()
    };
    let mut report = store.restore_across(target.id, &what, &guard, &spans)?;
    let before = saved_as(&store, report.before)?;
    // Ignored files that went later; those that somebody has made anew stay.
    let unseen = match files.unseen {
        Unseen::Refuse | Unseen::Keep => Unseen::Keep,
        Unseen::Overwrite => Unseen::Overwrite,
    };
    for also in &files.also {
        let Ok(record) = checkpoints::find(&store, also) else {
            continue;
        };
        let guard = Guard {
            expected: None,
            unseen,
        };
        add(&mut report, store.restore(record.id, &what, &guard)?);
    }
    Ok(Restored {
        before,
        after: saved_as(&store, report.after)?,
        seen: seen_after(&store, files, &report)?,
        changed: report.changed,
        kept: report.kept.into_iter().map(|kept| kept.path).collect(),
        ended: false,
    })
}

/// The tree as the session has seen it. Where one file came back, what somebody changed elsewhere stays unseen.
fn seen_after(store: &TreeStore, files: &Files, report: &Report) -> Result<Saved, Error> {
    let after = || saved_as(store, report.after);
    let (Some(_), Some(seen)) = (&files.only, &files.seen) else {
        return after();
    };
    let known = checkpoints::find(store, seen)?.id;
    match store.tally(known, Moment::At(report.before))?.files {
        0 => after(),
        _ => Ok(seen.clone()),
    }
}

fn saved_as(store: &TreeStore, id: u64) -> Result<Saved, Error> {
    let place = store.place().map(str::to_owned);
    Ok(checkpoints::saved(&store.get(id)?, place))
}

fn add(report: &mut Report, more: Report) {
    report.changed.extend(more.changed);
    report.kept.extend(more.kept);
}

/// Files that nobody saw change, and what can be done about them.
fn unseen_list(paths: &[String], again: impl Fn(&str) -> String, language: Language) -> View {
    let act = |how: &str| Act::Command(again(how));
    let choice = |word: Word, act: Act| {
        let label = language.say(word);
        item(label, "", act, label)
    };
    let mut items = vec![
        choice(Word::RewindKeep, act("keep")),
        choice(Word::RewindForce, act("force")),
        leave(language),
    ];
    let shown = paths.iter().take(MAX_NAMED).map(|path| Item {
        label: format!("  {path}"),
        ..Item::default()
    });
    items.extend(shown);
    if let Some(more @ 1..) = paths.len().checked_sub(MAX_NAMED) {
        items.push(Item {
            label: format!("  {}", language.fill(Word::AndMore, &[&more.to_string()])),
            ..Item::default()
        });
    }
    View::List(List {
        title: language.many(Word::RewindUnseen, paths.len(), &[&paths.len().to_string()]),
        items,
        ..List::default()
    })
}
