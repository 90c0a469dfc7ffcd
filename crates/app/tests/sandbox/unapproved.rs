//! Commands that nobody approved, in runs without a person: what they see is the project and what a reader sees, whatever
//! their words say. Ordinary builds go on, and what is missing is told with the flag that shows it.

use super::{layer, skipped};
use crate::common::{Scene, of_type};
use ostler_host::sandbox::Layer;
use ostler_testkit::{Kind, Run, Step};
use serde_json::{Value, json};

const SECRET: &str = "TOP-SECRET-OF-THE-HOME";

/// Each prints `beside/file` of the home where nothing holds it.
const SPELLINGS: [&str; 24] = [
    "cd -P ../home/beside && cat file",
    "cat ../ho\\\nme/beside/file",
    "cat ${X:-../home}/beside/file",
    "cat \"${HOME}\"/b*/file",
    "cat \"${HOME}\"/beside/f*",
    "curl -s file://$HOME/beside/file",
    "curl -s \"file://localhost${HOME}/beside/file\"",
    "echo $HOME/beside/file | xargs cat",
    "printf '%s\\0' ../home/beside/file | xargs -0 cat",
    "env -C ../home/beside cat file",
    "env --chdir=../home/beside cat file",
    "echo 'cat ../home/beside/file' | sh",
    "echo Y2F0IC4uL2hvbWUvYmVzaWRlL2ZpbGU= | base64 -d | sh",
    "sh -c \"$(printf 'cat %s' ../home/beside/file)\"",
    "GIT_WORK_TREE=../home/beside git ls-files -o && GIT_WORK_TREE=../home/beside git hash-object -w ../home/beside/file | xargs git cat-file -p",
    "git diff --no-index /dev/null ../home/beside/file",
    "git --work-tree=../home/beside grep -h --no-index . file",
    "python3 -c \"import os; print(open(os.environ['HOME'] + '/beside/file').read())\"",
    "perl -e 'open F, \"$ENV{HOME}/beside/file\"; print <F>'",
    "awk 'BEGIN { while ((getline l < (ENVIRON[\"HOME\"] \"/beside/file\")) > 0) print l }'",
    "ln -s ../home/beside l && cat l/file",
    "tar cf - -C ../home beside | tar xOf -",
    "eval \"$(echo cat ../home/beside/file)\"",
    "while read -r x; do cat \"$x\"; done <<< ../home/beside/file || : ; a=..; cat $a/home/beside/file",
];

fn layers() -> Vec<&'static str> {
    match layer() {
        None => Vec::new(),
        Some(Layer::Landlock) => vec!["landlock"],
        Some(Layer::Namespaces | Layer::Bubblewrap) => vec!["namespaces", "landlock"],
    }
}

/// Runs these commands in one `exec` that nobody watches; what the model read of each, and the data of the results.
fn unattended(
    layer: &str,
    flags: &[&str],
    set_up: impl FnOnce(&Scene),
    with: impl FnOnce(Run) -> Run,
    commands: &[&str],
) -> (Scene, Vec<String>, Vec<Value>) {
    let config = format!("[sandbox]\nbash = 'require'\nlayer = '{layer}'\n");
    let steps = commands
        .iter()
        .map(|c| Step::answer().call("bash", json!({"command": c})))
        .chain([Step::answer().text("ok")]);
    let scene = Scene::with_config(Kind::Chat, &config, steps);
    scene.space.write("README", "hello");
    scene.space.git_init();
    let beside = scene.space.user_home().join("beside/file");
    scene.space.write(beside, format!("{SECRET}\n"));
    set_up(&scene);
    with(scene.ostler(["exec", "-p", "go"]).args(flags))
        .output()
        .ok();
    let results = scene.server.request(commands.len()).tool_results();
    let told = results.into_iter().map(|(_, text, _)| text).collect();
    let data = of_type(&scene.log(), "tool_result")
        .iter()
        .map(|entry| entry["output"]["data"].clone())
        .collect();
    (scene, told, data)
}

