//! Other agents that play roles, from outside: programs that play by a script in the place of the real ones.

#![cfg(unix)]

mod common;
#[path = "delegation/ends.rs"]
mod ends;
#[path = "delegation/groups.rs"]
mod groups;
#[path = "delegation/in_place.rs"]
mod in_place;
#[path = "delegation/limits.rs"]
mod limits;
#[path = "delegation/state.rs"]
mod state;

use common::Scene;
use ostler_testkit::{Act, Captured, FakeAgents, Kind, Run, Server, Step, json_lines};
use serde_json::{Value, json};

const FREE: &str = "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n";

/// A vendor whose model makes these calls, one in each answer, and then says that it is done.
fn calling(calls: Vec<(&'static str, Value)>) -> Server {
    Server::answering(move |request| {
        let (tool, args) = match calls.get(request.tool_results().len()) {
            Some(call) => call,
            None => return Step::answer().text("It is done."),
        };
        Step::answer().call(tool, args.clone())
    })
}

struct Team {
    scene: Scene,
    agents: FakeAgents,
}

impl Team {
    fn new(config: &str, calls: Vec<(&'static str, Value)>) -> Team {
        let scene = Scene::of(Kind::Chat, config, calling(calls));
        let agents = FakeAgents::new(&scene.space);
        Team { scene, agents }
    }

    /// One role, `worker`, played by this agent.
    fn of(model: &str, more: &str, calls: Vec<(&'static str, Value)>) -> Team {
        let config = format!("{FREE}{more}[roles.worker]\nmodel = \"{model}\"\n");
        Team::new(&config, calls)
    }

    fn run<const N: usize>(&self, args: [&str; N]) -> Run {
        self.scene.ostler(args).env("PATH", self.agents.path())
    }

    fn exec(&self) -> ostler_testkit::Output {
        self.run(["exec", "-p", "go"]).output()
    }

    /// What the model read of its calls, the last answer's.
    fn results(&self) -> Vec<String> {
        let request = self.scene.server.requests().pop().expect("a request");
        texts(&request)
    }

    /// The logs of the sessions of others, each as its lines.
    fn children(&self) -> Vec<Vec<Value>> {
        let logs = self.scene.logs().into_iter();
        let logs = logs.map(|path| json_lines(&self.scene.space.read(path)));
        logs.filter(|lines| lines[0]["child_of"].is_object())
            .collect()
    }

    /// The log of the session that the person started.
    fn own(&self) -> Vec<Value> {
        let logs = self.scene.logs().into_iter();
        let mut logs = logs.map(|path| json_lines(&self.scene.space.read(path)));
        logs.find(|lines| lines[0]["child_of"].is_null())
            .expect("a session")
    }
}

fn texts(request: &Captured) -> Vec<String> {
    let results = request.tool_results().into_iter();
    results.map(|(_, text, _)| text).collect()
}

fn task(role: &str) -> (&'static str, Value) {
    ("delegate", json!({"role": role, "prompt": "make it"}))
}

fn of_type<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    common::of_type(lines, name)
}

/// Over its own protocol where it has one, and with a change to its adapter by its command line.
#[test]
fn every_agent_does_a_task_in_a_session_of_its_own() {
    for name in FakeAgents::names() {
        for adapter in ["", "prompt_transport = \"arg\"\n"] {
            let more = match adapter {
                "" => String::new(),
                text => format!("[backend.{name}.adapter]\n{text}"),
            };
            let team = Team::of(&format!("{name}/default"), &more, vec![task("worker")]);
            team.agents.add(name, [Act::answer("It stands.")]);
            let out = team.exec().ok();
            let about = format!("{name} {adapter}: {} {:?}", out.stderr, team.results());
            assert_eq!(out.stdout, "It is done.\n", "{about}");
            let result = team.results().pop().unwrap();
            assert!(result.starts_with("It stands."), "{about}");
            assert!(result.contains(&format!("[by {name}")), "{about}");
            let children = team.children();
            assert_eq!(children.len(), 1, "{about}");
            let child = &children[0];
            assert_eq!(child[0]["child_of"]["role"], "worker", "{about}");
            let said = of_type(child, "message");
            assert_eq!(said[0]["text"], "make it", "{about}");
            assert_eq!(said.last().unwrap()["text"], "It stands.", "{about}");
            assert_eq!(of_type(child, "tool_use").len(), 1, "{about}");
            let made = of_type(child, "tool_result");
            assert!(made[0]["output"].to_string().contains("made"), "{about}");
            assert_eq!(child.last().unwrap()["outcome"], "done", "{about}");
            let own = team.own();
            let ended = of_type(&own, "child");
            assert_eq!(ended[0]["outcome"], "done", "{about}");
            assert_eq!(ended[0]["role"], "worker", "{about}");
        }
    }
}

/// What an agent tells of its costs is in its session, in the ledger, in the result and in what follows from them.
#[test]
fn costs_are_counted() {
    let team = Team::of("claude/default", "", vec![task("worker")]);
    team.agents.add("claude", [Act::answer("It stands.")]);
    team.exec().ok();
    let child = team.children().remove(0);
    let usage = of_type(&child, "usage");
    assert_eq!(usage[0]["input"], 1000);
    assert_eq!(usage[0]["cost"], 0.25);
    let own = team.own();
    assert_eq!(of_type(&own, "child")[0]["cost"], 0.25);
    assert_eq!(of_type(&own, "child")[0]["tokens"], 1050);
    let ledger = team.scene.space.home().join("ledger.jsonl");
    let ledger = json_lines(&team.scene.space.read(ledger));
    let line = ledger.iter().find(|line| line["provider"] == "claude");
    assert_eq!(line.unwrap()["cost"], 0.25);
}

/// The next call goes on with the conversation; a forced new one and a task do not.
#[test]
fn calls_of_one_session_share_a_conversation() {
    let calls = vec![
        task("worker"),
        task("worker"),
        (
            "delegate",
            json!({"role": "worker", "prompt": "again", "force_new_session": true}),
        ),
        ("task", json!({"role": "worker", "prompt": "apart"})),
        (
            "delegate",
            json!({"role": "worker", "prompt": "that one", "session_id": "codex-session-9"}),
        ),
    ];
    let team = Team::of("codex/default", "", calls);
    team.agents.add("codex", [Act::answer("ok")]);
    team.exec().ok();
    let resumed: Vec<Option<String>> = team
        .agents
        .calls("codex")
        .iter()
        .map(|call| {
            call.args
                .iter()
                .find(|arg| arg.contains("-session-"))
                .cloned()
        })
        .collect();
    let of = |id: &str| Some(id.to_owned());
    let expect = [
        None,
        of("codex-session-1"),
        None,
        None,
        of("codex-session-9"),
    ];
    assert_eq!(resumed, expect);
    assert!(team.results()[0].contains("session_id codex-session-1"));
}

/// Another session is another conversation, unless it names one.
#[test]
fn sessions_do_not_share_conversations() {
    let team = Team::of("codex/default", "", vec![task("worker")]);
    team.agents.add("codex", [Act::answer("ok")]);
    team.exec().ok();
    team.exec().ok();
    let calls = team.agents.calls("codex");
    assert_eq!(calls.len(), 2);
    let resumes = |call: &ostler_testkit::AgentCall| call.args.iter().any(|arg| arg == "resume");
    assert!(!calls.iter().any(resumes), "{calls:?}");
}

/// The sessions of others are found like any: in the list of all, in the search, and by `ostler sessions`.
#[test]
fn their_sessions_are_found() {
    let team = Team::of("codex/default", "", vec![task("worker")]);
    team.agents
        .add("codex", [Act::answer("The turnip is planted.")]);
    team.exec().ok();
    let child = team.children().remove(0);
    let id = child[0]["session_id"].as_str().unwrap().to_owned();
    let found = team
        .run(["sessions", "search", "turnip"])
        .output()
        .ok()
        .stdout;
    assert!(found.contains(id.get(..8).unwrap()), "{found}");
    let listed = team
        .run(["sessions", "list", "--format", "json"])
        .output()
        .ok();
    assert!(listed.stdout.contains(&id), "{}", listed.stdout);
    let shown = team.run(["sessions", "show", &id]).output().ok().stdout;
    assert!(shown.contains("The turnip is planted."), "{shown}");
    // Another of ours goes on where it ended.
    let out = team.run(["resume", &id, "-p", "and now?"]).output();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
}

#[test]
fn without_backends_there_are_no_tools_for_them() {
    let scene = Scene::of(Kind::Chat, FREE, calling(vec![]));
    scene.exec("go").ok();
    let names = scene.server.request(0).tool_names();
    for name in ["delegate", "batch", "roundtable"] {
        assert!(!names.iter().any(|known| known == name), "{names:?}");
    }
    let team = Team::of("codex/default", "", vec![]);
    team.exec().ok();
    let request = team.scene.server.request(0);
    let names = request.tool_names();
    for name in ["delegate", "batch", "roundtable"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    assert!(request.system_text().contains("- worker (by codex)"));
}

#[test]
fn documents_of_three_are_obeyed() {
    let scene = Scene::of(Kind::Chat, FREE, calling(vec![task("oracle")]));
    let document = r#"{"backend": {"codex": {"models": {"gpt": {"options": {"effort": "low"}, "variants": {"high": {"effort": "high"}}}}}},
        "roles": {"oracle": {"model": "codex/gpt@high", "personas": {"description": "d", "prompt": "You are the oracle here."}}}}"#;
    let user = scene
        .space
        .user_home()
        .join(".config/three/config-house.json");
    scene.space.write(user, document);
    let agents = FakeAgents::new(&scene.space);
    agents.add("codex", [Act::answer("ok")]);
    let run = scene
        .ostler(["exec", "-p", "go"])
        .env("PATH", agents.path());
    run.env("THREE_CLIENT", "house").output().ok();
    let call = agents.calls("codex").remove(0);
    let args = call.args.join(" ");
    assert!(args.contains("-m gpt") && args.contains("high"), "{args}");
    assert!(
        args.contains("You are the oracle here.") && args.contains("make it"),
        "{args}"
    );
}

#[test]
fn doctor_finds_them() {
    let team = Team::of("codex/default", "", vec![]);
    team.agents.add("codex", [Act::answer("ready")]);
    team.agents.add("claude", [Act::error()]);
    let run = |more: &[&str]| {
        let run = team.run(["doctor", "--json", "--backends"]).args(more);
        let out = run.output().stdout;
        let report: Value = serde_json::from_str(&out).unwrap();
        let findings = report["findings"].as_array().unwrap().clone();
        move |name: &str| -> Value {
            let is_it = |one: &&Value| {
                one["topic"] == "backend"
                    && one["text"]
                        .as_str()
                        .is_some_and(|text| text.starts_with(name))
            };
            findings.iter().find(is_it).cloned().unwrap_or_default()
        }
    };
    let of = run(&[]);
    let codex = of("codex")["text"].as_str().unwrap().to_owned();
    assert!(
        codex.starts_with("codex 9.9.9, ") && codex.contains("logged in"),
        "{codex}"
    );
    assert_eq!(of("kimi")["status"], "note");
    assert!(
        of("kimi")["text"]
            .as_str()
            .unwrap()
            .contains("not installed")
    );
    assert!(team.agents.calls("codex").is_empty());
    let of = run(&["--ask"]);
    assert!(
        of("codex")["text"]
            .as_str()
            .unwrap()
            .contains("answers: ready")
    );
    assert_eq!(of("claude")["status"], "problem");
    assert!(
        of("claude")["text"]
            .as_str()
            .unwrap()
            .contains("Invalid API key")
    );
}
