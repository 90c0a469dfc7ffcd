//! Reading by descriptor: a file or folder is opened once, the system says where the descriptor really is, the border
//! judges that, and the bytes come from that very descriptor. A link that is swapped meanwhile leads nowhere else.

use super::border::{Border, Judgement};
use super::{cannot_read, check_path};
use crate::Kind;
use crate::error::{Error, Result};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat as Inode, fstat, open, openat, statat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is replaced at the moment it is opened is looked at again this often.
const MAX_TRIES: usize = 8;

/// What is open, and where it really lies.
pub struct Opened {
    pub file: File,
    pub path: PathBuf,
}

/// Opens a regular file to read, if the border lets its real path pass. Never waits for a fifo or a device.
pub fn open_file(path: &Path, border: &Border) -> Result<Opened> {
    check_path(path)?;
    let fail = |error: Errno| failed(path, error);
    for _ in 0..MAX_TRIES {
        let found = match open(path, looking(), Mode::empty()) {
            Err(error @ (Errno::NOENT | Errno::NOTDIR)) => {
                return Err(not_there(path, border, |real| failed(&real, error)));
            }
            opened => opened.map_err(fail)?,
        };
        let inode = fstat(&found).map_err(fail)?;
        let Some(real) = path_of(&found, &inode, path)? else {
            continue;
        };
        admit(border, &real)?;
        check_regular(&inode, &real)?;
        admit_names(border, &inode, &real)?;
        return match read_again(found, &real) {
            Ok(file) => Ok(Opened { file, path: real }),
            Err(error) => Err(failed(&real, error)),
        };
    }
    Err(changed(path))
}

/// What lies at a path, links followed, if the border lets its real path pass.
pub fn look(path: &Path, border: &Border) -> Result<Kind> {
    check_path(path)?;
    for _ in 0..MAX_TRIES {
        let found = match open(path, looking(), Mode::empty()) {
            Err(error) => return Err(not_there(path, border, |real| failed(&real, error))),
            Ok(found) => found,
        };
        let inode = fstat(&found).map_err(|error| failed(path, error))?;
        if let Some(real) = path_of(&found, &inode, path)? {
            admit(border, &real)?;
            return Ok(super::unix::kind_of(&inode));
        }
    }
    Err(changed(path))
}

/// A folder that is held open. What is opened in it lies in it, wherever its path leads by then.
pub struct Folder {
    dir: OwnedFd,
    pub path: PathBuf,
}

impl Folder {
    pub fn open(path: &Path, border: &Border) -> Result<Self> {
        check_path(path)?;
        let fail = |error: Errno| failed(path, error);
        let flags = looking() | OFlags::DIRECTORY;
        for _ in 0..MAX_TRIES {
            let dir = match open(path, flags, Mode::empty()) {
                Err(Errno::NOTDIR) => {
                    return Err(not_there(path, border, |path| Error::NotDirectory { path }));
                }
                Err(error @ Errno::NOENT) => {
                    return Err(not_there(path, border, |real| failed(&real, error)));
                }
                opened => opened.map_err(fail)?,
            };
            let inode = fstat(&dir).map_err(fail)?;
            if let Some(real) = path_of(&dir, &inode, path)? {
                admit(border, &real)?;
                return Ok(Self { dir, path: real });
            }
        }
        Err(changed(path))
    }

    /// At most `most` names of its entries, in the order of the system.
    pub fn names(&self, most: usize) -> Result<Vec<OsString>> {
        let fail = |error: Errno| failed(&self.path, error);
        let mut names = Vec::new();
        let flags = reading() | OFlags::DIRECTORY;
        let listed = openat(&self.dir, ".", flags, Mode::empty()).map_err(fail)?;
        for entry in Dir::new(listed).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() == most {
                break;
            }
            names.push(OsString::from_vec(name.to_vec()));
        }
        Ok(names)
    }

    /// What lies under this name, a link not followed.
    pub fn look(&self, name: &OsStr) -> Option<Inode> {
        statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

/// Opens many files of a tree, each in the folder that is held open, so that neighbours cost one system call each.
pub struct TreeReader {
    border: Arc<Border>,
    /// The folder as it was named, and itself.
    folder: Option<(PathBuf, Folder)>,
}

impl TreeReader {
    pub fn new(border: Arc<Border>) -> Self {
        Self {
            border,
            folder: None,
        }
    }

    /// A file to read. A symlink is followed, and what it leads to is judged.
    pub fn open(&mut self, path: &Path) -> Result<File> {
        let border = self.border.clone();
        let Some((folder, name)) = self.folder_of(path)? else {
            return open_file(path, &border).map(|opened| opened.file);
        };
        let real = folder.path.join(name);
        admit(&border, &real)?;
        match openat(
            &folder.dir,
            name,
            reading() | OFlags::NOFOLLOW,
            Mode::empty(),
        ) {
            Ok(file) => {
                let inode = fstat(&file).map_err(|error| failed(&real, error))?;
                admit_names(&border, &inode, &real)?;
                Ok(file.into())
            }
            // A link, or a folder that is no longer where it was.
            Err(Errno::LOOP | Errno::MLINK | Errno::NOENT) => {
                self.folder = None;
                open_file(path, &border).map(|opened| opened.file)
            }
            Err(error) => Err(failed(&real, error)),
        }
    }

    /// Where the entry itself really lies, if it is there and its folder may be looked into. A link is not followed.
    pub fn locate(&mut self, path: &Path) -> Result<PathBuf> {
        let border = self.border.clone();
        let Some((folder, name)) = self.folder_of(path)? else {
            return Folder::open(path, &border).map(|folder| folder.path);
        };
        let real = folder.path.join(name);
        if folder.look(name).is_none() {
            return Err(Error::NotFound {
                path: path.to_owned(),
            });
        }
        // Whoever may look into the folder may know its names.
        let seen = admit(&border, &folder.path).or_else(|_| admit(&border, &real));
        seen.map(|()| real)
    }

    fn folder_of<'p>(&mut self, path: &'p Path) -> Result<Option<(&Folder, &'p OsStr)>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        let is_held = self.folder.as_ref().is_some_and(|(held, _)| held == parent);
        if !is_held {
            // Only held: what is opened or named in it is judged.
            let folder = Folder::open(parent, &Border::none())?;
            self.folder = Some((parent.to_owned(), folder));
        }
        Ok(self.folder.as_ref().map(|(_, folder)| (folder, name)))
    }
}

