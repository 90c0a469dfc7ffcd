//! A folder of facts on disk: what lies in it, and every change to it. A change is one rename, made under a lock, with what
//! was there before kept beside it. What a person put there and cannot be read is left alone.

use super::MemoryError;
use super::fact::{self, Fact, Fault, MAX_FILE, Place};
use ostler_wire::Why;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Facts of one folder; what more lies there is left out, and no more are made.
pub const MAX_FACTS: usize = 10_000;
/// Names that are looked at in one folder.
const MAX_NAMES: usize = 4 * MAX_FACTS;
/// Revisions of one fact that are kept.
const MAX_REVISIONS: usize = 200;
/// How long another process may take to write its change.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// What changed a moment ago may change again without a sign: clocks of file systems are coarse.
const SETTLED: Duration = Duration::from_millis(100);

const EXTENSION: &str = "md";
const ARCHIVE: &str = ".archive";
const HISTORY: &str = ".history";
const LOCK: &str = ".lock";
/// Of files that are being written. Those of a process that was killed are swept by the next one.
const NEW: &str = ".new-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactFolder {
    dir: PathBuf,
    pub place: Place,
}

/// What tells a file from its next version without reading it. Zero is never equal to anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub modified: u64,
    pub len: u64,
}

impl Stamp {
    pub fn is_known(self) -> bool {
        self.modified != 0
    }
}

/// A file of the folder that may be a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub file: String,
    pub stamp: Stamp,
    pub fault: Option<Fault>,
}

