//! Taking a checkpoint while the lock is held: a look at the tree and at git, then content, record and caches in the order
//! that a kill at any moment leaves nothing half. Too much for a whole one, it saves the named paths alone.

use super::cache::Cache;
use super::followed::Followed;
use super::git::{GitKnown, Repository};
use super::heavy::heaviest;
use super::pack::{Packs, Writer};
use super::record::History;
use super::scan::{Effort, Found, Halt, Look, Mode, Sink};
use super::select::{Rules, Wanted};
use super::tree::Hash;
use super::tree::{self, Rel};
use super::{
    Checkpoints, Covers, Error, Ignored, Record, Repeat, Result, Scope, Why, below, record,
};
use ostler_files::Dir;
use ostler_wire::Word;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Parts of a repository that are recorded.
const GIT_PARTS: [&[u8]; 4] = [b"HEAD", b"index", b"packed-refs", b"refs"];
/// Characters of a label.
const MAX_LABEL: usize = 200;
/// Paths a checkpoint can name.
const MAX_NAMED: usize = 10_000;
/// Earlier checkpoints whose files are followed, newest first. What is there with each of them is in the next.
const MAX_FOLLOWED: usize = 256;

/// What `attempt` is to do.
#[derive(Clone, Copy)]
struct Order<'a> {
    label: &'a str,
    mode: Mode,
    covers: Covers,
    named: &'a BTreeSet<Rel>,
    files: &'a BTreeSet<Rel>,
    follows: &'a [u64],
    degraded: Option<Why>,
    effort: Effort,
    repeat: Repeat,
}

impl Order<'_> {
    /// The paths that the checkpoint is about, beside the tree.
    fn names(&self) -> Vec<String> {
        let files = self
            .files
            .iter()
            .filter(|_| self.effort == Effort::Possible);
        let all: BTreeSet<&Rel> = self.named.iter().chain(files).collect();
        all.into_iter().map(|path| tree::quote(path)).collect()
    }
}

/// What is there before files come back.
pub(super) struct Now {
    pub saved: Saved,
    /// Why files that are new are not among what was saved.
    pub lacks: Option<Why>,
}

/// A checkpoint with the marks of the files it saw.
pub(super) struct Saved {
    pub record: Record,
    pub cache: Cache,
    /// What a restore that was killed left in the tree.
    pub leftovers: Vec<Rel>,
}

/// What a checkpoint has of the repository.
#[derive(Default)]
struct GitPart {
    /// Hash of `HEAD`, refs and index.
    state: Option<Hash>,
    history: Option<History>,
    caches: Vec<(Cache, PathBuf)>,
}

/// The tree of a git folder, where there is one, and the folders that are in no pack.
pub(super) type PeekedGit = (Option<Hash>, HashMap<Hash, Vec<u8>>);

impl Checkpoints {
    /// Saves while the lock is held. `files` are saved even if ignored.
    pub(super) fn save(
        &self,
        label: &str,
        scope: &Scope,
        files: BTreeSet<Rel>,
        repeat: Repeat,
    ) -> Result<Saved> {
        let named = self.named(&scope.paths);
        let everything = scope.ignored == Ignored::Saved || named.contains(&Vec::new());
        let (mode, covers) = match everything {
            true => (Mode::All, Covers::Everything),
            false => (Mode::Ruled, Covers::Tree),
        };
        let order = Order {
            label,
            mode,
            covers,
            named: &named,
            files: &files,
            follows: &scope.follows,
            degraded: None,
            effort: Effort::Whole,
            repeat,
        };
        if self.is_crowded()? {
            self.collect(self.limits.quota)?;
        }
        let mut halted = match self.attempt(&order) {
            Ok(saved) => return Ok(saved),
            Err(halt) => halt,
        };
        if matches!(halted, Halt::Stop(Why::Quota)) && self.make_room(self.limits.quota / 2)? {
            halted = match self.attempt(&order) {
                Ok(saved) => return Ok(saved),
                Err(halt) => halt,
            };
        }
        let why = match halted {
            Halt::Fail(error) => return Err(error),
            Halt::Stop(why) => why,
        };
        let mut alone = named.clone();
        alone.extend(self.named(&scope.touched));
        if alone.is_empty() || everything {
            return Err(self.stopped(why));
        }
        let order = Order {
            mode: Mode::Wanted,
            covers: Covers::Paths,
            degraded: Some(why),
            named: &alone,
            ..order
        };
        self.attempt(&order).map_err(|halt| self.halted(halt))
    }

