//! Changing files on unix. The parent directory is opened part by part without following a symlink and everything then
//! happens relative to that handle, so a link swapped in after the check leads nowhere. (The same guarantee as
//! `openat2(RESOLVE_NO_SYMLINKS)`, and it works on every kernel.)

use super::resolve::{follow, follow_parent};
use super::{cannot_write, confine};
use crate::error::{Error, Result};
use crate::{Kind, RenameOptions, Renamed, WriteOptions, Written};
use rustix::fs::{
    Access, AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat as Inode, Timespec, Timestamps,
    Uid, accessat, fchmod, fchown, fstat, futimens, mkdirat, open, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const WITHOUT_WAITING: libc::c_int = libc::O_NONBLOCK | libc::O_NOCTTY;
/// Names tried for a temporary file.
const MAX_TEMP_NAMES: usize = 16;
/// A replaced file keeps these bits; set-uid and set-gid fall away, as they do when a file is written in place.
const KEPT_MODE: u32 = 0o777;

pub(super) fn mode(meta: &Metadata) -> Option<u32> {
    Some(meta.permissions().mode() & 0o7777)
}

pub(super) fn kind_of(inode: &Inode) -> Kind {
    match FileType::from_raw_mode(inode.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    }
}

/// Without waiting for the other end of a fifo, and without following a link put there meanwhile.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(WITHOUT_WAITING | libc::O_NOFOLLOW)
        .open(path)
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(WITHOUT_WAITING)
        .open(path)
}

/// Whether a file may be written, and which: nothing is changed.
pub fn may_write(path: &Path, options: &WriteOptions) -> Result<Written> {
    let (place, old) = place_to_write(path, options)?;
    Ok(Written {
        path: place.path,
        created: old.is_none(),
    })
}

/// The file that a write goes to, and what lies there.
fn place_to_write(path: &Path, options: &WriteOptions) -> Result<(Place, Option<Inode>)> {
    let target = follow(path)?;
    confine(&target, &options.roots)?;
    let place = Place::open(target, options.create_parents)?;
    let old = place.look()?;
    if let Some(old) = &old {
        match FileType::from_raw_mode(old.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Error::IsDirectory { path: place.path }),
            FileType::Symlink => return Err(Error::Changed { path: place.path }),
            _ => return Err(Error::NotRegular { path: place.path }),
        }
        // Replacing needs no right to the file itself, yet a file made read-only was made so for a reason.
        accessat(&place.dir, &place.name, Access::WRITE_OK, AtFlags::empty())
            .map_err(|error| place.failed(error))?;
    }
    Ok((place, old))
}

pub fn write(path: &Path, bytes: &[u8], options: &WriteOptions) -> Result<Written> {
    let (place, old) = place_to_write(path, options)?;
    let temp = Temp::create(&place)?;
    (&temp.file)
        .write_all(bytes)
        .map_err(|error| cannot_write(&place.path, error))?;
    if let Some(old) = &old {
        temp.take_after(old)?;
    }
    temp.rename_into_place(Clobber::Allowed)?;
    drop(temp);
    Ok(Written {
        path: place.path,
        created: old.is_none(),
    })
}

pub fn rename(from: &Path, to: &Path, options: &RenameOptions) -> Result<Renamed> {
    let (from, to) = (follow_parent(from)?, follow_parent(to)?);
    confine(&from, &options.roots)?;
    confine(&to, &options.roots)?;
    let from = Place::open(from, false)?;
    let Some(source) = from.look()? else {
        return Err(Error::NotFound { path: from.path });
    };
    let to = Place::open(to, options.create_parents)?;
    // A folder comes with all that is in it.
    let is_folder = FileType::from_raw_mode(source.st_mode) == FileType::Directory;
    if is_folder && options.roots.protected.holds_below(&to.path) {
        return Err(Error::Protected { path: to.path });
    }
    let old = to.look()?;
    // On a file system that ignores case the new spelling of a name is the file itself.
    let same = old.as_ref().is_some_and(|old| {
        (old.st_dev, old.st_ino, old.st_nlink) == (source.st_dev, source.st_ino, 1)
    });
    let clobber = match (&old, options.overwrite || same) {
        (Some(_), false) => return Err(Error::Exists { path: to.path }),
        (Some(_), true) => Clobber::Allowed,
        (None, _) if options.overwrite => Clobber::Allowed,
        (None, _) => Clobber::Refused,
    };
    match move_entry(&from, &to, clobber) {
        Err(Errno::XDEV) => copy_over(&from, &to, clobber)?,
        moved => moved.map_err(|error| to.failed(error))?,
    }
    Ok(Renamed {
        from: from.path,
        to: to.path,
        overwrote: old.is_some() && !same,
    })
}

#[derive(Clone, Copy)]
enum Clobber {
    Allowed,
    Refused,
}

