//! What links at protected names lead to, and what the settings of repositories include. A repository may bring
//! `.vscode -> editor`: whoever writes `editor/tasks.json` writes what an editor reads. Links and repositories in the folders
//! above a file are looked up each time, those elsewhere in the project by a bounded walk whose answer holds for a moment.

use super::absent;
use super::border::is_below;
use super::glob::matches;
use super::resolve::follow;
use crate::git_settings::{GitSettings, settings_of_repository};
use crate::sight;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Entries of a project that are looked at, the upper ones first.
const MAX_ENTRIES: usize = 16 * 1024;
/// How long the answer of a walk holds. A command that makes a link deep in the project could write the file as well.
const FRESH: Duration = Duration::from_secs(30);
/// Projects whose answers are held at a time.
const MAX_HELD: usize = 8;
/// Folders that hold what others wrote, and much of it.
const PASSED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// The folder of a repository, or the file that leads to it; without one, what makes a folder a repository.
const DOT_GIT: &str = ".git";
const HEAD: &str = "HEAD";

/// Where links at protected names and settings of repositories lead: files, and folders with all below them. Real paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    targets: Vec<PathBuf>,
    /// What repositories include. A folder that one names by mistake, or on purpose, is not protected with all below it.
    included: Vec<PathBuf>,
}

/// What is looked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Names at which links count.
    pub names: &'a [String],
    /// What `~` means in settings of git.
    pub home: Option<&'a Path>,
}

struct Held {
    base: PathBuf,
    names: Vec<String>,
    home: Option<PathBuf>,
    since: Instant,
    links: Arc<Links>,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

impl Links {
    /// Those that stand in this folder. Names with a `*` are left to the walk.
    pub fn in_folder(folder: &Path, wanted: Wanted<'_>) -> Self {
        sight::at_once(|| Self::in_folder_at_once(folder, wanted))
    }

    fn in_folder_at_once(folder: &Path, wanted: Wanted<'_>) -> Self {
        if folder.metadata().is_err_and(|error| absent(&error)) {
            return Self::default();
        }
        let included = included_by(settings_of(folder), wanted.home);
        let mut targets = Vec::new();
        let mut last = ("", false);
        let there = sight::Few::in_folder(folder);
        for name in wanted.names.iter().filter(|name| !name.contains('*')) {
            let first = name.split('/').next().unwrap_or_default();
            if last.0 != first {
                let may_be = there
                    .as_ref()
                    .is_none_or(|there| there.may_have(first.as_ref()));
                let is_there = may_be && folder.join(first).symlink_metadata().is_ok();
                last = (first, is_there);
            }
            if last.1 {
                let path = folder.join(name);
                targets.extend(follow(&path).ok().filter(|real| *real != path));
            }
        }
        Self { targets, included }
    }

    /// Those that stand anywhere in a project, as far as it is looked at.
    pub fn in_project(base: &Path, wanted: Wanted<'_>) -> Arc<Self> {
        let Wanted { names, home } = wanted;
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|held| held.since.elapsed() < FRESH);
        let is_it = |h: &&Held| h.base == base && h.names == names && h.home.as_deref() == home;
        let known = held.iter().find(is_it);
        if let Some(known) = known {
            return known.links.clone();
        }
        let links = Arc::new(walk(base, wanted));
        if held.len() == MAX_HELD {
            held.remove(0);
        }
        held.push(Held {
            base: base.to_owned(),
            names: names.to_vec(),
            home: home.map(Path::to_owned),
            since: Instant::now(),
            links: links.clone(),
        });
        links
    }

    pub fn extend(&mut self, other: &Self) {
        self.targets.extend_from_slice(&other.targets);
        self.included.extend_from_slice(&other.included);
    }

    /// Whether a link leads to this, or to a folder that holds it.
    pub fn holds(&self, real: &Path) -> bool {
        let mut included = self.included.iter();
        self.targets.iter().any(|target| is_below(real, target)) || included.any(|one| one == real)
    }

    /// Whether a link leads to something in this folder.
    pub fn holds_below(&self, real: &Path) -> bool {
        let mut all = self.targets.iter().chain(&self.included);
        all.any(|target| is_below(target, real))
    }
}

fn walk(base: &Path, wanted: Wanted<'_>) -> Links {
    let names = wanted.names.iter();
    let names: Vec<Vec<&str>> = names.map(|name| name.split('/').collect()).collect();
    let mut targets = Vec::new();
    let mut settings = Vec::new();
    let mut open = VecDeque::from([(base.to_owned(), Vec::<String>::new())]);
    let mut seen = 0;
    'all: while let Some((folder, parts)) = open.pop_front() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            seen += 1;
            if seen > MAX_ENTRIES {
                break 'all;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if name == DOT_GIT || name == HEAD {
                settings.extend(settings_of(&folder));
            }
            if kind.is_symlink() {
                let mut parts = parts.clone();
                parts.push(name.to_string_lossy().to_ascii_lowercase());
                targets.extend(led_to(&entry.path(), &parts, &names));
            } else if kind.is_dir() && !PASSED.iter().any(|passed| name == *passed) {
                let mut parts = parts.clone();
                parts.push(name.to_string_lossy().to_ascii_lowercase());
                open.push_back((entry.path(), parts));
            }
        }
    }
    Links {
        targets,
        included: included_by(settings, wanted.home),
    }
}

/// What the settings of repositories include, with the links on the way.
fn included_by(settings: Vec<PathBuf>, home: Option<&Path>) -> Vec<PathBuf> {
    if settings.is_empty() {
        return Vec::new();
    }
    let found = GitSettings::of_repositories(settings, home).find();
    let each = found.into_iter();
    each.flat_map(|file| file.links.into_iter().chain([file.real]))
        .collect()
}

/// The settings of the repository whose working tree this is, or that it is itself; none if it is neither.
fn settings_of(folder: &Path) -> Vec<PathBuf> {
    let dot = folder.join(DOT_GIT);
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    match (is_there(&dot), is_there(&folder.join(HEAD))) {
        (true, _) => settings_of_repository(&dot),
        (false, true) => settings_of_repository(folder),
        (false, false) => Vec::new(),
    }
}

/// Where the protected files lie that are reached through this link.
fn led_to(link: &Path, parts: &[String], names: &[Vec<&str>]) -> Vec<PathBuf> {
    let mut targets = Vec::new();
    for name in names {
        for length in 1..=name.len().min(parts.len()) {
            let (begin, rest) = name.split_at(length);
            let end = parts.iter().skip(parts.len() - length);
            let fits = end
                .zip(begin)
                .all(|(part, glob)| matches(&glob.to_ascii_lowercase(), part));
            if fits && !rest.iter().any(|part| part.contains('*')) {
                let path = link.join(rest.iter().collect::<PathBuf>());
                targets.extend(follow(&path).ok());
            }
        }
    }
    targets
}
