//! `--tmux`: commands run in a pane that the person shares, here and at another place. The tmux of the tests has its sockets
//! in the folder of the test.

use super::{container, is_there, meta_of, told};
use crate::common::{Scene, wait_for};
use ostler_testkit::{Kind, Run, Step};
use serde_json::json;

/// A folder for sockets, whose names may have about a hundred characters.
fn sockets() -> tempfile::TempDir {
    tempfile::tempdir_in("/tmp").unwrap()
}

fn scene(steps: impl IntoIterator<Item = Step>) -> Option<(Scene, tempfile::TempDir)> {
    is_there("tmux").then(|| (Scene::new(Kind::Chat, steps), sockets()))
}

fn ostler<const N: usize>(scene: &Scene, sockets: &tempfile::TempDir, args: [&str; N]) -> Run {
    let run = scene.ostler(args).env("TMUX_TMPDIR", sockets.path());
    run.env("SHELL", "/bin/sh")
}

#[test]
fn commands_run_in_the_pane_and_it_can_be_looked_at() {
    let Some((scene, sockets)) = scene([
        Step::answer().call("bash", json!({"command": "echo one; exit 3"})),
        Step::answer().call("bash", json!({"command": "read answer; echo got $answer", "wait": "0.2s"})),
        Step::answer().call("bash", json!({"command": "echo no"})),
        Step::answer().call("send_keys", json!({"keys": ["word", "Enter"]})),
        Step::answer().call("bash_output", json!({"job": "j1", "wait": true})),
        Step::answer().call("capture_pane", json!({"lines_above": 50})),
        Step::answer().call("bash", json!({"command": "echo own > /tmp/$PPID-unlikely; rm /tmp/$PPID-unlikely; test -t 1 && echo terminal"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    let run = ostler(
        &scene,
        &sockets,
        ["exec", "--tmux", "--yolo", "--format", "json", "-p", "x"],
    );
    let out = run.output().ok();
    let told = told(&out);
    let has = |at: usize, text: &str| assert!(told[at].contains(text), "{at} {text}: {told:?}");
    has(0, "one");
    has(0, "\"exit_code\":3");
    has(1, "\"job\":\"j1\"");
    has(2, "the shared pane still runs");
    has(3, "got word");
    has(4, "\"exit_code\":0");
    has(5, "ostler$ echo one; exit 3");
    has(5, "got word");
    has(6, "terminal");
    // How to attach, and what does not hold.
    assert!(out.stderr.contains("tmux -L ostler-"), "{}", out.stderr);
    assert!(
        out.stderr.contains("no sandbox confines them"),
        "{}",
        out.stderr
    );
    // The model is told of the pane, and has its tools.
    let request = scene.server.requests()[0].body.to_string();
    for words in ["capture_pane", "send_keys", "pane that the person sees"] {
        assert!(request.contains(words), "{words}");
    }
    // The session is one of this machine.
    assert_eq!(meta_of(&scene)["host"], "local");
    // Nothing is left.
    let left = || {
        std::fs::read_dir(sockets.path().join(format!("tmux-{}", uid())))
            .unwrap()
            .count()
    };
    wait_for("the end of tmux", || {
        (left() == 0 || !is_served(&sockets)).then_some(())
    });
}

fn uid() -> String {
    let out = std::process::Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Whether a tmux server answers on one of the sockets.
fn is_served(sockets: &tempfile::TempDir) -> bool {
    let folder = sockets.path().join(format!("tmux-{}", uid()));
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| std::os::unix::net::UnixStream::connect(path).is_ok())
}

#[test]
fn without_a_pane_its_tools_do_not_exist() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("capture_pane", json!({})),
            Step::answer().text("Done."),
        ],
    );
    let out = scene
        .ostler(["exec", "--format", "json", "-p", "x"])
        .output()
        .ok();
    let request = scene.server.requests()[0].body.to_string();
    assert!(!request.contains("capture_pane") && !request.contains("send_keys"));
    assert!(told(&out)[0].contains("\"ok\":false"), "{:?}", told(&out));
}

#[test]
fn a_pane_counts_as_no_sandbox() {
    let Some((scene, sockets)) = scene([
        Step::answer().call("bash", json!({"command": "touch made"})),
        Step::answer().call("send_keys", json!({"keys": ["touch made", "Enter"]})),
        Step::answer().call("bash", json!({"command": "ls"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    let out = ostler(
        &scene,
        &sockets,
        ["exec", "--tmux", "--format", "json", "-p", "x"],
    )
    .output();
    let told = told(&out);
    // Nobody can be asked: refused. What only looks is run.
    assert!(
        told[0].contains("\"blocked\"") && told[1].contains("\"blocked\""),
        "{told:?}"
    );
    assert!(told[2].contains("\"exit_code\":0"), "{told:?}");
    assert!(!scene.space.exists("made"));
    scene.space.write(
        scene.space.home().join("config.toml"),
        format!(
            "{}\n[sandbox]\nbash = \"require\"\n",
            scene.space.read(scene.space.home().join("config.toml"))
        ),
    );
    let out = ostler(&scene, &sockets, ["exec", "--tmux", "-p", "x"]).output();
    assert_ne!(out.code, Some(0));
    assert!(
        out.stderr.contains("tmux pane that you share"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_session_that_cannot_be_used_is_said() {
    let Some((scene, sockets)) = scene([Step::answer().text("Done.")]) else {
        return;
    };
    for (flag, expect) in [
        ("--tmux=no:name", "is not a name for a tmux session"),
        (
            "--tmux=mine",
            "no tmux server runs: begin one with `tmux new -s mine`",
        ),
    ] {
        let out = ostler(&scene, &sockets, ["exec", flag, "-p", "x"]).output();
        assert_eq!(out.code, Some(2), "{flag}: {}", out.stderr);
        assert!(out.stderr.contains(expect), "{flag}: {}", out.stderr);
    }
    let out = ostler(&scene, &sockets, ["exec", "--tmux", "-p", "x"])
        .env("PATH", "/nowhere")
        .output();
    assert_eq!(out.code, Some(1), "{}", out.stderr);
}

#[test]
fn a_pane_at_another_place() {
    if !is_there("tmux") {
        return;
    }
    let sockets = sockets();
    let Some(place) = container::container([
        Step::answer().call(
            "bash",
            json!({"command": "pwd; test -t 1 && echo terminal"}),
        ),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    let args = [
        "exec",
        "--host",
        "box",
        "--tmux",
        "--install-helper",
        "--yolo",
        "--format",
        "json",
        "-p",
        "x",
    ];
    let run = place.ostler(args).env("TMUX_TMPDIR", sockets.path());
    let out = run.env("SHELL", "/bin/sh").output().ok();
    let told = told(&out);
    assert!(
        told[0].contains(container::ROOT) && told[0].contains("terminal"),
        "{told:?}"
    );
}
