//! Sessions of the person with another agent in the place of a model.

use super::{FREE, Team, of_type};
use ostler_testkit::{Act, Kind, Server, TempWorkspace};
use serde_json::Value;

/// No model of ours is configured: none is needed.
fn team() -> Team {
    let server = Server::answering(|_| panic!("no model of ours is asked"));
    let scene = super::common::Scene {
        kind: Kind::Chat,
        server,
        space: TempWorkspace::new(),
    };
    scene
        .space
        .write(scene.space.home().join("config.toml"), FREE);
    let agents = ostler_testkit::FakeAgents::new(&scene.space);
    Team { scene, agents }
}

fn said(log: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = of_type(log, "message").into_iter();
    let said = messages.map(|message| (text(&message["role"]), text(&message["text"])));
    said.filter(|(_, text)| !text.is_empty()).collect()
}

#[test]
fn a_prompt_goes_to_the_agent_and_a_resumed_session_goes_on_with_its_conversation() {
    let team = team();
    team.agents.add("codex", [Act::answer("It stands.")]);
    let run = team.run(["exec", "--backend", "codex", "-p", "make it"]);
    assert_eq!(run.output().ok().stdout, "It stands.\n");
    let log = team.own();
    let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    let first = [pair("user", "make it"), pair("assistant", "It stands.")];
    assert_eq!(said(&log), first);
    assert_eq!(of_type(&log, "tool_use").len(), 1);
    assert_eq!(of_type(&log, "tool_result").len(), 1);
    assert_eq!(log.last().unwrap()["outcome"], "done");
    let id = log[0]["session_id"].as_str().unwrap().to_owned();
    let run = team.run([
        "exec",
        "--backend",
        "codex",
        "--session",
        &id,
        "-p",
        "go on",
    ]);
    assert_eq!(run.output().ok().stdout, "It stands.\n");
    let calls = team.agents.calls("codex");
    assert_eq!(calls.len(), 2);
    assert!(calls[1].args.iter().any(|arg| arg == "resume"));
    assert!(calls[1].args.iter().any(|arg| arg == "codex-session-1"));
    let log = team.own();
    assert_eq!(said(&log).len(), 4);
    let ids: Vec<&Value> = of_type(&log, "tool_use")
        .iter()
        .map(|call| &call["id"])
        .collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    let list = team.run(["sessions", "list"]).output().ok().stdout;
    assert!(list.contains("make it"), "{list}");
}

/// Any program that speaks the protocol, by its command.
#[test]
fn a_command_that_speaks_acp_is_an_agent() {
    let team = team();
    team.agents.add("gemini", [Act::answer("Over the wire.")]);
    let run = team.run(["exec", "--backend", "acp:gemini --acp", "-p", "make it"]);
    assert_eq!(run.output().ok().stdout, "Over the wire.\n");
    let id = team.own()[0]["session_id"].as_str().unwrap().to_owned();
    let run = team.run([
        "exec",
        "--backend",
        "acp:gemini --acp",
        "--session",
        &id,
        "-p",
        "on",
    ]);
    run.output().ok();
    let second = team.agents.calls("gemini").remove(1);
    assert!(second.stdin.contains("session/load"), "{}", second.stdin);
}

/// Prompts wait for each other, commands of ours are refused with a reason, and Esc stops what runs.
#[test]
fn it_is_talked_to_in_the_terminal() {
    let team = team();
    team.agents.add(
        "codex",
        [Act::answer("First."), Act::hang(), Act::answer("Third.")],
    );
    let mut term = team.run(["--backend", "codex"]).on_terminal(100, 30);
    term.wait_for("› ");
    term.keys("one\r");
    term.wait_for("First.");
    term.keys("/compact\r");
    term.wait_for("has no commands");
    term.keys("two\r");
    super::common::wait_for("the second call", || {
        (team.agents.calls("codex").len() == 2).then_some(())
    });
    term.keys("\x1b");
    term.wait_for("nterrupted");
    term.keys("three\r");
    term.wait_for("Third.");
    let calls = team.agents.calls("codex");
    assert!(!calls[1].is_running());
    term.keys("\x04");
    term.wait();
}

#[test]
fn what_is_no_agent_is_said() {
    let team = team();
    for name in ["nobody", "ostler/mock/fast", "acp:", "nobody/model"] {
        let out = team.run(["exec", "--backend", name, "-p", "x"]).output();
        assert_ne!(out.code, Some(0), "{name}");
        assert!(
            out.stderr.contains("is not a known agent"),
            "{name}: {}",
            out.stderr
        );
    }
    let out = team.run(["exec", "--backend", "codex", "-p", "x"]).output();
    assert_eq!(out.code, Some(1));
    assert!(out.stderr.contains("not installed"), "{}", out.stderr);
}

/// In plan mode the agent is held to reading.
#[test]
fn plan_mode_is_for_reading() {
    let team = team();
    team.agents.add("codex", [Act::answer("A plan.")]);
    let run = team.run(["exec", "--backend", "codex", "--mode", "plan", "-p", "x"]);
    run.output().ok();
    let call = team.agents.calls("codex").remove(0);
    assert!(
        call.args.iter().any(|arg| arg == "read-only"),
        "{:?}",
        call.args
    );
}
