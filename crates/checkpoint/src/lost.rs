//! What of a repository's history a command took away by other means than git: names of refs, logs and objects are compared
//! with those before it, and what is missing comes back from the newest checkpoint that has it. What git itself may have
//! removed (a branch with its log, an object that lies in a pack) stays as it is. Contents are not compared.

use super::apply::Apply;
use super::cache::Cache;
use super::git::Repository;
use super::history::{clear_way, entries, missing};
use super::objects::Objects;
use super::pack::Packs;
use super::report::Report;
use super::tree::{self, Node, Rel, join};
use super::{Checkpoints, Error, Record, Result};
use ostler_files::raw::Mark;
use ostler_files::read_small;
use ostler_wire::Word;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Folders and names of a git folder that are compared; of a larger one nothing is known.
pub(super) const MAX_FOLDERS: usize = if cfg!(test) { 600 } else { 20_000 };
const MAX_NAMES: usize = 500_000;
/// Different histories in which something that is gone is looked for, newest first.
const MAX_HISTORIES: usize = 64;
/// Bytes of a file of refs, and of an index of a pack.
const MAX_REFS: u64 = 64 << 20;
const MAX_INDEX: usize = 256 << 20;
/// How far the times of folders may lie behind the clock.
const COARSE: Duration = Duration::from_millis(50);
const COMPARED: [&[u8]; 4] = [b"refs", b"logs", OBJECTS, WORKTREES];
/// Folders that git never removes.
const LASTING: [&[u8]; 4] = [b"refs", b"refs/heads", b"logs", OBJECTS];
const SINGLE: [&[u8]; 2] = [HEAD, b"packed-refs"];
const HEAD: &[u8] = b"HEAD";
const OBJECTS: &[u8] = b"objects";
const WORKTREES: &[u8] = b"worktrees";
/// What git needs to know a linked working tree by, and where it stands.
const OF_WORKTREE: [&[u8]; 3] = [HEAD, b"commondir", b"gitdir"];
/// Names in the folder of all objects that hold none.
const NO_OBJECTS: &[u8] = b"info";
/// Endings of what is made anew or in the making.
const PASSING: [&[u8]; 6] = [
    b".lock",
    b".keep",
    b".bitmap",
    b".rev",
    b".mtimes",
    b"multi-pack-index",
];
const PACK_INDEX: &[u8] = b".idx";
const INDEX_MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
const INDEX_HEAD: usize = 8;
const FANOUT: usize = 256 * 4;
/// Bytes of an object's name, where no path shows it.
const WIDTH: usize = 20;

struct Folder {
    /// Nobody can set all of it.
    mark: Mark,
    /// It was listed so long after its last change that a later one shows.
    is_settled: bool,
    files: BTreeSet<Rel>,
    folders: Vec<Rel>,
}

/// The names of what keeps the history of a repository: at one moment, and what had been there before and is to come back.
pub struct HistoryNames {
    repository: Repository,
    folders: BTreeMap<Rel, Arc<Folder>>,
    single: BTreeSet<Rel>,
    /// Not there when it was last looked at, and not forgotten.
    earlier: BTreeSet<Rel>,
}

/// What became of a history.
#[derive(Debug, Default)]
pub struct Mended {
    /// Paths that came back.
    pub back: Vec<String>,
    /// Paths that are gone, and in no checkpoint or not to be written.
    pub gone: Vec<String>,
}

impl HistoryNames {
    /// Those of the repository around a folder; folders that are as they were in `before` are not listed again.
    pub fn look(root: &Path, before: Option<&Self>) -> Option<Self> {
        let repository = Repository::around(root)?;
        let before = before.filter(|before| before.repository == repository);
        Self::list_all(repository, before)
    }

