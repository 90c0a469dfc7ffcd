//! Every kind of cell as a person sees it, and what hostile text does to it.

use super::*;
use crate::say;
use crate::testing::{marked, plain};
use crate::theme::Look;
use insta::assert_snapshot;
use ostler_wire::{
    Approval, Compaction, DigestBy, ErrorEntry, Image, Interrupted, Json, Language, Message, Mode,
    Outcome, Settings, Todo, TodoItem, TodoState, ToolResult, ToolUse, TurnEnd, Usage,
};
use ostler_wire::{CallTitle, CallVerb, ResultForm, ToolKind};
use serde_json::{Value, json};
use std::time::Duration;

const MONO: Theme = Theme::new(Look::Mono);

fn call(name: &str, input: Value) -> Tool {
    Tool::new(&ToolUse {
        id: "c1".into(),
        name: name.into(),
        title: title_of(name, &input),
        input: Json::of(&input),
        repair: None,
        by: None,
        via: None,
    })
}

/// As the engine would write it for the tools that are used here.
fn title_of(tool: &str, input: &Value) -> Option<CallTitle> {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    let bodies = ["command", "question", "prompt"];
    let keys = [
        "command", "question", "prompt", "path", "url", "query", "name", "job", "pattern",
    ];
    let found = keys.into_iter().find(|key| input[key].is_string());
    let (first, more) = match found.map(text).unwrap_or_default().split_once('\n') {
        Some((first, _)) => (format!("{first} …"), true),
        None => (found.map(text).unwrap_or_default().to_owned(), false),
    };
    let subject = match tool {
        "read_file" if input["offset"].is_u64() => format!("{first}:10-11"),
        "move_file" => format!("{} → {}", text("source_path"), text("destination_path")),
        "grep" => format!("{}  {}", text("pattern"), text("path")),
        "ls" => ".".into(),
        _ if tool.starts_with("mcp__") => return None,
        _ => first,
    };
    let body = found.filter(|key| more && bodies.contains(key));
    Some(CallTitle {
        kind: ToolKind::Other,
        verb: verb_of(tool),
        subject,
        body: body.map(Into::into),
        result: form_of(tool),
    })
}

/// As these tools declare it.
fn verb_of(tool: &str) -> Option<CallVerb> {
    Some(match tool {
        "bash" => CallVerb::Run,
        "bash_output" => CallVerb::Watch,
        "kill_job" => CallVerb::Stop,
        "read_file" => CallVerb::Read,
        "edit_file" | "multi_edit" | "delete_range" | "notebook_edit" => CallVerb::Edit,
        "write_file" => CallVerb::Write,
        "grep" => CallVerb::Search,
        "glob" => CallVerb::Find,
        "ls" => CallVerb::List,
        "move_file" => CallVerb::Move,
        "web_search" => CallVerb::SearchWeb,
        "fetch_url" => CallVerb::Fetch,
        "ask" => CallVerb::Ask,
        "task" => CallVerb::Delegate,
        "exit_plan_mode" => CallVerb::Plan,
        _ => return None,
    })
}

fn form_of(tool: &str) -> ResultForm {
    match tool {
        "bash" | "bash_input" | "bash_output" | "kill_job" => ResultForm::Command,
        "read_file" => ResultForm::File,
        "edit_file" | "multi_edit" | "delete_range" | "delete_symbol" => ResultForm::Edit,
        "write_file" => ResultForm::WholeFile,
        "grep" => ResultForm::Matches,
        "glob" => ResultForm::Paths,
        "ls" => ResultForm::Entries,
        "web_search" => ResultForm::WebResults,
        "fetch_url" => ResultForm::Page,
        "ask" => ResultForm::Answer,
        "time" => ResultForm::Time,
        "notebook_edit" => ResultForm::Cell,
        "memory" => ResultForm::Facts,
        "remember" | "forget" => ResultForm::Fact,
        "task" | "skill" => ResultForm::Report,
        "complete_step" | "move_file" => ResultForm::Nothing,
        "todo" => ResultForm::Entry,
        "exit_plan_mode" => ResultForm::Plan,
        _ => ResultForm::Text,
    }
}

