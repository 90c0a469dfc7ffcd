//! Servers of others that speak the Model Context Protocol: connections, login, what they offer, calls and tasks. What
//! they say is somebody else's text: bounded, cleaned, and never waited for without end. The protocol's library is known
//! here and nowhere else. Starting a program, asking the person and asking a model are left to the user of this crate
//! (`Launcher`, `Asker`); it knows no session, no permission and no sandbox.

mod auth;
mod cache;
mod client;
mod connect;
mod content;
mod event_stream;
mod failure;
mod form;
mod handle;
mod handler;
mod http_client;
mod launch;
mod listing;
mod names;
mod sampling;
pub mod server;
mod servers;
mod settings;
mod stdio;
mod task;
pub mod text;

pub use auth::{LoginVisit, log_in};
pub use client::{CallError, CallResult, Caller, Connection, PeerInfo};
pub use content::{Attachment, Content};
pub use failure::{ConnectError, Failure, FailureCode};
pub use form::{Asker, Field, FieldKind, Form, FormReply};
pub use handle::{ConnectorCommand, ServerHandle, Snapshot, State};
pub use launch::{Confinement, LaunchError, Launcher, Program};
pub use names::{server_name, tool_name};
pub use sampling::{SamplingAnswer, SamplingEnd, SamplingMessage, SamplingRequest, SamplingRole};
pub use servers::{OfferedTool, Offers, Servers};
pub use settings::{
    Address, Endpoint, HttpForm, McpSettings, Redaction, Registration, Sampling, Server,
    ServerContext, TokenStore, ToolTrust, Trust,
};
pub use stdio::{MAX_MESSAGE, ServerLog, describe_exit, with_log_tail};

use ostler_wire::{Why, Word};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a server offers, cleaned and bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lists {
    /// By name.
    pub tools: Vec<ToolInfo>,
    pub prompts: Vec<PromptInfo>,
    pub resources: Vec<ResourceInfo>,
    /// What had to be left out, for people.
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// More than so many.
    ToolsAfter(usize),
    /// Of the tool of that name.
    Schema(String),
}

impl LeftOut {
    pub fn why(&self) -> Why {
        match self {
            Self::ToolsAfter(most) => Why::ours(Word::McpFirstTools, [most.to_string().into()]),
            Self::Schema(tool) => Why::ours(Word::McpBigSchema, [tool.as_str().into()]),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolInfo {
    /// As its server calls it.
    pub name: String,
    pub description: String,
    pub schema: Map<String, Value>,
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptInfo {
    pub name: String,
    pub description: String,
    /// Names, those that must be given first.
    pub arguments: Vec<String>,
    pub required: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub description: String,
}
