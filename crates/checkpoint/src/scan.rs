//! One look at a tree: walks it, reads what changed since the look before, keeps the content and gives the hash of the
//! whole. It follows no link, enters no `.git` of the root, and stops when a limit is reached.

mod content;

use super::apply;
use super::cache::{Cache, Known, KnownDir, Reason};
use super::pack::{Packs, Writer, hash};
use super::select::{IGNORE_FILE, MAX_IGNORE_BYTES, Rules, Wanted};
use super::tree::Hash;
use super::tree::{self, Folder, Node, Rel, join};
use super::{Error, LeftOut, Limits, Stats, Why};
use ostler_files::Kind;
use ostler_files::raw::{self, Mark};
use ostler_files::{Dir, Found as Entry, Name};
use ostler_wire::Word;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Files left out that are remembered one by one; a tree with more of them is not saved as a whole.
pub const MAX_LEFT_OUT: usize = 10_000;
/// The same where only files with names are saved, whatever they cost.
const MAX_LEFT_OUT_NAMED: usize = 500_000;
/// Names between two looks at the clock.
const CLOCK_EVERY: u64 = 64;

/// More time for small files where only those with names are saved.
const GRACE: Duration = Duration::from_secs(10);
const TOO_MUCH: &str = "there was no room or no time to save it";

/// Why a look ended early.
#[derive(Debug)]
pub enum Halt {
    Stop(Why),
    Fail(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

type Step<T> = std::result::Result<T, Halt>;

/// How a folder is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything in it.
    All,
    /// What the ignore rules let through, and what is wanted.
    Ruled,
    /// What is wanted, alone.
    Wanted,
}

/// Where content goes: into a pack, or nowhere when only hashes are asked for.
pub struct Sink<'a> {
    pub packs: &'a mut Packs,
    pub writer: Option<Writer>,
    /// Bytes that may be written.
    pub room: u64,
    /// Folders that are in no pack.
    pub folders: HashMap<Hash, Vec<u8>>,
}

impl Sink<'_> {
    fn has(&mut self, hash: &Hash) -> bool {
        let written = self.writer.as_ref().is_some_and(|w| w.has(hash));
        written || self.packs.find(hash).is_some()
    }

    pub fn put(&mut self, hash: Hash, bytes: &[u8]) -> Step<()> {
        if self.has(&hash) {
            return Ok(());
        }
        if let Some(writer) = &mut self.writer {
            if writer.bytes() + bytes.len() as u64 > self.room {
                return Err(Halt::Stop(Why::Quota));
            }
            writer.put(hash, bytes)?;
        }
        Ok(())
    }

    pub fn put_folder(&mut self, hash: Hash, bytes: Vec<u8>) -> Step<()> {
        if self.writer.is_some() {
            return self.put(hash, &bytes);
        }
        self.folders.insert(hash, bytes);
        Ok(())
    }
}

/// What happens to a file that is too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Nothing of the tree is saved.
    #[default]
    Whole,
    /// It is left out, and the others are saved.
    Possible,
}

pub struct Look<'a> {
    /// The path of the folder, for the rules; files are reached by `dir` alone.
    pub root: PathBuf,
    pub dir: Arc<Dir>,
    pub limits: &'a Limits,
    pub begun: Instant,
    pub effort: Effort,
    pub wanted: Wanted,
    /// Paths below the root that are never looked at.
    pub excluded: HashSet<Rel>,
    pub known: &'a Cache,
    pub sink: Sink<'a>,
    pub found: Found,
}

#[derive(Default)]
pub struct Found {
    pub cache: Cache,
    pub stats: Stats,
    pub left_out: Vec<LeftOut>,
    /// Files that a restore was making when it was killed. They are nobody's.
    pub leftovers: Vec<Rel>,
}

/// What became of one name.
enum Seen {
    Node(Node, Mark),
    /// It went away meanwhile, or was left out.
    Nothing,
}

enum Content {
    Whole(Mark, Hash),
    Moved,
    Gone,
    Special,
    Failed(io::Error),
}

