//! The terminal as it was before we drew on it, kept by the watchdog for the case that we cannot restore it ourselves.

use super::sys::{self, RawTermios};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use std::io;

pub(super) struct Guarded {
    pub tty: OwnedFd,
    pub termios: RawTermios,
    pub reset: Vec<u8>,
}

impl Guarded {
    /// Never waits: whoever reads the terminal may be stopped.
    pub(super) fn restore(self) {
        let _unsettable = rustix::io::ioctl_fionbio(&self.tty, true);
        let _full = rustix::io::write(&self.tty, &self.reset);
        let _unsettable = sys::set_termios(self.tty.as_fd(), self.termios);
        let _unsettable = rustix::io::ioctl_fionbio(&self.tty, false);
    }
}

/// The controlling terminal and its present settings. A description of its own, so that the mode set on it is not
/// shared with anybody.
pub(super) fn present() -> io::Result<(OwnedFd, RawTermios)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let tty = open("/dev/tty", flags, Mode::empty())?;
    let termios = sys::get_termios(tty.as_fd())?;
    Ok((tty, termios))
}
