//! `ostler serve`: its flags.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Serve {
    /// Further folders to offer as projects, beside --root or the current one
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
    /// Listen on this port; 0 takes a free one
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Ask for a password that lets people in, for this run
    #[arg(long)]
    pub password: bool,
    /// Read a password and print the hash for `[serve] password_hash`
    #[arg(long, conflicts_with_all = ["open", "port", "password", "folders"])]
    pub hash_password: bool,
}
