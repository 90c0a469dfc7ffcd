//! Commands in the terminal of an editor, where the person wants that.

use super::{Editor, KIND, Scene, Step, chosen, scene};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::{Child, Command, Stdio};

const WANTED: &str = "\n[acp]\nclient_terminal = true\n";

fn wanted(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::with_config(KIND, WANTED, steps)
}

/// What the editor keeps of a terminal.
struct Terminal {
    child: Option<Child>,
    text: String,
    exit: Value,
}

/// An editor with terminals, which says yes to everything. Each command has run when its end is waited for.
fn editor_with_terminals(scene: &Scene) -> Editor {
    let mut editor = Editor::start(scene, json!({"terminal": true}));
    let mut all: HashMap<String, Terminal> = HashMap::new();
    editor.answers = Box::new(move |request| {
        let params = &request["params"];
        let id = params["terminalId"].as_str().unwrap_or_default().to_owned();
        match request["method"].as_str() {
            Some("terminal/create") => {
                let id = format!("term-{}", all.len());
                all.insert(id.clone(), start(params));
                Some(json!({"terminalId": id}))
            }
            Some("terminal/wait_for_exit") => Some(all.get_mut(&id)?.finish()),
            Some("terminal/output") => {
                let text = &all.get(&id)?.text;
                Some(json!({"output": text, "truncated": false}))
            }
            Some("terminal/kill" | "terminal/release") => Some(json!({})),
            _ => chosen(request, "allow_once"),
        }
    });
    editor
}

fn start(params: &Value) -> Terminal {
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned))
            .collect()
    };
    let mut command = Command::new(params["command"].as_str().unwrap());
    command
        .args(texts(&params["args"]))
        .current_dir(params["cwd"].as_str().unwrap());
    for variable in params["env"].as_array().into_iter().flatten() {
        command.env(
            variable["name"].as_str().unwrap(),
            variable["value"].as_str().unwrap(),
        );
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Terminal {
        child: Some(child),
        text: String::new(),
        exit: Value::Null,
    }
}

impl Terminal {
    fn finish(&mut self) -> Value {
        if let Some(child) = self.child.take() {
            let output = child.wait_with_output().unwrap();
            self.text = String::from_utf8(output.stdout).unwrap();
            self.exit = json!({"exitCode": output.status.code()});
        }
        self.exit.clone()
    }
}

fn run(command: &str) -> [Step; 2] {
    [
        Step::answer().call("bash", json!({"command": command})),
        Step::answer().text("Ran."),
    ]
}

#[test]
fn a_command_runs_in_the_editors_terminal_after_it_was_judged() {
    let scene = wanted(run("pwd; echo out > outside.txt; exit 3"));
    let mut editor = editor_with_terminals(&scene);
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    // It was asked about first: no sandbox holds it.
    let asks = editor
        .seen
        .iter()
        .position(|m| m["method"] == "session/request_permission");
    let starts = editor
        .seen
        .iter()
        .position(|m| m["method"] == "terminal/create");
    assert!(asks.unwrap() < starts.unwrap());
    let created = editor.asked("terminal/create").remove(0);
    assert_eq!(created["sessionId"], id.as_str());
    assert_eq!(created["cwd"], scene.space.root().to_str().unwrap());
    assert_eq!(scene.space.read("outside.txt"), "out\n");
    assert_eq!(editor.asked("terminal/release").len(), 1);
    // The call shows the terminal to its end, and the model reads what it printed.
    let updates = editor.updates("tool_call_update");
    let last = updates.last().unwrap();
    assert_eq!(
        last["content"],
        json!([{"type": "terminal", "terminalId": "term-0"}])
    );
    let log = scene.log();
    let result = log
        .iter()
        .find(|entry| entry["type"] == "tool_result")
        .unwrap();
    let data = &result["output"]["data"];
    assert_eq!(data["exit_code"], 3, "{result}");
    let root = scene.space.root().to_str().unwrap();
    assert!(data["stdout"].as_str().unwrap().contains(root), "{result}");
    let notices = log.iter().filter(|entry| entry["type"] == "notice").count();
    assert!(
        editor
            .said("agent_thought_chunk")
            .contains("client_terminal"),
        "{notices}"
    );
}

