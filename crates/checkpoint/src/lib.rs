//! Checkpoints: the whole working tree as it was, kept outside the repository, each content once. `take` saves, `restore`
//! brings back, `diff` compares, `gc` makes room. Blocking: call it off the runtime. It asks nobody and runs no command.

mod apply;
mod around;
mod cache;
pub mod diff;
mod disk;
mod doomed;
mod followed;
mod gc;
mod git;
mod heavy;
mod history;
mod lost;
mod objects;
mod order;
mod pack;
mod record;
mod report;
mod restore;
mod save;
mod scan;
mod select;
mod sparse;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod unpushed;

pub use around::{Around, AroundDone};
pub use doomed::{Doomed, Reach, Target};
pub use gc::Collected;
pub use git::Repository;
pub use heavy::{Heavy, folders};
pub use lost::{HistoryNames, Mended};
pub use order::{Order, Reply, Tree};
pub use record::{Covers, History, LeftOut, Record};
pub use report::{Kept, Report};
pub use restore::{Git, Guard, Span, Unseen, What};
pub use store::{Ask, There, TreeStore, none_at};
pub use text::Tally;

use cache::Cache;
use disk::Disk;
use ostler_files::Dir;
use ostler_wire::{Why as Told, Word};
use pack::Packs;
use scan::{Halt, Mode, Sink};
use select::{Rules, Wanted};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tree::Hash;
use tree::{Node, Rel, join};

/// Ending of files in the making; what has it is swept.
const TEMP: &str = "tmp";
/// Between two tries for the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    Refused {
        root: PathBuf,
        why: Word,
    },
    Busy,
    /// With the largest folders.
    Stopped(Why, Vec<Heavy>),
    Full(PathBuf),
    NoSuch(u64),
    Damaged(String),
    Unseen {
        since: u64,
        paths: Vec<String>,
    },
    Io {
        /// With holes for the path and what the system said.
        what: Word<2>,
        path: PathBuf,
        source: io::Error,
    },
    /// It belongs to another place, or to this machine if there is no name.
    OtherPlace(Option<String>),
    /// The place is out of reach, and why.
    Away {
        place: String,
        reason: String,
    },
}

impl Error {
    fn io(what: Word<2>, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(path),
            _ => Self::Io { what, path, source },
        }
    }
}

ostler_wire::told_by_why!(Error);

impl From<&Error> for Told {
    fn from(error: &Error) -> Self {
        let name = |path: &Path| Told::from(path.display().to_string());
        match error {
            Error::Refused { root, why } => {
                Told::ours(Word::CpRefused, [name(root), (*why).into()])
            }
            Error::Busy => Word::CpBusy.into(),
            Error::Stopped(why, heaviest) => {
                let stopped = Told::ours(Word::CpStopped, [why.word().into()]);
                match heaviest.is_empty() {
                    true => stopped,
                    false => Told::ours(Word::CpLargest, [stopped, folders(heaviest).into()]),
                }
            }
            Error::Full(path) => Told::ours(Word::CpFull, [name(path)]),
            Error::NoSuch(id) => Told::ours(Word::CpNoSuch, [id.to_string().into()]),
            Error::Damaged(what) => Told::ours(Word::CpDamaged, [what.as_str().into()]),
            Error::Unseen { since, paths } => {
                Told::ours(Word::CpUnseen, [since.to_string().into(), few(paths)])
            }
            Error::Io { what, path, source } => Told::ours(*what, [name(path), source.into()]),
            Error::OtherPlace(Some(place)) => {
                Told::ours(Word::CpOtherPlace, [place.as_str().into()])
            }
            Error::OtherPlace(None) => Told::ours(Word::CpOtherPlace, [Word::CpThisMachine.into()]),
            Error::Away { place, reason } => Told::ours(
                Word::HostUnreachable,
                [place.as_str().into(), reason.as_str().into()],
            ),
        }
    }
}