fn finished(name: &str, input: Value, envelope: Value, millis: u64) -> Cell {
    let mut tool = call(name, input);
    tool.finish(
        &ToolResult {
            tool_use_id: "c1".into(),
            ok: envelope["ok"] == true,
            output: Json::of(&envelope),
            duration_ms: millis,
        },
        Language::English,
    );
    Cell::Tool(Box::new(tool))
}

fn ok(name: &str, input: Value, data: Value) -> Cell {
    finished(name, input, json!({"ok": true, "data": data}), 40)
}

fn running(name: &str, input: Value, output: &str) -> Cell {
    let mut tool = call(name, input);
    tool.set(ToolState::Running(Duration::from_millis(3_240)));
    tool.tail.push(output);
    Cell::Tool(Box::new(tool))
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("output {n}\n")).collect()
}

fn commands() -> Vec<Cell> {
    let test = || json!({"command": "cargo test --workspace --all-features"});
    let mut asked = call("bash", json!({"command": "rm -rf target"}));
    asked.set(ToolState::Asked);
    vec![
        Cell::Tool(Box::new(call("bash", test()))),
        Cell::Tool(Box::new(asked)),
        running("bash", test(), &numbered(8)),
        finished(
            "bash",
            test(),
            json!({"ok": true, "data": {"stdout": numbered(9), "stderr": "", "exit_code": 0}}),
            1_240,
        ),
        finished(
            "bash",
            json!({"command": "cargo build\ncargo test"}),
            json!({"ok": true, "data": {"stdout": "a\n", "stderr": "error: no\n", "exit_code": 101,
                "denied": {"what": "/x", "hint": "writing /x is not allowed"}}}),
            65_000,
        ),
        ok(
            "bash",
            json!({"command": "true"}),
            json!({"stdout": "", "stderr": "", "exit_code": 0}),
        ),
        ok(
            "bash",
            json!({"command": "serve"}),
            json!({"stdout": "", "exit_code": null, "job": "j1"}),
        ),
        ok(
            "bash_output",
            json!({"job": "j1"}),
            json!({"stdout": "up\n", "exit_code": 0, "job": "j1", "state": "exited"}),
        ),
        finished(
            "bash",
            json!({"command": "curl example.org"}),
            json!({"ok": false, "error": {"code": "denied", "message": "The person refused this call: not now"}}),
            0,
        ),
        finished(
            "bash",
            json!({"command": "sleep 100"}),
            json!({"ok": false, "error": {"code": "interrupted", "message": "Interrupted."}}),
            9_000,
        ),
    ]
}

