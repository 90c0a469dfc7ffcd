//! `ostler uninstall` as it is typed.

use clap::Args;

#[derive(Debug, Args)]
pub struct Uninstall {
    /// Only show what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y', conflicts_with = "dry_run")]
    pub yes: bool,
    /// Your settings, keys, sessions and checkpoints, too
    #[arg(long)]
    pub purge: bool,
}
