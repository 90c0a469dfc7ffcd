//! The process above one command: starts it, reports its end, passes signals to everything it started, and kills all
//! of that when the socket to us closes. It stays while anything of the command is left.

use super::child::{self, Leader};
use super::frame::{self, Failure, Report, Spawn, Stage};
use super::server::{Wake, become_reaper, set_name};
use super::sys;
use super::tree::{self, Reaped};
use crate::command::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};

/// What comes with a request, besides the streams.
pub(super) struct Lines {
    pub(super) control: OwnedFd,
    pub(super) failures: OwnedFd,
}

/// Runs in a process that was just forked for it and never returns.
pub(super) fn keep(lines: Lines, lifeline: &OwnedFd, body: &[u8], stdio: Vec<OwnedFd>) -> ! {
    frame::report(&lines.control, Report::Taken);
    become_reaper();
    set_name(c"keeper");
    let started = Wake::new()
        .map_err(|error| Failure::new(Stage::Prepare, &error))
        .and_then(|wake| {
            let spawn = Spawn::decode(body).ok_or(Failure {
                stage: Stage::Prepare,
                errno: libc::EINVAL,
            })?;
            Ok((wake, child::start(&spawn, stdio, &lines)?))
        });
    match started {
        Ok((wake, started)) => {
            let Leader {
                pid: leader,
                told,
                notices,
            } = started;
            let Lines { control, failures } = lines;
            drop(failures);
            let pid = leader.as_raw_nonzero().get();
            frame::report(&control, Report::Started { pid });
            Keeper {
                control,
                lifeline,
                wake,
                leader,
                init: told,
                calls: notices.map_or(Calls::None, Calls::Awaited),
                body,
                running: true,
                doomed: false,
            }
            .run();
        }
        Err(failure) => failure.tell(&lines.failures),
    }
    sys::exit_now(0)
}

struct Keeper<'a> {
    control: OwnedFd,
    lifeline: &'a OwnedFd,
    wake: Wake,
    /// The command itself, leader of its session and group; or its init.
    leader: Pid,
    /// What an init says, while it lives.
    init: Option<OwnedFd>,
    calls: Calls,
    /// The request.
    body: &'a [u8],
    running: bool,
    /// Was to be killed, so whatever still turns up is killed too.
    doomed: bool,
}

/// The calls of a command that are answered outside of it. Most commands make none, so who answers starts with the first.
enum Calls {
    None,
    /// The command is to send where they are noticed.
    Awaited(OwnedFd),
    #[cfg(target_os = "linux")]
    Noticed(super::supervisor::Notices),
}

impl Calls {
    fn descriptor(&self) -> Option<&OwnedFd> {
        match self {
            Self::None => None,
            Self::Awaited(socket) => Some(socket),
            #[cfg(target_os = "linux")]
            Self::Noticed(notices) => Some(notices.listener()),
        }
    }
}

