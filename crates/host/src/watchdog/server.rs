//! The watchdog process: forks a keeper per request and waits. When its socket closes, whoever held the other end is
//! dead; it puts the terminal in order and sees to it that every keeper ends with all that is below it.

use super::MODE;
use super::frame::{self, Failure, Frame, Stage};
use super::keeper::{self, Lines};
use super::sys::{self, Forked};
use super::terminal::Guarded;
use super::tree::{self, Reaped};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use rustix::process::Pid;
use std::ffi::CStr;
use std::io;
use std::time::{Duration, Instant};

/// Time for the keepers to kill what is theirs before the watchdog does it for them.
const KEEPER_GRACE: Duration = Duration::from_millis(300);

/// For the process that was started with `MODE` and the socket as its stdin.
pub(super) fn run_on_stdin() -> ! {
    let stdin = sys::take_stdin();
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(&stdin, 3) else {
        sys::exit_now(2)
    };
    // Started by hand there is nobody to serve.
    if rustix::net::sockopt::socket_type(&socket).is_err() {
        let hint = format!("{MODE} is started by the program itself, not by hand\n");
        let _unseen = rustix::io::write(rustix::stdio::stderr(), hint.as_bytes());
        sys::exit_now(2)
    }
    #[cfg(target_os = "linux")]
    sys::forget_start();
    serve(socket)
}

/// The life of the watchdog. The process must be single-threaded and own nothing but `socket`.
pub(super) fn serve(socket: OwnedFd) -> ! {
    let code = match Watchdog::start(socket) {
        Ok(mut watchdog) => {
            watchdog.run();
            watchdog.end();
            0
        }
        Err(_) => 1,
    };
    sys::exit_now(code)
}

struct Watchdog {
    socket: OwnedFd,
    wake: Wake,
    /// Every keeper holds the reading end of this pipe; it closes with the watchdog.
    lifeline: (OwnedFd, OwnedFd),
    keepers: Vec<Pid>,
    terminal: Option<Guarded>,
}

impl Watchdog {
    fn start(socket: OwnedFd) -> io::Result<Self> {
        // Already so when started by exec; a forked one still has the session of its parent.
        let _already = rustix::process::setsid();
        sys::ignore_signals();
        sys::close_others(&[socket.as_raw_fd()]);
        let null = open_null()?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        rustix::process::chdir("/")?;
        rustix::io::ioctl_fionbio(&socket, false)?;
        become_reaper();
        set_name(c"watchdog");
        Ok(Self {
            socket,
            wake: Wake::new()?,
            lifeline: pipe()?,
            keepers: Vec::new(),
            terminal: None,
        })
    }

    fn run(&mut self) {
        loop {
            let mut fds = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(&self.wake.read, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let [request, ended] = fds.map(|fd| !fd.revents().is_empty());
            if ended {
                tree::drain(&self.wake.read);
                self.reap();
            }
            if !request {
                continue;
            }
            match frame::receive(self.socket.as_fd()) {
                Some(Frame::Spawn { body, fds }) => self.spawn(body, fds),
                Some(Frame::Guard {
                    tty,
                    termios,
                    reset,
                }) => {
                    self.terminal = Some(Guarded {
                        tty,
                        termios,
                        reset,
                    });
                }
                Some(Frame::Release) => self.terminal = None,
                // Its maker is waited for like a keeper.
                #[cfg(target_os = "linux")]
                Some(Frame::Network { way, to }) => {
                    self.keepers
                        .extend(ostler_sandbox::linux::make_network(way, &to));
                }
                None => return,
            }
        }
    }

    fn spawn(&mut self, body: Vec<u8>, fds: Vec<OwnedFd>) {
        let mut fds = fds.into_iter();
        let (Some(control), Some(failures)) = (fds.next(), fds.next()) else {
            return;
        };
        let lines = Lines { control, failures };
        let stdio: Vec<OwnedFd> = fds.collect();
        // SAFETY: this process has one thread.
        #[expect(unsafe_code, reason = "a keeper is a copy of the watchdog")]
        let forked = unsafe { sys::fork() };
        match forked {
            Ok(Forked::Child) => {
                let lifeline = &self.lifeline.0;
                let kept: Vec<RawFd> = [&lines.control, &lines.failures, lifeline]
                    .into_iter()
                    .chain(&stdio)
                    .map(AsRawFd::as_raw_fd)
                    .collect();
                sys::close_others(&kept);
                keeper::keep(lines, lifeline, &body, stdio)
            }
            Ok(Forked::Parent(pid)) => self.keepers.push(pid),
            Err(error) => Failure::new(Stage::Prepare, &error).tell(&lines.failures),
        }
    }

    /// Only keepers are children of the watchdog. Anybody else was orphaned by a keeper that was killed.
    fn reap(&mut self) {
        let mut orphans = false;
        while let Reaped::One(pid, status) = tree::reap() {
            let known = self.keepers.len();
            self.keepers.retain(|keeper| *keeper != pid);
            orphans |= known == self.keepers.len() || status.exit_status() != Some(0);
        }
        if orphans {
            tree::freeze_and_kill(&|| self.orphans());
        }
    }

    fn orphans(&self) -> Vec<Pid> {
        #[cfg(target_os = "linux")]
        {
            let mut found = tree::children(std::process::id().cast_signed());
            found.retain(|child| !self.keepers.contains(child));
            tree::with_below(&found)
        }
        #[cfg(not(target_os = "linux"))]
        Vec::new()
    }

    fn end(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            terminal.restore();
        }
        let deadline = Instant::now() + KEEPER_GRACE;
        while Instant::now() < deadline {
            self.reap();
            if matches!(tree::reap(), Reaped::Nobody) {
                return;
            }
            tree::pause(&self.wake.read, KEEPER_GRACE);
        }
        tree::kill_below(&self.wake.read);
    }
}

/// A pipe that becomes readable when a child ends.
pub(super) struct Wake {
    pub(super) read: OwnedFd,
    _write: OwnedFd,
}

impl Wake {
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = pipe()?;
        rustix::io::ioctl_fionbio(&read, true)?;
        rustix::io::ioctl_fionbio(&write, true)?;
        sys::wake_on_child(write.as_fd());
        Ok(Self {
            read,
            _write: write,
        })
    }
}

pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    Ok((read.into(), write.into()))
}

pub(super) fn open_null() -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    Ok(open(
        "/dev/null",
        OFlags::RDWR | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Orphans from below come to this process instead of init, where the system can do that.
pub(super) fn become_reaper() {
    // Only old kernels refuse; groups and sessions are still killed then.
    #[cfg(target_os = "linux")]
    let _unsupported = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// What process lists show. Not the name of the program, so that killing that by name leaves the cleaners alive.
pub(super) fn set_name(name: &CStr) {
    #[cfg(target_os = "linux")]
    let _cosmetic = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
