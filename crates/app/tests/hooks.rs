//! Hooks of the person, of a project and of another tool's settings, on the real binary: whose run, where, and what of a
//! broken one is said.
#![cfg(unix)]

mod common;

use common::Scene;
use ostler_testkit::{KEY, Kind, Output, Step};
use serde_json::json;

fn hook(event: &str, matcher: &str, command: &str) -> String {
    format!("[[hooks]]\nevent = \"{event}\"\nmatch = '{matcher}'\ncommand = '''{command}'''\n")
}

fn scene(config: &str) -> Scene {
    let call = Step::answer().call("bash", json!({"command": "touch ran"}));
    let steps = [call, Step::answer().text("ok")];
    Scene::with_config(Kind::Chat, config, steps.into_iter().cycle().take(8))
}

fn run(scene: &Scene, flags: &[&str]) -> Output {
    scene.ostler(["exec", "-p", "go"]).args(flags).output()
}

#[test]
fn ones_own_hooks_run_and_a_projects_wait_for_trust() {
    let scene = scene(&hook("session_start", "", "touch own"));
    let settings = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch theirs", "timeout": 5}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "touch never"}]}],
    }});
    scene
        .space
        .write("ostler.toml", hook("user_prompt", "", "touch project"));
    scene
        .space
        .write(".claude/settings.json", settings.to_string());
    let out = run(&scene, &[]).ok();
    for what in ["`hooks`", "`.claude/settings.json.hooks.PreToolUse`"] {
        assert!(out.stderr.contains(what), "{}", out.stderr);
    }
    let there = |name: &str| scene.space.exists(name);
    assert_eq!(
        ["own", "project", "theirs"].map(there),
        [true, false, false]
    );
    scene.ostler(["trust", "--yes"]).output().ok();
    let out = run(&scene, &[]).ok();
    assert_eq!(
        ["own", "project", "theirs", "never"].map(there),
        [true, true, true, false]
    );
    assert!(
        out.stderr.contains("a hook for `SessionEnd` is left out"),
        "{}",
        out.stderr
    );
    // A change asks again.
    let other = settings.to_string().replace("touch theirs", "touch evil");
    scene.space.write(".claude/settings.json", other);
    run(&scene, &[]).ok();
    assert!(!there("evil"));
    run(&scene, &["--trust-workspace"]).ok();
    assert!(there("evil"));
}

#[test]
fn a_call_and_a_prompt_that_are_refused() {
    let guard = hook(
        "pre_tool",
        "Bash(touch:*)",
        "echo 'nothing is touched' >&2; exit 2",
    );
    let scene = scene(&guard);
    run(&scene, &[]).ok();
    assert!(!scene.space.exists("ran"));
    let results = scene.server.request(1).tool_results();
    assert!(results[0].1.contains("nothing is touched"), "{results:?}");

    let closed = self::scene(&hook("user_prompt", "", "echo closed today >&2; exit 2"));
    let out = run(&closed, &[]).exits(1);
    assert!(out.stderr.contains("closed today"), "{}", out.stderr);
    assert_eq!(closed.server.requests().len(), 0);
}

#[test]
fn hooks_run_in_the_sandbox_without_keys() {
    let nosy = "env > seen; cat ~/.ssh/id > key 2> /dev/null; echo x > ../outside; exit 0";
    let scene = scene(&hook("session_start", "", nosy));
    scene
        .space
        .write(scene.space.user_home().join(".ssh/id"), "private");
    run(&scene, &[]).ok();
    let seen = scene.space.read("seen");
    assert!(
        seen.contains("OSTLER_PROJECT_DIR=") && !seen.contains(KEY),
        "{seen}"
    );
    let confined = scene
        .ostler(["doctor"])
        .output()
        .stdout
        .contains("ok       sandbox");
    if confined {
        assert_eq!(scene.space.read("key"), "");
        assert!(!scene.space.root().join("../outside").exists());
    }
}

/// Hooks of the person and of a project they trust have the environment of commands: what looks like a secret is not in it.
#[test]
fn hooks_see_no_variable_that_looks_like_a_secret() {
    let own = hook("session_start", "", "env > own");
    for (pass, expect) in [
        ("", false),
        ("[tools.shell]\nenv_pass = ['GITHUB_TOKEN']\n", true),
    ] {
        let scene = scene(&format!("{own}{pass}"));
        let project = hook("user_prompt", "", "env > project");
        scene.space.write("ostler.toml", project);
        let run = scene.ostler(["exec", "--trust-workspace", "-p", "go"]);
        run.env("GITHUB_TOKEN", "of-the-person").output().ok();
        for name in ["own", "project"] {
            let seen = scene.space.read(name);
            let has = |part: &str| seen.contains(part);
            assert!(has("OSTLER_PROJECT_DIR="), "{name}: {seen}");
            assert_eq!(has("of-the-person"), expect, "{name}: {seen}");
        }
    }
}

#[test]
fn what_cannot_be_read_stops_the_start() {
    for (config, says) in [
        (
            hook("pre_tool", "Bash(", "true"),
            "`match = \"Bash(\"` cannot be read",
        ),
        (hook("pre_tool", "", " "), "this hook has no `command`"),
        (hook("before_all", "", "true"), "hooks"),
    ] {
        let scene = scene(&config);
        let out = run(&scene, &[]);
        assert_ne!(out.code, Some(0), "{config}");
        assert!(
            out.stderr.contains(says) && out.stderr.contains("config.toml:"),
            "{}",
            out.stderr
        );
        assert_eq!(scene.server.requests().len(), 0);
    }
    let scene = scene(&hook("pre_tool", "Bash", "./guard"));
    let out = scene.ostler(["doctor"]).output();
    assert!(
        out.stdout.contains("pre_tool Bash: ./guard, from "),
        "{}",
        out.stdout
    );
}

/// What a person has set for others runs here once they say so, and needs no trust; `if` narrows, and what would run beside
/// the work is named and left out.
#[test]
fn shared_hooks_of_the_person_run_when_wanted() {
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "touch shared"},
        {"type": "command", "command": "touch narrowed", "if": "Bash(touch:*)"},
        {"type": "command", "command": "touch other", "if": "Bash(git:*)"},
        {"type": "command", "command": "touch beside", "async": true},
    ]}]}});
    for (wanted, expect) in [(false, [false; 4]), (true, [true, true, false, false])] {
        let scene = scene(&format!("[agent]\nshared_hooks = {wanted}\n"));
        let file = scene.space.user_home().join(".claude/settings.json");
        scene.space.write(file, settings.to_string());
        // It is the person's to say.
        scene
            .space
            .write("ostler.toml", "[agent]\nshared_hooks = true\n");
        let out = run(&scene, &["--trust-workspace"]).ok();
        let there = ["shared", "narrowed", "other", "beside"].map(|name| scene.space.exists(name));
        assert_eq!(there, expect, "{}", out.stderr);
        assert!(
            out.stderr.contains("`agent.shared_hooks`"),
            "{}",
            out.stderr
        );
        assert_eq!(
            out.stderr.contains("it is asynchronous"),
            wanted,
            "{}",
            out.stderr
        );
    }
}
