//! Lines linked by `parentId`; the branch of the newest one counts.

use super::lines::Lines;
use super::{Context, path_of, text_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use ostler_wire::Origin;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    let mut all: Vec<Value> = Vec::new();
    let mut parents: HashMap<String, Option<String>> = HashMap::new();
    let mut leaf = None;
    for line in lines {
        if line["type"] == "session" {
            let conversation = &mut builder.conversation;
            if let Some(id) = line["id"].as_str() {
                conversation.id = id.to_owned();
            }
            conversation.root = path_of(&line["cwd"]);
            continue;
        }
        if let Some(name) = line["name"]
            .as_str()
            .filter(|_| line["type"] == "session_info")
        {
            builder.conversation.title = Some(name.to_owned());
        }
        if let Some(id) = line["id"].as_str() {
            let parent = line["parentId"].as_str().map(str::to_owned);
            parents.insert(id.to_owned(), parent);
            leaf = Some(id.to_owned());
        }
        all.push(line);
    }
    let mut branch = HashSet::new();
    while let Some(id) = leaf {
        let parent = parents.get(&id).cloned().flatten();
        leaf = if branch.insert(id) { parent } else { None };
    }
    for line in all {
        // Lines of the first versions have no ids.
        let is_here = line["id"].as_str().is_none_or(|id| branch.contains(id));
        if is_here {
            one(&line, context, builder);
        }
    }
}

fn one(line: &Value, context: &Context<'_>, builder: &mut Builder) {
    let ts = time(&line["timestamp"]);
    let message = &line["message"];
    match (line["type"].as_str(), message["role"].as_str()) {
        (Some("compaction"), _) => builder.folded(&ts, &text_of(&line["summary"])),
        (Some("message"), Some("user")) => {
            let said = text_of(&message["content"]);
            if context.is_said(&said) {
                builder.said(&ts, &said, Vec::new());
            }
        }
        (Some("message"), Some("assistant")) => answer(&ts, message, context, builder),
        (Some("message"), Some("toolResult")) => builder.result(
            &ts,
            ResultFacts {
                call: message["toolCallId"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                text: text_of(&message["content"]),
                failed: message["isError"] == true,
                diff: message["details"]["patch"].as_str().map(str::to_owned),
                ..ResultFacts::default()
            },
        ),
        (Some(_) | None, _) => {}
    }
}

fn answer(ts: &str, message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let model = message["model"].as_str().map(|model| Origin {
        provider: message["provider"]
            .as_str()
            .unwrap_or(&context.agent.name)
            .to_owned(),
        model: model.to_owned(),
    });
    for block in message["content"].as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let piece = match block["type"].as_str() {
            Some("text") => Piece::Text(text("text")),
            Some("thinking") => Piece::Reasoning(text("thinking")),
            Some("toolCall") => Piece::Call {
                id: text("id"),
                name: text("name"),
                input: block["arguments"].clone(),
            },
            Some(_) | None => continue,
        };
        builder.piece(ts, piece, model.as_ref());
    }
    if message["stopReason"] == "aborted" {
        builder.interrupted(ts);
    }
}
