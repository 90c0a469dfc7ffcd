//! The network that the commands of a session have in common. A short-lived child of the watchdog makes it; descriptors
//! keep it, so it is gone with the last of them, and the keeper of each command joins it by them.
#![expect(unsafe_code, reason = "namespaces are made and joined by system calls")]

use super::enter::{self, Step};
use super::jail::{User, Way};
use super::{choose, found};
use crate::descriptors::{send, take};
use crate::{Choice, Error, Layer};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::Pid;
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
    /// How one would be made; `None` where the layer has no network to share.
    pub fn way(choice: Choice) -> Result<Option<Way>, Error> {
        if matches!(choice, Choice::Off | Choice::Bubblewrap) {
            return Ok(None);
        }
        match (choose(choice, crate::probe())?, found()) {
            (Layer::Namespaces, Ok(found)) => Ok(Some(found.way)),
            (Layer::Namespaces | Layer::Landlock | Layer::Bubblewrap, _) => Ok(None),
        }
    }

    /// Waits for what [`make`] sends: a network with a listener at `PROXY` in it that does not block.
    pub fn receive(from: &UnixStream, way: Way) -> io::Result<(Self, TcpListener)> {
        let (mut errno, mut given) = ([0], Vec::new());
        let count = rustix::io::retry_on_intr(|| take(from.as_fd(), &mut errno, &mut given))?;
        let lost = || io::Error::from(io::ErrorKind::UnexpectedEof);
        match (count, errno) {
            (1.., [0]) => {}
            (1.., [errno]) => return Err(io::Error::from_raw_os_error(errno.into())),
            (0, _) => return Err(lost()),
        }
        let door = given.pop().ok_or_else(lost)?;
        let network = given.pop().ok_or_else(lost)?;
        let shared = Self {
            user: given.pop(),
            network,
        };
        match (way, &shared.user) {
            (Way::User, None) => Err(lost()),
            (Way::User | Way::Direct | Way::None, _) => Ok((shared, door.into())),
        }
    }

    /// In the order in which `join` takes them.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.user.iter().chain([&self.network]).map(AsFd::as_fd)
    }
}

/// Takes this process into a network: the user namespace first, whose owner may do the rest. It must have one thread.
pub fn join(namespaces: &[OwnedFd]) -> Result<(), (Step, io::Error)> {
    for namespace in namespaces {
        // SAFETY: an open descriptor; the kernel knows its kind.
        let done = unsafe { libc::setns(namespace.as_raw_fd(), 0) };
        enter::check(done).map_err(|error| (Step::Join, error))?;
    }
    Ok(())
}

/// Makes a network and sends its descriptors, or an error number alone. For the watchdog: we are closed to others of the
/// same person, so that a copy of us may not map its user, and the watchdog knows no secrets. The copy is its child.
pub fn make(way: Way, to: &OwnedFd) -> Option<Pid> {
    // Inside it has another number until it is mapped.
    let user = User::own();
    let own_user = match way {
        Way::User => libc::CLONE_NEWUSER,
        Way::Direct | Way::None => 0,
    };
    let flags = i64::from(own_user | libc::CLONE_NEWNET | libc::SIGCHLD);
    let tell = |error: &io::Error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let _gone = send(to.as_fd(), &[errno as u8], &[]);
    };
    // SAFETY: the child makes system calls only, then ends.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => {
            if let Err(error) = begin(way, user, to) {
                tell(&error);
            }
            // SAFETY: ends the copy without running anything of ours.
            unsafe { libc::_exit(0) }
        }
        pid => {
            let child = Pid::from_raw(pid.max(0) as i32);
            if child.is_none() {
                tell(&io::Error::last_os_error());
            }
            child
        }
    }
}

/// In the new namespaces: starts the loopback and hands everything over.
fn begin(way: Way, user: User, to: &OwnedFd) -> io::Result<()> {
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