/// A name in a directory that is held open.
struct Place {
    dir: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// `path` is absolute and free of symlinks, or was a moment ago.
    fn open(path: PathBuf, create_parents: bool) -> Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::IsDirectory { path });
        };
        let (parent, name) = (parent.to_path_buf(), name.to_os_string());
        let flags = directory_flags();
        let mut at = PathBuf::from("/");
        let mut dir = open("/", flags, Mode::empty()).map_err(|error| cannot_enter(&at, error))?;
        for part in parent.components() {
            let Component::Normal(part) = part else {
                continue;
            };
            at.push(part);
            let mut next = openat(&dir, part, flags, Mode::empty());
            if create_parents && matches!(next, Err(Errno::NOENT)) {
                match mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => {
                        return Err(Error::MakeDirectory {
                            path: at,
                            source: error.into(),
                        });
                    }
                }
                next = openat(&dir, part, flags, Mode::empty());
            }
            dir = next.map_err(|error| cannot_enter(&at, error))?;
        }
        Ok(Self { dir, name, path })
    }

    fn look(&self) -> Result<Option<Inode>> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(inode) => Ok(Some(inode)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: Errno) -> Error {
        cannot_write(&self.path, error.into())
    }
}

/// A file beside the one it will replace, removed unless it gets there.
struct Temp<'a> {
    place: &'a Place,
    name: String,
    file: File,
}

impl<'a> Temp<'a> {
    fn create(place: &'a Place) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut failure = Errno::EXIST;
        for _ in 0..MAX_TEMP_NAMES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".ostler-{}-{number}.tmp", std::process::id());
            match openat(&place.dir, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => {
                    return Ok(Self {
                        place,
                        name,
                        file: file.into(),
                    });
                }
                Err(error) => failure = error,
            }
            if failure != Errno::EXIST {
                break;
            }
        }
        Err(place.failed(failure))
    }

    /// Mode and owner of the file that was there. A foreign owner can be kept by root alone.
    fn take_after(&self, old: &Inode) -> Result<()> {
        let fail = |error: Errno| self.place.failed(error);
        let new = fstat(&self.file).map_err(fail)?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            if fchown(&self.file, Some(uid), Some(gid)).is_err() {
                // The group alone may still be ours to give; if not, the file stays with its new owner.
                let _kept_best_effort = fchown(&self.file, None, Some(gid));
            }
        }
        let mode = Mode::from_raw_mode(old.st_mode as _) & Mode::from_bits_retain(KEPT_MODE as _);
        fchmod(&self.file, mode).map_err(fail)
    }

    fn rename_into_place(&self, clobber: Clobber) -> Result<()> {
        let (dir, name) = (&self.place.dir, &self.place.name);
        rename_at(dir, self.name.as_ref(), dir, name, clobber)
            .map_err(|error| self.place.failed(error))
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        // After the rename there is nothing left under this name.
        let _gone = unlinkat(&self.place.dir, &self.name, AtFlags::empty());
    }
}

fn move_entry(from: &Place, to: &Place, clobber: Clobber) -> Result<(), Errno> {
    rename_at(&from.dir, &from.name, &to.dir, &to.name, clobber)
}

fn rename_at(
    from: &OwnedFd,
    old: &std::ffi::OsStr,
    to: &OwnedFd,
    new: &std::ffi::OsStr,
    clobber: Clobber,
) -> Result<(), Errno> {
    match clobber {
        Clobber::Allowed => renameat(from, old, to, new),
        Clobber::Refused => match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
            // Some file systems cannot promise it; the caller has just looked.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => renameat(from, old, to, new),
            renamed => renamed,
        },
    }
}

/// A move between file systems: copy beside the destination, put it in place, then remove the source.
fn copy_over(from: &Place, to: &Place, clobber: Clobber) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let source =
        openat(&from.dir, &from.name, flags, Mode::empty()).map_err(|error| from.failed(error))?;
    let inode = fstat(&source).map_err(|error| from.failed(error))?;
    if FileType::from_raw_mode(inode.st_mode) != FileType::RegularFile {
        return Err(Error::Write {
            path: to.path.clone(),
            source: io::Error::other(
                "it lies on another file system, and only regular files can be moved there",
            ),
        });
    }
    let temp = Temp::create(to)?;
    io::copy(&mut File::from(source), &mut &temp.file)
        .map_err(|error| cannot_write(&to.path, error))?;
    temp.take_after(&inode)?;
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: inode.st_atime as _,
            tv_nsec: inode.st_atime_nsec as _,
        },
        last_modification: Timespec {
            tv_sec: inode.st_mtime as _,
            tv_nsec: inode.st_mtime_nsec as _,
        },
    };
    futimens(&temp.file, &times).map_err(|error| to.failed(error))?;
    temp.rename_into_place(clobber)?;
    unlinkat(&from.dir, &from.name, AtFlags::empty()).map_err(|error| from.failed(error))
}

fn cannot_enter(path: &Path, error: Errno) -> Error {
    let path = path.to_path_buf();
    match error {
        Errno::NOENT => Error::NotFound { path },
        // A link swapped in after the path was resolved looks the same as a file in its place.
        Errno::NOTDIR | Errno::LOOP => Error::NotDirectory { path },
        Errno::ACCESS | Errno::PERM => Error::Forbidden {
            path,
            source: error.into(),
        },
        _ => Error::Read {
            path,
            source: error.into(),
        },
    }
}

/// A handle that only names the directory where the system has such a thing, so that no right to list it is needed.
fn directory_flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    flags
}