#[test]
fn a_command_that_is_refused_reaches_no_terminal() {
    let scene = wanted(run("touch x"));
    let mut editor = editor_with_terminals(&scene);
    editor.allow("reject_once");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    assert_eq!(editor.asked("terminal/create"), Vec::<Value>::new());
    // A deny rule needs nobody.
    let denied = format!("{WANTED}[permissions]\ndeny = [\"Bash(touch:*)\"]\n");
    let scene = Scene::with_config(KIND, &denied, run("touch x"));
    let mut editor = editor_with_terminals(&scene);
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    assert_eq!(editor.asked("terminal/create"), Vec::<Value>::new());
    assert!(!scene.space.exists("x"));
}

#[test]
fn terminals_are_used_only_where_the_person_wants_that() {
    for (config, has_terminals) in [("", true), (WANTED, false)] {
        let scene = Scene::with_config(KIND, config, run("echo hello"));
        let mut editor = match has_terminals {
            true => editor_with_terminals(&scene),
            false => Editor::start(&scene, json!({})),
        };
        let id = editor.open(scene.space.root());
        assert_eq!(editor.prompt(&id, "go"), "end_turn");
        assert_eq!(editor.asked("terminal/create"), Vec::<Value>::new());
        let told = editor
            .said("agent_thought_chunk")
            .contains("no terminals for agents");
        assert_eq!(told, !has_terminals);
    }
    // A project cannot have commands run outside of the sandbox.
    let scene = scene(run("echo hello"));
    scene
        .space
        .write("ostler.toml", "[acp]\nclient_terminal = true\n");
    let trusted = scene.ostler(["trust"]).args(["--yes"]).output();
    assert_ne!(trusted.code, Some(2), "{}", trusted.stderr);
    let mut editor = editor_with_terminals(&scene);
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    assert_eq!(editor.asked("terminal/create"), Vec::<Value>::new());
}

#[test]
fn cancelling_kills_what_runs_in_the_terminal() {
    let scene = wanted(run("sleep 600"));
    let mut editor = Editor::start(&scene, json!({"terminal": true}));
    // The end of the command is answered when it was killed.
    editor.answers = Box::new(|request| match request["method"].as_str() {
        Some("terminal/create") => Some(json!({"terminalId": "t"})),
        Some("terminal/output") => Some(json!({"output": "so far\n", "truncated": false})),
        Some("terminal/wait_for_exit") => None,
        Some("terminal/kill" | "terminal/release") => Some(json!({})),
        _ => chosen(request, "allow_once"),
    });
    let id = editor.open(scene.space.root());
    let prompt = editor.send_prompt(&id, "go");
    let waits = editor.until("the command", |m| m["method"] == "terminal/wait_for_exit");
    editor.notify("session/cancel", json!({"sessionId": id}));
    editor.until("the kill", |m| m["method"] == "terminal/kill");
    let killed = json!({"jsonrpc": "2.0", "id": waits["id"], "result": {"signal": "SIGKILL"}});
    editor.write(&killed.to_string());
    let reply = editor.wait(prompt);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply}");
    if editor.asked("terminal/release").is_empty() {
        editor.until("the release", |m| m["method"] == "terminal/release");
    }
}

#[test]
fn an_editor_that_opens_no_terminal_fails_the_call() {
    let scene = wanted(run("touch x"));
    let mut editor = Editor::start(&scene, json!({"terminal": true}));
    editor.answers = Box::new(|request| match request["method"].as_str() {
        Some("terminal/create") => Some(json!({"code": -32603, "message": "no room"})),
        _ => chosen(request, "allow_once"),
    });
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    let seen = scene.server.request(1).body.to_string();
    assert!(seen.contains("did not open a terminal: no room"), "{seen}");
    assert!(!scene.space.exists("x"));
}
