//! Looking at many paths at one moment: each name is looked up once, however many paths lead through it. What was seen
//! can be kept, and asked later whether it would be seen again: a folder whose time of change is the same has the same
//! names in it, and of one that changed only the names that were looked at are looked at again. Nobody can set that time,
//! but not every disk keeps it well: where commands write, names are looked at again in any case.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Links that are followed on the way to one file, as in the kernel.
const MAX_LINKS: usize = 40;
/// How far times of files may lie behind the clock, on the coarsest of file systems: a folder that changed so shortly before
/// a look may have changed once more in the same tick.
const COARSE: Duration = Duration::from_millis(2100);

/// What the system says of a name that is not there, and how many such names are looked up by one list.
const NO_ENTRY: i32 = 2;
const MANY_MISSING: usize = 8;

/// What has a name; a link is the thing itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Link(PathBuf),
    Other,
}

/// One entry of a folder as it was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub kind: Kind,
    pub device: u64,
    pub inode: u64,
    /// How many names a file has.
    pub names: u64,
    /// When it was last changed in any way.
    changed: SystemTime,
}

/// An entry, or the number of the error instead of it.
type Looked = Result<Seen, i32>;
/// The names in a folder, sorted.
type Listed = Result<Vec<OsString>, i32>;

/// All that was seen so far.
#[derive(Debug, Default)]
pub struct Sight {
    /// By paths on whose way there is no link.
    seen: HashMap<PathBuf, Looked>,
    lists: HashMap<PathBuf, Listed>,
    /// Files whose number of names counts.
    counted: BTreeSet<PathBuf>,
    /// Something was not as it had just been seen.
    torn: bool,
}

thread_local! {
    static ACTIVE: RefCell<Option<Sight>> = const { RefCell::new(None) };
}

/// Puts back what was active before, also when a look panics.
struct Restore(Option<Sight>);

impl Drop for Restore {
    fn drop(&mut self) {
        let before = self.0.take();
        ACTIVE.with(|active| *active.borrow_mut() = before);
    }
}

/// Within this, each name is looked up once. To be used where nothing is made, removed or waited for.
pub fn at_once<T>(look: impl FnOnce() -> T) -> T {
    match ACTIVE.with(|active| active.borrow().is_some()) {
        true => look(),
        false => recorded(look).0,
    }
}

/// The same, with all that was seen.
pub fn recorded<T>(look: impl FnOnce() -> T) -> (T, Sight) {
    let before = ACTIVE.with(|active| active.borrow_mut().replace(Sight::default()));
    let restore = Restore(before);
    let result = look();
    let sight = ACTIVE.with(|active| active.borrow_mut().take());
    drop(restore);
    (result, sight.unwrap_or_default())
}

fn with<T>(look: impl FnOnce(&mut Sight) -> T) -> T {
    ACTIVE.with(|active| match &mut *active.borrow_mut() {
        Some(sight) => look(sight),
        None => look(&mut Sight::default()),
    })
}

/// The path without links, of something that is there.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    match path.is_absolute() {
        true => with(|sight| sight.real(path)),
        false => fs::canonicalize(path),
    }
}

/// Whether a path leads to something.
pub fn exists(path: &Path) -> bool {
    canonicalize(path).is_ok()
}

pub fn is_folder(path: &Path) -> bool {
    led_to(path).is_some_and(|seen| seen.kind == Kind::Folder)
}

pub fn is_file(path: &Path) -> bool {
    led_to(path).is_some_and(|seen| seen.kind == Kind::File)
}

fn led_to(path: &Path) -> Option<Seen> {
    let real = canonicalize(path).ok()?;
    with(|sight| sight.entry(&real).clone()).ok()
}

/// What has this name, a link not followed; those above it are.
pub fn look(path: &Path) -> io::Result<Seen> {
    with(|sight| {
        let place = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => sight.real(parent)?.join(name),
            _ => sight.real(path)?,
        };
        sight.entry(&place).clone().map_err(error)
    })
}