/// Why a tree was not saved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Files,
    Time,
    Quota,
    LeftOut,
}

impl Why {
    pub fn word(self) -> Word {
        match self {
            Self::Files => Word::CpWhyFiles,
            Self::Time => Word::CpWhyTime,
            Self::Quota => Word::CpWhyQuota,
            Self::LeftOut => Word::CpWhyLeftOut,
        }
    }
}

/// What checkpoints may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Names in the tree.
    pub files: u64,
    /// Bytes of one file; larger ones are left out.
    pub file_bytes: u64,
    /// Bytes of the store.
    pub quota: u64,
    /// Bytes of the repository's history in one checkpoint.
    pub history: u64,
    pub time: Duration,
    /// How long to wait for another session.
    pub wait: Duration,
    /// The person's own folder: neither it nor what is above it is a project.
    pub user_home: Option<PathBuf>,
    /// Never looked at: where sessions and checkpoints themselves are.
    pub excluded: Vec<PathBuf>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 2_000_000,
            file_bytes: 512 << 20,
            quota: 4 << 30,
            history: 256 << 20,
            time: Duration::from_secs(10),
            wait: Duration::from_secs(10),
            user_home: None,
            excluded: Vec::new(),
        }
    }
}

/// What a checkpoint is to hold.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub ignored: Ignored,
    /// Saved even if ignored, and alone when the whole is too much.
    pub paths: Vec<PathBuf>,
    /// About to be changed: saved as well when the whole is too much.
    pub touched: Vec<PathBuf>,
    /// Earlier checkpoints: what they have and is still there is saved, whatever the ignore rules say by now.
    pub follows: Vec<u64>,
}

/// What becomes of a checkpoint that would be like the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Written,
    /// The newest stands for it.
    Reused,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    #[default]
    LeftOut,
    Saved,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Files and links saved.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Names looked at.
    pub names: u64,
    /// Files that had to be read.
    pub read: u64,
    /// Bytes added to the store.
    pub added: u64,
}

/// A moment to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    At(u64),
    Now,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Dir,
    Link,
}

/// What one side of a change is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    /// Hash of a file's content, for `content`.
    pub hash: Option<String>,
    /// Where a link leads.
    pub target: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub path: String,
    pub before: Option<Side>,
    pub after: Option<Side>,
}

/// The checkpoints of one project.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    dir: PathBuf,
    root: PathBuf,
    /// The root itself, whatever its path leads to by now.
    folder: Arc<Dir>,
    limits: Limits,
    disk: Disk,
}

impl Checkpoints {
    /// Checkpoints of `root` that are kept in `dir`. Makes no file before there is something to keep.
    pub fn open(dir: &Path, root: &Path, limits: Limits) -> Result<Self> {
        let root = fs::canonicalize(root).map_err(|e| Error::io(Word::CpFind, root, e))?;
        let refused = |why| {
            let root = root.clone();
            Err(Error::Refused { root, why })
        };
        if root.parent().is_none() {
            return refused(Word::CpIsRoot);
        }
        let user = limits.user_home.as_ref();
        let user = user.map(|h| fs::canonicalize(h).unwrap_or_else(|_| h.clone()));
        if user.as_ref().is_some_and(|h| *h == root) {
            return refused(Word::CpIsHome);
        }
        if user.is_some_and(|h| h.starts_with(&root)) {
            return refused(Word::CpHoldsHome);
        }
        let folder = Dir::open(&root).map_err(|e| Error::io(Word::CpFind, &root, e))?;
        Ok(Self {
            dir: dir.to_owned(),
            folder: Arc::new(folder),
            root,
            limits,
            disk: Disk::default(),
        })
    }

    /// Where the tree really lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Saves the tree as it is.
    pub fn take(&self, label: &str, scope: &Scope) -> Result<Record> {
        let _lock = self.lock()?;
        let files = BTreeSet::new();
        Ok(self.save(label, scope, files, Repeat::Written)?.record)
    }

