//! The history of the project's own repository in a checkpoint: refs, logs, settings and objects of its git folder, as files and
//! within a limit, so that `rm -rf .git` can be taken back. Files are copied as they are; git is not run. They are looked at
//! again only when a ref has changed, and a restore brings back what is missing and replaces nothing.

use super::apply::{self, Apply};
use super::cache::Cache;
use super::git::Repository;
use super::pack::{Hash, Packs};
use super::restore::{Kept, Report};
use super::scan::{Halt, Mode, Sink};
use super::select::{Rules, Wanted};
use super::tree::{self, Difference, Rel, join, unquote};
use super::{Checkpoints, Record, Result, record};
use ostler_host::raw;
use ostler_wire::{Why, Word};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// While these are the same, so is the history.
const STATE: [&[u8]; 3] = [b"HEAD", b"packed-refs", b"refs"];
const OBJECTS: &[u8] = b"objects";
/// Folders of a git folder with repositories and large files of their own: kept if there is room for all of it.
const BULK: [&[u8]; 2] = [b"modules", b"lfs"];
/// Files of a git folder that are of use only while git runs, that are made anew, or that are recorded elsewhere.
const PASSING: [&[u8]; 5] = [
    b"index",
    b"gc.pid",
    b"gc.log",
    b"COMMIT_EDITMSG",
    b"FETCH_HEAD",
];
/// What git makes of packs and commits; wrong for a part of them.
const DERIVED: [&str; 4] = ["multi-pack-index", "commit-graph", ".bitmap", ".rev"];
/// Names in a git folder that are looked at; of a larger one no history is kept.
const MAX_NAMES: usize = 500_000;
const MAX_DEPTH: usize = 32;
/// Bytes of a file that links a working tree to its git folder.
const MAX_LINK: u64 = 16 << 10;

/// What a checkpoint knows of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The working tree, its git folder, and that of the repository; what is not UTF-8 as `\xNN`.
    pub top: String,
    pub dir: String,
    pub common: String,
    /// The file that links a working tree to its git folder, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Hash of `HEAD` and the refs at that time.
    pub state: String,
    /// Hash of the files that are kept; none where it was too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Bytes of objects that did not fit the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl History {
    pub fn files_hash(&self) -> Option<Hash> {
        record::parse(self.files.as_ref()?)
    }

    /// The repository as it was.
    fn repository(&self) -> Repository {
        let [top, dir, common] = [&self.top, &self.dir, &self.common]
            .map(|text| PathBuf::from(raw::name(&unquote(text))));
        Repository { top, dir, common }
    }
}

/// One file of a git folder.
struct Found {
    path: Rel,
    size: u64,
    changed: SystemTime,
}

