//! Rewind as people have it: Esc Esc on the terminal, slash commands on plain lines, one-shot runs, and kills in between.

#![cfg(unix)]

mod common;

use common::{Scene, of_type};
use ostler_testkit::{Kind, Signal, Step, Term};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const FREE: &str = "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n";
/// Longer than the terminal waits for what an Esc may begin.
const ESC_ALONE: Duration = Duration::from_millis(150);
const COMPOSER: &str = "› Ask, or /help";

fn bash(command: &str) -> Step {
    Step::answer().call("bash", json!({"command": command}))
}

fn done() -> Step {
    Step::answer().text("It is done.")
}

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::with_config(Kind::Chat, FREE, steps)
}

fn idle(term: &Term) {
    term.wait_until("an idle prompt", |screen| {
        screen.contains(COMPOSER) && !screen.contains("esc stops")
    });
}

#[test]
fn esc_twice_lists_what_can_be_taken_back() {
    let scene = scene([bash("printf 'one\\ntwo\\n' > a; rm b"), done(), done()]);
    scene.space.write("a", "one\n");
    scene.space.write("b", "bee\n");
    let run = scene.ostler([]).env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.timeout(Duration::from_secs(30)).on_terminal(80, 24);
    term.wait_for(COMPOSER);
    term.keys("change things\r");
    term.wait_for("It is done.");
    idle(&term);
    // What is written is not lost to a hasty key.
    term.keys("draft");
    term.wait_for("› draft");
    for _ in 0..2 {
        term.keys("\x1b");
        std::thread::sleep(ESC_ALONE);
    }
    assert!(!term.screen().contains("Rewind"), "{}", term.screen());
    term.keys("\x15");
    term.wait_for(COMPOSER);
    term.keys("\x1b");
    term.wait_for("press esc again to rewind");
    term.keys("\x1b");
    term.wait_for("Rewind to before");
    let screen = term.wait_for("1  change things");
    assert!(screen.contains("2 files +1 -1"), "{screen}");
    term.keys("\r");
    term.wait_for("files and conversation");
    term.keys("\r");
    let screen = term.wait_for("Rewound to before");
    assert!(!screen.contains("Rewind to before"), "{screen}");
    term.wait_for("› change things");
    assert_eq!(scene.space.read("a"), "one\n");
    assert_eq!(scene.space.read("b"), "bee\n");
    // The prompt is there to be changed and sent again.
    term.keys(" otherwise\r");
    term.wait_until("the answer", |_| scene.server.requests().len() == 3);
    idle(&term);
    let sent = scene.server.request(2);
    assert!(sent.last_user_text().contains("change things otherwise"));
    assert!(!sent.last_user_text().contains("printf"));
    term.keys("/rewind undo\r");
    term.wait_for("The rewind is undone");
    assert_eq!(scene.space.read("a"), "one\ntwo\n");
    assert!(!scene.space.exists("b"));
    term.keys("/diff\r");
    let screen = term.wait_for("+ two");
    assert!(screen.contains("- bee"), "{screen}");
    term.keys("\x04");
    assert!(term.wait().success());
}

#[test]
fn plain_lines_have_the_same_commands() {
    let scene = scene([bash("echo two > a"), done()]);
    scene.space.write("a", "one\n");
    let lines = [
        "first",
        "/rewind",
        "/rewind 1",
        "!rm a",
        "/diff 2",
        "/rewind 2 code",
        "/rewind 1 both",
        "/quit",
    ];
    let out = scene
        .ostler([])
        .stdin(lines.join("\n") + "\n")
        .output()
        .ok();
    for part in [
        "1  first",
        "1 file +1 -1",
        "/rewind 1 both",
        "-two",
        "Files are as they were before “!rm a”",
        "Rewound to before “first”",
    ] {
        assert!(
            out.stderr.contains(part) || out.stdout.contains(part),
            "{part}: {out:?}"
        );
    }
    // Without a composer the prompt is shown.
    assert!(
        out.stderr
            .trim_end()
            .lines()
            .rev()
            .take(3)
            .any(|l| l == "first"),
        "{}",
        out.stderr
    );
    assert_eq!(scene.space.read("a"), "one\n");
}