/// What is at a path on whose way there is no link.
pub fn look_in_place(path: &Path) -> io::Result<Seen> {
    with(|sight| sight.entry(path).clone()).map_err(error)
}

pub fn is_link(path: &Path) -> bool {
    read_link(path).is_some()
}

pub fn read_link(path: &Path) -> Option<PathBuf> {
    match look(path).ok()?.kind {
        Kind::Link(target) => Some(target),
        Kind::Folder | Kind::File | Kind::Other => None,
    }
}

/// What has this name, also later when somebody asks whether all is as it was: how many names it has counts, too.
pub fn count_names(path: &Path) -> io::Result<Seen> {
    let seen = look(path)?;
    if seen.kind == Kind::File {
        with(|sight| sight.counted.insert(path.to_owned()));
    }
    Ok(seen)
}

/// The paths of what is in a folder.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let real = canonicalize(folder)?;
    let names = with(|sight| {
        if !sight.lists.contains_key(&real) {
            let listed = list(&real);
            // So that the folder itself is known.
            let _ = sight.entry(&real);
            sight.lists.insert(real.clone(), listed);
        }
        sight.lists.get(&real).cloned().unwrap_or(Err(0))
    });
    let names = names.map_err(error)?;
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// A file that was opened without a link on its way: what was seen there, or will be taken as seen, is this one.
pub fn opened(path: &Path, seen: Seen) {
    with(|sight| match sight.seen.get(path) {
        Some(known) => sight.torn |= !is_same(known, &Ok(seen)),
        None => drop(sight.seen.insert(path.to_owned(), Ok(seen))),
    });
}

/// What was seen is not enough to tell later whether all is as it was.
pub fn tear() {
    with(|sight| sight.torn = true);
}

fn error(number: i32) -> io::Error {
    match number {
        0 => io::ErrorKind::Other.into(),
        number => io::Error::from_raw_os_error(number),
    }
}

fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

fn list(folder: &Path) -> Listed {
    let entries = fs::read_dir(folder).map_err(|error| number(&error))?;
    let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    Ok(names)
}

fn is_same(one: &Looked, other: &Looked) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            (&one.kind, one.device, one.inode) == (&other.kind, other.device, other.inode)
        }
        (Err(one), Err(other)) => one == other,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

impl Seen {
    fn at(path: &Path) -> Looked {
        let meta = fs::symlink_metadata(path).map_err(|error| number(&error))?;
        let kind = match meta.file_type() {
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            kind if kind.is_symlink() => {
                Kind::Link(fs::read_link(path).map_err(|error| number(&error))?)
            }
            _ => Kind::Other,
        };
        Ok(Self::new(kind, &meta))
    }

    #[cfg(unix)]
    fn new(kind: Kind, meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            kind,
            device: meta.dev(),
            inode: meta.ino(),
            names: meta.nlink(),
            changed: time(meta.ctime(), meta.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn new(kind: Kind, meta: &Metadata) -> Self {
        Self {
            kind,
            device: 0,
            inode: 0,
            names: 1,
            changed: meta.modified().unwrap_or_else(|_| SystemTime::now()),
        }
    }

    /// What a descriptor told; none for a link.
    #[cfg(target_os = "linux")]
    pub fn of(stat: &rustix::fs::Stat) -> Option<Self> {
        use rustix::fs::FileType;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => return None,
            _ => Kind::Other,
        };
        Some(Self {
            kind,
            device: stat.st_dev,
            inode: stat.st_ino,
            // 32 bits on some machines.
            #[allow(clippy::useless_conversion)]
            names: stat.st_nlink.into(),
            changed: time(
                stat.st_ctime,
                i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
            ),
        })
    }
}

#[cfg(unix)]
fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let part = |number: i64| number.try_into().unwrap_or(0);
    let since = Duration::from_secs(part(seconds)) + Duration::from_nanos(part(nanoseconds));
    SystemTime::UNIX_EPOCH + since
}

