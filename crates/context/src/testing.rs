//! What the unit tests share: entries made by hand, and models of the four protocols that nobody calls.

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

pub use ostler_store::testing::*;
