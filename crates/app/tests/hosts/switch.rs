//! `/host`: a session goes on at another place between two turns. The log says where; tools, checkpoints, rules and the model
//! follow, and a session that is opened again is there.

use super::container::{Container, ROOT, container};
use super::ssh;
use crate::common::{Scene, of_type, skipped};
use ostler_testkit::{Kind, Output, Step, Term};
use serde_json::{Value, json};
use std::time::Duration;

fn write(path: &str, content: &str) -> Step {
    Step::answer().call("write_file", json!({"path": path, "content": content}))
}

fn bash(command: &str) -> Step {
    Step::answer().call("bash", json!({"command": command}))
}

fn done() -> Step {
    Step::answer().text("Done.")
}

/// Lines, typed ahead.
#[track_caller]
fn talk(place: &Container, lines: &[&str]) -> Output {
    place
        .ostler(["--yolo", "--install-helper"])
        .stdin(lines.join("\n") + "\n")
        .output()
        .ok()
}

/// What the model read of its calls, in their order.
fn results(log: &[Value]) -> Vec<String> {
    let results = of_type(log, "tool_result").into_iter();
    results.map(|result| result["output"].to_string()).collect()
}

/// The places that the log names after its beginning.
fn moves(log: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let settings = of_type(log, "settings").into_iter();
    let moves = settings.filter(|one| one.get("host").is_some());
    moves
        .map(|one| (text(&one["host"]), text(&one["root"])))
        .collect()
}

#[test]
fn a_session_goes_there_and_comes_back() {
    let Some(place) = container([
        write("here.txt", "here\n"),
        done(),
        bash("pwd; ls; cat here.txt"),
        write("there.txt", "there\n"),
        done(),
        bash("pwd; ls"),
        done(),
    ]) else {
        return;
    };
    std::fs::write(place.project.join("AGENTS.md"), "Speak like a box.").unwrap();
    let out = talk(
        &place,
        &[
            "/host",
            "one",
            "/host box",
            "/host",
            "two",
            "/host here",
            "three",
            "/quit",
        ],
    );
    let root = place.scene.space.root().canonicalize().unwrap();
    let root = root.display().to_string();
    let log = place.scene.log();
    let expect = [("host box", ROOT), ("local", root.as_str())];
    let expect = expect.map(|(host, root)| (host.to_owned(), root.to_owned()));
    assert_eq!(moves(&log), expect, "{}", out.stderr);
    let told = results(&log);
    assert!(
        told[1].contains(ROOT) && !told[1].contains("here.txt\\n"),
        "{told:?}"
    );
    assert!(
        told[3].contains("here.txt") && !told[3].contains("there.txt"),
        "{told:?}"
    );
    assert!(place.project.join("there.txt").is_file());
    assert!(!place.scene.space.exists("there.txt"));
    // The model is told where it is, and what the project there says, with the prompt after each.
    let two = place.scene.server.request(2).body.to_string();
    assert!(
        two.contains("Speak like a box.") && two.contains("(host box)"),
        "{two}"
    );
    for words in ["now at host box", "now at this machine", "(host box)> "] {
        assert!(out.stderr.contains(words), "{words}: {}", out.stderr);
    }
}

#[test]
fn an_opened_session_is_where_it_was() {
    let Some(place) = container([
        write("a.txt", "here\n"),
        done(),
        bash("pwd"),
        done(),
        bash("pwd"),
        done(),
    ]) else {
        return;
    };
    talk(&place, &["one", "/host box", "two", "/quit"]);
    let id = place.scene.session_id();
    // Where it began it is not gone on with by mistake.
    let refused = place.ostler(["-c", "--yolo"]).stdin("x\n").output();
    assert_ne!(refused.code, Some(0), "{}", refused.stderr);
    assert!(refused.stderr.contains("host box"), "{}", refused.stderr);
    place
        .ostler(["resume", &id, "--yolo", "-p", "three"])
        .output()
        .ok();
    let told = results(&place.scene.log());
    assert!(told[1].contains(ROOT) && told[2].contains(ROOT), "{told:?}");
}

