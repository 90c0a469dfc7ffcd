//! Sessions in the shapes that other agents write, as their versions named here wrote them.

use base64::Engine as _;
use ostler_import::{Conversation, Opener, Piece, Places, Step, What, agent, list};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A home with the files of one agent.
struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[(&str, String)]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = home.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        home
    }

    fn places(&self) -> Places {
        Places {
            user_home: self.0.path().to_owned(),
            ..Places::default()
        }
    }

    /// The one session of an agent.
    fn session(&self, name: &str) -> Conversation {
        let agent = agent(name).unwrap();
        let (sessions, faults) = list(agent, &self.places());
        assert_eq!(faults, [], "{name}");
        assert_eq!(sessions.len(), 1, "{name}");
        let read = Opener::default()
            .open(agent, &sessions[0], &self.places())
            .unwrap();
        assert_eq!(sessions[0].id, read.id);
        assert_eq!(sessions[0].root, read.root);
        read
    }
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// A session in words.
fn told(conversation: &Conversation) -> Vec<String> {
    conversation.steps.iter().map(step).collect()
}

fn step(step: &Step) -> String {
    match &step.what {
        What::Said { text, images } => format!("said {text} [{}]", images.len()),
        What::Answer { pieces, .. } => {
            let pieces: Vec<String> = pieces.iter().map(piece).collect();
            format!("answer {}", pieces.join(" | "))
        }
        What::Result(facts) => {
            let ok = if facts.failed { "failed" } else { "ok" };
            format!("{ok} {}: {}", facts.call, facts.text)
        }
        What::Interrupted => "interrupted".into(),
        What::Folded { digest } => format!("folded {digest}"),
    }
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Reasoning(text) => format!("({text})"),
        Piece::Text(text) => text.clone(),
        Piece::Call { id, name, input } => format!("{name} {id} {input}"),
    }
}

#[test]
fn claude_2_1_325_writes_linked_lines_of_blocks() {
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        json!({"type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "cwd": "/srv/app",
               "timestamp": "2026-11-19T20:14:14.338Z", "sessionId": "b12f", "version": "2.1.325",
               "message": {"role": role, "model": "m-1", "content": content}})
    };
    let mut meta = line("m", json!("u1"), "user", json!("<system-reminder>\nx"));
    meta["isMeta"] = true.into();
    let mut side = line(
        "s",
        json!("u1"),
        "assistant",
        json!([{"type": "text", "text": "side"}]),
    );
    side["isSidechain"] = true.into();
    let mut read = line(
        "r2",
        json!("a2"),
        "user",
        json!([{"type": "tool_result", "tool_use_id": "t2",
        "content": "1\talpha", "is_error": false}]),
    );
    read["toolUseResult"] = json!({"type": "text", "file": {"content": "alpha\n"}});
    let text = lines(&[
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "b12f"}),
        line("u1", Value::Null, "user", json!("Write it")),
        meta,
        json!({"type": "attachment", "uuid": "at", "parentUuid": "m", "attachment": {"type": "date"}}),
        side,
        line(
            "a1",
            json!("at"),
            "assistant",
            json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Step."}]),
        ),
        line(
            "a2",
            json!("a1"),
            "assistant",
            json!([{"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/srv/app/a"}}]),
        ),
        read,
        // Rewound: another branch goes on from the result.
        line("old", json!("r2"), "user", json!("Never mind")),
        line(
            "a3",
            json!("r2"),
            "assistant",
            json!([{"type": "text", "text": "Done."}]),
        ),
        line(
            "u2",
            json!("a3"),
            "user",
            json!([{"type": "text", "text": "[Request interrupted by user]"}]),
        ),
        line(
            "u3",
            json!("u2"),
            "user",
            json!("<command-name>/review</command-name>\n<command-args>now</command-args>"),
        ),
    ]);
    let home = Home::new(&[(".claude/projects/-srv-app/b12f.jsonl", text)]);
    let session = home.session("claude");
    assert_eq!(session.root.as_deref(), Some(Path::new("/srv/app")));
    assert_eq!((session.version.as_str(), session.unread), ("2.1.325", 0));
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer (hm) | Step. | Read t2 {\"file_path\":\"/srv/app/a\"}",
            "ok t2: 1\talpha",
            "answer Done.",
            "interrupted",
            "said /review now [0]",
        ]
    );
    let What::Result(facts) = &session.steps[2].what else {
        panic!("no result");
    };
    assert_eq!(facts.content.as_deref(), Some("alpha\n"));
    assert_eq!(session.steps[0].ts, "2026-11-19T20:14:14.338Z");
}