/// Held while something is changed.
pub struct Lock(#[expect(dead_code, reason = "closing it is what it is for")] File);

impl FactFolder {
    /// `folder` holds all of them; `name` is that of the project, or `global`.
    pub fn new(folder: &Path, name: &str, place: Place) -> Self {
        Self {
            dir: folder.join(name),
            place,
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// When something was added to the folder or taken out of it; nothing when it is not there.
    pub fn stamp(&self) -> io::Result<Option<u64>> {
        match fs::metadata(&self.dir) {
            Ok(meta) => Ok(Some(settled(meta.modified().ok()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// What lies in it, by name, and how many more do.
    pub fn list(&self) -> io::Result<(Vec<Listed>, usize)> {
        self.list_in(&self.dir)
    }

    pub fn list_archived(&self) -> io::Result<Vec<Listed>> {
        self.list_in(&self.dir.join(ARCHIVE))
            .map(|(listed, _)| listed)
    }

    fn list_in(&self, dir: &Path) -> io::Result<(Vec<Listed>, usize)> {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(e) => return Err(e),
        };
        let mut out = Vec::new();
        for entry in entries.take(MAX_NAMES) {
            let entry = entry?;
            let name = entry.file_name();
            let Some(file) = name.to_str().filter(|name| is_fact_file(name)) else {
                continue;
            };
            // Gone meanwhile.
            let Ok(meta) = entry.metadata() else { continue };
            let fault = match meta.file_type() {
                kind if kind.is_symlink() => Some(Fault::Link),
                kind if !kind.is_file() => Some(Fault::NotFile),
                _ if meta.len() > MAX_FILE => Some(Fault::Large(meta.len())),
                _ => None,
            };
            out.push(Listed {
                file: file.to_owned(),
                stamp: Stamp {
                    modified: settled(meta.modified().ok()),
                    len: meta.len(),
                },
                fault,
            });
        }
        out.sort_unstable_by(|a, b| a.file.cmp(&b.file));
        let surplus = out.len().saturating_sub(MAX_FACTS);
        out.truncate(MAX_FACTS);
        Ok((out, surplus))
    }

    pub fn stamp_of(&self, file: &str) -> Option<Stamp> {
        let meta = fs::symlink_metadata(self.path(file)).ok()?;
        Some(Stamp {
            modified: settled(meta.modified().ok()),
            len: meta.len(),
        })
    }

    pub fn read(&self, file: &str) -> Result<(Fact, Vec<u8>), Fault> {
        self.read_at(&self.path(file))
    }

    pub fn read_archived(&self, file: &str) -> Result<(Fact, Vec<u8>), Fault> {
        self.read_at(&self.dir.join(ARCHIVE).join(file))
    }

    fn read_at(&self, path: &Path) -> Result<(Fact, Vec<u8>), Fault> {
        let unread = |e: io::Error| Fault::Unread(Why::from(&e));
        let meta = fs::symlink_metadata(path).map_err(unread)?;
        if meta.is_symlink() {
            return Err(Fault::Link);
        }
        if !meta.is_file() {
            return Err(Fault::NotFile);
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unread)?;
        file.take(MAX_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(unread)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(Fault::Large(meta.len()));
        }
        let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let fact = fact::parse(stem, &bytes, self.place)?;
        Ok((fact, bytes))
    }

    /// Waits until no other process changes what is remembered. The folder is made with the first fact.
    pub fn lock(&self) -> Result<Lock, MemoryError> {
        let fail = |source| MemoryError::Write {
            path: self.dir.clone(),
            source,
        };
        ostler_files::private_dir(&self.dir).map_err(fail)?;
        let above = self.dir.parent().unwrap_or(&self.dir);
        let open = ostler_files::private_options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(above.join(LOCK));
        let file = open.map_err(fail)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Some network file systems have no locks.
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(MemoryError::Busy),
                Err(TryLockError::Error(e)) => return Err(fail(e)),
            }
        }
        self.sweep();
        Ok(Lock(file))
    }

    /// What a killed process left half written.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(NEW) {
                // It is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Writes a new fact into a file that nobody has. Its name.
    pub fn create(&self, fact: &Fact, _: &Lock) -> Result<String, MemoryError> {
        let file = free_name(&self.dir, &fact::slug(&fact.name));
        self.put(&self.path(&file), &fact::render(fact, None))?;
        Ok(file)
    }

    /// Replaces a fact by its next revision; the bytes of the one before are kept.
    pub fn revise(
        &self,
        file: &str,
        (before, bytes): (&Fact, &[u8]),
        fact: &Fact,
        _: &Lock,
    ) -> Result<(), MemoryError> {
        self.keep(before, bytes)?;
        self.put(&self.path(file), &fact::render(fact, Some(bytes)))
    }

    fn keep(&self, fact: &Fact, bytes: &[u8]) -> Result<(), MemoryError> {
        let dir = self.dir.join(HISTORY).join(&fact.id);
        let fail = |path: &Path, source| MemoryError::Write {
            path: path.to_owned(),
            source,
        };
        ostler_files::private_dir(&dir).map_err(|e| fail(&dir, e))?;
        self.put(&dir.join(format!("{}.{EXTENSION}", fact.version())), bytes)?;
        let mut kept: Vec<(SystemTime, PathBuf)> = fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        kept.sort_unstable();
        let over = kept.len().saturating_sub(MAX_REVISIONS);
        for (_, path) in kept.into_iter().take(over) {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// Out of what is found, as it is.
    pub fn archive(&self, file: &str, _: &Lock) -> Result<(), MemoryError> {
        let to = self.dir.join(ARCHIVE);
        self.carry(&self.path(file), &to, file)
    }

    pub fn restore(&self, file: &str, _: &Lock) -> Result<(), MemoryError> {
        let from = self.dir.join(ARCHIVE).join(file);
        self.carry(&from, &self.dir, file)
    }

    fn carry(&self, from: &Path, to: &Path, file: &str) -> Result<(), MemoryError> {
        let fail = |source| MemoryError::Write {
            path: from.to_owned(),
            source,
        };
        ostler_files::private_dir(to).map_err(fail)?;
        let stem = file.strip_suffix(".md").unwrap_or(file);
        fs::rename(from, to.join(free_name(to, stem))).map_err(fail)
    }

    /// The old file or the new one, never half of either.
    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), MemoryError> {
        let fail = |source| MemoryError::Write {
            path: path.to_owned(),
            source,
        };
        // In the folder itself, where the sweep finds it; the history lies on the same disk.
        let mut file = tempfile::Builder::new()
            .prefix(NEW)
            .tempfile_in(&self.dir)
            .map_err(fail)?;
        file.write_all(bytes).map_err(fail)?;
        file.as_file().sync_all().map_err(fail)?;
        if let Ok(meta) = fs::metadata(path) {
            // A file that a person lets others read stays so.
            let _ = file.as_file().set_permissions(meta.permissions());
        }
        file.persist(path).map_err(|e| fail(e.error))?;
        Ok(())
    }
}

fn is_fact_file(name: &str) -> bool {
    let path = Path::new(name);
    !name.starts_with('.') && path.extension() == Some(OsStr::new(EXTENSION))
}

fn free_name(dir: &Path, stem: &str) -> String {
    let names = std::iter::once(format!("{stem}.{EXTENSION}"))
        .chain((2..).map(|n| format!("{stem}-{n}.{EXTENSION}")));
    let mut names = names.take(MAX_NAMES);
    let free = names.find(|name| fs::symlink_metadata(dir.join(name)).is_err());
    free.unwrap_or_else(|| format!("{}.{EXTENSION}", uuid::Uuid::new_v4()))
}

/// Nanoseconds; zero while a change may go unseen.
fn settled(modified: Option<SystemTime>) -> u64 {
    let Some(modified) = modified else { return 0 };
    let age = SystemTime::now().duration_since(modified);
    if age.is_ok_and(|age| age < SETTLED) {
        return 0;
    }
    let since = modified.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(1))
}
