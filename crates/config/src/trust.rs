//! Which projects the person trusts, and with what in them. An item is one thing of a repository that runs, sends or
//! loosens; a record has the items that were looked at. What is not in it takes no effect. Asking is elsewhere.

use crate::digest::hash;
use crate::text::phrase;
use ostler_wire::{Language, Why, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, Access};
use crate::tree::Place;
use ostler_guard::definitions;

const VERSION: u32 = 1;
/// Of `trust.json`.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Nobody reads more before saying yes.
pub const MAX_ITEMS: usize = 1000;
/// Characters of an item that a record keeps, to say later what it was.
const MAX_KEPT: usize = 200;
/// Items that a notice names.
const MAX_NAMED: usize = 20;

/// One thing of a repository that runs, sends or loosens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is: a key of the file, a server.
    pub what: String,
    pub place: Place,
    /// All that it grants, as a person reads it, secrets covered. Never cut: who trusts it has to see it.
    pub text: Why,
    /// What a model reads beside it: the text of a role or skill, which grants nothing.
    pub prose: String,
    /// Of the whole, secrets and all, in normal form.
    pub hash: String,
}

impl Item {
    /// `normal` is the content in a form that order and comments do not change.
    pub fn new(what: String, place: Place, text: impl Into<Why>, normal: &str) -> Self {
        let hash = hash(&[what.as_bytes(), &[0], normal.as_bytes()]);
        Self {
            what,
            place,
            text: text.into(),
            prose: String::new(),
            hash,
        }
    }

    /// A file of a role or skill. Its front matter and the commands in its text grant something.
    pub fn of_file(what: String, place: Place, text: &str) -> Self {
        let (head, body) = definitions::head_and_body(text);
        let commands = definitions::commands_in(body).into_iter();
        let commands = commands.map(|command| format!("!`{command}`"));
        let grants: Vec<String> = std::iter::once(head.trim_end().to_owned())
            .filter(|head| !head.is_empty())
            .chain(commands)
            .collect();
        Self {
            prose: body.trim().to_owned(),
            ..Self::new(what, place, grants.join("\n"), &definitions::hash(text))
        }
    }

    fn known(&self, language: Language) -> Known {
        Known {
            what: self.what.clone(),
            text: cut(&self.text.say(language), MAX_KEPT),
            hash: self.hash.clone(),
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    let more = text.chars().count().saturating_sub(most);
    if more == 0 {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    format!("{head}… ({more} more characters)")
}

/// An item that the person has looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub what: String,
    pub text: String,
    pub hash: String,
}

/// What the person said to a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Trusted,
    /// Never for this content.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub answer: Answer,
    pub since: String,
    pub items: Vec<Known>,
}

impl Record {
    /// It keeps the texts of the items as the person read them.
    pub fn new(answer: Answer, since: String, items: &[Item], language: Language) -> Self {
        let items = items.iter().map(|item| item.known(language)).collect();
        Self {
            answer,
            since,
            items,
        }
    }

    /// Whether each of these was looked at. Items that are gone need no new look.
    fn covers(&self, items: &[Item]) -> bool {
        let known: BTreeSet<&str> = self.items.iter().map(|known| known.hash.as_str()).collect();
        items.iter().all(|item| known.contains(item.hash.as_str()))
    }
}

/// What the person has said so far.
#[derive(Debug, Clone, Copy)]
pub enum Approval<'a> {
    /// `--trust-workspace`.
    ThisRun,
    Recorded(Option<&'a Record>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is nothing that needs trust.
    NotNeeded,
    Trusted,
    ThisRun,
    Untrusted,
    /// It was trusted, and there is something new since.
    Changed,
    Refused,
}

/// The project as it is, against what the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub state: State,
    /// Sorted, each once.
    pub items: Vec<Item>,
    /// What was looked at before, when it was trusted.
    pub known: Vec<Known>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::judge(Vec::new(), Approval::Recorded(None))
    }
}

