//! `/new`, `/clear`, `/fork`, `/session`, `/title`, `/model`, `/effort`, `/export`: which session, and with what.

use super::resume;
use super::tasks::refusal;
use crate::log;
use crate::points::Points;
use ostler_context::export;
use ostler_llm::Effort;
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_state::session::Session;
use ostler_wire::{Act, Action, Body, Deed, Item, List, Open, Say, Settings, Table, View, Word};
use std::sync::Arc;

/// Characters of a title.
const MAX_TITLE: usize = 200;

pub fn new(session: &mut Session, _: &str) -> View {
    if let Some(refused) = refusal(&session.inbox, session.options.run.language) {
        return refused;
    }
    View::Do(Deed::Open(Open::New))
}

/// Discards the session, once somebody has said yes.
pub fn clear(session: &mut Session, sure: &str) -> View {
    let language = session.options.run.language;
    if let Some(refused) = refusal(&session.inbox, language) {
        return refused;
    }
    if sure != "yes" {
        let item = |label: Word, act: Act| Item {
            label: language.say(label).into(),
            actions: vec![Action {
                label: language.say(label).into(),
                act,
            }],
            ..Item::default()
        };
        return View::List(List {
            title: language.say(Word::ClearTitle).into(),
            items: vec![
                item(Word::ClearNo, Act::Do(Deed::Compose(String::new()))),
                item(Word::ClearYes, Act::Command("clear yes".into())),
            ],
            ..List::default()
        });
    }
    session.discarded = true;
    View::Do(Deed::Open(Open::New))
}

/// A copy of the whole, or of what was said before the n-th prompt.
pub fn fork(session: &mut Session, number: &str) -> View {
    let language = session.options.run.language;
    if let Some(refused) = refusal(&session.inbox, language) {
        return refused;
    }
    if session.state.log.is_empty() {
        return View::Error(language.say(Word::NothingSaid).into());
    }
    let mut id = session.state.account.session.clone();
    if !number.is_empty() {
        let points = Points::of(&session.branch());
        let point = number.parse().ok().and_then(|n| points.get(n));
        match point.and_then(|point| point.parent) {
            Some(end) => id.push_str(&format!("@{end}")),
            None => return View::Error(language.fill(Word::RewindNoPoint, &[number])),
        }
    }
    View::Do(Deed::Open(Open::Fork(id)))
}

/// Where the session is kept; with words it lists, begins or resumes one.
pub fn session(session: &mut Session, words: &str) -> View {
    let language = session.options.run.language;
    let words: Vec<&str> = words.split_whitespace().collect();
    match words.as_slice() {
        [] => {}
        ["list"] | ["resume"] => return resume::resume(session, ""),
        ["new"] => return new(session, ""),
        ["resume", "last"] => return resume::newest(session),
        ["resume", id] => return resume::resume(session, id),
        _ => return View::Error(language.say(Word::SessionUsage).into()),
    }
    let state = &session.state;
    let id = &state.account.session;
    let mut rows = vec![vec![language.say(Word::RowSession).into(), id.clone()]];
    if session.options.run.save {
        let path = session.store().path_of(id).display().to_string();
        rows.push(vec![language.say(Word::RowLog).into(), path]);
        let short = id.get(..8).unwrap_or(id);
        let resume = format!("ostler resume {short}");
        rows.push(vec![language.say(Word::RowResume).into(), resume]);
    }
    View::Table(Table::of_texts(Vec::new(), rows))
}

/// What lists call the session.
pub fn title(state: &mut SessionState, _: &mut Inbox, text: &str) -> View {
    let language = state.settings.language;
    let words: Vec<&str> = text.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return View::Error(language.say(Word::TitleUsage).into());
    }
    // The first entry of a log says which session it is of.
    if state.log.is_empty() {
        return View::Error(language.say(Word::NothingSaid).into());
    }
    let settings = Settings {
        title: Some(title.clone()),
        ..Settings::default()
    };
    match state.commit(vec![Body::Settings(settings)]) {
        Ok(()) => View::Text(language.fill(Word::TitleIs, &[&title])),
        Err(error) => View::Error(error.say(language)),
    }
}

pub fn model(session: &mut Session, reference: &str) -> View {
    let language = session.options.run.language;
    let origin = &session.state.conversation.model.target().origin;
    let now = format!("{}/{}", origin.provider, origin.model);
    let mut all = session.options.model.models.list();
    if all.iter().all(|(reference, _)| *reference != now) {
        all.insert(0, (now.clone(), String::new()));
    }
    if !reference.is_empty() {
        let numbered = reference.parse().ok().and_then(|n: usize| n.checked_sub(1));
        let listed = numbered.and_then(|at| all.get(at)).map(|(name, _)| name);
        let reference = listed.map_or(reference, String::as_str).to_owned();
        return session.switch_model(&reference);
    }
    let items = all.into_iter().map(|(reference, detail)| Item {
        marked: reference == now,
        actions: vec![Action {
            label: language.say(Word::ActUse).into(),
            act: Act::Command(format!("model {reference}")),
        }],
        label: reference,
        detail,
    });
    View::List(List {
        title: language.say(Word::ModelTitle).into(),
        items: items.collect(),
        ..List::default()
    })
}

const EFFORTS: [(&str, Effort); 6] = [
    ("none", Effort::None),
    ("minimal", Effort::Minimal),
    ("low", Effort::Low),
    ("medium", Effort::Medium),
    ("high", Effort::High),
    ("max", Effort::Max),
];

pub fn effort(session: &mut Session, name: &str) -> View {
    let language = session.options.run.language;
    let now = session
        .state
        .settings
        .effort
        .or(session.options.model.params.effort);
    if name.is_empty() {
        let items = EFFORTS.iter().map(|(name, effort)| Item {
            label: (*name).into(),
            marked: now == Some(*effort),
            actions: vec![Action {
                label: language.say(Word::ActUse).into(),
                act: Act::Command(format!("effort {name}")),
            }],
            ..Item::default()
        });
        return View::List(List {
            title: language.say(Word::EffortTitle).into(),
            items: items.collect(),
            ..List::default()
        });
    }
    let Some((name, effort)) = EFFORTS.iter().find(|(n, _)| *n == name) else {
        let names = EFFORTS.map(|(name, _)| name).join(" ");
        return View::Error(language.fill(Word::NoEffort, &[name, &names]));
    };
    session.switch_effort(*effort, name)
}

/// Writes the transcript as a document beside the work, or where the person says.
pub fn export(session: &mut Session, to: &str) -> View {
    let language = session.options.run.language;
    let entries = session.state.log.source().entries_after(None);
    let entries: Vec<_> = log::branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
    if !entries.iter().any(|e| matches!(e.body, Body::Message(_))) {
        return View::Error(language.say(Word::NothingSaid).into());
    }
    let id = &session.state.account.session;
    let name = format!("ostler-{}.md", id.get(..8).unwrap_or(id));
    let path = session
        .state
        .scope
        .path(if to.is_empty() { &name } else { to });
    let text = match path.extension().and_then(|e| e.to_str()) {
        Some("json") => export::json(&entries),
        Some("html" | "htm") => export::html(&entries),
        Some(_) | None => export::markdown(&entries),
    };
    let written = ostler_host::private_options()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    let shown = path.display().to_string();
    match written {
        Ok(()) => View::Text(language.fill(Word::Exported, &[&shown])),
        Err(error) => View::Error(format!("{shown}: {}", error.say(language))),
    }
}
