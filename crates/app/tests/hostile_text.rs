//! Text that wants to drive the terminal or hide from the person: in instruction files, file names, answers, prompts and
//! configuration. It is shown as what it is, wherever it is shown.

#![cfg(unix)]

mod common;

use common::{Scene, of_type};
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::process::Command;

/// A colour, a new title of the window, a reversed reading direction, a hidden letter, a bell, a carriage return.
const TRICKS: &str =
    "\u{1b}[31mred\u{1b}]0;title\u{7} \u{202e}desrever\u{202c} z\u{200b}w \u{9b}1m\rover";
const FORBIDDEN: [char; 6] = ['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}', '\u{9b}', '\r'];

#[track_caller]
fn is_safe(place: &str, text: &str) {
    assert!(!text.contains(FORBIDDEN), "{place}: {text:?}");
}

fn scene() -> Scene {
    let name = format!("{TRICKS}\nsecond line.txt");
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("ls", json!({})),
            Step::answer().call("read_file", json!({"path": name})),
            Step::answer().call("bash", json!({"command": "cat *.txt; exit 3"})),
            Step::answer().call(TRICKS, json!({TRICKS: TRICKS})),
            Step::answer().reasoning(TRICKS).text(TRICKS),
        ],
    );
    scene
        .space
        .write("AGENTS.md", format!("Be kind.{TRICKS}\n"));
    scene.space.write(&name, TRICKS);
    scene
}

#[test]
fn whatever_is_printed_for_people_is_tame() {
    let scene = scene();
    let run = |format: &str| {
        let flags = ["exec", "--yolo", "--format", format, "-p", TRICKS];
        let run = scene.ostler(flags);
        run.env("OSTLER_DISPLAY__SHOW_REASONING", "true").output()
    };
    let text = run("text").ok();
    is_safe("stderr", &text.stderr);
    assert!(text.stderr.contains("AGENTS.md has"), "{}", text.stderr);
    let refused = json!({"error": {"message": TRICKS}});
    scene.server.push(Step::status(400, &refused.to_string()));
    let json = run("json").exits(1);
    is_safe("stderr", &json.stderr);
    // A line of JSON has whatever drives a terminal escaped, and means the same.
    is_safe("json", &json.stdout);
    let said = format!("z{}w", '\u{200b}');
    let says = |line: &serde_json::Value| line.to_string().contains(&said);
    assert!(ostler_testkit::json_lines(&json.stdout).iter().any(says));
    scene.server.push(Step::answer().text(TRICKS));
    is_safe("result", &run("result").ok().stdout);
    let system = scene.server.request(0).system_text();
    is_safe("the system prompt", &system);
    assert!(
        system.contains("Be kind.[31mred]0;title desrever zw 1mover"),
        "{system}"
    );

    let list = scene.ostler(["sessions", "list"]).output().ok();
    is_safe("sessions list", &list.stdout);
    assert_eq!(list.stdout.lines().count(), 3, "{}", list.stdout);
    let found = scene
        .ostler(["sessions", "search", "desrever"])
        .output()
        .ok();
    is_safe("sessions search", &found.stdout);
    let id = list
        .stdout
        .lines()
        .nth(2)
        .and_then(|l| l.split_whitespace().next())
        .unwrap_or_default();
    for form in ["md", "html"] {
        let text = scene
            .ostler(["sessions", "export", id, "--format", form])
            .output()
            .ok()
            .stdout;
        is_safe(form, &text);
    }
}

/// The same on a terminal, where the answer itself must be tame, too.
#[test]
fn a_terminal_is_driven_by_nobody_else() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("script") {
        return common::skipped("there is no `script` to make a terminal with");
    }
    let scene = scene();
    let ostler = env!("CARGO_BIN_EXE_ostler");
    let on_terminal = |line: &str| {
        let out = scene
            .space
            .run("script")
            .args(["-qec", line, "/dev/null"])
            .output();
        // What the terminal itself and we add: carriage returns and our own colours.
        let own = [
            "\r\n",
            "\u{1b}[0m",
            "\u{1b}[33m",
            "\u{1b}[90m",
            "\u{1b}[31m",
            "\u{1b}[36m",
            "\u{1b}[32m",
        ];
        let shown = own
            .iter()
            .fold(out.stdout, |text, own| text.replace(own, "\n"));
        is_safe(line, &shown);
        shown
    };
    let shown = on_terminal(&format!("{ostler} exec --yolo --no-color -p go"));
    assert!(shown.contains("desrever"), "{shown:?}");
    let id = scene.session_id();
    let model = TRICKS
        .replace('\u{1b}', "\\u001b")
        .replace(['\u{7}', '\r'], "");
    let config = format!("default_model = \"{model}\"\n");
    scene.space.write("ostler.toml", config);
    for line in ["sessions list", "config show", "doctor"] {
        on_terminal(&format!("{ostler} {line}"));
    }
    for line in [
        "sessions show",
        "sessions export --format json",
        "sessions export --format md",
    ] {
        let shown = on_terminal(&format!("{ostler} {line} {id}"));
        assert!(shown.contains("desrever"), "{shown:?}");
    }
}

#[test]
fn a_configuration_that_plays_tricks_is_told_safely() {
    let quoted = TRICKS
        .replace('\u{1b}', "\\u001b")
        .replace(['\u{7}', '\r'], "");
    for text in [
        format!("[agent]\nmax_steps = \"{quoted}\"\n"),
        format!("[\"{quoted}\"]\nx = 1\n"),
        format!("default_model = \"{quoted}\"\n"),
        format!("[permissions]\ndeny = [\"{quoted}(x)\"]\n"),
        format!("broken {TRICKS}\n"),
    ] {
        let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
        scene.space.write("ostler.toml", &text);
        for line in [
            vec!["exec", "-p", "go"],
            vec!["config", "show"],
            vec!["doctor"],
            vec!["config", "check"],
        ] {
            let out = scene.ostler([]).args(&line).output();
            is_safe(&format!("{line:?} of {text:?}"), &out.stderr);
            // Programs that read the configuration get it as it is.
            if line != ["config", "show"] {
                is_safe(&format!("{line:?} of {text:?}"), &out.stdout);
            }
        }
    }
}

#[test]
fn the_log_keeps_the_text_as_it_is() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text(TRICKS)]);
    scene.exec("go").ok();
    assert_eq!(of_type(&scene.log(), "message")[1]["text"], TRICKS);
}