impl Checkpoints {
    /// Keeps the history, unless the newest checkpoint has it already. What is too much is left out and counted.
    pub(super) fn look_at_history<'a>(
        &'a self,
        repository: Option<&Repository>,
        known: (&'a Cache, &'a Cache),
        sink: Sink<'a>,
    ) -> std::result::Result<(Option<History>, Option<Cache>, Sink<'a>), Halt> {
        let Some(repository) = repository else {
            return Ok((None, None, sink));
        };
        let (state_known, files_known) = known;
        let mut wanted = Wanted::default();
        wanted.named.extend(STATE.map(<[u8]>::to_vec));
        let mut look = self.look(repository.common.clone(), wanted, state_known, sink);
        let state = look.run(Mode::Wanted, &Rules::default())?;
        let sink = look.sink;
        let name = |path: &Path| {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            tree::quote(path.as_os_str().as_encoded_bytes())
        };
        let mut history = History {
            top: name(&repository.top),
            dir: name(&repository.dir),
            common: name(&repository.common),
            link: link_of(&repository.top),
            state: crate::hex::hex(&state),
            files: None,
            left: 0,
        };
        let last = self.last()?.and_then(|last| last.history);
        let same = |last: &History| last.state == history.state && last.common == history.common;
        if let Some(last) = last.filter(|last| last.files.is_some() && same(last)) {
            history.files = last.files;
            history.left = last.left;
            return Ok((Some(history), None, sink));
        }
        let limit = self.limits.history.min(self.limits.quota / 4);
        let chosen = choose(&repository.common, (limit, self.limits.file_bytes));
        let Some((files, left)) = chosen else {
            history.left = u64::MAX;
            return Ok((Some(history), None, sink));
        };
        history.left = left;
        let wanted = Wanted {
            files,
            ..Wanted::default()
        };
        let mut look = self.look(repository.common.clone(), wanted, files_known, sink);
        match look.run(Mode::Wanted, &Rules::default()) {
            Ok(hash) => history.files = Some(crate::hex::hex(&hash)),
            // A checkpoint of the tree without it is better than none.
            Err(Halt::Stop(_)) => history.left = u64::MAX,
            Err(fail @ Halt::Fail(_)) => return Err(fail),
        }
        Ok((Some(history), Some(look.found.cache), look.sink))
    }

    /// The repository of a checkpoint, if it can be brought back where it was. A link in its place leads elsewhere.
    pub(super) fn repository_of(&self, target: &Record) -> Option<Repository> {
        let Some(history) = &target.history else {
            return Repository::around(&self.root);
        };
        let repository = history.repository();
        let Repository { top, dir, common } = &repository;
        let all = [top, dir, common];
        all.iter().all(|path| is_plain(path)).then_some(repository)
    }

    /// Whether the repository of a checkpoint is there no more, or has no object left.
    pub(super) fn has_lost_history(&self, target: &Record) -> bool {
        let Some(history) = &target.history else {
            return false;
        };
        let repository = history.repository();
        let head = repository.dir.join("HEAD");
        let objects = fs::read_dir(repository.common.join("objects"));
        let objects = objects.into_iter().flatten().flatten();
        let mut folders = objects.filter(|entry| entry.file_name() != "info");
        let is_filled = |path: PathBuf| fs::read_dir(path).is_ok_and(|mut d| d.next().is_some());
        !head.exists() || !folders.any(|entry| is_filled(entry.path()))
    }

    /// What the newest checkpoint that knows it has of a repository.
    fn newest_files(&self, common: &str) -> Result<Option<Hash>> {
        let all = self.list()?.into_iter().rev();
        let mut known = all.filter_map(|record| record.history);
        let newest = known.find(|h| h.common == common && h.files.is_some());
        Ok(newest.and_then(|history| history.files_hash()))
    }

    /// Brings back the files that are missing. Nothing that is there is touched.
    pub(super) fn bring_history_back(
        &self,
        packs: &mut Packs,
        target: &Record,
        report: &mut Report,
    ) -> Result<()> {
        let (Some(history), Some(repository)) = (&target.history, self.repository_of(target))
        else {
            return Ok(());
        };
        if let Some(link) = &history.link {
            let dot = repository.top.join(".git");
            if fs::symlink_metadata(&dot).is_err() && fs::write(&dot, link).is_ok() {
                report.changed.push(".git".into());
            }
        }
        let left = |path: &str, why: Why| Kept {
            path: path.into(),
            why,
        };
        let Some(files) = history.files_hash() else {
            report
                .kept
                .push(left(".git/objects", Word::CpNoHistory.into()));
            return Ok(());
        };
        let mut all = tree::diff(None, Some(&files), &mut |hash| packs.read(hash))?;
        // Objects of commits that came later are of use as well: logs name them.
        if let Some(newest) = self.newest_files(&history.common)?.filter(|n| *n != files) {
            let newer = tree::diff(Some(&files), Some(&newest), &mut |hash| packs.read(hash))?;
            let is_new = |d: &Difference| d.before.is_none() && tree::is_within(&d.path, OBJECTS);
            all.extend(newer.into_iter().filter(is_new));
            all.sort_by(|a, b| a.path.cmp(&b.path));
        }
        let common = &repository.common;
        for folder in ["refs", "objects"].map(|name| common.join(name)) {
            // Git knows a repository by these. Where one cannot be made, what belongs into it says so.
            let _told = fs::create_dir_all(folder);
        }
        let is_missing = |change: &Difference| {
            let path = common.join(raw::name(&change.path));
            fs::symlink_metadata(path).is_err()
        };
        let missing: Vec<Difference> = all.into_iter().filter(is_missing).collect();
        let (cache, none) = (Cache::default(), missing.is_empty());
        let mut apply = Apply::new(common, packs, &cache);
        apply.run(&missing);
        let apply::Done { changed, kept } = apply.done;
        let is_object = |path: &Rel| tree::is_within(path, OBJECTS);
        let (objects, others): (Vec<Rel>, Vec<Rel>) = changed.into_iter().partition(is_object);
        let shown = |path: &[u8]| format!(".git/{}", tree::quote(path));
        report.changed.extend(others.iter().map(|path| shown(path)));
        report
            .changed
            .extend((!objects.is_empty()).then(|| ".git/objects".to_owned()));
        let failed = kept.into_iter();
        report
            .kept
            .extend(failed.map(|(path, why)| left(&shown(&path), why)));
        if history.left > 0 && !none {
            report
                .kept
                .push(left(".git/objects", Word::CpHistoryInPart.into()));
        }
        Ok(())
    }
}

