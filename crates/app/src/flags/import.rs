//! `ostler import` as it is typed.

use super::Listing;
use clap::Args;
use clap::builder::PossibleValuesParser;

#[derive(Debug, Default, Args)]
pub struct Import {
    /// Only from this agent; may be repeated
    #[arg(long, value_name = "AGENT", value_parser = agents())]
    pub from: Vec<String>,
    /// Only show what would be taken
    #[arg(long)]
    pub dry_run: bool,
    /// Only these kinds, comma-separated
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kinds())]
    pub take: Vec<String>,
    /// Do not ask. What starts programs, sends data or allows something is taken only if --take names its kind
    #[arg(long, short = 'y', conflicts_with = "dry_run")]
    pub yes: bool,
    /// Sessions of every project, not only of this one
    #[arg(long)]
    pub all: bool,
    /// text, or json for programs; with --dry-run
    #[arg(long, value_enum, default_value_t, requires = "dry_run")]
    pub format: Listing,
}

/// The agents that are known.
pub fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(
        ostler_import::agents()
            .iter()
            .map(|agent| agent.name.as_str()),
    )
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(ostler_import::Kind::ALL.map(ostler_import::Kind::name))
}
