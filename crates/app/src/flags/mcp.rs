//! `ostler mcp …` as it is typed.

use super::Listing;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// Add a server: a program with its arguments after --, or an address
    Add(McpAdd),
    /// Every server, and where it is configured
    List {
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
    /// One server as it is configured, secrets covered
    Get { name: String },
    /// Take a server out of the file that holds it
    Remove {
        name: String,
        /// Only from this file
        #[arg(long, value_enum)]
        scope: Option<McpScope>,
    },
    /// Take over the servers of another program's file; without one, of all that are found
    Import { file: Option<PathBuf> },
    /// Log in to a server that wants it, in the browser
    Login {
        name: String,
        /// Open no browser: print what to open elsewhere
        #[arg(long)]
        no_browser: bool,
    },
    /// Forget the login of a server
    Logout { name: String },
    /// Connect to a server and say what it offers, or why not
    Test {
        name: String,
        /// text, or json for programs
        #[arg(long, value_enum, default_value_t)]
        format: Listing,
    },
}

#[derive(Debug, Args)]
pub struct McpAdd {
    pub name: String,
    /// The program and its arguments, or an address
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND|URL"
    )]
    pub what: Vec<String>,
    /// How it is reached: stdio (a program) or http (an address); found out from what follows when left out
    #[arg(
        long = "type",
        short = 't',
        visible_alias = "transport",
        value_enum,
        value_name = "TYPE"
    )]
    pub kind: Option<McpType>,
    /// Where it is kept: user (every project), project (.mcp.json) or local (this project, not shared)
    #[arg(long, short = 's', value_enum, default_value = "user")]
    pub scope: McpScope,
    /// A variable for the program, NAME=VALUE
    #[arg(long, short = 'e', value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A header for an address, "Name: value"
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub header: Vec<String>,
    /// How the issuer of an address's logins knows us, where it does not register us itself
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// The variable that has the secret which goes with it
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub client_secret_env: Option<String>,
    /// The port that the browser comes back to, where the issuer wants a certain one
    #[arg(long, value_name = "PORT")]
    pub callback_port: Option<u16>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpType {
    Stdio,
    #[value(alias = "streamable-http")]
    Http,
    Sse,
}

/// A file that holds servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpScope {
    User,
    Project,
    Local,
}