    fn list_all(repository: Repository, before: Option<&Self>) -> Option<Self> {
        let mut found = Self::start(repository);
        let mut open: Vec<Rel> = COMPARED.map(<[u8]>::to_vec).into();
        let mut names = 0;
        while let Some(rel) = open.pop() {
            let known = before.and_then(|before| before.folders.get(&rel));
            let Some(folder) = list(&found.repository.common, &rel, known) else {
                continue;
            };
            let inner = folder.folders.iter().map(|name| {
                let mut inner = rel.clone();
                join(&mut inner, name);
                inner
            });
            open.extend(inner);
            names += folder.files.len();
            found.folders.insert(rel, folder);
            if found.folders.len() > MAX_FOLDERS || names > MAX_NAMES {
                return None;
            }
        }
        Some(found)
    }

    /// What is there now. Where so much was added that nobody can look at it all, that is looked at which was known.
    fn look_again(&self) -> Self {
        Self::list_all(self.repository.clone(), Some(self)).unwrap_or_else(|| {
            let mut found = Self::start(self.repository.clone());
            for (rel, known) in &self.folders {
                let folder = list(&self.repository.common, rel, Some(known));
                found
                    .folders
                    .extend(folder.map(|folder| (rel.clone(), folder)));
            }
            found
        })
    }

    fn start(repository: Repository) -> Self {
        let is_file =
            |name: &&[u8]| is_regular(&repository.common.join(ostler_files::raw::name(name)));
        let single = SINGLE.into_iter().filter(is_file).map(<[u8]>::to_vec);
        Self {
            single: single.collect(),
            folders: BTreeMap::new(),
            earlier: BTreeSet::new(),
            repository,
        }
    }

    /// Brings back what is gone of it and git has not removed, as far as a checkpoint has it. What is there now belongs to
    /// it from now on; what nobody can bring back is named once.
    pub fn mend(&mut self, store: impl FnOnce() -> Result<Option<Checkpoints>>) -> Mended {
        let now = self.look_again();
        let mut lost = self.lost(&now);
        let mut mended = Mended::default();
        let mut left = Left::new(self, now);
        left.lacks_folder |= lost.contains(HEAD);
        let mut wanted = left.wanted(&lost);
        let now = left.now;
        if !wanted.is_empty() {
            let common = &self.repository.common;
            let found = store().and_then(|store| {
                let found = store.map(|store| store.bring_back(common, &mut wanted));
                found.transpose()
            });
            match found {
                Ok(found) => {
                    let found = found.unwrap_or_default();
                    mended.back = self.shown(&found.back);
                    mended.back.extend(found.whole);
                    lost.retain(|path| !found.moved.contains(path));
                }
                Err(_) => {
                    // It is tried again.
                    mended.gone = self.shown(&wanted);
                    return mended;
                }
            }
            mended.gone = self.shown(&wanted);
            lost.retain(|path| !wanted.contains(path));
        }
        let then = match wanted.is_empty() && mended.back.is_empty() {
            true => None,
            false => Some(self.look_again()),
        };
        if let Some(then) = &then {
            lost.extend(now.lost(then));
        }
        let last = then.unwrap_or(now);
        self.folders = last.folders;
        self.single = last.single;
        self.earlier = lost;
        mended
    }

    fn has(&self, path: &[u8]) -> bool {
        let (folder, name) = tree::split(path);
        match folder.is_empty() {
            true => self.single.contains(path),
            false => self
                .folders
                .get(folder)
                .is_some_and(|f| f.files.contains(name)),
        }
    }

    /// Files that are not there any more.
    fn lost(&self, now: &Self) -> BTreeSet<Rel> {
        let mut lost: BTreeSet<Rel> = self.single.difference(&now.single).cloned().collect();
        let earlier = self.earlier.iter().filter(|path| !now.has(path));
        lost.extend(earlier.cloned());
        for (rel, folder) in &self.folders {
            let left = now.folders.get(rel);
            if left.is_some_and(|left| Arc::ptr_eq(left, folder)) {
                continue;
            }
            let is_gone = |name: &&Rel| left.is_none_or(|left| !left.files.contains(*name));
            lost.extend(folder.files.iter().filter(is_gone).map(|name| {
                let mut path = rel.clone();
                join(&mut path, name);
                path
            }));
        }
        lost
    }