/// The files to keep, and the bytes of those for which there is no room: refs, logs and settings first, then single objects and
/// packs, the newest of each first. `None` where there are too many.
fn choose(common: &Path, (limit, largest): (u64, u64)) -> Option<(BTreeSet<Rel>, u64)> {
    let mut all = Vec::new();
    list(common, &mut Vec::new(), 0, &mut all)?;
    let (mut first, mut loose, mut bulk) = (Vec::new(), Vec::new(), Vec::new());
    let mut packs: BTreeMap<Rel, Vec<Found>> = BTreeMap::new();
    for file in all {
        let is_in = |folder: &[u8]| tree::is_within(&file.path, folder);
        if is_in(b"objects/pack") {
            let stem = file.path.split(|b| *b == b'.').next().unwrap_or_default();
            packs.entry(stem.to_vec()).or_default().push(file);
        } else if is_in(OBJECTS) && !is_in(b"objects/info") {
            loose.push(file);
        } else if BULK.iter().any(|folder| is_in(folder)) {
            bulk.push(file);
        } else {
            first.push(file);
        }
    }
    loose.sort_by_key(|file| Reverse(file.changed));
    let mut packs: Vec<Vec<Found>> = packs.into_values().collect();
    packs.sort_by_key(|pack| Reverse(pack.iter().map(|file| file.changed).max()));
    let singles = first.into_iter().chain(loose).map(|file| vec![file]);
    let groups = singles.chain(packs).chain([bulk]);
    let (mut room, mut left, mut files) = (limit, 0, BTreeSet::new());
    for group in groups {
        let size: u64 = group.iter().map(|file| file.size).sum();
        let fits = group.iter().all(|file| file.size <= largest);
        match room.checked_sub(size).filter(|_| fits) {
            Some(rest) => {
                room = rest;
                files.extend(group.into_iter().map(|file| file.path));
            }
            None => left += size,
        }
    }
    Some((files, left))
}

/// All regular files of a git folder. No link is followed.
fn list(folder: &Path, at: &mut Rel, depth: usize, out: &mut Vec<Found>) -> Option<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let is_passing = depth == 0 && PASSING.contains(&name.as_encoded_bytes());
        let is_half = text.ends_with(".lock") || text.starts_with("tmp_");
        let is_derived =
            DERIVED.iter().any(|part| text.contains(part)) && tree::is_within(at, OBJECTS);
        let Ok(meta) = entry.metadata() else {
            continue;
        };
        if is_passing || is_half || is_derived || depth > MAX_DEPTH {
            continue;
        }
        let length = at.len();
        join(at, name.as_encoded_bytes());
        if meta.is_dir() {
            list(&entry.path(), at, depth + 1, out)?;
        } else if meta.is_file() {
            out.push(Found {
                path: at.clone(),
                size: meta.len(),
                changed: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
        at.truncate(length);
        if out.len() > MAX_NAMES {
            return None;
        }
    }
    Some(())
}

/// Whether no link leads to a path, as far as it is there.
fn is_plain(path: &Path) -> bool {
    let there = path
        .ancestors()
        .find(|path| fs::symlink_metadata(path).is_ok());
    there.is_some_and(|there| {
        there.is_dir() && fs::canonicalize(there).is_ok_and(|real| real == there)
    })
}

fn link_of(top: &Path) -> Option<String> {
    let path = top.join(".git");
    let meta = fs::symlink_metadata(&path).ok()?;
    let is_link = meta.is_file() && meta.len() <= MAX_LINK;
    fs::read_to_string(path).ok().filter(|_| is_link)
}
