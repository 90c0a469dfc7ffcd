//! Messages of the chat protocol: one a line, or a list in one document. Content may be text or a list of blocks, and calls
//! stand beside it or among the blocks.

use super::lines::Lines;
use super::{Context, arguments, path_of, text_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use ostler_wire::Origin;
use serde_json::Value;

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    for line in lines {
        let document = line["messages"].as_array().or_else(|| line.as_array());
        match document {
            Some(messages) => messages
                .iter()
                .for_each(|one| message(one, context, builder)),
            None => message(&line, context, builder),
        }
        let conversation = &mut builder.conversation;
        if conversation.root.is_none() {
            let keys = ["working_dir", "cwd", "root", "workspace"];
            conversation.root = keys.iter().find_map(|key| path_of(&line[*key]));
        }
        if conversation.title.is_none() {
            let title = line["description"]
                .as_str()
                .or_else(|| line["title"].as_str());
            conversation.title = title.filter(|t| !t.is_empty()).map(str::to_owned);
        }
    }
}

pub fn message(message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let when = ["timestamp", "ts", "created_at", "createdAt", "created"];
    let ts = when
        .iter()
        .map(|key| time(&message[*key]))
        .find(|ts| !ts.is_empty());
    let ts = ts.unwrap_or_default();
    let content = &message["content"];
    match message["role"].as_str() {
        Some("user") => {
            for block in content.as_array().into_iter().flatten() {
                if block["type"] == "toolResponse" {
                    builder.result(&ts, response(block));
                }
            }
            // What the person typed stands beside what was made of it.
            let raw = message["raw_content"].as_str();
            let said = raw.map_or_else(|| text_of(content), str::to_owned);
            if message["origin"] != "host" && context.is_said(&said) {
                builder.said(&ts, &said, Vec::new());
            }
        }
        Some("assistant") => answer(&ts, message, context, builder),
        Some("tool") => {
            let state = message["tool_run_state"].as_str().unwrap_or_default();
            builder.result(
                &ts,
                ResultFacts {
                    call: message["tool_call_id"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                    text: text_of(content),
                    failed: matches!(state, "failed" | "error" | "cancelled"),
                    ..ResultFacts::default()
                },
            );
        }
        Some(_) | None => {}
    }
}

fn answer(ts: &str, message: &Value, context: &Context<'_>, builder: &mut Builder) {
    let model = message["model"].as_str().map(|model| Origin {
        provider: context.agent.name.clone(),
        model: model.to_owned(),
    });
    let model = model.as_ref();
    let reasoning = message["reasoning_content"]
        .as_str()
        .or_else(|| message["reasoning"].as_str());
    if let Some(reasoning) = reasoning {
        builder.piece(ts, Piece::Reasoning(reasoning.to_owned()), model);
    }
    builder.piece(ts, Piece::Text(text_of(&message["content"])), model);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = if call["function"].is_object() {
            &call["function"]
        } else {
            call
        };
        let piece = Piece::Call {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            input: arguments(&function["arguments"]),
        };
        builder.piece(ts, piece, model);
    }
    for block in message["content"].as_array().into_iter().flatten() {
        if block["type"] == "toolRequest" {
            let call = &block["toolCall"]["value"];
            let piece = Piece::Call {
                id: block["id"].as_str().unwrap_or_default().to_owned(),
                name: call["name"].as_str().unwrap_or_default().to_owned(),
                input: arguments(&call["arguments"]),
            };
            builder.piece(ts, piece, model);
        }
    }
}

/// The result of a call among the blocks of a message.
fn response(block: &Value) -> ResultFacts {
    let result = &block["toolResult"];
    let value = &result["value"];
    let content = value.get("content").unwrap_or(value);
    ResultFacts {
        call: block["id"].as_str().unwrap_or_default().to_owned(),
        text: text_of(content),
        failed: result["status"] == "error" || value["isError"] == true,
        ..ResultFacts::default()
    }
}
