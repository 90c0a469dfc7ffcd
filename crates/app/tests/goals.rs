//! Goals without a conversation: `exec --mode goal` runs until the goal ends, and its exit code says how.
#![cfg(unix)]

mod common;

use common::{Scene, of_type};
use ostler_testkit::{Kind, Step, json_lines};
use serde_json::{Value, json};

fn text(text: &str) -> Step {
    Step::answer().text(text)
}

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::new(Kind::Chat, steps)
}

#[test]
fn a_run_ends_with_its_goal() {
    let done = ["Begun.\nGOAL: working: more", "There.\nGOAL: done"];
    let stuck = [
        "GOAL: blocked: no key",
        "GOAL: blocked: still no key",
        "GOAL: blocked: a key is needed",
    ];
    for (answers, code, requests) in [(&done[..], 0, 2), (&stuck[..], 1, 3)] {
        let scene = scene(answers.iter().map(|a| text(a)));
        let run = scene.ostler(["--mode", "goal", "exec", "-p", "reach it"]);
        let out = run.output().exits(code);
        assert_eq!(scene.server.requests().len(), requests, "{}", out.stderr);
        assert!(
            out.stdout.contains(answers[0].lines().next().unwrap()),
            "{}",
            out.stdout
        );
    }
}

#[test]
fn the_stream_has_every_turn_and_one_result() {
    let scene = scene([text("a\nGOAL: working"), text("b\nGOAL: done")]);
    let run = scene.ostler([
        "--mode", "goal", "exec", "--format", "json", "-p", "reach it",
    ]);
    let lines = json_lines(&run.output().ok().stdout);
    assert_eq!(of_type(&lines, "turn_end").len(), 2);
    let results = of_type(&lines, "result");
    assert_eq!(
        (results.len(), &results[0]["subtype"]),
        (1, &json!("success"))
    );
    let goals: Vec<&Value> = of_type(&lines, "mode")
        .into_iter()
        .map(|m| &m["goal"]["state"])
        .collect();
    assert_eq!(goals, [&json!("active"), &json!("active"), &json!("done")]);
}

#[test]
fn a_budget_ends_it() {
    let call = || Step::answer().call("bash", json!({"command": "echo x"}));
    let steps = (0..40).flat_map(|n| [call(), text(&format!("{n}\nGOAL: working: {n}"))]);
    let scene = Scene::with_config(Kind::Chat, "[agent]\nmax_tokens = 100\n", steps);
    let run = scene.ostler([
        "--mode",
        "goal",
        "--budget",
        "60ktokens",
        "exec",
        "-p",
        "reach it",
    ]);
    let out = run.output().exits(1);
    assert!(out.stderr.contains("budget"), "{}", out.stderr);
}

/// Ctrl-C ends a run whatever is left of its goal, and the next one shows that it waits.
#[test]
fn a_signal_ends_a_goal_and_a_resumed_session_waits() {
    let scene = scene([
        text("a\nGOAL: working: more"),
        Step::answer().call("bash", json!({"command": "touch started; sleep 600"})),
        text("There.\nGOAL: done"),
    ]);
    let run = scene
        .ostler(["--mode", "goal", "exec", "-p", "reach it"])
        .spawn();
    scene.server.wait_for(2);
    common::wait_for("the command", || {
        scene.space.exists("started").then_some(())
    });
    run.signal(ostler_testkit::Signal::Interrupt);
    let out = run.wait().exits(130);
    assert!(out.stderr.contains("The goal waits."), "{}", out.stderr);
    // The next words go on with it.
    let id = scene.session_id();
    scene.ostler(["resume", &id, "-p", "go on"]).output().ok();
    let states: Vec<String> = scene
        .log()
        .iter()
        .filter_map(|line| line["goal"]["state"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(states, ["active", "active", "stopped", "active", "done"]);
}

/// Nobody is there to say yes, so no prompt becomes a goal by itself.
#[test]
fn a_prompt_that_sounds_like_a_goal_is_none_without_a_person() {
    let scene = scene([text("Done.")]);
    scene
        .exec("for 8 hours run 20 iterations until it is proven")
        .ok();
    assert!(scene.log().iter().all(|line| line["goal"].is_null()));
    assert!(!scene.space.exists(".ostler"));
}
