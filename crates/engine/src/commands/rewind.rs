//! `/rewind`: takes back what was done since the person said something: the files, one of them, the conversation, or both.
//! Taking it back can itself be taken back.

mod files;

use super::tasks::refusal;
use super::{REWIND, Work};
use crate::checkpoint::{Point as Moment, Tally, Unseen};
use crate::cut::shorten_prompt;
use crate::points::{Point, Points};
use files::{Files, Restored, put_back, put_back_or};
use ostler_confine::checkpoints::{self, Place};
use ostler_state::session::Session;
use ostler_wire::{Act, Action, Deed, Item, Language, List, Rewind, Rewound, View, Word};
use std::path::{Component, Path, PathBuf};

/// Prompts in the list.
const MAX_LISTED: usize = 200;
/// The newest of them are counted, the others only named.
const MAX_COUNTED: usize = 40;
/// Paths that are named.
const MAX_NAMED: usize = 8;

/// What the words after `/rewind` ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    List,
    Choose(usize),
    Go(usize, Rewound, Unseen),
    /// One file or folder, by its path in the project.
    File(usize, Unseen, PathBuf),
    Undo(Unseen),
}

fn order(words: &str) -> Option<Order> {
    if let Some(order) = file_order(words) {
        return order;
    }
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

/// `<n> file [keep|force] <path>`; None where the words are not about a file. A path may have spaces.
fn file_order(words: &str) -> Option<Option<Order>> {
    let (number, rest) = words.trim().split_once(char::is_whitespace)?;
    let rest = rest.trim_start().strip_prefix(FILE)?;
    if !rest.starts_with(char::is_whitespace) {
        return rest.is_empty().then_some(None);
    }
    let rest = rest.trim();
    let (unseen, path) = match rest.split_once(char::is_whitespace) {
        Some(("keep", path)) => (Unseen::Keep, path),
        Some(("force", path)) => (Unseen::Overwrite, path),
        Some(_) | None => (Unseen::Refuse, rest),
    };
    let path = inside(path.trim());
    let order = number.parse().ok().zip(path);
    Some(order.map(|(number, path)| Order::File(number, unseen, path)))
}

/// A path that leads to something below the root, without the steps that lead nowhere.
fn inside(path: &str) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!clean.as_os_str().is_empty()).then_some(clean)
}

const FILE: &str = "file";
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
    let branch = session.branch();
    let place = session.state.services.checkpoints.place();
    let place = place.as_ref().and_then(|place| place.there.as_ref());
    let place = place.map(|there| there.name.as_str());
    let points = Points::of(&branch).at(&branch, place);
    match order(words) {
        None => View::Error(language.say(Word::RewindUsage).into()),
        Some(Order::List) => list(session, points).await,
        Some(Order::Choose(number)) => choose(session, &points, number),
        Some(Order::Go(number, what, unseen)) => go(session, &points, number, what, unseen).await,
        Some(Order::File(number, unseen, path)) => {
            one_file(session, &points, number, (path, unseen)).await
        }
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
        let place = session.state.services.checkpoints.place();
        let place = place.as_ref().and_then(|place| place.there.as_ref());
        let place = place.map(|there| there.name.as_str());
        if let Some(other) = points
            .elsewhere_since(number, place)
            .filter(|_| unseen == Unseen::Refuse)
        {
            return elsewhere_list(
                other,
                &format!("{REWIND} {number} {}", name(what)),
                language,
            );
        }
        let files = Files {
            only: None,
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
        (Ok(()), _) => said_already(),
    }
}

/// Files were changed at another place as well, which nothing is put back from here: what can be done.
fn elsewhere_list(other: Option<&str>, again: &str, language: Language) -> View {
    let other = other.unwrap_or(language.say(Word::HostHere));
    let label = language.say(Word::RewindHereOnly);
    let items = vec![
        item(label, "", Act::Command(format!("{again} keep")), label),
        leave(language),
    ];
    View::List(List {
        title: language.fill(Word::RewindElsewhere, &[other]),
        items,
        ..List::default()
    })
}

/// Brings one file back to what a prompt found.
async fn one_file(
    session: &mut Session,
    points: &Points,
    number: usize,
    (path, unseen): (PathBuf, Unseen),
) -> View {
    let language = session.options.run.language;
    let Some(point) = points.get(number).cloned() else {
        return no_point(language, number);
    };
    let Some(tree) = points.tree_at(number).cloned() else {
        return View::Error(language.say(Word::RewindNoFiles).into());
    };
    let shown = path.display().to_string();
    let files = Files {
        only: Some(session.state.scope.root.join(&path)),
        tree,
        also: points.also_since(number),
        seen: points.seen.clone(),
        unseen,
        between: points.changed_between(number),
    };
    let again = |how: &str| format!("{REWIND} {number} {FILE} {how} {shown}");
    let done = match put_back_or(session, files, again).await {
        Ok(done) => done,
        Err(view) => return view,
    };
    if done.changed.is_empty() && done.kept.is_empty() {
        return View::Text(language.fill(Word::RewindFileSame, &[&shown]));
    }
    let said = shorten_prompt(&point.text);
    let text = language.fill(Word::RewoundFile, &[&shown, &said]);
    let text = with_kept(text, &done, language);
    let rewind = Rewind {
        what: Rewound::Code,
        from: None,
        tokens: None,
        after: Some(done.after).filter(|after| *after != done.seen),
        before: Some(done.before),
        seen: Some(done.seen),
    };
    match session.take_back(None, rewind, text) {
        Ok(()) => said_already(),
        Err(error) => View::Error(error.say(language)),
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
        // Nothing was saved since then: what the rewind itself left is known.
        let left = last.after.clone().filter(|_| points.seen == last.seen);
        let files = Files {
            only: None,
            tree,
            also: Vec::new(),
            seen: left.or(points.seen.clone()),
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
        Ok(()) => said_already(),
        Err(error) => View::Error(error.say(language)),
    }
}

/// A notice has said it.
fn said_already() -> View {
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
        seen: done.map(|d| d.seen.clone()).or(points.seen.clone()),
        after: None,
    }
}

/// What was done, for people.
fn told(said: &str, what: Rewound, done: Option<&Restored>, language: Language) -> String {
    let changed = done.map_or(0, |report| report.changed.len()).to_string();
    let text = match what {
        Rewound::Both => language.fill(Word::RewoundBoth, &[said, &changed]),
        Rewound::Code => language.fill(Word::RewoundCode, &[said, &changed]),
        Rewound::Conversation => language.fill(Word::RewoundTalk, &[said]),
    };
    match done {
        Some(report) => with_kept(text, report, language),
        None => text,
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
            ("3 file", None),
            ("3 file ../x", None),
            ("3 file /etc/passwd", None),
            ("3 file .", None),
            ("x file a.py", None),
            ("3 files a.py", None),
            (
                "3 file shop/cart of ours.py",
                Some(Order::File(
                    3,
                    Unseen::Refuse,
                    "shop/cart of ours.py".into(),
                )),
            ),
            (
                "3 file force ./a.py",
                Some(Order::File(3, Unseen::Overwrite, "a.py".into())),
            ),
            (
                "3 file keep",
                Some(Order::File(3, Unseen::Refuse, "keep".into())),
            ),
            ("-1", None),
        ] {
            assert_eq!(order(words), expect, "{words}");
        }
    }
}
