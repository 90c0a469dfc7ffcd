//! The reader's sandbox, by plan mode, where every command runs in it: what people look at all day works, nothing is
//! written, nothing of the home is seen that is not named, and nobody is reached.

use super::{layer, skipped};
use crate::common::Scene;
use ostler_host::sandbox::Layer;
use ostler_testkit::{Kind, Run, Step};
use serde_json::json;
use std::path::Path;

const LAYERS: [&str; 2] = ["namespaces", "landlock"];

/// What the model reads of these commands, all of one answer, in plan mode.
fn read_all(scene: &Scene, commands: &[&str], with: impl FnOnce(Run) -> Run) -> Vec<String> {
    let step = commands.iter().fold(Step::answer(), |step, c| {
        step.call("bash", json!({"command": c}))
    });
    scene.server.push(step);
    scene.server.push(Step::answer().text("ok"));
    with(scene.ostler(["exec", "--mode", "plan", "-p", "go"]))
        .output()
        .ok();
    let results = scene.server.request(1).tool_results();
    results.into_iter().map(|(_, text, _)| text).collect()
}

fn scene(layer: &str) -> Scene {
    let config = format!("[sandbox]\nbash = 'require'\nlayer = '{layer}'\n");
    Scene::with_config(Kind::Chat, &config, [])
}

fn layers() -> Vec<&'static str> {
    match layer() {
        None => Vec::new(),
        Some(Layer::Landlock) => vec!["landlock"],
        Some(Layer::Namespaces | Layer::Bubblewrap) => LAYERS.to_vec(),
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        skipped(&format!("there is no program {program}"));
    }
    found
}

/// A project of everything, in git, with a history.
fn project(scene: &Scene) {
    let put = |name: &str, text: &str| {
        scene.space.write(name, text);
    };
    put("README", "hello\n");
    put("go.mod", "module example.com/x\n\ngo 1.20\n");
    put(
        "main.go",
        "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n",
    );
    put(
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    put(
        "Cargo.lock",
        "version = 3\n\n[[package]]\nname = \"x\"\nversion = \"0.1.0\"\n",
    );
    put("src/lib.rs", "pub fn f() {}\n");
    put("package.json", "{\"name\":\"x\",\"version\":\"1.0.0\"}");
    let lines: String = (0..200_000).rev().map(|n| format!("{n:08}\n")).collect();
    put("big.txt", &lines);
    scene.space.git_init();
}

#[test]
fn what_people_look_at_all_day_works() {
    let rows = [
        ("git", "git log -p --stat -1", "main.go"),
        ("git", "git status --short", ""),
        ("git", "git diff HEAD --stat", ""),
        ("rg", "rg -n hello README", "1:hello"),
        ("sort", "sort -S 1M big.txt | head -1", "00000000"),
        ("go", "go list ./...", "example.com/x"),
        (
            "cargo",
            "cargo metadata --format-version 1 --no-deps",
            "\"name\":\"x\"",
        ),
        ("npm", "npm ls", "x@1.0.0"),
        ("man", "man -w ls", "man"),
        ("find", "find . -name '*.go'", "main.go"),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|row| is_there(row.0)).collect();
    let Some(home) = ostler_host::account_home() else {
        return skipped("this account has no home");
    };
    for layer in layers() {
        let scene = scene(layer);
        project(&scene);
        let commands: Vec<&str> = rows.iter().map(|row| row.1).collect();
        let told = read_all(&scene, &commands, |run| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            run.env("HOME", &home).env("PATH", path)
        });
        for ((program, command, expect), told) in rows.iter().zip(&told) {
            let failed = told.contains("exit ") || !told.contains(expect);
            // Not every machine has every manual and every toolchain in order.
            if failed && *program == "man" {
                skipped(&format!("{command}: {told}"));
                continue;
            }
            assert!(!failed, "{layer}: {command}: {told}");
        }
    }
}

/// Sixteen at once, with the same caches and folders.
#[test]
fn many_read_at_once() {
    for layer in layers() {
        let scene = scene(layer);
        project(&scene);
        let commands = ["sort -S 1M big.txt | tail -1"; 16];
        let told = read_all(&scene, &commands, |run| run);
        assert_eq!(told, ["00199999"; 16], "{layer}");
    }
}

/// Has `git diff` run a script of the project: a reader that does more than its words say.
const READER: &str = "git diff";

