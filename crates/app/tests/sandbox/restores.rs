//! Checkpoints that hold what a command wrote against the rules: bringing one back does not bring that back.

use super::traces::{config, layers};
use crate::common::Scene;
use crate::common::shell::{command, driven, prompt};
use ostler_testkit::{Kind, Step};
use serde_json::json;

const SETTINGS: &str =
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = evil\n";
const EVIL: [(&str, &str); 5] = [
    (".vscode/tasks.json", "{\"evil\": 1}"),
    ("ostler.toml", "# evil\n"),
    ("n/.git/config", SETTINGS),
    ("n/.git/HEAD", "ref: refs/heads/main\n"),
    ("n/.git/refs/heads/x", ""),
];

/// As if something that a command left running had written it right before a checkpoint.
fn plant(scene: &Scene) {
    for (path, text) in EVIL {
        scene.space.write(path, text);
    }
    scene.space.write("n/.git/objects/x", "");
    scene.space.write("a", "one\n");
}

/// As if it had been put back.
fn clean(scene: &Scene) {
    for path in [".vscode", "n"] {
        std::fs::remove_dir_all(scene.space.root().join(path)).expect("removed");
    }
    std::fs::remove_file(scene.space.root().join("ostler.toml")).expect("removed");
}

#[track_caller]
fn check(scene: &Scene, said: &str) {
    assert_eq!(scene.space.read("a"), "one\n", "{said}");
    for path in [".vscode/tasks.json", "ostler.toml"] {
        assert!(!scene.space.exists(path), "{path}: {said}");
    }
}

#[test]
fn a_checkpoint_brings_nothing_back_that_was_put_back() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        plant(&scene);
        let taken = ["checkpoint", "take", "--ignored"];
        scene.ostler(taken).output().ok();
        clean(&scene);
        scene.space.write("a", "two\n");
        let restore = ["checkpoint", "restore", "1", "--force"];
        let out = scene.ostler(restore).output().exits(1);
        check(&scene, &out.stderr);
        let settings = scene.space.root().join("n/.git/config");
        let settings = std::fs::read_to_string(settings).unwrap_or_default();
        assert!(!settings.contains("evil"), "{settings}: {}", out.stderr);
        let told = ".vscode/tasks.json was left as it is: it decides what runs";
        assert!(out.stderr.contains(told), "{}", out.stderr);
        // Whoever names a file means it.
        let named = [
            "checkpoint",
            "restore",
            "1",
            ".vscode/tasks.json",
            "--force",
        ];
        scene.ostler(named).output().ok();
        assert!(scene.space.exists(".vscode/tasks.json"), "{layer}");
    }
}

/// A repository that is gone comes back with its remotes, and without what git would run.
#[test]
fn a_repository_comes_back_and_runs_nothing() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let space = &scene.space;
        space.write("a", "one\n");
        space.git_init();
        space.git(["remote", "add", "origin", "https://example.com/x"]);
        space.git(["config", "core.fsmonitor", "evil"]);
        space.write(".git/hooks/post-checkout", "evil");
        scene.ostler(["checkpoint", "take"]).output().ok();
        std::fs::remove_dir_all(space.root().join(".git")).expect("removed");
        let restore = ["checkpoint", "restore", "1", "--git", "--force"];
        let out = scene.ostler(restore).output();
        let settings = space.read(".git/config");
        assert!(settings.contains("example.com"), "{settings} {out:?}");
        assert!(!settings.contains("evil"), "{settings} {out:?}");
        assert!(!space.exists(".git/hooks/post-checkout"), "{out:?}");
        space.git(["fsck", "--strict"]);
    }
}

/// A repository that was there before the session is the person's, so only protected files are looked at here.
#[test]
fn a_rewind_brings_nothing_back_that_was_put_back() {
    for layer in layers() {
        let steps = [
            Step::answer().call("bash", json!({"command": "echo two > a"})),
            Step::answer().text("Written."),
        ];
        let more = "[permissions]\nmode = \"allow\"\n";
        let scene = Scene::with_config(Kind::Chat, &format!("{}{more}", config(layer)), steps);
        plant(&scene);
        let mut running = driven(&scene);
        running.write(&prompt("first"));
        running.wait_stdout("\"result\":\"Written.\"");
        clean(&scene);
        running.write(&command("rewind 1 code force"));
        running.wait_stdout("\"type\":\"rewind\"");
        running.close_stdin();
        let out = running.wait().ok();
        check(&scene, &format!("{layer}: {}", out.stdout));
    }
}

/// What a command left in the background could change files while they are brought back.
#[test]
fn a_rewind_ends_what_commands_left_running_and_says_so() {
    for layer in layers() {
        let left = "setsid sh -c 'while :; do echo > tick; done' > /dev/null 2>&1 < /dev/null &";
        let script = format!("{left} until [ -e tick ]; do :; done; echo two > a");
        let steps = [
            Step::answer().call("bash", json!({"command": script})),
            Step::answer().text("Written."),
        ];
        let more = "[permissions]\nmode = \"allow\"\n";
        let scene = Scene::with_config(Kind::Chat, &format!("{}{more}", config(layer)), steps);
        scene.space.write("a", "one\n");
        let mut running = driven(&scene);
        running.write(&prompt("first"));
        running.wait_stdout("\"result\":\"Written.\"");
        running.write(&command("rewind 1 code force"));
        running.wait_stdout("\"type\":\"rewind\"");
        running.close_stdin();
        let out = running.wait().ok();
        let said = "Background processes of earlier commands were stopped first";
        assert!(out.stdout.contains(said), "{layer}: {}", out.stdout);
        assert_eq!(scene.space.read("a"), "one\n", "{layer}: {}", out.stdout);
    }
}
