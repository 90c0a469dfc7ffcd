//! Landlock rulesets: built by us, handed to the child as a descriptor, put on there with one call.
#![expect(unsafe_code, reason = "Landlock has no wrapper in the C library")]

use super::mounts::open_real;
use ostler_files::sight::{self, Seen};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::path::Path;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
pub(super) const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const FIRST_RIGHTS: u64 = (1 << 13) - 1;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const TCP: u64 = 0b11;
const SCOPE_ABSTRACT: u64 = 1;
const SCOPE_SIGNAL: u64 = 2;
const VERSION_FLAG: u32 = 1;
const PATH_BENEATH: u32 = 1;

pub(super) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Everything but making devices.
pub(super) const WRITE: u64 = (FIRST_RIGHTS | REFER | TRUNCATE) & !(MAKE_CHAR | MAKE_BLOCK);
pub(super) const DEVICE: u64 = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV;

/// From this one on, signals and abstract sockets are kept in too.
pub(super) const ABI_WITH_SCOPES: u32 = 6;
pub(super) const ABI_WITH_TRUNCATE: u32 = 3;
const ABI_WITH_REFER: u32 = 2;
const ABI_WITH_TCP: u32 = 4;
const ABI_WITH_IOCTL: u32 = 5;

/// The version that the kernel speaks; 0 if none.
pub(super) fn abi() -> u32 {
    // SAFETY: asks for the version; no attributes are read.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION_FLAG,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    pub no_tcp: bool,
    /// Talking to abstract sockets of outside is refused.
    pub abstract_sockets: bool,
}

/// Allows a folder that was mounted only in the child. Nothing but system calls.
pub(super) fn allow_mounted(ruleset: BorrowedFd<'_>, folder: &CStr, rights: u64) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::open(folder, flags, Mode::empty()) {
        Ok(folder) => add(ruleset, folder.as_fd(), rights & handled(abi())),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The rights on files that a kernel of this version knows.
fn handled(abi: u32) -> u64 {
    let since = |first: u32, rights: u64| if abi >= first { rights } else { 0 };
    FIRST_RIGHTS
        | since(ABI_WITH_REFER, REFER)
        | since(ABI_WITH_TRUNCATE, TRUNCATE)
        | since(ABI_WITH_IOCTL, IOCTL_DEV)
}

fn add(ruleset: BorrowedFd<'_>, parent: BorrowedFd<'_>, allowed: u64) -> io::Result<()> {
    let rule = Beneath {
        allowed,
        parent: parent.as_raw_fd(),
    };
    // SAFETY: the structure is that of a path-beneath rule and its descriptor is open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0_u32,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

#[repr(C)]
struct Attributes {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

impl Ruleset {
    pub(super) fn new(abi: u32, scope: Scope) -> io::Result<Self> {
        let since = |first: u32, rights: u64| if abi >= first { rights } else { 0 };
        let handled = handled(abi);
        let scoped = SCOPE_SIGNAL
            | if scope.abstract_sockets {
                SCOPE_ABSTRACT
            } else {
                0
            };
        let attributes = Attributes {
            fs: handled,
            net: if scope.no_tcp {
                since(ABI_WITH_TCP, TCP)
            } else {
                0
            },
            scoped: since(ABI_WITH_SCOPES, scoped),
        };
        let size = match abi {
            ..ABI_WITH_TCP => size_of::<u64>(),
            ABI_WITH_TCP..ABI_WITH_SCOPES => 2 * size_of::<u64>(),
            ABI_WITH_SCOPES.. => size_of::<Attributes>(),
        };
        // SAFETY: the structure is at least as long as the size says, and the result is a new descriptor.
        unsafe {
            let fd = libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size,
                0_u32,
            );
            let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0);
            let fd = fd.ok_or_else(io::Error::last_os_error)?;
            Ok(Self {
                fd: OwnedFd::from_raw_fd(fd),
                handled,
            })
        }
    }

    /// Allows `rights` for a file or everything beneath a folder. What is not there any more needs no rule, and what is
    /// reached only by a link gets none.
    pub(super) fn allow(&self, path: &Path, rights: u64) -> io::Result<()> {
        let fd = match open_real(path) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {
                // Seen as it is, so that it is noticed when it comes.
                drop(sight::look(path));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let found = rustix::fs::fstat(&fd)?;
        match Seen::of(&found) {
            Some(seen) => sight::opened(path, seen),
            None => drop(sight::look(path)),
        }
        let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
        let fitting = match kind {
            rustix::fs::FileType::Directory => u64::MAX,
            rustix::fs::FileType::Symlink => return Ok(()),
            _ => FILE_RIGHTS,
        };
        let allowed = rights & fitting & self.handled;
        if allowed == 0 {
            return Ok(());
        }
        add(self.fd.as_fd(), fd.as_fd(), allowed)
    }

    pub(super) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}