impl Workspace {
    pub fn judge(mut items: Vec<Item>, approval: Approval<'_>) -> Self {
        items.sort_by_cached_key(|item| {
            (item.what.clone(), item.text.to_string(), item.hash.clone())
        });
        items.dedup_by(|a, b| a.hash == b.hash);
        let (state, known) = match approval {
            Approval::ThisRun if items.is_empty() => (State::NotNeeded, &[][..]),
            Approval::ThisRun => (State::ThisRun, &[][..]),
            Approval::Recorded(None) if items.is_empty() => (State::NotNeeded, &[][..]),
            Approval::Recorded(None) => (State::Untrusted, &[][..]),
            Approval::Recorded(Some(record)) => {
                let state = match (record.answer, record.covers(&items)) {
                    (Answer::Trusted, true) => State::Trusted,
                    (Answer::Trusted, false) => State::Changed,
                    (Answer::Refused, _) if items.is_empty() => State::NotNeeded,
                    (Answer::Refused, true) => State::Refused,
                    (Answer::Refused, false) => State::Untrusted,
                };
                let known = match record.answer {
                    Answer::Trusted => record.items.as_slice(),
                    Answer::Refused => &[],
                };
                (state, known)
            }
        };
        Self {
            state,
            known: known.to_vec(),
            items,
        }
    }

    /// Whether the items take effect.
    pub fn is_trusted(&self) -> bool {
        match self.state {
            State::NotNeeded | State::Trusted | State::ThisRun => true,
            State::Untrusted | State::Changed | State::Refused => false,
        }
    }

    /// One sentence for the start of a session; None where there is nothing to say.
    pub fn notice(&self) -> Option<Why> {
        let ignored = Why::from(Word::TrustSettingsIgnored);
        let names = self.names();
        Some(match self.state {
            State::NotNeeded | State::Trusted => return None,
            State::ThisRun => phrase(Word::TrustRunOnly, &[&names]),
            State::Untrusted => phrase(Word::TrustNotYet, &[&ignored, &names]),
            State::Changed => phrase(Word::TrustHasChanged, &[&ignored, &names]),
            State::Refused => phrase(Word::TrustAsDecided, &[&ignored, &names]),
        })
    }