    /// What is there before `files` come back, however much it is: nobody must be able to stand in the way of that by
    /// filling the tree. What is too much is left out, and so left as it is. No older checkpoint goes for it.
    pub(super) fn save_for_restore(
        &self,
        label: &str,
        scope: &Scope,
        files: &BTreeSet<Rel>,
        repeat: Repeat,
    ) -> Result<Now> {
        let named = self.named(&scope.paths);
        let (mode, covers) = match scope.ignored {
            Ignored::Saved => (Mode::All, Covers::Everything),
            Ignored::LeftOut => (Mode::Ruled, Covers::Tree),
        };
        let (mode, covers) = match named.contains(&Vec::new()) {
            true => (Mode::All, Covers::Everything),
            false => (mode, covers),
        };
        let order = Order {
            label,
            mode,
            covers,
            named: &named,
            files,
            follows: &[],
            degraded: None,
            effort: Effort::Whole,
            repeat,
        };
        let mut tried = self.attempt(&order);
        if matches!(tried, Err(Halt::Stop(Why::Time))) {
            // It goes on where the first one stopped.
            tried = self.attempt(&order);
        }
        let why = match tried {
            Ok(saved) => return Ok(Now { saved, lacks: None }),
            Err(Halt::Fail(error)) => return Err(error),
            Err(Halt::Stop(why)) => why,
        };
        let order = Order {
            mode: Mode::Wanted,
            covers: Covers::Paths,
            degraded: Some(why),
            effort: Effort::Possible,
            ..order
        };
        let saved = self.attempt(&order).map_err(|halt| self.halted(halt))?;
        let lacks = Some(why);
        Ok(Now { saved, lacks })
    }

    pub(super) fn save_paths(&self, label: &str, paths: &[PathBuf]) -> Result<Saved> {
        let order = Order {
            label,
            mode: Mode::Wanted,
            covers: Covers::Paths,
            named: &self.named(paths),
            files: &BTreeSet::new(),
            follows: &[],
            degraded: None,
            effort: Effort::Whole,
            repeat: Repeat::Written,
        };
        match self.attempt(&order) {
            Err(Halt::Stop(Why::Quota)) if self.make_room(self.limits.quota / 2)? => {
                self.attempt(&order).map_err(|halt| self.halted(halt))
            }
            done => done.map_err(|halt| self.halted(halt)),
        }
    }

    fn halted(&self, halt: Halt) -> Error {
        match halt {
            Halt::Fail(error) => error,
            Halt::Stop(why) => self.stopped(why),
        }
    }

    pub(super) fn stopped(&self, why: Why) -> Error {
        Error::Stopped(why, heaviest(&self.folder))
    }

    fn named(&self, paths: &[PathBuf]) -> BTreeSet<Rel> {
        let below = paths.iter().filter_map(|p| self.relative(p));
        below.take(MAX_NAMED).collect()
    }