    /// The same, but where nothing has changed the newest checkpoint is given.
    pub fn keep(&self, label: &str, scope: &Scope) -> Result<Record> {
        let _lock = self.lock()?;
        let files = BTreeSet::new();
        Ok(self.save(label, scope, files, Repeat::Reused)?.record)
    }

    /// Saves these paths and nothing else, whatever the ignore rules say.
    pub fn keep_paths(&self, label: &str, paths: &[PathBuf]) -> Result<Record> {
        let _lock = self.lock()?;
        Ok(self.save_paths(label, paths)?.record)
    }

    /// The ids of the newest ones, oldest first.
    pub fn newest(&self, most: usize) -> Result<Vec<u64>> {
        let mut ids = record::ids(&self.dir)?;
        let above = ids.len().saturating_sub(most);
        ids.drain(..above);
        Ok(ids)
    }

    /// Oldest first. What is damaged is not in it.
    pub fn list(&self) -> Result<Vec<Record>> {
        let ids = record::ids(&self.dir)?;
        Ok(ids
            .into_iter()
            .filter_map(|id| record::read(&self.dir, id).ok())
            .collect())
    }

    pub fn get(&self, id: u64) -> Result<Record> {
        record::read(&self.dir, id)
    }

    pub fn last(&self) -> Result<Option<Record>> {
        let ids = record::ids(&self.dir)?;
        Ok(ids
            .iter()
            .rev()
            .find_map(|id| record::read(&self.dir, *id).ok()))
    }

    /// What changed from one moment to another.
    pub fn diff(&self, from: u64, to: Point) -> Result<Vec<Change>> {
        let record = self.get(from)?;
        let _lock = self.lock()?;
        let mut packs = Packs::open(&self.packs_dir())?;
        let mut folders = HashMap::new();
        let after = match to {
            Point::At(id) => self.get(id)?,
            Point::Now => {
                let known = Cache::load(&self.cache_path(), &packs.list);
                let (tree, own) = self.peek(&mut packs, &known, &record)?;
                folders = own;
                Record {
                    tree: ostler_wire::hex::hex(&tree),
                    ..record.clone()
                }
            }
        };
        let (before_hash, after_hash) = (record.tree_hash()?, after.tree_hash()?);
        let mut load = |hash: &Hash| match folders.get(hash) {
            Some(bytes) => Ok(bytes.clone()),
            None => packs.read(hash),
        };
        let differences = tree::diff(Some(&before_hash), Some(&after_hash), &mut load)?;
        let (one, other) = (
            restore::Covered::new(&record),
            restore::Covered::new(&after),
        );
        let known = |d: &&tree::Difference| one.covers(&d.path) && other.covers(&d.path);
        Ok(differences.iter().filter(known).map(change).collect())
    }

    /// The content of a file by its hash in a `Side`.
    pub fn content(&self, hash: &str) -> Result<Vec<u8>> {
        let hash = record::parse(hash).ok_or_else(|| Error::Damaged("the hash".into()))?;
        Packs::open(&self.packs_dir())?.read(&hash)
    }

    /// Bytes of the store.
    pub fn bytes(&self) -> Result<u64> {
        Ok(Packs::open(&self.packs_dir())?.bytes())
    }

    fn packs_dir(&self) -> PathBuf {
        self.dir.join("packs")
    }

    fn cache_path(&self) -> PathBuf {
        self.dir.join("tree.cache")
    }

    fn git_cache_path(&self) -> PathBuf {
        self.dir.join("git.cache")
    }

    fn history_cache_path(&self) -> PathBuf {
        self.dir.join("history.cache")
    }

    fn cache_paths(&self) -> [PathBuf; 3] {
        [
            self.cache_path(),
            self.git_cache_path(),
            self.history_cache_path(),
        ]
    }

