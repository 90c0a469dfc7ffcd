//! `ostler mcp-server` as other agents have it: raw lines of JSON-RPC on its streams, requests over HTTP, and the client of
//! the protocol's own library.
#![cfg(unix)]

#[path = "mcp_server/bad.rs"]
mod bad;
mod common;
#[path = "mcp_server/delegation.rs"]
mod delegation;
#[path = "mcp_server/driver.rs"]
mod driver;
#[path = "serve/http.rs"]
#[allow(dead_code, reason = "the tests of `serve` use the rest")]
mod http;
#[path = "mcp_server/over_http.rs"]
mod over_http;

use common::Scene;
use driver::{Peer, data, is_error, text};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};

const KIND: Kind = Kind::Messages;

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::new(KIND, steps)
}

fn touch() -> Step {
    Step::answer().call("bash", json!({"command": "touch x"}))
}

fn said(text: &str) -> Step {
    Step::answer().text(text)
}

fn forms() -> Value {
    json!({"elicitation": {}})
}

#[test]
fn the_server_says_what_it_is_and_has() {
    let scene = scene([]);
    let mut peer = Peer::raw(&scene, &[]);
    let reply = peer.hello(json!({}));
    let result = &reply["result"];
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["name"], "ostler");
    assert!(result["capabilities"]["tools"].is_object());
    assert!(result["capabilities"]["logging"].is_object());
    assert!(result["instructions"].as_str().unwrap().contains("ostler"));
    let reply = peer.call("tools/list", json!({}));
    let tools = reply["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, driver::NAMES);
    for tool in tools {
        for schema in ["inputSchema", "outputSchema"] {
            let schema = &tool[schema];
            assert_eq!(schema["type"], "object", "{tool:#}");
            assert!(jsonschema::meta::is_valid(schema), "{tool:#}");
        }
        assert!(!tool["description"].as_str().unwrap().is_empty());
    }
    assert!(peer.call("ping", json!({}))["result"].is_object());
    let reply = peer.call("logging/setLevel", json!({"level": "error"}));
    assert!(reply["result"].is_object(), "{reply}");
    let out = peer.leave();
    assert_eq!((out.code, out.stderr.as_str()), (Some(0), ""));
}

#[test]
fn older_clients_are_served_in_their_revision() {
    let scene = scene([]);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut peer = Peer::raw(&scene, &[]);
        let reply = peer.call(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        );
        assert_eq!(reply["result"]["protocolVersion"], version);
    }
}

