//! What of a repository's history a command took away by other means than git: names of refs, logs and objects are compared
//! with those before it, and what is missing comes back from the newest checkpoint. What git itself may have removed (a
//! branch with its log, an object that lies in a pack) stays as it is. Contents are not compared.

use super::apply::{self, Apply};
use super::cache::Cache;
use super::git::{Repository, read_small};
use super::history::{entries, missing};
use super::objects::Objects;
use super::pack::Packs;
use super::restore::Report;
use super::tree::{self, Node, Rel, join};
use super::{Checkpoints, Error, Record, Result};
use ostler_wire::Word;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Folders and names of a git folder that are compared; of a larger one nothing is known.
const MAX_FOLDERS: usize = 20_000;
const MAX_NAMES: usize = 500_000;
/// Bytes of a file of refs, and of an index of a pack.
const MAX_REFS: u64 = 64 << 20;
const MAX_INDEX: usize = 256 << 20;
/// How far the times of folders may lie behind the clock.
const COARSE: Duration = Duration::from_millis(50);
const COMPARED: [&[u8]; 3] = [b"refs", b"logs", OBJECTS];
/// Folders that git never removes.
const LASTING: [&[u8]; 4] = [b"refs", b"refs/heads", b"logs", OBJECTS];
const SINGLE: [&[u8]; 2] = [HEAD, b"packed-refs"];
const HEAD: &[u8] = b"HEAD";
const OBJECTS: &[u8] = b"objects";
const PACK_INDEX: &[u8] = b".idx";
const INDEX_MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
const INDEX_HEAD: usize = 8;
const FANOUT: usize = 256 * 4;

struct Folder {
    changed: SystemTime,
    /// It was listed so long after its last change that a later one shows.
    is_settled: bool,
    files: BTreeSet<Rel>,
    folders: Vec<Rel>,
}

