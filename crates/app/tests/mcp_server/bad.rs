//! What goes wrong: calls that make no sense, clients that cancel, send nonsense or leave in the middle.

use super::driver::{Peer, data, is_error, text};
use super::{said, scene};
use crate::common::{Scene, wait_for};
use ostler_testkit::Step;
use serde_json::{Value, json};

/// A command that waits for ever, and the file that says that it runs.
fn waits() -> Step {
    Step::answer().call("bash", json!({"command": "echo $$ > pid; sleep 600"}))
}

/// The process of the command, once it runs.
#[track_caller]
fn pid(scene: &Scene) -> String {
    wait_for("the command", || {
        let text = std::fs::read_to_string(scene.space.root().join("pid")).ok()?;
        Some(text.trim().to_owned()).filter(|pid| !pid.is_empty())
    })
}

/// Sleeping processes below the project.
fn sleepers(scene: &Scene) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let is_one = |path: std::path::PathBuf| {
        let argv = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let cwd = std::fs::read_link(path.join("cwd")).ok();
        argv.starts_with(b"sleep\x00600") && cwd.is_some_and(|cwd| cwd == scene.space.root())
    };
    entries.flatten().filter(|e| is_one(e.path())).count()
}

#[track_caller]
fn ended(scene: &Scene) {
    wait_for("the command to be gone", || {
        (sleepers(scene) == 0).then_some(())
    });
}

#[test]
fn calls_that_make_no_sense() {
    let scene = scene([]);
    let outside = scene.space.home().to_owned();
    let mut peer = Peer::start(&scene, &[], json!({}));
    for (arguments, part) in [
        (json!({}), "missing field `prompt`"),
        (json!({"prompt": 1}), "invalid type"),
        (json!({"prompt": " \n"}), "prompt is empty"),
        (
            json!({"prompt": "x", "prmpt": "y"}),
            "unknown field `prmpt`",
        ),
        (json!({"prompt": "x", "cwd": "gone"}), "gone"),
        (
            json!({"prompt": "x", "cwd": outside}),
            "outside of the folders of this server",
        ),
        (
            json!({"prompt": "x", "mode": "fast"}),
            "mode is one of normal, plan, goal, not `fast`",
        ),
        (
            json!({"prompt": "x", "permission_mode": "yolo"}),
            "permission_mode can be ask or stricter",
        ),
        (
            json!({"prompt": "x", "session_id": "../../etc/passwd"}),
            "is no session id",
        ),
        (
            json!({"prompt": "x", "session_id": "00000000-0000-4000-8000-000000000000"}),
            "00000000-0000-4000-8000-000000000000",
        ),
        (json!({"prompt": "x", "timeout_secs": 0}), "timeout_secs"),
        (json!({"prompt": "x", "model": "nobody/nothing"}), "nobody"),
        (json!({"prompt": "x", "effort": "very"}), "effort"),
    ] {
        let reply = peer.task_with(arguments.clone(), None);
        assert!(is_error(&reply), "{arguments}: {reply:#}");
        let text = text(&reply);
        assert!(text.contains(part), "{arguments}: {text}");
    }
    let reply = peer.call("tools/call", json!({"name": "nothing", "arguments": {}}));
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    let reply = peer.call("prompts/frobnicate", json!({}));
    assert_eq!(reply["error"]["code"], -32601, "{reply}");
    assert_eq!(scene.logs().len(), 0);
    assert_eq!(peer.leave().code, Some(0));
}

#[test]
fn a_call_gets_no_more_freedom_than_the_server() {
    let scene = scene([said("Looked.")]);
    let mut peer = Peer::start(&scene, &["--mode", "plan"], json!({}));
    let reply = peer.task_with(json!({"prompt": "x", "mode": "normal"}), None);
    assert!(text(&reply).contains("--mode plan"), "{reply:#}");
    let reply = peer.task("look");
    assert_eq!(data(&reply)["answer"], "Looked.");
}

#[test]
fn an_agent_that_is_too_deep_starts_no_other() {
    let scene = scene([]);
    let run = scene
        .ostler(["mcp-server"])
        .env("OSTLER_DELEGATION_DEPTH", "2");
    let mut peer = Peer::of(run.open_stdin().spawn());
    peer.hello(json!({}));
    let reply = peer.task("do it");
    assert!(is_error(&reply));
    assert!(text(&reply).contains("starts no other"), "{reply:#}");
}