    fn attempt(&self, order: &Order<'_>) -> std::result::Result<Saved, Halt> {
        let repository = Repository::around(&self.root);
        let mut packs = Packs::open(&self.packs_dir())?;
        let known = Cache::load(&self.cache_path(), &packs.list);
        let git_known = GitKnown::default();
        let mut list = packs.list.clone();
        let bytes_before = packs.bytes();
        let room = self.limits.quota.saturating_sub(packs.bytes());
        let writer = Some(Writer::new(&packs, &self.disk));
        let sink = Sink {
            packs: &mut packs,
            writer,
            room,
            folders: HashMap::new(),
        };
        let wanted = self.wanted(order, repository.as_ref());
        let mut look = self.look(self.root.clone(), wanted, &known, sink)?;
        look.effort = order.effort;
        let walked = look.run(order.mode, &self.rules(order.mode, repository.as_ref()));
        let Look {
            sink, mut found, ..
        } = look;
        let tree = match walked {
            Ok(tree) => tree,
            Err(Halt::Stop(Why::Time)) => {
                // The next one need not read again what this one read.
                self.put_away(
                    sink,
                    &mut list,
                    &mut [(&mut found.cache, self.cache_path())],
                )?;
                return Err(Halt::Stop(Why::Time));
            }
            Err(halt) => return Err(halt),
        };
        let (mut git, sink) = self.look_at_git(repository.as_ref(), &git_known, sink)?;
        let own = git.caches.iter_mut();
        let mut caches: Vec<_> = own.map(|(cache, path)| (cache, path.clone())).collect();
        if order.mode != Mode::Wanted {
            caches.push((&mut found.cache, self.cache_path()));
        }
        let record = Record {
            id: record::ids(&self.dir)?.last().map_or(1, |id| id + 1),
            ts: jiff::Timestamp::now().to_string(),
            label: order.label.chars().take(MAX_LABEL).collect(),
            covers: order.covers,
            named: order.names(),
            degraded: order.degraded,
            heaviest: order
                .degraded
                .map_or_else(Vec::new, |_| heaviest(&self.folder)),
            tree: ostler_wire::hex::hex(&tree),
            git: git.state.map(|hash| ostler_wire::hex::hex(&hash)),
            history: git.history,
            stats: found.stats,
            left_out: std::mem::take(&mut found.left_out),
        };
        let last = match order.repeat {
            Repeat::Written => None,
            Repeat::Reused => self.last()?.filter(|last| is_like(last, &record)),
        };
        let record = match last {
            Some(last) => {
                self.put_away(sink, &mut list, &mut caches)?;
                last
            }
            None => self.commit(sink, &mut list, record, bytes_before, &mut caches)?,
        };
        Ok(Saved {
            record,
            cache: found.cache,
            leftovers: found.leftovers,
        })
    }

    fn wanted(&self, order: &Order<'_>, repository: Option<&Repository>) -> Wanted {
        let (named, files) = (order.named.clone(), order.files.clone());
        match order.mode {
            Mode::Ruled => Wanted {
                named,
                files,
                tracked: repository.map_or_else(Vec::new, |found| found.tracked(&self.root)),
                followed: self.followed(order.follows),
            },
            Mode::All | Mode::Wanted => Wanted {
                named,
                files,
                tracked: Vec::new(),
                followed: Followed::default(),
            },
        }
    }

    fn followed(&self, ids: &[u64]) -> Followed {
        let ids = ids.iter().rev().take(MAX_FOLLOWED);
        let records: Vec<Record> = ids.filter_map(|id| self.get(*id).ok()).collect();
        Followed::new(&records)
    }

    fn rules(&self, mode: Mode, repository: Option<&Repository>) -> Rules {
        match mode {
            Mode::Ruled => Rules::above(&self.root, repository),
            Mode::All | Mode::Wanted => Rules::default(),
        }
    }

    /// Content first, then the record that makes it a checkpoint, then what can be lost.
    fn commit(
        &self,
        sink: Sink<'_>,
        list: &mut Vec<(u64, u64)>,
        mut record: Record,
        bytes_before: u64,
        caches: &mut [(&mut Cache, PathBuf)],
    ) -> Result<Record> {
        if let Some(pack) = sink.writer.map(Writer::finish).transpose()?.flatten() {
            list.push(pack);
        }
        let bytes: u64 = list.iter().map(|(_, b)| b).sum();
        record.stats.added = bytes.saturating_sub(bytes_before);
        let path = record::path(&self.dir, record.id);
        let text = serde_json::to_vec(&record)
            .map_err(|e| Error::io(Word::HostWrite, &path, io::Error::other(e)))?;
        let put = self.disk.put(&path, &text);
        put.map_err(|e| Error::io(Word::HostWrite, &path, e))?;
        self.save_caches(list, caches);
        Ok(record)
    }

    fn put_away(
        &self,
        sink: Sink<'_>,
        list: &mut Vec<(u64, u64)>,
        caches: &mut [(&mut Cache, PathBuf)],
    ) -> Result<()> {
        if let Some(pack) = sink.writer.map(Writer::finish).transpose()?.flatten() {
            list.push(pack);
        }
        self.save_caches(list, caches);
        Ok(())
    }

    pub(super) fn save_caches(&self, list: &[(u64, u64)], caches: &mut [(&mut Cache, PathBuf)]) {
        for (cache, path) in caches {
            cache.packs = list.to_vec();
            // Without it the next look is slower, and right.
            let _slower = cache.save(path, &self.disk);
        }
    }

