//! Tools of ours for clients of others: the server side of the protocol, on two streams or over HTTP. What the tools do is a
//! `ToolService`, which the binary implements; nothing here knows a session, reads the environment or prints.

mod client;
mod handler;
mod http;
mod streams;

pub use client::{CallClient, Question, QuestionReply};
pub use http::{HttpSettings, serve_http};
pub use streams::{StreamEnd, serve_streams};

use futures_util::future::BoxFuture;
use rmcp::model::Tool;
use serde_json::{Map, Value};

/// How the server names itself.
#[derive(Clone, Debug)]
pub struct ServerAbout {
    pub name: String,
    pub title: String,
    pub version: String,
    /// For the model of the client: what the tools are for.
    pub instructions: String,
}

/// The tools of a server, as clients are told of them.
#[derive(Clone, Debug, Default)]
pub struct ToolTable(Vec<Tool>);

impl ToolTable {
    /// From a JSON list of tools, as `tools/list` has them.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tool| tool.name == name)
    }
}

/// A call of one of the tools in the table.
pub struct ToolCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub client: CallClient,
}

/// What a call gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    pub text: String,
    /// What the tool's output schema describes.
    pub data: Option<Value>,
    pub is_error: bool,
}

impl ToolAnswer {
    /// A call that could not be carried out, and why.
    pub fn error(why: impl Into<String>) -> Self {
        Self {
            text: why.into(),
            data: None,
            is_error: true,
        }
    }
}

pub trait ToolService: Send + Sync {
    fn about(&self) -> ServerAbout;

    fn tools(&self) -> &ToolTable;

    /// Carries out a call. It ends soon after `client.stopped()`.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolAnswer>;
}
