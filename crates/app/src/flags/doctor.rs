//! Flags of `ostler doctor`.

use clap::Args;

#[derive(Debug, Args)]
pub struct Doctor {
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Also ask the providers whether they answer
    #[arg(long)]
    pub online: bool,
    /// Also look for other agents: their programs, versions and logins
    #[arg(long)]
    pub backends: bool,
    /// Also put one question to each of them; it costs a request
    #[arg(long, requires = "backends")]
    pub ask: bool,
}