impl Sight {
    fn entry(&mut self, place: &Path) -> &Looked {
        if !self.seen.contains_key(place) {
            self.seen.insert(place.to_owned(), Seen::at(place));
        }
        &self.seen[place]
    }

    fn real(&mut self, path: &Path) -> io::Result<PathBuf> {
        let parts = |path: &Path, todo: &mut Vec<OsString>| {
            let named = path.components().rev().filter_map(|part| match part {
                Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
                Component::RootDir | Component::Prefix(_) | Component::CurDir => None,
            });
            todo.extend(named);
        };
        let mut done = PathBuf::from("/");
        let mut todo = Vec::new();
        parts(path, &mut todo);
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                done.pop();
                continue;
            }
            done.push(part);
            match self.entry(&done) {
                Err(number) => return Err(error(*number)),
                Ok(Seen {
                    kind: Kind::Link(target),
                    ..
                }) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::ErrorKind::InvalidInput.into());
                    }
                    parts(target, &mut todo);
                    match target.is_absolute() {
                        true => done = PathBuf::from("/"),
                        false => drop(done.pop()),
                    }
                }
                Ok(Seen {
                    kind: Kind::Folder, ..
                }) => {}
                Ok(_) if todo.is_empty() => {}
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Ok(done)
    }

    /// Ends the look. Of folders in `writable` no time is believed. None where what was seen did not fit together.
    pub fn keep(mut self, began: SystemTime, writable: &[PathBuf]) -> Option<Kept> {
        if self.torn {
            return None;
        }
        let places = self.seen.keys().chain(self.lists.keys());
        let above = places.flat_map(|path| path.ancestors().map(Path::to_owned));
        for folder in above.collect::<BTreeSet<PathBuf>>() {
            let _ = self.entry(&folder);
        }
        let mut folders: BTreeMap<PathBuf, Vec<(PathBuf, Looked)>> = BTreeMap::new();
        let is_folder = |path: &Path| match self.seen.get(path) {
            Some(Ok(seen)) => seen.kind == Kind::Folder,
            Some(Err(_)) | None => false,
        };
        for (path, looked) in &self.seen {
            // Below what is no folder there is nothing, as long as it is none.
            if let Some(folder) = path.parent().filter(|folder| is_folder(folder)) {
                let names = folders.entry(folder.to_owned()).or_default();
                names.push((path.clone(), looked.clone()));
            }
        }
        for folder in self.lists.keys().filter(|folder| is_folder(folder)) {
            folders.entry(folder.clone()).or_default();
        }
        let counted = self.counted.into_iter();
        let counted = counted.map(|path| Some((Seen::at(&path).ok()?.names, path)));
        let counted = counted.collect::<Option<Vec<_>>>()?;
        let folders = folders.into_iter().map(|(path, names)| {
            let itself = self.seen.get(&path)?.as_ref().ok()?.clone();
            let list = self.lists.remove(&path);
            Some(Folder {
                is_writable: writable.iter().any(|folder| path.starts_with(folder)),
                path,
                itself,
                names,
                list,
                looked_at: began,
            })
        });
        Some(Kept {
            folders: folders.collect::<Option<_>>()?,
            counted,
        })
    }
}

/// The names in a folder with few of them, read at once: which ones are certainly not there.
#[derive(Debug)]
pub struct Few(BTreeSet<Vec<u8>>);

/// Names of which one list costs less than a look at each name that is asked for.
const MAX_FEW: usize = 128;

