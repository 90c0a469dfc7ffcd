//! The history of the project's own repository in a checkpoint: refs, logs, settings and objects of its git folder within a
//! limit, so that `rm -rf .git` can be taken back. Files are copied as they are; of a repository over the limit the objects are
//! kept that no remote has, newest commits first. Git is not run. It is looked at again only when a ref has changed, and a
//! restore brings back what is missing and replaces nothing.

use super::apply::{self, Apply};
use super::cache::Cache;
use super::git::{GitKnown, Repository};
use super::objects::{Id, Object, Objects};
use super::pack::{self, Packs};
use super::record::History;
use super::report::{Kept, Report};
use super::scan::{Halt, Mode, Sink};
use super::select::{Rules, Wanted};
use super::tree::Hash;
use super::tree::{self, Difference, Node, Rel, join};
use super::{Checkpoints, Error, Record, Result, unpushed};
use ostler_files::Kind;
use ostler_files::read_small;
use ostler_files::{Dir, Name};
use ostler_wire::{Why, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
/// Bytes of an object's name, where no ref shows it.
const WIDTH: usize = 20;
const OBJECT_MODE: u32 = 0o444;
const FOLDER_MODE: u32 = 0o755;
/// Bytes of a file that links a working tree to its git folder.
const MAX_LINK: u64 = 16 << 10;

/// One file of a git folder.
struct Found {
    path: Rel,
    size: u64,
}

impl Checkpoints {
    /// Keeps the history, unless the newest checkpoint has it already. What is too much is left out and counted.
    pub(super) fn look_at_history<'a>(
        &'a self,
        repository: &Repository,
        known: &'a GitKnown,
        sink: Sink<'a>,
    ) -> std::result::Result<(History, Option<Cache>, Sink<'a>), Halt> {
        let mut wanted = Wanted::default();
        wanted.named.extend(STATE.map(<[u8]>::to_vec));
        let before = known.state.get_or_init(Cache::default);
        let mut look = self.look(repository.common.clone(), wanted, before, sink)?;
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
            state: ostler_wire::hex::hex(&state),
            files: None,
            objects: None,
            left: 0,
            lacks: false,
        };
        if self.limits.history == 0 {
            return Ok((history, None, sink));
        }
        let last = self.last()?.and_then(|last| last.history);
        let same = |last: &History| last.state == history.state && last.common == history.common;
        if let Some(last) = last.filter(|last| last.files.is_some() && same(last)) {
            let History { top, dir, link, .. } = history;
            let last = History {
                top,
                dir,
                link,
                ..last
            };
            return Ok((last, None, sink));
        }
        let limit = self.limits.history.min(self.limits.quota / 4);
        let common = self.held(&repository.common);
        let chosen = common
            .ok()
            .and_then(|common| choose(&common, (limit, self.limits.file_bytes)));
        let Some(Chosen { files, left, room }) = chosen else {
            return Ok((history.without_files(), None, sink));
        };
        let wanted = Wanted {
            files,
            ..Wanted::default()
        };
        let before = known
            .files
            .get_or_init(|| Cache::load(&self.history_cache_path(), &sink.packs.list));
        let mut look = self.look(repository.common.clone(), wanted, before, sink)?;
        match look.run(Mode::Wanted, &Rules::default()) {
            Ok(hash) => history.files = Some(ostler_wire::hex::hex(&hash)),
            // A checkpoint of the tree without it is better than none.
            Err(Halt::Stop(_)) => history = history.without_files(),
            Err(fail @ Halt::Fail(_)) => return Err(fail),
        }
        let (cache, mut sink) = (look.found.cache, look.sink);
        if left > 0 && history.files.is_some() {
            let (objects, bytes, lacks) = keep_unpushed(repository, room, &mut sink)?;
            history.objects = objects.map(|hash| ostler_wire::hex::hex(&hash));
            history.left = left.saturating_sub(bytes).max(1);
            history.lacks = lacks;
        }
        Ok((history, Some(cache), sink))
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
    fn newest_history(&self, common: &str) -> Result<Option<History>> {
        let all = self.list()?.into_iter().rev();
        let mut known = all.filter_map(|record| record.history);
        Ok(known.find(|h| h.common == common && h.files.is_some()))
    }

    /// Writes the file that links a working tree to its git folder, unless something is there.
    fn make_link_file(&self, dot: &Path, link: &str) -> io::Result<()> {
        let top = dot.parent().unwrap_or(dot);
        let mut file = self.held(top)?.create_file(b".git")?;
        file.write_all(link.as_bytes())
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
            if self.make_link_file(&dot, link).is_ok() {
                report.changed.push(".git".into());
            }
        }
        let left = |path: &str, why: Why| Kept {
            path: path.into(),
            why,
        };
        if history.files.is_none() {
            report
                .kept
                .push(left(".git/objects", Word::CpNoHistory.into()));
            return Ok(());
        }
        let mut all = entries(history, packs)?;
        // Objects of commits that came later are of use as well: logs name them.
        if let Some(newest) = self.newest_history(&history.common)? {
            let newer = entries(&newest, packs)?.into_iter();
            all.extend(newer.filter(|(path, _)| tree::is_within(path, OBJECTS)));
        }
        let common = &repository.common;
        let folder = self.held_or_made(common);
        let folder = folder.map_err(|e| Error::io(Word::HostWrite, common, e))?;
        clear_way(&folder);
        for name in [b"refs".as_slice(), OBJECTS] {
            // Git knows a repository by these. Where one cannot be made, what belongs into it says so.
            let _told = folder.enter_or_make(name);
        }
        drop_damaged(&all, &folder);
        let missing = missing(all, common, &folder);
        let (cache, none) = (Cache::default(), missing.is_empty());
        let mut apply = Apply::new(&folder, packs, &cache);
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

/// Moves aside what stands where a git folder has its folders.
pub(super) fn clear_way(folder: &Dir) {
    for name in [b"refs".as_slice(), b"logs", OBJECTS] {
        let found = folder.look(name);
        if found.is_ok_and(|found| found.kind != Kind::Directory) {
            let aside = [name, format!(".removed-{}", std::process::id()).as_bytes()].concat();
            // What cannot be moved is said by what belongs there.
            let _told = folder.rename(name, &aside);
        }
    }
}

const PACKS: &[u8] = b"objects/pack";
/// What git makes anew of packs is never shorter than its head and its end.
const LEAST_DERIVED: u64 = 52;

/// Removes objects and packs that have another length than they were kept with: git never changes them.
fn drop_damaged(all: &BTreeMap<Rel, Node>, folder: &Dir) {
    for (path, node) in all {
        let Node::File { size, .. } = node else {
            continue;
        };
        let (above, name) = tree::split(path);
        let Some(above) = folder
            .enter(above)
            .ok()
            .filter(|_| tree::is_within(path, OBJECTS))
        else {
            continue;
        };
        let found = above.look(name);
        if found.is_ok_and(|found| found.kind == Kind::File && found.mark.size != *size) {
            let _told = above.remove_file(name);
        }
    }
    let Ok(packs) = folder.enter(PACKS) else {
        return;
    };
    for Name { bytes, .. } in packs.names().unwrap_or_default() {
        let is_derived = DERIVED.iter().any(|end| bytes.ends_with(end.as_bytes()));
        let found = packs.look(&bytes).ok().filter(|_| is_derived);
        if found.is_some_and(|found| found.mark.size < LEAST_DERIVED) {
            let _told = packs.remove_file(&bytes);
        }
    }
}

/// Of what is kept, what a git folder lacks. An object may be there in a pack.
pub(super) fn missing(
    mut all: BTreeMap<Rel, Node>,
    common: &Path,
    folder: &Dir,
) -> Vec<Difference> {
    let width = all.keys().find_map(|path| id_of(path)).map(|id| id.len());
    let mut objects = Objects::open(&common.join("objects"), width.unwrap_or(WIDTH));
    all.retain(|path, _| {
        let (above, name) = tree::split(path);
        let is_there = folder
            .enter(above)
            .is_ok_and(|above| above.look(name).is_ok());
        !is_there && !id_of(path).is_some_and(|id| objects.has(&id))
    });
    let is_folder = |node: &Node| matches!(node, Node::Dir { .. });
    let files = all.iter().filter(|(_, node)| !is_folder(node));
    let files: BTreeSet<Rel> = files.map(|(path, _)| path.clone()).collect();
    // A folder is made for what comes into it.
    all.retain(|path, node| {
        let inside = [path.as_slice(), b"/"].concat();
        let mut from = files.range(inside.clone()..);
        !is_folder(node) || from.next().is_some_and(|file| file.starts_with(&inside))
    });
    let difference = |(path, node)| Difference {
        path,
        before: None,
        after: Some(node),
    };
    all.into_iter().map(difference).collect()
}

/// All that is kept of a history, by its path in the git folder.
pub(super) fn entries(history: &History, packs: &mut Packs) -> Result<BTreeMap<Rel, Node>> {
    let mut out = BTreeMap::new();
    let tops: [(&[u8], Option<Hash>); 2] = [
        (b"", history.files_hash()),
        (OBJECTS, history.objects_hash()),
    ];
    for (top, hash) in tops {
        let Some(hash) = hash else {
            continue;
        };
        for found in tree::diff(None, Some(&hash), &mut |hash| packs.read(hash))? {
            let mut path = top.to_vec();
            join(&mut path, &found.path);
            out.extend(found.after.map(|node| (path, node)));
        }
    }
    Ok(out)
}

/// The name of the object that a path in a git folder holds, if it is one of a single object.
pub(super) fn id_of(path: &[u8]) -> Option<Id> {
    let name = path.strip_prefix(b"objects/")?;
    let digits: Vec<u8> = name.iter().copied().filter(|b| *b != b'/').collect();
    let is_id = matches!(digits.len(), 40 | 64) && name.get(2) == Some(&b'/');
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits
        .chunks(2)
        .map(byte)
        .collect::<Option<Id>>()
        .filter(|_| is_id)
}

struct Chosen {
    files: BTreeSet<Rel>,
    /// Bytes of the others.
    left: u64,
    /// Bytes that are free for objects one by one.
    room: u64,
}

/// The files to keep: all of them, or of a folder over the limit all but objects. `None` where there are too many.
fn choose(common: &Dir, (limit, largest): (u64, u64)) -> Option<Chosen> {
    let mut all = Vec::new();
    list(common, &mut Vec::new(), 0, &mut all)?;
    let is_object = |file: &Found| {
        let is_in = |folder: &[u8]| tree::is_within(&file.path, folder);
        let is_info = is_in(b"objects/info");
        (is_in(OBJECTS) && !is_info) || BULK.iter().any(|folder| is_in(folder))
    };
    let total: u64 = all.iter().map(|file| file.size).sum();
    let fits = total <= limit && all.iter().all(|file| file.size <= largest);
    let mut chosen = Chosen {
        files: BTreeSet::new(),
        left: 0,
        room: limit,
    };
    for file in all {
        match chosen.room.checked_sub(file.size) {
            Some(room) if fits || !is_object(&file) => {
                chosen.room = room;
                chosen.files.insert(file.path);
            }
            Some(_) | None => chosen.left += file.size,
        }
    }
    Some(chosen)
}

/// Puts the objects that no remote has into the store: the hash of their folder, their bytes, and whether some were too much.
fn keep_unpushed(
    repository: &Repository,
    room: u64,
    sink: &mut Sink<'_>,
) -> std::result::Result<(Option<Hash>, u64, bool), Halt> {
    let refs = unpushed::refs(repository);
    let width = refs.first().map_or(WIDTH, |(_, id)| id.len());
    let mut objects = Objects::open(&repository.common.join("objects"), width);
    let mut folders: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Node>> = BTreeMap::new();
    let (mut bytes, mut failed) = (0, None);
    let mut keep = |id: &Id, object: &Object| {
        let Some(file) = object.as_file() else {
            return true;
        };
        let size = file.len() as u64;
        if bytes + size > room {
            return false;
        }
        let hash = pack::hash(&file);
        match sink.put(hash, &file) {
            Ok(()) => {}
            Err(Halt::Stop(_)) => return false,
            Err(fail @ Halt::Fail(_)) => {
                failed = Some(fail);
                return false;
            }
        }
        bytes += size;
        let name = ostler_wire::hex::hex(id).into_bytes();
        let (folder, name) = name.split_at(name.len().min(2));
        let mode = OBJECT_MODE;
        let node = Node::File { mode, size, hash };
        folders
            .entry(folder.to_vec())
            .or_default()
            .insert(name.to_vec(), node);
        true
    };
    let found = unpushed::find(&mut objects, &refs, &mut keep);
    if let Some(fail) = failed {
        return Err(fail);
    }
    let mut top = Vec::new();
    for (name, files) in folders {
        let folder = tree::encode(&files.into_iter().collect::<Vec<_>>());
        let hash = pack::hash(&folder);
        sink.put_folder(hash, folder)?;
        top.push((
            name,
            Node::Dir {
                mode: FOLDER_MODE,
                hash,
            },
        ));
    }
    let top = tree::encode(&top);
    let hash = pack::hash(&top);
    sink.put_folder(hash, top)?;
    Ok((Some(hash), bytes, found.is_cut))
}

/// All regular files of a git folder. No link is followed.
fn list(folder: &Dir, at: &mut Rel, depth: usize, out: &mut Vec<Found>) -> Option<()> {
    for Name { bytes: name, .. } in folder.names().unwrap_or_default() {
        let text = String::from_utf8_lossy(&name);
        let is_passing = depth == 0 && PASSING.contains(&name.as_slice());
        let is_half = text.ends_with(".lock") || text.starts_with("tmp_");
        let is_derived =
            DERIVED.iter().any(|part| text.contains(part)) && tree::is_within(at, OBJECTS);
        let Ok(found) = folder.look(&name) else {
            continue;
        };
        if is_passing || is_half || is_derived || depth > MAX_DEPTH {
            continue;
        }
        let length = at.len();
        join(at, &name);
        if found.kind == Kind::Directory {
            if let Ok(inner) = folder.enter(&name) {
                list(&inner, at, depth + 1, out)?;
            }
        } else if found.kind == Kind::File {
            out.push(Found {
                path: at.clone(),
                size: found.mark.size,
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
    String::from_utf8(read_small(&top.join(".git"), MAX_LINK)?).ok()
}