    fn lacks_folder(&self, before: &Self) -> bool {
        let is_gone =
            |name: &&[u8]| before.folders.contains_key(*name) && !self.folders.contains_key(*name);
        LASTING.iter().any(is_gone)
    }

    /// As people read them; objects are one line.
    fn shown(&self, paths: &BTreeSet<Rel>) -> Vec<String> {
        let Repository { top, common, .. } = &self.repository;
        let folder = match *common == top.join(".git") {
            true => ".git".to_owned(),
            false => common.display().to_string(),
        };
        let (objects, others): (Vec<&Rel>, Vec<&Rel>) = paths
            .iter()
            .partition(|path| tree::is_within(path, OBJECTS));
        let others = others.into_iter();
        let others = others.map(|path| format!("{folder}/{}", tree::quote(path)));
        let objects = (!objects.is_empty()).then(|| format!("{folder}/objects"));
        others.chain(objects).collect()
    }
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

/// A folder that no link stands for. What git has in the making is no part of it.
fn list(common: &Path, rel: &[u8], known: Option<&Arc<Folder>>) -> Option<Arc<Folder>> {
    let path = common.join(ostler_files::raw::name(rel));
    let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    let mark = ostler_files::raw::mark(&meta);
    if let Some(known) = known.filter(|known| known.is_settled && known.mark == mark) {
        return Some(known.clone());
    }
    let since = u64::try_from(mark.ctime.max(mark.mtime)).unwrap_or(0);
    let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(since);
    let mut folder = Folder {
        mark,
        is_settled: SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age > COARSE),
        files: BTreeSet::new(),
        folders: Vec::new(),
    };
    for entry in fs::read_dir(path).ok()?.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_passing = name.starts_with(b"tmp_")
            || name.starts_with(b"incoming")
            || PASSING.iter().any(|end| name.ends_with(end));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && is_folder_of(rel, name) => {
                folder.folders.push(name.to_vec());
            }
            Ok(kind) if kind.is_file() && !is_passing && is_file_of(rel, name) => {
                folder.files.insert(name.to_vec());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Some(Arc::new(folder))
}

/// The parts of a path below the folder of linked working trees.
fn of_worktrees(rel: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = rel.split(|byte| *byte == b'/');
    (parts.next() == Some(WORKTREES)).then(|| parts.collect())
}

fn is_folder_of(rel: &[u8], name: &[u8]) -> bool {
    match of_worktrees(rel).as_deref() {
        Some([]) => true,
        Some([_]) => name == b"logs",
        Some(_) => false,
        None => rel != OBJECTS || name != NO_OBJECTS,
    }
}

fn is_file_of(rel: &[u8], name: &[u8]) -> bool {
    match of_worktrees(rel).as_deref() {
        Some([]) => false,
        Some([_]) => OF_WORKTREE.contains(&name),
        Some(_) => name == HEAD,
        None => true,
    }
}

/// What was brought back.
#[derive(Default)]
struct Found {
    back: BTreeSet<Rel>,
    /// All that came back with a repository that was none any more.
    whole: Vec<String>,
    /// Packs whose objects lie elsewhere by now.
    moved: BTreeSet<Rel>,
}

impl Checkpoints {
    /// Brings back files of a git folder from the newest checkpoints that have them; what still lacks stays in `lost`.
    fn bring_back(&self, common: &Path, lost: &mut BTreeSet<Rel>) -> Result<Found> {
        let _lock = self.lock()?;
        let mut packs = Packs::open(&self.packs_dir())?;
        let mut found = Found::default();
        let records = self.all_with(common)?;
        if let Some(record) = records.first().filter(|_| lost.contains(HEAD)) {
            // Nothing of it is a repository any more: all that is kept of it comes back.
            let mut report = Report::default();
            self.bring_history_back(&mut packs, record, &mut report)?;
            found.whole = report.changed;
            lost.retain(|path| !is_regular(&common.join(ostler_files::raw::name(path))));
        }
        let mut all = kept_of(&records, lost, &mut packs);
        found.moved = repacked(lost, &all, &mut packs, &mut objects_of(common, lost));
        lost.retain(|path| !found.moved.contains(path));
        // Of a large repository single objects are kept instead of packs.
        let lacks_pack = lost
            .iter()
            .any(|path| path.ends_with(PACK_INDEX) && !all.contains_key(path));
        let holds_lost = |path: &Rel, node: &Node| match node {
            Node::Dir { .. } if lacks_pack && tree::is_within(path, OBJECTS) => true,
            Node::Dir { .. } => lost.iter().any(|one| tree::is_within(one, path)),
            Node::File { .. } | Node::Link { .. } => {
                lost.contains(path) || lacks_pack && super::history::id_of(path).is_some()
            }
        };
        all.retain(|path, node| holds_lost(path, node));
        let folder = self.held_or_made(common);
        let folder = folder.map_err(|e| Error::io(Word::HostWrite, common, e))?;
        clear_way(&folder);
        let changes = missing(all, common, &folder);
        let cache = Cache::default();
        let mut apply = Apply::new(&folder, &mut packs, &cache);
        apply.run(&changes);
        let is_file = |path: &Rel| is_regular(&common.join(ostler_files::raw::name(path)));
        found.back = apply.done.changed.into_iter().filter(is_file).collect();
        let mut objects = objects_of(common, lost);
        lost.retain(|path| !is_file(path) && !is_in(&mut objects, path));
        Ok(found)
    }

