//! Folding and handing over with the real binary: every protocol takes the folded prompt, a kill costs nothing, and a handoff
//! touches no history.
#![cfg(unix)]

mod common;

use common::{Scene, each_kind};
use ostler_testkit::{Captured, Kind, Server, Signal, Step, Usage};
use serde_json::{Value, json};

const ASKED: &str = "The conversation is about to be folded";
const SUMMARY: &str = "## Goal\nShip the parser.\n## Decisions\n- No lexer.";
const RULE: &str = "Never touch lexer.rs, whatever happens.";

fn full(step: Step) -> Step {
    step.usage(Usage {
        // Of a million.
        input: 900_000,
        cached: 0,
        cache_write: 0,
        output: 5,
        reasoning: 0,
    })
}

/// A command with much output, and an answer that reports a full window.
fn work() -> Vec<Step> {
    let command = "echo built-it; printf 'x%.0s' $(seq 9000)";
    vec![
        Step::answer().call("bash", json!({"command": command})),
        full(Step::answer().text("Built.")),
    ]
}

fn folds(scene: &Scene) -> Vec<Value> {
    let log = scene.log().into_iter();
    log.filter(|line| line["type"] == "compaction").collect()
}

/// System and tools.
fn opening(request: &Captured) -> (String, Value) {
    (request.system_text(), request.body["tools"].clone())
}

#[test]
fn every_protocol_goes_on_after_a_fold() {
    each_kind(|kind| {
        let steps = work().into_iter().chain([
            Step::answer().text(SUMMARY),
            Step::answer().text("Tested."),
            Step::answer().text("Bye."),
        ]);
        let scene = Scene::new(kind, steps);
        scene.exec(RULE).ok();
        let out = scene.ostler(["resume", "-p", "Now test it."]).output().ok();
        assert_eq!(out.stdout, "Tested.\n");
        assert!(out.stderr.contains("Compacted "), "{}", out.stderr);
        scene.ostler(["resume", "-p", "Thanks."]).output().ok();

        let [fold] = &folds(&scene)[..] else {
            panic!("{:?}", folds(&scene));
        };
        assert_eq!(fold["by"], "model");
        let digest = fold["digest"].as_str().unwrap();
        for word in ["Ship the parser.", "No lexer.", "echo built-it;", "exit 0"] {
            assert!(digest.contains(word), "{digest}");
        }
        let summary = scene.server.request(2);
        assert!(summary.last_user_text().contains(ASKED));
        // The summary continues the prompt that the provider has cached, and the folded one begins as all do.
        let (before, after) = (scene.server.request(1), scene.server.request(3));
        assert!(summary.prompt_bytes().starts_with(&before.prompt_bytes()));
        assert_eq!(opening(&after), opening(&before));
        let text = String::from_utf8(after.prompt_bytes()).unwrap();
        assert!(text.contains(RULE) && text.contains("<digest>") && text.contains("Now test it."));
        assert!(!text.contains(&"x".repeat(500)));
        let next = scene.server.request(4);
        assert!(next.prompt_bytes().starts_with(&after.prompt_bytes()));
        scene.server.assert_done();
        let check = scene.ostler(["cache", "check"]).output().ok();
        assert!(
            check.stdout.contains("no unplanned break"),
            "{}",
            check.stdout
        );
    });
}

#[test]
fn a_first_prompt_that_is_too_long_is_told_with_its_size_and_not_folded() {
    each_kind(|kind| {
        let scene = Scene::new(kind, [Step::overflow()]);
        let out = scene.ostler(["exec", "-p", RULE]).output().exits(1);
        assert!(out.stderr.contains("The first prompt is"), "{}", out.stderr);
        assert!(
            out.stderr.contains("令牌") || out.stderr.contains("tokens"),
            "{}",
            out.stderr
        );
        assert_eq!(folds(&scene), Vec::<Value>::new());
        assert_eq!(scene.server.requests().len(), 1, "{}", kind.name());
    });
}

#[test]
fn a_first_prompt_that_is_larger_than_the_window_is_asked_about() {
    let scene = |steps: Vec<Step>| {
        let scene = Scene::new(Kind::Chat, steps);
        let config = scene.space.home().join("config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        scene.space.write(
            &config,
            text.replace("context_window = 1000000", "context_window = 500"),
        );
        scene
    };
    let stopped = scene(Vec::new());
    let out = stopped
        .ostler(["--plain"])
        .stdin(format!("{RULE}\n1\n/quit\n"))
        .output()
        .ok();
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(
        said.contains("The first prompt is larger than the window"),
        "{said}"
    );
    assert!(said.contains("has 500."), "{said}");
    assert!(stopped.server.requests().is_empty(), "{said}");
    let sent = scene(vec![Step::answer().text("Fine.")]);
    let out = sent
        .ostler(["--plain"])
        .stdin(format!("{RULE}\n2\n/quit\n"))
        .output()
        .ok();
    assert!(
        out.stdout.contains("Fine."),
        "{} {}",
        out.stdout,
        out.stderr
    );
}