#[test]
fn a_rewind_across_a_move_takes_back_what_lies_there_or_says_where_to_go() {
    let Some(place) = container([
        write("a.txt", "one\n"),
        done(),
        write("b.txt", "two\n"),
        done(),
    ]) else {
        return;
    };
    let out = talk(
        &place,
        &[
            "first",
            "/host box",
            "second",
            // What the first prompt changed lies here, and the session is there.
            "/rewind 1 code",
            "/rewind 2 code",
            "/host here",
            // Files there were changed since: what is said first.
            "/rewind 1 code",
            "/rewind 1 code keep",
            "/quit",
        ],
    );
    assert!(
        out.stderr.contains("saved at this machine"),
        "{}",
        out.stderr
    );
    let asked = "Since then files were changed at host box as well";
    assert!(out.stderr.contains(asked), "{}", out.stderr);
    assert!(!place.project.join("b.txt").exists(), "{}", out.stderr);
    assert!(!place.scene.space.exists("a.txt"), "{}", out.stderr);
}

#[test]
fn a_place_that_is_not_reached_leaves_the_session_where_it_is() {
    let Some(place) = container([bash("pwd"), done()]) else {
        return;
    };
    let lines = [
        "/host nowhere",
        "/host container",
        "/host host missing",
        "one",
        "/quit",
    ];
    let out = talk(&place, &lines);
    assert!(
        out.stderr.contains("Say a place: `/host ssh"),
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains("There is no host missing"),
        "{}",
        out.stderr
    );
    let log = place.scene.log();
    assert_eq!(moves(&log), []);
    let root = place.scene.space.root().canonicalize().unwrap();
    assert!(results(&log)[0].contains(&root.display().to_string()));
}

#[test]
fn what_was_read_at_one_place_does_not_count_as_read_at_another() {
    let Some(place) = container([
        Step::answer().call("read_file", json!({"path": "/tmp/ostler-switch-test/x"})),
        done(),
        bash("pwd"),
        done(),
    ]) else {
        return;
    };
    let out = talk(&place, &["one", "/host box", "two", "/host here", "/quit"]);
    assert_eq!(moves(&place.scene.log()).len(), 2, "{}", out.stderr);
}

/// The folder on this machine that stands for the project there.
fn stand_in(place: &Container) -> std::path::PathBuf {
    let places = place.scene.space.home().join("places");
    let mut folders = std::fs::read_dir(places).unwrap();
    folders.next().unwrap().unwrap().path()
}

fn configure(place: &Container, more: &str) {
    let config = place.scene.space.home().join("config.toml");
    let text = format!("{}\n{more}", place.scene.space.read(&config));
    place.scene.space.write(&config, text);
}

#[test]
fn hooks_run_here_or_there() {
    let Some(place) = container([done()]) else {
        return;
    };
    configure(
        &place,
        "[[hooks]]\nevent = \"user_prompt\"\ncommand = \"pwd > \\\"$OSTLER_PROJECT_DIR/by_hook\\\"\"\n[[hooks]]\nevent = \"user_prompt\"\ncommand = \"pwd > \\\"$OSTLER_PROJECT_DIR/by_hook_there\\\"\"\non = \"host\"\n",
    );
    let out = place
        .ostler(["exec", "--host", "box", "--install-helper", "-p", "x"])
        .output()
        .ok();
    let there = std::fs::read_to_string(place.project.join("by_hook_there"));
    assert_eq!(there.unwrap().trim(), ROOT, "{}", out.stderr);
    assert!(!place.project.join("by_hook").exists());
    let folder = stand_in(&place);
    let here = std::fs::read_to_string(folder.join("by_hook")).unwrap();
    assert_eq!(here.trim(), folder.display().to_string());
    assert!(!folder.join("by_hook_there").exists());
}

