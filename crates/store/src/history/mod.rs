//! What was said before, found again: a search over the logs of all sessions and the archives, and what stands around a
//! hit. The logs are the truth; the index beside them is only ever made from them.

mod index;
mod remark;
mod snippet;
mod source;
mod terms;
#[cfg(test)]
mod tests;

pub use remark::Remark;
pub use source::OWN_RESULT;
pub use source::beginning;
pub use terms::Words;
pub use terms::{Class, pairs, parts, runs};

use crate::cut::clip;
use index::{About, Candidate, Index};
use ostler_wire::{Language, Say, Word};
use serde::Serialize;
use source::{Meaning, Source};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terms::Term;

/// Hits with less of the best one's score are noise.
const FLOOR: f64 = 0.35;
/// Documents that are looked at for each hit: copies, and what the asker has before its eyes, are left out.
const SPARE: usize = 4;
/// Characters of all messages around a hit, of one of them, and of a tool's output.
const MAX_AROUND: usize = 24_000;
const MAX_MESSAGE: usize = 1500;
const MAX_OUTPUT: usize = 400;

/// Where the past of a session lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    pub home: PathBuf,
    /// Folder that holds a folder of logs per project.
    pub sessions: PathBuf,
    pub project: String,
    /// The session that asks. What its running turn says is nothing to find.
    pub session: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Project,
    /// Every project, and the archives.
    Global,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    pub words: Words,
    pub reach: Reach,
    pub limit: usize,
    /// How long the index may be brought up to date.
    pub patience: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    pub session: String,
    pub title: String,
    pub entry: u64,
    /// The place that was found.
    pub text: String,
    pub role: &'static str,
    pub ts: String,
    pub project: String,
    pub score: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The best first.
    pub hits: Vec<Hit>,
    /// What the person or model should know about the search.
    pub remarks: Vec<Remark>,
}

impl Found {
    /// The remarks as one text.
    pub fn notice(&self, language: Language) -> Option<String> {
        let said: Vec<String> = self.remarks.iter().map(|r| r.say(language)).collect();
        (!said.is_empty()).then(|| said.join(" "))
    }
}

/// A message near a hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Near {
    pub entry: u64,
    pub role: &'static str,
    pub ts: String,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("{}", self.say(Language::English))]
    NoWords,
    #[error("{}", self.say(Language::English))]
    Index(#[from] rusqlite::Error),
    #[error("{}", self.say(Language::English))]
    NoSession(String),
    #[error("{}", self.say(Language::English))]
    Ambiguous(usize, String),
    #[error("{}", self.say(Language::English))]
    NoEntry(String, u64),
    #[error("{}", self.say(Language::English))]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl HistoryError {
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::NoWords => language.say(Word::HistoryNoWords).to_owned(),
            Self::Index(error) => language.fill(Word::HistoryBroken, &[&error.to_string()]),
            Self::NoSession(session) => language.fill(Word::HistoryNoSession, &[session]),
            Self::Ambiguous(count, start) => {
                language.fill(Word::HistoryAmbiguous, &[&count.to_string(), start])
            }
            Self::NoEntry(session, entry) => {
                language.fill(Word::HistoryNoEntry, &[session, &entry.to_string()])
            }
            Self::Unreadable { path, source } => {
                let path = path.display().to_string();
                language.fill(Word::FileUnread, &[&path, &source.say(language)])
            }
        }
    }
}

impl History {
    pub fn search(&self, query: &Query, stop: &dyn Fn() -> bool) -> Result<Found, HistoryError> {
        let terms = terms::terms(&query.text, query.words);
        if terms.is_empty() {
            return Err(HistoryError::NoWords);
        }
        match self.try_search(query, &terms, stop) {
            Err(HistoryError::Index(error)) if index::is_broken(&error) => {
                index::remove(&index::place(&self.home));
                let mut found = self.try_search(query, &terms, stop)?;
                found.remarks.insert(0, Remark::Rebuilt);
                Ok(found)
            }
            other => other,
        }
    }