impl Few {
    /// None where there are more, or where the system may find a name that is written otherwise.
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(folder).ok()? {
            let name = entry.ok()?.file_name();
            let name = name.as_encoded_bytes().to_ascii_lowercase();
            if names.len() == MAX_FEW || !name.is_ascii() {
                return None;
            }
            names.insert(name);
        }
        Some(Self(names))
    }

    pub fn may_have(&self, name: &OsStr) -> bool {
        self.0
            .contains(&name.as_encoded_bytes().to_ascii_lowercase())
    }
}

/// What was seen of one folder.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    itself: Seen,
    names: Vec<(PathBuf, Looked)>,
    list: Option<Listed>,
    looked_at: SystemTime,
    /// By commands.
    is_writable: bool,
}

/// All that a look saw, to be asked whether another one would see the same.
#[derive(Debug)]
pub struct Kept {
    /// Outer ones first.
    folders: Vec<Folder>,
    counted: Vec<(u64, PathBuf)>,
}

impl Kept {
    /// Whether all is as it was seen. Mounts are not looked for.
    pub fn holds(&mut self) -> bool {
        let now = SystemTime::now();
        self.folders.iter_mut().all(|folder| folder.holds(now))
            && self
                .counted
                .iter()
                .all(|(names, path)| Seen::at(path).is_ok_and(|seen| seen.names == *names))
    }
}