#[test]
fn lines_that_are_no_messages() {
    let scene = scene([said("Still here.")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    for (line, code) in [
        ("garbage", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":", -32700),
        ("[]", -32600),
        ("{\"a\":1}", -32600),
    ] {
        let before = peer.seen.len();
        peer.write(line);
        let is_new = |message: &Value| message["error"]["code"] == code;
        let error = peer.until(line, |message| is_new(message));
        assert_eq!(error["id"], Value::Null, "{line}");
        assert!(peer.seen.len() > before, "{line}");
        peer.seen.clear();
    }
    peer.write("");
    assert_eq!(data(&peer.task("there?"))["answer"], "Still here.");
}

#[test]
fn prompts_and_messages_that_are_too_long() {
    let scene = scene([said("Still here.")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    let reply = peer.task(&"x".repeat(11 << 20));
    assert!(is_error(&reply));
    assert!(text(&reply).contains("longer than 10 MiB"), "{reply:#}");
    let line = json!({"jsonrpc": "2.0", "id": 99, "method": "ping", "pad": "x".repeat(17 << 20)});
    peer.write(&line.to_string());
    let error = peer.until("an error", |message| message["error"]["code"] == -32600);
    let why = error["error"]["message"].as_str().unwrap();
    assert!(why.contains("16 MiB"), "{why}");
    assert_eq!(data(&peer.task("there?"))["answer"], "Still here.");
}

#[test]
fn a_cancelled_call_stops_its_turn() {
    let scene = scene([waits(), said("The next.")]);
    let mut peer = Peer::start(&scene, &["--yolo"], json!({}));
    let id = peer.send_task(json!({"prompt": "wait"}), None);
    pid(&scene);
    peer.notify("notifications/cancelled", json!({"requestId": id}));
    ended(&scene);
    let log = scene.log_path();
    wait_for("the end of the turn", || {
        let text = std::fs::read_to_string(&log).ok()?;
        text.contains("\"outcome\":\"interrupted\"").then_some(())
    });
    let reply = peer.task("go on");
    assert_eq!(data(&reply)["answer"], "The next.", "{reply:#}");
    // A request that was cancelled has no answer.
    assert!(!peer.seen.iter().any(|message| message["id"] == id));
    assert_eq!(peer.leave().code, Some(0));
}

#[test]
fn a_question_is_withdrawn_when_its_call_is_cancelled() {
    let scene = scene([super::touch()]);
    let mut peer = Peer::start(&scene, &[], super::forms());
    let id = peer.send_task(json!({"prompt": "touch x"}), None);
    let ask = peer.until("a question", |message| {
        message["method"] == "elicitation/create"
    });
    peer.notify("notifications/cancelled", json!({"requestId": id}));
    let withdrawn = peer.until("that it is withdrawn", |message| {
        message["method"] == "notifications/cancelled"
    });
    assert_eq!(withdrawn["params"]["requestId"], ask["id"]);
    assert_eq!(peer.leave().code, Some(0));
    assert!(!scene.space.exists("x"));
}

#[test]
fn a_task_that_takes_too_long_is_stopped() {
    let scene = scene([waits()]);
    let mut peer = Peer::start(&scene, &["--yolo"], json!({}));
    let reply = peer.task_with(json!({"prompt": "wait", "timeout_secs": 2}), None);
    assert!(is_error(&reply), "{reply:#}");
    assert_eq!(data(&reply)["status"], "timeout");
    ended(&scene);
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing_behind() {
    let scene = scene([waits()]);
    let mut peer = Peer::start(&scene, &["--yolo"], json!({}));
    peer.send_task(json!({"prompt": "wait"}), Some("p"));
    pid(&scene);
    let out = peer.leave();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    ended(&scene);
}

#[test]
fn a_vendor_that_refuses_is_an_error_of_the_call() {
    let scene = scene([Step::status(401, "{\"error\":{\"message\":\"wrong key\"}}")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    let reply = peer.task("hi");
    assert!(is_error(&reply), "{reply:#}");
    assert_eq!(data(&reply)["status"], "error");
    assert!(text(&reply).starts_with("The task ended with an error."));
}