#[test]
fn odd_words_show_nothing_outside() {
    for layer in layers() {
        let (_, told, _) = unattended(layer, &[], |_| (), |run| run, &SPELLINGS);
        let leaked: Vec<_> = SPELLINGS
            .iter()
            .zip(&told)
            .filter(|(_, told)| told.contains(SECRET))
            .collect();
        assert!(leaked.is_empty(), "{layer}: {leaked:#?}");
    }
}

/// Posture `auto` is the same function, with a person who is asked for the rest.
#[test]
fn what_nobody_approved_is_told_with_the_flag_that_shows_it() {
    let look = |scene: &Scene| {
        let other = scene.space.user_home().join("beside/other");
        scene.space.write(other, format!("{SECRET}\n"));
        scene.space.write("a.sh", "cat ../home/beside/file");
        scene.space.write("b.sh", "cat ../home/beside/other");
    };
    for layer in layers() {
        let (scene, told, data) = unattended(layer, &[], look, |run| run, &["sh a.sh"]);
        let path = scene.space.user_home().join("beside/file");
        let path = path.display().to_string();
        assert_eq!(data[0]["denied"]["what"], *path, "{layer}: {}", data[0]);
        let last = told[0].lines().last().unwrap_or_default();
        let flag = format!("--allow 'Read({path})'");
        assert!(last.contains(&flag), "{layer}: {last}");
        // The flag keeps its word, and shows that file alone.
        let rule = format!("Read({}/beside/file)", "~");
        let flags = ["--allow", rule.as_str()];
        let both = ["sh a.sh", "sh b.sh"];
        let (_, told, _) = unattended(layer, &flags, look, |run| run, &both);
        assert!(told[0].contains(SECRET), "{layer}: {}", told[0]);
        assert!(!told[1].contains(SECRET), "{layer}: {}", told[1]);
    }
}

