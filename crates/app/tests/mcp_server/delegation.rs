//! The tools for other agents, with programs that play them.

use super::driver::{Peer, data, is_error, text};
use super::{KIND, forms};
use crate::common::{Scene, wait_for};
use ostler_testkit::{Act, FakeAgents};
use serde_json::{Value, json};

/// Two roles, each played by a program of its own.
fn scene(first: Act, second: Act) -> (Scene, FakeAgents, [&'static str; 2]) {
    with_config("", first, second)
}

fn with_config(more: &str, first: Act, second: Act) -> (Scene, FakeAgents, [&'static str; 2]) {
    let names = FakeAgents::names();
    let pair = [names[0], names[1]];
    let config = format!(
        "\n[roles.reviewer]\nmodel = \"{}/default\"\n\n[roles.fixer]\nmodel = \"{}/default\"\n\n[roles.idle]\nmodel = \"{}/default\"\nenabled = false\n",
        pair[0], pair[1], pair[0]
    );
    let scene = Scene::with_config(KIND, &(config + more), []);
    let agents = FakeAgents::new(&scene.space);
    agents.add(pair[0], [first]);
    agents.add(pair[1], [second]);
    (scene, agents, pair)
}

fn start(scene: &Scene, agents: &FakeAgents, capabilities: Value) -> Peer {
    start_with(scene, agents, &[], capabilities)
}

fn start_with(scene: &Scene, agents: &FakeAgents, flags: &[&str], capabilities: Value) -> Peer {
    let run = scene.ostler(["mcp-server"]).args(flags);
    let run = run.env("PATH", agents.path());
    let mut peer = Peer::of(run.open_stdin().spawn());
    peer.hello(capabilities);
    peer
}

fn events(peer: &Peer) -> Vec<(String, String)> {
    let notes = peer.notes("notifications/message");
    let field = |note: &Value, name: &str| note["data"][name].as_str().unwrap_or("").to_owned();
    let pairs = notes.iter().map(|n| (field(n, "event"), field(n, "role")));
    pairs.filter(|(event, _)| event != "notice").collect()
}

#[test]
fn a_role_does_a_task_and_goes_on_with_it() {
    let (scene, agents, [first, _]) = scene(Act::answer("Looks good."), Act::answer("-"));
    let mut peer = start(&scene, &agents, json!({}));
    let arguments = json!({"PROMPT": "review it", "role": "reviewer", "conversation_id": "c1"});
    let reply = peer.tool("three", arguments, Some("t"));
    assert!(!is_error(&reply), "{reply:#}");
    let done = data(&reply).clone();
    assert_eq!(done["success"], true);
    assert_eq!(done["backend"], first);
    assert_eq!(done["role_id"], "reviewer");
    assert_eq!(done["message"], "Looks good.");
    assert_eq!(done["agent_messages"], "Looks good.");
    assert_eq!(done["resumed"], false);
    assert_eq!(text(&reply), "Looks good.");
    let pair = |event: &str| (event.to_owned(), "reviewer".to_owned());
    assert_eq!(events(&peer), [pair("started"), pair("completed")]);
    let lines = peer.notes("notifications/progress");
    let last = lines.last().unwrap()["message"].as_str().unwrap();
    assert_eq!(last, "reviewer completed");
    // The older names of parameters count, too.
    let again = json!({"prompt": "once more", "role": "reviewer", "conversation_id": "c1"});
    let reply = peer.tool("three", again, None);
    assert_eq!(data(&reply)["resumed"], true, "{reply:#}");
    assert_eq!(data(&reply)["SESSION_ID"], done["SESSION_ID"]);
    let calls = agents.calls(first);
    assert_eq!(calls.len(), 2);
    let ledger = scene.space.read(scene.space.home().join("ledger.jsonl"));
    assert_eq!(ledger.lines().count(), 2, "{ledger}");
    assert!(ledger.contains(&format!("\"provider\":\"{first}\"")));
    let depth = calls[0].env.get("OSTLER_DELEGATION_DEPTH");
    assert_eq!(depth.map(String::as_str), Some("1"));
}

#[test]
fn a_batch_gives_what_each_task_gave() {
    let (scene, agents, [first, second]) = scene(Act::answer("One."), Act::error());
    let mut peer = start(&scene, &agents, json!({}));
    let tasks = json!([
        {"PROMPT": "a", "role": "reviewer", "name": "first"},
        {"PROMPT": "b", "role": "fixer", "name": "second"},
        {"PROMPT": "c", "role": "nobody", "name": "third"},
    ]);
    for tool in ["batch", "roundtable-batch"] {
        let reply = peer.tool(tool, json!({"tasks": tasks}), None);
        assert!(!is_error(&reply), "{reply:#}");
        let data = data(&reply);
        assert_eq!(data["success"], false);
        let results = data["results"].as_array().unwrap();
        let each: Vec<(&str, bool)> = results
            .iter()
            .map(|one| (one["name"].as_str().unwrap(), one["success"] == true))
            .collect();
        assert_eq!(each, [("first", true), ("second", false), ("third", false)]);
        assert_eq!(results[0]["message"], "One.");
        let text = text(&reply);
        assert!(text.contains("## first\n\nOne."), "{text}");
    }
    assert_eq!(
        (agents.calls(first).len(), agents.calls(second).len()),
        (2, 2)
    );
}

#[test]
fn a_roundtable_gives_each_contribution() {
    let (scene, agents, _) = scene(Act::answer("Yes."), Act::answer("No."));
    let mut peer = start(&scene, &agents, json!({}));
    let participants = json!([{"name": "reviewer"}, {"name": "skeptic", "role": "fixer"}]);
    let reply = peer.tool(
        "roundtable",
        json!({"TOPIC": "Is it?", "participants": participants}),
        Some("t"),
    );
    let data = data(&reply);
    assert_eq!(data["topic"], "Is it?", "{reply:#}");
    let said = data["contributions"].as_array().unwrap();
    let said: Vec<&Value> = said.iter().map(|one| &one["message"]).collect();
    assert_eq!(said, ["Yes.", "No."]);
    assert_eq!(data["success"], true);
    assert_eq!(events(&peer).len(), 4);
}

#[test]
fn what_changed_between_two_calls_counts() {
    let (scene, agents, [first, second]) = scene(Act::answer("One."), Act::answer("Two."));
    let mut peer = start(&scene, &agents, json!({}));
    let ask = json!({"PROMPT": "x", "role": "reviewer", "conversation_id": "c"});
    for _ in 0..2 {
        let reply = peer.tool("three", ask.clone(), None);
        assert_eq!(data(&reply)["backend"], first, "{reply:#}");
    }
    let place = scene.space.home().join("config.toml");
    let from = format!("[roles.reviewer]\nmodel = \"{first}/default\"");
    let to = format!("[roles.reviewer]\nmodel = \"{second}/default\"");
    let config = scene.space.read(&place);
    assert!(config.contains(&from));
    scene.space.write(&place, config.replace(&from, &to));
    let reply = peer.tool("three", ask.clone(), None);
    assert_eq!(data(&reply)["backend"], second, "{reply:#}");
    scene.space.write(
        &place,
        config.replace(&from, &to) + "\n[permissions]\ndeny = [\"Delegate(reviewer)\"]\n",
    );
    let reply = peer.tool("three", ask, None);
    assert!(is_error(&reply), "{reply:#}");
    // The documents of Three for the client that the tasks name.
    let document = scene
        .space
        .user_home()
        .join(".config/three/config-zed.json");
    let role =
        json!({"model": format!("{first}/default"), "capabilities": {"filesystem": "read-only"}});
    let text = json!({"backend": {first: {}}, "roles": {"zeds": role}});
    scene.space.write(document, text.to_string());
    let tasks = json!([{"PROMPT": "x", "role": "zeds", "client": "zed"}]);
    let reply = peer.tool("batch", json!({"tasks": tasks}), None);
    assert!(!is_error(&reply), "{reply:#}");
}

#[test]
fn the_roles_are_listed() {
    let (scene, agents, _) = scene(Act::answer("-"), Act::answer("-"));
    let mut peer = start(&scene, &agents, json!({}));
    let reply = peer.tool("info", json!({}), None);
    let data = data(&reply);
    assert_eq!(data["success"], true, "{reply:#}");
    let roles = data["roles"].as_array().unwrap();
    let names: Vec<&str> = roles.iter().filter_map(|r| r["role"].as_str()).collect();
    assert_eq!(names, ["fixer", "idle", "reviewer"]);
    let config = scene.space.home().join("config.toml").display().to_string();
    assert_eq!(data["config_sources"], json!([config]));
    assert!(text(&reply).contains("idle: "), "{}", text(&reply));
    assert!(text(&reply).contains("(disabled)"));
}

#[test]
fn calls_of_others_that_make_no_sense() {
    let (scene, agents, _) = scene(Act::garbage(), Act::killed());
    let mut peer = start(&scene, &agents, json!({}));
    for (tool, arguments, part) in [
        ("three", json!({"PROMPT": "x", "role": "nobody"}), "nobody"),
        ("three", json!({"PROMPT": "x", "role": "idle"}), "idle"),
        (
            "three",
            json!({"PROMPT": " ", "role": "reviewer"}),
            "PROMPT",
        ),
        ("three", json!({"PROMPT": 1}), "Invalid arguments"),
        (
            "three",
            json!({"PROMPT": "x", "role": "reviewer", "contract": "poem"}),
            "Invalid arguments",
        ),
        (
            "three",
            json!({"PROMPT": "x", "role": "reviewer", "cd": "/"}),
            "outside of the folders",
        ),
        ("three", json!({"PROMPT": "x", "role": "reviewer"}), ""),
        ("three", json!({"PROMPT": "x", "role": "fixer"}), ""),
        ("batch", json!({"tasks": []}), ""),
        ("batch", json!({"tasks": 1}), "Invalid arguments"),
        (
            "batch",
            json!({"tasks": [{"PROMPT": "x", "role": "fixer", "cd": "/"}]}),
            "tasks[0].cd",
        ),
        (
            "batch",
            json!({"client": "a", "tasks": [{"PROMPT": "x", "role": "fixer", "client": "b"}]}),
            "several (a, b)",
        ),
        ("roundtable", json!({"TOPIC": "x", "participants": []}), ""),
    ] {
        let reply = peer.tool(tool, arguments.clone(), None);
        assert!(is_error(&reply), "{arguments}: {reply:#}");
        let text = text(&reply);
        assert!(
            text.contains(part) && !text.is_empty(),
            "{arguments}: {text}"
        );
    }
    assert_eq!(peer.leave().code, Some(0));
}

/// Processes of an agent's program.
fn running(scene: &Scene, name: &str) -> usize {
    let base = scene.space.user_home().parent().unwrap();
    let program = base.join("bin").join(name).into_os_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let is_one = |path: std::path::PathBuf| {
        let argv = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let mut words = argv.split(|byte| *byte == 0);
        // Not the one that put it into the sandbox.
        words.nth(1) == Some(program.as_encoded_bytes())
    };
    entries.flatten().filter(|e| is_one(e.path())).count()
}

#[test]
fn a_cancelled_call_ends_its_agent() {
    let (scene, agents, [first, _]) = scene(Act::hang(), Act::answer("-"));
    let mut peer = start(&scene, &agents, forms());
    peer.answers = Box::new(yes);
    let arguments = json!({"PROMPT": "x", "role": "reviewer"});
    let id = peer.send_tool("three", arguments.clone(), None);
    let begun = || (running(&scene, first) > 0).then_some(());
    let ended = || (running(&scene, first) == 0).then_some(());
    wait_for("the agent", begun);
    peer.notify("notifications/cancelled", json!({"requestId": id}));
    wait_for("the agent to be gone", ended);
    // So does a client that leaves.
    peer.send_tool("three", arguments, None);
    wait_for("the agent", begun);
    assert_eq!(peer.leave().code, Some(0));
    wait_for("the agent to be gone", ended);
}

#[test]
fn rules_about_roles_bind() {
    let rules = "\n[permissions]\ndeny = [\"Delegate(fixer)\"]\nask = [\"Delegate(reviewer)\"]\n";
    let (scene, agents, [first, _]) = with_config(rules, Act::answer("Fine."), Act::answer("-"));
    let mut peer = start(&scene, &agents, json!({}));
    let call = |role: &str| json!({"PROMPT": "x", "role": role});
    for (role, part) in [
        ("fixer", "forbids the role fixer"),
        ("reviewer", "this client cannot ask"),
    ] {
        let reply = peer.tool("three", call(role), None);
        assert!(is_error(&reply) && text(&reply).contains(part), "{reply:#}");
    }
    assert_eq!(agents.calls(first).len(), 0);
    // Who can be asked may say yes.
    let mut peer = start(&scene, &agents, forms());
    peer.answers = Box::new(yes);
    let reply = peer.tool("three", call("reviewer"), None);
    assert_eq!(data(&reply)["message"], "Fine.", "{reply:#}");
}

fn yes(_: &Value) -> Option<Value> {
    Some(json!({"action": "accept", "content": {"choice": "yes"}}))
}

#[test]
fn a_writer_works_only_when_the_person_or_the_server_lets_it() {
    let looks =
        "\n[roles.reader]\nmodel = \"{}/default\"\ncapabilities = { filesystem = \"read-only\" }\n";
    let looks = looks.replace("{}", FakeAgents::names()[0]);
    let config = |headless: &str| format!("{looks}\n[permissions]\nheadless = \"{headless}\"\n");
    for (flags, headless, capabilities, part) in [
        (
            &["--permission-mode", "ask"][..],
            "sandbox",
            json!({}),
            "this client cannot ask",
        ),
        (&[], "deny", json!({}), "this client cannot ask"),
        (&["--mode", "plan"], "sandbox", forms(), "`--mode plan`"),
        (
            &["--allowed-tools", "read_file"],
            "sandbox",
            forms(),
            "without the tool",
        ),
        (&[], "sandbox", forms(), "did not let"),
    ] {
        let config = config(headless);
        let (scene, agents, [first, second]) =
            with_config(&config, Act::answer("Fine."), Act::answer("Done."));
        let mut peer = start_with(&scene, &agents, flags, capabilities);
        peer.answers = Box::new(|_| Some(json!({"action": "decline"})));
        let task = json!({"PROMPT": "x", "role": "fixer"});
        for (tool, arguments) in [("three", task.clone()), ("batch", json!({"tasks": [task]}))] {
            let reply = peer.tool(tool, arguments, None);
            let text = text(&reply);
            assert!(
                is_error(&reply) && text.contains(part),
                "{flags:?}: {reply:#}"
            );
        }
        assert_eq!(agents.calls(second).len(), 0);
        // A role that changes nothing needs nobody's yes.
        let reply = peer.tool("three", json!({"PROMPT": "x", "role": "reader"}), None);
        let is_there = !flags.contains(&"--allowed-tools");
        assert_eq!(!is_error(&reply), is_there, "{flags:?}: {reply:#}");
        assert_eq!(agents.calls(first).len(), usize::from(is_there));
    }
}

#[test]
fn a_folder_below_has_the_rules_of_the_project() {
    let (scene, agents, [_, second]) = scene(Act::answer("-"), Act::answer("-"));
    scene
        .space
        .write("ostler.toml", "[permissions]\ndeny = [\"Delegate\"]\n");
    scene.space.write(".vscode/tasks.json", "{}");
    let mut peer = start(&scene, &agents, json!({}));
    let arguments = json!({"PROMPT": "x", "role": "fixer", "cd": ".vscode"});
    let reply = peer.tool("three", arguments, None);
    assert!(text(&reply).contains("forbids the role fixer"), "{reply:#}");
    assert_eq!(agents.calls(second).len(), 0);
    // It works in that folder.
    scene.space.write("ostler.toml", "");
    let arguments = json!({"PROMPT": "x", "role": "fixer", "cd": ".vscode"});
    let reply = peer.tool("three", arguments, None);
    assert!(!is_error(&reply), "{reply:#}");
    assert!(agents.calls(second)[0].cwd.ends_with("/.vscode"));
}
