//! Entries made by hand, which the unit tests of this crate and of those above it share.

use ostler_wire::{Body, Entry, Json, Message, Origin, Part, Role, Stop, ToolResult, ToolUse};
use serde_json::{Value, json};

pub fn origin(model: &str) -> Origin {
    Origin {
        provider: "mock".into(),
        model: model.into(),
    }
}

/// A log without branches.
pub fn numbered(bodies: impl IntoIterator<Item = Body>) -> Vec<Entry> {
    let entry = |(i, body): (usize, Body)| Entry {
        entry: i as u64,
        parent: i.checked_sub(1).map(|p| p as u64),
        ts: "2026-11-15T10:00:00.000Z".into(),
        body,
    };
    bodies.into_iter().enumerate().map(entry).collect()
}

pub fn user(text: &str) -> Body {
    Body::Message(Message::user(text))
}

/// An answer of `mock/mock-model` with these parts.
pub fn answer(parts: Vec<Part>) -> Body {
    let text = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        Part::Reasoning { .. } | Part::Call { .. } => None,
    });
    Body::Message(Message {
        role: Role::Assistant,
        text: text.collect(),
        model: Some(origin("mock-model")),
        stop: Some(Stop::End),
        parts,
        ..Message::user("")
    })
}

pub fn said(text: &str) -> Part {
    Part::Text {
        text: text.into(),
        replay: None,
    }
}

pub fn called(id: &str) -> Part {
    Part::Call {
        id: id.into(),
        replay: None,
    }
}

pub fn tool_use(id: &str, name: &str, input: Value) -> Body {
    Body::ToolUse(ToolUse {
        id: id.into(),
        name: name.into(),
        input: Json::from(input),
        repair: None,
        by: None,
        via: None,
        title: None,
    })
}

/// A result of a tool that nobody knows: its data is shown as it is.
pub fn result(id: &str, text: &str) -> Body {
    Body::ToolResult(ToolResult {
        tool_use_id: id.into(),
        output: json!({"ok": true, "data": {"text": text}}).into(),
        ok: true,
        duration_ms: 1,
    })
}