#[test]
fn settings_of_the_project_there_tighten_at_once_and_loosen_when_trusted() {
    let Some(place) = container([
        bash("touch made"),
        bash("ls /"),
        done(),
        bash("touch made"),
        done(),
    ]) else {
        return;
    };
    let settings = "[permissions]\ndeny = [\"Bash(touch:*)\"]\n[sandbox]\nnetwork = true\n";
    std::fs::write(place.project.join("ostler.toml"), settings).unwrap();
    let exec = |args: &[&str]| {
        let run = place.ostler(["exec", "--host", "box", "--install-helper"]);
        let run = run.args(args).args(["--format", "json", "-p", "x"]);
        run.output().ok()
    };
    let out = exec(&[]);
    let told = super::told(&out);
    assert!(told[0].contains("Bash(touch:*)"), "{told:?}");
    assert!(told[1].contains(r#""ok":true"#), "{told:?}");
    assert!(!place.project.join("made").exists());
    // What it loosens waits for a word of the person, and they are told.
    assert!(out.stderr.contains("network"), "{}", out.stderr);
    // It is read again with the next link.
    std::fs::write(place.project.join("ostler.toml"), "").unwrap();
    let told = super::told(&exec(&["--yolo"]));
    assert!(told[0].contains(r#""ok":true"#), "{told:?}");
    assert!(place.project.join("made").exists());
}

#[test]
fn a_server_runs_there_where_its_row_says_so() {
    let Some(place) = container([Step::answer().call("mcp__there__where", json!({})), done()])
    else {
        return;
    };
    // As much of a server as one call takes.
    let script = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case $line in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"there","version":"1"}}}\n' "$id";;
*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"where","description":"Where.","inputSchema":{"type":"object","properties":{}}}]}}\n' "$id";;
*'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"at %s"}]}}\n' "$id" "$PWD";;
*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id";;
esac
done
"#;
    std::fs::write(place.project.join("server.sh"), script).unwrap();
    configure(
        &place,
        "[[plugins]]\nname = \"there\"\ncommand = \"sh\"\nargs = [\"server.sh\"]\non = \"host\"\n",
    );
    let args = ["exec", "--host", "box", "--install-helper", "--yolo"];
    let run = place.ostler(args).args(["--format", "json", "-p", "x"]);
    let out = run.output().ok();
    let told = super::told(&out);
    assert!(
        told[0].contains(&format!("at {ROOT}")),
        "{told:?}\n{}",
        out.stderr
    );
}

const COMPOSER: &str = "› Ask, or /help";

fn on_terminal(scene: &Scene, path: &str) -> Term {
    let run = scene.ostler(["--yolo"]).env("PATH", path);
    run.timeout(Duration::from_secs(60)).on_terminal(100, 30)
}

#[test]
fn the_terminal_ui_asks_and_shows_the_place() {
    let scene = Scene::new(Kind::Chat, [bash("pwd"), done()]);
    let top = scene.space.user_home().join("ssh");
    let Some(server) = ssh::server(&top) else {
        skipped("/host over ssh");
        return;
    };
    let project = top.join("project");
    std::fs::create_dir_all(&project).unwrap();
    // A host that nobody knows yet, and a key with a passphrase: both are asks of the session.
    let path = server.asking_path("let me in");
    let mut term = on_terminal(&scene, &path);
    term.wait_for(COMPOSER);
    let line = format!("/host ssh {} {}\r", server.destination(), project.display());
    term.keys(&line);
    term.wait_for("authenticity of host");
    crate::common::answer(&mut term, "y");
    term.wait_for("ssh asks");
    term.wait_for("enter send · esc no answer");
    term.keys("let me in");
    term.wait_for("•••••••••");
    assert!(!term.screen().contains("let me in"), "{}", term.screen());
    term.keys("\r");
    term.wait_for("Copy it?");
    crate::common::answer(&mut term, "y");
    term.wait_for(&format!("now at ssh {}", server.destination()));
    term.keys("go\r");
    term.wait_for("Done.");
    let log = scene.log();
    assert!(
        results(&log)[0].contains(&project.display().to_string()),
        "{log:?}"
    );
    let text = scene.space.read(scene.log_path());
    assert!(!text.contains("let me in"), "{text}");
}
