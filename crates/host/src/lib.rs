//! Where commands and files happen. `Host` is the trait, `Local` this machine by syscalls; everything unix-only of the
//! project lives here. It decides nothing about permission: callers say which folders may be written.

mod account;
mod address;
pub mod checkpoint;
mod command;
#[cfg(unix)]
mod descriptors;
pub mod diff;
mod error;
mod exit;
mod files;
mod git_file;
#[expect(unsafe_code, reason = "the environment block has no safe form")]
mod hide;
mod host;
#[cfg_attr(
    unix,
    expect(unsafe_code, reason = "a handle is registered to be waited for")
)]
pub mod keyboard;
mod local;
#[cfg(target_os = "linux")]
mod other_process;
pub mod pane;
mod process;
mod program;
pub mod proxy;
pub mod raw;
pub mod remote;
pub mod sandbox;
mod scratch;
pub mod search;
pub mod sight;
pub mod signals;
pub mod socket;
pub mod watchdog;

pub use account::{account_home, closed_to_others};
pub use address::{is_this_machine, leads_to};
pub use command::{Command, Exit, Output, Signal, Stdio};
pub use error::{Error, Result};
pub use files::border::{Ban, Beyond, Border, Depth, Judgement, Pattern, Place, is_below};
pub use files::git_settings::{GitSettings, SettingsFile};
pub use files::protected::Protected;
pub use files::{
    Content, Entry, Kind, Listing, RenameOptions, Renamed, Roots, Span, Stat, WriteOptions, Written,
};
pub use files::{
    Followed, Opened, TreeReader, follow_links, glob_matches, look, open_file,
    open_without_waiting, read_bounded, read_certificates, real_path,
};
pub use hide::hide;
pub use host::{CheckpointFut, Fut, Host, NetworkFut};
pub use local::Local;
pub use process::{Input, Leftovers, Process, TreeEnd, far};
pub use program::Programs;
pub use scratch::Scratch;

/// The permission bits of a file, where the system has them.
pub fn mode_of(path: &std::path::Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(std::fs::metadata(path).ok()?.permissions().mode())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Options that make new files for this person alone, whatever the umask, where the system knows people.
pub fn private_options() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Takes the rights of others off a file or folder of this person. Links and what belongs to others are left alone.
pub fn tighten(path: &std::path::Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let meta = std::fs::symlink_metadata(path)?;
        let mode = meta.permissions().mode();
        let ours = meta.uid() == rustix::process::geteuid().as_raw();
        if ours && !meta.is_symlink() && mode & 0o077 != 0 {
            let tight = std::fs::Permissions::from_mode(mode & 0o700);
            std::fs::set_permissions(path, tight)?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes a folder and its parents; those that are new are for this person alone, where the system knows people.
pub fn private_dir(path: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}