#[test]
fn codex_0_166_0_writes_items_of_responses() {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-11-19T20:14:15.010Z", "type": kind, "payload": payload});
    let item = |payload: Value| line("response_item", payload);
    let text = lines(&[
        line(
            "session_meta",
            json!({"id": "01a1", "cwd": "/srv/app", "cli_version": "0.166.0"}),
        ),
        item(
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}),
        ),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]}),
        ),
        line("turn_context", json!({"model": "m-1"})),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Write it"}]}),
        ),
        line(
            "event_msg",
            json!({"type": "item_completed", "item": {"type": "UserMessage"}}),
        ),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
        item(
            json!({"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": "{\"cmd\": \"false\"}"}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "c1", "output": "Chunk ID: a\nProcess exited with code 1\nOutput:\nno"}),
        ),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": "*** Begin Patch"}),
        ),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"})),
        item(
            json!({"type": "local_shell_call", "call_id": "c3", "action": {"command": ["bash", "-lc", "ls"]}}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "c3", "output": "{\"output\":\"a\",\"metadata\":{\"exit_code\":0}}"}),
        ),
        line("compacted", json!({"message": "so far"})),
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
        ),
    ]);
    let home = Home::new(&[(
        ".codex/sessions/2026/11/19/rollout-2026-11-19T20-14-14-01a1.jsonl",
        text,
    )]);
    let session = home.session("codex");
    assert_eq!(
        (session.id.as_str(), session.version.as_str()),
        ("01a1", "0.166.0")
    );
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer (hm) | exec_command c1 {\"cmd\":\"false\"}",
            "ok c1: Chunk ID: a\nProcess exited with code 1\nOutput:\nno",
            "answer apply_patch c2 {\"input\":\"*** Begin Patch\"}",
            "ok c2: ok",
            "answer local_shell c3 {\"command\":\"ls\"}",
            "ok c3: a",
            "folded so far",
            "answer Done.",
        ]
    );
}

#[test]
fn gemini_0_61_0_writes_changes_of_messages() {
    let call = json!({"id": "c1", "name": "write_file", "args": {"file_path": "/srv/app/a"}, "status": "success",
        "result": [{"functionResponse": {"id": "c1", "response": {"output": "<untrusted_context>\nwrote\n</untrusted_context>"}}}]});
    let text = lines(&[
        json!({"sessionId": "6abd", "projectHash": "d9", "startTime": "2026-11-19T20:14:23.455Z", "kind": "main"}),
        json!({"$set": {"messages": [{"id": "0", "timestamp": "2026-11-19T20:14:23.455Z", "type": "user", "content": [{"text": "<session_context>\nx"}]}]}}),
        json!({"id": "1", "timestamp": "2026-11-19T20:14:23.463Z", "type": "user", "content": [{"text": "Write it"}]}),
        json!({"id": "2", "timestamp": "2026-11-19T20:14:23.537Z", "type": "gemini", "content": "Step.", "thoughts": []}),
        json!({"$set": {"lastUpdated": "2026-11-19T20:14:23.537Z"}}),
        json!({"id": "2", "timestamp": "2026-11-19T20:14:23.537Z", "type": "gemini", "content": "Step.", "model": "m-1", "toolCalls": [call],
               "thoughts": [{"subject": "Look", "description": "closely"}]}),
        json!({"id": "3", "type": "user", "content": [{"functionResponse": {"id": "c1"}}]}),
        json!({"id": "4", "type": "info", "content": "Update available"}),
    ]);
    let home = Home::new(&[
        (
            ".gemini/tmp/app/chats/session-2026-11-19T20-14-6abd.jsonl",
            text,
        ),
        (".gemini/tmp/app/.project_root", "/srv/app".into()),
    ]);
    let session = home.session("gemini");
    assert_eq!(session.root.as_deref(), Some(Path::new("/srv/app")));
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer (Look\nclosely) | Step. | write_file c1 {\"file_path\":\"/srv/app/a\"}",
            "ok c1: wrote",
        ]
    );
}

