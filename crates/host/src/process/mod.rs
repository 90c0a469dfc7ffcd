//! A running command: its output as it comes, its end, its input. On unix by way of the watchdog.

#[cfg(not(unix))]
mod plain;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use plain::spawn;
#[cfg(not(unix))]
pub use plain::{Input, Leftovers, Process, TreeEnd};
#[cfg(unix)]
pub(crate) use unix::spawn;
#[cfg(unix)]
pub use unix::{Input, Leftovers, Process, TreeEnd};
