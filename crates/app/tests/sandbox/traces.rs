//! What commands leave behind for the person, or for later: temporary files, repositories, processes that write when
//! nobody looks, and answers to our own questions.

use super::{Ran, layer, run, skipped};
use crate::common::Scene;
use ostler_host::sandbox::Layer;
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};
use std::time::Duration;

const LAYERS: [&str; 2] = ["namespaces", "landlock"];

pub(super) fn layers() -> Vec<&'static str> {
    match layer() {
        None => Vec::new(),
        Some(Layer::Landlock) => vec!["landlock"],
        Some(Layer::Namespaces | Layer::Bubblewrap) => LAYERS.to_vec(),
    }
}

pub(super) fn config(layer: &str) -> String {
    format!("[sandbox]\nbash = 'require'\nlayer = '{layer}'\n")
}

/// Runs these calls one after the other and gives what the model read.
fn calls(scene: &Scene, calls: &[(&str, Value)]) -> Vec<String> {
    for (tool, args) in calls {
        scene.server.push(Step::answer().call(tool, args.clone()));
    }
    scene.server.push(Step::answer().text("ok"));
    scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
    let results = scene.server.request(calls.len()).tool_results();
    results.into_iter().map(|(_, text, _)| text).collect()
}

pub(super) fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

/// File tools and commands mean the same file by `/tmp/x`, nobody else sees it, and it goes with the session.
#[test]
fn a_session_has_a_tmp_of_its_own() {
    if layer() != Some(Layer::Namespaces) {
        return skipped("only mounts give a session a /tmp of its own");
    }
    let scene = Scene::with_config(Kind::Chat, &config("namespaces"), []);
    let name = format!("ostler-trace-{}", std::process::id());
    let outside = std::path::Path::new("/tmp").join(&name);
    std::fs::write(&outside, "of-the-person").expect("a file");
    let told = calls(
        &scene,
        &[
            (
                "write_file",
                json!({"path": "/tmp/a/from-tool", "content": "tool\n"}),
            ),
            bash("cat /tmp/a/from-tool; echo $TMPDIR; echo command > /var/tmp/from-command"),
            ("read_file", json!({"path": "/tmp/from-command"})),
            bash(&format!("cat /tmp/{name}")),
            bash(&format!(
                "echo evil > /tmp/{name}; f=$(mktemp); echo $f; ls /tmp"
            )),
            ("bash", json!({"command": "pwd; ls", "cwd": "/tmp/a"})),
        ],
    );
    let kept = std::fs::read_to_string(&outside).expect("it stays");
    std::fs::remove_file(&outside).expect("removed");
    assert_eq!(told[1], "tool\n/tmp", "{told:#?}");
    assert!(told[2].contains("command"), "{told:#?}");
    assert!(told[3].contains("a /tmp of their own"), "{told:#?}");
    assert!(!told[3].contains("of-the-person"), "{told:#?}");
    assert_eq!(kept, "of-the-person");
    assert_eq!(told[5], "/tmp/a\nfrom-tool", "{told:#?}");
    let base = std::env::temp_dir();
    let scenes = scene.space.root().parent().expect("a folder").to_owned();
    for folder in [base, scenes.join("tmp")] {
        let left = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let left: Vec<_> = left
            .filter(|entry| entry.path().join("tmp/a/from-tool").exists())
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The next `git status` of the person runs nothing that a command wrote.
#[test]
fn repositories_of_commands_run_nothing_afterwards() {
    let nested = "git init -q sub && git -C sub -c user.email=a@b -c user.name=a commit -q --allow-empty -m x && git -C sub config core.fsmonitor 'touch ../../escaped; false' && git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub";
    let hook = "git init -q hooked && printf '#!/bin/sh\\ntouch ../../escaped\\n' > hooked/.git/hooks/post-checkout && chmod +x hooked/.git/hooks/post-checkout";
    let broken = "mkdir -p objects refs && echo 'ref: refs/heads/main' > HEAD && printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = touch ../escaped; false\\n' > config && mv .git/HEAD .git/HEAD.away";
    let plain = "git init -q fine && git -C fine config user.name A && git -C fine remote add origin https://example.com/x";
    for layer in layers() {
        let set_up = |scene: &Scene| {
            scene.space.write("README", "hello");
            scene.space.git_init();
        };
        let Ran { scene, told, data } =
            run(&config(layer), &[], set_up, &[nested, hook, plain, broken]);
        let path = scene.space.root().join("sub/.git/config");
        let text = std::fs::read_to_string(&path).expect("settings");
        assert!(!text.contains("fsmonitor"), "{layer}: {text} {told:#?}");
        // With a loaded machine the next result says it.
        let all = told.join("\n");
        assert!(
            all.contains("sub/.git/config: not taken over"),
            "{layer}: {told:#?}"
        );
        let kept = |data: &Value| data["protected"][0]["kept"].is_string();
        assert!(data.iter().any(kept), "{layer}: {data:?}");
        assert!(
            !scene.space.exists("hooked/.git/hooks/post-checkout"),
            "{layer}: {told:#?}"
        );
        assert!(
            scene.space.read("fine/.git/config").contains("example.com"),
            "{layer}"
        );
        assert!(!all.contains("fine/.git"), "{layer}: {told:#?}");
        for folder in ["sub", "hooked", "."] {
            let status = std::process::Command::new("git")
                .args(["status", "--short"])
                .current_dir(scene.space.root().join(folder))
                .output();
            assert!(status.is_ok());
        }
        let top = scene.space.root().parent().expect("a folder");
        for place in [top, scene.space.root()] {
            assert!(!place.join("escaped").exists(), "{layer}: {told:#?}");
        }
    }
}

/// Whoever wrote its settings and hooks, a repository that a command finishes runs nothing.
#[test]
fn a_command_finishes_no_repository_of_file_tools() {
    let settings =
        "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch ../escaped; false\n";
    for (layer, folder) in layers()
        .into_iter()
        .flat_map(|layer| [(layer, "c"), (layer, ".")])
    {
        let write = |path: &str, content: &str| {
            let args = json!({"path": format!("{folder}/{path}"), "content": content});
            Step::answer().call("write_file", args)
        };
        let bash = |command: &str| Step::answer().call("bash", json!({ "command": command }));
        let last =
            format!("echo 'ref: refs/heads/main' > {folder}/HEAD; chmod +x {folder}/hooks/*");
        let steps = [
            bash("touch begun"),
            write("config", settings),
            write("hooks/post-checkout", "#!/bin/sh\ntouch escaped\n"),
            write("objects/keep", ""),
            write("refs/keep", ""),
            // What file tools left is older than the next command by far, as it is with a model.
            bash("touch between")
                .text("On.")
                .pace(Duration::from_millis(200)),
            bash(&last),
            bash("touch afterwards"),
            Step::answer().text("ok"),
        ];
        let scene = Scene::with_config(Kind::Chat, &config(layer), steps);
        scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
        let told = scene.server.request(8).tool_results();
        let text = scene.space.read(format!("{folder}/config"));
        assert!(!text.contains("fsmonitor"), "{layer} {folder}: {told:#?}");
        let hook = format!("{folder}/hooks/post-checkout");
        assert!(!scene.space.exists(&hook), "{layer} {folder}: {told:#?}");
    }
}

/// A link of the project into the commands' own caches leads the person's git to nothing that runs.
#[test]
fn repositories_in_the_caches_of_commands_run_nothing() {
    let trap = |place: &str| {
        format!(
            "git init -q {place} && git -C {place} config core.fsmonitor 'touch escaped; false'"
        )
    };
    for layer in layers() {
        let set_up = |scene: &Scene| {
            scene.space.write("src/lib.rs", "");
        };
        let commands = [
            // The trap is older than the link to it.
            format!("{} && {}", trap("$GOCACHE/src"), trap("$GOCACHE/above")),
            "mkdir -p $GOCACHE/above/in; mv src $GOCACHE/src/old; ln -s $GOCACHE/src src; ln -s $GOCACHE/above/in in".to_owned(),
            "touch afterwards".to_owned(),
        ];
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
        let root = scene.space.root();
        for settings in [root.join("src/.git/config"), root.join("in/../.git/config")] {
            let text = std::fs::read_to_string(&settings).expect("settings");
            assert!(!text.contains("fsmonitor"), "{layer}: {text} {told:#?}");
        }
    }
}

/// Settings of submodules are settings of git.
#[test]
fn submodules_keep_their_settings() {
    for layer in layers() {
        let set_up = |scene: &Scene| {
            scene.space.write("README", "hello");
            scene.space.git_init();
            for (name, text) in [
                ("HEAD", "ref: refs/heads/main\n"),
                ("config", "[core]\n\trepositoryformatversion = 0\n"),
                ("objects/x", ""),
                ("refs/heads/x", ""),
            ] {
                scene.space.write(format!(".git/modules/lib/{name}"), text);
            }
        };
        let commands = [
            "printf '[core]\\n\\tsshCommand = evil\\n' >> .git/modules/lib/config",
            "mkdir -p .git/modules/lib/hooks; echo evil > .git/modules/lib/hooks/post-checkout",
        ];
        let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
        let text = scene.space.read(".git/modules/lib/config");
        assert!(!text.contains("evil"), "{layer}: {text} {told:#?}");
        assert!(
            !scene.space.exists(".git/modules/lib/hooks/post-checkout"),
            "{layer}: {told:#?}"
        );
    }
}

/// What a command left running writes while nobody looks, and the session ends.
#[test]
fn what_is_written_between_commands_is_put_back() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        scene.space.write("README", "hello");
        scene.space.git_init();
        let before = scene.space.read(".git/config");
        // It writes when it is told to, which the second command does, and says so when it has.
        let left = "mkfifo go; (setsid sh -c 'read x < go; echo evil > ostler.toml; echo evil > .mcp.json; echo evil > .git/hooks/pre-commit; echo evil >> .git/config; : > done; exec sleep 600' > /dev/null 2>&1 &)";
        let wait = "echo x > go; while ! test -e done; do sleep 0.01; done; rm -f done";
        let late = "(setsid sh -c 'while test -e stay; do sleep 0.01; done; echo evil > ostler.toml; exec sleep 600' > /dev/null 2>&1 &)";
        let told = calls(&scene, &[bash(left), bash(wait), bash(late), bash("true")]);
        for name in ["ostler.toml", ".mcp.json", ".git/hooks/pre-commit"] {
            assert!(!scene.space.exists(name), "{layer} {name}: {told:#?}");
        }
        assert_eq!(
            scene.space.read(".git/config"),
            before,
            "{layer}: {told:#?}"
        );
    }
}

