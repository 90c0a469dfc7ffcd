//! The state before commands, written down while they run: one file for each session that runs something, locked as long
//! as it does. A second session in the same folder takes over the first one's state instead of what a running command has
//! made of it, and a file that nobody has locked is what a session left behind that was killed.

use super::watch::{Kept, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Held by whoever begins, so that two sessions do not begin at the same moment.
const LOCK: &str = "lock";
const SUFFIX: &str = "state";
/// The first bytes of a file, with its version.
const MAGIC: &[u8] = b"ostler state 1\n";
/// Most records that are looked at, and most bytes of one.
const MAX_RECORDS: usize = 1024;
const MAX_BYTES: u64 = 64 << 20;
/// Most bytes of a file that is kept.
const MAX_KEPT: u64 = 1 << 20;

/// Tells the records of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The folder of all records, which no command can reach.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

/// A record of ours. It is removed when it is dropped, which is to be when nothing runs any more and all was looked at.
#[derive(Debug)]
pub struct Record {
    file: File,
    path: PathBuf,
    stays: AtomicBool,
}

/// What one session wrote down.
#[derive(Debug)]
pub struct Written {
    /// The project, and which folder it is.
    pub tree: PathBuf,
    id: (u64, u64),
    /// Since when something runs there.
    pub since: SystemTime,
    pub watch: Watch,
}

/// What others have written down of a folder.
#[derive(Debug, Default)]
pub struct Others {
    /// Sessions that run something now.
    pub live: Vec<Written>,
    /// Sessions that were killed, with their files, which are to be removed once all was put back.
    pub dead: Vec<(Written, Leftover)>,
}

/// A file that was put back.
#[derive(Debug)]
pub struct PutBack {
    pub path: PathBuf,
    /// As it was changed.
    pub kept: Option<PathBuf>,
    pub done: bool,
}

/// Whether the session of a record runs.
enum State {
    Live,
    Dead(Leftover),
}

/// The file of a session that was killed. Nobody else takes it meanwhile.
#[derive(Debug)]
pub struct Leftover {
    _file: File,
    path: PathBuf,
}

/// As long as it is there, no other session begins.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

impl Records {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Waits until no other session is beginning.
    pub fn turn(&self) -> io::Result<Turn> {
        ostler_files::private_dir(&self.folder)?;
        let file = open(&self.folder.join(LOCK))?;
        file.lock()?;
        Ok(Turn { _lock: file })
    }

    /// What others have written down of this folder, of folders in it, and of those that hold it. `own` are not others.
    pub fn others(&self, tree: &Path, own: &BTreeSet<PathBuf>, turn: &Turn) -> Others {
        let mut others = Others::default();
        for (written, state) in self.all(own, turn) {
            if !written.is_about(tree) {
                continue;
            }
            match state {
                State::Live => others.live.push(written),
                State::Dead(leftover) => others.dead.push((written, leftover)),
            }
        }
        others
    }

    /// What sessions that run something now have written down, of any folder.
    pub fn live(&self, own: &BTreeSet<PathBuf>, turn: &Turn) -> Vec<Written> {
        let all = self.all(own, turn).into_iter();
        all.filter(|(_, state)| matches!(state, State::Live))
            .map(|(written, _)| written)
            .collect()
    }

    fn all(&self, own: &BTreeSet<PathBuf>, _turn: &Turn) -> Vec<(Written, State)> {
        let mut all = Vec::new();
        for path in self.paths().take(MAX_RECORDS) {
            if own.contains(&path) {
                continue;
            }
            let Ok(mut file) = open(&path) else {
                continue;
            };
            let is_live = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            let Some(written) = read(&mut file) else {
                // It was cut short: its session was killed before the command began.
                if !is_live {
                    let _ = fs::remove_file(&path);
                }
                continue;
            };
            let state = match is_live {
                true => State::Live,
                false => State::Dead(Leftover { _file: file, path }),
            };
            all.push((written, state));
        }
        all
    }

    /// Whether a session runs something now that may change files, in whatever folder and process.
    pub fn is_any_live(&self, _turn: &Turn) -> bool {
        // One that cannot be looked at may be in use.
        let is_live = |path| match File::open(path).map(|file| file.try_lock()) {
            Ok(Ok(())) => false,
            Ok(Err(_)) => true,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        self.paths().any(is_live)
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension() == Some(OsStr::new(SUFFIX)))
    }

    /// Whether a session that was killed left something to put back in this folder.
    pub fn has_leftovers(&self, tree: &Path) -> bool {
        if self.paths().next().is_none() {
            return false;
        }
        let Ok(turn) = self.turn() else {
            return false;
        };
        !self.others(tree, &BTreeSet::new(), &turn).dead.is_empty()
    }

    /// Puts back the files of this folder that commands of a killed session changed, before anything of the folder is read.
    /// What was there is kept beside the records. The records stay: repositories are looked at by the session that begins.
    pub fn put_back(&self, tree: &Path) -> Vec<PutBack> {
        if !self.has_leftovers(tree) {
            return Vec::new();
        }
        let Ok(turn) = self.turn() else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (mut written, _leftover) in self.others(tree, &BTreeSet::new(), &turn).dead {
            let changed = written.watch.changed();
            let kept: Vec<(PathBuf, PathBuf)> = changed
                .into_iter()
                .filter_map(|path| Some((self.keep(&path).ok()??, path)))
                .collect();
            for change in written.watch.undo() {
                let kept = kept.iter().find(|(_, path)| *path == change.path);
                all.push(PutBack {
                    kept: kept.map(|(kept, _)| kept.clone()),
                    done: change.undone.is_ok(),
                    path: change.path,
                });
            }
        }
        all
    }

    /// A copy of a file, or nothing if it is none or too large.
    fn keep(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file() || meta.len() > MAX_KEPT {
            return Ok(None);
        }
        let kept = self.folder.join(format!("{}.kept", unique()));
        let mut file = open(&kept)?;
        file.write_all(&ostler_files::read_whole(path, meta.len())?)?;
        Ok(Some(kept))
    }

    /// Writes down what was there before.
    pub fn write(
        &self,
        tree: &Path,
        since: SystemTime,
        watch: &Watch,
        _turn: &Turn,
    ) -> io::Result<Record> {
        let name = format!("{}.{SUFFIX}", unique());
        let path = self.folder.join(name);
        let mut file = open(&path)?;
        file.try_lock()?;
        let id = fs::metadata(tree).map_or((0, 0), |meta| (meta.dev(), meta.ino()));
        file.write_all(&bytes(tree, id, since, watch))?;
        Ok(Record {
            file,
            path,
            stays: AtomicBool::new(false),
        })
    }
}

impl Record {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Not everything was looked at: the file stays when this is dropped, and the next session does the rest.
    pub fn leave(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Writes it down again, as it is now.
    pub fn update(&self, tree: &Path, since: SystemTime, watch: &Watch) -> io::Result<()> {
        let id = fs::metadata(tree).map_or((0, 0), |meta| (meta.dev(), meta.ino()));
        let bytes = bytes(tree, id, since, watch);
        let mut file = &self.file;
        file.rewind()?;
        file.write_all(&bytes)?;
        file.set_len(bytes.len() as u64)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.stays.load(Ordering::Relaxed) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Leftover {
    /// All of it was put back.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Written {
    fn is_about(&self, tree: &Path) -> bool {
        let real = fs::canonicalize(tree).unwrap_or_else(|_| tree.to_owned());
        let is_same = fs::metadata(tree).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.id);
        is_same || real.starts_with(&self.tree) || self.tree.starts_with(&real)
    }
}

/// A name that no other process has. Numbers of processes come again, and what a dead one left is not to be lost.
fn unique() -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("{}-{now}-{number}", std::process::id())
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}

fn bytes(tree: &Path, id: (u64, u64), since: SystemTime, watch: &Watch) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    let real = fs::canonicalize(tree).unwrap_or_else(|_| tree.to_owned());
    let since = since.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    out.path(&real);
    out.number(id.0);
    out.number(id.1);
    out.number(since.as_secs());
    out.number(u64::from(since.subsec_nanos()));
    let Watch {
        before,
        roots,
        links,
        open: _,
        partial,
    } = watch;
    out.number(partial.len() as u64);
    for path in partial {
        out.path(path);
    }
    out.number(roots.len() as u64);
    for (root, place) in roots {
        out.path(root);
        out.path(place);
    }
    out.number(links.len() as u64);
    for (link, target) in links {
        out.path(link);
        out.path(target);
    }
    out.number(before.len() as u64);
    for (path, kept) in before {
        out.path(path);
        match kept {
            Kept::File { bytes, mode } => {
                out.number(0);
                out.number(u64::from(*mode));
                out.text(bytes);
            }
            Kept::Folder => out.number(1),
            Kept::Link(target) => {
                out.number(2);
                out.path(target);
            }
            Kept::Other => out.number(3),
            Kept::Unread(stamp) => {
                out.number(4);
                stamp.iter().for_each(|part| out.number(*part));
            }
        }
    }
    // What has no end was cut short.
    out.text(MAGIC);
    out.0
}

fn read(file: &mut File) -> Option<Written> {
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let mut from = Reader(bytes.strip_prefix(MAGIC)?);
    let tree = from.path()?;
    let id = (from.number()?, from.number()?);
    let since = Duration::new(from.number()?, u32::try_from(from.number()?).ok()?);
    let mut partial = BTreeSet::new();
    for _ in 0..from.number()? {
        partial.insert(from.path()?);
    }
    let mut roots = Vec::new();
    for _ in 0..from.number()? {
        roots.push((from.path()?, from.path()?));
    }
    let mut links = BTreeMap::new();
    for _ in 0..from.number()? {
        links.insert(from.path()?, from.path()?);
    }
    let mut before = BTreeMap::new();
    for _ in 0..from.number()? {
        let path = from.path()?;
        let kept = match from.number()? {
            0 => Kept::File {
                mode: u32::try_from(from.number()?).ok()?,
                bytes: from.text()?.to_vec(),
            },
            1 => Kept::Folder,
            2 => Kept::Link(from.path()?),
            3 => Kept::Other,
            4 => Kept::Unread([
                from.number()?,
                from.number()?,
                from.number()?,
                from.number()?,
            ]),
            _ => return None,
        };
        before.insert(path, kept);
    }
    (from.text()? == MAGIC).then_some(())?;
    Some(Written {
        tree,
        id,
        since: SystemTime::UNIX_EPOCH.checked_add(since)?,
        watch: Watch {
            before,
            roots,
            links,
            open: BTreeSet::new(),
            partial,
        },
    })
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend(text);
    }

    fn path(&mut self, path: &Path) {
        self.text(path.as_os_str().as_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsStr::from_bytes(self.text()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        SystemTime::now()
    }

    /// What one session wrote down is what the next reads: as live while it is held, as dead when its process was killed.
    #[test]
    fn a_state_outlives_its_session() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let tree = top.join("tree");
        fs::create_dir_all(tree.join("hooks/x")).unwrap();
        fs::write(tree.join("hooks/a"), "mine\0").unwrap();
        std::os::unix::fs::symlink("hooks", tree.join("link")).unwrap();
        let records = Records::new(top.join("records"));
        let roots = ["hooks", "link", "none"].map(|name| tree.join(name));
        let mut watch = Watch::new(&roots);
        let none = BTreeSet::new();
        let others = |tree: &Path, own: &BTreeSet<PathBuf>| {
            let turn = records.turn().unwrap();
            records.others(tree, own, &turn)
        };
        let since = now();
        let turn = records.turn().unwrap();
        let record = records.write(&tree, since, &watch, &turn).unwrap();
        drop(turn);
        // Everything that a hostile command does meanwhile.
        fs::write(tree.join("hooks/a"), "evil").unwrap();
        fs::write(tree.join("none"), "evil").unwrap();
        fs::remove_file(tree.join("link")).unwrap();
        let found = others(&tree, &none);
        assert_eq!((found.live.len(), found.dead.len()), (1, 0));
        assert_eq!(found.live[0].since, since);
        assert_eq!(others(&tree.join("hooks"), &none).live.len(), 1);
        assert_eq!(others(&top, &none).live.len(), 1);
        assert_eq!(others(&top.join("other"), &none).live.len(), 0);
        assert_eq!(
            others(&tree, &[record.path().to_owned()].into()).live.len(),
            0
        );
        // A second session begins with what the first one had.
        let mut second = Watch::new(&roots);
        assert_eq!(second.changed(), [] as [PathBuf; 0]);
        second.take_over(&found.live[0].watch);
        assert_eq!(second.changed().len(), 3);
        assert_eq!(watch.undo().len(), 3);
        assert_eq!(second.undo().len(), 0);
        // Killed: the lock goes, the file stays.
        fs::write(tree.join("none"), "evil").unwrap();
        let path = record.path().to_owned();
        let kept = fs::read(&path).unwrap();
        drop(record);
        assert!(!path.exists());
        fs::write(&path, &kept).unwrap();
        let mut found = others(&tree, &none);
        let (mut written, leftover) = found.dead.pop().unwrap();
        assert_eq!(written.watch.undo().len(), 1);
        assert!(!tree.join("none").exists());
        leftover.remove();
        assert!(others(&tree, &none).dead.is_empty());
        // One that was cut short is no state.
        fs::write(&path, &kept[..kept.len() - 1]).unwrap();
        assert!(others(&tree, &none).dead.is_empty());
        assert!(!path.exists());
    }
}
