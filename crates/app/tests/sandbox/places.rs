//! Odd homes and projects, caches and temporary files: what commands may write then.

use super::traces::{config, layers};
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
    // In the last one nothing can be made.
    for temp in ["/", "home", "above", "/proc"] {
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

/// Logins and histories in the home are nobody's business, by commands and by file tools; a person's own list opens them.
#[test]
fn credentials_in_the_home_are_not_read() {
    if layer().is_none() {
        return;
    }
    let names = [
        ".netrc",
        ".git-credentials",
        ".config/git/credentials",
        ".npmrc",
        ".docker/config.json",
        ".kube/config",
        ".config/gh/hosts.yml",
        ".cargo/credentials.toml",
        ".m2/settings.xml",
        ".local/share/keyrings/login.keyring",
        ".mozilla/firefox/x/logins.json",
        ".bash_history",
    ];
    let ordinary = [".config/git/ignore", ".docker/daemon.json", ".cargo/config"];
    let set_up = |scene: &Scene| {
        let home = scene.space.user_home();
        for name in names {
            scene.space.write(home.join(name), "private");
        }
        for name in ordinary {
            scene.space.write(home.join(name), "plain");
        }
    };
    let cat = |name: &str| format!("cat $HOME/{name}; : > ran");
    let commands: Vec<String> = names.iter().chain(&ordinary).map(|n| cat(n)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let Ran { scene, told, .. } = run("", &[], set_up, &commands);
    let (hidden, seen) = told.split_at(names.len());
    for (name, told) in names.iter().zip(hidden) {
        assert!(!told.contains("private"), "{name}: {told}");
    }
    for (name, told) in ordinary.iter().zip(seen) {
        assert_eq!(told, "plain", "{name}");
    }
    let before = scene.server.requests().len();
    let path = scene.space.user_home().join(".netrc");
    let read = Step::answer().call("read_file", json!({"path": path}));
    scene.server.push(read);
    scene.server.push(Step::answer().text("ok"));
    scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
    let results = scene.server.request(before + 1).tool_results();
    let told = &results.last().expect("a result").1;
    assert!(!told.contains("private"), "{told}");
    let own = "[sandbox]\nforbid_read = ['~/.ssh']\n";
    let Ran { told, .. } = run(own, &[], set_up, &["cat $HOME/.netrc; : > ran"]);
    assert_eq!(told, ["private"]);
}

/// Checkpoints, our caches and what was said in other projects are not read by commands; this session's folder is.
#[test]
fn what_ostler_keeps_is_not_read_by_commands() {
    let hidden = [
        "checkpoints/p/blob",
        "cache/history.sqlite",
        "cache/prompts/p/x",
        "cache/later/x",
        "cache/commands/other/x",
        "sessions/other-1234/id/artifact.txt",
        "archive/2026-other.jsonl",
        "prefixes/0123.json",
        "ledger.jsonl",
        "mcp.json",
        "projects/p/permissions.toml",
        "made-by-a-later-version/x",
    ];
    let set_up = |scene: &Scene| {
        for name in hidden {
            let text = if name == "mcp.json" {
                "{\"private\":1}"
            } else {
                "private"
            };
            scene.space.write(scene.space.home().join(name), text);
        }
    };
    let mut commands: Vec<String> = hidden
        .map(|name| format!("cat $OSTLER_HOME/{name}; : > ran"))
        .into();
    commands.push("grep -rls private $OSTLER_HOME/checkpoints $OSTLER_HOME/cache; : > ran".into());
    commands.push("cat $OSTLER_HOME/checkpoints/p/blob".into());
    commands.push("seq 1 40000".into());
    commands.push("wc -l < $(find $OSTLER_HOME/sessions -type f -size +50k 2>/dev/null | grep -v jsonl | head -1); : > ran".into());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    for layer in layers() {
        let Ran { told, data, .. } = run(&config(layer), &[], set_up, &commands);
        for (name, told) in hidden.iter().zip(&told) {
            assert!(!told.contains("private"), "{layer} {name}: {told}");
        }
        let [found, cat, _, artifact] = &told[hidden.len()..] else {
            panic!("{told:#?}");
        };
        assert!(!found.contains("/blob"), "{found}");
        assert!(cat.contains("[sandbox: "), "{cat}");
        let data = &data[hidden.len() + 1];
        assert!(data["denied"]["grant"].is_null(), "{data}");
        assert_eq!(artifact.trim(), "40000", "{told:#?}");
    }
}

/// Files by which a home decides what the next start runs or allows, with what a command would put there.
const DECIDING: [&str; 8] = [
    "mcp.json",
    ".env",
    "config.toml",
    "trust.json",
    "projects/p/permissions.toml",
    "sessions/p/forged.jsonl",
    "prefixes/forged.json",
    "skills/evil/SKILL.md",
];

/// A session whose home is `home`, which runs these commands; what the model was told.
fn in_home(
    scene: &Scene,
    home: &std::path::Path,
    flags: &[&str],
    commands: &[&str],
) -> Vec<String> {
    let config = scene.space.home().join("config.toml");
    if !home.join("config.toml").exists() {
        let text = scene.space.read(config);
        scene.space.write(home.join("config.toml"), &text);
    }
    for command in commands {
        let call = Step::answer().call("bash", json!({"command": command}));
        scene.server.push(call);
    }
    scene.server.push(Step::answer().text("ok"));
    let before = scene.server.requests().len();
    let run = scene
        .ostler(["exec", "--yolo", "-p", "go"])
        .args(flags)
        .env("OSTLER_HOME", home)
        .output();
    if scene.server.requests().len() == before {
        return vec![run.stderr];
    }
    let results = scene.server.request(before + commands.len()).tool_results();
    results.into_iter().map(|(_, text, _)| text).collect()
}

/// Wherever a home lies in reach of commands: what the next start follows stays as it is, or there is no start.
#[test]
fn a_home_in_reach_of_commands_is_closed_or_nothing_starts() {
    for layer in layers() {
        for (place, flags) in [
            ("root/own", &[][..]),
            ("root/deep/er/own", &[]),
            ("root/.ostler", &[]),
            ("root/.ostler/own", &[]),
            ("added/own", &["--add-dir", "../added"]),
        ] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            let root = scene.space.root().to_owned();
            let home = match place.strip_prefix("root/") {
                Some(below) => root.join(below),
                None => root.parent().unwrap().join(place),
            };
            scene.space.write(home.join("skills/good/SKILL.md"), "good");
            let shown = home.display();
            // Written to scripts, whose words no rule reads.
            let mut scripts: Vec<String> = DECIDING
                .map(|name| {
                    let path = home.join(name);
                    let folder = path.parent().unwrap().display();
                    format!("mkdir -p {folder}; echo evil > {}", path.display())
                })
                .into();
            let top = root.parent().unwrap();
            let folders = home.ancestors().take_while(|f| f.parent() != Some(top));
            scripts.extend(folders.map(|folder| {
                let folder = folder.display();
                format!(
                    "mv {folder} {folder}-moved && mkdir -p {shown} && echo evil > {shown}/mcp.json"
                )
            }));
            let mut commands = Vec::new();
            for (number, script) in scripts.iter().enumerate() {
                scene.space.write(format!("{number}.sh"), script);
                commands.push(format!("sh {number}.sh"));
            }
            commands.push(
                "echo x > made && mkdir -p $GOCACHE && echo x > $GOCACHE/made && cat made".into(),
            );
            commands.push(format!("cat {shown}/skills/good/SKILL.md"));
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            let told = in_home(&scene, &home, flags, &commands);
            if layer == "landlock" {
                assert!(told[0].contains("Move the home"), "{place}: {told:#?}");
                assert_eq!(told.len(), 1, "{told:#?}");
                continue;
            }
            for name in DECIDING {
                let text = std::fs::read_to_string(home.join(name)).unwrap_or_default();
                assert!(!text.contains("evil"), "{place} {name}: {told:#?}");
            }
            assert!(home.join("config.toml").exists(), "{place}: {told:#?}");
            let [.., made, skill] = told.as_slice() else {
                panic!("{told:#?}");
            };
            assert_eq!(
                (made.as_str(), skill.as_str()),
                ("x", "good"),
                "{place}: {told:#?}"
            );
        }
    }
}

/// A link is no mount: a command could lead it elsewhere, on either layer.
#[test]
fn a_home_behind_a_link_in_the_project_starts_nothing() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let link = scene.space.root().join("link");
        std::os::unix::fs::symlink(scene.space.home(), &link).unwrap();
        let told = in_home(&scene, &link, &[], &["echo x"]);
        assert!(
            told[0].contains("OSTLER_HOME to the real path"),
            "{layer}: {told:#?}"
        );
        let told = in_home(&scene, &link, &["--no-sandbox"], &["echo x"]);
        assert_eq!(told, ["x"], "{layer}");
    }
}