fn tools() -> Vec<Cell> {
    let diff = "@@ -3,3 +3,3 @@\n fn main() {\n-    run(1);\n+    run(2);\n }\n";
    vec![
        ok(
            "read_file",
            json!({"path": "src/main.rs", "offset": 10, "limit": 2}),
            json!({"path": "/p/src/main.rs", "content": "fn main() {\n}\n", "lines": 90}),
        ),
        ok(
            "read_file",
            json!({"path": "a.png"}),
            json!({"path": "/p/a.png", "image": {"media_type": "image/png", "data": "aGk="}, "width": 640, "height": 480}),
        ),
        ok(
            "read_file",
            json!({"path": "a.out"}),
            json!({"binary": "ELF", "bytes": 12_345, "content": ""}),
        ),
        finished(
            "read_file",
            json!({"path": "gone.rs"}),
            json!({"ok": false, "error": {"code": "not_found", "message": "gone.rs does not exist."}}),
            2,
        ),
        ok(
            "edit_file",
            json!({"path": "src/main.rs"}),
            json!({"path": "/p/src/main.rs", "replacements": 1, "diff": diff}),
        ),
        ok(
            "multi_edit",
            json!({"path": "src/main.rs"}),
            json!({"edits": [{"diff": diff}, {"diff": diff}]}),
        ),
        ok(
            "write_file",
            json!({"path": "new.txt", "content": numbered(14)}),
            json!({"created": true, "bytes": 9}),
        ),
        ok(
            "write_file",
            json!({"path": "src/main.rs", "content": "whole"}),
            json!({"created": false, "bytes": 9, "diff": diff}),
        ),
        ok(
            "notebook_edit",
            json!({"path": "n.ipynb", "cell": "2", "source": "x = 1"}),
            json!({"cell": 2, "cells": 5, "done": "replaced"}),
        ),
        ok(
            "move_file",
            json!({"source_path": "a.rs", "destination_path": "b.rs"}),
            json!({"overwrote": false}),
        ),
        ok(
            "grep",
            json!({"pattern": "fn \\w+", "path": "src"}),
            json!({"matches": ["a.rs:1:fn a", "b.rs:2:fn b"], "count": 2, "searched": 9}),
        ),
        ok(
            "glob",
            json!({"pattern": "**/*.rs"}),
            json!({"paths": ["a.rs"], "total": 1}),
        ),
        ok("ls", json!({}), json!({"entries": ["src/", "Cargo.toml"]})),
        ok(
            "web_search",
            json!({"query": "rust tui"}),
            json!({"results": [{"title": "T", "url": "https://x", "snippet": "S"}]}),
        ),
        ok(
            "fetch_url",
            json!({"url": "https://example.org/a"}),
            json!({"status": 404, "title": "Not there", "content": "# no"}),
        ),
        ok(
            "ask",
            json!({"question": "Which colour?"}),
            json!({"answer": "Blue, please", "assumed": false}),
        ),
        ok(
            "ask",
            json!({"question": "Which colour?"}),
            json!({"answer": null, "assumed": true}),
        ),
        ok("todo", json!({"items": []}), json!({"items": []})),
        ok("time", json!({}), json!({"utc": "2026-11-15T00:00:00Z"})),
        ok(
            "mcp__db__query",
            json!({"sql": "select 1", "limit": 5}),
            json!({"content": [{"type": "text", "text": "1 row"}]}),
        ),
        ok(
            "mcp__db__stats",
            json!({}),
            json!({"rows": 3, "ok": [true]}),
        ),
    ]
}

fn others() -> Vec<Cell> {
    let item = |text: &str, state| TodoItem {
        text: text.into(),
        state,
    };
    let items = vec![
        item("Read the code", TodoState::Done),
        item(
            "Write a test that fails before the change and passes after it",
            TodoState::InProgress,
        ),
        item("Fix it", TodoState::Pending),
    ];
    let mut user = Message::user(
        "Fix the bug in main.rs, please. It crashes when the file is empty.\n\n中文也可以。",
    );
    user.images = vec![Image {
        media_type: "image/png".into(),
        data: "x".repeat(60_000),
    }];
    user.context = Some("<env>Linux</env>".into());
    let mut turn = Turn {
        took: Some(Duration::from_millis(4_140)),
        ..Turn::default()
    };
    turn.add(&Usage {
        input: 1_240,
        cached: 1_120,
        output: 340,
        cost: Some(0.0123),
        ..Usage::default()
    });
    let approval = |decision: &str, reason: Option<&str>, saved: Option<&str>| {
        Body::Approval(Approval {
            tool_use_id: "c1".into(),
            decision: decision.into(),
            rule: Some("bash(cargo *)".into()),
            reason: reason.map(str::to_owned),
            saved: saved.map(str::to_owned),
        })
    };
    let bodies = [
        Body::Message(user),
        Body::Message(Message::user(numbered(25))),
        approval("always", None, Some("allow bash(cargo *) in the project")),
        approval("deny", Some("not on this machine"), None),
        Body::Todo(Todo { items }),
        Body::Notice(ostler_wire::Notice { text: "The log was repaired.".into() }),
        Body::Error(ErrorEntry {
            kind: "rate_limit".into(),
            message: "The provider answered with HTTP 429: too many requests. Wait, or choose another model.".into(),
            details: Some(Json::of(&json!({"status": 429}))),
        }),
        Body::Interrupted(Interrupted::default()),
        Body::Settings(Settings { model: Some("big".into()), effort: Some("high".into()), ..Settings::default() }),
        Body::Mode(Mode { mode: "plan".into(), posture: "ask".into(), goal: None, ..Default::default() }),
        Body::TurnEnd(TurnEnd { outcome: Outcome::MaxSteps }),
        Body::Compaction(Compaction {
            through: 90,
            digest: "<digest>\n## Goal\nShip the parser.\n</digest>".into(),
            by: DigestBy::Mechanical,
            focus: Some("the parser".into()),
            archive: Some("/home/archive/a.jsonl".into()),
            answers: 14,
            calls: 32,
            tokens_before: 98_400,
            tokens_after: 9_120,
            shared_bytes: 5_000,
        }),
    ];
    let mut cells: Vec<Cell> = bodies
        .iter()
        .flat_map(|body| Cell::of(body, Language::English))
        .collect();
    cells.extend([
        Cell::Assistant(Assistant {
            text: "**Done.** See `main.rs`.".into(),
            stop: Some(ostler_wire::Stop::Length),
        }),
        Cell::Reasoning(Reasoning::thought(
            "First I look.\nThen I think.".into(),
            Some(Duration::from_secs(3)),
        )),
        Cell::Reasoning(Reasoning::thinking("one\ntwo\nthree".into())),
        Cell::Retry(Retry {
            reason: "HTTP 529: overloaded".into(),
            attempt: 2,
            of: 5,
            left: Duration::from_millis(4_300),
        }),
        Cell::Turn(turn),
        Cell::Job(Job {
            id: "j1".into(),
            command: "cargo watch -x test".into(),
            state: JobState::Exited(1),
            tail: "boom".into(),
        }),
        Cell::Picture(Picture {
            name: "screen.png".into(),
        }),
    ]);
    cells
}