/// A question of ours is answered by the person, never by the command it is about: not through a terminal, a socket, a
/// pipe or the memory of ours.
#[test]
fn a_command_cannot_answer_for_the_person() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let try_all = r#"
            parent=$(awk '/^PPid/{print $2}' /proc/self/status)
            for p in 1 $parent $(ls /proc | grep '^[0-9]*$'); do
                grep -q ostler /proc/$p/comm 2>/dev/null || continue
                for fd in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
                    (printf '{"op":"allow"}\ny\n' > /proc/$p/fd/$fd) 2>/dev/null && readlink /proc/$p/fd/$fd | grep -v '^/dev/null' | sed 's/^/wrote /'
                done
                (cat /proc/$p/environ) 2>/dev/null | grep -q KEY && echo environ
                (: > /proc/$p/mem) 2>/dev/null && echo mem
            done
            (echo y > /dev/tty) 2>/dev/null && echo tty
            for s in $(find "$HOME" "$OSTLER_HOME" /run /tmp -type s 2>/dev/null); do
                python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect('$s')" 2>/dev/null && echo "socket $s"
            done
            for f in $(find "$OSTLER_HOME" -type p 2>/dev/null); do echo "pipe $f"; done
            grep -c LISTEN /proc/net/unix 2>/dev/null | sed 's/^/listens /'
            true
        "#;
        scene
            .server
            .push(Step::answer().call("bash", json!({"command": try_all})));
        scene.server.push(Step::answer().text("ok"));
        let ops = json!({"op": "prompt", "text": "go"}).to_string();
        let out = scene
            .ostler([
                "exec",
                "--yolo",
                "--input-format",
                "stream-json",
                "--format",
                "stream-json",
            ])
            .stdin(format!("{ops}\n"))
            .output();
        let results = scene.server.request(1).tool_results();
        let told = &results
            .first()
            .unwrap_or_else(|| panic!("{}", out.stderr))
            .1;
        for way in ["wrote ", "environ", "mem", "tty", "socket ", "pipe "] {
            let found: Vec<&str> = told.lines().filter(|line| line.starts_with(way)).collect();
            assert_eq!(found, [] as [&str; 0], "{layer}: {told}");
        }
    }
}

