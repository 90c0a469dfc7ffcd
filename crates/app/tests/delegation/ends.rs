//! How the work of another agent ends: errors, another model that steps in, output that cannot be read, time, signals.

use super::{Team, of_type, task};
use ostler_testkit::{Act, FakeAgents, Signal};
use serde_json::json;
use std::time::Duration;

fn with_timeout(seconds: u64) -> (&'static str, serde_json::Value) {
    let args = json!({"role": "worker", "prompt": "make it", "timeout_secs": seconds});
    ("delegate", args)
}

#[test]
fn an_error_is_told_and_the_session_goes_on() {
    for name in FakeAgents::names() {
        let team = Team::of(&format!("{name}/default"), "", vec![task("worker")]);
        team.agents.add(name, [Act::error()]);
        let out = team.exec().ok();
        assert_eq!(out.stdout, "It is done.\n");
        let result = team.results().pop().unwrap();
        assert!(
            result.contains("Do not take its work for done"),
            "{name}: {result}"
        );
        assert!(result.contains("API key"), "{name}: {result}");
        let child = team.children().remove(0);
        assert_eq!(child.last().unwrap()["outcome"], "error", "{name}");
        assert_eq!(
            of_type(&team.own(), "child")[0]["outcome"],
            "failed",
            "{name}"
        );
    }
}

/// The model of another backend steps in once, with what the role may do.
#[test]
fn a_vendor_that_has_had_enough_is_replaced() {
    for name in FakeAgents::names()
        .into_iter()
        .filter(|name| *name != "claude")
    {
        let more = format!(
            "[backend.{name}]\nfallback = {{ model = \"claude/default\", patterns = [\"429\"] }}\n"
        );
        let team = Team::of(&format!("{name}/default"), &more, vec![task("worker")]);
        team.agents.add(name, [Act::rate_limited()]);
        team.agents.add("claude", [Act::answer("Then I do it.")]);
        let out = team.exec().ok();
        let result = team.results().pop().unwrap();
        assert!(
            result.starts_with("Then I do it."),
            "{name}: {result} {}",
            out.stderr
        );
        assert!(result.contains("model fallback used"), "{name}: {result}");
        assert_eq!(team.agents.calls("claude").len(), 1, "{name}");
        assert_eq!(team.children().len(), 1, "{name}");
    }
}

/// A model of Ostler's own steps in as a sub-agent below the session of the other agent.
#[test]
fn our_own_model_can_step_in() {
    let more =
        "[backend.codex]\nfallback = { model = \"ostler/mock/fast\", patterns = [\"429\"] }\n";
    let config = format!(
        "{}{more}[roles.worker]\nmodel = \"codex/default\"\n",
        super::FREE
    );
    let server = ostler_testkit::Server::answering(|request| {
        let is_child = request.system_text().contains("# Role: ");
        match (is_child, request.tool_results().is_empty()) {
            (true, _) => ostler_testkit::Step::answer().text("I did it myself."),
            (false, true) => {
                ostler_testkit::Step::answer().call(task("worker").0, task("worker").1)
            }
            (false, false) => ostler_testkit::Step::answer().text("It is done."),
        }
    });
    let scene = super::Scene::of(ostler_testkit::Kind::Chat, &config, server);
    let agents = FakeAgents::new(&scene.space);
    let team = Team { scene, agents };
    team.agents.add("codex", [Act::rate_limited()]);
    let out = team.exec().ok();
    let result = team.results().pop().unwrap();
    assert!(
        result.starts_with("I did it myself."),
        "{result} {}",
        out.stderr
    );
    assert!(result.contains("model fallback used"), "{result}");
    let models: Vec<String> = team
        .scene
        .server
        .requests()
        .iter()
        .map(|r| r.model().to_owned())
        .collect();
    assert_eq!(models, ["mock-model", "fast", "mock-model"]);
    // Both have a log: the other agent's, and ours below it.
    assert_eq!(team.children().len(), 2);
}