    /// One at a time, over all processes. Sweeps what a killed one left.
    fn lock(&self) -> Result<File> {
        ostler_files::private_dir(&self.dir)
            .map_err(|e| Error::io(Word::HostMakeFolder, &self.dir, e))?;
        let path = self.dir.join("lock");
        let mut options = ostler_files::private_options();
        let open = options.create(true).append(true).open(&path);
        let file = open.map_err(|e| Error::io(Word::CpOpen, &path, e))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < self.limits.wait => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy),
                Err(TryLockError::Error(e)) => return Err(Error::io(Word::CpLock, &path, e)),
            }
        }
        for dir in [self.dir.clone(), self.packs_dir()] {
            let files = fs::read_dir(dir).into_iter().flatten().flatten();
            for file in files.filter(|f| f.path().extension().is_some_and(|e| e == TEMP)) {
                // It is in nobody's way.
                let _gone = self.disk.remove(&file.path());
            }
        }
        Ok(file)
    }

    /// The tree as it is now, hashed as `record` was taken, with the folders that are in no pack.
    fn peek(
        &self,
        packs: &mut Packs,
        known: &Cache,
        record: &Record,
    ) -> Result<(Hash, HashMap<Hash, Vec<u8>>)> {
        let repository = Repository::around(&self.root);
        let mut wanted = Wanted::default();
        wanted.named.extend(record.named_paths());
        let (mode, rules) = match record.covers {
            Covers::Everything => (Mode::All, Rules::default()),
            Covers::Paths => (Mode::Wanted, Rules::default()),
            Covers::Tree => {
                let hash = record.tree_hash()?;
                wanted.files = restore::files_of(&hash, &mut |h| packs.read(h))?;
                let tracked = repository.as_ref().map(|r| r.tracked(&self.root));
                wanted.tracked = tracked.unwrap_or_default();
                (Mode::Ruled, Rules::above(&self.root, repository.as_ref()))
            }
        };
        let sink = Sink {
            packs,
            writer: None,
            room: 0,
            folders: HashMap::new(),
        };
        let mut look = self.look(self.root.clone(), wanted, known, sink)?;
        let hash = look.run(mode, &rules).map_err(|halt| match halt {
            Halt::Fail(error) => error,
            Halt::Stop(why) => self.stopped(why),
        })?;
        Ok((hash, look.sink.folders))
    }

    /// A path below the root; empty for the root itself.
    fn relative(&self, path: &Path) -> Option<Rel> {
        let mut clean = self.root.clone();
        for part in path.components() {
            match part {
                Component::Prefix(_) | Component::RootDir => clean = PathBuf::from("/"),
                Component::CurDir => {}
                Component::ParentDir => {
                    clean.pop();
                }
                Component::Normal(name) => clean.push(name),
            }
        }
        below(&self.root, &clean)
    }
}

fn below(root: &Path, path: &Path) -> Option<Rel> {
    let mut rel = Vec::new();
    for part in path.strip_prefix(root).ok()? {
        join(&mut rel, part.as_encoded_bytes());
    }
    Some(rel)
}

fn change(difference: &tree::Difference) -> Change {
    let side = |node: &Node| match node {
        Node::File { mode, size, hash } => Side {
            kind: Kind::File,
            mode: *mode,
            size: *size,
            hash: Some(ostler_wire::hex::hex(hash)),
            target: None,
        },
        Node::Dir { mode, .. } => Side {
            kind: Kind::Dir,
            mode: *mode,
            size: 0,
            hash: None,
            target: None,
        },
        Node::Link { target } => Side {
            kind: Kind::Link,
            mode: 0o777,
            size: 0,
            hash: None,
            target: Some(tree::quote(target)),
        },
    };
    Change {
        path: tree::quote(&difference.path),
        before: difference.before.as_ref().map(side),
        after: difference.after.as_ref().map(side),
    }
}

fn few(paths: &[String]) -> Told {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = paths.iter().take(SHOWN).map(String::as_str).collect();
    let shown = Told::from(shown.join(", "));
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => Told::ours(Word::CpAndMore, [shown, more.to_string().into()]),
    }
}
