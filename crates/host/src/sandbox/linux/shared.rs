//! The network that the commands of a session have in common. A short-lived copy of this process makes it; descriptors
//! keep it, so it is gone with the last of them, and the keeper of each command joins it by them.
#![expect(unsafe_code, reason = "namespaces are made and joined by system calls")]

use super::enter::{self, Step};
use super::jail::{User, Way};
use super::{choose, found};
use crate::sandbox::{Choice, Error, Layer};
use crate::watchdog::{send, take};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;

/// A network with a loopback, and for ordinary users the user namespace that it belongs to.
#[derive(Debug)]
pub struct SharedNetwork {
    user: Option<OwnedFd>,
    network: OwnedFd,
}

/// As with plans: two are the same only if they are one.
impl PartialEq for SharedNetwork {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SharedNetwork {}

impl SharedNetwork {
    /// Makes one, with a listener at `PROXY` in it that does not block. `None` where the layer has no network to share.
    /// Takes as long as a fork of this process.
    pub fn open(choice: Choice) -> Result<Option<(Self, TcpListener)>, Error> {
        if matches!(choice, Choice::Off | Choice::Bubblewrap) {
            return Ok(None);
        }
        let layer = choose(choice, crate::sandbox::probe())?;
        let way = match (layer, found()) {
            (Layer::Namespaces, Ok(found)) => found.way,
            (Layer::Namespaces | Layer::Landlock | Layer::Bubblewrap, _) => return Ok(None),
        };
        let made = make(way).map_err(|source| Error::Network { source })?;
        Ok(Some(made))
    }

    /// In the order in which `join` takes them.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.user.iter().chain([&self.network]).map(AsFd::as_fd)
    }
}

/// Takes this process into a network: the user namespace first, whose owner may do the rest. It must have one thread.
pub(crate) fn join(namespaces: &[OwnedFd]) -> Result<(), (Step, io::Error)> {
    for namespace in namespaces {
        // SAFETY: an open descriptor; the kernel knows its kind.
        let done = unsafe { libc::setns(namespace.as_raw_fd(), 0) };
        enter::check(done).map_err(|error| (Step::Join, error))?;
    }
    Ok(())
}

fn make(way: Way) -> io::Result<(SharedNetwork, TcpListener)> {
    let (ours, theirs) = UnixStream::pair()?;
    // Inside it has another number until it is mapped.
    let user = User::own();
    let own_user = match way {
        Way::User => libc::CLONE_NEWUSER,
        Way::Direct | Way::None => 0,
    };
    let flags = i64::from(own_user | libc::CLONE_NEWNET | libc::SIGCHLD);
    // SAFETY: the child makes system calls only, then ends.
    let child = match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => {
            let errno = match begin(way, user, &theirs) {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            };
            if errno != 0 {
                let _gone = send(theirs.as_fd(), &[errno as u8], &[]);
            }
            // SAFETY: ends the copy without running anything of ours.
            unsafe { libc::_exit(0) }
        }
        pid => Pid::from_raw(pid.max(0) as i32),
    };
    let child = child.ok_or_else(io::Error::last_os_error)?;
    drop(theirs);
    let (mut errno, mut given) = ([0], Vec::new());
    let count = rustix::io::retry_on_intr(|| take(ours.as_fd(), &mut errno, &mut given));
    let _reaped = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
    match (count?, errno) {
        (1.., [0]) => {}
        (1.., [errno]) => return Err(io::Error::from_raw_os_error(errno.into())),
        (0, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
    }
    let lost = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let door = given.pop().ok_or_else(lost)?;
    let network = given.pop().ok_or_else(lost)?;
    let shared = SharedNetwork {
        user: given.pop(),
        network,
    };
    match (way, &shared.user) {
        (Way::User, None) => Err(lost()),
        (Way::User | Way::Direct | Way::None, _) => Ok((shared, door.into())),
    }
}

/// In the new namespaces: starts the loopback and hands everything over.
fn begin(way: Way, user: User, to: &UnixStream) -> io::Result<()> {
    let own = |path: &CStr| open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let network = own(c"/proc/self/ns/net")?;
    let owner = match way {
        Way::User => {
            enter::map_user(user)?;
            Some(own(c"/proc/self/ns/user")?)
        }
        Way::Direct | Way::None => None,
    };
    enter::loopback_up()?;
    let door = enter::listen()?;
    match &owner {
        Some(owner) => send(
            to.as_fd(),
            &[0],
            &[owner.as_fd(), network.as_fd(), door.as_fd()],
        )?,
        None => send(to.as_fd(), &[0], &[network.as_fd(), door.as_fd()])?,
    };
    Ok(())
}
