//! Odd homes and projects, caches and temporary files: what commands may write then.

use super::{Ran, layer, run, skipped};
use crate::common::Scene;
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::path::Path;

/// What the model reads of one command, with these settings of the run.
fn told(
    scene: &Scene,
    command: &str,
    with: impl FnOnce(ostler_testkit::Run) -> ostler_testkit::Run,
) -> String {
    let before = scene.server.requests().len();
    scene
        .server
        .push(Step::answer().call("bash", json!({"command": command})));
    scene.server.push(Step::answer().text("ok"));
    with(scene.ostler(["exec", "--yolo", "-p", "go"]))
        .output()
        .ok();
    let results = scene.server.request(before + 1).tool_results();
    results.last().expect("a result").1.clone()
}

/// In the home, above it and in `/` nothing is writable because it is the project.
#[test]
fn a_home_is_no_project() {
    if layer().is_none() {
        return;
    }
    let write = "echo evil >> $HOME/.bashrc; echo evil > ./made; mkdir sub/x";
    for (root, flags, writes) in [
        ("", &[][..], false),
        ("..", &[], false),
        ("", &["--add-dir", "sub"], true),
    ] {
        let scene = Scene::new(Kind::Chat, []);
        let home = scene.space.user_home().to_owned();
        scene.space.write(home.join(".bashrc"), "good\n");
        scene.space.write(home.join("sub/file"), "");
        let steps = [
            Step::answer().call("bash", json!({"command": write})),
            Step::answer().call("write_file", json!({"path": "made2", "content": "x"})),
            Step::answer().text("ok"),
        ];
        steps.into_iter().for_each(|step| scene.server.push(step));
        let folder = home.join(root);
        let out = scene
            .ostler(["exec", "--yolo", "-p", "go"])
            .args(flags)
            .cwd(&folder)
            .output()
            .ok();
        let said = out.stderr.matches("workspace_root").count();
        assert_eq!(said, 1, "{}", out.stderr);
        assert_eq!(scene.space.read(home.join(".bashrc")), "good\n", "{root}");
        for name in ["made", "made2"] {
            assert!(!folder.join(name).exists(), "{root} {name}");
        }
        assert_eq!(home.join("sub/x").exists(), writes, "{root} {flags:?}");
    }
}

/// Whoever names a workspace meant it.
#[test]
fn a_home_with_a_workspace_in_it() {
    if layer().is_none() {
        return;
    }
    let scene = Scene::with_config(Kind::Chat, "[sandbox]\nworkspace_root = '~/work'\n", []);
    let home = scene.space.user_home().to_owned();
    scene.space.write(home.join("work/file"), "");
    let told = told(&scene, "echo x > work/made; echo x > made", |run| {
        run.cwd(&home)
    });
    assert!(home.join("work/made").exists(), "{told}");
    assert!(!home.join("made").exists(), "{told}");
}

/// `~` of the default rules means the account's home where HOME says none.
#[test]
fn without_a_home_in_the_environment_it_is_that_of_the_account() {
    if layer().is_none() {
        return;
    }
    let Some(home) = ostler_host::account_home() else {
        return skipped("this account has no home");
    };
    for value in [None, Some(""), Some("relative"), Some("/")] {
        let scene = Scene::new(Kind::Chat, []);
        let told = told(&scene, "echo home=$HOME", |run| match value {
            Some(value) => run.env("HOME", value),
            None => run.without_env("HOME"),
        });
        assert_eq!(told, format!("home={}", home.display()), "{value:?}");
        let config = scene
            .ostler(["doctor"])
            .env("HOME", value.unwrap_or_default())
            .output();
        assert!(!config.stdout.contains("no home"), "{}", config.stdout);
    }
}

