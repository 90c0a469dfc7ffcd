//! `/rewind`: takes back what was done since the person said something: the files, the conversation, or both. Taking it
//! back can itself be taken back.

use super::tasks::refusal;
use super::{REWIND, Work};
use crate::checkpoint::{
    Error, Guard, Point as Moment, Report, Scope, Span, Tally, TreeStore, Unseen, What,
};
use crate::checkpoints::{self, Place};
use crate::confine::{Services, WatchedCall};
use crate::cut::shorten_prompt;
use crate::points::{Point, Points};
use crate::state::session::Session;
use ostler_wire::{Act, Action, Deed, Item, Language, List, Rewind, Rewound, Saved, View, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prompts in the list.
const MAX_LISTED: usize = 200;
/// The newest of them are counted, the others only named.
const MAX_COUNTED: usize = 40;
/// Paths that are named.
const MAX_NAMED: usize = 8;

/// What the words after `/rewind` ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    List,
    Choose(usize),
    Go(usize, Rewound, Unseen),
    Undo(Unseen),
}

fn order(words: &str) -> Option<Order> {
    let mut words = words.split_whitespace();
    let unseen = |word: Option<&str>| match word {
        None => Some(Unseen::Refuse),
        Some("keep") => Some(Unseen::Keep),
        Some("force") => Some(Unseen::Overwrite),
        Some(_) => None,
    };
    let order = match (words.next(), words.next()) {
        (None, _) => Order::List,
        (Some("undo"), how) => Order::Undo(unseen(how)?),
        (Some(number), None) => Order::Choose(number.parse().ok()?),
        (Some(number), Some(what)) => {
            let what = KINDS.iter().find(|(name, _)| *name == what)?.1;
            Order::Go(number.parse().ok()?, what, unseen(words.next())?)
        }
    };
    words.next().is_none().then_some(order)
}

const KINDS: [(&str, Rewound); 3] = [
    ("both", Rewound::Both),
    ("code", Rewound::Code),
    ("conversation", Rewound::Conversation),
];

fn name(what: Rewound) -> &'static str {
    match what {
        Rewound::Both => "both",
        Rewound::Code => "code",
        Rewound::Conversation => "conversation",
    }
}

pub fn rewind<'a>(session: &'a mut Session, words: &'a str) -> Work<'a> {
    Box::pin(run(session, words))
}

async fn run(session: &mut Session, words: &str) -> View {
    let language = session.options.run.language;
    if let Some(refused) = refusal(&session.inbox, language) {
        return refused;
    }
    if let Err(error) = session.take_over() {
        return View::Error(error.say(language));
    }
    let points = Points::of(&session.branch());
    match order(words) {
        None => View::Error(language.say(Word::RewindUsage).into()),
        Some(Order::List) => list(session, points).await,
        Some(Order::Choose(number)) => choose(session, &points, number),
        Some(Order::Go(number, what, unseen)) => go(session, &points, number, what, unseen).await,
        Some(Order::Undo(unseen)) => undo(session, &points, unseen).await,
    }
}

async fn list(session: &mut Session, points: Points) -> View {
    let language = session.options.run.language;
    let place = session.state.services.checkpoints.place();
    let counted = tokio::task::spawn_blocking(move || {
        let tallies = place.map(|place| tallies(&place, &points));
        (points, tallies.unwrap_or_default())
    });
    let Ok((points, tallies)) = counted.await else {
        return View::Error(language.say(Word::NothingSaid).into());
    };
    let mut items = Vec::new();
    let numbered = points.all.iter().enumerate().rev().take(MAX_LISTED);
    for (n, point) in numbered {
        let number = n + 1;
        let tally = tallies.iter().find(|(of, _)| *of == number);
        let mut item = item(
            &format!("{number}  {}", shorten_prompt(&point.text)),
            &detail(point, tally.map(|(_, tally)| tally), language),
            Act::Command(format!("{REWIND} {number}")),
            language.say(Word::ActRewind),
        );
        let more = [
            (Word::ActDiff, format!("diff {number}")),
            (Word::ActFork, format!("fork {number}")),
        ];
        item.actions.extend(more.map(|(word, line)| Action {
            label: language.say(word).into(),
            act: Act::Command(line),
        }));
        items.push(item);
    }
    if points.undo.is_some() {
        let label = language.say(Word::RewindUndo);
        let undo = item(label, "", Act::Command(format!("{REWIND} undo")), label);
        // The nearest thing first.
        let at = match points.said_since_undo {
            true => items.len(),
            false => 0,
        };
        items.insert(at, undo);
    }
    View::List(List {
        title: language.say(Word::RewindTitle).into(),
        items,
        empty: language.say(Word::NothingSaid).into(),
        ..List::default()
    })
}

fn item(label: &str, detail: &str, act: Act, action: &str) -> Item {
    Item {
        label: label.into(),
        detail: detail.into(),
        marked: false,
        actions: vec![Action {
            label: action.into(),
            act,
        }],
    }
}