/// What the model has git ignore stays in the checkpoints of the session, with what the person writes there later; so it does
/// when the session is resumed.
#[test]
fn what_the_session_makes_git_ignore_can_be_taken_back_as_before() {
    let hide = "git rm -q --cached todo; printf 'todo\nnotes\n' >> .git/info/exclude; echo notes > .gitignore";
    // No word of it is a path.
    const TAKE: &str = "a=no; rm ${a}tes; echo x > $(echo to)do";
    let scene = scene([bash(hide), done(), bash(TAKE), done()]);
    for name in ["notes", "todo"] {
        scene.space.write(name, "mine\n");
    }
    scene.space.git_init();
    scene.ostler(["exec", "-p", "hide them"]).output().ok();
    for name in ["notes", "todo"] {
        scene.space.write(name, "written since\n");
    }
    let id = scene.session_id();
    let again = scene.ostler(["resume", &id, "-p", "take them"]);
    again.stdin("").output().ok();
    assert!(!scene.space.exists("notes"));
    let lines = "/rewind 2 code\n/quit\n";
    let run = scene.ostler(["resume", &id, "--plain"]);
    let out = run.stdin(lines).output().ok();
    for name in ["notes", "todo"] {
        assert!(scene.space.exists(name), "{out:?}");
        assert_eq!(scene.space.read(name), "written since\n", "{name}: {out:?}");
    }
}

/// Two runs are two sessions.
#[test]
fn what_an_earlier_session_makes_git_ignore_is_saved_by_the_next() {
    let hide = "git rm -q --cached todo; printf 'todo\n' >> .git/info/exclude";
    const TAKE: &str = "echo x > $(echo to)do";
    let scene = scene([bash(hide), done(), bash(TAKE), done()]);
    scene.space.write("todo", "mine\n");
    scene.space.git_init();
    scene.exec("hide it").ok();
    scene.space.write("todo", "written since\n");
    let lines = scene.stream("take it");
    assert_eq!(scene.space.read("todo"), "x\n");
    let saved = of_type(&lines, "checkpoint");
    let id = saved[0]["id"].to_string();
    scene.ostler(["checkpoint", "restore", &id]).output().ok();
    assert_eq!(scene.space.read("todo"), "written since\n");
}

#[test]
fn one_shot_runs_save_what_they_change() {
    let scene = scene([bash("ls"), done(), bash("rm a"), done()]);
    scene.space.write("a", "one\n");
    scene.exec("look").ok();
    assert!(
        !scene.space.home().join("checkpoints").exists(),
        "a read-only turn saves nothing"
    );
    let lines = scene.stream("remove");
    let saved = of_type(&lines, "checkpoint");
    let whens: Vec<&str> = saved.iter().filter_map(|s| s["when"].as_str()).collect();
    assert_eq!(whens, ["before", "after"]);
    let id = saved[0]["id"].to_string();
    scene.ostler(["checkpoint", "restore", &id]).output().ok();
    assert_eq!(scene.space.read("a"), "one\n");
    scene.server.push(bash("rm a"));
    scene.server.push(done());
    let text = config_off(&scene);
    scene
        .space
        .write(scene.space.home().join("config.toml"), text);
    assert!(of_type(&scene.stream("remove"), "checkpoint").is_empty());
}

