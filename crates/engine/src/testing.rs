//! What unit tests of the core share: entries made by hand, and models of the four protocols that nobody calls.

use crate::confine::{CallSandbox, Terms};
use crate::tool::Context;
use ostler_llm::{Model, Params, Prefix, Target, Transport, TransportOptions};
use ostler_testkit::Kind;
use serde_json::json;
use std::sync::Arc;

/// `mock/<model>` behind one of the protocols; it thinks and sees.
pub fn target(kind: Kind, model: &str) -> Target {
    Target {
        reasoning: true,
        images: true,
        ..Target::new(origin(model), kind.config_name(), "http://127.0.0.1:9")
    }
}

pub fn model(kind: Kind, name: &str) -> Model {
    let transport = Arc::new(Transport::new(TransportOptions::default()));
    Model::new(Arc::new(target(kind, name)), transport).unwrap()
}

pub fn prefix() -> Prefix {
    Prefix {
        system: "Be brief.".into(),
        tools: vec![ostler_wire::ToolSpec {
            name: "bash".into(),
            description: "Runs a command".into(),
            parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}})
                .into(),
        }],
    }
}

pub fn params() -> Params {
    Params::default()
}

/// The sandbox of a call with this context: none, as the settings of tests have it.
pub fn call_sandbox(cx: &Context) -> CallSandbox {
    CallSandbox {
        host: cx.host.clone(),
        settings: Arc::default(),
        share: Arc::default(),
        policy: cx.guard.policy.clone(),
        tools: cx.services.settings.clone(),
        artifacts: cx.artifacts.clone(),
        scope: cx.scope.clone(),
        call_id: cx.call_id.clone(),
        terms: Terms::default(),
        history: None,
        pane: None,
        terminal: None,
    }
}

pub use ostler_store::testing::*;