    /// Messages with all of the words, then those with some of them, whatever `query.words` is. Text without words is
    /// found nowhere.
    pub fn search_widely(
        &self,
        query: Query,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, HistoryError> {
        let search = |words| {
            let query = Query {
                words,
                ..query.clone()
            };
            self.search(&query, stop)
        };
        let mut found = match search(Words::All) {
            Err(HistoryError::NoWords) => return Ok(Found::default()),
            found => found?,
        };
        let room = query.limit.saturating_sub(found.hits.len());
        if room == 0 {
            return Ok(found);
        }
        let place = |hit: &Hit| (hit.session.clone(), hit.entry);
        let known: HashSet<_> = found.hits.iter().map(place).collect();
        let more = search(Words::Any)?.hits.into_iter();
        let more = more.filter(|hit| !known.contains(&place(hit)));
        found.hits.extend(more.take(room));
        Ok(found)
    }

    fn try_search(
        &self,
        query: &Query,
        terms: &[Term],
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, HistoryError> {
        let (mut index, remark) = Index::open(&self.home)?;
        let sources = self.sources(query.reach);
        let progress = index.update(&sources, Instant::now() + query.patience, stop)?;
        let remarks = remark.into_iter().chain(progress).collect();
        let project = match query.reach {
            Reach::Project => Some(self.project.as_str()),
            Reach::Global => None,
        };
        let wanted = query.limit.saturating_mul(SPARE);
        let candidates = index.best(terms, query.words, project, wanted)?;
        let hits = self.hits(&index, candidates, terms, query)?;
        Ok(Found { hits, remarks })
    }

    /// Logs to bring up to date, those that matter most first.
    fn sources(&self, reach: Reach) -> Vec<Source> {
        let mut sources = source::all(&self.sessions, &self.home);
        match reach {
            Reach::Project => sources.retain(|s| s.place == self.project),
            // The documents of a project are numbered together; going to and fro costs.
            Reach::Global => sources.sort_by_key(|s| (s.place != self.project, s.place.clone())),
        }
        sources
    }

    fn hits(
        &self,
        index: &Index,
        candidates: Vec<Candidate>,
        terms: &[Term],
        query: &Query,
    ) -> Result<Vec<Hit>, HistoryError> {
        let words: Vec<&str> = terms.iter().map(|t| t.plain.as_str()).collect();
        let mut logs: HashMap<i64, Option<About>> = HashMap::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut hits: Vec<Hit> = Vec::new();
        for candidate in candidates {
            let about = match logs.entry(candidate.log) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => {
                    new.insert(index.about(candidate.log)?)
                }
            };
            let Some(about) = about.as_ref().filter(|a| !self.is_running(a, &candidate)) else {
                continue;
            };
            let Some(said) = line(&about.path, &candidate) else {
                continue;
            };
            // Forks and archives say the same again. One can go on with a session.
            if let Some(place) = seen.get(&said.text) {
                if let Some(first) = hits.get_mut(*place)
                    && first.project == source::ARCHIVE
                {
                    first.session = source::stem(&about.path);
                    first.project.clone_from(&about.place);
                    first.title.clone_from(&about.title);
                    first.entry = candidate.entry;
                }
                continue;
            }
            let best = hits.first().map_or(candidate.score, |hit| hit.score);
            let is_noise = query.words == Words::Any && candidate.score < best * FLOOR;
            if is_noise || hits.len() >= query.limit {
                break;
            }
            let text = snippet::around(&said.text, &words);
            seen.insert(said.text, hits.len());
            hits.push(Hit {
                session: source::stem(&about.path),
                title: about.title.clone(),
                entry: candidate.entry,
                text,
                role: said.role,
                ts: said.ts,
                project: about.place.clone(),
                score: candidate.score,
            });
        }
        Ok(hits)
    }

    /// Whether the asker said it just now.
    fn is_running(&self, about: &About, candidate: &Candidate) -> bool {
        let own = self.session.as_deref() == Some(source::stem(&about.path).as_str());
        own && about.prompt.is_none_or(|prompt| candidate.entry >= prompt)
    }

    /// The messages before and after an entry of a session, which may be given by the beginning of its id.
    pub fn around(
        &self,
        session: &str,
        entry: u64,
        each_side: usize,
        reach: Reach,
    ) -> Result<Vec<Near>, HistoryError> {
        let path = self.find(session, reach)?;
        let mut near: Vec<Near> = Vec::new();
        let mut next = 0;
        let unreadable = |source| HistoryError::Unreadable {
            path: path.clone(),
            source,
        };
        let mut lines = source::Lines::new(&path, 0).map_err(unreadable)?;
        let mut after = 0;
        while let Some(line) = lines.next().map_err(unreadable)? {
            let (claimed, said) = match source::meaning(&line.bytes) {
                Meaning::Said(said) => (said.entry, Some(said)),
                Meaning::Title(_) => (None, None),
                Meaning::Nothing(claimed) => (claimed, None),
            };
            let number = claimed.unwrap_or(next);
            next = next.max(number.saturating_add(1));
            let Some(said) = said else { continue };
            if number > entry {
                if after == each_side {
                    break;
                }
                after += 1;
            } else if near.len() > each_side {
                near.remove(0);
            }
            near.push(Near {
                entry: number,
                role: said.role,
                ts: said.ts,
                text: short(&said.text, said.role, MAX_AROUND / (2 * each_side + 1)),
            });
        }
        match near.iter().any(|n| n.entry == entry) {
            true => Ok(near),
            false => Err(HistoryError::NoEntry(session.to_owned(), entry)),
        }
    }

    fn find(&self, session: &str, reach: Reach) -> Result<PathBuf, HistoryError> {
        let wanted = session.trim();
        let mut found: Vec<PathBuf> = source::all(&self.sessions, &self.home)
            .into_iter()
            .filter(|source| match reach {
                Reach::Project => source.place == self.project,
                Reach::Global => true,
            })
            .map(|source| source.path)
            .filter(|path| !wanted.is_empty() && source::stem(path).starts_with(wanted))
            .collect();
        match (found.pop(), found.len()) {
            (None, _) => Err(HistoryError::NoSession(session.to_owned())),
            (Some(path), 0) => Ok(path),
            (Some(_), more) => Err(HistoryError::Ambiguous(more + 1, session.to_owned())),
        }
    }
}

/// What the line of a candidate says, if it is still there.
fn line(path: &Path, candidate: &Candidate) -> Option<source::Said> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(candidate.at)).ok()?;
    let mut bytes = Vec::new();
    file.take(candidate.bytes).read_to_end(&mut bytes).ok()?;
    match source::meaning(&bytes) {
        Meaning::Said(said) => Some(said),
        Meaning::Title(_) | Meaning::Nothing(_) => None,
    }
}

/// A message as it is shown beside others.
fn short(text: &str, role: &str, share: usize) -> String {
    let most = share.min(match role {
        "call" | "result" => MAX_OUTPUT,
        _ => MAX_MESSAGE,
    });
    clip(text, most)
}