#[test]
fn a_later_prompt_that_is_larger_than_the_window_is_asked_about() {
    let steps = [
        Step::answer().text("Hello."),
        Step::answer().text("Still here."),
    ];
    let scene = Scene::new(Kind::Chat, steps);
    let config = scene.space.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace("context_window = 1000000", "context_window = 20000");
    scene.space.write(&config, text);
    let long = "word ".repeat(20_000);
    let run = scene.ostler(["--plain"]);
    let lines = format!("hi\n{long}\n1\nare you there?\n/quit\n");
    let out = run.stdin(lines).output().ok();
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(
        said.contains("This prompt is larger than the window"),
        "{said}"
    );
    // What was not sent is no part of the conversation.
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 2, "{said}");
    let last = String::from_utf8(requests[1].prompt_bytes()).unwrap();
    assert!(last.contains("are you there?"), "{said}");
    assert!(!last.contains("word word"), "{said}");
}

#[test]
fn a_kill_in_the_middle_of_a_fold_costs_nothing() {
    let answer = |stall: bool| {
        move |request: &Captured| {
            if request.last_user_text().contains(ASKED) {
                return match stall {
                    true => Step::stall_headers(),
                    false => Step::answer().text(SUMMARY),
                };
            }
            match request.tool_results().is_empty()
                && !request.last_user_text().contains("Now test")
            {
                true => work().remove(0),
                false => full(Step::answer().text("Built.")),
            }
        }
    };
    let mut scene = Scene::of(Kind::Messages, "", Server::answering(answer(true)));
    scene.exec(RULE).ok();
    let running = scene.ostler(["resume", "-p", "Now test it."]).spawn();
    let asked = |all: &[Captured]| all.iter().any(|r| r.last_user_text().contains(ASKED));
    scene.server.wait_until("the summary", asked);
    running.signal(Signal::Kill);
    drop(running.wait());
    assert!(folds(&scene).is_empty());

    scene.server = Server::answering(answer(false));
    let text = ostler_testkit::config_text(&scene.server, scene.kind);
    scene
        .space
        .write(scene.space.home().join("config.toml"), text);
    scene
        .ostler(["resume", "-p", "Now test it again."])
        .output()
        .ok();
    assert_eq!(folds(&scene).len(), 1);
    let prompt = scene.server.requests().pop().unwrap().prompt_bytes();
    let prompt = String::from_utf8(prompt).unwrap();
    for words in [RULE, "Now test it.", "Now test it again."] {
        assert_eq!(prompt.matches(words).count(), 1, "{words}");
    }
    scene.ostler(["cache", "check"]).output().ok();
}

