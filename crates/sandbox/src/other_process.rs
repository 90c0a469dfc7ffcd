//! What is looked up in another process: its memory, its descriptors, and the sockets of its network.
#![expect(unsafe_code, reason = "these calls have no wrapper")]

mod unix_table;

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use std::io;
pub use unix_table::{Listening, UnixTable};

/// # Safety
/// The number is that of a descriptor that nobody else owns, or an error.
unsafe fn descriptor(number: libc::c_long) -> Result<OwnedFd, Errno> {
    match RawFd::try_from(number) {
        // SAFETY: passed on to the caller.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(last_errno()),
    }
}

/// For a thread that is not the first of its process.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;

/// A copy of a descriptor of the caller: the same open socket.
pub fn take_descriptor(thread: i32, fd: RawFd) -> Result<OwnedFd, Errno> {
    let process = open_thread(thread)?;
    // SAFETY: what it gives is a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0);
        descriptor(fd)
    }
}

fn open_thread(thread: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: what they give are new descriptors.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, thread, PIDFD_THREAD);
        if fd >= 0 {
            return descriptor(fd);
        }
        // Older kernels know processes only.
        let status = std::fs::read_to_string(format!("/proc/{thread}/status"));
        let status = status.map_err(|_| Errno::SRCH)?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process: i32 = process
            .and_then(|p| p.trim().parse().ok())
            .ok_or(Errno::SRCH)?;
        descriptor(libc::syscall(libc::SYS_pidfd_open, process, 0))
    }
}

pub fn read_memory(thread: i32, from: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0_u8; length];
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: length,
    };
    let remote = libc::iovec {
        iov_base: from as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: the local part is as long as it says; the remote one belongs to the other process.
    let count =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    match count {
        -1 => Err(last_errno()),
        count if count.cast_unsigned() == length => Ok(bytes),
        _ => Err(Errno::FAULT),
    }
}

pub fn last_errno() -> Errno {
    let errno = io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(errno.unwrap_or(libc::EIO))
}
