//! A long past for a session: turns appended to its log, in the log's own format, as if they had happened.

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const TIME: &str = "2026-11-01T08:00:00.000Z";

/// Makes the only session below this home `lines` long and returns its id.
pub fn grow(home: &Path, lines: usize) -> anyhow::Result<String> {
    let path = only_log(&home.join("sessions"))?;
    let mut number = fs::read_to_string(&path)?.lines().count();
    let mut text = String::new();
    let mut turn = 0;
    while number < lines {
        for (kind, body) in bodies(turn).into_iter().take(lines - number) {
            let mut line = Map::new();
            line.insert("type".into(), kind.into());
            line.insert("entry".into(), number.into());
            line.insert("parent".into(), (number - 1).into());
            line.insert("ts".into(), TIME.into());
            line.extend(body.as_object().cloned().unwrap_or_default());
            writeln!(text, "{}", Value::Object(line))?;
            number += 1;
        }
        turn += 1;
    }
    let mut file = fs::OpenOptions::new().append(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    let id = path.file_stem().context("a log without a name")?;
    Ok(id.to_string_lossy().into_owned())
}

/// One turn: a prompt, a call, its result, an answer.
fn bodies(turn: usize) -> Vec<(&'static str, Value)> {
    let id = format!("past_{turn}");
    let model = json!({"provider": "mock", "model": "mock-model"});
    let usage = json!({"provider": "mock", "model": "mock-model",
        "input": 2000 + turn, "cached": 1900, "cache_write": 0, "output": 20});
    let content = format!("line one of file {turn}\nline two\nline three\n");
    let data = json!({"path": format!("data/{turn}.txt"), "content": content,
        "truncated": false, "bytes": content.len(), "lines": 3});
    vec![
        (
            "message",
            json!({"role": "user", "text": format!("Look at file {turn}.")}),
        ),
        (
            "message",
            json!({"role": "assistant", "text": "Reading it.", "model": model, "stop": "calls",
                "parts": [{"text": {"text": "Reading it."}}, {"call": {"id": id}}]}),
        ),
        (
            "tool_use",
            json!({"id": id, "name": "read_file", "input": {"path": format!("data/{turn}.txt")}}),
        ),
        ("usage", usage.clone()),
        (
            "tool_result",
            json!({"tool_use_id": id, "output": {"ok": true, "data": data}, "ok": true, "duration_ms": 0}),
        ),
        (
            "message",
            json!({"role": "assistant", "text": "It has three lines.", "model": model, "stop": "end",
                "parts": [{"text": {"text": "It has three lines."}}]}),
        ),
        ("usage", usage),
        ("turn_end", json!({"outcome": "done"})),
    ]
}

fn only_log(sessions: &Path) -> anyhow::Result<PathBuf> {
    let mut logs = Vec::new();
    for project in fs::read_dir(sessions).context("no session was saved")? {
        for file in fs::read_dir(project?.path())? {
            logs.push(file?.path());
        }
    }
    logs.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    logs.pop().context("no session was saved")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_testkit::{TempWorkspace, json_lines};

    #[test]
    fn lines_go_on_where_the_log_ends() {
        let space = TempWorkspace::new();
        let log = space.home().join("sessions/p-1/0a.jsonl");
        space.write(&log, "{\"type\":\"meta\",\"entry\":0,\"parent\":null}\n");
        assert_eq!(grow(space.home(), 12).unwrap(), "0a");
        let lines = json_lines(&space.read(&log));
        assert_eq!(lines.len(), 12);
        for (at, line) in lines.iter().enumerate().skip(1) {
            assert_eq!(
                (&line["entry"], &line["parent"]),
                (&json!(at), &json!(at - 1))
            );
        }
        let kinds: Vec<&str> = lines.iter().filter_map(|l| l["type"].as_str()).collect();
        assert_eq!(kinds[1..4], ["message", "message", "tool_use"]);
    }
}