/// A folder for temporary files that is the disk or the home opens neither.
#[test]
fn an_odd_folder_for_temporary_files_opens_nothing() {
    if layer().is_none() {
        return;
    }
    for temp in ["/", "home", "above"] {
        let scene = Scene::new(Kind::Chat, []);
        let home = scene.space.user_home().to_owned();
        let folder = match temp {
            "home" => home.clone(),
            "above" => home.parent().expect("a folder").to_owned(),
            path => Path::new(path).to_owned(),
        };
        let write = "echo x > $HOME/made; echo $TMPDIR; f=$(mktemp) && echo x > $f && cat $f";
        let told = told(&scene, write, |run| run.env("TMPDIR", &folder));
        assert!(!home.join("made").exists(), "{temp}: {told}");
        assert!(told.contains("\nx"), "{temp}: {told}");
    }
}

/// What lies in the person's caches is run later, outside.
#[test]
fn caches_of_the_person_stay_as_they_are() {
    let Some(_) = layer() else { return };
    let names = [
        ".cache/p10k-instant-prompt-u.zsh",
        ".cache/pre-commit/x",
        ".cache/go-build/x",
        ".cache/uv/x",
        ".cargo/registry/src/x",
        ".cargo/bin/x",
        "go/pkg/mod/x",
        ".npm/_cacache/x",
    ];
    let set_up = |scene: &Scene| {
        let home = scene.space.user_home();
        for name in names {
            let above = Path::new(name).parent().expect("a folder");
            scene.space.write(home.join(above).join("there"), "");
        }
    };
    let writes: Vec<String> = names.map(|name| format!("echo evil > $HOME/{name}")).into();
    let own = "mkdir -p $GOCACHE $npm_config_cache && echo x > $GOCACHE/made && echo $GOCACHE";
    let mut commands: Vec<&str> = writes.iter().map(String::as_str).collect();
    commands.push(own);
    let Ran { scene, told, .. } = run("", &[], set_up, &commands);
    for name in names {
        let path = scene.space.user_home().join(name);
        assert!(!path.exists(), "{name}: {told:#?}");
    }
    let cache = told.last().expect("a result").clone();
    assert!(cache.contains("cache/commands/"), "{cache}");
    // The next run finds what this one left.
    let next = self::told(&scene, "cat $GOCACHE/made", |run| run);
    assert_eq!(next, "x");
}

/// A home of ours in the project: what decides what runs later is out of reach of commands and of file tools.
#[test]
fn a_home_of_ours_in_the_project_is_protected() {
    if layer().is_none() {
        return;
    }
    let scene = Scene::new(Kind::Chat, []);
    let home = scene.space.root().join("own");
    let config = scene.space.read(scene.space.home().join("config.toml"));
    scene.space.write(home.join("config.toml"), &config);
    scene.space.write(home.join("AGENTS.md"), "good");
    scene.space.write(home.join("skills/a/SKILL.md"), "good");
    let calls = [
        ("bash", json!({"command": "echo evil > own/AGENTS.md"})),
        (
            "bash",
            json!({"command": "echo evil > own/skills/a/SKILL.md"}),
        ),
        (
            "bash",
            json!({"command": "mkdir -p own/commands && echo evil > own/commands/x.md"}),
        ),
        (
            "write_file",
            json!({"path": "own/AGENTS.md", "content": "evil"}),
        ),
        (
            "write_file",
            json!({"path": "own/agents/x.md", "content": "evil"}),
        ),
    ];
    for (tool, args) in &calls {
        scene.server.push(Step::answer().call(tool, args.clone()));
    }
    scene.server.push(Step::answer().text("ok"));
    scene
        .ostler(["exec", "--yolo", "-p", "go"])
        .env("OSTLER_HOME", &home)
        .output()
        .ok();
    let told = scene.server.request(calls.len()).tool_results();
    assert_eq!(
        scene.space.read(home.join("AGENTS.md")),
        "good",
        "{told:#?}"
    );
    assert_eq!(scene.space.read(home.join("skills/a/SKILL.md")), "good");
    for name in ["commands/x.md", "agents/x.md"] {
        assert!(!home.join(name).exists(), "{name}: {told:#?}");
    }
}