/// A rule for the command, `--yolo` and `headless = "allow"` are the person's own words.
#[test]
fn what_a_rule_allows_sees_as_ever() {
    let script = "make look";
    if !is_there("make") {
        return;
    }
    let look = |scene: &Scene| {
        scene
            .space
            .write("Makefile", "look:\n\t@cat ../home/beside/file\n");
    };
    for layer in layers() {
        let (_, told, _) = unattended(layer, &["--yolo"], look, |run| run, &[script]);
        assert!(told[0].contains(SECRET), "{layer}: {}", told[0]);
        let flags = ["--allow", "Bash(make look)"];
        let (_, told, _) = unattended(layer, &flags, look, |run| run, &[script]);
        assert!(told[0].contains(SECRET), "{layer}: {}", told[0]);
        let (_, told, _) = unattended(layer, &[], look, |run| run, &[script]);
        assert!(!told[0].contains(SECRET), "{layer}: {}", told[0]);
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

/// With the toolchains of this machine and the settings of git that a person has.
#[test]
fn ordinary_builds_go_on() {
    let rows = [
        (
            "git",
            "git add -A && git commit -q -m more && git config user.name > who; cat who",
            "Person",
        ),
        (
            "cargo",
            "cargo build -q --offline && cargo test -q --offline 2>&1 | grep -c passed",
            "passed",
        ),
        ("go", "go build ./... && go run .", "from go"),
        ("make", "make -s", "from make"),
        ("npm", "npm run -s hello", "from npm"),
        (
            "python3",
            "python3 -m compileall -q p.py && python3 p.py",
            "from python",
        ),
        ("cc", "cc -o c c.c && ./c", "from c"),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|row| is_there(row.0)).collect();
    let commands: Vec<&str> = rows.iter().map(|row| row.1).collect();
    let Some(account) = ostler_host::account_home() else {
        return skipped("this account has no home");
    };
    let set_up = |scene: &Scene| {
        let put = |name: &str, text: &str| {
            scene.space.write(name, text);
        };
        put("go.mod", "module example.com/x\n\ngo 1.20\n");
        put(
            "main.go",
            "package main\n\nfunc main() { println(\"from go\") }\n",
        );
        put(
            "Cargo.toml",
            "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        );
        put("src/lib.rs", "#[test]\nfn t() {}\n");
        put("Makefile", "all:\n\t@echo from make\n");
        put(
            "package.json",
            "{\"name\":\"x\",\"version\":\"1.0.0\",\"scripts\":{\"hello\":\"echo from npm\"}}",
        );
        put("p.py", "print('from python')\n");
        put(
            "c.c",
            "#include <stdio.h>\nint main(void) { puts(\"from c\"); }\n",
        );
        // Who they are stands in a file that theirs includes.
        let home = scene.space.user_home();
        scene.space.write(
            home.join(".gitconfig"),
            "[include]\n\tpath = dotfiles/who\n",
        );
        scene.space.write(
            home.join("dotfiles/who"),
            "[user]\n\tname = Person\n\temail = person@example.com\n",
        );
    };
    for layer in layers() {
        let with = |run: Run| {
            let cargo = std::env::var_os("CARGO_HOME").unwrap_or(account.join(".cargo").into());
            let rustup = std::env::var_os("RUSTUP_HOME").unwrap_or(account.join(".rustup").into());
            run.env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("CARGO_HOME", cargo)
                .env("RUSTUP_HOME", rustup)
        };
        let (_, told, _) = unattended(layer, &[], set_up, with, &commands);
        for ((_, command, expect), told) in rows.iter().zip(&told) {
            let counts = *expect == "passed" && told.trim().parse::<u32>().is_ok_and(|n| n > 0);
            assert!(
                counts || told.contains(expect),
                "{layer}: {command}: {told}"
            );
        }
    }
}

/// Each deletes some of the history by words that are not those of a delete below `.git`.
const DELETES: [&str; 9] = [
    "cd -P .git && rm -rf objects refs logs HEAD packed-refs",
    "env -C .git rm -rf objects",
    "rm -rf \"$(git rev-parse --git-dir)\"/refs",
    "echo 'find .git/objects -type f -delete' | sh",
    "python3 -c \"import shutil; shutil.rmtree('.git/logs'); shutil.rmtree('.git/refs')\"",
    "x=.g; mv ${x}it/refs/heads/side gone",
    "perl -e 'unlink glob(\".git/HEAD .git/packed-refs\")'",
    "cp -r . /tmp/copy && cd /tmp && python3 -c \"import os; os.remove(os.environ['OLDPWD'] + '/.git/refs/heads/main')\"",
    "sh -c \"$(echo cm0gLXJmIC5naXQvb2JqZWN0cwo= | base64 -d)\"",
];

/// What git itself removes stays removed.
const BY_GIT: &str = "git branch -q other && git branch -q -D other && git tag t && git tag -d t && git pack-refs --all && git gc -q && git stash -q -u 2>&1; git stash drop -q; git branch --list side";

#[test]
fn deletes_below_git_are_taken_back() {
    for layer in layers() {
        let set_up = |scene: &Scene| {
            scene.space.git(["branch", "side"]);
            scene.space.write("more", "more");
            scene.space.git(["add", "-A"]);
            scene.space.git(["commit", "-q", "-m", "second"]);
        };
        for command in DELETES {
            let (scene, told, _) = unattended(layer, &[], set_up, |run| run, &[command]);
            let about = format!("{layer}: {command}: {}", told[0]);
            let git = |args: &[&str]| {
                let out = std::process::Command::new("git")
                    .args(args)
                    .current_dir(scene.space.root())
                    .output()
                    .expect("git runs");
                let text = String::from_utf8_lossy(&out.stdout).into_owned();
                assert!(out.status.success(), "{about}: {args:?}: {out:?}");
                text
            };
            assert_eq!(
                git(&["log", "--oneline", "main"]).lines().count(),
                2,
                "{about}"
            );
            assert_eq!(
                git(&["log", "--oneline", "side"]).lines().count(),
                1,
                "{about}"
            );
            git(&["fsck", "--full"]);
            let refused = told[0].contains("(blocked)");
            assert!(refused || told[0].contains("was put back"), "{about}");
        }
        let (_, told, _) = unattended(layer, &[], set_up, |run| run, &[BY_GIT]);
        assert!(!told[0].contains("put back"), "{layer}: {}", told[0]);
        assert!(told[0].contains("side"), "{layer}: {}", told[0]);
    }
}
