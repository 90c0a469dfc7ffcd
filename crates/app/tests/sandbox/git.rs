//! Git in the sandbox: what people do all day works, and what their own git would run afterwards stays as it was.

use super::traces::{config, layers};
use super::{Ran, run};
use crate::common::{Scene, wait_for};
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::path::Path;

fn git(folder: &Path, args: &[&str]) {
    let out = std::process::Command::new("git")
        .args(args)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(out.status.success(), "{args:?}: {out:?}");
}

/// A project with two commits and a repository to push to.
fn project(scene: &Scene) {
    scene.space.write("README", "hello");
    scene.space.git_init();
    let root = scene.space.root();
    git(root, &["commit", "-q", "--allow-empty", "-m", "more"]);
    git(root, &["init", "-q", "--bare", "remote.git"]);
    scene.space.write(".git/info/exclude", "remote.git\n");
}

/// What the repository's settings are after these commands, each of which must succeed.
#[test]
fn settings_change_as_people_and_their_tools_change_them() {
    let commands = [
        "git remote add up ./remote.git && git remote -v",
        "git push -q -u up HEAD:main",
        "git checkout -q -b topic --track up/main",
        "git branch -m other && git branch -q topic2 && git branch -D topic2",
        "git config user.nick x && git config --unset user.nick; git config user.name Me",
        "git commit -q --allow-empty -m three && git rebase -q HEAD~1 && git fetch -q up",
        "git remote rename up down && git config --get branch.other.remote",
        "git config --get remote.down.url",
        "git stash list && git status --short --branch && git pull -q",
        "git config pull.rebase true && git config --list --local | wc -l",
    ];
    for layer in layers() {
        let Ran { scene, told, .. } = run(&config(layer), &[], project, &commands);
        for (command, told) in commands.iter().zip(&told) {
            assert!(
                !told.contains("exit ") && !told.contains("busy"),
                "{layer} {command}: {told}"
            );
        }
        let text = scene.space.read(".git/config");
        for line in [
            "[remote \"down\"]",
            "url = ./remote.git",
            "[branch \"other\"]",
            "name = Me",
            "rebase = true",
        ] {
            assert!(text.contains(line), "{layer}: {line} in {text} {told:#?}");
        }
        assert_eq!(told[6].trim(), "down", "{layer}: {told:#?}");
        assert!(!scene.space.exists(".git/config.lock"));
    }
}

/// Everything by which git would run a program or look elsewhere is left out, whoever writes it and however.
#[test]
fn settings_that_run_something_are_not_taken_over() {
    let commands = [
        "git config core.fsmonitor evil; git config user.name Me; git config --get core.fsmonitor",
        "git config alias.st '!evil'; git config include.path ../evil; git config core.hooksPath evil",
        "printf '[core]\\n\\tpager = evil\\n' >> .git/config",
        "git config remote.o.url 'ext::evil'; git config remote.p.url https://fine/x",
        "printf '[diff \"evil\"]\\n\\ttextconv = evil\\n' > x && cat x >> .git/config",
        "python3 - <<'E'\nopen('.git/config','a').write('[filter \"x\"]\\nclean=evil\\n')\nE",
        "rm -f .git/config; mv .git/config evil; ln -sf /etc/passwd .git/config; true",
        "mv .git .git2; true",
    ];
    for layer in layers() {
        let Ran { scene, told, .. } = run(&config(layer), &[], project, &commands);
        let text = scene.space.read(".git/config");
        assert!(!text.contains("evil"), "{layer}: {text} {told:#?}");
        for line in ["bare = false", "name = Me", "url = https://fine/x"] {
            assert!(text.contains(line), "{layer}: {line} in {text} {told:#?}");
        }
        let is_link = scene.space.root().join(".git/config").is_symlink();
        assert!(!is_link, "{layer}: {told:#?}");
        assert!(told[0].contains("core.fsmonitor"), "{layer}: {}", told[0]);
        assert!(told[0].contains("not taken over"), "{layer}: {}", told[0]);
        assert!(told[3].contains("remote.o.url"), "{layer}: {}", told[3]);
    }
}

/// The person's own git, in another terminal while the command runs, never reads what the command wrote.
#[test]
fn nobody_reads_settings_before_they_were_judged() {
    for layer in layers().into_iter().filter(|layer| *layer == "namespaces") {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        project(&scene);
        let command = "git config core.fsmonitor evil && git config user.name Me && git config --get core.fsmonitor > up && while ! test -e go; do sleep 0.01; done";
        scene
            .server
            .push(Step::answer().call("bash", json!({"command": command})));
        scene.server.push(Step::answer().text("ok"));
        let before = scene.space.read(".git/config");
        let running = scene.ostler(["exec", "--yolo", "-p", "go"]).spawn();
        wait_for("the command", || {
            let up = std::fs::read_to_string(scene.space.root().join("up"));
            up.ok().filter(|text| text == "evil\n")
        });
        let meanwhile = scene.space.read(".git/config");
        // Theirs stays, beside what the command changed.
        git(scene.space.root(), &["config", "alias.mine", "status"]);
        scene.space.write("go", "");
        running.wait();
        assert_eq!(meanwhile, before, "{layer}");
        let after = scene.space.read(".git/config");
        assert!(
            after.contains("mine = status") && after.contains("name = Me"),
            "{after}"
        );
        assert!(!after.contains("evil"), "{after}");
    }
}