/// Git reads `config.worktree` where `extensions.worktreeConfig` is set: none is left that a command wrote, in the root's
/// git folder, in those of its worktrees, or in the repository of the worktree that is the project.
#[test]
fn settings_of_worktrees_stay_as_they_are() {
    let git = |folder: &std::path::Path, args: &[&str]| {
        let out = std::process::Command::new("git")
            .args(args)
            .current_dir(folder)
            .output()
            .expect("git runs");
        assert!(out.status.success(), "{args:?}: {out:?}");
    };
    let evil = "printf '[core]\\n\\tfsmonitor = evil\\n'";
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let root = scene.space.root().to_owned();
        scene.space.write("README", "hello");
        scene.space.git_init();
        let tree = scene.space.user_home().join("tree");
        let shown = tree.display().to_string();
        git(&root, &["config", "extensions.worktreeConfig", "true"]);
        git(&root, &["worktree", "add", "-q", &shown]);
        let write = format!(
            "d=$(git rev-parse --git-common-dir) && for f in $d/config.worktree $d/worktrees/tree/config.worktree; do {evil} > $f; done"
        );
        for folder in [&root, &tree] {
            let before = scene.server.requests().len();
            let (tool, args) = bash(&write);
            scene.server.push(Step::answer().call(tool, args));
            scene.server.push(Step::answer().text("ok"));
            let run = scene.ostler(["exec", "--yolo", "-p", "go"]);
            run.cwd(folder).output().ok();
            let told = scene.server.request(before + 1).tool_results();
            for name in ["config.worktree", "worktrees/tree/config.worktree"] {
                let path = root.join(".git").join(name);
                assert!(!path.exists(), "{layer} {path:?} {told:#?}");
            }
            let told = &told.last().expect("a result").1;
            assert!(told.contains("[sandbox: protected"), "{layer}: {told}");
        }
    }
}

