//! Finding and killing what is below a process.

#[cfg(not(target_os = "linux"))]
use super::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long a killer waits for what it killed. Only a process stuck in the kernel or of another user takes longer.
const KILL_DEADLINE: Duration = Duration::from_secs(5);
/// Rounds of looking for processes that were forked while the others were being stopped.
const MAX_FREEZE_ROUNDS: usize = 64;
/// Wait between two rounds of killing, unless a child ends earlier.
const KILL_PAUSE: Duration = Duration::from_millis(2);

/// Children that ended since last asked.
pub(super) enum Reaped {
    One(Pid, WaitStatus),
    /// There are children, all of them running.
    Running,
    /// There are no children at all.
    Nobody,
}

pub(super) fn reap() -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return Reaped::One(pid, status),
            Ok(None) => return Reaped::Running,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::Nobody,
        }
    }
}

/// Kills everything below this process, again and again until nothing is left.
pub(super) fn kill_below(wake: &OwnedFd) {
    let deadline = Instant::now() + KILL_DEADLINE;
    loop {
        freeze_and_kill(&|| below(std::process::id().cast_signed()));
        loop {
            match reap() {
                Reaped::One(..) => {}
                Reaped::Running => break,
                Reaped::Nobody => return,
            }
        }
        if Instant::now() > deadline {
            return;
        }
        pause(wake, KILL_PAUSE);
    }
}

/// Stops first and kills then: while a tree is being killed its members could fork out of sight.
pub(super) fn freeze_and_kill(find: &dyn Fn() -> Vec<Pid>) {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_FREEZE_ROUNDS {
        let mut news = false;
        for pid in find() {
            if stopped.insert(pid) {
                news = true;
                send(pid, Signal::STOP);
            }
        }
        if !news {
            break;
        }
    }
    for pid in stopped {
        send(pid, Signal::KILL);
    }
}

/// The process may be gone, or another user's; neither can be helped here.
pub(super) fn send(pid: Pid, signal: Signal) {
    let _gone = kill_process(pid, signal);
}

/// Waits until a child ends or the time is over.
pub(super) fn pause(wake: &OwnedFd, time: Duration) {
    let timeout = Timespec {
        tv_sec: time.as_secs().cast_signed() as _,
        tv_nsec: time.subsec_nanos() as _,
    };
    let mut fds = [PollFd::new(wake, PollFlags::IN)];
    if poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0) {
        drain(wake);
    }
}

/// Empties the pipe that the end of a child fills.
pub(super) fn drain(wake: &OwnedFd) {
    let mut bytes = [0; 64];
    while rustix::io::read(wake, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
}

/// Every process below `root`, parents before children. What forks meanwhile may be missing.
#[cfg(target_os = "linux")]
pub(super) fn below(root: i32) -> Vec<Pid> {
    let mut found: Vec<Pid> = children(root);
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(children(parent.as_raw_nonzero().get()));
        at += 1;
    }
    found
}

/// These and every process below them.
#[cfg(target_os = "linux")]
pub(super) fn with_below(roots: &[Pid]) -> Vec<Pid> {
    let below = roots
        .iter()
        .flat_map(|root| below(root.as_raw_nonzero().get()));
    roots.iter().copied().chain(below).collect()
}

/// The direct children of a process, of all its threads.
#[cfg(target_os = "linux")]
pub(super) fn children(parent: i32) -> Vec<Pid> {
    let mut found = Vec::new();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
        return found;
    };
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(
                list.split_whitespace()
                    .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)),
            ),
            // Kernels built without that file; a thread that has just ended comes here too, at the price of a scan.
            Err(_) => return scan_for_children(parent),
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn scan_for_children(parent: i32) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let child = |entry: std::fs::DirEntry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // "pid (name) state ppid …"; the name may hold anything, so look after its last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let ppid: i32 = rest.split_whitespace().nth(1)?.parse().ok()?;
        (ppid == parent).then_some(pid)
    };
    processes.flatten().filter_map(child).collect()
}

/// By the process table. Without subreapers an orphan that also left its session is out of sight.
#[cfg(not(target_os = "linux"))]
pub(super) fn below(root: i32) -> Vec<Pid> {
    #[cfg(target_os = "macos")]
    let parents = sys::parents();
    #[cfg(not(target_os = "macos"))]
    let parents: Vec<(i32, i32)> = Vec::new();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        at += 1;
    }
    found
        .into_iter()
        .skip(1)
        .filter_map(Pid::from_raw)
        .collect()
}

/// Orphans of these sessions that went to init because the system has no subreapers.
#[cfg(not(target_os = "linux"))]
pub(super) fn of_session(leader: Pid) -> Vec<Pid> {
    #[cfg(target_os = "macos")]
    let parents = sys::parents();
    #[cfg(not(target_os = "macos"))]
    let parents: Vec<(i32, i32)> = Vec::new();
    parents
        .into_iter()
        .filter_map(|(pid, _)| Pid::from_raw(pid))
        .filter(|pid| sys::session_of(*pid) == leader.as_raw_nonzero().get())
        .collect()
}