/// A limit on the size of files is what a full disk is to the store.
#[test]
fn a_disk_that_takes_no_checkpoint_is_said_and_the_turn_goes_on() {
    let scene = scene([bash("echo two > a"), done()]);
    scene.space.write("a", "one\n");
    let noise: Vec<u8> = (0..1_500_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    scene.space.write("noise.bin", noise);
    let limited = format!(
        "trap '' XFSZ; ulimit -f 400; exec '{}' exec -p change",
        env!("CARGO_BIN_EXE_ostler")
    );
    let out = scene
        .space
        .run("/bin/sh")
        .args(["-c", &limited])
        .output()
        .ok();
    assert_eq!(scene.space.read("a"), "two\n");
    assert_eq!(
        out.stderr.matches("No checkpoint:").count(),
        1,
        "{}",
        out.stderr
    );
    assert!(out.stdout.contains("It is done."));
    // With room again there is one, and nothing of the failed one is left.
    scene.server.push(bash("echo three > a"));
    scene.server.push(done());
    let lines = scene.stream("change again");
    assert_eq!(of_type(&lines, "checkpoint").len(), 2);
    let id = of_type(&lines, "checkpoint")[0]["id"].to_string();
    scene.ostler(["checkpoint", "restore", &id]).output().ok();
    assert_eq!(scene.space.read("a"), "two\n");
}

fn config_off(scene: &Scene) -> String {
    let text = scene.space.read(scene.space.home().join("config.toml"));
    text + "[context]\ncheckpoints = false\n"
}

/// Every path with what it is.
fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(dir).expect("below").display().to_string();
            let meta = std::fs::symlink_metadata(&path).expect("there");
            if meta.is_dir() {
                out.insert(name, "dir".into());
                folders.push(path);
            } else {
                out.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    out
}

/// A run removes the repository with all it can; its commits come back, in the sandbox and without one.
#[test]
fn history_outlives_a_run_that_removes_everything() {
    for config in ["[sandbox]\nbash = \"off\"\n", ""] {
        let steps = [bash("rm -rf .git * .[!.]*; ls -A"), done()];
        let config = format!("[permissions]\nmode = \"allow\"\n{config}");
        let scene = Scene::with_config(Kind::Chat, &config, steps);
        let space = &scene.space;
        space.write("a", "1");
        space.git_init();
        space.write("a", "2");
        space.git(["commit", "-qam", "second"]);
        let log = space.git(["log", "--format=%H %s"]);
        scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
        assert!(!space.exists("a") && !space.exists(".git/HEAD"));
        let ids = scene
            .ostler(["checkpoint", "list", "--format", "json"])
            .output();
        let ids: serde_json::Value = serde_json::from_str(&ids.ok().stdout).unwrap();
        let id = ids[0]["id"].to_string();
        scene
            .ostler(["checkpoint", "restore", &id, "--git"])
            .output()
            .ok();
        assert_eq!(space.git(["log", "--format=%H %s"]), log);
        assert_eq!(space.git(["status", "--porcelain"]), "");
        space.git(["fsck", "--strict"]);
    }
}

#[test]
fn a_restore_that_was_killed_is_finished_by_the_next() {
    let scene = scene([]);
    let ostler = |args: [&str; 3]| scene.ostler(args).output().ok();
    for n in 0..300 {
        scene
            .space
            .write(format!("d{}/f{n}", n % 7), format!("old {n}\n"));
    }
    let old = tree(scene.space.root());
    ostler(["checkpoint", "take", "--ignored"]);
    for n in 0..300 {
        scene
            .space
            .write(format!("d{}/f{n}", n % 7), format!("new {n}\n").repeat(50));
        scene.space.write(format!("new/f{n}"), "new\n");
    }
    std::fs::remove_dir_all(scene.space.root().join("d3")).expect("gone");
    let new = tree(scene.space.root());
    ostler(["checkpoint", "take", "--ignored"]);
    let mut killed = 0;
    for round in 0..12u64 {
        let goal = if round % 2 == 0 {
            ("1", &old)
        } else {
            ("2", &new)
        };
        let running = scene.ostler(["checkpoint", "restore", goal.0]).spawn();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(round * 4) {
            std::thread::yield_now();
        }
        running.signal(Signal::Kill);
        killed += usize::from(running.wait().code.is_none());
        // Whatever it left: every file is one or the other, whole.
        for (path, text) in tree(scene.space.root()) {
            let is_temp = path
                .rsplit('/')
                .next()
                .is_some_and(|n| n.starts_with(".ostler-"));
            let whole = [&old, &new].iter().any(|t| t.get(&path) == Some(&text));
            assert!(whole || is_temp, "{path} is half written");
        }
        ostler(["checkpoint", "restore", goal.0]);
        assert_eq!(&tree(scene.space.root()), goal.1, "round {round}");
    }
    assert!(killed > 0, "nothing was killed in time");
}