    pub(super) fn look<'a>(
        &'a self,
        root: PathBuf,
        wanted: Wanted,
        known: &'a Cache,
        sink: Sink<'a>,
    ) -> Result<Look<'a>> {
        let dir = self.held(&root);
        let dir = dir.map_err(|e| Error::io(Word::HostRead, &root, e))?;
        let excluded = self.limits.excluded.iter().chain([&self.dir]);
        let excluded: HashSet<Rel> = excluded
            .map(|p| fs::canonicalize(p).unwrap_or_else(|_| p.clone()))
            .filter_map(|p| below(&root, &p))
            .filter(|p| !p.is_empty())
            .collect();
        Ok(Look {
            root,
            dir,
            limits: &self.limits,
            begun: Instant::now(),
            effort: Effort::default(),
            wanted,
            excluded,
            known,
            sink,
            found: Found::default(),
        })
    }

    /// A folder that is looked at or changed, held open. No link leads to it: one in the root is reached from the root that
    /// was opened first.
    pub(super) fn held(&self, folder: &Path) -> io::Result<Arc<Dir>> {
        match below(&self.root, folder) {
            Some(rel) if rel.is_empty() => Ok(self.folder.clone()),
            Some(rel) => self.folder.enter(&rel).map(Arc::new),
            None => Dir::open(folder).map(Arc::new),
        }
    }

    /// The same. It is made where it is missing.
    pub(super) fn held_or_made(&self, folder: &Path) -> io::Result<Arc<Dir>> {
        let made = match below(&self.root, folder) {
            Some(rel) => self.folder.enter_or_make(&rel),
            None => {
                let top = Dir::open(Path::new("/"))?;
                let rel = below(Path::new("/"), folder).unwrap_or_default();
                top.enter_or_make(&rel)
            }
        };
        made.map(Arc::new)
    }

    /// `HEAD`, refs and index, and the history. In a linked working tree the refs are shared with others and stay out of the
    /// first.
    fn look_at_git<'a>(
        &'a self,
        repository: Option<&Repository>,
        known: &'a GitKnown,
        sink: Sink<'a>,
    ) -> std::result::Result<(GitPart, Sink<'a>), Halt> {
        let Some(repository) = repository else {
            return Ok((GitPart::default(), sink));
        };
        let before = known
            .state
            .get_or_init(|| Cache::load(&self.git_cache_path(), &sink.packs.list));
        let mut wanted = Wanted::default();
        wanted.named.extend(GIT_PARTS.map(<[u8]>::to_vec));
        let mut look = self.look(repository.dir.clone(), wanted, before, sink)?;
        let state = look.run(Mode::Wanted, &Rules::default())?;
        let mut caches = vec![(look.found.cache, self.git_cache_path())];
        let (history, cache, sink) = self.look_at_history(repository, known, look.sink)?;
        caches.extend(cache.map(|cache| (cache, self.history_cache_path())));
        let part = GitPart {
            state: Some(state),
            history: Some(history),
            caches,
        };
        Ok((part, sink))
    }

    /// The same without keeping it, with the folders that are in no pack. `None` where nothing is there.
    pub(super) fn peek_at_git(
        &self,
        packs: &mut Packs,
        repository: &Repository,
    ) -> Result<PeekedGit> {
        if !repository.dir.exists() {
            return Ok((None, HashMap::new()));
        }
        let known = Cache::default();
        let sink = Sink {
            packs,
            writer: None,
            room: 0,
            folders: HashMap::new(),
        };
        let mut wanted = Wanted::default();
        wanted.named.extend(GIT_PARTS.map(<[u8]>::to_vec));
        let mut look = self.look(repository.dir.clone(), wanted, &known, sink)?;
        let hash = look
            .run(Mode::Wanted, &Rules::default())
            .map_err(|halt| self.halted(halt))?;
        Ok((Some(hash), look.sink.folders))
    }
}

/// Whether a restore of either would do the same.
fn is_like(one: &Record, other: &Record) -> bool {
    one.tree == other.tree
        && one.git == other.git
        && one.history == other.history
        && one.covers == other.covers
        && one.named == other.named
        && one.left_out == other.left_out
}
