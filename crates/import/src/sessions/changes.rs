//! Lines that add or replace messages by their ids, or set fields of the whole; older ones are one document with all.

use super::lines::Lines;
use super::{Context, path_of, text_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use ostler_wire::Origin;
use serde_json::Value;

/// Bytes of the file that names the folder of the project.
const MAX_ROOT: u64 = 4_096;

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    let mut messages: Vec<Value> = Vec::new();
    let add = |message: &Value, messages: &mut Vec<Value>| {
        let there = messages.iter().rposition(|old| old["id"] == message["id"]);
        match there.and_then(|at| messages.get_mut(at)) {
            Some(old) => *old = message.clone(),
            None => messages.push(message.clone()),
        }
    };
    for line in lines {
        if let Some(id) = line["sessionId"].as_str() {
            builder.conversation.id = id.to_owned();
        }
        let whole = line["$set"]["messages"]
            .as_array()
            .or_else(|| line["messages"].as_array());
        if let Some(all) = whole {
            messages.clone_from(all);
        } else if line["type"].is_string() && line["id"].is_string() {
            add(&line, &mut messages);
        }
    }
    builder.conversation.root = root(context);
    for message in &messages {
        one(message, context, builder);
    }
}

/// The folder is named in a file beside the folder of the logs.
fn root(context: &Context<'_>) -> Option<std::path::PathBuf> {
    let file = context.path.parent()?.parent()?.join(".project_root");
    let read = ostler_files::read_bounded(&file, MAX_ROOT, &ostler_files::Border::none()).ok()?;
    let text = String::from_utf8(read.bytes.into()).ok()?;
    path_of(&Value::String(text.trim().to_owned()))
}

fn one(message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let ts = time(&message["timestamp"]);
    match message["type"].as_str() {
        Some("user") => {
            let said = match &message["content"] {
                Value::Array(parts) => {
                    let texts = parts.iter().filter_map(|part| part["text"].as_str());
                    let texts: Vec<&str> = texts.filter(|text| context.is_said(text)).collect();
                    texts.join("\n")
                }
                Value::String(text) if context.is_said(text) => text.clone(),
                _ => String::new(),
            };
            builder.said(&ts, &said, Vec::new());
        }
        Some("info" | "error" | "warning") | None => {}
        Some(_) => answer(&ts, message, context, builder),
    }
}

fn answer(ts: &str, message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let model = message["model"].as_str().map(|model| Origin {
        provider: context.agent.name.clone(),
        model: model.to_owned(),
    });
    let thoughts = message["thoughts"].as_array().into_iter().flatten();
    for thought in thoughts {
        let text = |key: &str| thought[key].as_str().unwrap_or_default();
        let said = format!("{}\n{}", text("subject"), text("description"));
        builder.piece(ts, Piece::Reasoning(said.trim().to_owned()), model.as_ref());
    }
    builder.piece(
        ts,
        Piece::Text(text_of(&message["content"])),
        model.as_ref(),
    );
    let calls: Vec<&Value> = message["toolCalls"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    for call in &calls {
        let text = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
        let piece = Piece::Call {
            id: text("id"),
            name: text("name"),
            input: call["args"].clone(),
        };
        builder.piece(ts, piece, model.as_ref());
    }
    for call in calls {
        let status = call["status"].as_str().unwrap_or_default();
        if !matches!(status, "success" | "error" | "cancelled") {
            continue;
        }
        let responses = call["result"].as_array().into_iter().flatten();
        let texts = responses.map(|part| {
            let response = &part["functionResponse"]["response"];
            let said = response.get("output").or_else(|| response.get("error"));
            text_of(said.unwrap_or(&part["text"]))
        });
        let shown = &call["resultDisplay"];
        builder.result(
            ts,
            ResultFacts {
                call: call["id"].as_str().unwrap_or_default().to_owned(),
                text: unwrapped(&texts.collect::<Vec<_>>().join("\n")),
                failed: status != "success",
                diff: shown["fileDiff"].as_str().map(str::to_owned),
                ..ResultFacts::default()
            },
        );
    }
}

/// Without the tags that tell the model not to trust it, and the lines about processes.
fn unwrapped(text: &str) -> String {
    let is_kept = |line: &&str| {
        !matches!(*line, "<untrusted_context>" | "</untrusted_context>")
            && !line.starts_with("Process Group PGID:")
    };
    text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}