/// A project inside of a home, as the trees of sub-agents are: it is worked in, and the home around it stays closed.
#[test]
fn a_project_below_the_home_is_worked_in() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let home = scene.space.root().parent().unwrap().to_owned();
        scene.space.git_init();
        scene
            .space
            .write(home.join("archive/x-other.jsonl"), "private");
        let evil = format!("echo evil > {}/mcp.json", home.display());
        scene.space.write("evil.sh", &evil);
        scene
            .space
            .write("look.sh", format!("cat {}/archive/*", home.display()));
        let work = "echo x > made && git add made && git commit -qm x && cat made";
        let told = in_home(&scene, &home, &[], &[work, "sh evil.sh", "sh look.sh"]);
        assert_eq!(told[0], "x", "{layer}: {told:#?}");
        assert!(!home.join("mcp.json").exists(), "{layer}: {told:#?}");
        assert!(!told[2].contains("private"), "{layer}: {told:#?}");
    }
}

/// The file that `--config` names is read again by the next start.
#[test]
fn a_named_configuration_in_the_project_is_protected() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let text = scene.space.read(scene.space.home().join("config.toml"));
        scene.space.write("my.toml", &text);
        let home = scene.space.home().to_owned();
        scene.space.write("evil.sh", "echo evil >> my.toml");
        scene.space.write("move.sh", "mv my.toml x");
        let told = in_home(
            &scene,
            &home,
            &["--config", "my.toml"],
            &["sh evil.sh", "sh move.sh"],
        );
        assert_eq!(scene.space.read("my.toml"), text, "{layer}: {told:#?}");
    }
}

