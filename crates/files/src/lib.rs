//! Files of this machine, blocking, and the border that says which of them may be read. Reading and listing happen by descriptor (`opened`, or `by_path` elsewhere);
//! changing files is `unix` (relative to directory handles, so that no symlink can be slipped in between check and use) or
//! `plain` elsewhere.

mod account;
pub mod border;
#[cfg(not(unix))]
mod by_path;
#[cfg(unix)]
mod dir;
#[cfg(not(unix))]
mod dir_by_path;
mod error;
pub mod git_file;
pub mod git_settings;
mod glob;
mod links;
#[cfg(unix)]
mod names;
#[cfg(unix)]
mod opened;
#[cfg(not(unix))]
mod plain;
mod private;
pub mod protected;
pub mod raw;
mod resolve;
mod scratch;
pub mod sight;
#[cfg(test)]
mod tests;
mod types;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use by_path as opened;
#[cfg(not(unix))]
use dir_by_path as dir;
#[cfg(not(unix))]
use plain as system;
#[cfg(unix)]
use unix as system;

pub use account::{account_home, closed_to_others};
pub use border::{Ban, Beyond, Border, Depth, Judgement, Pattern, Place, is_below};
pub use dir::{Dir, Found, Name, open_plain, set_file_mode};
pub use error::{Error, Result};
pub use git_settings::{GitSettings, SettingsFile};
pub use glob::matches as glob_matches;
pub use opened::{Opened, TreeReader, admit, open_file};
pub use private::{mode_of, private_dir, private_options, tighten};
pub use protected::Protected;
pub use resolve::Followed;
pub use scratch::Scratch;
#[cfg(unix)]
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
pub use system::{may_write, open_to_read, rename, write};
pub use types::{
    Content, Entry, Kind, Listing, RenameOptions, Renamed, Roots, Span, Stat, WriteOptions, Written,
};

/// Names looked at in one folder before the rest is left out.
const MAX_SCANNED: usize = 100_000;
/// Memory set aside at once for a file's bytes; the rest grows as they come.
const FIRST_RESERVE: u64 = 1 << 20;