/// Lets pass what the border opens.
pub fn admit(border: &Border, real: &Path) -> Result<()> {
    let path = || real.to_path_buf();
    match border.judge(real) {
        Judgement::Inside | Judgement::Public => Ok(()),
        Judgement::Outside => Err(Error::Beyond { path: path() }),
        Judgement::Forbidden(rule) => Err(Error::Withheld { path: path(), rule }),
    }
}

/// Keeps back an open file that is forbidden by another of its names.
fn admit_names(border: &Border, inode: &Inode, real: &Path) -> Result<()> {
    match super::names::rule_of(border, inode) {
        None => Ok(()),
        Some(rule) => Err(Error::Withheld {
            path: real.to_path_buf(),
            rule,
        }),
    }
}

fn check_regular(inode: &Inode, path: &Path) -> Result<()> {
    let path = path.to_path_buf();
    match FileType::from_raw_mode(inode.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Error::IsDirectory { path }),
        FileType::Symlink => Err(Error::Changed { path }),
        _ => Err(Error::NotRegular { path }),
    }
}

/// The error of a path that leads to nothing, unless that alone would say too much of what lies outside.
fn not_there(path: &Path, border: &Border, error: impl FnOnce(PathBuf) -> Error) -> Error {
    let real = super::resolve::follow(path).unwrap_or_else(|_| path.to_owned());
    match admit(border, &real) {
        Ok(()) => error(real),
        Err(refused) => refused,
    }
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// A descriptor that only names the file where the system has such a thing: nothing is opened before it is judged.
fn looking() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    return reading();
}

/// The same file, to read.
#[cfg(target_os = "linux")]
fn read_again(found: OwnedFd, real: &Path) -> Result<File, Errno> {
    match open(descriptor(&found), reading(), Mode::empty()) {
        Ok(file) => Ok(file.into()),
        // Without /proc: by its path, and it must be the very same file.
        Err(Errno::NOENT) => {
            let file = open(real, reading() | OFlags::NOFOLLOW, Mode::empty())?;
            match is_same(&fstat(&file)?, &fstat(&found)?) {
                true => Ok(file.into()),
                false => Err(Errno::STALE),
            }
        }
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn read_again(found: OwnedFd, _real: &Path) -> Result<File, Errno> {
    Ok(found.into())
}

#[cfg(target_os = "linux")]
fn descriptor(fd: impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()))
}

/// Where the open file really is; `None` when it was replaced meanwhile.
#[cfg(target_os = "linux")]
fn path_of(fd: &OwnedFd, inode: &Inode, named: &Path) -> Result<Option<PathBuf>> {
    let Ok(real) = rustix::fs::readlink(descriptor(fd), Vec::new()) else {
        return by_name(inode, named);
    };
    let real = PathBuf::from(OsString::from_vec(real.into_bytes()));
    if !real.is_absolute() {
        return Err(Error::NotRegular {
            path: named.to_owned(),
        });
    }
    // A file that was deleted has a name that leads to none, and one that was reached through the mounts of another
    // process, by `/proc/PID/root`, a name that leads to another file here.
    let found = rustix::fs::lstat(&real);
    Ok(found
        .is_ok_and(|found| is_same(&found, inode))
        .then_some(real))
}

#[cfg(target_vendor = "apple")]
fn path_of(fd: &OwnedFd, _inode: &Inode, named: &Path) -> Result<Option<PathBuf>> {
    let path = rustix::fs::getpath(fd).map_err(|error| failed(named, error))?;
    Ok(Some(PathBuf::from(OsString::from_vec(path.into_bytes()))))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn path_of(_fd: &OwnedFd, inode: &Inode, named: &Path) -> Result<Option<PathBuf>> {
    by_name(inode, named)
}

/// Where the path leads, if that is still the file that was opened.
#[cfg(not(target_vendor = "apple"))]
fn by_name(inode: &Inode, named: &Path) -> Result<Option<PathBuf>> {
    let real = super::resolve::follow(named)?;
    let found = rustix::fs::lstat(&real);
    Ok(found
        .is_ok_and(|found| is_same(&found, inode))
        .then_some(real))
}

#[cfg(not(target_vendor = "apple"))]
fn is_same(a: &Inode, b: &Inode) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

fn changed(path: &Path) -> Error {
    Error::Changed {
        path: path.to_owned(),
    }
}

fn failed(path: &Path, error: Errno) -> Error {
    match error {
        Errno::LOOP => Error::TooManyLinks {
            path: path.to_owned(),
        },
        Errno::STALE => changed(path),
        _ => cannot_read(path, error.into()),
    }
}
