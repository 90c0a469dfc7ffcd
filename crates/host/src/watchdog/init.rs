//! The first process of a command that has processes of its own: starts the command, takes in its orphans, tells the
//! keeper how it ended, and goes when nobody is left. When it dies, the kernel ends everything with it.

use super::frame::{REPORT_SIZE, Report};
use super::keeper::exit;
use super::sys::{self, Forked};
use super::tree::{self, Reaped};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, wait,
};
use std::io;

const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Runs in a process that was forked into namespaces for it; returns in the command only, or when that could not be
/// forked.
pub(super) fn begin(told: &OwnedFd) -> io::Result<()> {
    let _old_kernel = set_parent_process_death_signal(Some(Signal::KILL));
    // Outside is nobody to this process, so whether the keeper died before is asked of the pipe to it.
    if poll(&mut [PollFd::new(told, PollFlags::empty())], Some(&AT_ONCE)) != Ok(0) {
        sys::exit_now(127);
    }
    // SAFETY: a copy of the keeper has one thread.
    #[expect(unsafe_code, reason = "the command is a child of its init")]
    match unsafe { sys::fork() }? {
        Forked::Child => Ok(()),
        Forked::Parent(command) => stay(told, command),
    }
}

fn stay(told: &OwnedFd, command: Pid) -> ! {
    // The streams of the command too: who reads them waits for the last holder.
    sys::close_others(&[told.as_raw_fd()]);
    sys::ignore_children();
    super::server::set_name(c"init");
    // If it fails, the command still has fewer rights than this process.
    let _kept = ostler_sandbox::linux::retire();
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => tell(told, status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => sys::exit_now(0),
        }
    }
}

fn tell(told: &OwnedFd, status: WaitStatus) {
    let leftovers = loop {
        match tree::reap() {
            Reaped::One(..) => {}
            Reaped::Running => break true,
            Reaped::Nobody => break false,
        }
    };
    let exit = exit(status);
    let _gone = rustix::io::write(told, &Report::Exited { exit, leftovers }.encode());
}

/// What the init said, if it did. To be called when there is something to read or nobody to wait for.
pub(super) fn hear(told: &OwnedFd) -> Option<Report> {
    let mut bytes = [0; REPORT_SIZE];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(told, &mut bytes)).ok()?;
    (count == REPORT_SIZE).then(|| Report::decode(bytes))?
}