    /// The checkpoints that have the history of this repository, newest first.
    fn all_with(&self, common: &Path) -> Result<Vec<Record>> {
        let common = fs::canonicalize(common).unwrap_or_else(|_| common.to_owned());
        let name = tree::quote(common.as_os_str().as_encoded_bytes());
        let all = self.list()?.into_iter().rev();
        let has_it = |record: &Record| {
            let history = record.history.as_ref();
            history.is_some_and(|history| history.common == name && history.files.is_some())
        };
        Ok(all.filter(has_it).collect())
    }
}

/// What checkpoints have of what is gone, each from the newest that has it: one that was taken while a command was at work
/// may have less than those before it.
fn kept_of(records: &[Record], lost: &BTreeSet<Rel>, packs: &mut Packs) -> BTreeMap<Rel, Node> {
    let mut all: BTreeMap<Rel, Node> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for history in records.iter().filter_map(|record| record.history.as_ref()) {
        if seen.len() >= MAX_HISTORIES || lost.iter().all(|path| all.contains_key(path)) {
            break;
        }
        if !seen.insert((&history.files, &history.objects)) {
            continue;
        }
        // One that is damaged has nothing.
        for (path, node) in entries(history, packs).unwrap_or_default() {
            all.entry(path).or_insert(node);
        }
    }
    all
}

/// What is left of a history.
struct Left<'a> {
    repository: &'a Repository,
    now: HistoryNames,
    lacks_folder: bool,
    packed: Vec<u8>,
    head: Vec<u8>,
}

impl<'a> Left<'a> {
    fn new(before: &'a HistoryNames, now: HistoryNames) -> Self {
        let repository = &before.repository;
        let text = |name: &str| read_small(&repository.common.join(name), MAX_REFS);
        Self {
            repository,
            lacks_folder: now.lacks_folder(before),
            now,
            packed: text("packed-refs").unwrap_or_default(),
            head: text("HEAD").unwrap_or_default(),
        }
    }

    /// What of this git itself would not have removed. An object may lie in a pack.
    fn wanted(&self, lost: &BTreeSet<Rel>) -> BTreeSet<Rel> {
        let mut objects = objects_of(&self.repository.common, lost);
        let mut wanted = lost.clone();
        wanted.retain(|path| self.wants(path) && !is_in(&mut objects, path));
        wanted
    }

