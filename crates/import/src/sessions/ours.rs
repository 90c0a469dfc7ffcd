//! Lines of the form that ours grew out of: messages, calls and results, each an entry.

use super::lines::Lines;
use super::{path_of, time};
use crate::conversation::{Builder, Piece, ResultFacts};
use serde_json::Value;

pub fn read(lines: &mut Lines, builder: &mut Builder) {
    for line in lines {
        let ts = time(&line["ts"]);
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        match line["type"].as_str() {
            Some("meta") => {
                builder.conversation.root =
                    path_of(&line["root"]).or_else(|| path_of(&line["root_path"]));
                builder.conversation.title = line["title"].as_str().map(str::to_owned);
            }
            Some("message") => match line["role"].as_str() {
                Some("user") => builder.said(&ts, &text("text"), Vec::new()),
                Some("assistant") => builder.piece(&ts, Piece::Text(text("text")), None),
                Some(_) | None => {}
            },
            Some("tool_use") => {
                let call = Piece::Call {
                    id: text("id"),
                    name: text("name"),
                    input: line["input"].clone(),
                };
                builder.piece(&ts, call, None);
            }
            Some("tool_result") => builder.result(&ts, result(&line)),
            Some("interrupted") => builder.interrupted(&ts),
            Some(_) | None => {}
        }
    }
}

/// The envelope in plain terms.
fn result(line: &Value) -> ResultFacts {
    let data = &line["output"]["data"];
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let failed = line["ok"] == false;
    let said = match (
        failed,
        data["stdout"].is_string(),
        data["content"].is_string(),
    ) {
        (true, _, _) => text(&line["output"]["error"], "message"),
        (false, true, _) => format!("{}{}", text(data, "stdout"), text(data, "stderr")),
        (false, false, true) => text(data, "content"),
        (false, false, false) => data.to_string(),
    };
    ResultFacts {
        call: line["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        text: said,
        failed,
        exit: data["exit_code"].as_i64(),
        content: data["content"].as_str().map(str::to_owned),
        diff: data["diff"].as_str().map(str::to_owned),
    }
}
