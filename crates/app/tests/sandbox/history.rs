//! Deletes of git history bit by bit, by a job that nobody approved, while other commands begin and checkpoints are taken.

use super::traces::{config, layers};
use crate::common::{Scene, wait_for};
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::path::Path;

fn git(folder: &Path, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(args)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// Deletes each of the files in `doomed` when the file of its number is there, and says so; ends with the file `over`.
const JOB: &str = "n=0; for f in $(cat doomed); do n=$((n+1)); while ! test -e go$n; do sleep 0.02; done; rm -f $f; : > done$n; done; while ! test -e over; do sleep 0.02; done";

#[test]
fn what_a_job_takes_bit_by_bit_comes_back() {
    for layer in layers() {
        for in_worktree in [false, true] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            scene.space.write("README", "hello");
            scene.space.git_init();
            let main = scene.space.root().to_owned();
            git(&main, &["commit", "-q", "--allow-empty", "-m", "second"]);
            git(&main, &["branch", "side"]);
            let work = match in_worktree {
                true => scene.space.user_home().join("tree"),
                false => main.clone(),
            };
            if in_worktree {
                let path = work.display().to_string();
                git(&main, &["worktree", "add", "-q", &path]);
            }
            std::fs::write(main.join(".git/info/exclude"), "go*\ndone*\nover\ndoomed\n").unwrap();
            let object = |what: &str| {
                let id = git(&main, &["rev-parse", what]);
                format!(".git/objects/{}/{}", &id[..2], &id[2..])
            };
            let doomed = [
                ".git/refs/heads/side".to_owned(),
                object("main~1^{tree}"),
                object("main~1"),
            ]
            .map(|path| main.join(path));
            let listed = doomed.clone().map(|path| path.display().to_string());
            std::fs::write(work.join("doomed"), listed.join("\n")).unwrap();

            let exec = scene.ostler(["exec", "--permission-mode", "auto"]);
            let exec = exec.args(["--input-format", "stream-json", "--format", "json"]);
            let mut running = exec.cwd(&work).open_stdin().spawn();
            let prompt = |command: &str, wait: bool| {
                let call = json!({"command": command, "wait": wait});
                scene.server.push(Step::answer().call("bash", call));
                scene.server.push(Step::answer().text("ok"));
                json!({"op": "prompt", "text": "go"}).to_string() + "\n"
            };
            let delete = |number: usize| {
                std::fs::write(work.join(format!("go{number}")), "").unwrap();
                let done = work.join(format!("done{number}"));
                wait_for("the job", || done.exists().then_some(()));
            };
            running.write(&prompt(JOB, false));
            running.wait_stdout("turn_end");
            delete(1);
            // A command of the next turn, which begins with a checkpoint, and whose words move a branch.
            running.write(&prompt(
                "git commit -q --allow-empty -m third; echo third",
                true,
            ));
            wait_for("the branch", || doomed[0].exists().then_some(()));
            delete(2);
            running.write(&prompt("git branch more; : > file", true));
            wait_for("the tree", || doomed[1].exists().then_some(()));
            delete(3);
            // The end of the job, while nothing else of ours runs.
            std::fs::write(work.join("over"), "").unwrap();
            wait_for("the commit", || doomed[2].exists().then_some(()));
            let out = running.wait();
            let case = format!("{layer} {in_worktree}: {}", out.stdout);
            git(&work, &["fsck", "--full", "--strict"]);
            assert_eq!(git(&main, &["rev-list", "--count", "side"]), "2", "{case}");
            for path in ["refs/heads/side", "objects"] {
                let told = format!("{path} was put back");
                assert!(out.stdout.contains(&told), "{case}");
            }
        }
    }
}