/// The flags that a refusal names are enough for all that the command does.
#[test]
fn a_refused_command_does_its_work_with_the_flags_of_the_refusal() {
    for layer in layers() {
        let outer = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let at = outer.display();
        scene.space.write(outer.join("notes/secret"), "text-4711");
        scene.space.write(outer.join("made/old"), "");
        let run = |command: &str, flags: &[String]| {
            let before = scene.server.requests().len();
            scene
                .server
                .push(Step::answer().call("bash", json!({ "command": command })));
            scene.server.push(Step::answer().text("ok"));
            let out = scene.ostler(["exec", "-p", "go"]).args(flags).output().ok();
            let results = scene.server.request(before + 1).tool_results();
            (results.last().expect("a result").1.clone(), out.stderr)
        };
        for (command, expect) in [
            (format!("cat {at}/notes/secret"), "text-4711"),
            (
                format!("cp {at}/notes/secret {at}/made/new && cat {at}/made/new"),
                "text-4711",
            ),
            (
                format!("sort < {at}/notes/secret > {at}/made/other && echo done"),
                "done",
            ),
        ] {
            let (result, stderr) = run(&command, &[]);
            assert!(
                result.starts_with("Error (blocked): "),
                "{layer} {command}: {result}"
            );
            let (_, named) = stderr.split_once("To allow it: ").expect(&stderr);
            let named = named.lines().next().unwrap_or_default();
            let words = named.split('\'').map(|word| word.trim().to_owned());
            let flags: Vec<String> = words.filter(|word| !word.is_empty()).collect();
            let (result, _) = run(&command, &flags);
            assert!(
                result.contains(expect),
                "{layer} {command} {flags:?}: {result}"
            );
        }
    }
}
