//! Nothing we start outlives us. Three kinds of process see to that:
//! ours; the *watchdog*, a hidden mode of the same program, from which commands are forked cheaply and which ends when
//! its socket to us closes; and one *keeper* per command, its parent and the reaper of its orphans, so that everything
//! a command ever started is below its keeper. Whoever loses its link upwards kills all that is below it.

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod client;
#[cfg(unix)]
mod frame;
#[cfg(target_os = "linux")]
mod init;
#[cfg(unix)]
mod keeper;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod strays;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "fork, exec and signal handlers have no safe form"
)]
mod sys;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod tree;

#[cfg(unix)]
pub(crate) use client::{Control, Spawner, Started};
#[cfg(unix)]
pub(crate) use frame::Report;

/// The hidden argument that makes a program a watchdog.
#[cfg(unix)]
const MODE: &str = "__watchdog";

/// To be called first thing in `main`: becomes the watchdog if that is what this process was started for, and never
/// returns then. A program that does not call it (a test) gets its watchdogs by plain fork instead.
pub fn run_if_asked() {
    #[cfg(unix)]
    {
        if std::env::args_os().nth(1).is_some_and(|arg| arg == MODE) {
            server::run_on_stdin();
        }
        client::allow_reexec();
    }
}