/// When it was, and what it changed.
fn detail(point: &Point, tally: Option<&Tally>, language: Language) -> String {
    let time = point.ts.get(11..16).unwrap_or_default();
    match tally.filter(|tally| tally.files > 0) {
        Some(tally) => format!("{time} · {}", counted(tally, language)),
        None => time.to_owned(),
    }
}

fn counted(tally: &Tally, language: Language) -> String {
    let files = language.many(Word::Files, tally.files, &[&tally.files.to_string()]);
    format!("{files} +{} -{}", tally.added, tally.removed)
}

/// What the newest prompts changed, by their numbers.
fn tallies(place: &Place, points: &Points) -> Vec<(usize, Tally)> {
    let Ok(store) = place.open() else {
        return Vec::new();
    };
    let numbers = (1..=points.all.len()).rev().take(MAX_COUNTED);
    let tally = |number: usize| {
        let before = points.get(number)?.before.as_ref()?;
        let before = checkpoints::find(&store, before).ok()?;
        let to = match points.left_by(number) {
            Some(after) => Moment::At(checkpoints::find(&store, after).ok()?.id),
            None => Moment::Now,
        };
        Some((number, store.tally(before.id, to).ok()?))
    };
    numbers.filter_map(tally).collect()
}

/// What of it to take back.
fn choose(session: &Session, points: &Points, number: usize) -> View {
    let language = session.options.run.language;
    let Some(point) = points.get(number) else {
        return no_point(language, number);
    };
    let mut kinds = Vec::new();
    if points.tree_at(number).is_some() {
        kinds.push((Word::RewindBoth, "both"));
        kinds.push((Word::RewindCode, "code"));
    }
    if point.parent.is_some() {
        kinds.push((Word::RewindTalk, "conversation"));
    } else {
        kinds.retain(|(_, kind)| *kind == "code");
    }
    let mut items: Vec<Item> = kinds
        .into_iter()
        .map(|(word, kind)| {
            let label = language.say(word);
            let act = Act::Command(format!("{REWIND} {number} {kind}"));
            item(label, "", act, language.say(Word::ActRewind))
        })
        .collect();
    items.push(leave(language));
    View::List(List {
        title: language.fill(Word::RewindWhat, &[&shorten_prompt(&point.text)]),
        items,
        ..List::default()
    })
}

fn leave(language: Language) -> Item {
    let label = language.say(Word::RewindLeave);
    item(label, "", Act::Do(Deed::Compose(String::new())), label)
}

fn no_point(language: Language, number: usize) -> View {
    View::Error(language.fill(Word::RewindNoPoint, &[&number.to_string()]))
}

/// Files to be put back, and how.
struct Files {
    tree: Saved,
    also: Vec<Saved>,
    seen: Option<Saved>,
    unseen: Unseen,
    /// Trees between which somebody else changed files.
    between: Vec<(Saved, Saved)>,
}

async fn go(
    session: &mut Session,
    points: &Points,
    number: usize,
    what: Rewound,
    unseen: Unseen,
) -> View {
    let language = session.options.run.language;
    let Some(point) = points.get(number).cloned() else {
        return no_point(language, number);
    };
    let (code, talk) = parts(what);
    let to = match (talk, point.parent) {
        (true, None) => return no_point(language, number),
        (true, parent) => parent,
        (false, _) => None,
    };
    let mut report = None;
    if code {
        let Some(tree) = points.tree_at(number).cloned() else {
            return View::Error(language.say(Word::RewindNoFiles).into());
        };
        let files = Files {
            tree,
            also: points.also_since(number),
            seen: points.seen.clone(),
            unseen,
            between: points.changed_between(number),
        };
        let again = format!("{REWIND} {number} {}", name(what));
        match put_back(session, files, &again).await {
            Ok(done) => report = Some(done),
            Err(view) => return view,
        }
    }
    let text = told(
        &shorten_prompt(&point.text),
        what,
        report.as_ref(),
        language,
    );
    let ended = session.take_back(to, done(what, report.as_ref(), points), text);
    match (ended, talk) {
        (Err(error), _) => View::Error(error.say(language)),
        // A command that did harm is not put under the next Enter.
        (Ok(()), true) if !point.own => View::Do(Deed::Compose(point.text)),
        (Ok(()), _) => said(),
    }
}

