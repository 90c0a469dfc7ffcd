//! Where commands and files happen. `Host` is the trait, `Local` this machine by syscalls, `Remote` another place.
//! Its files, its sandbox and its checkpoints are crates of their own. It decides nothing about permission: callers say which folders may be written.

mod command;
#[expect(unsafe_code, reason = "the environment block has no safe form")]
mod hide;
mod host;
#[cfg_attr(
    unix,
    expect(unsafe_code, reason = "a handle is registered to be waited for")
)]
pub mod keyboard;
mod local;
pub mod pane;
mod process;
mod program;
pub mod remote;
pub mod search;
pub mod signals;
pub mod socket;
pub mod watchdog;

pub use ostler_checkpoint as checkpoint;
pub use ostler_checkpoint::diff;
pub use ostler_files::{
    Ban, Beyond, Border, Content, Depth, Entry, Error, Followed, GitSettings, Judgement, Kind,
    Listing, Opened, Pattern, Place, Protected, RenameOptions, Renamed, Result, Roots, Scratch,
    SettingsFile, Span, Stat, TreeReader, WriteOptions, Written, account_home, closed_to_others,
    follow_links, glob_matches, is_below, look, mode_of, open_file, open_without_waiting,
    private_dir, private_options, raw, read_bounded, read_certificates, read_small, real_path,
    sight, tighten,
};
pub use ostler_sandbox as sandbox;
pub use ostler_sandbox::{is_this_machine, leads_to, proxy};

pub use command::{Command, Exit, Output, Signal, Stdio};
pub use hide::hide;
pub use host::{CheckpointFut, Fut, Host, NetworkFut};
pub use local::Local;
pub use process::{Input, Leftovers, Process, TreeEnd, far};
pub use program::Programs;
