//! `/resume`: sessions of this project to go on with, all of them or those in which something was said.

use super::tasks::refusal;
use crate::cut::clip;
use crate::history::{Found, History, HistoryError, Query, Reach, Words};
use crate::session::Session;
use crate::store::Store;
use ostler_wire::{Act, Action, Deed, Item, Language, List, Open, SessionInfo, View, Word};
use std::collections::HashSet;
use std::time::Duration;

pub const NAME: &str = "resume";
/// Sessions in a list.
const MAX_LISTED: usize = 200;
/// Characters of an id that are shown.
const SHORT_ID: usize = 8;
/// Places that are looked at; several may be of one session.
const MAX_HITS: usize = 100;
/// Characters of a title beside what was found.
const TITLE_CHARS: usize = 36;
/// How long a search works on its index before it shows what is there.
const PATIENCE: Duration = Duration::from_secs(3);

pub fn resume(session: &mut Session, id: &str) -> View {
    if let Some(refused) = refusal(&session.inbox, session.options.language) {
        return refused;
    }
    if !id.is_empty() {
        return View::Do(Deed::Open(Open::Resume(id.to_owned())));
    }
    let language = session.options.language;
    let own = session.desk.account.session.clone();
    let listed = match session.store().list_own() {
        Ok(listed) => listed,
        Err(why) => return View::Error(why),
    };
    let items = listed
        .into_iter()
        .filter(|info| info.id != own)
        .take(MAX_LISTED)
        .map(|info| Item {
            detail: format!(
                "{} · {} · {}",
                minute(&info.updated),
                language.many(Word::Turns, info.turns as usize, &[&info.turns.to_string()]),
                info.id.get(..SHORT_ID).unwrap_or(&info.id),
            ),
            ..item(&info.id, &info.title, language)
        });
    View::List(List {
        title: language.say(Word::ResumeTitle).into(),
        items: items.collect(),
        empty: language.say(Word::ResumeNone).into(),
        search: Some(NAME.into()),
    })
}

fn item(id: &str, title: &str, language: Language) -> Item {
    let action = |word: Word, open: Open| Action {
        label: language.say(word).into(),
        act: Act::Do(Deed::Open(open)),
    };
    Item {
        label: match title.is_empty() {
            true => id.to_owned(),
            false => title.to_owned(),
        },
        actions: vec![
            action(Word::ActResume, Open::Resume(id.to_owned())),
            action(Word::ActFork, Open::Fork(id.to_owned())),
        ],
        ..Item::default()
    }
}

fn minute(ts: &str) -> String {
    ts.get(..16).unwrap_or(ts).replace('T', " ")
}

/// A search for sessions. It reads many files, so it runs beside the session.
pub struct Look {
    store: Store,
    history: History,
    own: String,
    words: String,
    language: Language,
}

/// What a line looks for, if it is one that looks for words.
pub fn look(session: &Session, line: &str) -> Option<Look> {
    let (name, words) = super::parts(line);
    let language = session.options.language;
    if name != NAME || words.is_empty() || refusal(&session.inbox, language).is_some() {
        return None;
    }
    let store = session.store();
    if looks_like_id(words) || store.find(words).is_ok() {
        return None;
    }
    Some(Look {
        history: History::clone(&session.desk.shop.history),
        store,
        own: session.desk.account.session.clone(),
        words: words.to_owned(),
        language,
    })
}

impl Look {
    /// Those whose title has the words, then those in which they were said.
    pub fn view(&self, stop: &dyn Fn() -> bool) -> View {
        let listed = match self.store.list() {
            Ok(listed) => listed,
            Err(why) => return View::Error(why),
        };
        let found = match self.found(stop) {
            Ok(found) => found,
            Err(error) => return View::Error(error.say(self.language)),
        };
        let said = |id: &str| found.hits.iter().find(|hit| hit.session == id);
        let named = listed.iter().filter(|info| self.is_titled(info));
        let named = named.map(|info| info.id.as_str());
        let spoken = found.hits.iter().map(|hit| hit.session.as_str());
        let mut seen = HashSet::from([self.own.as_str()]);
        let mut items: Vec<Item> = Vec::new();
        for id in named.chain(spoken) {
            if items.len() == MAX_LISTED || !seen.insert(id) {
                continue;
            }
            let info = listed.iter().find(|info| info.id == id);
            let title = info.map_or("", |info| info.title.as_str());
            let when = info.map_or_else(String::new, |info| minute(&info.updated));
            let place = said(id).map_or_else(String::new, |hit| format!(" · {}", hit.text));
            items.push(Item {
                detail: format!("{when}{place}"),
                ..item(id, &clip(title, TITLE_CHARS), self.language)
            });
        }
        items.extend(found.notice(self.language).map(|label| Item {
            label,
            ..Item::default()
        }));
        View::List(List {
            title: self.language.fill(Word::ResumeFound, &[&self.words]),
            items,
            empty: self.language.fill(Word::ResumeNothing, &[&self.words]),
            search: Some(NAME.into()),
        })
    }

    /// Where all of the words are, or some where all are nowhere.
    fn found(&self, stop: &dyn Fn() -> bool) -> Result<Found, HistoryError> {
        let search = |words| {
            let query = Query {
                text: self.words.clone(),
                words,
                reach: Reach::Project,
                limit: MAX_HITS,
                patience: PATIENCE,
            };
            self.history.search(&query, stop)
        };
        match search(Words::All) {
            // Nothing but signs has no words in it, and so was nowhere said.
            Err(HistoryError::NoWords) => Ok(Found::default()),
            Ok(found) if found.hits.is_empty() => Ok(Found {
                remarks: found.remarks,
                ..search(Words::Any)?
            }),
            other => other,
        }
    }

    fn is_titled(&self, info: &SessionInfo) -> bool {
        let title = info.title.to_lowercase();
        let words = self.words.to_lowercase();
        words.split_whitespace().all(|word| title.contains(word))
    }
}

/// Whether nobody would look for it in what was said. `decade` is a word.
fn looks_like_id(words: &str) -> bool {
    words.len() >= SHORT_ID
        && words.contains(|c: char| c.is_ascii_digit())
        && words.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