#[test]
fn pi_0_87_1_writes_a_tree() {
    let line = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-19T20:14:25.579Z", "message": message});
    let text = lines(&[
        json!({"type": "session", "version": 3, "id": "01a1", "timestamp": "2026-11-19T20:14:25.539Z", "cwd": "/srv/app"}),
        json!({"type": "model_change", "id": "a", "parentId": null, "provider": "mock", "modelId": "m-1"}),
        line("b", json!("a"), json!({"role": "system", "content": ""})),
        line(
            "c",
            json!("b"),
            json!({"role": "user", "content": [{"type": "text", "text": "Write it"}]}),
        ),
        line(
            "x",
            json!("c"),
            json!({"role": "assistant", "content": [{"type": "text", "text": "another branch"}]}),
        ),
        line(
            "d",
            json!("c"),
            json!({"role": "assistant", "provider": "mock", "model": "m-1", "content": [
            {"type": "text", "text": "Step."}, {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "false"}}]}),
        ),
        line(
            "e",
            json!("d"),
            json!({"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "no\n\nCommand exited with code 1"}], "isError": true}),
        ),
        json!({"type": "compaction", "id": "f", "parentId": "e", "summary": "so far", "firstKeptEntryId": "e"}),
        json!({"type": "session_info", "id": "g", "parentId": "f", "name": "My work"}),
    ]);
    let home = Home::new(&[(".pi/agent/sessions/--srv-app--/2026_01a1.jsonl", text)]);
    let session = home.session("pi");
    assert_eq!(session.title.as_deref(), Some("My work"));
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer Step. | bash c1 {\"command\":\"false\"}",
            "failed c1: no\n\nCommand exited with code 1",
            "folded so far",
        ]
    );
}

/// A frame as that version writes it: a mark, two lengths, zstd.
fn frame(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    let mut out = b"RX4F".to_vec();
    out.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
    out.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
    out.extend(packed);
    out
}

fn event(kind: &str, payload: &Value) -> Value {
    let payload = base64::engine::general_purpose::STANDARD.encode(payload.to_string());
    json!({"schemaVersion": 4, "codec": "reasonix.session.linear/v4", "recordType": "batch/event",
           "event": {"kind": kind, "payload": payload}})
}

#[test]
fn reasonix_1_38_11_writes_frames() {
    let message = |message: Value| event("message/complete", &json!({ "message": message }));
    let mut bytes: Vec<u8> = [
        message(json!({"role": "system", "content": "You are"})),
        message(json!({"role": "user", "origin": "host", "content": "<session-context version=\"1\">\n## Workspace\n\nCurrent workspace: \"/srv/app\"\n"})),
        message(json!({"role": "user", "origin": "user", "content": "Write it", "raw_content": "Write it", "createdAt": 1_795_119_266_257_u64})),
        event("tool/start", &json!({"id": "c1"})),
        message(json!({"role": "assistant", "content": "Step.", "tool_calls": [{"id": "c1", "name": "write_file", "arguments": "{\"path\": \"/srv/app/a\"}"}]})),
        message(json!({"role": "tool", "content": "wrote", "tool_call_id": "c1", "tool_run_state": "completed"})),
    ]
    .iter()
    .flat_map(frame)
    .collect();
    // The process was killed in the middle of a frame.
    bytes.extend(&frame(&event("x", &json!({})))[..20]);
    let home = Home::new(&[]);
    let folder = home.0.path().join(".reasonix/projects/p/sessions-v4/f898");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("events.frames"), &bytes).unwrap();
    let session = home.session("reasonix");
    assert_eq!(session.root.as_deref(), Some(Path::new("/srv/app")));
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer Step. | write_file c1 {\"path\":\"/srv/app/a\"}",
            "ok c1: wrote",
        ]
    );
    assert_eq!(session.steps[0].ts, "2026-11-19T20:14:26.257Z");
    // Another version says so.
    let mut other = event("x", &json!({}));
    other["codec"] = "reasonix.session.linear/v9".into();
    fs::write(folder.join("events.frames"), frame(&other)).unwrap();
    let (sessions, faults) = list(agent("reasonix").unwrap(), &home.places());
    assert!(
        sessions.is_empty() && faults[0].to_string().contains("linear/v9"),
        "{faults:?}"
    );
}