#[test]
fn what_folds_is_configured() {
    for (more, folded, told) in [
        (
            "[context]\nstrategy = \"warn\"\n",
            0,
            "It is not compacted automatically",
        ),
        (
            "[context]\nstrategy = \"handoff\"\n",
            0,
            "ostler handoff --goal",
        ),
        ("[context]\ncompact_ratio = 0.95\n", 0, "compacted at 95 %"),
        (
            "[context]\ncompact_ratio = 0.5\n",
            1,
            "compacted before the next turn",
        ),
    ] {
        let steps = work()
            .into_iter()
            .chain([Step::answer().text(SUMMARY), Step::answer().text("Tested.")]);
        let scene = Scene::with_config(Kind::Chat, more, steps);
        let out = scene.exec(RULE).ok();
        assert!(out.stderr.contains(told), "{more}: {}", out.stderr);
        scene.ostler(["resume", "-p", "Now test it."]).output().ok();
        assert_eq!(folds(&scene).len(), folded, "{more}");
    }
    let scene = Scene::with_config(Kind::Chat, "[context]\ncompact_ratio = 7\n", []);
    let out = scene.exec("go").exits(1);
    assert!(
        out.stderr.contains("a number from 0.1 to 1"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_command_folds_in_a_conversation() {
    let steps = work().into_iter().chain([Step::answer().text(SUMMARY)]);
    let scene = Scene::new(Kind::Chat, steps);
    let input = format!("{RULE}\n/compact the parser\n/quit\n");
    let out = scene
        .ostler(["--plain", "--yolo"])
        .stdin(input)
        .output()
        .ok();
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(said.contains("Compacted "), "{said}");
    assert_eq!(folds(&scene)[0]["focus"], "the parser");
    let shown = scene
        .ostler(["sessions", "show", &scene.session_id()])
        .output()
        .ok();
    assert!(
        shown.stdout.contains("Ship the parser."),
        "{}",
        shown.stdout
    );
    scene.server.assert_done();
    // Whoever deletes a session means all of it.
    let archive = folds(&scene)[0]["archive"].as_str().unwrap().to_owned();
    assert!(scene.space.exists(&archive), "{archive}");
    scene
        .ostler(["sessions", "delete", &scene.session_id()])
        .output()
        .ok();
    assert!(!scene.space.exists(&archive), "{archive}");
}

#[test]
fn a_handoff_is_written_and_history_left_alone() {
    let better = "## Starter prompt\nRead parser.rs first.\n## Open tasks\n- [ ] Ship it\n";
    let steps = work().into_iter().chain([
        Step::answer().text(better),
        Step::answer().text("I cannot."),
    ]);
    let scene = Scene::new(Kind::Messages, steps);
    scene.exec(RULE).ok();
    let before = scene.space.read(scene.log_path());
    let goal = "Ship *it*, \"today\"";

    let plain = scene
        .ostler(["handoff", "--goal", goal, "--no-model"])
        .output()
        .ok();
    let sections: Vec<&str> = plain
        .stdout
        .lines()
        .filter(|l| l.starts_with('#'))
        .collect();
    assert_eq!(
        sections,
        [
            "# Handoff",
            "## Goal",
            "## Starter prompt",
            "## Relevant files",
            "## Open tasks",
            "## Repro commands"
        ]
    );
    assert!(plain.stdout.contains(&format!("## Goal\n\n{goal}\n")));
    assert!(plain.stdout.contains("echo built-it;") && plain.stdout.contains(RULE));

    let id = &scene.session_id()[..8];
    let args = [
        "handoff",
        "--goal",
        goal,
        "--from-session",
        id,
        "--out",
        "next.md",
    ];
    scene.ostler(args).output().ok();
    let text = scene.space.read("next.md");
    assert!(
        text.contains("Read parser.rs first.") && text.contains("- [ ] Ship it\n"),
        "{text}"
    );

    // A model that does not help costs its help alone.
    let out = scene.ostler(["handoff", "--goal", goal]).output().ok();
    assert!(out.stderr.contains("from the log alone"), "{}", out.stderr);
    assert_eq!(out.stdout, plain.stdout);

    assert_eq!(scene.space.read(scene.log_path()), before);
    scene.server.assert_done();
    let ledger = scene.space.read(scene.space.home().join("ledger.jsonl"));
    assert_eq!(ledger.matches("\"role\":\"handoff\"").count(), 2);

    scene.ostler(["handoff"]).output().exits(2);
    scene.ostler(["handoff", "--goal", " "]).output().exits(2);
    let out = scene
        .ostler(["handoff", "--goal", "x", "--from-session", "ffff"])
        .output()
        .exits(1);
    assert!(
        out.stderr.contains("There is no session ffff"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_full_window_can_be_handed_over_on_the_terminal_and_on_plain_lines() {
    let handed =
        || Step::answer().text("## Starter prompt\nBuild the rest.\n## Open tasks\n- test");
    let more = "[context]\nstrategy = \"handoff\"\n[permissions]\nmode = \"allow\"\n";
    let scene = |then: Vec<Step>| {
        let steps = work().into_iter().chain([handed()]).chain(then);
        Scene::with_config(Kind::Chat, more, steps)
    };
    let on_screen = scene(vec![Step::answer().text("It is all built.")]);
    let mut term = on_screen.ostler([]).on_terminal(100, 40);
    term.wait_for("› Ask, or /help");
    term.keys(&format!("{RULE}\r"));
    term.wait_for("90 % full");
    term.keys("Ship the parser.\r");
    term.wait_for("1. Hand over to a fresh session");
    common::answer(&mut term, "1");
    let screen = term.wait_for("› Continue with @handoff-");
    assert!(screen.contains("New session"), "{screen}");
    term.keys("\r");
    term.wait_for("It is all built.");
    let request = on_screen.server.requests().pop().unwrap();
    let first = request.last_user_text();
    // The other session reads the document, not the conversation.
    assert!(first.contains("Build the rest.") && first.contains("Ship the parser."));
    assert!(!String::from_utf8_lossy(&request.raw).contains("Built."));
    assert_eq!(on_screen.logs().len(), 2);

    let on_lines = scene(Vec::new());
    let input = format!("{RULE}\nShip the parser.\n1\n/session\n/quit\n");
    let out = on_lines.ostler(["--plain"]).stdin(input).output().ok();
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(said.contains("Continue with @handoff-"), "{said}");
    on_lines.server.assert_done();
}
