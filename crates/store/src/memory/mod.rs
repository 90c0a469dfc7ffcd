//! What is remembered over sessions: facts as Markdown files, of a project or of all, which people may edit. Finding them
//! (`index`, `rank`) reads no file that did not change; every change (`shelf`) keeps what was there. It asks nobody: the
//! gate does.

mod fact;
mod folder;
mod index;
mod notes;
mod rank;
mod recall;
mod session_recall;
mod terms;
#[cfg(all(test, unix))]
mod tests;

pub use fact::{Fact, Fault, Kind, Place};
pub use notes::{split as split_notes, told};
pub use rank::Worth;
pub use recall::{Explained, Fate, Recalled};
pub use session_recall::SessionRecall;

use crate::redact::Redactor;
use folder::FactFolder;
use index::{Doc, Index, Look, State};
use ostler_wire::{Language, Why, Word};
use rank::rank;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of what a fact is made of.
const MAX_NAME: usize = 80;
const MAX_DESCRIPTION: usize = 300;
const MAX_BODY: usize = 6_000;
/// Characters that name a fact if no other begins so.
const MIN_ID: usize = 4;
/// Hits with less of the best one's score are noise, for those who look for something.
const SEARCH_FLOOR: f32 = 0.35;
/// Files that are no facts of which the reason is told.
const MAX_FAULTS: usize = 50;
const GLOBAL: &str = "global";

#[derive(Debug)]
pub enum MemoryError {
    NoFact(String),
    Ambiguous(String, usize),
    Stale { id: String, now: String },
    Exists { id: String, name: String },
    Wish(String),
    Full(usize),
    Busy,
    Read { path: PathBuf, source: io::Error },
    Write { path: PathBuf, source: io::Error },
}

ostler_wire::told_by_why!(MemoryError);

impl From<&MemoryError> for Why {
    fn from(error: &MemoryError) -> Self {
        let text = |text: &String| Why::from(text.as_str());
        let at = |path: &Path| Why::from(path.display().to_string());
        match error {
            MemoryError::NoFact(id) => Why::ours(Word::FactNone, [text(id)]),
            MemoryError::Ambiguous(id, count) => {
                Why::ours(Word::FactAmbiguous, [text(id), count.to_string().into()])
            }
            MemoryError::Stale { id, now } => Why::ours(Word::FactStale, [text(id), text(now)]),
            MemoryError::Exists { id, name } => Why::ours(Word::FactExists, [text(name), text(id)]),
            MemoryError::Wish(why) => text(why),
            MemoryError::Full(most) => Why::ours(Word::FactFull, [most.to_string().into()]),
            MemoryError::Busy => Word::FactBusy.into(),
            MemoryError::Read { path, source } => {
                Why::ours(Word::FactNotRead, [at(path), source.into()])
            }
            MemoryError::Write { path, source } => {
                Why::ours(Word::FactNotWritten, [at(path), source.into()])
            }
        }
    }
}

/// What shall be remembered. What is left out stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The fact to revise, and the version of it that was read; a new one without.
    pub revises: Option<(String, String)>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub body: Option<String>,
    pub kind: Option<Kind>,
    pub place: Option<Place>,
}

/// A fact that was found, and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub fact: Fact,
    pub score: f32,
}

/// A file that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: PathBuf,
    pub fault: Fault,
}

impl LeftOut {
    pub fn say(&self, language: Language) -> String {
        let path = self.path.display().to_string();
        match &self.fault {
            Fault::Surplus(count) => {
                let most = folder::MAX_FACTS.to_string();
                language.fill(Word::FactsSurplus, &[&count.to_string(), &path, &most])
            }
            fault => language.fill(Word::FactLeft, &[&path, &fault.say(language)]),
        }
    }
}

pub struct Memory {
    folder: PathBuf,
    cache: PathBuf,
    redactor: Redactor,
    /// That of the project comes first.
    shelves: [FactFolder; 2],
    indexes: Mutex<[Option<Index>; 2]>,
}

/// Where a fact lies.
struct Found {
    shelf: usize,
    file: String,
    fact: Fact,
    bytes: Vec<u8>,
}

impl Memory {
    pub fn new(home: &Path, project: &str, redactor: Redactor) -> Self {
        let folder = home.join("memory");
        Self {
            shelves: [
                FactFolder::new(&folder, project, Place::Project),
                FactFolder::new(&folder, GLOBAL, Place::Global),
            ],
            cache: home.join("cache").join("memory"),
            folder,
            redactor,
            indexes: Mutex::default(),
        }
    }

    /// Whether anything was ever remembered.
    pub fn is_there(&self) -> bool {
        self.folder.exists()
    }

    pub fn folder(&self, place: Place) -> &Path {
        let shelf = self.shelves.iter().find(|shelf| shelf.place == place);
        shelf.map_or(&self.folder, FactFolder::dir)
    }

