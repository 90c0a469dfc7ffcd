//! `ostler acp` as an editor has it: raw lines of JSON-RPC and the official client, every message checked against the schema.

#[path = "acp/bad.rs"]
mod bad;
mod common;
#[path = "acp/driver.rs"]
mod driver;
#[path = "acp/files.rs"]
mod files;
#[path = "acp/official.rs"]
mod official;
#[path = "acp/terminals.rs"]
mod terminals;

use common::Scene;
use driver::{Editor, chosen};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};

const KIND: Kind = Kind::Messages;

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::new(KIND, steps)
}

#[test]
fn a_prompt_streams_and_ends() {
    let scene = scene([
        Step::answer().reasoning("Hm.").text_in(3, "Hello there."),
        Step::answer().text("Again."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "hi"), "end_turn");
    assert_eq!(editor.said("agent_message_chunk"), "Hello there.");
    assert_eq!(editor.said("agent_thought_chunk"), "Hm.");
    // Its own words the editor shows itself.
    assert_eq!(editor.said("user_message_chunk"), "");
    let usage = editor.updates("usage_update").pop().unwrap();
    assert!(usage["used"].as_u64().unwrap() > 0, "{usage}");
    assert_eq!(editor.prompt(&id, "more"), "end_turn");
    assert_eq!(scene.session_id(), id);
    let out = editor.leave();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
}

#[test]
fn a_new_session_says_what_can_be_set_and_run() {
    let scene = scene([]);
    let mut editor = Editor::start(&scene, json!({}));
    let reply = editor.call(
        "session/new",
        json!({"cwd": scene.space.root(), "mcpServers": []}),
    );
    let result = &reply["result"];
    assert_eq!(result["modes"]["currentModeId"], "normal");
    let ids: Vec<&str> = result["configOptions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|o| o["id"].as_str())
        .collect();
    assert_eq!(ids, ["mode", "approvals", "model", "effort"]);
    editor.until("the commands", |m| {
        m["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let commands = editor.updates("available_commands_update").pop().unwrap();
    let commands = commands["availableCommands"].to_string();
    for name in ["\"help\"", "\"plan\"", "\"compact\""] {
        assert!(commands.contains(name), "{name} in {commands}");
    }
}

#[test]
fn an_edit_is_asked_shown_and_made() {
    let scene = scene([
        Step::answer()
            .text("Editing. ")
            .call("read_file", json!({"path": "a.txt"})),
        Step::answer().call(
            "edit_file",
            json!({"path": "a.txt", "old_string": "two", "new_string": "2"}),
        ),
        Step::answer().text("Done."),
    ]);
    scene.space.write("a.txt", "one\ntwo\nthree\n");
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "edit it"), "end_turn");
    assert_eq!(scene.space.read("a.txt"), "one\n2\nthree\n");
    let asked = editor.asked("session/request_permission");
    let [ask] = asked.as_slice() else {
        panic!("{asked:#?}")
    };
    let call = &ask["toolCall"];
    assert_eq!(call["kind"], "edit");
    let path = scene.space.root().join("a.txt");
    let path = path.to_str().unwrap();
    assert_eq!(call["locations"][0]["path"], path);
    let parts = call["content"].as_array().unwrap();
    let diff = parts.iter().find(|part| part["type"] == "diff").unwrap();
    assert_eq!(diff["path"], path);
    assert_eq!(diff["oldText"], "one\ntwo\nthree\n");
    assert_eq!(diff["newText"], "one\n2\nthree\n");
    // The question is about the call that was announced, which ends with its diff.
    let calls = editor.updates("tool_call");
    assert_eq!(calls[0]["kind"], "read");
    assert_eq!(calls[1]["toolCallId"], call["toolCallId"]);
    let updates = editor.updates("tool_call_update");
    let last = updates.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["content"][0]["newText"], "one\n2\nthree\n", "{last:#}");
}

#[test]
fn a_refused_call_does_nothing_and_the_turn_goes_on() {
    let scene = scene([
        Step::answer().call("bash", json!({"command": "touch x"})),
        Step::answer().text("Then not."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("reject_once");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "do it"), "end_turn");
    assert!(!scene.space.exists("x"));
    let updates = editor.updates("tool_call_update");
    assert_eq!(updates.last().unwrap()["status"], "failed");
    assert_eq!(editor.said("agent_message_chunk"), "Then not.");
}

#[test]
fn output_of_a_command_is_live() {
    let scene = scene([
        Step::answer().call(
            "bash",
            json!({"command": "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last"}),
        ),
        Step::answer().text("Ran."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    let prompt = editor.send_prompt(&id, "run");
    editor.until("live output", |m| {
        let update = &m["params"]["update"];
        update["status"] == "in_progress" && update["content"].to_string().contains("first")
    });
    scene.space.write("go", "");
    let reply = editor.wait(prompt);
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    let updates = editor.updates("tool_call_update");
    let last = updates.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert!(last["content"].to_string().contains("last"), "{last:#}");
    let call = editor.updates("tool_call").pop().unwrap();
    assert_eq!(call["kind"], "execute");
}

#[test]
fn the_todo_list_is_the_plan() {
    let items = json!([
        {"text": "look", "state": "done"},
        {"text": "do", "state": "in_progress"},
    ]);
    let scene = scene([
        Step::answer().call("todo", json!({"items": items})),
        Step::answer().text("On it."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "plan it"), "end_turn");
    let plan = editor.updates("plan").pop();
    let plan = plan.unwrap_or_else(|| panic!("{:#?}", editor.seen));
    assert_eq!(plan["entries"][0]["status"], "completed");
    assert_eq!(plan["entries"][1]["content"], "do");
}

#[test]
fn load_shows_the_past_and_resume_does_not() {
    let scene = scene([
        Step::answer().call("ls", json!({"path": "."})),
        Step::answer().text("That is all."),
        Step::answer().text("Going on."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "list"), "end_turn");
    assert_eq!(editor.leave().code, Some(0));

    let mut editor = Editor::start(&scene, json!({}));
    let root = scene.space.root();
    let reply = editor.call("session/list", json!({"cwd": root}));
    let listed = &reply["result"]["sessions"];
    assert_eq!(listed[0]["sessionId"], id.as_str(), "{reply:#}");
    let everywhere = editor.call("session/list", json!({}));
    assert_eq!(everywhere["result"]["sessions"], *listed);
    let open = json!({"sessionId": id, "cwd": root, "mcpServers": []});
    let reply = editor.call("session/load", open.clone());
    assert!(reply["result"]["modes"].is_object(), "{reply:#}");
    assert_eq!(editor.said("user_message_chunk"), "list");
    assert_eq!(editor.said("agent_message_chunk"), "That is all.");
    assert_eq!(editor.updates("tool_call").len(), 1);
    let ended = editor.updates("tool_call_update");
    assert_eq!(ended[0]["status"], "completed");

    // Once more: another client takes the place of the first.
    editor.seen.clear();
    let reply = editor.call("session/resume", open);
    assert!(reply["result"].is_object(), "{reply:#}");
    assert_eq!(editor.said("agent_message_chunk"), "");
    assert_eq!(editor.prompt(&id, "go on"), "end_turn");
    assert_eq!(editor.said("agent_message_chunk"), "Going on.");

    let reply = editor.call("session/close", json!({"sessionId": id}));
    assert!(reply["result"].is_object(), "{reply:#}");
    let reply = editor.call("session/delete", json!({"sessionId": id}));
    assert!(reply["result"].is_object(), "{reply:#}");
    assert!(scene.logs().is_empty());
    // What is gone already is no error.
    let reply = editor.call("session/delete", json!({"sessionId": id}));
    assert!(reply["result"].is_object(), "{reply:#}");
}

#[test]
fn modes_models_and_effort_can_be_set() {
    let scene = scene([Step::answer().text("Ok.")]);
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let reply = editor.call(
        "session/set_mode",
        json!({"sessionId": id, "modeId": "plan"}),
    );
    assert!(reply["result"].is_object(), "{reply:#}");
    let update = editor.updates("current_mode_update").pop().unwrap();
    assert_eq!(update["currentModeId"], "plan");
    let set = |editor: &mut Editor, option: &str, value: &str| {
        let params = json!({"sessionId": id, "configId": option, "value": value});
        editor.call("session/set_config_option", params)
    };
    let current = |reply: &Value, option: &str| {
        let options = reply["result"]["configOptions"].as_array().cloned();
        let options = options.unwrap_or_else(|| panic!("{reply:#}"));
        let found = options.into_iter().find(|o| o["id"] == option);
        found.unwrap()["currentValue"].clone()
    };
    for (option, value) in [
        ("effort", "high"),
        ("approvals", "none"),
        ("mode", "normal"),
    ] {
        let reply = set(&mut editor, option, value);
        assert_eq!(current(&reply, option), value, "{reply:#}");
    }
    let reply = set(&mut editor, "model", "none/such");
    assert_eq!(reply["error"]["code"], -32602);
    let reply = set(&mut editor, "colour", "red");
    assert!(
        reply["error"]["message"]
            .as_str()
            .unwrap()
            .contains("mode, approvals")
    );
    assert_eq!(editor.prompt(&id, "hi"), "end_turn");
}

#[test]
fn commands_run_and_answer() {
    let scene = scene([Step::answer().text("The plan is this.")]);
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "/status"), "end_turn");
    assert!(
        editor.said("agent_message_chunk").contains("plan"),
        "{}",
        editor.said("agent_message_chunk")
    );
    assert_eq!(editor.prompt(&id, "!echo own"), "end_turn");
    let calls = editor.updates("tool_call");
    assert_eq!(calls[0]["title"], "echo own", "{calls:#?}");
    // A command that begins a turn ends with it.
    editor.seen.clear();
    assert_eq!(editor.prompt(&id, "/plan look around"), "end_turn");
    assert!(
        editor
            .said("agent_message_chunk")
            .contains("The plan is this.")
    );
    let update = editor.updates("current_mode_update").pop().unwrap();
    assert_eq!(update["currentModeId"], "plan");
}

#[test]
fn resources_links_and_pictures_reach_the_model() {
    let scene = scene([Step::answer().text("Seen.")]);
    scene.space.write("notes.txt", "the linked words\n");
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    let link = format!("file://{}", scene.space.root().join("notes.txt").display());
    let prompt = json!([
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "name": "notes.txt", "uri": link},
        {"type": "resource", "resource": {"uri": "file:///elsewhere/x.rs", "text": "fn embedded() {}"}},
        {"type": "image", "mimeType": "image/png", "data": png},
    ]);
    let reply = editor.call("session/prompt", json!({"sessionId": id, "prompt": prompt}));
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply:#}");
    let request = scene.server.request(0);
    let text = request.body.to_string();
    for part in ["the linked words", "fn embedded() {}", "image/png"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_text_of_an_attached_file_points_at_nothing() {
    let scene = scene([Step::answer().text("Seen.")]);
    let outside = scene.space.user_home().join("notes.txt");
    std::fs::write(&outside, "SECRET NOTE").unwrap();
    scene.space.write("mine.txt", "named by the person");
    let mut editor = Editor::start(&scene, json!({}));
    let id = editor.open(scene.space.root());
    let text = format!("see @{}", outside.display());
    let prompt = json!([
        {"type": "resource", "resource": {"uri": "file:///project/README.md", "text": text}},
        {"type": "text", "text": "What does it say, and @mine.txt?"},
    ]);
    let reply = editor.call("session/prompt", json!({"sessionId": id, "prompt": prompt}));
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply:#}");
    let sent = scene.server.request(0).body.to_string();
    assert!(
        sent.contains("notes.txt") && sent.contains("named by the person"),
        "{sent}"
    );
    assert!(!sent.contains("SECRET NOTE"), "{sent}");
}

#[test]
fn sessions_have_folders_of_their_own() {
    let scene = scene([
        Step::answer().call("bash", json!({"command": "pwd > here"})),
        Step::answer().text("One."),
        Step::answer().call("bash", json!({"command": "pwd > here"})),
        Step::answer().text("Two."),
    ]);
    let [one, two] = ["one", "two"].map(|name| scene.space.root().join(name));
    std::fs::create_dir_all(&one).unwrap();
    std::fs::create_dir_all(&two).unwrap();
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let first = editor.open(&one);
    let second = editor.open(&two);
    assert_ne!(first, second);
    assert_eq!(editor.prompt(&first, "a"), "end_turn");
    assert_eq!(editor.prompt(&second, "b"), "end_turn");
    for folder in [&one, &two] {
        let said = scene.space.read(folder.join("here"));
        assert_eq!(said.trim(), folder.to_str().unwrap());
    }
    let sessions: Vec<&str> = editor
        .seen
        .iter()
        .filter(|m| m["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
        .filter_map(|m| m["params"]["sessionId"].as_str())
        .collect();
    assert_eq!(sessions, [first.as_str(), second.as_str()]);
}

#[test]
fn questions_are_forms_where_the_editor_has_them() {
    let ask = json!({"question": "Which colour?", "choices": ["red", "blue"]});
    let scene = scene([
        Step::answer().call("ask", ask.clone()),
        Step::answer().text("Thanks."),
        Step::answer().call("ask", ask),
        Step::answer().text("Again."),
    ]);
    let mut editor = Editor::start(&scene, json!({"elicitation": {"form": {}}}));
    editor.answers = Box::new(|request| {
        (request["method"] == "elicitation/create")
            .then(|| json!({"action": "accept", "content": {"text": "green"}}))
    });
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "ask me"), "end_turn");
    let form = editor.asked("elicitation/create").pop().unwrap();
    assert!(form["message"].as_str().unwrap().contains("Which colour?"));
    let answer = scene.server.request(1).body.to_string();
    assert!(answer.contains("green"), "{answer}");
    assert_eq!(editor.leave().code, Some(0));

    // Without forms the choices are options.
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "ask me"), "end_turn");
    let answer = scene.server.request(3).body.to_string();
    assert!(answer.contains("red"), "{answer}");
}

#[test]
fn a_plan_is_approved_in_the_editor() {
    let scene = scene([
        Step::answer().call("exit_plan_mode", json!({"plan": "# The plan\n\nWrite x."})),
        Step::answer().call("write_file", json!({"path": "x", "content": "made\n"})),
        Step::answer().text("Made."),
    ]);
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("allow_once");
    let id = editor.open(scene.space.root());
    editor.call(
        "session/set_mode",
        json!({"sessionId": id, "modeId": "plan"}),
    );
    assert_eq!(editor.prompt(&id, "go"), "end_turn");
    let ask = &editor.asked("session/request_permission")[0];
    let shown = ask["toolCall"]["content"].to_string();
    assert!(shown.contains("Write x."), "{ask:#}");
    assert_eq!(scene.space.read("x"), "made\n");
    let mode = editor.updates("current_mode_update").pop().unwrap();
    assert_eq!(mode["currentModeId"], "normal");
}

#[test]
fn an_untrusted_project_is_asked_about_before_the_session() {
    let scene = scene([Step::answer().text("Ok.")]);
    scene.space.write(
        "ostler.toml",
        "[permissions]\nallow = [\"Bash(touch *)\"]\n",
    );
    // The editor cannot be asked: the session opens without what the project brings, and says so.
    let mut editor = Editor::start(&scene, json!({}));
    editor.answers = Box::new(|request| {
        (request["method"] == "session/request_permission")
            .then(|| json!({"code": -32602, "message": "unknown session"}))
    });
    editor.open(scene.space.root());
    editor.until("the notice", |m| {
        let text = m["params"]["update"]["content"]["text"].as_str();
        text.is_some_and(|text| text.contains("unknown session"))
    });
    assert_eq!(editor.leave().code, Some(0));
    let trust = scene.space.home().join("trust.json");
    assert!(!trust.exists());

    // The person trusts it.
    let mut editor = Editor::start(&scene, json!({}));
    editor.answers = Box::new(|request| chosen(request, "allow_always"));
    editor.open(scene.space.root());
    let asked = editor.asked("session/request_permission");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(asked[0].to_string().contains("Bash(touch *)"), "{asked:#?}");
    assert!(trust.exists());
    // It is not asked again, in a form neither.
    assert_eq!(editor.leave().code, Some(0));
    let mut editor = Editor::start(&scene, json!({"elicitation": {"form": {}}}));
    editor.open(scene.space.root());
    assert!(editor.asked("elicitation/create").is_empty());
}

#[test]
fn servers_of_the_editor_start_when_the_person_says_so() {
    let scene = scene([Step::answer().text("Ok."), Step::answer().text("Ok.")]);
    let server = json!({"name": "files", "command": "/bin/sh", "args": ["-c", "touch started; cat"], "env": []});
    let mut editor = Editor::start(&scene, json!({}));
    editor.allow("reject_once");
    let params = json!({"cwd": scene.space.root(), "mcpServers": [server]});
    let reply = editor.call("session/new", params.clone());
    let id = reply["result"]["sessionId"].as_str().unwrap().to_owned();
    let asked = editor.asked("session/request_permission");
    assert!(asked[0].to_string().contains("touch started"), "{asked:#?}");
    assert_eq!(editor.prompt(&id, "hi"), "end_turn");
    assert!(!scene.space.exists("started"));
    let notice = editor.said("agent_thought_chunk");
    assert!(notice.contains("left out: files"), "{notice}");

    editor.allow("allow_once");
    let reply = editor.call("session/new", params);
    assert!(reply["result"].is_object(), "{reply:#}");
    common::wait_for("the server", || scene.space.exists("started").then_some(()));
}
