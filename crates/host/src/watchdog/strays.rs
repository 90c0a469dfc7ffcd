//! What a watchdog that was killed leaves to us, its parent and the reaper above it.

use rustix::process::Pid;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Watchdogs of this process that were not yet waited for.
static WATCHDOGS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

pub(super) fn watchdogs() -> MutexGuard<'static, Vec<Pid>> {
    WATCHDOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every stray: everything we start is in another session, and all but watchdogs is started by one, so any other
/// child in a foreign session was orphaned. Blocks.
#[cfg(target_os = "linux")]
pub(super) fn sweep() {
    use super::tree;
    use rustix::process::{WaitOptions, waitpid};
    use std::time::{Duration, Instant};

    /// Keepers see the watchdog gone and end what is theirs. Killing them meanwhile would leave that to us alone, and we
    /// may be killed next.
    const KEEPERS_FIRST: Duration = Duration::from_millis(300);
    /// Only a process stuck in the kernel or of another user takes longer.
    const LONGEST: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(2);

    let start = Instant::now();
    loop {
        let strays = strays();
        if strays.is_empty() || start.elapsed() > LONGEST {
            return;
        }
        if start.elapsed() > KEEPERS_FIRST {
            tree::freeze_and_kill(&|| tree::with_below(&strays));
        }
        for stray in strays {
            let _running = waitpid(Some(stray), WaitOptions::NOHANG);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Without subreapers nothing comes to us; keepers kill what is theirs when they see the watchdog gone.
#[cfg(not(target_os = "linux"))]
pub(super) fn sweep() {}

#[cfg(target_os = "linux")]
fn strays() -> Vec<Pid> {
    use super::sys::session_of;

    let watchdogs = watchdogs();
    let own = session_of(rustix::process::getpid());
    let mut children = super::tree::children(std::process::id().cast_signed());
    children.retain(|child| !watchdogs.contains(child) && session_of(*child) != own);
    children
}
