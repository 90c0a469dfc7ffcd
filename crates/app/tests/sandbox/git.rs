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
        "git remote add web https://example.com/x && git remote -v",
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
        let set_up = |scene: &Scene| {
            project(scene);
            git(scene.space.root(), &["remote", "add", "up", "./remote.git"]);
        };
        let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
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
            "url = https://example.com/x",
            "[branch \"other\"]",
            "name = Me",
            "rebase = true",
        ] {
            assert!(text.contains(line), "{layer}: {line} in {text} {told:#?}");
        }
        // A remote stays under its name, so that no other can take that.
        assert!(told[6].starts_with("down"), "{layer}: {told:#?}");
        assert!(told[6].contains("remote.up.url"), "{layer}: {told:#?}");
        assert!(text.contains("[remote \"up\"]"), "{layer}: {text}");
        assert!(!scene.space.exists(".git/config.lock"));
    }
}

/// Where the person's next push goes, how much their git deletes and whether it signs is not for a command to decide.
#[test]
fn a_push_goes_where_it_went() {
    let commands = [
        "git remote set-url origin https://evil.example/x",
        "git remote set-url --add --push origin https://evil.example/x",
        "git remote set-url origin http://example.com/x",
        "git remote rename origin old; git remote add origin https://evil.example/x",
        "git remote add up https://up.example/x",
        "git config branch.main.remote up; git config branch.main.pushRemote up",
        "git config remote.pushDefault up",
        "git config gc.auto 1; git config commit.gpgsign false",
        "git config extensions.worktreeConfig true; printf '[remote \"origin\"]\\n\\turl = https://evil.example/x\\n' > .git/config.worktree",
    ];
    for layer in layers() {
        let set_up = |scene: &Scene| {
            project(scene);
            let root = scene.space.root();
            git(root, &["remote", "add", "origin", "https://example.com/x"]);
            git(root, &["config", "branch.main.remote", "origin"]);
            git(root, &["config", "branch.main.merge", "refs/heads/main"]);
        };
        let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
        let read = |args: &[&str]| {
            let git = std::process::Command::new("git")
                .args(args)
                .current_dir(scene.space.root())
                .output()
                .unwrap();
            String::from_utf8(git.stdout).unwrap()
        };
        let push = read(&["remote", "get-url", "--push", "--all", "origin"]);
        assert_eq!(push, "https://example.com/x\n", "{layer}: {told:#?}");
        assert_eq!(
            read(&["config", "branch.main.remote"]),
            "origin\n",
            "{layer}"
        );
        let text = scene.space.read(".git/config");
        assert!(text.contains("https://up.example/x"), "{layer}: {text}");
        for word in ["evil", "pushDefault", "pushRemote", "gpgsign", "auto = 1"] {
            assert!(!text.contains(word), "{layer}: {word} in {text}");
        }
        for (command, told) in commands.iter().zip(&told) {
            let is_refused = told.contains("not taken over") || told.contains("was put back");
            let is_good = command.contains("add up");
            assert_eq!(is_refused, !is_good, "{layer} {command}: {told}");
        }
    }
}