    fn names(&self) -> String {
        let names: BTreeSet<&str> = self.items.iter().map(|item| item.what.as_str()).collect();
        let shown = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`"));
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        if let Some(more) = names.len().checked_sub(MAX_NAMED + 1) {
            shown.push_str(&format!(" and {} more", more + 1));
        }
        shown
    }

    /// Where the first of the items stands.
    pub fn place(&self) -> Option<Place> {
        let by_line = |item: &&Item| (item.place.name.clone(), item.place.position);
        self.items
            .iter()
            .min_by_key(by_line)
            .map(|item| item.place.clone())
    }

    /// What is new, different or gone since it was trusted; then what is as it was.
    pub fn differences(&self) -> Vec<Difference<'_>> {
        let was = |hash: &str| self.known.iter().any(|known| known.hash == hash);
        let is = |hash: &str| self.items.iter().any(|item| item.hash == hash);
        // A key that stood there once before and once now was changed, not replaced.
        let gone: Vec<&Known> = self.known.iter().filter(|k| !is(&k.hash)).collect();
        let added: Vec<&Item> = self.items.iter().filter(|i| !was(&i.hash)).collect();
        let only = |what: &str| {
            let one_new = added.iter().filter(|item| item.what == what).count() == 1;
            let mut olds = gone.iter().filter(|known| known.what == what);
            match (one_new, olds.next(), olds.next()) {
                (true, Some(old), None) => Some(*old),
                _ => None,
            }
        };
        let mut out = Vec::new();
        for item in &added {
            out.push(match only(&item.what) {
                Some(old) => Difference::Changed(item, old),
                None => Difference::Added(item),
            });
        }
        let left = gone.iter().filter(|known| only(&known.what).is_none());
        out.extend(left.map(|known| Difference::Removed(known)));
        let same = self.items.iter().filter(|item| was(&item.hash));
        out.extend(same.map(Difference::Same));
        out
    }
}

/// How an item stands to what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference<'a> {
    Added(&'a Item),
    Changed(&'a Item, &'a Known),
    Removed(&'a Known),
    Same(&'a Item),
}

#[derive(Debug, Serialize, Deserialize)]
struct Page {
    version: u32,
    workspaces: BTreeMap<String, Record>,
}

#[derive(Debug)]
pub enum TrustError {
    File { path: PathBuf, source: io::Error },
    Name,
    TooMany(usize),
    Full(PathBuf),
}

impl From<&TrustError> for Why {
    fn from(error: &TrustError) -> Self {
        match error {
            TrustError::File { path, source } => phrase(Word::Because, &[&path.display(), source]),
            TrustError::Name => Word::TrustNoUtf8.into(),
            TrustError::TooMany(count) => phrase(Word::TrustTooMany, &[count, &MAX_ITEMS]),
            TrustError::Full(path) => phrase(Word::TrustTooLarge, &[&path.display()]),
        }
    }
}

ostler_wire::told_by_why!(TrustError);

/// All records, as they are in `trust.json`.
#[derive(Debug, Default)]
pub struct Book {
    pub workspaces: BTreeMap<String, Record>,
    /// Why nothing could be read, ready to show.
    pub fault: Option<Why>,
}

impl Book {
    /// A file that is not there trusts nothing; neither does one that cannot be read, which is said.
    pub fn load(path: &Path) -> Self {
        let fault = |why: Why| Self {
            workspaces: BTreeMap::new(),
            fault: Some(phrase(Word::TrustBookBad, &[&path.display(), &why])),
        };
        match read(path) {
            Ok(None) => Self::default(),
            Ok(Some(text)) => match serde_json::from_str::<Page>(&text) {
                Ok(page) if page.version == VERSION => Self {
                    workspaces: page.workspaces,
                    fault: None,
                },
                Ok(_) => fault(Why::from(Word::TrustOther)),
                Err(error) => fault(phrase(Word::TrustGarbled, &[&error])),
            },
            Err(error) => fault(phrase(Word::TrustUnread, &[&error])),
        }
    }

    pub fn record(&self, root: &Path) -> Option<&Record> {
        self.workspaces.get(root.to_str()?)
    }

    /// Sets or (None) removes the record of a root. The caller holds the lock. A file that could not be read is kept
    /// beside the new one; its path is returned.
    pub fn set(
        &mut self,
        path: &Path,
        root: &Path,
        record: Option<Record>,
    ) -> Result<Option<PathBuf>, TrustError> {
        let root = root.to_str().ok_or(TrustError::Name)?;
        match record {
            Some(record) if record.items.len() > MAX_ITEMS => {
                return Err(TrustError::TooMany(record.items.len()));
            }
            Some(record) => self.workspaces.insert(root.to_owned(), record),
            None => self.workspaces.remove(root),
        };
        let page = Page {
            version: VERSION,
            workspaces: self.workspaces.clone(),
        };
        let failed = |source: io::Error| TrustError::File {
            path: path.to_owned(),
            source,
        };
        let text = serde_json::to_string_pretty(&page)
            .map_err(io::Error::other)
            .map_err(failed)?
            + "\n";
        if text.len() as u64 > MAX_BYTES {
            return Err(TrustError::Full(path.to_owned()));
        }
        let aside = match self.fault.take() {
            Some(_) => Some(set_aside(path).map_err(failed)?),
            None => None,
        };
        files::write(path, text.as_bytes(), Access::Private).map_err(failed)?;
        Ok(aside)
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(io::Error::other(Why::from(Word::TrustNoSmall)));
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Moves a file out of the way under a name that is free.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    const MOST: u32 = 1000;
    let name = |n: u32| path.with_extension(format!("json.damaged-{n}"));
    let free = (1..=MOST).map(name).find(|path| !path.exists());
    let aside = free.ok_or_else(|| io::Error::other(Why::from(Word::TrustManyDamaged)))?;
    fs::rename(path, &aside)?;
    Ok(aside)
}
