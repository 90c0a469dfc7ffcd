//! Where rules that hold for ever are kept: the person's own file for the project, or the repository's while its content
//! is the person's own or looked at. A rule saved there does not make a trusted project untrusted. It decides nothing.

use super::{ConfigFiles, layer_of};
use crate::boot::Boot;
use crate::flags::RuleLayer;
use ostler_config::diagnose::{ConfigError, Paint};
use ostler_config::files::Lock;
use ostler_config::layers::{Loaded, RuleList};
use ostler_config::paths::{Places, is_inside};
use ostler_config::project::allow_item;
use ostler_config::text::Speak as _;
use ostler_config::tree::{Layer, Place};
use ostler_config::trust::{Answer, Approval, Book, MAX_ITEMS, Record, State, TrustError};
use ostler_engine::confine::helpers;
use ostler_engine::{Keep, RuleStore};
use ostler_guard::Rule;
use ostler_wire::{Language, Say as _, Word};
use std::io;
use std::path::{Path, PathBuf};

/// Characters of a folder's name in a question; of a longer one half as many are shown.
const MAX_NAME: usize = 32;

#[derive(Debug)]
pub enum RuleStoreError {
    Rule(Word),
    Config(ConfigError),
    Trust(TrustError),
    Lock { home: PathBuf, source: io::Error },
    Changed,
    Root,
}

impl RuleStoreError {
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Rule(why) => language.filled(Word::StoreBadRule, &[why]),
            Self::Config(error) => error.render(Paint::Plain, language),
            Self::Trust(error) => error.say(language),
            Self::Lock { home, source } => {
                language.filled(Word::StoreLocked, &[&home.display(), source])
            }
            Self::Changed => language.say(Word::StoreChanged).into(),
            Self::Root => language.say(Word::StoreBadFolder).into(),
        }
    }
}

impl From<ConfigError> for RuleStoreError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<TrustError> for RuleStoreError {
    fn from(error: TrustError) -> Self {
        Self::Trust(error)
    }
}

/// A rule that was taken out of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The file, ready to show.
    pub file: String,
    pub layer: Layer,
    pub list: RuleList,
    /// As it was written.
    pub text: String,
}

/// Takes a rule, in whichever form it is written, out of all lists of one file or both.
pub fn remove(
    boot: &Boot,
    rule: &str,
    layer: Option<RuleLayer>,
) -> Result<Vec<Removed>, RuleStoreError> {
    Saved::new(boot).remove(rule, &layers(layer))
}

/// Adds allow rules to the file of this layer. How many were not there, and the file, ready to show.
pub fn allow(
    boot: &Boot,
    rules: &[String],
    layer: RuleLayer,
) -> Result<(usize, String), RuleStoreError> {
    let saved = Saved::new(boot);
    let mut added = 0;
    for rule in rules {
        added += usize::from(!saved.put(&parse(rule)?, layer)?.is_empty());
    }
    Ok((added, saved.shown(layer)))
}

/// The rules in these files, and their names.
pub fn written(
    boot: &Boot,
    layer: Option<RuleLayer>,
) -> Result<(Vec<String>, Vec<String>), RuleStoreError> {
    let saved = Saved::new(boot);
    let (mut rules, mut names) = (Vec::new(), Vec::new());
    for one in layers(layer) {
        // Nobody need know of a file that holds nothing yet.
        if one == RuleLayer::Local && layer.is_none() && !saved.files.path(one).exists() {
            continue;
        }
        rules.extend(saved.files.edit(one, |file| file.rules())?);
        names.push(saved.shown(one));
    }
    Ok((rules, names))
}

/// The files that are meant: the one that was named, or all.
fn layers(layer: Option<RuleLayer>) -> Vec<RuleLayer> {
    match layer {
        None => vec![RuleLayer::User, RuleLayer::Local, RuleLayer::Project],
        Some(layer) => vec![layer],
    }
}

/// Keeps rules in the files of a session.
pub struct Saved {
    files: ConfigFiles,
    repository: Repository,
}

impl Saved {
    pub fn new(boot: &Boot) -> Self {
        Self {
            files: ConfigFiles::new(boot),
            repository: Repository::judge(&boot.loaded, &boot.places),
        }
    }