/// A git folder that is added is the git folder of a project.
#[test]
fn an_added_git_folder_is_protected() {
    for layer in layers() {
        let other = tempfile::tempdir().unwrap();
        let top = other.path().canonicalize().unwrap();
        git(&top, &["init", "-q", "."]);
        let folder = top.join(".git");
        let shown = folder.display().to_string();
        let command = format!(
            "cd {shown}; printf '[core]\\n\\tfsmonitor = evil\\n' >> config; mkdir -p hooks; echo evil > hooks/pre-commit; ln -s /etc/passwd COMMIT_EDITMSG; true"
        );
        let args = ["--add-dir", &shown];
        let Ran { told, .. } = run(&config(layer), &args, project, &[&command]);
        let text = std::fs::read_to_string(folder.join("config")).unwrap();
        assert!(!text.contains("evil"), "{layer}: {text} {told:#?}");
        assert!(
            !folder.join("hooks/pre-commit").exists(),
            "{layer}: {told:#?}"
        );
        assert!(
            !folder.join("COMMIT_EDITMSG").is_symlink(),
            "{layer}: {told:#?}"
        );
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

/// A `git push` of the person's goes to another machine, or where they said themselves: at a path of this one, hooks run
/// that a command can put there.
#[test]
fn addresses_do_not_lead_to_hooks_of_a_command() {
    let commands = [
        "C=$(dirname $GOCACHE); git init -q --bare $C/e.git && printf '#!/bin/sh\\ntouch ../escaped\\n' > $C/e.git/hooks/pre-receive && chmod +x $C/e.git/hooks/pre-receive; ln -s $C/e.git there; git remote set-url origin $C/e.git; git remote set-url --push origin $C/e.git; git remote add local file://$C/e.git",
        "git config branch.main.remote ./there; git config branch.main.pushRemote there; git config remote.pushDefault there; git config submodule.x.url $PWD/there",
        "git config --remove-section remote.there; git config remote.there.fetch '+refs/*:refs/heads/*'; git config --unset remote.origin.url; git config user.name Me",
    ];
    for layer in layers() {
        let set_up = |scene: &Scene| {
            project(scene);
            let root = scene.space.root();
            git(root, &["remote", "add", "origin", "./remote.git"]);
            git(root, &["push", "-q", "-u", "origin", "HEAD"]);
        };
        let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
        let text = scene.space.read(".git/config");
        assert!(!text.contains("there"), "{layer}: {text} {told:#?}");
        assert!(
            !text.contains("e.git\n[") || !text.contains("cache"),
            "{layer}: {text}"
        );
        assert!(told[0].contains("remote.origin.url"), "{layer}: {told:#?}");
        assert!(
            told[0].contains("a terminal of their own"),
            "{layer}: {told:#?}"
        );
        let root = scene.space.root();
        git(root, &["commit", "-q", "--allow-empty", "-m", "pushed"]);
        git(root, &["push", "-q"]);
        assert!(!scene.space.exists("../escaped"), "{layer}: {text}");
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

/// What a command left running has no name for the settings, before they were judged or afterwards.
#[test]
fn left_over_processes_do_not_write_settings() {
    let later = "until test -e go; do sleep 0.01; done; printf '[core]\\n\\tpager = evil\\n' >> .git/config; rm -f .git/config; printf '[core]\\n\\tpager = evil\\n' > .git/config; touch done";
    // Opens the lock as soon as it is there, or gives it another name, and writes when it is gone.
    let race = "import os,time\nopen('ready','w')\nend=time.time()+20\nfd=None\nwhile fd is None and time.time()<end and not os.path.exists('go'):\n  try: fd=os.open('.git/config.lock',os.O_RDWR)\n  except OSError: pass\ntry: os.link('.git/config.lock','.git/held')\nexcept OSError: pass\nwhile os.path.exists('.git/config.lock') and time.time()<end: pass\nfor f in [fd,'.git/held']:\n  try: open(f,'ab').write(b'[core]\\n\\tpager = evil\\n')\n  except (OSError,TypeError): pass\nopen('raced','w')\n";
    let commands = [
        "setsid sh later > /dev/null 2>&1 & git config user.name Me",
        "setsid python3 race > /dev/null 2>&1 & until test -e ready; do sleep 0.01; done; git config user.email a@b",
        "touch go; until test -e done -a -e raced; do sleep 0.01; done; git config user.signingkey x; git config init.defaultBranch x",
    ];
    for layer in layers() {
        for is_linked in [false, true] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            project(&scene);
            let root = scene.space.root().to_owned();
            let mut folder = root.clone();
            let (mut later, mut race) = (later.to_owned(), race.to_owned());
            if is_linked {
                folder = scene.space.user_home().join("tree");
                let path = folder.display().to_string();
                git(&root, &["worktree", "add", "-q", &path]);
                let dot = root.join(".git").display().to_string();
                later = later.replace(".git", &dot);
                race = race.replace(".git", &dot);
            }
            std::fs::write(folder.join("later"), later).expect("a file");
            std::fs::write(folder.join("race"), race).expect("a file");
            for command in &commands {
                scene
                    .server
                    .push(Step::answer().call("bash", json!({"command": command})));
            }
            scene.server.push(Step::answer().text("ok"));
            let run = scene.ostler(["exec", "--yolo", "-p", "go"]);
            run.cwd(&folder).output().ok();
            let told = scene.server.request(commands.len()).tool_results();
            let text = scene.space.read(".git/config");
            assert!(!text.contains("evil"), "{layer}: {text} {told:#?}");
            // Without mounts a process removes settings that run nothing, as any command may.
            let stays = layer == "landlock" || text.contains("name = Me");
            assert!(stays, "{layer}: {text} {told:#?}");
        }
    }
}

/// A command that makes what Ostler will make next does not keep the next command from running.
#[test]
fn folders_of_copies_cannot_be_made_before() {
    for layer in layers() {
        let commands = [
            "for i in $(seq 0 200); do mkdir -p /tmp/.git-settings-$i; done",
            "git config user.name Me && echo fine",
        ];
        let Ran { scene, told, .. } = run(&config(layer), &[], project, &commands);
        assert_eq!(told[1].trim(), "fine", "{layer}: {told:#?}");
        assert!(scene.space.read(".git/config").contains("name = Me"));
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
        assert!(told[0].contains("was cleaned"), "{layer}: {}", told[0]);
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
                "mkdir -p {d}/rebase-merge {d}/sequencer; echo 'exec evil' > {d}/rebase-merge/git-rebase-todo; echo 'exec evil' > {d}/sequencer/todo"
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

/// A link above protected names leads nowhere afterwards, whatever lies behind it, and the result names it.
#[test]
fn links_above_protected_names_are_taken_out() {
    let commands = [
        "mkdir -p ev/hooks ev/commands; for f in tasks.json settings.json agents; do echo evil > ev/$f; done; rm -rf .vscode .claude; ln -s ev .vscode; ln -s ev .claude; mkdir -p plan; echo 'exec evil' > plan/git-rebase-todo; ln -s ../plan .git/rebase-merge",
        "true",
    ];
    for layer in layers() {
        for has_folder in [true, false] {
            let set_up = |scene: &Scene| {
                project(scene);
                if has_folder {
                    scene.space.write(".vscode/notes.json", "mine");
                }
            };
            let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &commands);
            for name in [".vscode", ".claude", ".git/rebase-merge"] {
                let path = scene.space.root().join(name);
                assert!(!path.is_symlink(), "{layer} {name}: {told:#?}");
                let said = format!("{} was put back", path.display());
                assert!(told[0].contains(&said), "{layer} {name}: {told:#?}");
            }
            assert!(!scene.space.exists(".vscode/tasks.json"), "{layer}");
        }
    }
}

/// Every folder that commands may write in is protected as the project is.
#[test]
fn added_folders_are_protected_as_the_project_is() {
    let attack = |at: &str| {
        format!(
            "cd {at} && printf '[core]\\n\\tpager = evil\\n' >> .git/config; git config user.name Me; mkdir -p .vscode .claude n/.git/objects n/.git/refs .git/hooks .git/rebase-merge; echo evil > .vscode/tasks.json; echo evil > .claude/settings.json; echo evil > ostler.toml; echo evil > .mcp.json; echo evil > .git/hooks/post-checkout; echo 'exec evil' > .git/rebase-merge/git-rebase-todo; echo x > n/.git/HEAD; printf '[core]\\n\\tpager = evil\\n' > n/.git/config; echo fine > work; git init -q --bare b; printf '[core]\\n\\tpager = evil\\n' >> b/config; true"
        )
    };
    for layer in layers() {
        for way in ["flag", "allow_write", "workspace_root"] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            project(&scene);
            let top = scene.space.user_home().join("added");
            std::fs::create_dir_all(top.join("sub")).expect("a folder");
            git(&top, &["init", "-q", "-b", "main"]);
            let at = top.display().to_string();
            let setting = match way {
                "flag" => String::new(),
                "allow_write" => format!("OSTLER_SANDBOX__ALLOW_WRITE=['{at}']"),
                _ => format!("OSTLER_SANDBOX__WORKSPACE_ROOT={at}"),
            };
            for command in [&attack(&at), "true"] {
                scene
                    .server
                    .push(Step::answer().call("bash", json!({"command": command})));
            }
            scene.server.push(Step::answer().text("ok"));
            let mut run = match way {
                "flag" => scene.ostler(["exec", "--yolo", "--add-dir", &at, "-p", "go"]),
                _ => scene.ostler(["exec", "--yolo", "-p", "go"]),
            };
            if let Some((name, value)) = setting.split_once('=') {
                run = run.env(name, value);
            }
            if way == "workspace_root" {
                run = run.cwd(top.join("sub"));
            }
            run.output().ok();
            let told = scene.server.request(2).tool_results();
            assert!(top.join("work").exists(), "{layer} {way}: {told:#?}");
            let out = std::process::Command::new("grep")
                .args(["-rl", "evil", &at])
                .output()
                .expect("grep runs");
            let left = String::from_utf8_lossy(&out.stdout).into_owned();
            assert_eq!(left, "", "{layer} {way}: {told:#?}");
            let text = std::fs::read_to_string(top.join(".git/config")).expect("settings");
            assert!(
                text.contains("name = Me"),
                "{layer} {way}: {text} {told:#?}"
            );
        }
    }
}

/// A program that writes an index as git would not: entries at places where the person's next `git checkout .` is not to
/// write.
const INDEX: &str = r#"
import hashlib, struct, subprocess, sys
def blob(text):
    return subprocess.run(['git', 'hash-object', '-w', '--stdin'], input=text, capture_output=True).stdout.decode().strip()
hook = blob(b'#!/bin/sh\ntouch ../ran\n')
kept = subprocess.run(['git', 'rev-parse', 'HEAD:README'], capture_output=True, text=True).stdout.strip()
entries = [('../outside', 0o100644, hook), ('.git/hooks/post-checkout', 0o100755, hook), ('README', 0o100644, kept)]
data = b'DIRC' + struct.pack('>II', 2, len(entries))
for name, mode, object in sorted(entries):
    entry = struct.pack('>10I', 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(object)
    entry += struct.pack('>H', len(name)) + name.encode()
    data += entry + bytes(8 - len(entry) % 8)
data += hashlib.sha1(data).digest()
open(sys.argv[1], 'wb').write(data)
"#;

/// The person's own git runs nothing and writes nowhere else because of what a command left in the git folder, in a project
/// and in a linked worktree.
#[test]
fn what_is_left_in_the_git_folder_leads_nowhere() {
    for layer in layers() {
        for in_worktree in [false, true] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            project(&scene);
            let root = scene.space.root().to_owned();
            let home = scene.space.user_home().to_owned();
            let (work, dot) = match in_worktree {
                true => (home.join("tree"), root.join(".git/worktrees/tree")),
                false => (root.clone(), root.join(".git")),
            };
            if in_worktree {
                let path = work.display().to_string();
                git(&root, &["worktree", "add", "-q", &path]);
            }
            let victim = home.join("victim");
            std::fs::write(&victim, "theirs\n").unwrap();
            std::fs::write(work.join("index.py"), INDEX).unwrap();
            let (dot, to) = (dot.display(), victim.display());
            let commands = [
                format!("python3 index.py {dot}/index"),
                format!(
                    "echo evil > {dot}/MERGE_MSG; for f in COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD logs/HEAD; do ln -sfn {to} {dot}/$f; done"
                ),
                format!(
                    "id=$(printf 0123456789%.0s 1 2 3 4); mkdir -p {dot}/rr-cache/$id; printf \"$id\\t{to}\\0\" > {dot}/MERGE_RR"
                ),
            ];
            for command in &commands {
                let call = json!({"command": command});
                scene.server.push(Step::answer().call("bash", call));
            }
            scene.server.push(Step::answer().text("ok"));
            let exec = scene.ostler(["exec", "--yolo", "-p", "go"]);
            exec.cwd(&work).output().ok();
            let told = scene.server.request(commands.len()).tool_results();
            let told: Vec<String> = told.into_iter().map(|(_, text, _)| text).collect();
            let case = format!("{layer} {in_worktree}: {told:#?}");
            assert!(told[0].contains("the entry ../outside"), "{case}");
            assert!(told[1].contains("a link to"), "{case}");
            assert!(told[2].contains("MERGE_RR"), "{case}");
            git(&work, &["checkout", "."]);
            git(
                &work,
                &[
                    "-c",
                    "core.editor=true",
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-m",
                    "mine",
                ],
            );
            git(&work, &["fetch", "-q", "."]);
            let above = work.parent().unwrap();
            assert!(!above.join("outside").exists(), "{case}");
            assert!(!above.join("ran").exists(), "{case}");
            assert!(!root.join(".git/hooks/post-checkout").exists(), "{case}");
            assert_eq!(
                std::fs::read_to_string(&victim).unwrap(),
                "theirs\n",
                "{case}"
            );
        }
    }
}

/// A file of the project that the settings of git include is as protected as those: commands and file tools leave it alone.
#[test]
fn included_settings_of_the_project_stay() {
    let evil = "[core]\n\tfsmonitor = evil\n";
    let command = "python3 write.py; true";
    let script = format!(
        "for name in ['config', '/../shared/new']:\n  try: open('.git' + name, 'w').write({evil:?})\n  except OSError as error: print(error)\n"
    );
    for layer in layers() {
        let scene = Scene::with_config(Kind::Chat, &config(layer), []);
        project(&scene);
        scene
            .space
            .write(".gitconfig", "[include]\n\tpath = shared/new\n");
        scene.space.write("shared/other", "");
        scene.space.write("write.py", &script);
        let root = scene.space.root().to_owned();
        git(&root, &["config", "include.path", "../.gitconfig"]);
        let write = json!({"path": ".gitconfig", "content": evil});
        let calls = [("bash", json!({"command": command})), ("write_file", write)];
        for (tool, call) in &calls {
            scene.server.push(Step::answer().call(tool, call.clone()));
        }
        scene.server.push(Step::answer().text("ok"));
        scene.ostler(["exec", "-p", "go"]).output().ok();
        let told = scene.server.request(calls.len()).tool_results();
        let left = scene.space.read(".gitconfig");
        assert_eq!(
            left, "[include]\n\tpath = shared/new\n",
            "{layer}: {told:#?}"
        );
        assert!(!scene.space.exists("shared/new"), "{layer}: {told:#?}");
        let (bash, tool) = (&told[0].1, &told[1].1);
        assert!(bash.contains("shared/new"), "{layer}: {told:#?}");
        assert!(
            tool.contains("decides what runs later"),
            "{layer}: {told:#?}"
        );
    }
}

/// A file in the place of the git folder leads the person's git nowhere else.
#[test]
fn a_git_folder_is_not_exchanged_for_a_file() {
    for layer in layers() {
        let elsewhere = tempfile::tempdir().unwrap();
        let top = elsewhere.path().canonicalize().unwrap();
        git(&top, &["init", "-q", "."]);
        git(&top, &["config", "core.fsmonitor", "evil"]);
        let to = top.join(".git").display().to_string();
        let command = format!("mv .git old; echo 'gitdir: {to}' > .git; true");
        let Ran { scene, told, .. } = run(&config(layer), &[], project, &[&command]);
        let dot = scene.space.root().join(".git");
        assert!(dot.is_dir(), "{layer}: {told:#?}");
        let text = scene.space.read(".git/config");
        assert!(!text.contains("evil"), "{layer}: {text} {told:#?}");
        let is_told = told[0].contains("was put back");
        assert_eq!(is_told, layer == "landlock", "{layer}: {told:#?}");
        assert!(!told[0].contains("could not"), "{layer}: {told:#?}");
    }
}