#[test]
fn a_task_edits_files_and_tells_how_far_it_is() {
    let scene = scene([
        Step::answer().text("I write it.\n").call(
            "write_file",
            json!({"path": "src/a.txt", "content": "one\n"}),
        ),
        said("It is written."),
    ]);
    let mut peer = Peer::start(&scene, &["--permission-mode", "edits"], json!({}));
    let reply = peer.task_with(json!({"prompt": "write src/a.txt"}), Some("p1"));
    assert!(!is_error(&reply), "{reply:#}");
    assert_eq!(scene.space.read("src/a.txt"), "one\n");
    let data = data(&reply);
    assert_eq!(data["status"], "done");
    assert_eq!(data["answer"], "It is written.");
    assert_eq!(data["session_id"], scene.session_id().as_str());
    assert_eq!(data["changed_files"], json!(["src/a.txt"]));
    assert_eq!(data["model"], "mock/mock-model");
    assert_eq!(data["requests"], 2);
    assert_eq!(data["error"], Value::Null);
    assert!(data["usage"]["output"].as_u64().unwrap() > 0, "{data:#}");
    let text = text(&reply);
    for part in ["It is written.", "session_id: ", "changed files: src/a.txt"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let notes = peer.notes("notifications/progress");
    let steps: Vec<f64> = notes
        .iter()
        .filter_map(|n| n["progress"].as_f64())
        .collect();
    assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    assert!(notes.iter().all(|note| note["progressToken"] == "p1"));
    let lines: Vec<&str> = notes.iter().filter_map(|n| n["message"].as_str()).collect();
    assert!(lines.contains(&"I write it."), "{lines:?}");
    assert!(lines.contains(&"Writing src/a.txt"), "{lines:?}");
}

#[test]
fn a_folder_below_is_no_project_of_its_own() {
    let write =
        |path: &str| Step::answer().call("write_file", json!({"path": path, "content": "EVIL"}));
    let read = Step::answer().call("read_file", json!({"path": "secrets/k.pem"}));
    let run = Step::answer().call("bash", json!({"command": "touch q", "cwd": "sub"}));
    let scene = scene([
        write(".vscode/tasks.json"),
        said("-"),
        read,
        said("-"),
        run,
        said("-"),
        write("sub/a.txt"),
        said("-"),
    ]);
    scene.space.write(
        "ostler.toml",
        "[permissions]\ndeny = [\"Read(secrets)\", \"Bash(touch:*)\"]\n",
    );
    scene.space.write(".vscode/tasks.json", "{}");
    scene.space.write("secrets/k.pem", "KEY");
    scene.space.write("sub/x", "");
    let mut peer = Peer::start(&scene, &["--permission-mode", "edits"], json!({}));
    for folder in [".vscode", "secrets", "sub"] {
        peer.task_with(json!({"prompt": "go", "cwd": folder}), None);
    }
    assert_eq!(scene.space.read(".vscode/tasks.json"), "{}");
    assert!(!scene.space.root().join("sub/q").exists());
    let sent = scene.server.request(3).body.to_string();
    assert!(!sent.contains("KEY"), "{sent}");
    let first = scene.server.request(0).body.to_string();
    assert!(first.contains("Work in the folder .vscode/."), "{first}");
    let reply = peer.task_with(json!({"prompt": "go", "cwd": "sub"}), None);
    assert_eq!(
        data(&reply)["changed_files"],
        json!(["sub/a.txt"]),
        "{reply:#}"
    );
}

#[test]
fn what_a_prompt_mentions_is_read_by_the_rules_for_a_model() {
    let scene = scene([said("-")]);
    let outside = scene.space.user_home().join("notes.txt");
    std::fs::write(&outside, "SECRET NOTE").unwrap();
    scene.space.write("in.txt", "PLAIN NOTE");
    let mut peer = Peer::start(&scene, &[], json!({}));
    let reply = peer.task(&format!("read @{} and @in.txt", outside.display()));
    assert!(!is_error(&reply), "{reply:#}");
    let sent = scene.server.request(0).body.to_string();
    assert!(
        !sent.contains("SECRET NOTE") && sent.contains("PLAIN NOTE"),
        "{sent}"
    );
}

#[test]
fn without_a_token_there_is_no_progress() {
    let scene = scene([said("Yes.")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    let reply = peer.task("is it?");
    assert_eq!(data(&reply)["answer"], "Yes.");
    assert_eq!(peer.notes("notifications/progress"), Vec::<Value>::new());
}

#[test]
fn a_task_goes_on_with_its_session() {
    let scene = scene([said("My name is Ann."), said("Ann.")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    let first = peer.task("who are you?");
    let id = data(&first)["session_id"].clone();
    let reply = peer.task_with(json!({"prompt": "who?", "session_id": id}), None);
    assert_eq!(data(&reply)["session_id"], id, "{reply:#}");
    assert_eq!(data(&reply)["answer"], "Ann.");
    let request = scene.server.request(1);
    assert!(request.body.to_string().contains("My name is Ann."));
    // The session is one of the project's: the terminal goes on with it, too.
    assert_eq!(scene.session_id(), id.as_str().unwrap());
}

#[test]
fn the_person_behind_the_client_decides() {
    for (action, choice, done, status) in [
        ("accept", "once", true, "done"),
        ("accept", "deny", false, "done"),
        ("accept", "anything", false, "interrupted"),
        ("decline", "", false, "done"),
        ("cancel", "", false, "interrupted"),
    ] {
        let scene = scene([touch(), said("So be it.")]);
        let mut peer = Peer::start(&scene, &[], forms());
        peer.answers = Box::new(move |request| {
            assert_eq!(request["method"], "elicitation/create");
            let params = &request["params"];
            assert_eq!(params["mode"], "form");
            let message = params["message"].as_str().unwrap();
            assert!(message.contains("touch x"), "{message}");
            let field = &params["requestedSchema"]["properties"]["choice"];
            assert_eq!(field["type"], "string", "{params:#}");
            let ids = field["enum"].as_array().unwrap();
            assert!(ids.contains(&json!("once")) && ids.contains(&json!("deny")));
            Some(match action {
                "accept" => json!({"action": action, "content": {"choice": choice}}),
                _ => json!({"action": action}),
            })
        });
        let reply = peer.task("touch x");
        let name = format!("{action} {choice}");
        assert_eq!(scene.space.exists("x"), done, "{name}");
        assert_eq!(data(&reply)["status"], status, "{name}");
        assert_eq!(is_error(&reply), status != "done", "{name}");
        assert_eq!(peer.asked("elicitation/create").len(), 1, "{name}");
    }
}

#[test]
fn where_nobody_can_be_asked_the_rules_decide() {
    let scene = scene([touch(), said("I may not.")]);
    let mut peer = Peer::start(&scene, &[], json!({}));
    let arguments = json!({"prompt": "touch x", "permission_mode": "ask"});
    let reply = peer.task_with(arguments, None);
    assert!(!scene.space.exists("x"));
    let data = data(&reply);
    assert_eq!(data["status"], "done");
    assert_eq!(data["answer"], "I may not.");
    let warnings = data["warnings"].to_string();
    assert!(warnings.contains("Not permitted: "), "{data:#}");
    assert!(warnings.contains("touch x"), "{data:#}");
    assert_eq!(peer.asked("elicitation/create"), Vec::<Value>::new());
}

#[test]
fn an_untrusted_project_is_asked_about_first() {
    let scene = scene([said("Hello.")]);
    scene.space.write(
        "ostler.toml",
        "[[hooks]]\nevent = \"session_start\"\ncommand = \"touch hooked\"\n",
    );
    let mut peer = Peer::start(&scene, &[], forms());
    peer.answers = Box::new(|_| Some(json!({"action": "cancel"})));
    let reply = peer.task("hi");
    assert_eq!(data(&reply)["answer"], "Hello.", "{reply:#}");
    let asked = peer.asked("elicitation/create");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(!scene.space.exists("hooked"));
    let warnings = data(&reply)["warnings"].to_string();
    assert!(warnings.contains("trust"), "{warnings}");
}

#[test]
fn two_tasks_run_at_once() {
    let wait = "while [ ! -e go ]; do sleep 0.02; done";
    let scene = scene([
        Step::answer().call("bash", json!({"command": wait})),
        said("Second."),
    ]);
    let mut peer = Peer::start(&scene, &["--yolo"], json!({}));
    let first = peer.send_task(json!({"prompt": "wait"}), Some("one"));
    peer.until("the command", |message| {
        message["params"]["message"]
            .as_str()
            .is_some_and(|line| line.starts_with("Running "))
    });
    let second = peer.task("another");
    assert_eq!(data(&second)["answer"], "Second.", "{second:#}");
    scene.server.push(said("First."));
    scene.space.write("go", "");
    let first = peer.wait(first);
    assert_eq!(data(&first)["answer"], "First.", "{first:#}");
    assert_ne!(data(&first)["session_id"], data(&second)["session_id"]);
}