    /// Makes the index ready, so that the first who asks need not wait.
    pub fn warm(&self) {
        // Whoever asks next meets the same fault and says so.
        drop(self.refreshed(Look::Quick));
    }

    /// Looks at every file, for changes that the folders do not show.
    pub fn sweep(&self) {
        drop(self.refreshed(Look::Whole));
    }

    fn refreshed(&self, look: Look) -> Result<MutexGuard<'_, [Option<Index>; 2]>, MemoryError> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        for (shelf, slot) in self.shelves.iter().zip(indexes.iter_mut()) {
            let copy = self.copy(shelf);
            let index = match slot {
                Some(index) => index,
                None if shelf.dir().exists() => slot.insert(Index::load(&copy)),
                None => slot.insert(Index::default()),
            };
            let changed = index.refresh(shelf, look);
            let changed = changed.map_err(|source| MemoryError::Read {
                path: shelf.dir().to_owned(),
                source,
            })?;
            if changed {
                index.keep(&copy);
            }
        }
        Ok(indexes)
    }

    fn copy(&self, shelf: &FactFolder) -> PathBuf {
        let name = shelf.dir().file_name().unwrap_or_default();
        self.cache.join(name).with_extension("idx")
    }

    /// All facts, those that changed last first.
    pub fn list(&self, place: Option<Place>) -> Result<Vec<Fact>, MemoryError> {
        let files: Vec<(usize, String)> = {
            let indexes = self.refreshed(Look::Whole)?;
            let good = |doc: &&Doc| doc.state == State::Good;
            let of = |(shelf, index): (usize, &Option<Index>)| {
                let docs = index
                    .iter()
                    .flat_map(|index| index.docs.iter().filter(good));
                docs.map(|doc| (shelf, doc.file.clone()))
                    .collect::<Vec<_>>()
            };
            indexes.iter().enumerate().flat_map(of).collect()
        };
        let mut out = Vec::new();
        for (shelf, file) in files {
            let Some(shelf) = self.shelves.get(shelf) else {
                continue;
            };
            if place.is_some_and(|place| place != shelf.place) {
                continue;
            }
            let changed = std::fs::metadata(shelf.path(&file)).and_then(|meta| meta.modified());
            if let Ok((fact, _)) = shelf.read(&file) {
                out.push((changed.ok(), fact));
            }
        }
        out.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
        Ok(out.into_iter().map(|(_, fact)| fact).collect())
    }

    /// Facts with any of the words, best first.
    pub fn search(
        &self,
        words: &str,
        place: Option<Place>,
        most: usize,
    ) -> Result<Vec<Hit>, MemoryError> {
        let asked = terms::asked(words);
        let files: Vec<(usize, String, f32)> = {
            let indexes = self.refreshed(Look::Whole)?;
            let none = Index::default();
            let all: Vec<&Index> = indexes
                .iter()
                .map(|i| i.as_ref().unwrap_or(&none))
                .collect();
            let ranking = rank(&all, &asked);
            let candidates = ranking.candidates.into_iter().filter(|candidate| {
                let shelf = self.shelves.get(candidate.shelf);
                place.is_none_or(|place| shelf.is_some_and(|shelf| shelf.place == place))
            });
            let file = |c: rank::Candidate| {
                let doc = all.get(c.shelf)?.docs.get(c.doc)?;
                Some((c.shelf, doc.file.clone(), c.score))
            };
            candidates.filter_map(file).take(most).collect()
        };
        let best = files.first().map_or(0.0, |(_, _, score)| *score);
        let worth = files
            .into_iter()
            .take_while(|(_, _, score)| *score >= best * SEARCH_FLOOR);
        let read = |(shelf, file, score): (usize, String, f32)| {
            let (fact, _) = self.shelves.get(shelf)?.read(&file).ok()?;
            Some(Hit { fact, score })
        };
        Ok(worth.filter_map(read).collect())
    }

    /// A fact by its id, or by a beginning that no other has.
    pub fn read(&self, id: &str) -> Result<Fact, MemoryError> {
        self.find(id).map(|found| found.fact)
    }

    pub fn path_of(&self, id: &str) -> Result<PathBuf, MemoryError> {
        let found = self.find(id)?;
        let shelf = self.shelves.get(found.shelf);
        Ok(shelf.map_or_else(PathBuf::new, |shelf| shelf.path(&found.file)))
    }

    fn find(&self, id: &str) -> Result<Found, MemoryError> {
        let id = id.trim();
        let (shelf, file) = {
            let indexes = self.refreshed(Look::Whole)?;
            let mut exact = indexes.iter().enumerate().filter_map(|(shelf, index)| {
                let doc = index.as_ref()?.find(id)?;
                Some((shelf, doc.file.clone()))
            });
            let begins = |doc: &&Doc| doc.state == State::Good && doc.id.starts_with(id);
            match exact.next() {
                Some(found) => found,
                None if id.chars().count() < MIN_ID => {
                    return Err(MemoryError::NoFact(id.to_owned()));
                }
                None => {
                    let all = indexes.iter().enumerate().flat_map(|(shelf, index)| {
                        let docs = index.iter().flat_map(|i| i.docs.iter().filter(begins));
                        docs.map(move |doc| (shelf, doc.file.clone()))
                    });
                    let mut all: Vec<(usize, String)> = all.collect();
                    match (all.pop(), all.len()) {
                        (None, _) => return Err(MemoryError::NoFact(id.to_owned())),
                        (Some(found), 0) => found,
                        (Some(_), more) => {
                            return Err(MemoryError::Ambiguous(id.to_owned(), more + 1));
                        }
                    }
                }
            }
        };
        let place = self.shelves.get(shelf);
        let read = place
            .ok_or_else(|| MemoryError::NoFact(id.to_owned()))?
            .read(&file);
        let (fact, bytes) = read.map_err(|_| MemoryError::NoFact(id.to_owned()))?;
        Ok(Found {
            shelf,
            file,
            fact,
            bytes,
        })
    }

    /// Files that are no facts, and why. They are left as they are.
    pub fn left_out(&self) -> Result<Vec<LeftOut>, MemoryError> {
        let indexes = self.refreshed(Look::Quick)?;
        let mut out = Vec::new();
        for (shelf, index) in self.shelves.iter().zip(indexes.iter().flatten()) {
            if index.surplus > 0 {
                out.push(LeftOut {
                    path: shelf.dir().to_owned(),
                    fault: Fault::Surplus(index.surplus),
                });
            }
            let bad = index.docs.iter().filter(|doc| doc.state != State::Good);
            for doc in bad.take(MAX_FAULTS.saturating_sub(out.len())) {
                let fault = match shelf.read(&doc.file) {
                    Err(fault) => fault,
                    Ok((fact, _)) => {
                        let first = index.find(&fact.id).map(|doc| doc.file.clone());
                        Fault::Double(first.unwrap_or_default())
                    }
                };
                out.push(LeftOut {
                    path: shelf.path(&doc.file),
                    fault,
                });
            }
        }
        Ok(out)
    }

    /// What a wish would make: the fact as it is, if it is there, and as it would be. Nothing is changed.
    pub fn draft(&self, wish: &Wish) -> Result<(Option<Fact>, Fact), MemoryError> {
        let (found, fact) = self.drafted(wish)?;
        Ok((found.map(|found| found.fact), fact))
    }

    fn drafted(&self, wish: &Wish) -> Result<(Option<Found>, Fact), MemoryError> {
        let clean = |text: &Option<String>| {
            let text = text.as_ref().map(|text| self.redactor.text(text.clone()));
            text.map(|text| text.replace("\r\n", "\n").trim().to_owned())
        };
        let (name, description, body) = (
            clean(&wish.name),
            clean(&wish.description),
            clean(&wish.body),
        );
        for (what, text, most) in [
            ("name", &name, MAX_NAME),
            ("description", &description, MAX_DESCRIPTION),
            ("content", &body, MAX_BODY),
        ] {
            let long = text.as_ref().map_or(0, |text| text.chars().count());
            if long > most {
                return Err(MemoryError::Wish(format!(
                    "The {what} has {long} characters; at most {most} are kept. Say it shorter, or as several facts."
                )));
            }
        }
        let now = crate::log::now();
        let Some((id, version)) = &wish.revises else {
            let fact = Fact {
                id: uuid::Uuid::new_v4()
                    .simple()
                    .to_string()
                    .chars()
                    .take(8)
                    .collect(),
                revision: 1,
                name: name.unwrap_or_default(),
                description: description.unwrap_or_default(),
                kind: wish.kind.unwrap_or_default(),
                place: wish.place.unwrap_or_default(),
                created: now.clone(),
                updated: now,
                body: body.unwrap_or_default(),
                ..Fact::default()
            };
            if fact.name.is_empty() || fact.body.is_empty() {
                let text = "A new fact needs a name and content.";
                return Err(MemoryError::Wish(text.into()));
            }
            return Ok((None, fact));
        };
        let found = self.find(id)?;
        let old = &found.fact;
        is_present(old, version)?;
        if wish.place.is_some_and(|place| place != old.place) {
            let text =
                "A fact stays where it is: forget it, and remember it anew with another scope.";
            return Err(MemoryError::Wish(text.into()));
        }
        let fact = Fact {
            revision: old.revision.saturating_add(1),
            name: name
                .filter(|n| !n.is_empty())
                .unwrap_or_else(|| old.name.clone()),
            description: description.unwrap_or_else(|| old.description.clone()),
            kind: wish.kind.unwrap_or(old.kind),
            created: match old.created.is_empty() {
                true => now.clone(),
                false => old.created.clone(),
            },
            updated: now,
            body: body
                .filter(|b| !b.is_empty())
                .unwrap_or_else(|| old.body.clone()),
            ..old.clone()
        };
        Ok((Some(found), fact))
    }

    /// Makes a fact, or its next revision. What it is now.
    pub fn remember(&self, wish: &Wish) -> Result<Fact, MemoryError> {
        let place = self.drafted(wish)?.1.place;
        let shelf = self.shelf(place)?;
        let lock = shelf.lock()?;
        // Another process may have been here before the lock was ours.
        let (found, fact) = self.drafted(wish)?;
        let file = match found {
            Some(found) => {
                shelf.revise(&found.file, (&found.fact, &found.bytes), &fact, &lock)?;
                found.file
            }
            None => {
                self.has_room(shelf, &fact)?;
                shelf.create(&fact, &lock)?
            }
        };
        drop(lock);
        self.sweep();
        let written = shelf.read(&file).map(|(fact, _)| fact);
        written.map_err(|_| MemoryError::NoFact(fact.id))
    }

    fn has_room(&self, shelf: &FactFolder, fact: &Fact) -> Result<(), MemoryError> {
        let namesake = shelf.read(&format!("{}.md", fact::slug(&fact.name)));
        if let Ok((other, _)) = namesake
            && other.name.to_lowercase() == fact.name.to_lowercase()
        {
            return Err(MemoryError::Exists {
                id: other.id,
                name: other.name,
            });
        }
        let count = shelf.list().map_or(0, |(listed, _)| listed.len());
        match count >= folder::MAX_FACTS {
            true => Err(MemoryError::Full(count)),
            false => Ok(()),
        }
    }

    fn shelf(&self, place: Place) -> Result<&FactFolder, MemoryError> {
        let found = self.shelves.iter().find(|shelf| shelf.place == place);
        found.ok_or_else(|| MemoryError::NoFact(place.name().into()))
    }

    /// Whether this is the present version of a fact.
    pub fn check(&self, id: &str, version: &str) -> Result<(), MemoryError> {
        is_present(&self.find(id)?.fact, version)
    }

    /// Takes a fact out of what is found; it can be restored. A version has to be the present one.
    pub fn archive(&self, id: &str, version: Option<&str>) -> Result<Fact, MemoryError> {
        let shelf = self.shelf(self.find(id)?.fact.place)?;
        let lock = shelf.lock()?;
        let found = self.find(id)?;
        if let Some(version) = version {
            is_present(&found.fact, version)?;
        }
        shelf.archive(&found.file, &lock)?;
        drop(lock);
        self.sweep();
        Ok(found.fact)
    }

    /// Facts that were archived, by name.
    pub fn archived(&self) -> Result<Vec<Fact>, MemoryError> {
        let mut out: Vec<Fact> = Vec::new();
        for shelf in &self.shelves {
            out.extend(archived_in(shelf)?.into_iter().map(|(_, fact)| fact));
        }
        out.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(out)
    }

    /// Brings an archived fact back.
    pub fn restore(&self, id: &str) -> Result<Fact, MemoryError> {
        let id = id.trim();
        if let Ok(found) = self.find(id)
            && found.fact.id == id
        {
            return Err(MemoryError::Exists {
                id: found.fact.id,
                name: found.fact.name,
            });
        }
        for shelf in &self.shelves {
            let is_meant = |fact: &Fact| {
                fact.id == id || (id.chars().count() >= MIN_ID && fact.id.starts_with(id))
            };
            let mut files = archived_in(shelf)?.into_iter();
            let Some((file, fact)) = files.find(|(_, fact)| is_meant(fact)) else {
                continue;
            };
            let lock = shelf.lock()?;
            shelf.restore(&file, &lock)?;
            drop(lock);
            self.sweep();
            return Ok(fact);
        }
        Err(MemoryError::NoFact(id.to_owned()))
    }
}

fn is_present(fact: &Fact, version: &str) -> Result<(), MemoryError> {
    match fact.version() == version.trim() {
        true => Ok(()),
        false => Err(MemoryError::Stale {
            id: fact.id.clone(),
            now: fact.version(),
        }),
    }
}

fn archived_in(shelf: &FactFolder) -> Result<Vec<(String, Fact)>, MemoryError> {
    let listed = shelf.list_archived().map_err(|source| MemoryError::Read {
        path: shelf.dir().to_owned(),
        source,
    })?;
    let read = |listed: folder::Listed| {
        let (fact, _) = shelf.read_archived(&listed.file).ok()?;
        Some((listed.file, fact))
    };
    Ok(listed.into_iter().filter_map(read).collect())
}
