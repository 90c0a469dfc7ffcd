//! Writing small files so that a crash leaves the old or the new one, never half of either.

use ostler_wire::{Why, Word};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::paths::is_inside;
use tempfile::NamedTempFile;

/// How long another process may take to write its change.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Held while small files are read and written back; dropping it lets others go on.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing it is what it is for")] File);

/// Waits until no other process changes configuration or trust. One lock for all of a home: changes are rare, and a
/// project's folder gets no file of ours for it.
pub fn lock(home: &Path) -> io::Result<Lock> {
    ostler_files::private_dir(home)?;
    let file = ostler_files::private_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(home.join("config.lock"))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            // Some network file systems have no locks.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                return Ok(Lock(file));
            }
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => {
                thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other(Why::from(Word::CfgLocked)));
            }
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
}

/// What tells a file from its next version without reading it; None when it is not there.
pub type Stamp = Option<(SystemTime, u64)>;

pub fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Who may read a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// What the file had before, or what is usual for a new one.
    AsBefore,
    /// The owner alone.
    Private,
}

/// What a file gets by where it lies: in our own home it is the person's alone.
pub fn access_in(home: &Path, path: &Path) -> Access {
    match is_inside(path, home) {
        true => Access::Private,
        false => Access::AsBefore,
    }
}

/// Replaces a file, making its directory. A link stays a link: what it points to is replaced.
pub fn write(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or(Path::new("."));
    match access {
        Access::Private => ostler_files::private_dir(directory)?,
        Access::AsBefore => fs::create_dir_all(directory)?,
    }
    // Temporary files are private from the start.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    match access {
        Access::Private => {}
        Access::AsBefore => {
            let permissions = match target.metadata() {
                Ok(metadata) => metadata.permissions(),
                Err(_) => usual_permissions(directory)?,
            };
            file.as_file().set_permissions(permissions)?;
        }
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Writes what somebody said to a session into a file that the person named: for the owner alone, and never through a link,
/// which a repository could have put there.
pub fn write_document(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(io::Error::other(Why::from(Word::IsLink)));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs::create_dir_all(directory)?;
    // Temporary files are private from the start, and what is renamed replaces a link that came meanwhile.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a file for the owner alone that must not be there yet.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        ostler_files::private_dir(directory)?;
    }
    let mut options = ostler_files::private_options();
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What the system gives a new file: only making one tells.
fn usual_permissions(directory: &Path) -> io::Result<fs::Permissions> {
    let probe = tempfile::Builder::new().make_in(directory, |path| File::create_new(path))?;
    Ok(probe.as_file().metadata()?.permissions())
}
