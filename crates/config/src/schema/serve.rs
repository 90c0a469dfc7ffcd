//! What `ostler serve` listens on and whom it lets in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `ostler serve`. Only your own file may set this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServeConfig {
    /// The address that it listens on. Another one than a loopback address needs a login.
    pub bind: String,
    pub port: u16,
    /// How clients show who they are.
    pub auth_mode: AuthMode,
    /// The token that lets clients in, 16 characters or more. Unset: a new one at each start, which is printed.
    pub token: Option<String>,
    /// The hash of the password, as `ostler serve --hash-password` prints it.
    pub password_hash: Option<String>,
    /// A proxy of yours stands in front: what it says in X-Forwarded-For, -Host and -Proto counts.
    pub behind_proxy: bool,
    /// Further names, or names with a port, that the server is called by.
    pub hosts: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// No login; only on a loopback address.
    None,
    #[default]
    Token,
    Password,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1".into(),
            port: 8787,
            auth_mode: AuthMode::default(),
            token: None,
            password_hash: None,
            behind_proxy: false,
            hosts: Vec::new(),
        }
    }
}
