//! What goes wrong: editors that never answer, stop in every phase, send nonsense, or leave in the middle.

use super::driver::Editor;
use super::{KIND, scene};
use crate::common::{Scene, wait_for};
use ostler_testkit::{Place, Step};
use serde_json::{Value, json};

fn error(reply: &Value) -> (i64, &str) {
    let error = &reply["error"];
    let code = error["code"].as_i64();
    let code = code.unwrap_or_else(|| panic!("no error: {reply:#}"));
    (code, error["message"].as_str().unwrap())
}

#[test]
fn folders_and_sessions_that_are_not_there() {
    let scene = scene([]);
    let mut editor = Editor::start(&scene, json!({}));
    let root = scene.space.root().to_owned();
    let unknown = "00000000-0000-4000-8000-000000000000";
    let gone = root.join("gone");
    for (method, params, code, says) in [
        (
            "session/new",
            json!({"cwd": "src", "mcpServers": []}),
            -32602,
            "`src`",
        ),
        (
            "session/new",
            json!({"cwd": gone, "mcpServers": []}),
            -32602,
            "gone",
        ),
        ("session/new", json!({"mcpServers": []}), -32602, ""),
        (
            "session/load",
            json!({"cwd": root, "mcpServers": [], "sessionId": unknown}),
            -32002,
            unknown,
        ),
        (
            "session/resume",
            json!({"cwd": root, "mcpServers": [], "sessionId": "../../etc/passwd"}),
            -32002,
            "passwd",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "text", "text": "hi"}]}),
            -32002,
            unknown,
        ),
        (
            "session/set_mode",
            json!({"sessionId": unknown, "modeId": "plan"}),
            -32002,
            unknown,
        ),
        (
            "session/close",
            json!({"sessionId": unknown}),
            -32002,
            unknown,
        ),
        (
            "session/list",
            json!({"cwd": "relative"}),
            -32602,
            "relative",
        ),
        ("session/list", json!({"cursor": "x"}), -32602, "cursor"),
    ] {
        let reply = editor.call(method, params);
        let (got, message) = error(&reply);
        assert_eq!(got, code, "{method}: {reply}");
        assert!(message.contains(says), "{method}: {message}");
    }
    // It goes on all the same.
    editor.open(&root);
}

#[test]
fn methods_and_lines_that_nobody_knows() {
    let scene = scene([Step::answer().text("Still here.")]);
    let mut editor = Editor::start(&scene, json!({}));
    let reply = editor.call("session/dance", json!({}));
    assert_eq!(error(&reply).0, -32601);
    editor.notify("no/such", json!({"a": 1}));
    let long = format!("{{\"jsonrpc\": \"2.0\", {}", "x".repeat(100_000));
    for line in [
        "{",
        "nonsense",
        "[1, 2]",
        "\"text\"",
        "{\"jsonrpc\":\"2.0\"}",
        &long,
    ] {
        let before = editor.seen.len();
        editor.write(line);
        if line != "{\"jsonrpc\":\"2.0\"}" {
            let reply = editor.until("an error", |m| m["error"].is_object() && m["id"].is_null());
            let code = error(&reply).0;
            assert!([-32700, -32600].contains(&code), "{line}: {reply}");
            assert!(reply.to_string().len() < 10_000);
        }
        assert!(editor.seen.len() <= before + 1);
    }
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "hi"), "end_turn");
}