/// Goes to where it was before the last rewind.
async fn undo(session: &mut Session, points: &Points, unseen: Unseen) -> View {
    let language = session.options.run.language;
    let Some(last) = points.undo.clone() else {
        return View::Error(language.say(Word::RewindNoUndo).into());
    };
    let (_, talk) = parts(last.what);
    let mut report = None;
    if let Some(tree) = last.before.clone() {
        let files = Files {
            tree,
            also: Vec::new(),
            seen: points.seen.clone(),
            unseen,
            between: Vec::new(),
        };
        match put_back(session, files, &format!("{REWIND} undo")).await {
            Ok(done) => report = Some(done),
            Err(view) => return view,
        }
    }
    let text = match &report {
        Some(report) => {
            let paths = report.changed.len();
            let text = language.many(Word::RewindUndone, paths, &[&paths.to_string()]);
            with_kept(text, report, language)
        }
        None => language.many(Word::RewindUndone, 0, &["0"]),
    };
    let to = last.from.filter(|_| talk);
    match session.take_back(to, done(last.what, report.as_ref(), points), text) {
        Ok(()) => said(),
        Err(error) => View::Error(error.say(language)),
    }
}

/// A notice has said it.
fn said() -> View {
    View::Do(Deed::Compose(String::new()))
}

fn parts(what: Rewound) -> (bool, bool) {
    match what {
        Rewound::Both => (true, true),
        Rewound::Code => (true, false),
        Rewound::Conversation => (false, true),
    }
}

fn done(what: Rewound, done: Option<&Restored>, points: &Points) -> Rewind {
    Rewind {
        what,
        // Whoever moves the head knows these.
        from: None,
        tokens: None,
        before: done.map(|d| d.before.clone()),
        seen: done.map(|d| d.after.clone()).or(points.seen.clone()),
    }
}

/// What was put back, with the trees around it.
struct Restored {
    before: Saved,
    after: Saved,
    changed: Vec<String>,
    kept: Vec<String>,
    /// Something that commands had left in the background was ended for it.
    ended: bool,
}

/// Puts files back. What stands in the way is a view: the files that changed unseen, with what to do about them.
async fn put_back(session: &mut Session, files: Files, again: &str) -> Result<Restored, View> {
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
    let record = store.take(label, &Scope::default())?;
    done.after = checkpoints::saved(&record, store.place().map(str::to_owned));
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
    let mut report = store.restore_across(target.id, &What::default(), &guard, &spans)?;
    let before = seen_now(&store, report.before)?;
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
        add(
            &mut report,
            store.restore(record.id, &What::default(), &guard)?,
        );
    }
    Ok(Restored {
        before,
        after: seen_now(&store, report.after)?,
        changed: report.changed,
        kept: report.kept.into_iter().map(|kept| kept.path).collect(),
        ended: false,
    })
}

fn seen_now(store: &TreeStore, id: u64) -> Result<Saved, Error> {
    let place = store.place().map(str::to_owned);
    Ok(checkpoints::saved(&store.get(id)?, place))
}

fn add(report: &mut Report, more: Report) {
    report.changed.extend(more.changed);
    report.kept.extend(more.kept);
}

/// Files that nobody saw change, and what can be done about them.
fn unseen_list(paths: &[String], again: &str, language: Language) -> View {
    let act = |how: &str| Act::Command(format!("{again} {how}"));
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

/// What was done, for people.
fn told(said: &str, what: Rewound, done: Option<&Restored>, language: Language) -> String {
    let word = match what {
        Rewound::Both => Word::RewoundBoth,
        Rewound::Code => Word::RewoundCode,
        Rewound::Conversation => Word::RewoundTalk,
    };
    match done {
        Some(report) => {
            let paths = report.changed.len().to_string();
            with_kept(language.fill(word, &[said, &paths]), report, language)
        }
        None => language.fill(word, &[said]),
    }
}

fn with_kept(mut text: String, done: &Restored, language: Language) -> String {
    if done.ended {
        text.push('\n');
        text.push_str(language.say(Word::RewindEnded));
    }
    if !done.kept.is_empty() {
        let shown: Vec<&str> = done
            .kept
            .iter()
            .take(MAX_NAMED)
            .map(String::as_str)
            .collect();
        let mut list = shown.join(", ");
        if let Some(more @ 1..) = done.kept.len().checked_sub(MAX_NAMED) {
            list.push_str(", ");
            list.push_str(&language.fill(Word::AndMore, &[&more.to_string()]));
        }
        text.push('\n');
        text.push_str(&language.fill(Word::RewindKept, &[&list]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_orders() {
        for (words, expect) in [
            ("", Some(Order::List)),
            ("3", Some(Order::Choose(3))),
            ("3 both", Some(Order::Go(3, Rewound::Both, Unseen::Refuse))),
            (
                "3 code keep",
                Some(Order::Go(3, Rewound::Code, Unseen::Keep)),
            ),
            (
                "12 conversation force",
                Some(Order::Go(12, Rewound::Conversation, Unseen::Overwrite)),
            ),
            ("undo", Some(Order::Undo(Unseen::Refuse))),
            ("undo force", Some(Order::Undo(Unseen::Overwrite))),
            ("x", None),
            ("3 all", None),
            ("3 code maybe", None),
            ("3 code keep more", None),
            ("-1", None),
        ] {
            assert_eq!(order(words), expect, "{words}");
        }
    }
}
