//! `ostler mcp-server`: its flags.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct McpServer {
    /// Further folders that calls may work in, beside --root or the current one
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Listen for HTTP at this port or address instead of stdin and stdout; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub http: Option<String>,
}
