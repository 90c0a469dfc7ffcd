//! `ostler checkpoint …` as it is typed.

use super::Listing;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// The checkpoints of this project, oldest first
    List {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// What one holds and what was left out of it
    Show {
        id: u64,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// What changed from one to another, or to now
    Diff {
        from: u64,
        /// The tree as it is now when left out
        to: Option<u64>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Save the tree as it is now
    Take {
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Save ignored files, too
        #[arg(long)]
        ignored: bool,
    },
    /// Bring the tree back as it was; that can be undone
    Restore(CheckpointRestore),
    /// Remove the oldest ones until the rest fits a size
    Gc {
        /// Like 500MB or 2GB; that of the configuration when left out
        #[arg(long, value_name = "SIZE")]
        quota: Option<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}

#[derive(Debug, Args)]
pub struct CheckpointRestore {
    pub id: u64,
    /// Only these and what is below them
    pub paths: Vec<PathBuf>,
    /// Leave files that changed since the newest checkpoint as they are
    #[arg(long)]
    pub keep: bool,
    /// Restore files that changed since the newest checkpoint, too
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,
    /// HEAD, refs and index of the repository, too
    #[arg(long)]
    pub git: bool,
    /// text, or json for programs
    #[arg(long, value_enum, default_value_t)]
    pub format: Listing,
}
