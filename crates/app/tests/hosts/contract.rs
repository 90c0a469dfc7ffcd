//! One table of calls, run at every kind of place: what each tool must say there. A place that is not to be had here is
//! skipped, and counted and named.

use super::{container, helper, is_there, ssh, told};
use crate::common::{Scene, skipped};
use ostler_testkit::{Kind, Output, Step};
use serde_json::{Value, json};
use std::path::Path;

/// Kinds of places, and where commands run there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    /// By a program that runs others on the same files.
    Prefix,
    /// By one that shows other files.
    Container,
    Ssh,
    Tmux,
}

/// What the result of a call has in it.
enum Expect {
    Everywhere(&'static str),
    /// In a pane, and at all other places.
    Pane(&'static str, &'static str),
}

struct Case {
    name: &'static str,
    tool: &'static str,
    args: Value,
    expect: Expect,
}

const SECRET: &str = "word=of-the-env-file";
const RULES: &str = "\n[permissions]\ndeny = [\"Read(.env)\", \"Bash(shred:*)\"]\n";

fn case(name: &'static str, tool: &'static str, args: Value, expect: &'static str) -> Case {
    Case {
        name,
        tool,
        args,
        expect: Expect::Everywhere(expect),
    }
}

fn bash(name: &'static str, command: &str, expect: &'static str) -> Case {
    case(name, "bash", json!({ "command": command }), expect)
}

/// Calls that change files, in an order in which each finds what it needs.
fn files() -> Vec<Case> {
    vec![
        case(
            "a new file",
            "write_file",
            json!({"path": "a.txt", "content": "one\ntwo\nthree\n"}),
            r#""created":true"#,
        ),
        case(
            "folders are made",
            "write_file",
            json!({"path": "x/y/z.txt", "content": "needle\n"}),
            r#""created":true"#,
        ),
        case(
            "a whole file",
            "read_file",
            json!({"path": "a.txt"}),
            r"one\ntwo\nthree",
        ),
        case(
            "some lines",
            "read_file",
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "two",
        ),
        case(
            "no file",
            "read_file",
            json!({"path": "none"}),
            r#""not_found""#,
        ),
        case(
            "a folder is no file",
            "read_file",
            json!({"path": "x"}),
            r#""is_directory""#,
        ),
        case(
            "bytes are named",
            "read_file",
            json!({"path": "bytes.dat"}),
            "binary",
        ),
        case(
            "one place",
            "edit_file",
            json!({"path": "a.txt", "old": "two", "new": "TWO"}),
            r#""replacements":1"#,
        ),
        case(
            "no place",
            "edit_file",
            json!({"path": "a.txt", "old": "nowhere", "new": "x"}),
            r#""old_not_found""#,
        ),
        case(
            "too many places",
            "edit_file",
            json!({"path": "a.txt", "old": "e", "new": "E"}),
            r#""replacement_count_mismatch""#,
        ),
        case(
            "edits in a row",
            "multi_edit",
            json!({"path": "a.txt", "edits": [{"old": "one", "new": "1"}, {"old": "1", "new": "ONE"}]}),
            r#""ok":true"#,
        ),
        case(
            "all or nothing",
            "multi_edit",
            json!({"path": "a.txt", "edits": [{"old": "ONE", "new": "x"}, {"old": "nowhere", "new": "y"}]}),
            r#""old_not_found""#,
        ),
        case(
            "nothing was changed",
            "read_file",
            json!({"path": "a.txt"}),
            r"ONE\nTWO\nthree",
        ),
        case(
            "a file moves",
            "move_file",
            json!({"source_path": "a.txt", "destination_path": "b/c.txt"}),
            r#""overwrote":false"#,
        ),
        case(
            "not over another",
            "move_file",
            json!({"source_path": "b/c.txt", "destination_path": "x/y/z.txt"}),
            r#""ok":false"#,
        ),
        case(
            "a range goes",
            "delete_range",
            json!({"path": "b/c.txt", "start_anchor": "TWO", "end_anchor": "three"}),
            r#""ok":true"#,
        ),
        case(
            "a function goes",
            "delete_symbol",
            json!({"path": "a.rs", "symbol": "gone"}),
            r#""ok":true"#,
        ),
        case(
            "a cell",
            "notebook_edit",
            json!({"path": "n.ipynb", "cell": 0, "mode": "replace", "source": "print(2)"}),
            r#""ok":true"#,
        ),
        case("a folder's entries", "ls", json!({"path": "."}), "a.rs"),
        case(
            "names by pattern",
            "glob",
            json!({"pattern": "**/*.txt"}),
            "x/y/z.txt",
        ),
        case(
            "lines",
            "grep",
            json!({"pattern": "need.e"}),
            "x/y/z.txt:1:needle",
        ),
        case(
            "files with a line",
            "grep",
            json!({"pattern": "kept", "mode": "files"}),
            "a.rs",
        ),
        case(
            "a count",
            "grep",
            json!({"pattern": "needle", "mode": "count"}),
            "z.txt",
        ),
        case(
            "a bad pattern",
            "grep",
            json!({"pattern": "("}),
            r#""ok":false"#,
        ),
        case(
            "not outside",
            "write_file",
            json!({"path": "/usr/ostler-contract", "content": "x"}),
            r#""ok":false"#,
        ),
        case(
            "a deny rule",
            "read_file",
            json!({"path": ".env"}),
            r#""blocked""#,
        ),
        case(
            "not by a link",
            "read_file",
            json!({"path": "link"}),
            r#""ok":false"#,
        ),
    ]
}

fn commands() -> Vec<Case> {
    vec![
        bash("output", "echo out", r#""stdout":"out"#),
        bash("an exit code", "exit 3", r#""exit_code":3"#),
        bash("set -e", "set -e; false; echo no", r#""exit_code":1"#),
        bash("exec", "exec sh -c 'exit 7'", r#""exit_code":7"#),
        bash("a signal", "sh killed.sh", r#""exit_code":137"#),
        bash(
            "no program",
            "no-such-program-anywhere",
            r#""exit_code":127"#,
        ),
        Case {
            name: "two streams, or one terminal",
            tool: "bash",
            args: json!({"command": "echo err >&2"}),
            expect: Expect::Pane(r#""stdout":"err"#, r#""stderr":"err"#),
        },
        Case {
            name: "a terminal only in a pane",
            tool: "bash",
            args: json!({"command": "test -t 1 && echo yes || echo no"}),
            expect: Expect::Pane(r#""stdout":"yes"#, r#""stdout":"no"#),
        },
        bash("a pipe", "printf 'a\\nb\\n' | wc -l", "2"),
        bash(
            "every call begins anew",
            "cd /; X=1; true",
            r#""exit_code":0"#,
        ),
        bash("in the root", "ls a.rs; echo \"[$X]\"", r"a.rs\n[]"),
        case(
            "in a folder",
            "bash",
            json!({"command": "ls", "cwd": "x"}),
            r"y\n",
        ),
        case(
            "no folder",
            "bash",
            json!({"command": "ls", "cwd": "none"}),
            r#""not_found""#,
        ),
        bash("what files tools wrote is there", "cat x/y/z.txt", "needle"),
        bash(
            "much output is cut",
            "yes 0123456789 | head -n 20000",
            r#""truncated":true"#,
        ),
        bash(
            "the end of much output",
            "yes 0123456789 | head -n 20000; echo the end",
            "the end",
        ),
        bash(
            "quotes",
            r#"printf '%s' "it's \"so\" \$x""#,
            r#"it's \"so\" $x"#,
        ),
        bash("other letters", "printf 'ž 日本'", "ž 日本"),
        case(
            "a job",
            "bash",
            json!({"command": "sleep 0.3; echo late", "wait": "0.01s"}),
            r#""job":"j1""#,
        ),
        case(
            "its end",
            "bash_output",
            json!({"job": "j1", "wait": true}),
            "late",
        ),
        case(
            "a job at once",
            "bash",
            json!({"command": "sleep 1000", "wait": false}),
            r#""job":"j2""#,
        ),
        bash("commands go on beside it", "echo beside", "beside"),
        case(
            "it is killed",
            "kill_job",
            json!({"job": "j2"}),
            r#""state":"killed""#,
        ),
        case(
            "a terminal of its own",
            "bash",
            json!({"command": "read x; echo got:$x", "tty": true, "wait": false}),
            r#""job":"j3""#,
        ),
        case(
            "typed into",
            "bash_input",
            json!({"job": "j3", "text": "word\n"}),
            "word",
        ),
        case(
            "what it said",
            "bash_output",
            json!({"job": "j3", "wait": true}),
            r#""state":"exited""#,
        ),
        case(
            "no job",
            "bash_output",
            json!({"job": "j99"}),
            r#""not_found""#,
        ),
        bash("a deny rule for commands", "shred a.rs", r#""blocked""#),
        bash("and for what they read", "cat .env", r#""blocked""#),
        bash(
            "variables that are secret stay away",
            "echo [$CONTRACT_API_KEY]",
            "[]",
        ),
        bash(
            "what is written outside",
            "echo x > /usr/ostler-contract-$PPID 2>/dev/null; ls /usr/ostler-contract-$PPID 2>/dev/null; rm -f /usr/ostler-contract-$PPID 2>/dev/null; echo looked",
            "looked",
        ),
        bash(
            "hooks of git",
            "echo x > .git/hooks/pre-commit; true",
            r#""ok":true"#,
        ),
        case(
            "a list",
            "todo",
            json!({"items": [{"text": "one", "state": "done"}]}),
            r#""ok":true"#,
        ),
        case("the time", "time", json!({}), "utc"),
    ]
}

/// A project as the cases want it.
fn lay_out(project: &Path) {
    std::fs::create_dir_all(project.join(".git/hooks")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(project.join(name), bytes).unwrap();
    write(".env", SECRET.as_bytes());
    write("a.rs", b"fn kept() {}\n\nfn gone() {\n    kept();\n}\n");
    write("killed.sh", b"sh -c 'kill -9 $$'\nexit $?\n");
    write("bytes.dat", &[0, 159, 146, 150, 0, 1, 2]);
    write("n.ipynb", br#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": null, "source": ["print(1)"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    std::os::unix::fs::symlink(".env", project.join("link")).unwrap();
}

fn steps() -> Vec<Step> {
    let calls = files().into_iter().chain(commands());
    let mut steps: Vec<Step> = calls
        .map(|case| Step::answer().call(case.tool, case.args))
        .collect();
    steps.push(Step::answer().text("Done."));
    steps
}

/// Compares every result; all that differ are named.
fn check(place: Place, out: &Output) -> usize {
    let told = told(out);
    let cases: Vec<Case> = files().into_iter().chain(commands()).collect();
    assert_eq!(told.len(), cases.len(), "{place:?}: {}", out.stderr);
    let mut wrong = Vec::new();
    for (case, told) in cases.iter().zip(&told) {
        let expect = match (&case.expect, place) {
            (Expect::Everywhere(expect), _) | (Expect::Pane(expect, _), Place::Tmux) => expect,
            (Expect::Pane(_, expect), _) => expect,
        };
        if !told.contains(expect) || told.contains(SECRET) {
            wrong.push(format!("{}: {expect} in {told}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{place:?}:\n{}", wrong.join("\n"));
    cases.len()
}

const ARGS: [&str; 7] = [
    "--yolo",
    "--install-helper",
    "--format",
    "json",
    "--max-steps",
    "0",
    "-p",
];

/// A scene with the rules of the cases, and what else the configuration has.
fn scene(more: &str) -> Scene {
    Scene::with_config(Kind::Chat, &format!("{RULES}{more}"), steps())
}

fn here(place: Place, more: &[&str], sockets: Option<&Path>) -> usize {
    let scene = scene("");
    lay_out(scene.space.root());
    let mut run = scene.ostler(["exec"]).args(more).args(ARGS).arg("x");
    run = run.env("CONTRACT_API_KEY", "k").env("SHELL", "/bin/sh");
    if let Some(sockets) = sockets {
        run = run.env("TMUX_TMPDIR", sockets);
    }
    let out = run.output().ok();
    let hook = scene.space.exists(".git/hooks/pre-commit");
    assert_eq!(hook, place == Place::Tmux, "{place:?}");
    check(place, &out)
}

#[test]
fn on_this_machine() {
    assert!(here(Place::Here, &[], None) >= 60);
}

#[test]
fn in_a_pane() {
    if is_there("tmux") {
        let sockets = tempfile::tempdir_in("/tmp").unwrap();
        here(Place::Tmux, &["--tmux"], Some(sockets.path()));
    }
}

#[test]
fn by_a_program_that_runs_others() {
    if helper().is_none() {
        return;
    }
    let scene = scene("");
    let top = scene.space.user_home().join("near");
    let (home, project) = (top.join("home"), top.join("project"));
    std::fs::create_dir_all(&home).unwrap();
    lay_out(&project);
    let config = scene.space.home().join("config.toml");
    let text = format!(
        "{}\n[host.near]\nexec = [\"env\", \"-u\", \"XDG_CACHE_HOME\", \"HOME={}\"]\nroot = \"{}\"\n",
        scene.space.read(&config),
        home.display(),
        project.display()
    );
    scene.space.write(&config, text);
    let run = scene.ostler(["exec", "--host", "near"]).args(ARGS).arg("x");
    check(Place::Prefix, &run.output().ok());
}

#[test]
fn in_a_stand_in_for_a_container() {
    let Some(place) = container::container(steps()) else {
        return;
    };
    lay_out(&place.project);
    let config = place.scene.space.home().join("config.toml");
    let text = format!("{}{RULES}", place.scene.space.read(&config));
    place.scene.space.write(&config, text);
    let run = place.ostler(["exec", "--host", "box"]).args(ARGS).arg("x");
    check(Place::Container, &run.output().ok());
}

#[test]
fn over_ssh() {
    let scene = scene("");
    let top = scene.space.user_home().join("ssh");
    let Some(server) = ssh::server(&top) else {
        skipped("all cases over ssh");
        return;
    };
    let project = top.join("project");
    lay_out(&project);
    let known = server.key_line();
    let out = server.run(
        &scene,
        &known,
        &project,
        &["--yolo", "--install-helper", "--max-steps", "0"],
    );
    check(Place::Ssh, &out.ok());
}
