//! `/resume`: sessions of this project to go on with, all of them or those in which something was said.

use super::context::HubContext;
use super::sessions::{self, Projects};
use super::tasks::refusal;
use crate::cut::clip;
use crate::history::{Found, History, HistoryError, Query, Reach, Words};
use jiff::Timestamp;
use ostler_state::session::Session;
use ostler_wire::{Cell, ColumnKind, Deed, Open, Row, SessionInfo, Table, View, Word};
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
    if let Some(refused) = refusal(&session.inbox, session.options.run.language) {
        return refused;
    }
    if !id.is_empty() {
        return View::Do(Deed::Open(Open::Resume(id.to_owned())));
    }
    let own = session.state.account.session.clone();
    let context = HubContext::of(session);
    let listed = match context.store.list_own() {
        Ok(listed) => listed,
        Err(why) => return View::Error(why),
    };
    let others = listed.into_iter().filter(|info| info.id != own);
    let mut table = Table {
        title: context.say(Word::ResumeTitle).into(),
        empty: context.say(Word::ResumeNone).into(),
        search: Some(NAME.into()),
        ..sessions::table(&context, others.take(MAX_LISTED), Projects::This)
    };
    table.drop_data();
    View::Table(table)
}

/// Resumes the session of this project that was used last, beside this one.
pub fn newest(session: &mut Session) -> View {
    let own = session.state.account.session.clone();
    let context = HubContext::of(session);
    let listed = match context.store.list_own() {
        Ok(listed) => listed,
        Err(why) => return View::Error(why),
    };
    match listed.into_iter().find(|info| info.id != own) {
        Some(info) => resume(session, &info.id),
        None => View::Error(context.say(Word::ResumeNone).into()),
    }
}

/// A search for sessions. It reads many files, so it runs beside the session.
pub struct Look {
    context: HubContext,
    history: History,
    own: String,
    words: String,
}

/// What a line looks for, if it is one that looks for words.
pub fn look(session: &Session, line: &str) -> Option<Look> {
    let (name, words) = super::parts(line);
    let language = session.options.run.language;
    if name != NAME || words.is_empty() || refusal(&session.inbox, language).is_some() {
        return None;
    }
    let context = HubContext::of(session);
    if looks_like_id(words) || context.store.find(words).is_ok() {
        return None;
    }
    Some(Look {
        history: History::clone(&session.state.services.history),
        context,
        own: session.state.account.session.clone(),
        words: words.to_owned(),
    })
}

impl Look {
    /// Those whose title has the words, then those in which they were said.
    pub fn view(&self, stop: &dyn Fn() -> bool) -> View {
        let listed = match self.context.store.list_written() {
            Ok(listed) => listed,
            Err(why) => return View::Error(why),
        };
        let found = match self.found(stop) {
            Ok(found) => found,
            Err(error) => return View::Error(error.say(self.context.language)),
        };
        let named = listed.iter().filter(|info| self.is_titled(info));
        let named = named.map(|info| info.id.as_str());
        let spoken = found.hits.iter().map(|hit| hit.session.as_str());
        let mut seen = HashSet::from([self.own.as_str()]);
        let ids: Vec<&str> = named.chain(spoken).filter(|id| seen.insert(id)).collect();
        let now = Timestamp::now();
        let row = |id: &&str| {
            let info = listed.iter().find(|info| info.id == *id);
            let title = info.map_or("", |info| info.title.as_str());
            let updated = info.map_or("", |info| info.updated.as_str());
            let hit = found.hits.iter().find(|hit| hit.session == *id);
            Row {
                actions: sessions::actions(&self.context, id),
                ..Row::new(vec![
                    Cell::named(clip(title, TITLE_CHARS), title),
                    Cell::age(updated, now, self.context.language),
                    hit.map_or_else(Cell::absent, |hit| Cell::text(hit.text.as_str())),
                ])
            }
        };
        let columns = vec![
            self.context
                .column(ColumnKind::Text, "title", Word::ColTitle),
            self.context
                .column(ColumnKind::Time, "updated", Word::ColAge),
            self.context
                .column(ColumnKind::Prose, "text", Word::ColText),
        ];
        View::Table(Table {
            title: self.context.fill(Word::ResumeFound, &[&self.words]),
            empty: self.context.fill(Word::ResumeNothing, &[&self.words]),
            search: Some(NAME.into()),
            remarks: found.notice(self.context.language).into_iter().collect(),
            ..Table::new(columns, ids.iter().take(MAX_LISTED).map(row).collect())
        })
    }

    /// Where all of the words are, then where some are.
    fn found(&self, stop: &dyn Fn() -> bool) -> Result<Found, HistoryError> {
        let query = Query {
            text: self.words.clone(),
            words: Words::All,
            reach: Reach::Project,
            limit: MAX_HITS,
            patience: PATIENCE,
        };
        self.history.search_widely(query, stop)
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
