//! Flags that show the sessions of a server elsewhere, and what becomes of them.

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
pub struct Attach {
    /// Show the sessions of the `ostler serve` at this address instead of running one here
    #[arg(long = "attach", global = true, value_name = "URL")]
    pub url: Option<String>,
    /// Read the token for --attach from the first line of stdin
    #[arg(long, global = true, requires = "url")]
    pub token_stdin: bool,
    /// The server, with its token
    #[arg(skip)]
    pub remote: Option<Remote>,
}

/// Which server, and who we are to it.
#[derive(Clone)]
pub struct Remote {
    pub origin: String,
    /// What the rest of the address names.
    pub place: RemotePlace,
    pub token: String,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin)
    }
}

/// What an address of the workbench shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemotePlace {
    Home,
    Session(String),
    Project(String),
}
