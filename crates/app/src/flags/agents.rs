//! `ostler skills …` and `ostler agents …` as they are typed.

use super::Listing;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Skills {
    /// Every skill, what it is for and where it comes from
    List {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// The text of one
    Show { name: String },
}

#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Every role that sub-agents can play, with its model and what it may do
    List {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}