    fn wants(&self, path: &[u8]) -> bool {
        if tree::is_within(path, OBJECTS) || !path.contains(&b'/') || self.lacks_folder {
            return true;
        }
        if let Some(parts) = of_worktrees(path) {
            // Git removes all of a linked working tree or nothing.
            let own = self
                .repository
                .dir
                .file_name()
                .map(|n| n.as_encoded_bytes());
            let name = parts.first().copied().unwrap_or_default();
            let folder = [WORKTREES, b"/", name].concat();
            return own == Some(name) || self.now.folders.contains_key(&folder);
        }
        let name = path.strip_prefix(b"logs/").unwrap_or(path);
        let is_there = self.is_there(name) || self.is_packed(name);
        match name.len() == path.len() {
            true => {
                let log = [b"logs/".as_slice(), name].concat();
                !is_there && (self.is_there(&log) || self.is_checked_out(name))
            }
            // Git removes the log of a branch with the branch.
            false => is_there || self.is_checked_out(name),
        }
    }

    fn is_there(&self, path: &[u8]) -> bool {
        let file = self.repository.common.join(ostler_files::raw::name(path));
        self.now.has(path) || is_regular(&file)
    }

    fn is_packed(&self, name: &[u8]) -> bool {
        let mut lines = self.packed.split(|byte| *byte == b'\n');
        lines.any(|line| line.strip_suffix(name).is_some_and(|id| id.ends_with(b" ")))
    }

    fn is_checked_out(&self, name: &[u8]) -> bool {
        let branch = self.head.strip_prefix(b"ref: ").map(<[u8]>::trim_ascii);
        branch == Some(name)
    }
}

fn objects_of(common: &Path, paths: &BTreeSet<Rel>) -> Objects {
    Objects::open(&common.join("objects"), width_of(paths).unwrap_or(WIDTH))
}

/// Whether a path names a single object that is there, be it in a pack.
fn is_in(objects: &mut Objects, path: &[u8]) -> bool {
    super::history::id_of(path).is_some_and(|id| objects.has(&id))
}

/// Bytes of an object's name.
fn width_of(lost: &BTreeSet<Rel>) -> Option<usize> {
    let mut ids = lost.iter().filter_map(|path| super::history::id_of(path));
    ids.next().map(|id| id.len())
}

/// Packs whose objects all lie elsewhere by now, as after `git gc`.
fn repacked(
    lost: &BTreeSet<Rel>,
    kept: &BTreeMap<Rel, Node>,
    packs: &mut Packs,
    objects: &mut Objects,
) -> BTreeSet<Rel> {
    let mut found = BTreeSet::new();
    for path in lost.iter().filter(|path| path.ends_with(PACK_INDEX)) {
        let Some(Node::File { hash, size, .. }) = kept.get(path) else {
            continue;
        };
        let is_small = usize::try_from(*size).is_ok_and(|size| size <= MAX_INDEX);
        let Some(index) = is_small
            .then(|| packs.read_file(hash, *size).ok())
            .flatten()
        else {
            continue;
        };
        if ids_in(&index).is_some_and(|mut ids| ids.all(|id| objects.has(id))) {
            let stem = path
                .get(..path.len() - PACK_INDEX.len())
                .unwrap_or_default();
            let of_pack = lost.iter().filter(|one| one.starts_with(stem));
            found.extend(of_pack.cloned());
        }
    }
    found
}

/// The names of the objects in a pack, by its index with names of 20 bytes.
fn ids_in(index: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    index.strip_prefix(INDEX_MAGIC)?;
    let names = INDEX_HEAD + FANOUT;
    let count = index.get(names - 4..names)?.try_into().ok()?;
    let count = u32::from_be_bytes(count) as usize;
    let all = index.get(names..names + count.checked_mul(20)?)?;
    Some(all.chunks_exact(20))
}