/// All cells one below the other.
fn gallery(cells: &[Cell], columns: usize, look: Look, fold: Fold) -> String {
    let theme = Theme::new(look);
    let rows = cells
        .iter()
        .map(|cell| marked(&cell.rows(columns, &theme, fold)));
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn cells_at_every_width_and_look() {
    for (name, cells) in [
        ("commands", commands()),
        ("tools", tools()),
        ("others", others()),
    ] {
        for (look, columns) in [(Look::Mono, 40), (Look::Dark, 80), (Look::Light, 120)] {
            let shown = gallery(&cells, columns, look, Fold::Closed);
            assert_snapshot!(format!("{name}_{}_{columns}", look.name()), shown);
        }
        assert_snapshot!(
            format!("{name}_open"),
            gallery(&cells, 80, Look::Mono, Fold::Open)
        );
    }
}

#[test]
fn rows_fit_and_what_drives_a_terminal_is_shown() {
    let evil = "\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}1m\u{202e}\u{200b}\u{301} שלום \r\nx";
    let mut cells = hostile(evil);
    cells.extend(commands());
    cells.extend(tools());
    cells.extend(others());
    for cell in cells {
        for columns in [20, 40, 120] {
            for fold in [Fold::Closed, Fold::Open] {
                for row in cell.rows(columns, &MONO, fold) {
                    let text = row.text();
                    assert!(row.width() <= columns, "{columns}: {text}");
                    assert!(
                        !text.chars().any(|c| c.is_control() || c == '\u{202e}'),
                        "{text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn much_is_bounded() {
    for cell in hostile(&"word ".repeat(5_000))
        .into_iter()
        .chain(hostile(&"line\n".repeat(5_500)))
    {
        for (fold, most) in [(Fold::Closed, 1_000), (Fold::Open, MAX_OPEN_ROWS + 1)] {
            // What the model said is never folded; its own blocks are bounded.
            if matches!(cell, Cell::Assistant(_)) && fold == Fold::Closed {
                continue;
            }
            let rows = cell.rows(80, &MONO, fold);
            assert!(
                rows.len() <= most,
                "{} rows of {fold:?} {}",
                rows.len(),
                plain(&rows[..1])
            );
        }
    }
}

#[test]
fn a_line_of_ten_megabytes_is_a_few_rows() {
    let line = "word ".repeat(2_000_000);
    let said = json!({"stdout": line.get(..1_000_000), "stderr": "", "exit_code": 0});
    for (cell, fold, most) in [
        (
            ok("bash", json!({"command": "x"}), said.clone()),
            Fold::Closed,
            2,
        ),
        (ok("bash", json!({"command": "x"}), said), Fold::Open, 120),
        (
            running("bash", json!({"command": "x"}), &line),
            Fold::Closed,
            2,
        ),
        (
            Cell::User(User {
                text: line.clone(),
                ..User::default()
            }),
            Fold::Closed,
            120,
        ),
        (
            Cell::Assistant(Assistant {
                text: line.clone(),
                stop: None,
            }),
            Fold::Closed,
            500,
        ),
        (
            Cell::Reasoning(Reasoning::thinking(line.clone())),
            Fold::Closed,
            3,
        ),
    ] {
        let rows = cell.rows(80, &MONO, fold).len();
        assert!(rows <= most, "{rows} rows, {most} at most");
    }
}

/// Cells with one text in every place that can have one.
fn hostile(text: &str) -> Vec<Cell> {
    let s = || text.to_owned();
    let mut cells: Vec<Cell> = [
        Body::Message(Message {
            context: Some(s()),
            ..Message::user(text)
        }),
        Body::Approval(Approval {
            tool_use_id: s(),
            decision: "deny".into(),
            rule: None,
            reason: Some(s()),
            saved: Some(s()),
        }),
        Body::Todo(Todo {
            items: vec![TodoItem {
                text: s(),
                state: TodoState::Done,
            }],
        }),
        Body::Notice(ostler_wire::Notice { text: s() }),
        Body::Compaction(Compaction {
            through: u64::MAX,
            digest: s(),
            by: DigestBy::Model,
            focus: Some(text.repeat(100)),
            archive: Some(s()),
            answers: u64::MAX,
            calls: u64::MAX,
            tokens_before: u64::MAX,
            tokens_after: u64::MAX,
            shared_bytes: u64::MAX,
        }),
        Body::Error(ErrorEntry {
            kind: s(),
            message: s(),
            details: Some(Json::of(&json!({"a": text}))),
        }),
    ]
    .iter()
    .flat_map(|body| Cell::of(body, Language::English))
    .collect();
    cells.extend([
        Cell::Assistant(Assistant {
            text: s(),
            stop: None,
        }),
        Cell::Reasoning(Reasoning::thought(s(), None)),
        Cell::Reasoning(Reasoning::thinking(s())),
        Cell::Retry(Retry {
            reason: s(),
            attempt: 1,
            of: 0,
            left: Duration::ZERO,
        }),
        Cell::Job(Job {
            id: s(),
            command: s(),
            state: JobState::Running,
            tail: s(),
        }),
        Cell::Picture(Picture { name: s() }),
        running("bash", json!({"command": text}), text),
    ]);
    let diff = format!("@@ -1,2 +1,2 @@\n-{0}\n+{0} x\n", text.replace('\n', " "));
    let input = json!({"path": text, "command": text, "pattern": text, "content": text, "source": text,
        "question": text, "query": text, "url": text, text: text});
    for (name, data) in [
        (
            "bash",
            json!({"stdout": text, "stderr": text, "exit_code": 1, "denied": {"hint": text}}),
        ),
        ("read_file", json!({"path": text, "content": text})),
        ("read_file", json!({"path": text, "binary": text})),
        ("edit_file", json!({"diff": diff})),
        ("write_file", json!({"created": true})),
        ("notebook_edit", json!({"done": text})),
        ("grep", json!({"matches": [text, text]})),
        ("fetch_url", json!({"title": text, "content": text})),
        ("web_search", json!({"results": [{"title": text}]})),
        ("ask", json!({"answer": text})),
        ("time", json!({"utc": text})),
        ("other", json!({"text": text})),
        ("other", json!({"a": {"b": text}})),
        (text, json!(text)),
    ] {
        cells.push(ok(name, input.clone(), data));
    }
    let error = json!({"ok": false, "error": {"code": text, "message": text}});
    cells.push(finished("bash", input, error, 1));
    cells
}

#[test]
fn results_of_any_shape_are_shown() {
    for envelope in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"ok": true}),
        json!({"ok": true, "data": null}),
        json!({"ok": false, "error": "plain"}),
        json!({"data": {"edits": 3, "diff": 4, "matches": {}}}),
    ] {
        for name in [
            "bash",
            "read_file",
            "edit_file",
            "write_file",
            "grep",
            "ask",
            "fetch_url",
            "web_search",
            "x",
        ] {
            let cell = finished(name, json!(null), envelope.clone(), 1);
            assert!(!cell.rows(80, &MONO, Fold::Open).is_empty());
        }
    }
    assert_eq!(say::lines(Language::English, 2), "2 lines");
}