#[test]
fn prompts_that_cannot_be_taken() {
    let scene = scene([]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    for (prompt, says) in [
        (json!([]), "empty"),
        (json!([{"type": "text", "text": "  "}]), "empty"),
        (
            json!([{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]),
            "Audio",
        ),
        (
            json!([{"type": "image", "data": "$$$", "mimeType": "image/png"}]),
            "Picture 1",
        ),
    ] {
        let reply = editor.call("session/prompt", json!({"sessionId": id, "prompt": prompt}));
        let (code, message) = error(&reply);
        assert_eq!(code, -32602);
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn a_line_without_end_is_refused_and_the_rest_is_read() {
    let scene = scene([]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let text = "x".repeat(65 << 20);
    let prompt = json!([{"type": "text", "text": text}]);
    let sent = editor.send("session/prompt", json!({"sessionId": id, "prompt": prompt}));
    let reply = editor.wait(sent);
    let (code, message) = error(&reply);
    assert_eq!(code, -32600);
    assert!(message.contains("64 MiB"), "{message}");
    let reply = editor.call("session/close", json!({"sessionId": id}));
    assert!(reply["result"].is_object(), "{reply}");
}

#[test]
fn a_second_prompt_waits_for_nobody() {
    let scene = scene([Step::answer().text("Half").stall(Place::Text(1))]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let first = editor.send_prompt(&id, "one");
    scene.server.wait_for(1);
    let second = editor.send_prompt(&id, "two");
    let reply = editor.wait(second);
    let (code, message) = error(&reply);
    assert_eq!(code, -32600);
    assert!(message.contains("cancel"), "{message}");
    editor.notify("session/cancel", json!({"sessionId": id}));
    let reply = editor.wait(first);
    assert_eq!(reply["result"]["stopReason"], "cancelled");
}

/// A phase of a turn that is cancelled: what the vendor does, and how to see that it is reached.
fn cancelled_in(step: Step, reached: impl Fn(&Scene, &mut Editor)) {
    let scene = Scene::new(KIND, [step, Step::answer().text("Next.")]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let prompt = editor.send_prompt(&id, "go");
    reached(&scene, &mut editor);
    editor.notify("session/cancel", json!({"sessionId": id}));
    // What the protocol wants of an editor: questions that are open are answered so.
    editor.answers = Box::new(|request| {
        (request["method"] == "session/request_permission")
            .then(|| json!({"outcome": {"outcome": "cancelled"}}))
    });
    let reply = editor.wait(prompt);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply:#}");
    // Nothing of it is left, and the session goes on.
    if scene.server.requests().is_empty() {
        // It was cancelled before the vendor was asked, so the first step is still to come.
        let prompt = editor.send_prompt(&id, "again");
        scene.server.wait_for(1);
        editor.notify("session/cancel", json!({"sessionId": id}));
        let reply = editor.wait(prompt);
        assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply:#}");
    }
    assert_eq!(editor.prompt(&id, "next"), "end_turn");
    assert!(editor.said("agent_message_chunk").ends_with("Next."));
    assert_eq!(editor.leave().code, Some(0));
}

#[test]
fn cancelled_at_once() {
    cancelled_in(Step::stall_headers(), |_, _| {});
}

#[test]
fn cancelled_before_the_headers() {
    cancelled_in(Step::stall_headers(), |scene, _| {
        scene.server.wait_for(1);
    });
}

#[test]
fn cancelled_in_the_text() {
    cancelled_in(
        Step::answer().text("Half of it").stall(Place::Text(1)),
        |_, editor| {
            editor.until("text", |m| {
                m["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            });
        },
    );
}

#[test]
fn cancelled_while_a_question_is_open() {
    let step = Step::answer().call("bash", json!({"command": "touch x"}));
    cancelled_in(step, |_, editor| {
        editor.until("the question", |m| {
            m["method"] == "session/request_permission"
        });
    });
}

#[test]
fn cancelled_in_a_command() {
    let step = Step::answer().call("bash", json!({"command": "touch started; sleep 30"}));
    cancelled_in(step, |scene, editor| {
        editor.allow("allow_once");
        editor.until("the command", |m| {
            m["params"]["update"]["status"] == "in_progress"
        });
        wait_for("the command", || {
            scene.space.exists("started").then_some(())
        });
    });
}

#[test]
fn an_editor_that_never_answers_can_still_cancel_and_close() {
    let scene = scene([Step::answer().call("bash", json!({"command": "touch x"}))]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let prompt = editor.send_prompt(&id, "go");
    editor.until("the question", |m| {
        m["method"] == "session/request_permission"
    });
    let reply = editor.call("session/close", json!({"sessionId": id}));
    assert!(reply["result"].is_object(), "{reply}");
    // The prompt was answered before.
    let ended = editor
        .seen
        .iter()
        .find(|m| m["id"] == prompt && m.get("method").is_none());
    assert_eq!(ended.unwrap()["result"]["stopReason"], "cancelled");
    // The question is taken back.
    let taken: Vec<_> = editor
        .seen
        .iter()
        .filter(|m| m["method"] == "$/cancel_request")
        .collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert!(!scene.space.exists("x"));
}

#[test]
fn an_editor_that_leaves_in_the_middle_loses_nothing() {
    let scene = scene([
        Step::answer()
            .text("Running. ")
            .call("bash", json!({"command": "touch started; sleep 300"})),
        Step::answer().text("Resumed."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    editor.send_prompt(&id, "go");
    editor.until("the command", |m| {
        m["params"]["update"]["status"] == "in_progress"
    });
    wait_for("the command", || {
        scene.space.exists("started").then_some(())
    });
    let out = editor.leave();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    let left = std::process::Command::new("pgrep")
        .args(["-f", "sleep 300"])
        .output();
    // A machine without pgrep shows it by the exit of ours.
    if let Ok(left) = left {
        let here = scene.space.root().to_owned();
        let pids = String::from_utf8_lossy(&left.stdout).into_owned();
        for pid in pids.lines() {
            let cwd = std::fs::read_link(format!("/proc/{pid}/cwd"));
            assert!(
                cwd.is_ok_and(|cwd| !cwd.starts_with(&here)),
                "{pid} is left"
            );
        }
    }
    let mut editor = Editor::start(&scene, json!({}));
    let open = json!({"sessionId": id, "cwd": scene.space.root(), "mcpServers": []});
    let reply = editor.call("session/load", open);
    assert!(reply["result"].is_object(), "{reply}");
    assert!(editor.said("agent_message_chunk").contains("Running."));
    assert_eq!(editor.prompt(&id, "on"), "end_turn");
}

#[test]
fn a_vendor_that_fails_is_an_error_with_its_words() {
    let scene = scene([Step::status(
        400,
        "{\"error\":{\"message\":\"no such thing\"}}",
    )]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let prompt = editor.send_prompt(&id, "hi");
    let reply = editor.wait(prompt);
    let (code, message) = error(&reply);
    assert_eq!(code, -32603);
    assert!(message.contains("no such thing"), "{message}");
}

#[test]
fn an_answer_that_is_cut_says_so() {
    let scene = scene([Step::answer()
        .text("As far as it")
        .stop(ostler_testkit::Stop::Length)]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "hi"), "max_tokens");
}