impl Look<'_> {
    /// The hash of the root's folder.
    pub fn run(&mut self, mode: Mode, rules: &Rules) -> Step<Hash> {
        self.found.cache.started = now();
        let (root, dir) = (self.root.clone(), self.dir.clone());
        match self.folder(&mut Vec::new(), (&root, &dir), 0, mode, rules) {
            Ok(Some(hash)) => Ok(hash),
            Ok(None) => {
                let error = io::Error::from(io::ErrorKind::NotFound);
                Err(Halt::Fail(Error::io(Word::HostRead, &root, error)))
            }
            Err(halt) => {
                self.carry_over();
                Err(halt)
            }
        }
    }

    /// What this look did not reach stays known, if it was settled then.
    fn carry_over(&mut self) {
        for (path, dir) in &self.known.dirs {
            if self.found.cache.dirs.contains_key(path) {
                continue;
            }
            let settled = |k: &&Known| self.known.vouches(k, &k.mark);
            let names = dir.names.iter().filter(settled).cloned().collect();
            let (rules, tree) = (dir.rules, Hash::default());
            let dir = KnownDir { rules, tree, names };
            self.found.cache.dirs.insert(path.clone(), dir);
        }
    }

    fn folder(
        &mut self,
        at: &mut Rel,
        (path, held): (&Path, &Dir),
        depth: usize,
        mode: Mode,
        rules: &Rules,
    ) -> Step<Option<Hash>> {
        if depth > tree::MAX_DEPTH {
            self.leave_out(at, "it lies too deep")?;
            return Ok(None);
        }
        let names = match self.names(at, held, mode) {
            Ok(names) => names,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                self.leave_out(at, &e.to_string())?;
                return Ok(None);
            }
        };
        let inner;
        let rules = match self.own_rules((path, held), mode, rules, &names) {
            Some(own) => {
                inner = own;
                &inner
            }
            None => rules,
        };
        let before = self.known.dirs.get(at.as_slice());
        let mut dir = KnownDir {
            rules: rules.print,
            tree: Hash::default(),
            names: Vec::with_capacity(names.len()),
        };
        let mut folder = Vec::with_capacity(names.len());
        let mut place = Place {
            path,
            held,
            depth,
            mode,
            rules,
            before: before.filter(|b| mode == Mode::Ruled && b.rules == rules.print),
        };
        let walked = self.walk(at, &mut place, names, before, &mut folder, &mut dir);
        if walked.is_ok() {
            dir.tree = match before.filter(|b| same(b, &dir)) {
                Some(before) => before.tree,
                None => {
                    let bytes = tree::encode(&folder);
                    let hash = hash(&bytes);
                    self.sink.put_folder(hash, bytes)?;
                    hash
                }
            };
        }
        let hash = dir.tree;
        self.found.cache.dirs.insert(at.clone(), dir);
        walked.map(|()| Some(hash))
    }

    fn walk(
        &mut self,
        at: &mut Rel,
        place: &mut Place<'_>,
        names: Vec<Name>,
        before: Option<&KnownDir>,
        folder: &mut Folder,
        dir: &mut KnownDir,
    ) -> Step<()> {
        let mut known = before.map_or(&[][..], |b| b.names.as_slice());
        for name in names {
            while known.first().is_some_and(|k| *k.name < *name.bytes) {
                known = known.get(1..).unwrap_or_default();
            }
            let same = known.first().filter(|k| *k.name == *name.bytes);
            let length = at.len();
            join(at, &name.bytes);
            let seen = self.name(at, place, &name, same);
            at.truncate(length);
            let (reason, Seen::Node(node, mark)) = seen? else {
                continue;
            };
            let (kind, hash) = match &node {
                Node::File { hash, .. } => (b'f', *hash),
                Node::Dir { hash, .. } => (b'd', *hash),
                Node::Link { target } => (b'l', hash(target)),
            };
            dir.names.push(Known {
                name: name.bytes.clone().into(),
                kind,
                reason,
                mark,
                hash,
            });
            folder.push((name.bytes, node));
        }
        Ok(())
    }

    /// The names to look at, in order.
    fn names(&mut self, at: &[u8], held: &Dir, mode: Mode) -> io::Result<Vec<Name>> {
        if mode == Mode::Wanted {
            let mut names = self.wanted.names(at);
            names.append(&mut self.wanted.followed.names(at, self.sink.packs));
            let names = names.into_iter();
            return Ok(names.map(|bytes| Name { bytes, kind: None }).collect());
        }
        let mut names = held.names()?;
        names.sort_unstable_by(|a, b| a.bytes.cmp(&b.bytes));
        Ok(names)
    }

    fn own_rules(
        &self,
        (path, held): (&Path, &Dir),
        mode: Mode,
        rules: &Rules,
        names: &[Name],
    ) -> Option<Rules> {
        if mode != Mode::Ruled {
            return None;
        }
        let own = names.binary_search_by(|n| n.bytes.as_slice().cmp(IGNORE_FILE));
        own.ok()?;
        let mut text = Vec::new();
        let open = held.open_file(IGNORE_FILE).ok()?;
        open.metadata().ok().filter(Metadata::is_file)?;
        open.take(MAX_IGNORE_BYTES).read_to_end(&mut text).ok()?;
        Some(rules.with(path, &text))
    }

    fn name(
        &mut self,
        at: &mut Rel,
        place: &Place<'_>,
        name: &Name,
        known: Option<&Known>,
    ) -> Step<(Reason, Seen)> {
        self.tick()?;
        let nothing = Ok((Reason::Rules, Seen::Nothing));
        if at.as_slice() == b".git" || self.excluded.contains(at.as_slice()) {
            return nothing;
        }
        if apply::is_temp(&name.bytes) {
            if self.found.leftovers.len() < MAX_LEFT_OUT {
                self.found.leftovers.push(at.clone());
            }
            return nothing;
        }
        let path = place.path.join(raw::name(&name.bytes));
        let looked = match name.kind {
            Some(_) => None,
            None => Some(place.held.look(&name.bytes)),
        };
        let kind = match &looked {
            Some(looked) => looked.as_ref().ok().map(|found| found.kind),
            None => name.kind,
        };
        let is_dir = kind == Some(Kind::Directory);
        let Some((mode, reason)) = self.choose(at, &path, place, is_dir, known) else {
            return nothing;
        };
        let found = looked.unwrap_or_else(|| place.held.look(&name.bytes));
        let seen = match found {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Seen::Nothing,
            Err(e) => {
                self.leave_out(at, &e.to_string())?;
                Seen::Nothing
            }
            Ok(found) => self.entry(at, (&path, &name.bytes), place, mode, found, known)?,
        };
        Ok((reason, seen))
    }

    /// Looks at what lies under a name. It is opened in the folder that is held, and judged by what was opened: what takes
    /// its place meanwhile is left out.
    fn entry(
        &mut self,
        at: &mut Rel,
        (path, name): (&Path, &[u8]),
        place: &Place<'_>,
        mode: Mode,
        found: Entry,
        known: Option<&Known>,
    ) -> Step<Seen> {
        match found.kind {
            Kind::Directory => {
                let held = match place.held.enter(name) {
                    Ok(held) => held,
                    Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Seen::Nothing),
                    Err(e) => {
                        self.leave_out(at, &e.to_string())?;
                        return Ok(Seen::Nothing);
                    }
                };
                let mark = Mark {
                    mode: found.mark.mode,
                    ..Mark::default()
                };
                let folder = self.folder(at, (path, &held), place.depth + 1, mode, place.rules)?;
                Ok(folder.map_or(Seen::Nothing, |hash| {
                    let mode = mark.mode;
                    Seen::Node(Node::Dir { mode, hash }, mark)
                }))
            }
            Kind::Symlink => self.link(at, place.held, name),
            Kind::File => self.file(at, (place.held, name), found.mark, known),
            Kind::Other | Kind::Missing => {
                self.leave_out(at, "it is a socket, pipe or device")?;
                Ok(Seen::Nothing)
            }
        }
    }

    /// How to go on with a name, or that it is left out by a rule.
    fn choose(
        &mut self,
        at: &[u8],
        path: &Path,
        place: &Place<'_>,
        is_dir: bool,
        known: Option<&Known>,
    ) -> Option<(Mode, Reason)> {
        if place.mode == Mode::All || self.wanted.whole(at) {
            return Some((Mode::All, Reason::Wanted));
        }
        // The same rules let the same name of the same kind through.
        let is_ruled = place.mode == Mode::Ruled;
        let by_rules = is_ruled
            && place.before.is_some()
            && known.is_some_and(|k| k.reason == Reason::Rules && (k.kind == b'd') == is_dir);
        if by_rules || is_ruled && !place.rules.ignore(path, is_dir) {
            return Some((Mode::Ruled, Reason::Rules));
        }
        let is_wanted = match is_dir {
            true => self.wanted.below(at),
            false => self.wanted.file(at),
        };
        let is_kept = is_wanted || self.wanted.followed.has(at, is_dir, self.sink.packs);
        is_kept.then_some((Mode::Wanted, Reason::Wanted))
    }

    fn link(&mut self, at: &[u8], held: &Dir, name: &[u8]) -> Step<Seen> {
        match held.read_link(name) {
            Ok(target) => {
                self.found.stats.files += 1;
                Ok(Seen::Node(Node::Link { target }, Mark::default()))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Seen::Nothing),
            Err(e) => {
                self.leave_out(at, &e.to_string())?;
                Ok(Seen::Nothing)
            }
        }
    }

    fn file(
        &mut self,
        at: &[u8],
        place: (&Dir, &[u8]),
        mark: Mark,
        known: Option<&Known>,
    ) -> Step<Seen> {
        let vouched = known.filter(|k| k.kind == b'f' && self.known.vouches(k, &mark));
        let content = match vouched {
            Some(known) => Content::Whole(mark, known.hash),
            None if mark.size > self.limits.file_bytes => {
                self.leave_out(at, "it is too large")?;
                return Ok(Seen::Nothing);
            }
            None if self.is_late() => {
                self.leave_out(at, TOO_MUCH)?;
                return Ok(Seen::Nothing);
            }
            None => match self.settled(place) {
                Err(Halt::Stop(_)) if self.effort == Effort::Possible => {
                    self.leave_out(at, TOO_MUCH)?;
                    return Ok(Seen::Nothing);
                }
                read => read?,
            },
        };
        let why = match content {
            Content::Whole(mark, hash) => {
                self.found.stats.files += 1;
                self.found.stats.bytes += mark.size;
                let (mode, size) = (mark.mode, mark.size);
                return Ok(Seen::Node(Node::File { mode, size, hash }, mark));
            }
            Content::Gone => return Ok(Seen::Nothing),
            Content::Moved => "it kept changing while it was read".to_owned(),
            Content::Special => "it is a socket, pipe or device".to_owned(),
            Content::Failed(e) => e.to_string(),
        };
        self.leave_out(at, &why)?;
        Ok(Seen::Nothing)
    }

    fn leave_out(&mut self, at: &[u8], why: &str) -> Step<()> {
        let most = match self.effort {
            Effort::Whole => MAX_LEFT_OUT,
            Effort::Possible => MAX_LEFT_OUT_NAMED,
        };
        if self.found.left_out.len() >= most {
            return Err(Halt::Stop(Why::LeftOut));
        }
        self.found.left_out.push(LeftOut {
            path: tree::quote(at),
            why: why.to_owned(),
        });
        Ok(())
    }

    fn tick(&mut self) -> Step<()> {
        self.found.stats.names += 1;
        if self.found.stats.names > self.limits.files {
            return Err(Halt::Stop(Why::Files));
        }
        let is_due = self.found.stats.names.is_multiple_of(CLOCK_EVERY);
        if is_due && self.effort == Effort::Whole {
            self.tick_clock()?;
        }
        Ok(())
    }

    /// Whether even small files are no longer read.
    fn is_late(&self) -> bool {
        self.effort == Effort::Possible && self.begun.elapsed() > 2 * self.limits.time + GRACE
    }

    fn tick_clock(&self) -> Step<()> {
        if self.begun.elapsed() > self.limits.time {
            return Err(Halt::Stop(Why::Time));
        }
        Ok(())
    }
}

/// Where the walk is.
struct Place<'a> {
    path: &'a Path,
    /// The folder itself.
    held: &'a Dir,
    depth: usize,
    mode: Mode,
    rules: &'a Rules,
    /// What was known here under the same rules.
    before: Option<&'a KnownDir>,
}

/// Whether the folder holds what it held, so that its bytes are stored already.
fn same(before: &KnownDir, now: &KnownDir) -> bool {
    before.tree != Hash::default()
        && before.names.len() == now.names.len()
        && before.names.iter().zip(&now.names).all(|(a, b)| {
            (&a.name, a.kind, a.mark.mode, a.mark.size, a.hash)
                == (&b.name, b.kind, b.mark.mode, b.mark.size, b.hash)
        })
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}
