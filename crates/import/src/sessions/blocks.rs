//! Lines with one message of blocks each, linked by `parentUuid`. The newest branch counts; side branches of sub-agents and
//! what was rewound do not.

use super::lines::Lines;
use super::{Context, path_of, text_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use ostler_wire::{Image, Origin};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Bytes of a picture in base64.
const MAX_IMAGE: usize = 6 << 20;

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    let mut parents: HashMap<String, Option<String>> = HashMap::new();
    let mut messages: Vec<Value> = Vec::new();
    let mut leaf = None;
    for line in lines {
        let conversation = &mut builder.conversation;
        if let Some(title) = line["customTitle"]
            .as_str()
            .or_else(|| line["aiTitle"].as_str())
        {
            conversation.title = Some(title.to_owned());
        }
        if line["isSidechain"] == true {
            continue;
        }
        let Some(id) = line["uuid"].as_str() else {
            continue;
        };
        let parent = line["parentUuid"]
            .as_str()
            .or_else(|| line["logicalParentUuid"].as_str());
        parents.insert(id.to_owned(), parent.map(str::to_owned));
        if conversation.root.is_none() {
            conversation.root = path_of(&line["cwd"]);
        }
        if conversation.version.is_empty() {
            conversation.version = line["version"].as_str().unwrap_or_default().to_owned();
        }
        leaf = Some(id.to_owned());
        if line["message"].is_object() {
            messages.push(line);
        }
    }
    let mut branch = HashSet::new();
    while let Some(id) = leaf {
        let parent = parents.get(&id).cloned().flatten();
        // A circle ends where it closes.
        leaf = if branch.insert(id) { parent } else { None };
    }
    for line in messages {
        if line["uuid"].as_str().is_some_and(|id| branch.contains(id)) {
            message(&line, context, builder);
        }
    }
}

fn message(line: &Value, context: &Context<'_>, builder: &mut Builder) {
    let ts = time(&line["timestamp"]);
    let message = &line["message"];
    if line["isCompactSummary"] == true {
        return builder.folded(&ts, &text_of(&message["content"]));
    }
    match message["role"].as_str() {
        Some("assistant") if line["isApiErrorMessage"] != true => {
            answer(&ts, message, context, builder)
        }
        Some("user") => user(&ts, line, context, builder),
        Some(_) | None => {}
    }
}

fn answer(ts: &str, message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let model = message["model"]
        .as_str()
        .filter(|model| !model.starts_with('<'));
    let model = model.map(|model| Origin {
        provider: context.agent.name.clone(),
        model: model.to_owned(),
    });
    let blocks = match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        other => vec![serde_json::json!({"type": "text", "text": text_of(other)})],
    };
    for block in &blocks {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let piece = match block["type"].as_str() {
            Some("text") => Piece::Text(text("text")),
            Some("thinking") => Piece::Reasoning(text("thinking")),
            Some("tool_use") => Piece::Call {
                id: text("id"),
                name: text("name"),
                input: block["input"].clone(),
            },
            Some(_) | None => continue,
        };
        builder.piece(ts, piece, model.as_ref());
    }
}

fn user(ts: &str, line: &Value, context: &Context<'_>, builder: &mut Builder) {
    let content = &line["message"]["content"];
    let (mut said, mut images) = (Vec::new(), Vec::new());
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        Value::String(text) => {
            said.push(text.as_str());
            &[]
        }
        _ => &[],
    };
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => builder.result(ts, result(block, &line["toolUseResult"])),
            Some("text") => said.extend(block["text"].as_str()),
            Some("image") => images.extend(image(&block["source"])),
            Some(_) | None => {}
        }
    }
    let is_interrupt = |text: &&str| text.starts_with("[Request interrupted by user");
    if said.iter().any(is_interrupt) {
        return builder.interrupted(ts);
    }
    if line["isMeta"] == true {
        return;
    }
    said.retain(|text| context.is_said(text));
    builder.said(ts, &command(&said.join("\n")), images);
}

/// A slash command as the person typed it.
fn command(text: &str) -> String {
    let between = |open: &str, close: &str| {
        let (_, rest) = text.split_once(open)?;
        Some(rest.split_once(close)?.0.trim())
    };
    match between("<command-name>", "</command-name>") {
        Some(name) => {
            let words = between("<command-args>", "</command-args>").unwrap_or_default();
            format!("{name} {words}").trim().to_owned()
        }
        None => text.to_owned(),
    }
}

fn result(block: &Value, facts: &Value) -> ResultFacts {
    let lines = facts["structuredPatch"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hunk| {
            let numbers = ["oldStart", "oldLines", "newStart", "newLines"];
            let [from, old, to, new] = numbers.map(|key| hunk[key].as_u64().unwrap_or_default());
            let lines = hunk["lines"].as_array().into_iter().flatten();
            let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
            format!("@@ -{from},{old} +{to},{new} @@\n{}\n", lines.join("\n"))
        });
    let diff: String = lines.collect();
    ResultFacts {
        call: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        text: text_of(&block["content"]),
        failed: block["is_error"] == true,
        exit: None,
        content: facts["file"]["content"].as_str().map(str::to_owned),
        diff: Some(diff).filter(|diff| !diff.is_empty()),
    }
}

fn image(source: &Value) -> Option<Image> {
    let data = source["data"]
        .as_str()
        .filter(|data| data.len() <= MAX_IMAGE)?;
    (source["type"] == "base64").then(|| Image {
        media_type: source["media_type"].as_str().unwrap_or_default().to_owned(),
        data: data.to_owned(),
    })
}
