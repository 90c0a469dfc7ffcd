//! Folders that are held open by a descriptor. A name is looked at, read, made, renamed or removed in the very folder that
//! was opened, and no symlink is followed on the way: whoever exchanges a folder for a link meanwhile leads nobody elsewhere.

use crate::Kind;
use crate::raw::Mark;
use rustix::fs::{
    AtFlags, Dir as Stream, FileType, Mode, OFlags, Stat as Inode, fchmod, fstat, mkdirat, open,
    openat, readlinkat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// A folder, wherever its path leads by now.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

/// What lies under a name; a link is the thing itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub mark: Mark,
}

/// A name in a folder. The system may not tell its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub bytes: Vec<u8>,
    pub kind: Option<Kind>,
}

impl Dir {
    /// Opens a folder by an absolute path in which no part is a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let top = open("/", folder_flags(), Mode::empty())?;
        Ok(Self {
            fd: beneath(&top, below_top(path)?, folder_flags())?,
        })
    }

    /// A folder below this one; itself for the empty path.
    pub fn enter(&self, below: &[u8]) -> io::Result<Self> {
        Ok(Self {
            fd: beneath(&self.fd, below, folder_flags())?,
        })
    }

    /// The same. Folders that are missing are made.
    pub fn enter_or_make(&self, below: &[u8]) -> io::Result<Self> {
        let mut dir = self.enter(b"")?;
        for name in below.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            dir = match dir.enter(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => match dir.make_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    Ok(()) | Err(_) => dir.enter(name)?,
                },
                entered => entered?,
            };
        }
        Ok(dir)
    }

    /// The names in it, in the order of the system.
    pub fn names(&self) -> io::Result<Vec<Name>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.fd, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Stream::new(listed)? {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if bytes != b"." && bytes != b".." {
                names.push(Name {
                    bytes: bytes.to_vec(),
                    kind: known_kind(entry.file_type()),
                });
            }
        }
        Ok(names)
    }

    pub fn look(&self, name: &[u8]) -> io::Result<Found> {
        let inode = statat(&self.fd, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(describe(&inode))
    }

    /// What the folder itself is.
    pub fn look_at_itself(&self) -> io::Result<Found> {
        Ok(describe(&fstat(&self.fd)?))
    }

    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.fd, single(name)?, Vec::new())?.into_bytes())
    }

    /// Opens a file to read, without waiting at a fifo.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        Ok(openat(&self.fd, single(name)?, file_flags(), Mode::empty())?.into())
    }

    /// The bytes of a regular file that is not longer than this.
    pub fn read_file(&self, name: &[u8], most: u64) -> Option<Vec<u8>> {
        let file = self.open_file(name).ok()?;
        file.metadata().ok().filter(Metadata::is_file)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= most).then_some(bytes)
    }

    /// A file to write under a name that was free.
    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(openat(&self.fd, single(name)?, flags, mode)?.into())
    }

    pub fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o777);
        Ok(mkdirat(&self.fd, single(name)?, mode)?)
    }

    pub fn make_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(symlinkat(target, &self.fd, single(name)?)?)
    }

    /// Gives an entry another name in the same folder, in place of what has that name.
    pub fn rename(&self, name: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(renameat(&self.fd, single(name)?, &self.fd, single(to)?)?)
    }

    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(&self.fd, single(name)?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(&self.fd, single(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Sets the permission bits of the folder itself.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        set_mode_of(self.fd.as_fd(), Mode::from_raw_mode(mode as _))
    }
}

/// Sets the permission bits of an open file.
pub fn set_file_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(fchmod(file, Mode::from_raw_mode(mode as _))?)
}

/// Opens a file to read by an absolute path in which no part is a link, without waiting at a fifo.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let top = open("/", folder_flags(), Mode::empty())?;
    Ok(beneath(&top, below_top(path)?, file_flags())?.into())
}

/// What holds a folder without a right to list it, where the system has such a thing.
fn folder_flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    flags
}

fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens what lies below a folder. No part may be a link, nor lead up.
fn beneath(folder: &OwnedFd, below: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let path: &[u8] = if below.is_empty() { b"." } else { below };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(folder, path, flags, Mode::empty(), resolve) {
            // An old kernel, a filter that does not know the call, or a rename at the same moment.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    part_by_part(folder, below, flags)
}

fn part_by_part(folder: &OwnedFd, below: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut parts = below.split(|b| *b == b'/').filter(|part| !part.is_empty());
    let Some(mut name) = parts.next() else {
        return openat(folder, ".", flags, Mode::empty());
    };
    let mut held: Option<OwnedFd> = None;
    loop {
        if name == b".." {
            return Err(Errno::XDEV);
        }
        let at = held.as_ref().unwrap_or(folder).as_fd();
        let Some(next) = parts.next() else {
            return openat(at, name, flags, Mode::empty());
        };
        held = Some(openat(at, name, folder_flags(), Mode::empty())?);
        name = next;
    }
}

/// The path without its first slash. It is absolute and nothing in it leads up.
fn below_top(path: &Path) -> io::Result<&[u8]> {
    let is_plain = |part| !matches!(part, Component::ParentDir);
    match path.is_absolute() && path.components().all(is_plain) {
        true => {
            let bytes = path.as_os_str().as_bytes();
            let start = bytes.iter().position(|b| *b != b'/');
            Ok(start.map_or(&[][..], |start| bytes.get(start..).unwrap_or_default()))
        }
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// One name, and not a path that leads through other folders.
fn single(name: &[u8]) -> io::Result<&OsStr> {
    match name.is_empty() || name.contains(&b'/') || name == b".." || name == b"." {
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => Ok(OsStr::from_bytes(name)),
    }
}

#[cfg(target_os = "linux")]
fn set_mode_of(fd: BorrowedFd<'_>, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // The descriptor only names the folder, so it takes another way to change it; this one leads nowhere else.
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    match rustix::fs::chmod(path, mode) {
        Err(Errno::NOENT) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(fchmod(openat(fd, ".", flags, Mode::empty())?, mode)?)
        }
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn set_mode_of(fd: BorrowedFd<'_>, mode: Mode) -> io::Result<()> {
    Ok(fchmod(fd, mode)?)
}

fn known_kind(file_type: FileType) -> Option<Kind> {
    match file_type {
        FileType::Unknown => None,
        known => Some(kind(known)),
    }
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    }
}

// The types of these fields differ between systems.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
fn describe(inode: &Inode) -> Found {
    let nanos = |seconds: i64, nanos: i64| {
        let seconds = seconds.saturating_mul(1_000_000_000);
        seconds.saturating_add(nanos)
    };
    Found {
        kind: kind(FileType::from_raw_mode(inode.st_mode)),
        mark: Mark {
            size: u64::try_from(inode.st_size).unwrap_or(0),
            mtime: nanos(inode.st_mtime as i64, inode.st_mtime_nsec as i64),
            ctime: nanos(inode.st_ctime as i64, inode.st_ctime_nsec as i64),
            inode: inode.st_ino as u64,
            mode: inode.st_mode as u32 & 0o7777,
        },
    }
}