#[test]
fn opencode_1_18_33_writes_a_database_that_is_left_as_it_is() {
    let home = Home::new(&[]);
    let folder = home.0.path().join(".local/share/opencode");
    fs::create_dir_all(&folder).unwrap();
    let db = rusqlite::Connection::open(folder.join("opencode.db")).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = wal;
         CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_updated INTEGER);
         CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
         CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
         INSERT INTO session VALUES ('ses_1', NULL, '/srv/app', 'A title', '1.18.33', 1795119261733);
         INSERT INTO session VALUES ('ses_2', 'ses_1', '/srv/app', 'of a helper', '1.18.33', 1795119261733);
         INSERT INTO message VALUES ('m1', 'ses_1', 1795119257312, '{\"role\":\"user\"}');
         INSERT INTO message VALUES ('m2', 'ses_1', 1795119258412, '{\"role\":\"assistant\",\"modelID\":\"m-1\",\"providerID\":\"mock\"}');
         INSERT INTO part VALUES ('p1', 'm1', 'ses_1', '{\"type\":\"text\",\"text\":\"Write it\"}');
         INSERT INTO part VALUES ('p2', 'm2', 'ses_1', '{\"type\":\"step-start\"}');
         INSERT INTO part VALUES ('p3', 'm2', 'ses_1', '{\"type\":\"text\",\"text\":\"Step.\"}');",
    )
    .unwrap();
    let tool = json!({"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed",
        "input": {"command": "false"}, "output": "no\n", "metadata": {"exit": 1}, "time": {"end": 1_795_119_259_685_u64}}});
    let other = json!({"type": "tool", "tool": "read", "callID": "c2", "state": {"status": "error", "input": {"filePath": "/a"}, "error": "gone"}});
    for (id, part) in [("p4", tool), ("p5", other)] {
        db.execute(
            "INSERT INTO part VALUES (?1, 'm2', 'ses_1', ?2)",
            [id, &part.to_string()],
        )
        .unwrap();
    }
    let before = names(&folder);
    let session = home.session("opencode");
    assert_eq!(names(&folder), before);
    assert_eq!(session.title.as_deref(), Some("A title"));
    assert_eq!(
        told(&session),
        [
            "said Write it [0]",
            "answer Step. | bash c1 {\"command\":\"false\"} | read c2 {\"filePath\":\"/a\"}",
            "ok c1: no\n",
            "failed c2: gone",
        ]
    );
}

/// Files with their lengths.
fn names(folder: &Path) -> Vec<(String, u64)> {
    let entry = |entry: fs::DirEntry| {
        (
            entry.file_name().to_string_lossy().into_owned(),
            entry.metadata().unwrap().len(),
        )
    };
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(entry).collect();
    names.sort();
    names
}

#[test]
fn zdx_buddy_and_goose_as_documented() {
    let log = lines(&[
        json!({"type": "meta", "schema_version": 1, "root_path": "/srv/app", "ts": "2025-12-17T03:21:09Z"}),
        json!({"type": "message", "role": "user", "text": "Write it", "ts": "2025-12-17T03:21:09Z"}),
        json!({"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}, "ts": "2025-12-17T03:21:10Z"}),
        json!({"type": "tool_result", "tool_use_id": "c1", "output": {"ok": true, "data": {"stdout": "a\n", "stderr": "", "exit_code": 0}}, "ok": true, "ts": "2025-12-17T03:21:11Z"}),
        json!({"type": "interrupted", "role": "system", "text": "Interrupted", "ts": "2025-12-17T03:21:12Z"}),
    ]);
    let chat = json!({"messages": [
        {"role": "system", "content": "You"},
        {"role": "user", "content": "Write it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "run_shell", "arguments": "{\"command\":\"ls\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]});
    let requests = lines(&[
        json!({"working_dir": "/srv/app", "description": "A title"}),
        json!({"role": "user", "created": 1_750_000_000, "content": [{"type": "text", "text": "Write it"}]}),
        json!({"role": "assistant", "created": 1_750_000_001, "content": [{"type": "toolRequest", "id": "c1", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}}]}),
        json!({"role": "user", "created": 1_750_000_002, "content": [{"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": [{"type": "text", "text": "a"}]}}]}),
    ]);
    let home = Home::new(&[
        (".config/zdx/sessions/550e8400.jsonl", log),
        (".buddyx/sessions/ab12.json", chat.to_string()),
        (".local/share/goose/sessions/20250615.jsonl", requests),
    ]);
    assert_eq!(
        told(&home.session("zdx")),
        [
            "said Write it [0]",
            "answer bash c1 {\"command\":\"ls\"}",
            "ok c1: a\n",
            "interrupted"
        ]
    );
    assert_eq!(
        told(&home.session("buddy")),
        [
            "said Write it [0]",
            "answer run_shell c1 {\"command\":\"ls\"}",
            "ok c1: a"
        ]
    );
    let goose = home.session("goose");
    assert_eq!(goose.title.as_deref(), Some("A title"));
    assert_eq!(
        told(&goose),
        [
            "said Write it [0]",
            "answer developer__shell c1 {\"command\":\"ls\"}",
            "ok c1: a"
        ]
    );
}
