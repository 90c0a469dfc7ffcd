//! `ostler sessions …` as it is typed.

use super::{Listing, Resume};
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    #[command(flatten)]
    Stored(Sessions),
    /// Continue one
    Resume(Resume),
}

/// What is done with sessions without opening one.
#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// Sessions of this project, newest first
    List {
        /// Of every project
        #[arg(long)]
        all: bool,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// What was said and done
    Show {
        id: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Find messages that have all the words
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// Write one as a document
    Export {
        id: String,
        #[arg(long, value_enum, default_value = "md")]
        format: ExportFormat,
        /// A file instead of stdout
        #[arg(long, short = 'o', value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Delete one
    Delete { id: String },
    /// Delete the oldest ones until the rest fits a size
    Gc {
        /// Like 500MB or 2GB; [sessions] quota when left out
        #[arg(long, value_name = "SIZE")]
        quota: Option<String>,
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Md,
    Json,
    Html,
}
