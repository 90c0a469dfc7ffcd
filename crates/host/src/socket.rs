//! Sockets between processes of one person on this machine: a listener in a private folder, and connections to it. Other
//! accounts are refused, and so is every process that descends from the one that listens.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use elsewhere::{Connection, Listener, connect, is_inside_session, listen};
#[cfg(unix)]
pub use unix::{Connection, Listener, connect, is_inside_session, listen};
