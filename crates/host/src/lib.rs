//! Where commands and files happen. `Host` is the trait, `Local` this machine by syscalls; everything unix-only of the
//! project lives here. It decides nothing about permission: callers say which folders may be written.

mod command;
mod error;
mod files;
mod host;
mod local;
mod process;
pub mod watchdog;

pub use command::{Command, Exit, Output, Signal, Stdio};
pub use error::{Error, Result};
pub use host::{
    Content, Entry, Fut, Host, Kind, Listing, RenameOptions, Renamed, Roots, Span, Stat,
    WriteOptions, Written,
};
pub use local::Local;
pub use process::{Input, Process};
