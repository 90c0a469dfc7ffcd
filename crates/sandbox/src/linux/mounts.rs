//! The child's mounts, one by one as the plan lists them. Nothing but system calls.
#![expect(unsafe_code, reason = "mounts have no safe wrapper")]

use super::enter::check;
use super::jail::{MAX_CARRIED, Mount};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, fstat, lstat, mkdir, open, openat2, symlink, unlink,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::ptr;

/// Longest path that is made component by component; no system call takes a longer one.
const MAX_PATH: usize = 4096;

/// Copies of trees by the path they were taken from.
struct Carried<'a> {
    trees: [Option<(OwnedFd, &'a CStr)>; MAX_CARRIED],
    count: usize,
}

impl<'a> Carried<'a> {
    fn take(&mut self, tree: OwnedFd, path: &'a CStr) -> io::Result<()> {
        let place = self.trees.get_mut(self.count);
        *place.ok_or(io::ErrorKind::InvalidData)? = Some((tree, path));
        self.count += 1;
        Ok(())
    }

    fn give(&mut self, path: &CStr) -> Option<OwnedFd> {
        let from = |slot: &&mut Option<(OwnedFd, &CStr)>| {
            slot.as_ref().is_some_and(|(_, from)| *from == path)
        };
        let slot = self.trees.iter_mut().take(self.count).find(from)?;
        slot.take().map(|(tree, _)| tree)
    }
}

pub(super) fn mount_all(mounts: &[(Mount, &CStr)]) -> io::Result<()> {
    let mut carried = Carried {
        trees: [const { None }; MAX_CARRIED],
        count: 0,
    };
    let mut source = c"";
    for (kind, path) in mounts {
        let done = match kind {
            Mount::Bind => bind_in_place(path),
            Mount::ReadOnlyTree => change(path, libc::MOUNT_ATTR_RDONLY, 0, true),
            Mount::Writable => change(path, 0, libc::MOUNT_ATTR_RDONLY, false),
            Mount::HideFolder => hide_folder(path),
            // Without, a command could read what is typed elsewhere, and write on those screens.
            Mount::Terminals => mount(
                Some(c"devpts"),
                path,
                Some(c"devpts"),
                libc::MS_NOSUID | libc::MS_NOEXEC,
                Some(c"newinstance,ptmxmode=0666,mode=0620"),
            )
            .or_else(|_| hide_folder(path)),
            Mount::HideFile => bind(c"/dev/null", path)
                .and_then(|()| change(path, libc::MOUNT_ATTR_NODEV, 0, false)),
            Mount::Carry => clone_real(path).and_then(|tree| carried.take(tree, path)),
            Mount::CarryLinked => clone_tree(path).and_then(|tree| carried.take(tree, path)),
            Mount::Clear => mount(
                Some(c"tmpfs"),
                path,
                Some(c"tmpfs"),
                libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                Some(c"mode=755,size=4k"),
            ),
            Mount::PutDown => carried
                .give(path)
                .map_or(Ok(()), |tree| put_down(&tree, path)),
            Mount::Source => {
                source = path;
                Ok(())
            }
            // What should lie here must: the folder beneath is not for the command.
            Mount::PutOver => carried
                .give(source)
                .ok_or_else(|| Errno::INVAL.into())
                .and_then(|tree| attach(&tree, path)),
            Mount::Link => make_parents(path).and_then(|()| Ok(symlink(source, *path)?)),
            Mount::ShowLink => clone_link(source)
                .and_then(|link| attach(&link, path))
                .or(Ok(())),
            Mount::Fresh => make_folder(path).and_then(|()| fresh(path)),
            Mount::Touch => touch(path),
            Mount::ReadOnly => change(path, libc::MOUNT_ATTR_RDONLY, 0, false),
        };
        match done {
            // Gone since the plan was made, so there is nothing to confine.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => {}
            done => done?,
        }
    }
    Ok(())
}

/// Opens what lies at a path on whose way there is no link, the last part included. Commands that run at the same time can
/// put links into folders that they may change.
pub fn open_real<P: rustix::path::Arg>(path: P) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// What lies at a path without links becomes a mount of its own.
fn bind_in_place(path: &CStr) -> io::Result<()> {
    let place = open_real(path)?;
    let tree = clone_opened(&place)?;
    // SAFETY: two open descriptors and two strings.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH,
        )
    };
    check(done as i32)
}