/// What other programs run when they open the project: commands change none of it and leave nothing new.
#[test]
fn settings_of_other_programs_stay_as_they_are() {
    let names = [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/commands/x.md",
        ".claude/agents/x.md",
        ".claude/skills/x/SKILL.md",
        ".claude/hooks/x.sh",
        ".vscode/tasks.json",
        ".vscode/settings.json",
    ];
    let write = |name: &str| format!("mkdir -p $(dirname {name}); echo evil > {name}; : > ran");
    let mut commands: Vec<String> = names.map(write).into();
    commands.push("rm -rf .claude .vscode; mv .claude away; : > ran".into());
    commands.push("mkdir -p .vscode && echo fine > .vscode/notes.txt; : > ran".into());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    for layer in layers() {
        for is_there in [true, false] {
            let set_up = |scene: &Scene| {
                for name in names.iter().filter(|_| is_there) {
                    scene.space.write(name, "good");
                }
            };
            let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
            for name in names {
                assert_eq!(scene.space.exists(name), is_there, "{name} {told:#?}");
                if is_there {
                    assert_eq!(scene.space.read(name), "good", "{layer} {told:#?}");
                }
            }
            assert_eq!(scene.space.read(".vscode/notes.txt"), "fine\n", "{layer}");
        }
    }
}

/// Another name for a file that may not be read, made in the project or there before: it shows no more than the first.
#[test]
fn another_name_of_a_denied_file_shows_nothing() {
    let set_up = |scene: &Scene| {
        scene.space.write("secret", "hush");
        scene.space.write("deep/er/old", "");
        let root = scene.space.root();
        std::fs::remove_file(root.join("deep/er/old")).unwrap();
        std::fs::hard_link(root.join("secret"), root.join("deep/er/old")).unwrap();
        scene.space.write("link.sh", "ln secret new; ln deep/er/old newer; cat new newer deep/er/old; mv secret moved; cat moved; cp --link secret x; cat x");
        scene
            .space
            .write("late.sh", "cat new newer x moved deep/er/old");
    };
    for layer in layers() {
        let rules = format!(
            "{}[permissions]\ndeny = [\"Read(secret)\"]\n",
            config(layer)
        );
        let Ran { told, .. } = run(&rules, &[], set_up, &["sh link.sh", "sh late.sh"]);
        if layer == "landlock" {
            // What lies in a writable folder can be read there; docs/sandbox.md says so.
            continue;
        }
        for told in &told {
            assert!(!told.contains("hush"), "{layer}: {told}");
        }
    }
}

/// What file tools say of a temporary file names it as commands do.
#[test]
fn errors_name_temporary_files_as_commands_see_them() {
    for layer in layers().into_iter().filter(|layer| *layer == "namespaces") {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        let told = calls(
            &scene,
            &[
                ("read_file", json!({"path": "/tmp/no-such-file"})),
                (
                    "edit_file",
                    json!({"path": "/tmp/no-such-file", "old_string": "a", "new_string": "b"}),
                ),
                ("ls", json!({"path": "/tmp/no-such-folder"})),
            ],
        );
        for told in &told {
            assert!(told.contains("/tmp/no-such-"), "{told}");
            assert!(!told.contains("ostler-tmp-"), "{told}");
        }
    }
}