fn lend_reader(scene: &Scene, script: &str) {
    scene
        .space
        .write("evil", format!("#!/bin/sh\nexec 1>&2\n{script}\n"));
    std::fs::set_permissions(
        scene.space.root().join("evil"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("a mode");
    scene.space.write(".gitattributes", "README diff=x\n");
    scene.space.write("README", "changed\n");
    let config = scene.space.read(".git/config");
    let config = format!("{config}[diff \"x\"]\n\ttextconv = ./evil\n\tcachetextconv = false\n");
    scene.space.write(".git/config", &config);
}

#[test]
fn readers_see_little_of_the_home() {
    for layer in layers() {
        let scene = scene(layer);
        project(&scene);
        let home = scene.space.user_home().to_owned();
        for (name, text) in [
            (".npmrc", "secret-npm"),
            (".config/gh/hosts.yml", "secret-gh"),
            (".cargo/credentials.toml", "secret-cargo"),
            (".cargo/config.toml", "# seen-cargo\n"),
            (".gitconfig", "[user]\n\tname = seen-git\n"),
            ("notes.txt", "secret-notes"),
            ("other/src/main.rs", "secret-other"),
            (".ostler/.env", "X=secret-own"),
            (".ostler/skills/a/notes.md", "seen-skill"),
        ] {
            scene.space.write(home.join(name), text);
        }
        let look = "cat $HOME/.npmrc $HOME/.config/gh/hosts.yml $HOME/.cargo/* $HOME/notes.txt $HOME/other/src/main.rs $HOME/.gitconfig $HOME/.ostler/.env $HOME/.ostler/skills/a/notes.md go.mod; grep -r secret- $HOME /etc/shadow /home; true";
        lend_reader(&scene, look);
        let told = read_all(&scene, &[READER], |run| run).join("\n");
        assert!(!told.contains("secret-"), "{layer}: {told}");
        for seen in ["seen-cargo", "seen-git", "seen-skill", "example.com/x"] {
            assert!(told.contains(seen), "{layer}: {seen}: {told}");
        }
    }
}

/// The words say that these only read; the sandbox is what holds when they do not.
#[test]
fn a_wrong_reader_changes_and_reaches_nothing() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("its address").port();
    for layer in layers() {
        let scene = scene(layer);
        project(&scene);
        let script = format!(
            "for d in . $HOME /tmp /var/tmp /dev/shm $OSTLER_HOME; do echo x > $d/made-by-reader; done
             curl -s -m 5 http://127.0.0.1:{port}/ && echo got-reached
             python3 -c 'import socket; socket.socket(socket.AF_UNIX); print(\"got-unix\")'
             python3 -c 'import socket; socket.socketpair(); print(\"got-pair\")'
             echo x > $TMPDIR/own && echo got-temporary
             mkdir -p $GOCACHE && echo got-cached
             echo got-ran"
        );
        lend_reader(&scene, &script);
        let told = read_all(&scene, &[READER, "git status --short"], |run| run).join("\n");
        assert!(told.contains("got-ran"), "{layer}: {told}");
        for never in ["\ngot-reached", "\ngot-unix"] {
            assert!(!told.contains(never), "{layer}: {told}");
        }
        for ever in ["got-pair", "got-temporary", "got-cached"] {
            assert!(told.contains(ever), "{layer}: {ever}: {told}");
        }
        let home = scene.space.user_home();
        let places = [scene.space.root(), home, scene.space.home()];
        for place in places
            .into_iter()
            .chain(["/tmp", "/var/tmp", "/dev/shm"].map(Path::new))
        {
            let made = place.join("made-by-reader");
            assert!(!made.exists(), "{layer}: {}: {told}", made.display());
        }
    }
}

/// A repository without a working tree that a clone brings, with a program in its settings.
#[test]
fn an_embedded_repository_runs_nothing() {
    for layer in layers() {
        let scene = scene(layer);
        project(&scene);
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            (
                "config",
                "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"echo ran >&2; false\"\n",
            ),
            ("objects/x", ""),
            ("refs/heads/x", ""),
        ] {
            scene.space.write(format!("docs/fixture/{name}"), text);
        }
        let told = read_all(&scene, &["cd docs/fixture && git status"], |run| run).join("\n");
        assert!(!told.contains("ran"), "{layer}: {told}");
    }
}

/// Where nobody can be asked, no pattern, tree or redirection shows what lies outside of the project.
#[test]
fn patterns_and_trees_read_nothing_outside() {
    let commands = [
        "cat /*/passwd",
        "cat /*/../etc/passwd",
        "head -3 /*/passw?",
        "sort /e*/passwd /*/group",
        "cp /*/passwd got; cat got",
        "find / -maxdepth 2 -name passwd -exec cat {} +",
        "grep -rs root: /etc",
        "egrep -rs root: /etc",
        "look root /etc/passwd",
        "look '' ../../../../../../etc/passwd",
        "du -a /etc",
        "npm test </etc/passwd",
        "git log --stdin </etc/passwd",
    ];
    for layer in layers() {
        let scene = scene(layer);
        scene.space.write("README", "hello");
        scene.space.write(
            "package.json",
            "{\"name\":\"x\",\"scripts\":{\"test\":\"cat\"}}",
        );
        let step = commands.iter().fold(Step::answer(), |step, c| {
            step.call("bash", json!({"command": c}))
        });
        scene.server.push(step);
        scene.server.push(Step::answer().text("ok"));
        let rules = ["--allow", "Bash(npm test)", "--allow", "Bash(git log:*)"];
        scene.ostler(["exec", "-p", "go"]).args(rules).output().ok();
        let results = scene.server.request(1).tool_results();
        assert_eq!(results.len(), commands.len());
        for (command, (_, told, _)) in commands.iter().zip(results) {
            let shown = told.contains("root:") && !told.contains("root: /etc");
            assert!(
                !shown && !told.contains("/etc/shadow"),
                "{layer}: {command}: {told}"
            );
        }
    }
}
