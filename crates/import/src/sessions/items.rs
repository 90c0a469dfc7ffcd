//! Lines with one item of a response each, below a `payload`. What is told about the items beside them is left out.

use super::lines::Lines;
use super::{Context, arguments, path_of, text_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use ostler_wire::Origin;
use serde_json::Value;

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    let mut model = None;
    for line in lines {
        let ts = time(&line["timestamp"]);
        let payload = &line["payload"];
        match line["type"].as_str() {
            Some("session_meta") => {
                let conversation = &mut builder.conversation;
                if let Some(id) = payload["id"].as_str() {
                    conversation.id = id.to_owned();
                }
                conversation.root = path_of(&payload["cwd"]);
                conversation.version = payload["cli_version"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
            }
            Some("turn_context") => {
                model = payload["model"].as_str().map(|model| Origin {
                    provider: context.agent.name.clone(),
                    model: model.to_owned(),
                })
            }
            Some("response_item") => item(&ts, payload, (context, model.as_ref()), builder),
            Some("compacted") => builder.folded(&ts, &text_of(&payload["message"])),
            Some("event_msg") if payload["type"] == "turn_aborted" => builder.interrupted(&ts),
            Some(_) | None => {}
        }
    }
}

fn item(
    ts: &str,
    payload: &Value,
    (context, model): (&Context<'_>, Option<&Origin>),
    builder: &mut Builder,
) {
    let text = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
    match payload["type"].as_str() {
        Some("message") => {
            let said = text_of(&payload["content"]);
            match payload["role"].as_str() {
                Some("user") => {
                    let blocks = payload["content"].as_array().into_iter().flatten();
                    let said: Vec<&str> = blocks
                        .filter_map(|block| block["text"].as_str())
                        .filter(|text| context.is_said(text))
                        .collect();
                    builder.said(ts, &said.join("\n"), Vec::new());
                }
                Some("assistant") => builder.piece(ts, Piece::Text(said), model),
                Some(_) | None => {}
            }
        }
        Some("reasoning") => {
            let summary = text_of(&payload["summary"]);
            let said = if summary.is_empty() {
                text_of(&payload["content"])
            } else {
                summary
            };
            builder.piece(ts, Piece::Reasoning(said), model);
        }
        Some("function_call" | "custom_tool_call") => {
            let given = payload.get("arguments").or_else(|| payload.get("input"));
            let (name, input) = shell_words(text("name"), arguments(given.unwrap_or(&Value::Null)));
            let id = text("call_id");
            builder.piece(ts, Piece::Call { id, name, input }, model);
        }
        Some("local_shell_call") => {
            let input = serde_json::json!({"command": payload["action"]["command"]});
            let (name, input) = shell_words("local_shell".into(), input);
            let id = text("call_id");
            builder.piece(ts, Piece::Call { id, name, input }, model);
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            builder.result(ts, result(payload))
        }
        Some(_) | None => {}
    }
}

/// `["bash", "-lc", LINE]` is the line.
fn shell_words(name: String, mut input: Value) -> (String, Value) {
    let line = match input["command"].as_array().map(Vec::as_slice) {
        Some([shell, flag, line])
            if flag
                .as_str()
                .is_some_and(|f| f.starts_with('-') && f.ends_with('c')) =>
        {
            shell.as_str().and(line.as_str()).map(str::to_owned)
        }
        _ => None,
    };
    if let Some(line) = line {
        input = serde_json::json!({ "command": line });
    }
    (name, input)
}

fn result(payload: &Value) -> ResultFacts {
    let output = &payload["output"];
    // Older ones are JSON in text, with the exit code beside the output.
    let inner: Value = output
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .filter(|value: &Value| value["output"].is_string())
        .unwrap_or_default();
    let exit = inner["metadata"]["exit_code"].as_i64();
    ResultFacts {
        call: payload["call_id"].as_str().unwrap_or_default().to_owned(),
        text: inner["output"]
            .as_str()
            .map_or_else(|| text_of(output), str::to_owned),
        failed: output["success"] == false,
        exit,
        ..ResultFacts::default()
    }
}