    fn places(&self) -> &Places {
        &self.files.places
    }

    fn shown(&self, layer: RuleLayer) -> String {
        self.files.shown(&self.files.path(layer))
    }

    fn lock(&self) -> Result<Lock, RuleStoreError> {
        self.files.lock().map_err(|source| RuleStoreError::Lock {
            home: self.places().home.clone(),
            source,
        })
    }

    fn add(&self, rule: &str, layer: RuleLayer) -> Result<String, RuleStoreError> {
        let added = self.put(&parse(rule)?, layer)?;
        let file = self.shown(layer);
        Ok(match added.is_empty() {
            true => self.files.language.filled(Word::StoreThere, &[&file]),
            false => file,
        })
    }

    /// What was not there before.
    fn put(&self, rule: &Rule, layer: RuleLayer) -> Result<Vec<String>, RuleStoreError> {
        let _lock = self.lock()?;
        match layer {
            RuleLayer::Local => {
                let rules = [rule.canonical()];
                Ok(self
                    .files
                    .edit(RuleLayer::Local, |file| file.add(&rules, is_same))?)
            }
            RuleLayer::Project => self.add_to_project(&rule.canonical()),
            RuleLayer::User => {
                let rules = self.everywhere(rule)?;
                Ok(self
                    .files
                    .edit(RuleLayer::User, |file| file.add(&rules, is_same))?)
            }
        }
    }

    /// The record is written first: whoever starts in between finds a rule less, not one too many.
    fn add_to_project(&self, rule: &str) -> Result<Vec<String>, RuleStoreError> {
        let path = self.places().trust();
        let mut book = Book::load(&path);
        let before = book.record(&self.places().root).cloned();
        let approval = Approval::Recorded(before.as_ref());
        let loaded = self.files.load(approval)?;
        if Repository::judge(&loaded, self.places()) != Repository::Known {
            return Err(RuleStoreError::Changed);
        }
        let place = Place {
            name: self.shown(RuleLayer::Project),
            position: None,
        };
        let mut items = loaded.workspace.items;
        items.push(allow_item(rule, place));
        if items.len() > MAX_ITEMS {
            return Err(TrustError::TooMany(items.len()).into());
        }
        let now = jiff::Timestamp::now().to_string();
        let since = before.as_ref().map_or(now, |record| record.since.clone());
        let record = Record::new(Answer::Trusted, since, &items, self.files.language);
        book.set(&path, &self.places().root, Some(record))?;
        let rules = [rule.to_owned()];
        let added = self
            .files
            .edit(RuleLayer::Project, |file| file.add(&rules, is_same));
        if added.as_ref().map_or(true, Vec::is_empty) {
            // Nothing new stands in the file, so nothing new was said about it.
            book.set(&path, &self.places().root, before)?;
        }
        // A server that runs now did not write it.
        helpers::accept(&self.places().project_config());
        Ok(added?)
    }

    /// The rule as it must stand in the person's own file to hold only here, where it can be said.
    fn everywhere(&self, rule: &Rule) -> Result<Vec<String>, RuleStoreError> {
        let canonical = rule.canonical();
        let spec = canonical.split_once('(');
        let spec = spec.and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
        let Some((name, spec)) = spec.filter(|_| rule.is_about_paths()) else {
            return Ok(vec![canonical]);
        };
        if spec == "~" || spec.starts_with("~/") || spec.starts_with('/') {
            return Ok(vec![canonical]);
        }
        let root = self.places().root.to_str().ok_or(RuleStoreError::Root)?;
        if root.contains(['*', '?', '[']) {
            return Err(RuleStoreError::Root);
        }
        let root = root.trim_end_matches('/');
        let absolute = |below: &str| format!("{name}({root}/{below})");
        let plain = spec.strip_prefix("./").unwrap_or(spec);
        let any_depth = plain == spec && !spec.trim_end_matches('/').contains('/');
        Ok(match any_depth {
            true => vec![absolute(plain), absolute(&format!("**/{plain}"))],
            false => vec![absolute(plain)],
        })
    }