impl Keeper<'_> {
    fn run(mut self) {
        loop {
            // Once the init has said its word there is nothing to wait for there.
            let news = self.init.as_ref().filter(|_| self.running);
            let calls = self.calls.descriptor();
            let mut fds = [
                PollFd::new(&self.control, PollFlags::IN),
                PollFd::new(self.lifeline, PollFlags::IN),
                PollFd::new(&self.wake.read, PollFlags::IN),
                PollFd::new(news.unwrap_or(&self.wake.read), PollFlags::IN),
                PollFd::new(calls.unwrap_or(&self.wake.read), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return self.kill_all(),
            }
            let calling = fds[4].revents().contains(PollFlags::IN);
            let [asked, orphaned, ended, told, called] = fds.map(|fd| !fd.revents().is_empty());
            #[cfg(target_os = "linux")]
            if called {
                self.on_call(calling);
            }
            #[cfg(not(target_os = "linux"))]
            let _ = (called, calling);
            if told {
                self.hear();
            }
            if ended {
                tree::drain(&self.wake.read);
                if !self.reap() {
                    return;
                }
            }
            if orphaned || (asked && !self.obey()) {
                return self.kill_all();
            }
        }
    }

    /// Receives where calls are noticed; with the first of them, starts the process that answers.
    #[cfg(target_os = "linux")]
    fn on_call(&mut self, calling: bool) {
        use super::supervisor::Notices;
        self.calls = match std::mem::replace(&mut self.calls, Calls::None) {
            Calls::None => Calls::None,
            Calls::Awaited(socket) => Notices::receive(&socket).map_or(Calls::None, Calls::Noticed),
            Calls::Noticed(notices) if calling => {
                self.start_supervisor(notices);
                Calls::None
            }
            // Nobody is left who could call.
            Calls::Noticed(_) => Calls::None,
        };
    }

    /// Without one, calls fail as those that the kernel does not know.
    #[cfg(target_os = "linux")]
    fn start_supervisor(&self, notices: super::supervisor::Notices) {
        let jail = Spawn::decode(self.body).map(|spawn| spawn.jail);
        let Some(jail) = jail.and_then(ostler_sandbox::linux::Jail::decode) else {
            return;
        };
        let watchdog = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        // SAFETY: a keeper has one thread.
        #[expect(unsafe_code, reason = "the supervisor is a copy of the keeper")]
        let forked = unsafe { sys::fork() };
        if let Ok(sys::Forked::Child) = forked {
            notices.supervise(&jail, self.lifeline, watchdog);
        }
    }

    /// Passes on how the command ended, if its init said so.
    fn hear(&mut self) {
        #[cfg(target_os = "linux")]
        if self.running
            && let Some(said) = self.init.as_ref().and_then(super::init::hear)
        {
            self.running = false;
            frame::report(&self.control, said);
        }
    }

    /// Whether anything of the command is left.
    fn reap(&mut self) -> bool {
        let mut end = None;
        let left = loop {
            match tree::reap() {
                Reaped::One(pid, status) if pid == self.leader => {
                    self.hear();
                    self.init = None;
                    end = self.running.then_some(status);
                    self.running = false;
                }
                Reaped::One(..) => {}
                Reaped::Running => break true,
                Reaped::Nobody => break false,
            }
        };
        if let Some(status) = end {
            frame::report(
                &self.control,
                Report::Exited {
                    exit: exit(status),
                    leftovers: left,
                },
            );
        }
        if left && self.doomed {
            self.strike();
        }
        left
    }

    /// Reads one signal number and sends it down; `false` when nobody is there any more.
    fn obey(&mut self) -> bool {
        let mut number = [0; 4];
        let mut filled = 0;
        while let Some(space) = number.get_mut(filled..).filter(|space| !space.is_empty()) {
            match rustix::io::read(&self.control, space) {
                Ok(0) => return false,
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        match Signal::from_named_raw(i32::from_ne_bytes(number)) {
            Some(Signal::KILL) => {
                self.doomed = true;
                self.strike();
            }
            Some(signal) => self.signal(signal),
            None => {}
        }
        true
    }

    /// To each process once: the group at one stroke, then those that left it.
    fn signal(&self, signal: Signal) {
        let everything = self.everything();
        let one_group = self.running && self.init.is_none();
        let apart = |pid: &Pid| match &self.init {
            Some(_) => *pid != self.leader,
            None => !one_group || sys::group_of(*pid) != self.leader.as_raw_nonzero().get(),
        };
        let apart: Vec<Pid> = everything.iter().copied().filter(apart).collect();
        if one_group {
            let _gone = kill_process_group(self.leader, signal);
        }
        for pid in &apart {
            tree::send(*pid, signal);
        }
        // Whoever lost its parent during the look was in neither place.
        let missed = self.everything();
        for pid in missed.iter().filter(|pid| !everything.contains(pid)) {
            if !one_group || sys::group_of(*pid) != self.leader.as_raw_nonzero().get() {
                tree::send(*pid, signal);
            }
        }
    }

    fn kill_all(self) {
        self.strike();
        tree::kill_below(&self.wake.read);
    }

    fn strike(&self) {
        if self.init.is_some() {
            // The kernel takes the rest along, at one stroke.
            return tree::send(self.leader, Signal::KILL);
        }
        tree::freeze_and_kill(&|| self.everything());
        if self.running {
            // Reaches the group even where processes cannot be listed.
            let _gone = kill_process_group(self.leader, Signal::KILL);
        }
    }

    fn everything(&self) -> Vec<Pid> {
        let below = tree::below(std::process::id().cast_signed());
        #[cfg(not(target_os = "linux"))]
        let below = {
            let mut below = below;
            below.extend(tree::of_session(self.leader));
            below
        };
        below
    }
}

pub(super) fn exit(status: WaitStatus) -> Exit {
    Exit {
        code: status.exit_status(),
        signal: status.terminating_signal(),
    }
}