#[test]
fn nonsense_and_sudden_ends_are_failures() {
    for (act, expect) in [(Act::garbage(), "codex"), (Act::killed(), "codex")] {
        let team = Team::of("codex/default", "", vec![task("worker")]);
        team.agents.add("codex", [act]);
        let out = team.exec().ok();
        assert_eq!(out.stdout, "It is done.\n");
        let result = team.results().pop().unwrap();
        assert!(result.contains("Do not take its work for done"), "{result}");
        assert!(result.contains(expect), "{result}");
        assert_eq!(of_type(&team.own(), "child")[0]["outcome"], "failed");
    }
}

#[test]
fn what_is_not_installed_is_said() {
    let team = Team::of("kimi/default", "", vec![task("worker")]);
    let out = team.exec().ok();
    assert_eq!(out.stdout, "It is done.\n");
    let result = team.results().pop().unwrap();
    assert!(result.contains("`kimi` is not installed"), "{result}");
}

/// An agent that hears no signal is killed when its time is over, with all that it started.
#[test]
fn time_runs_out() {
    for (name, adapter) in [
        ("codex", ""),
        ("gemini", ""),
        (
            "gemini",
            "[backend.gemini.adapter]\nprompt_transport = \"arg\"\n",
        ),
    ] {
        let team = Team::of(&format!("{name}/default"), adapter, vec![with_timeout(1)]);
        team.agents.add(
            name,
            [Act::hang().after("sleep 600 &\necho $! > \"$record/pid\"")],
        );
        team.exec().ok();
        let result = team.results().pop().unwrap();
        assert!(result.contains("ran out of time"), "{name}: {result}");
        assert_eq!(
            of_type(&team.own(), "child")[0]["outcome"],
            "timeout",
            "{name}"
        );
        let calls = team.agents.calls(name);
        assert!(calls[0].pid > 0 && !calls[0].is_running(), "{name}");
    }
}

#[test]
fn a_flood_is_stopped() {
    let team = Team::of("codex/default", "", vec![with_timeout(20)]);
    team.agents.add("codex", [Act::flood()]);
    let out = team
        .run(["exec", "-p", "go"])
        .timeout(Duration::from_secs(50));
    out.output().ok();
    let result = team.results().pop().unwrap();
    assert!(
        result.contains("Do not take its work for done") || result.contains("ran out of time"),
        "{result}"
    );
    let log = team.children().remove(0);
    assert!(log.len() < 200, "{}", log.len());
}

/// A signal, and what a person's Escape sends, leave no process.
#[test]
fn a_stop_leaves_no_process() {
    for name in ["codex", "gemini"] {
        let team = Team::of(&format!("{name}/default"), "", vec![task("worker")]);
        team.agents.add(name, [Act::hang()]);
        let run = team.run(["exec", "-p", "go"]).spawn();
        let call = super::common::wait_for("the agent to start", || {
            let call = team.agents.calls(name).into_iter().next()?;
            (call.pid > 0).then_some(call)
        });
        run.signal(Signal::Interrupt);
        run.wait().exits(130);
        assert!(!call.is_running(), "{name}");
        let child = team.children().remove(0);
        assert_eq!(child.last().unwrap()["outcome"], "interrupted", "{name}");
    }
}

/// Killed by force, Ostler takes the agent with it.
#[test]
fn a_kill_leaves_no_process() {
    let team = Team::of("codex/default", "", vec![task("worker")]);
    team.agents.add("codex", [Act::hang()]);
    let run = team.run(["exec", "-p", "go"]).spawn();
    let call = super::common::wait_for("the agent to start", || {
        let call = team.agents.calls("codex").into_iter().next()?;
        (call.pid > 0).then_some(call)
    });
    run.signal(Signal::Kill);
    run.wait();
    super::common::wait_for("the agent to end", || (!call.is_running()).then_some(()));
}
