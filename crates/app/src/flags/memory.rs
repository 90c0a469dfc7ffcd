//! `ostler memory …` as it is typed.

use super::Listing;
use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// The facts of this project and of all, those that changed last first
    List {
        /// Those that were archived
        #[arg(long)]
        archived: bool,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// One fact whole
    Show {
        id: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Facts with any of the words, best first
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Open the file of a fact in your editor
    Edit { id: String },
    /// Take a fact out of what is found; restore brings it back
    Archive {
        id: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Bring an archived fact back
    Restore {
        id: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// The folders that facts lie in, or the file of one
    Path {
        id: Option<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemorySwitch {
    On,
    Off,
    Status,
}