    fn remove(&self, rule: &str, layers: &[RuleLayer]) -> Result<Vec<Removed>, RuleStoreError> {
        let _lock = self.lock()?;
        let mut out = Vec::new();
        for &layer in layers {
            if !self.files.path(layer).exists() {
                continue;
            }
            let taken = self
                .files
                .edit(layer, |file| file.remove(|text| is_same(text, rule)))?;
            out.extend(taken.into_iter().map(|(list, text)| Removed {
                file: self.shown(layer),
                layer: layer_of(layer),
                list,
                text,
            }));
        }
        self.forget(&out)?;
        Ok(out)
    }

    /// A rule that was taken out of a project's file is not trusted when somebody puts it back.
    fn forget(&self, removed: &[Removed]) -> Result<(), RuleStoreError> {
        let path = self.places().trust();
        let mut book = Book::load(&path);
        let Some(mut record) = book.record(&self.places().root).cloned() else {
            return Ok(());
        };
        let hashes: Vec<String> = removed
            .iter()
            .filter(|one| one.layer == Layer::Project && one.list == RuleList::Allow)
            .map(|one| {
                let place = Place {
                    name: one.file.clone(),
                    position: None,
                };
                allow_item(&one.text, place).hash
            })
            .collect();
        let before = record.items.len();
        record.items.retain(|known| !hashes.contains(&known.hash));
        if record.items.len() < before {
            book.set(&path, &self.places().root, Some(record))?;
        }
        Ok(())
    }
}

impl RuleStore for Saved {
    fn place(&self, keep: Keep) -> Option<String> {
        match (keep, self.repository) {
            (Keep::Person, _) => {
                let path = self.files.path(RuleLayer::Local);
                Some(brief(&path, self.places().user_home.as_deref()))
            }
            (Keep::Repository, Repository::Known) => Some(self.shown(RuleLayer::Project)),
            (Keep::Repository, Repository::Foreign) => None,
        }
    }

    fn file(&self, keep: Keep) -> Option<PathBuf> {
        match keep {
            Keep::Person => None,
            Keep::Repository => Some(self.files.path(RuleLayer::Project)),
        }
    }

    fn save(&self, rule: &str, keep: Keep) -> Result<String, String> {
        let layer = match keep {
            Keep::Person => RuleLayer::Local,
            Keep::Repository => RuleLayer::Project,
        };
        self.add(rule, layer)
            .map_err(|error| error.say(self.files.language))
    }
}

/// A path for a question: with `~` for the home, and of a long name only the beginning.
fn brief(path: &Path, home: Option<&Path>) -> String {
    let (start, rest) = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => ("~/", rest),
        None => ("", path),
    };
    let part = |name: std::path::Component<'_>| {
        let name = name.as_os_str().to_string_lossy();
        match name.chars().count() > MAX_NAME {
            true => name.chars().take(MAX_NAME / 2).chain(['…']).collect(),
            false => name.into_owned(),
        }
    };
    let shown: PathBuf = rest.components().map(part).collect();
    format!("{start}{}", shown.display())
}

/// Whether the repository's file may get a rule of the person's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repository {
    /// Everything in it is the person's own or was looked at.
    Known,
    /// Something stands in it that nobody has looked at, or it is a link to a file elsewhere.
    Foreign,
}

impl Repository {
    fn judge(loaded: &Loaded, places: &Places) -> Self {
        let inside = is_inside(&places.project_config(), &places.root);
        match loaded.workspace.state {
            State::NotNeeded | State::Trusted if inside => Self::Known,
            State::NotNeeded | State::Trusted => Self::Foreign,
            State::ThisRun | State::Untrusted | State::Changed | State::Refused => Self::Foreign,
        }
    }
}

fn parse(rule: &str) -> Result<Rule, RuleStoreError> {
    Rule::parse(rule, "").map_err(|error| RuleStoreError::Rule(error.why))
}

/// Whether two texts are the same rule, in whichever form.
pub fn is_same(a: &str, b: &str) -> bool {
    let canonical = |text: &str| Rule::parse(text, "").map(|rule| rule.canonical());
    match (canonical(a), canonical(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.trim() == b.trim(),
    }
}

#[cfg(test)]
mod tests;