fn clone_real(path: &CStr) -> io::Result<OwnedFd> {
    clone_opened(&open_real(path)?)
}

fn clone_opened(place: &OwnedFd) -> io::Result<OwnedFd> {
    let how = libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | how as u32;
    // SAFETY: an open descriptor and a string; what it gives is a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_tree, place.as_raw_fd(), c"".as_ptr(), flags) as i32;
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn clone_tree(path: &CStr) -> io::Result<OwnedFd> {
    clone_mount(path, libc::AT_RECURSIVE)
}

/// The link itself, not what it leads to.
fn clone_link(path: &CStr) -> io::Result<OwnedFd> {
    clone_mount(path, libc::AT_SYMLINK_NOFOLLOW)
}

fn clone_mount(path: &CStr, how: libc::c_int) -> io::Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | how as u32;
    // SAFETY: reads the path; what it gives is a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) as i32;
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn put_down(tree: &OwnedFd, path: &CStr) -> io::Result<()> {
    match FileType::from_raw_mode(fstat(tree)?.st_mode) {
        FileType::Directory => make_folder(path)?,
        _ => {
            make_parents(path)?;
            match touch(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => done?,
            }
        }
    }
    attach(tree, path)
}

fn attach(tree: &OwnedFd, path: &CStr) -> io::Result<()> {
    // SAFETY: an open descriptor and two strings.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(done as i32)
}

/// The folder and those above it, as far as they are not there.
fn make_folder(path: &CStr) -> io::Result<()> {
    match plain_folder(path) {
        Err(Errno::NOENT) => {
            make_parents(path)?;
            Ok(plain_folder(path)?)
        }
        done => Ok(done?),
    }
}

fn make_parents(path: &CStr) -> io::Result<()> {
    let bytes = path.to_bytes();
    let mut text = [0_u8; MAX_PATH];
    text.get_mut(..bytes.len())
        .ok_or(Errno::NAMETOOLONG)?
        .copy_from_slice(bytes);
    for at in (1..bytes.len()).filter(|at| bytes.get(*at) == Some(&b'/')) {
        let Some(slash) = text.get_mut(at) else {
            break;
        };
        *slash = 0;
        let folder = CStr::from_bytes_until_nul(&text).map_err(|_| Errno::INVAL)?;
        plain_folder(folder)?;
        if let Some(slash) = text.get_mut(at) {
            *slash = b'/';
        }
    }
    Ok(())
}

/// A command may have put a link or a file in the place of a folder that the next one needs; only where commands can
/// write that can be taken away again.
fn plain_folder(path: &CStr) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(0o755);
    match mkdir(path, mode) {
        Err(Errno::EXIST) => {}
        // One that is there already need not be made.
        Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {
            return lstat(path).map(drop);
        }
        done => return done,
    }
    if FileType::from_raw_mode(lstat(path)?.st_mode) == FileType::Directory {
        return Ok(());
    }
    match unlink(path) {
        Ok(()) => mkdir(path, mode),
        // Not ours to change, as a link of the system.
        Err(_) => Ok(()),
    }
}

fn touch(path: &CStr) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    open(path, flags, Mode::RUSR)?;
    Ok(())
}

fn fresh(path: &CStr) -> io::Result<()> {
    mount(
        Some(c"tmpfs"),
        path,
        Some(c"tmpfs"),
        libc::MS_NOSUID | libc::MS_NODEV,
        Some(c"mode=1777"),
    )
}

fn hide_folder(path: &CStr) -> io::Result<()> {
    mount(
        Some(c"tmpfs"),
        path,
        Some(c"tmpfs"),
        libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
        Some(c"mode=000,size=4k"),
    )
}

fn bind(from: &CStr, to: &CStr) -> io::Result<()> {
    mount(Some(from), to, None, libc::MS_BIND | libc::MS_REC, None)
}

pub(super) fn mount(
    from: Option<&CStr>,
    to: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: strings or null, as the call wants them.
    check(unsafe {
        libc::mount(
            pointer(from),
            to.as_ptr(),
            pointer(kind),
            flags,
            pointer(options).cast(),
        )
    })
}

fn change(path: &CStr, set: u64, clear: u64, tree: bool) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: clear,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = if tree { libc::AT_RECURSIVE } else { 0 };
    let place = open_real(path)?;
    // SAFETY: an open descriptor; the structure and its size belong together.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            place.as_raw_fd(),
            c"".as_ptr(),
            flags | libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(done as i32)
}
