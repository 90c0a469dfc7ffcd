//! `[[plugins]]`, as they are written.

use super::hooks::RunsOn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A server of others. Its tools are called `mcp__<name>__<tool>`.
// tidy: plain data
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginConfig {
    /// Part of the names of its tools.
    #[serde(default)]
    pub name: String,
    /// tools: it speaks MCP; provider: it offers models, as a program that speaks lines of JSON.
    #[serde(default)]
    pub provides: PluginProvides,
    /// stdio: a program; http: an address. Unset: whichever of `command` and `url` is given.
    #[serde(default, rename = "type")]
    pub kind: Option<PluginKind>,
    /// The program. `${VAR}` and `${VAR:-default}` are expanded here and in args, env, url and headers.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables beside those that commands get.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The folder it starts in; one of the project means that it runs in the sandbox. Unset: your home folder, or the root
    /// for one that runs in the sandbox or has `sandbox = false`.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The address of a server that is reached over HTTP.
    #[serde(default)]
    pub url: Option<String>,
    /// Where a program runs in a session at another place: here, or there, in the sandbox of commands.
    #[serde(default)]
    pub on: RunsOn,
    /// HTTP headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A command that prints more headers, as a JSON object.
    #[serde(default, alias = "headersHelper")]
    pub headers_helper: Option<String>,
    /// Only these tools, as the server calls them. Empty means all.
    #[serde(default, alias = "enabledTools")]
    pub enabled_tools: Vec<String>,
    /// All but these.
    #[serde(default, alias = "disabledTools")]
    pub disabled_tools: Vec<String>,
    /// How long a call may go without a sign of life, over `[tools] mcp_call_timeout_seconds`; 0 means without limit.
    #[serde(default)]
    pub call_timeout_seconds: Option<u64>,
    /// The same for single tools, as the server calls them.
    #[serde(default)]
    pub tool_timeout_seconds: BTreeMap<String, u64>,
    /// Tools that you know to read only: they run unasked, in plan mode too.
    #[serde(default)]
    pub trusted_read_only_tools: Vec<String>,
    /// Whether it may have a model's word at your cost: ask (when you say so, each time), allow or deny.
    #[serde(default)]
    pub sampling: PluginSampling,
    /// Whether the program runs in the sandbox that commands run in. Unset: a project's does, and one that starts in, or
    /// names, a place which commands may change; with false, yours does not even then.
    #[serde(default)]
    pub sandbox: Option<bool>,
    /// Left out, without being forgotten.
    #[serde(default)]
    pub disabled: bool,
    /// How `ostler mcp login` registers, where the server cannot tell.
    #[serde(default)]
    pub oauth: Option<PluginOauth>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginProvides {
    #[default]
    Tools,
    Provider,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginSampling {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    Stdio,
    #[serde(
        alias = "streamable-http",
        alias = "streamable_http",
        alias = "streamableHttp"
    )]
    Http,
    /// HTTP as of 2024: the server's events come from `url`, which mostly ends in `/sse`, and say where messages go.
    Sse,
}

impl PluginKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// An application that was registered by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PluginOauth {
    #[serde(alias = "clientId")]
    pub client_id: Option<String>,
    #[serde(alias = "clientSecret")]
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    /// A page that says who we are, for issuers that read it instead of registering us.
    #[serde(alias = "clientMetadataUrl")]
    pub client_metadata_url: Option<String>,
    /// The port on this machine that the browser comes back to.
    #[serde(alias = "callbackPort")]
    pub callback_port: Option<u16>,
}