/// A rebase that was left in the middle: the person's `git rebase --continue` runs nothing that a command put into it.
#[test]
fn a_rebase_left_behind_runs_nothing() {
    let commands = [
        "GIT_SEQUENCE_EDITOR='printf \"break\\nexec evil\\n\" >' git rebase -i HEAD~1; cat .git/rebase-merge/git-rebase-todo",
        "git status",
        "mkdir -p .git/sequencer; echo 'exec evil' > .git/sequencer/todo",
    ];
    for layer in layers() {
        let Ran { scene, told, .. } = run(&config(layer), &[], project, &commands);
        let left = scene.space.read(".git/rebase-merge/git-rebase-todo");
        assert!(told[0].contains("exec evil"), "{layer}: {told:#?}");
        assert!(!left.contains("evil"), "{layer}: {left} {told:#?}");
        assert!(told[0].contains("not taken over"), "{layer}: {}", told[0]);
        let left = std::fs::read_to_string(scene.space.root().join(".git/sequencer/todo"));
        assert!(
            !left.unwrap_or_default().contains("evil"),
            "{layer}: {told:#?}"
        );
        git(scene.space.root(), &["rebase", "--continue"]);
    }
}

/// A session in a linked worktree: the repository that it belongs to is worked with, and keeps all by which git runs
/// something, there and in its other worktrees and submodules.
#[test]
fn the_repository_of_a_worktree_keeps_what_git_runs() {
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        project(&scene);
        let root = scene.space.root().to_owned();
        let dot = root.join(".git");
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n\trepositoryformatversion = 0\n"),
            ("objects/x", ""),
            ("refs/heads/x", ""),
        ] {
            scene.space.write(format!(".git/modules/lib/{name}"), text);
        }
        let top = scene.space.user_home().to_owned();
        for name in ["tree", "other"] {
            let path = top.join(name).display().to_string();
            git(&root, &["worktree", "add", "-q", &path]);
        }
        let before = |name: &str| std::fs::read_to_string(dot.join(name)).unwrap_or_default();
        let kept = [
            "worktrees/other/commondir",
            "worktrees/other/gitdir",
            "worktrees/tree/commondir",
            "worktrees/tree/gitdir",
        ];
        let was = kept.map(before);
        let d = dot.display().to_string();
        let attacks = [
            format!("printf '[core]\\n\\tsshCommand = evil\\n' >> {d}/modules/lib/config"),
            format!(
                "mkdir -p {d}/modules/lib/hooks {d}/hooks; for f in {d}/modules/lib/hooks {d}/hooks; do echo evil > $f/post-checkout; done"
            ),
            format!(
                "git config core.fsmonitor evil; printf '[core]\\n\\tpager = evil\\n' >> {d}/config"
            ),
            format!(
                "for w in tree other; do for f in commondir gitdir; do echo /evil > {d}/worktrees/$w/$f; done; printf '[core]\\n\\tfsmonitor = evil\\n' > {d}/worktrees/$w/config.worktree; done"
            ),
            format!(
                "mkdir -p {d}/worktrees/other/rebase-merge; echo 'exec evil' > {d}/worktrees/other/rebase-merge/git-rebase-todo"
            ),
            format!(
                "mkdir -p {d}/modules/new/objects {d}/modules/new/refs; echo x > {d}/modules/new/HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > {d}/modules/new/config"
            ),
        ];
        let work = "echo x > new && git add new && git commit -q -m new && git branch made && git tag t && git config branch.made.merge refs/heads/x && git fetch -q . HEAD:refs/heads/fetched && git log --oneline | wc -l";
        let mut all: Vec<&str> = attacks.iter().map(String::as_str).collect();
        all.push(work);
        for command in &all {
            scene
                .server
                .push(Step::answer().call("bash", json!({"command": command})));
        }
        scene.server.push(Step::answer().text("ok"));
        let run = scene.ostler(["exec", "--yolo", "-p", "go"]);
        run.cwd(top.join("tree")).output().ok();
        let told = scene.server.request(all.len()).tool_results();
        assert_eq!(kept.map(before), was, "{layer}: {told:#?}");
        let out = std::process::Command::new("grep")
            .args(["-rl", "evil", &d])
            .output()
            .expect("grep runs");
        let left = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(left, "", "{layer}: {told:#?}");
        let done = &told.last().expect("a result").1;
        assert_eq!(done.trim(), "3", "{layer}: {told:#?}");
        assert!(
            before("config").contains("[branch \"made\"]"),
            "{layer}: {told:#?}"
        );
    }
}
