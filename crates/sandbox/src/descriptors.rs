//! Bytes and file descriptors over a unix socket.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Sends what the socket takes at once, and how much that was.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // A closed socket must be an error, not a signal; other systems have no such flag and rely on the ignored signal.
    #[cfg(target_os = "linux")]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::empty();
    Ok(sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut control,
        flags,
    )?)
}

/// Takes what is there at once, and how much that was.
pub fn take(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let got = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?.bytes;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    Ok(got)
}

/// Descriptors with one frame: the keeper's socket, the pipe for failures, the three standard streams, the sandbox's
/// rules, and the two namespaces of its network.
const MAX_FDS: usize = 8;
