//! `sessions`: lists, documents, search, deletion and the quota.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::{Value, json};
use std::path::Path;

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn result(id: &str, data: Value) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "ok": true, "output": {"ok": true, "data": data}, "duration_ms": 3})
}

/// Makes a file older than any other.
fn age(path: &Path) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
}

fn two_sessions() -> TempWorkspace {
    let space = TempWorkspace::new();
    let bash = json!({"exit_code": 0, "stdout": "one\ntwo\n", "stderr": "", "timed_out": false});
    space.session(
        A,
        &[
            user("Fix the parser\nplease"),
            assistant("Looking."),
            usage(4000, 0),
            call("c1", "bash", json!({"command": "ls"})),
            result("c1", bash),
            assistant("Fixed the\u{1b}[31m parser."),
            usage(5000, 4000),
            user("thanks"),
            json!({"type": "error", "kind": "auth", "message": "the key was refused"}),
        ],
    );
    space.session(B, &[user("修复解析器的错误"), assistant("好的")]);
    space
}

#[test]
fn list_is_aligned() {
    let space = two_sessions();
    let out = space.ostler(["sessions", "list"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    ID               AGE  TURNS     COST  TITLE
    aaaaaaaa  2020-01-05      2  $2.0000  Fix the parser
    bbbbbbbb  2020-01-05      1        –  修复解析器的错误
    ");
    let out = space.ostler(["sessions", "list", "--all"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    ID        PROJECT                  AGE  TURNS     COST  TITLE
    aaaaaaaa  project-########  2020-01-05      2  $2.0000  Fix the parser
    bbbbbbbb  project-########  2020-01-05      1        –  修复解析器的错误
    ");
}

#[test]
fn list_as_json() {
    let space = two_sessions();
    let out = space
        .ostler(["sessions", "list", "--format", "json"])
        .output()
        .ok();
    let list: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(list[0]["id"], A);
    assert_eq!(list[0]["title"], "Fix the parser");
    assert_eq!(list[0]["turns"], 2);
    assert_eq!(list[0]["cost"], 2.0);
    assert_eq!(list[1]["cost"], Value::Null);
}

#[test]
fn empty_lists_say_so() {
    let space = TempWorkspace::new();
    for (args, expect) in [
        (
            ["sessions", "list", "--plain"],
            "No sessions of this project yet. `ostler sessions list --all` shows those of every project.\n",
        ),
        (
            ["sessions", "list", "--all"],
            "No sessions yet. Start one with `ostler`, or watch `ostler demo`.\n",
        ),
    ] {
        let out = space.ostler(args).output().ok();
        assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("", expect));
    }
    assert!(!space.home().exists(), "a list makes nothing");
}

#[test]
fn damaged_logs_are_listed_and_shown() {
    let space = TempWorkspace::new();
    let whole = log(A, &[user("Fix the parser"), assistant("Done.")]);
    let lines: Vec<&str> = whole.lines().collect();
    let path = space.session(A, &[]);
    let broken = format!(
        "{}\n{}\n{{\"type\":\"mess\u{0}\n{}\n{{\"type\":\"mes",
        lines[0], lines[1], lines[2]
    );
    space.write(&path, broken);
    age(&path);
    space.write(
        path.with_file_name(format!("{B}.jsonl")),
        [0xff, 0xfe, b'\n', 0, 0],
    );
    let out = space.ostler(["sessions", "list"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    ID               AGE  TURNS  COST  TITLE
    aaaaaaaa  2020-01-05      1     –  Fix the parser
    bbbbbbbb           –      0     –  (unreadable)
    ");
    let out = space.ostler(["sessions", "show", "aaaa"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Fix the parser
    aaaaaaaa-0000-4000-8000-000000000001 · 2020-01-05T10:00:00.000Z · /project · mock/m

    > Fix the parser

    Done.
    --- stderr
    1 unreadable line of this session log was left out, and the last entry was cut off.
    ");
    let out = space.ostler(["doctor", "--json"]).output();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    let damaged = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["topic"] == "sessions" && f["status"] == "note");
    assert_eq!(
        damaged.unwrap()["text"],
        "2 damaged logs: bbbbbbbb (1 bad line), aaaaaaaa (1 bad line, cut off)"
    );
}

#[test]
fn show_reads_like_a_conversation() {
    let space = two_sessions();
    let out = space.ostler(["sessions", "show", "aaaaaaaa"]).output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    Fix the parser
    aaaaaaaa-0000-4000-8000-000000000001 · 2020-01-05T10:00:00.000Z · /project · mock/m

    > Fix the parser
    > please

    Looking.

    * bash {"command":"ls"}
        one
        two

    Fixed the<ESC>[31m parser.

    > thanks

    [Error (auth): the key was refused]
    "#);
    let out = space
        .ostler(["sessions", "show", A, "--format", "json"])
        .output()
        .ok();
    let entries: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(entries.as_array().unwrap().len(), 10);
    assert_eq!(entries[6]["text"], "Fixed the\u{1b}[31m parser.");
}

#[test]
fn a_pipe_gets_the_bytes_a_terminal_sees_the_codes() {
    let space = two_sessions();
    let out = space.ostler(["sessions", "show", A]).output().ok();
    assert!(
        out.stdout.contains("Fixed the\u{1b}[31m parser."),
        "{out:?}"
    );
    #[cfg(target_os = "linux")]
    {
        let (text, code) = on_terminal(&space, ["sessions", "show", A], &[]);
        assert_eq!(code, Some(0));
        assert!(text.contains("Fixed the^[[31m parser."), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        // A document names them itself, wherever it goes.
        let (text, _) = on_terminal(&space, ["sessions", "export", A, "--format", "md"], &[]);
        assert!(text.contains("Fixed the\\u{1b}[31m parser."), "{text}");
    }
}

#[test]
fn search_finds_messages() {
    let space = two_sessions();
    let out = space
        .ostler(["sessions", "search", "PARSER", "fixed"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    aaaaaaaa  Fix the parser
           6  Fixed the [31m parser.
           1  Fix the parser please
    ");
    let out = space
        .ostler(["sessions", "search", "--format", "json", "解析器"])
        .output()
        .ok();
    let hits: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(hits[0]["session"], B);
    assert_eq!(
        (&hits[0]["role"], &hits[0]["text"]),
        (&json!("user"), &json!("修复解析器的错误"))
    );
    let out = space
        .ostler(["sessions", "search", "nowhere", "to", "be", "found"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    --- stderr
    No message contains all of: nowhere to be found
    ");
}

#[test]
fn export_writes_documents() {
    let space = two_sessions();
    for (format, expect) in [
        ("md", "## User\n\nthanks\n"),
        ("html", "<h1>Fix the parser</h1>"),
        ("json", "\"role\":\"user\""),
    ] {
        let args = ["sessions", "export", A, "--format", format];
        let stdout = space.ostler(args).output().ok().stdout;
        assert!(stdout.contains(expect), "{format}: {stdout}");
        let out = space.ostler(args).args(["-o", "out/doc"]).output().ok();
        assert_eq!(
            (out.stdout.as_str(), out.stderr.as_str()),
            ("", "Wrote out/doc\n")
        );
        assert_eq!(space.read("out/doc"), stdout);
    }
    let out = space
        .ostler(["sessions", "export", A, "-o", "out"])
        .output()
        .exits(1);
    assert!(
        out.stderr.starts_with("ostler: out cannot be written: "),
        "{out:?}"
    );
}

#[test]
fn unknown_sessions_are_named() {
    let space = two_sessions();
    space.session("aaaabbbb-0000-4000-8000-000000000003", &[user("other")]);
    for (id, expect) in [
        (
            "cccccccc",
            "There is no session cccccccc. `ostler sessions list` shows them.",
        ),
        ("aaaa", "2 sessions begin with aaaa; write more of the id."),
        (
            "a",
            "`a` is not a session id. `ostler sessions list` shows them; the first 8 characters are enough.",
        ),
        (
            "../../etc",
            "`../../etc` is not a session id. `ostler sessions list` shows them; the first 8 characters are enough.",
        ),
    ] {
        for command in ["show", "export", "delete", "resume"] {
            let out = space.ostler(["sessions", command, id]).output().exits(1);
            assert_eq!(
                (out.stdout.as_str(), out.stderr),
                ("", format!("ostler: {expect}\n")),
                "{command}"
            );
        }
    }
}

#[test]
fn delete_takes_the_log_and_what_lies_beside() {
    let space = two_sessions();
    let path = space.session(A, &[user("Fix the parser")]);
    let beside = path.with_extension("").join("artifact.txt");
    space.write(&beside, "kept output");
    let out = space.ostler(["sessions", "delete", "aaaaaaaa"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Deleted aaaaaaaa  Fix the parser
    ");
    assert!(!path.exists() && !beside.exists());
    assert_eq!(
        space
            .ostler(["sessions", "list", "--format", "json"])
            .output()
            .ok()
            .stdout
            .matches("\"id\"")
            .count(),
        1
    );
}

#[test]
fn an_open_session_is_not_deleted() {
    let space = two_sessions();
    let path = space.session(A, &[user("Fix the parser")]);
    let file = std::fs::File::open(&path).unwrap();
    file.lock().unwrap();
    let out = space.ostler(["sessions", "delete", A]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: Session aaaaaaaa is open in another process. Close it there first.
    ");
    assert!(path.exists());
}

#[test]
fn gc_keeps_the_newest() {
    let space = two_sessions();
    let old = space
        .home()
        .join(format!("sessions/other-12345678/{A}.jsonl").replace("aaaaaaaa", "dddddddd"));
    space.write(&old, vec![b'\n'; 3000]);
    age(&old);
    let out = space
        .ostler(["sessions", "gc", "--quota", "3KB", "--dry-run"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Would delete dddddddd  3.0 kB
    Would delete 1 session, 3.0 kB, to keep 3KB.
    ");
    assert!(old.exists());
    let out = space.ostler(["sessions", "gc", "--quota", "3KB"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Deleted dddddddd  3.0 kB
    Deleted 1 session, 3.0 kB, to keep 3KB.
    ");
    assert!(!old.exists());
    for (quota, expect) in [
        ("1GB", "exit 0\nNothing to delete: the quota is 1GB.\n"),
        (
            "0",
            "exit 0\n--- stderr\nThe quota is 0, which keeps everything.\n",
        ),
        (
            "much",
            "exit 2\n--- stderr\nostler: --quota much is not a size; write it like 500MB or 2GB\n",
        ),
    ] {
        let out = space.ostler(["sessions", "gc", "--quota", quota]).output();
        assert_eq!(space.shown(&out), expect);
    }
}

#[test]
fn gc_takes_the_quota_of_the_configuration() {
    let space = two_sessions();
    space.write(
        space.home().join("config.toml"),
        "[sessions]\nquota = \"700B\"\n",
    );
    let path = space.session(B, &[user("old")]);
    age(&path);
    let out = space.ostler(["sessions", "gc"]).output().ok();
    assert!(out.stdout.ends_with("to keep 700B.\n"), "{out:?}");
    assert!(!path.exists());
}

#[test]
fn a_broken_configuration_does_not_lock_sessions_away() {
    let space = two_sessions();
    space.write(space.home().join("config.toml"), "default_model = [\n");
    let out = space.ostler(["sessions", "list"]).output().ok();
    assert!(out.stdout.contains("Fix the parser"), "{out:?}");
    assert!(out.stderr.contains("config.toml:"), "{out:?}");
    let out = space.ostler(["sessions", "gc"]).output().exits(1);
    assert_eq!(out.stdout, "");
    space
        .ostler(["sessions", "resume", A, "-p", "go on"])
        .output()
        .exits(1);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let space = TempWorkspace::new();
    let long = "word ".repeat(50_000);
    space.session(
        A,
        &[user("Fix the parser"), assistant(&long), assistant(&long)],
    );
    for words in [
        "sessions show aaaaaaaa",
        "sessions export aaaaaaaa",
        "sessions list",
        "config schema",
        "man",
    ] {
        let script = format!(
            "{{ {} {words}; echo \"code $?\" >&2; }} | head -c 10",
            env!("CARGO_BIN_EXE_ostler")
        );
        let out = space.run("sh").args(["-c", &script]).output().ok();
        assert_eq!(out.stderr, "code 0\n", "{words}");
    }
}