impl Folder {
    fn holds(&mut self, now: SystemTime) -> bool {
        let found = Seen::at(&self.path);
        let Ok(itself) = found else {
            return false;
        };
        let same = (&itself.kind, itself.device, itself.inode)
            == (&self.itself.kind, self.itself.device, self.itself.inode);
        if !same {
            return false;
        }
        let is_settled = itself
            .changed
            .checked_add(COARSE)
            .is_some_and(|after| after < self.looked_at);
        if is_settled && !self.is_writable && itself.changed == self.itself.changed {
            return true;
        }
        let missing = |(_, looked): &&(PathBuf, Looked)| matches!(looked, Err(NO_ENTRY));
        let many = self.names.iter().filter(missing).count() >= MANY_MISSING;
        let few = many.then(|| Few::in_folder(&self.path)).flatten();
        let mut names = self.names.iter();
        let is_still_missing = |path: &Path| {
            let name = path.file_name();
            few.as_ref()
                .zip(name)
                .is_some_and(|(few, name)| !few.may_have(name))
        };
        let holds = names.all(|(path, looked)| match looked {
            Err(NO_ENTRY) if is_still_missing(path) => true,
            looked => is_same(looked, &Seen::at(path)),
        }) && self.list.iter().all(|listed| *listed == list(&self.path));
        if holds {
            self.itself = itself;
            self.looked_at = now;
        }
        holds
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::write(top.join("a/file"), "").unwrap();
        symlink("a/b", top.join("link")).unwrap();
        symlink(top.join("link/c"), top.join("far")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        symlink("nowhere", top.join("dead")).unwrap();
        (dir, top)
    }

    #[test]
    fn paths_lead_where_the_system_leads_them() {
        let (_dir, top) = tree();
        let paths = [
            "",
            "a",
            "a/b/c",
            "link",
            "link/c",
            "link/../file",
            "link/..",
            "far",
            "far/x",
            "a/file",
            "a/file/x",
            "loop",
            "loop/x",
            "dead",
            "dead/x",
            "none",
            "none/x",
            "a/./b",
            "a/../a/b",
        ];
        at_once(|| {
            for name in paths.iter().chain(&paths) {
                let path = top.join(name);
                let (ours, theirs) = (canonicalize(&path).ok(), fs::canonicalize(&path).ok());
                assert_eq!(ours, theirs, "{name}");
                assert_eq!(exists(&path), path.exists(), "{name}");
                assert_eq!(is_folder(&path), path.is_dir(), "{name}");
                assert_eq!(is_file(&path), path.is_file(), "{name}");
                assert_eq!(is_link(&path), path.is_symlink(), "{name}");
            }
        });
    }

    #[test]
    fn each_name_is_looked_up_once() {
        let (_dir, top) = tree();
        let ((), sight) = recorded(|| {
            for _ in 0..100 {
                canonicalize(&top.join("far")).unwrap();
                canonicalize(&top.join("a/file")).unwrap();
                assert!(canonicalize(&top.join("none")).is_err());
            }
            fs::write(top.join("none"), "").unwrap();
            assert!(!exists(&top.join("none")), "it is the same moment");
        });
        let above = top.ancestors().count() - 1;
        // far, link, a, a/b, a/b/c, a/file, none.
        assert_eq!(sight.seen.len(), above + 7);
        assert!(exists(&top.join("none")));
    }

    #[test]
    fn whatever_would_be_seen_otherwise_is_noticed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 12] = [
            ("a missing name appears", |top| {
                fs::write(top.join("none"), "").unwrap()
            }),
            ("a link instead", |top| {
                symlink("a", top.join("none")).unwrap()
            }),
            ("a file goes", |top| {
                fs::remove_file(top.join("a/file")).unwrap()
            }),
            ("a file is replaced", |top| {
                fs::write(top.join("a/new"), "").unwrap();
                fs::rename(top.join("a/new"), top.join("a/file")).unwrap();
            }),
            ("a link is turned", |top| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("a", top.join("link")).unwrap();
            }),
            ("a folder above is exchanged", |top| {
                fs::rename(top.join("a"), top.join("moved")).unwrap();
                fs::create_dir_all(top.join("a/b/c")).unwrap();
                fs::write(top.join("a/file"), "").unwrap();
            }),
            ("a folder becomes a link to itself", |top| {
                fs::rename(top.join("a"), top.join("moved")).unwrap();
                symlink("moved", top.join("a")).unwrap();
            }),
            ("a listed folder gets a name", |top| {
                fs::write(top.join("a/b/c/x"), "").unwrap();
            }),
            ("a name is linked again", |top| {
                fs::hard_link(top.join("a/file"), top.join("other")).unwrap();
            }),
            ("a deep folder goes", |top| {
                fs::remove_dir(top.join("a/b/c")).unwrap()
            }),
            ("a dead link leads somewhere", |top| {
                fs::create_dir(top.join("nowhere")).unwrap();
            }),
            ("all goes", |top| fs::remove_dir_all(top.join("a")).unwrap()),
        ];
        // Young folders, those that are old enough for their times to be believed, and those that commands write in.
        for (later, writable) in [(false, false), (true, false), (true, true)] {
            for (what, change) in changes {
                let (_dir, top) = tree();
                let began = match later {
                    true => SystemTime::now() + COARSE * 2,
                    false => SystemTime::now(),
                };
                let writable = writable.then(|| top.clone());
                let ((), sight) = recorded(|| {
                    let _ = (exists(&top.join("none")), exists(&top.join("dead")));
                    canonicalize(&top.join("far")).unwrap();
                    count_names(&top.join("a/file")).unwrap();
                    assert_eq!(entries(&top.join("a/b/c")).unwrap().len(), 0);
                });
                let mut kept = sight.keep(began, writable.as_slice()).unwrap();
                assert!(kept.holds() && kept.holds());
                // Neither of them was looked at.
                fs::write(top.join("unknown"), "").unwrap();
                fs::write(top.join("a/file"), "more").unwrap();
                assert!(kept.holds(), "{what}");
                change(&top);
                assert!(!kept.holds(), "{what}, {later}, {writable:?}");
            }
        }
    }

    #[test]
    fn what_was_exchanged_during_the_look_is_not_kept() {
        let (_dir, top) = tree();
        let file = top.join("a/file");
        let ((), sight) = recorded(|| {
            let seen = look(&file).unwrap();
            opened(&file, seen.clone());
            opened(
                &file,
                Seen {
                    inode: seen.inode + 1,
                    ..seen
                },
            );
        });
        assert!(sight.keep(SystemTime::now(), &[]).is_none());
    }
}
