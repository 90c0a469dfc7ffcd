//! `[host.*]`, `[helper]` and `[acp]`, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place to work at, reached by a program that runs others there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostConfig {
    /// The program and its arguments before the command to run there, such as ["docker", "exec", "-i", "box"].
    pub exec: Vec<String>,
    /// The folder to work in there, unless --root says another.
    pub root: Option<String>,
}

/// Sessions in an editor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AcpConfig {
    /// Whether commands run in the editor's terminal, where no sandbox holds them, if the editor has terminals for agents.
    pub client_terminal: bool,
}

/// The helper that is copied to other places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HelperConfig {
    /// A folder of helpers for other systems, named like `ostler-host-linux-aarch64`.
    pub folder: Option<String>,
    /// Whether it is copied to a place that has none.
    pub install: HelperInstall,
    /// How long it keeps what runs when the link breaks, and how long the link is tried again.
    pub grace_seconds: u64,
    /// `[host] tmux`, moved here while loading: names of places stand beside it there.
    #[schemars(skip)]
    pub tmux: bool,
}

impl Default for HelperConfig {
    fn default() -> Self {
        Self {
            folder: None,
            install: HelperInstall::default(),
            grace_seconds: 600,
            tmux: false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HelperInstall {
    /// The person is asked.
    #[default]
    Ask,
    Always,
    Never,
}
