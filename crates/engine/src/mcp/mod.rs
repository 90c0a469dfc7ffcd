//! Servers of others that speak the Model Context Protocol: their tools become tools of a session. What they say is
//! somebody else's text: bounded, cleaned, and never waited for without end. Few modules here know the
//! protocol's library, and none outside.

mod auth;
mod cache;
mod client;
mod connect;
mod content;
mod fleet;
mod form;
mod handler;
mod keeper;
mod listing;
mod names;
mod originals;
mod person;
mod provider;
mod sampling;
mod settings;
mod stdio;
mod task;
mod text;
mod tool;
mod trouble;

pub use crate::aside::{End, Said, Wanted};
pub use auth::{Registration, TokenStore, Visit, log_in};
pub use client::{About, CallError, Caller, Link};
pub use connect::Failed;
pub use content::render;
pub use fleet::{Fleet, Muster};
pub use form::{Asker, Field, Form, Kind, Reply};
pub use keeper::{Kept, Snapshot, State, Wish};
pub use names::{PREFIX, server_name, tool_name};
pub use provider::{ModelPlugin, PluginModel};
pub use settings::{
    Address, Confinement, Endpoint, McpSettings, Program, Sampling, Server, Surroundings,
    ToolTrust, Trust,
};
pub(crate) use text::cut;
pub use trouble::Code;

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

/// Whether a tool of that name is there because of servers.
pub fn is_theirs(name: &str) -> bool {
    name.starts_with(PREFIX)
}