/// The names of what keeps the history of a repository, at one moment.
pub struct HistoryNames {
    repository: Repository,
    folders: BTreeMap<Rel, Arc<Folder>>,
    single: BTreeSet<Rel>,
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
        let repository = match before {
            Some(before) => before.repository.clone(),
            None => Repository::around(root)?,
        };
        let common = repository.common.clone();
        let is_file = |name: &&[u8]| is_regular(&common.join(crate::raw::name(name)));
        let single = SINGLE.into_iter().filter(is_file).map(<[u8]>::to_vec);
        let mut found = Self {
            single: single.collect(),
            folders: BTreeMap::new(),
            repository,
        };
        let mut open: Vec<Rel> = COMPARED.map(<[u8]>::to_vec).into();
        let mut names = 0;
        while let Some(rel) = open.pop() {
            let path = common.join(crate::raw::name(&rel));
            let known = before.and_then(|before| before.folders.get(&rel));
            let Some(folder) = list(&path, known) else {
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
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

/// A folder that no link stands for. What git has in the making is no part of it.
fn list(path: &Path, known: Option<&Arc<Folder>>) -> Option<Arc<Folder>> {
    let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    let changed = meta.modified().ok()?;
    if let Some(known) = known.filter(|known| known.is_settled && known.changed == changed) {
        return Some(known.clone());
    }
    let mut folder = Folder {
        changed,
        is_settled: SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age > COARSE),
        files: BTreeSet::new(),
        folders: Vec::new(),
    };
    for entry in fs::read_dir(path).ok()?.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_passing = name.ends_with(b".lock")
            || name.starts_with(b"tmp_")
            || name.starts_with(b"incoming")
            || [
                b".keep".as_slice(),
                b".bitmap",
                b".rev",
                b".mtimes",
                b"multi-pack-index",
            ]
            .iter()
            .any(|end| name.ends_with(end));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !(path.ends_with("objects") && name == b"info") => {
                folder.folders.push(name.to_vec());
            }
            Ok(kind) if kind.is_file() && !is_passing => {
                folder.files.insert(name.to_vec());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Some(Arc::new(folder))
}

impl Checkpoints {
    /// Brings back what a command removed without git, as far as the newest checkpoint has it.
    pub fn mend_history(&self, before: &HistoryNames, now: &HistoryNames) -> Result<Mended> {
        let mut lost = before.lost(now);
        if lost.is_empty() {
            return Ok(Mended::default());
        }
        let _lock = self.lock()?;
        let common = &before.repository.common;
        let text = |name: &str| read_small(&common.join(name), MAX_REFS).unwrap_or_default();
        let left = Left {
            lacks_folder: now.lacks_folder(before),
            now,
            packed: text("packed-refs"),
            head: text("HEAD"),
        };
        let mut packs = Packs::open(&self.packs_dir())?;
        let Some(record) = self.newest_with(common)? else {
            lost.retain(|path| left.wants(path));
            return Ok(Mended {
                gone: shown(&lost),
                ..Mended::default()
            });
        };
        if lost.contains(HEAD) {
            // Nothing of it is a repository any more: all that is kept of it comes back.
            let mut report = Report::default();
            self.bring_history_back(&mut packs, &record, &mut report)?;
            return Ok(Mended {
                back: report.changed,
                gone: report.kept.into_iter().map(|kept| kept.path).collect(),
            });
        }
        let history = record.history.as_ref();
        let mut all = history.map_or_else(|| Ok(BTreeMap::new()), |h| entries(h, &mut packs))?;
        lost.retain(|path| left.wants(path));
        let width = width_of(&lost).unwrap_or(20);
        let mut objects = Objects::open(&common.join("objects"), width);
        let moved = repacked(&lost, &all, &mut packs, &mut objects);
        lost.retain(|path| {
            let id = super::history::id_of(path);
            !id.is_some_and(|id| objects.has(&id)) && !moved.contains(path)
        });
        let holds_lost = |path: &Rel, node: &Node| match node {
            Node::Dir { .. } => lost.iter().any(|one| tree::is_within(one, path)),
            Node::File { .. } | Node::Link { .. } => lost.contains(path),
        };
        all.retain(|path, node| holds_lost(path, node));
        let folder = self.held_or_made(common);
        let folder = folder.map_err(|e| Error::io(Word::HostWrite, common, e))?;
        let changes = missing(all, common, &folder);
        let cache = Cache::default();
        let mut apply = Apply::new(&folder, &mut packs, &cache);
        apply.run(&changes);
        let apply::Done { changed, .. } = apply.done;
        let back: BTreeSet<Rel> = changed
            .into_iter()
            .filter(|path| lost.contains(path))
            .collect();
        Ok(Mended {
            gone: shown(&lost.difference(&back).cloned().collect()),
            back: shown(&back),
        })
    }

    /// The newest checkpoint that has the history of this repository.
    fn newest_with(&self, common: &Path) -> Result<Option<Record>> {
        let common = fs::canonicalize(common).unwrap_or_else(|_| common.to_owned());
        let name = tree::quote(common.as_os_str().as_encoded_bytes());
        let all = self.list()?.into_iter().rev();
        let has_it = |record: &Record| {
            let history = record.history.as_ref();
            history.is_some_and(|history| history.common == name && history.files.is_some())
        };
        Ok(all.into_iter().find(has_it))
    }
}

/// What is left of a history.
struct Left<'a> {
    now: &'a HistoryNames,
    lacks_folder: bool,
    packed: Vec<u8>,
    head: Vec<u8>,
}

impl Left<'_> {
    /// Whether git itself would not have removed this.
    fn wants(&self, path: &[u8]) -> bool {
        if tree::is_within(path, OBJECTS) || !path.contains(&b'/') || self.lacks_folder {
            return true;
        }
        let name = path.strip_prefix(b"logs/").unwrap_or(path);
        let is_there = self.now.has(name) || self.is_packed(name);
        match name.len() == path.len() {
            true => {
                let log = [b"logs/".as_slice(), name].concat();
                !is_there && (self.now.has(&log) || self.is_checked_out(name))
            }
            // Git removes the log of a branch with the branch.
            false => is_there || self.is_checked_out(name),
        }
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
        let mut index = Vec::new();
        let Some(Node::File { hash, .. }) = kept.get(path) else {
            continue;
        };
        let copied = packs.copy(hash, &mut |piece| {
            index.extend_from_slice(piece);
            Ok(())
        });
        let is_whole = copied.is_ok() && index.len() <= MAX_INDEX;
        if is_whole && ids_in(&index).is_some_and(|mut ids| ids.all(|id| objects.has(id))) {
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

/// As people read them; objects are one line.
fn shown(paths: &BTreeSet<Rel>) -> Vec<String> {
    let (objects, others): (Vec<&Rel>, Vec<&Rel>) = paths
        .iter()
        .partition(|path| tree::is_within(path, OBJECTS));
    let others = others.into_iter();
    let others = others.map(|path| format!(".git/{}", tree::quote(path)));
    let objects = (!objects.is_empty()).then(|| ".git/objects".to_owned());
    others.chain(objects).collect()
}