/// A regular file of at most so many bytes. It waits for no pipe that a command has put there, and follows no link.
pub fn read_small(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_to_read(path).ok()?;
    file.metadata().ok().filter(Metadata::is_file)?;
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// All bytes of a regular file. It follows no link at its end, waits for no pipe, and refuses what is longer.
pub fn read_whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_to_read(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    io::Read::take(file, most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

pub fn stat(path: &Path) -> Result<Stat> {
    let path = resolve::follow(path)?;
    match std::fs::symlink_metadata(&path) {
        Ok(meta) => Ok(describe(path, &meta)),
        Err(error) if absent(&error) => Ok(Stat {
            path,
            kind: Kind::Missing,
            len: 0,
            modified: None,
            mode: None,
        }),
        Err(error) => Err(cannot_read(&path, error)),
    }
}

pub fn read(path: &Path, span: Span, border: &Border) -> Result<Content> {
    let Opened { mut file, path } = opened::open_file(path, border)?;
    let fail = |error| cannot_read(&path, error);
    let mut stat = describe(path.clone(), &file.metadata().map_err(fail)?);
    if span.offset > 0 {
        file.seek(SeekFrom::Start(span.offset)).map_err(fail)?;
    }
    let left = stat.len.saturating_sub(span.offset).min(span.max_bytes);
    let mut bytes = Vec::with_capacity(left.min(FIRST_RESERVE) as usize + 1);
    // One byte more than asked tells whether there is more; the length of /proc files says nothing.
    file.take(span.max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    let truncated = bytes.len() as u64 > span.max_bytes;
    stat.len = stat.len.max(span.offset.saturating_add(bytes.len() as u64));
    bytes.truncate(usize::try_from(span.max_bytes).unwrap_or(usize::MAX));
    Ok(Content {
        bytes: bytes.into(),
        truncated,
        stat,
    })
}

/// A regular file, of which at most `most` bytes are read. Everything that Ostler itself reads of a project goes through
/// here: a device, a pipe or a folder is an error, and nothing is waited for.
pub fn read_bounded(path: &Path, most: u64, border: &Border) -> Result<Content> {
    let span = Span {
        offset: 0,
        max_bytes: most,
    };
    read(path, span, border)
}

/// Most bytes of a file of certificates.
const MAX_CERTIFICATES: u64 = 16 << 20;

/// A file of certificates that a setting names: a regular one of ordinary size.
pub fn read_certificates(path: &Path) -> io::Result<Vec<u8>> {
    let read = read_bounded(path, MAX_CERTIFICATES, &Border::none()).map_err(io::Error::other)?;
    match read.truncated {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(read.bytes.to_vec()),
    }
}

/// The path without symlinks, parts that do not exist yet included. Only a hint: who opens it judges again.
pub fn real_path(path: &Path) -> PathBuf {
    resolve::follow(path).unwrap_or_else(|_| path.to_owned())
}

/// The same, with the symlinks on the way. A path that cannot be followed is taken as it is.
pub fn follow_links(path: &Path) -> Followed {
    resolve::follow_links(path).unwrap_or_else(|_| Followed {
        real: path.to_owned(),
        links: Vec::new(),
    })
}

/// What really lies at a path, if the border lets it pass.
pub fn look(path: &Path, border: &Border) -> Result<Kind> {
    opened::look(path, border)
}

/// A file whose reading never waits: what has nothing to say yet, such as the kernel's own log, is an error.
pub fn open_without_waiting(path: &Path) -> io::Result<std::fs::File> {
    system::open_without_waiting(path)
}

#[cfg(unix)]
pub fn list(path: &Path, max_entries: usize, border: &Border) -> Result<Listing> {
    let folder = opened::Folder::open(path, border)?;
    let mut names = folder.names(MAX_SCANNED + 1)?;
    let mut truncated = names.len() > MAX_SCANNED;
    names.truncate(MAX_SCANNED);
    names.sort();
    truncated |= names.len() > max_entries;
    names.truncate(max_entries);
    let entry = |name: OsString| {
        let found = folder.look(&name);
        Entry {
            kind: found.as_ref().map_or(Kind::Missing, unix::kind_of),
            len: found.map_or(0, |inode| u64::try_from(inode.st_size).unwrap_or(0)),
            name,
        }
    };
    Ok(Listing {
        entries: names.into_iter().map(entry).collect(),
        path: folder.path,
        truncated,
    })
}

#[cfg(not(unix))]
pub fn list(path: &Path, max_entries: usize, border: &Border) -> Result<Listing> {
    let folder = stat(path)?;
    by_path::admit(border, &folder.path)?;
    match folder.kind {
        Kind::Directory => {}
        Kind::Missing => return Err(Error::NotFound { path: folder.path }),
        Kind::File | Kind::Symlink | Kind::Other => {
            return Err(Error::NotDirectory { path: folder.path });
        }
    }
    let fail = |error| cannot_read(&folder.path, error);
    let mut found = Vec::new();
    let mut truncated = false;
    for entry in std::fs::read_dir(&folder.path).map_err(fail)? {
        if found.len() == MAX_SCANNED {
            truncated = true;
            break;
        }
        found.push(entry.map_err(fail)?);
    }
    found.sort_by_cached_key(std::fs::DirEntry::file_name);
    truncated |= found.len() > max_entries;
    found.truncate(max_entries);
    let entries = found
        .iter()
        .map(|entry| Entry {
            name: entry.file_name(),
            kind: entry.file_type().map_or(Kind::Missing, kind),
            len: entry.metadata().map_or(0, |meta| meta.len()),
        })
        .collect();
    Ok(Listing {
        path: folder.path,
        entries,
        truncated,
    })
}

/// Whether `target` (free of symlinks) may be changed, or the refusal. A folder goes with all that is in it.
fn confine(target: &Path, roots: &Roots) -> Result<()> {
    let path = || target.to_path_buf();
    // Roots are real paths. One that leads elsewhere by now was replaced by a link, perhaps by a command.
    let root = roots.writable.iter().find(|root| target.starts_with(root));
    let Some(root) = root.cloned() else {
        return Err(Error::Outside {
            path: path(),
            writable: roots.writable.clone(),
        });
    };
    for kept in &roots.reserved {
        let kept = resolve::follow(kept).unwrap_or_else(|_| kept.clone());
        if target.starts_with(&kept) || kept.starts_with(target) {
            return Err(Error::Reserved { path: path() });
        }
    }
    if roots.protected.binds(target) {
        return Err(Error::Protected { path: path() });
    }
    // A link that is moved is judged by what it leads to.
    let is_judged = |judged: &Vec<PathBuf>| {
        let leads_to = || resolve::follow(target).ok();
        judged.iter().any(|one| one == target)
            || leads_to().is_some_and(|real| real != target && judged.contains(&real))
    };
    if !roots.judged.as_ref().is_none_or(is_judged) {
        return Err(Error::Changed { path: path() });
    }
    // A root may be a single file, or one that is yet to be made.
    match target == root && root.is_dir() {
        true => Err(Error::IsDirectory { path: root }),
        false => Ok(()),
    }
}

/// Refuses what names no place on a file system.
fn check_path(path: &Path) -> Result<()> {
    match path.is_absolute() && !path.as_os_str().as_encoded_bytes().contains(&0) {
        true => Ok(()),
        false => Err(Error::BadPath {
            path: path.to_path_buf(),
        }),
    }
}

#[cfg(not(unix))]
fn regular(stat: &Stat) -> Result<()> {
    let path = stat.path.clone();
    match stat.kind {
        Kind::File => Ok(()),
        Kind::Missing => Err(Error::NotFound { path }),
        Kind::Directory => Err(Error::IsDirectory { path }),
        Kind::Other => Err(Error::NotRegular { path }),
        Kind::Symlink => Err(Error::Changed { path }),
    }
}

fn describe(path: PathBuf, meta: &Metadata) -> Stat {
    Stat {
        path,
        kind: kind(meta.file_type()),
        len: meta.len(),
        modified: meta.modified().ok(),
        mode: system::mode(meta),
    }
}

fn kind(file_type: FileType) -> Kind {
    if file_type.is_file() {
        Kind::File
    } else if file_type.is_dir() {
        Kind::Directory
    } else if file_type.is_symlink() {
        Kind::Symlink
    } else {
        Kind::Other
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn cannot_read(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NotFound { path },
        io::ErrorKind::PermissionDenied => Error::Forbidden { path, source },
        _ => Error::Read { path, source },
    }
}

fn cannot_write(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::Forbidden { path, source }
        }
        io::ErrorKind::AlreadyExists => Error::Exists { path },
        io::ErrorKind::IsADirectory => Error::IsDirectory { path },
        _ => Error::Write { path, source },
    }
}

#[cfg(all(test, unix))]
mod whole_file_tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "1234").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(read_whole(&at("file"), 4).unwrap(), b"1234");
        for (name, most) in [("file", 3), ("link", 4), ("pipe", 4), (".", 4), ("none", 4)] {
            assert!(read_whole(&at(name), most).is_err(), "{name}");
        }
        assert!(read_whole(Path::new("/dev/zero"), 4).is_err());
    }
}
