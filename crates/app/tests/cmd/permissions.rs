//! `permissions`: what is answered, listed, removed, suggested and told of a session.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::{Value, json};

const CONFIG: &str = "\
[permissions]
deny = [\"Read(.env)\", \"Bash(rm:*)\"] # never
ask = [\"Bash(git push:*)\"]
allow = [
  # the tests
  \"bash(go test*)\",
  \"Bash(rm -rf build)\",
  \"Frob(x)\",
]
";

fn configured() -> TempWorkspace {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), CONFIG);
    space.write(space.root().join(".env"), "KEY=1\n");
    space
}

#[test]
fn check_answers_without_running() {
    let space = configured();
    let answer = |tool: &str, args: &str| {
        let out = space
            .ostler(["permissions", "check", tool, args, "--format", "json"])
            .output()
            .ok();
        let value: Value = serde_json::from_str(&out.stdout).expect("JSON");
        let keys: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            keys,
            ["decision", "rule", "layer", "reason", "effects", "confined"]
        );
        let text = |key: &str| value[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("decision"), text("rule"), text("layer"))
    };
    for (tool, args, expect) in [
        ("bash", "touch made", "ask - -"),
        ("bash", r#"{"command": "ls"}"#, "allow - -"),
        ("bash", "go test ./...", "allow bash(go test*) user"),
        ("bash", "git push", "ask Bash(git push:*) user"),
        ("bash", "ls; cat .env", "deny Read(.env) user"),
        ("shell", "rm -rf build", "deny Bash(rm:*) user"),
        ("Read", r#"{"path": "a/../.env"}"#, "deny Read(.env) user"),
        (
            "mcp__files__get",
            r#"{"path": ".env"}"#,
            "deny Read(.env) user",
        ),
        ("write_file", r#"{"path": "a", "content": ""}"#, "ask - -"),
    ] {
        assert_eq!(answer(tool, args), expect, "{tool} {args}");
    }
    assert!(!space.root().join("made").exists());
    let out = space
        .ostler([
            "permissions",
            "check",
            "bash",
            "cargo test \u{1b}[2J > log",
            "--yolo",
        ])
        .output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    ask: no rule allows it
      effect  run cargo test ^[[2J
      effect  write log
      confined project
    "#);
}

/// A home below `/tmp` is the person's, although commands have another `/tmp`.
#[test]
fn check_knows_a_home_below_tmp() {
    let space = configured();
    let tmp = tempfile::tempdir_in("/tmp").expect("a folder");
    std::fs::create_dir(tmp.path().join(".ssh")).expect("a folder");
    for (tool, args, expect) in [
        ("read_file", r#"{"path": "~/.ssh/id"}"#, "deny"),
        ("read_file", r#"{"path": "~/.ssh"}"#, "deny"),
        ("bash", "cat ~/.ssh/id", "ask"),
        ("bash", "cat /tmp/other", "allow"),
    ] {
        let run = space.ostler(["permissions", "check", tool, args]);
        let out = run.env("HOME", tmp.path()).output().ok();
        let has_mounts = out.stdout.contains("read_only");
        let expect = match expect == "allow" && !has_mounts {
            true => "",
            false => expect,
        };
        assert!(out.stdout.starts_with(expect), "{args}: {}", out.stdout);
    }
}

#[test]
fn check_says_what_is_wrong_with_a_call() {
    let space = configured();
    for (tool, args, expect) in [
        (
            "bsh",
            "x",
            "ostler: there is no tool `bsh`; did you mean `bash`?\n",
        ),
        (
            "read_file",
            "[]",
            "ostler: the arguments are not a JSON object; write them like '{\"path\": \"src/main.rs\"}'\n",
        ),
        ("bash", "", "ostler: bash: The command is empty.\n"),
    ] {
        let out = space.ostler(["permissions", "check", tool, args]).output();
        assert_eq!((out.code, out.stderr.as_str()), (Some(2), expect), "{tool}");
    }
}

#[test]
fn list_shows_rules_and_what_is_odd() {
    let space = configured();
    let out = space.ostler(["permissions", "list"]).output();
    // The folder's name is as long as it happens to be.
    let squeezed: Vec<String> = space
        .shown(&out)
        .lines()
        .map(|line| {
            line.split("  ")
                .filter(|w| !w.is_empty())
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" | ")
        })
        .collect();
    insta::assert_snapshot!(squeezed.join("\n"), @r#"
    exit 0
    LIST | RULE | LAYER | WHERE | NOTE
    deny | Read(.env) | user | HOME/config.toml:2:9
    deny | Bash(rm:*) | user | HOME/config.toml:2:23
    ask | Bash(git push:*) | user | HOME/config.toml:3:8
    allow | bash(go test*) | user | HOME/config.toml:6:3
    allow | Bash(rm -rf build) | user | HOME/config.toml:7:3 | has no effect: deny Bash(rm:*) covers it
    allow | Frob(x) | user | HOME/config.toml:8:3 | matches nothing: there is no tool `frob`
    "#);
    let space = TempWorkspace::new();
    let out = space.ostler(["permissions", "list"]).output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    --- stderr
    No rules. Reading is allowed; for everything else `permissions.mode` decides.
    "#);
}

#[test]
fn remove_keeps_everything_else() {
    let space = configured();
    space.write(
        space.root().join("ostler.toml"),
        "[permissions]\nallow = [\"Bash(go test:*)\"]\n",
    );
    let remove = |args: &[&str]| {
        let mut run = space.ostler(["permissions", "remove"]);
        run = run.args(args.iter().copied());
        space.shown(&run.output())
    };
    insta::assert_snapshot!(remove(&["Bash(go test:*)", "--layer", "user"]), @r#"
    exit 0
    Removed bash(go test*) from allow in HOME/config.toml (user)
    "#);
    insta::assert_snapshot!(remove(&["bash(go test *)"]), @r#"
    exit 0
    Removed Bash(go test:*) from allow in ostler.toml (project)
    "#);
    insta::assert_snapshot!(remove(&["Bash(rm)"]), @r#"
    exit 1
    --- stderr
    ostler: There is no rule `Bash(rm)` in HOME/config.toml or ostler.toml. Did you mean `Bash(rm:*)`?
    "#);
    insta::assert_snapshot!(space.read(space.home().join("config.toml")), @r#"
    [permissions]
    deny = ["Read(.env)", "Bash(rm:*)"] # never
    ask = ["Bash(git push:*)"]
    allow = [
      "Bash(rm -rf build)",
      "Frob(x)",
    ]
    "#);
}

fn call(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}})
}

fn yes(id: &str) -> Value {
    json!({"type": "approval", "tool_use_id": id, "decision": "once"})
}

#[test]
fn the_list_counts_the_calls_that_each_rule_decides() {
    let space = configured();
    space.session(
        A,
        &[
            call("1", "go test ./..."),
            call("2", "go test -run x"),
            call("3", "cat .env"),
            call("4", "git push"),
            call("5", "mkdir out"),
        ],
    );
    let list = |since: &[&str]| {
        let list = space.ostler(["permissions", "list", "--format", "json"]);
        let out = list.args(since.iter().copied()).output().ok();
        serde_json::from_str::<Value>(&out.stdout).unwrap()
    };
    let rules = list(&["--since", "9999w"]);
    let decided = |of: &str| {
        let mut rules = rules.as_array().unwrap().iter();
        rules.find(|one| one["rule"] == of).unwrap()["decided"].clone()
    };
    let counts = [
        "bash(go test*)",
        "Bash(rm:*)",
        "Bash(git push:*)",
        "Read(.env)",
    ]
    .map(decided);
    assert_eq!(counts, [json!(2), json!(0), json!(1), json!(1)]);
    // Without a time nothing is read and nothing is said of it.
    assert!(
        list(&[])
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one.get("decided").is_none())
    );
    let wrong = space
        .ostler(["permissions", "list", "--since", "soon"])
        .output();
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn suggest_finds_the_smallest_rules() {
    let space = configured();
    space.session(
        A,
        &[
            call("1", "cargo test --all"),
            yes("1"),
            call("2", "cargo test -p x"),
            yes("2"),
            call("3", "mkdir out"),
            yes("3"),
            call("4", "sudo make install"),
            yes("4"),
            call("5", "go test ."),
            yes("5"),
            call("6", "make"),
        ],
    );
    let all = ["permissions", "suggest", "--since", "9999w"];
    let before = space.read(space.home().join("config.toml"));
    insta::assert_snapshot!(space.shown(&space.ostler(all).output()), @r#"
    exit 0
    ASKED  RULES               EXAMPLE
        2  Bash(cargo test:*)  cargo test --all
        1  Bash(mkdir out)     mkdir out
    --- stderr
    No rule would allow exactly what 1 more answer allowed.
    "#);
    assert_eq!(space.read(space.home().join("config.toml")), before);
    let none = space
        .ostler(["permissions", "suggest", "--since", "1h"])
        .output();
    insta::assert_snapshot!(space.shown(&none), @r#"
    exit 0
    --- stderr
    You approved no call that a rule could allow.
    "#);
    let applied = space.ostler(all).args(["--apply"]).output();
    insta::assert_snapshot!(space.clean(&applied.stderr), @r#"
    No rule would allow exactly what 1 more answer allowed.
    Saved 2 allow rules in HOME/config.toml. `ostler permissions remove RULE` removes one.
    "#);
    insta::assert_snapshot!(space.read(space.home().join("config.toml")), @r#"
    [permissions]
    deny = ["Read(.env)", "Bash(rm:*)"] # never
    ask = ["Bash(git push:*)"]
    allow = [
      # the tests
      "bash(go test*)",
      "Bash(rm -rf build)",
      "Frob(x)",
      "Bash(cargo test:*)",
      "Bash(mkdir out)",
    ]
    "#);
    let again = space.ostler(all).args(["--format", "json"]).output().ok();
    let value: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(value, json!({"suggestions": [], "without": 1}));
    let wrong = space
        .ostler(["permissions", "suggest", "--since", "-3d"])
        .output();
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

/// A repository can bring logs in which the person allows things. They are not the person's.
#[test]
fn sessions_that_came_with_a_project_are_no_source_of_rules() {
    let space = configured();
    let config = space.home().join("config.toml");
    let own = space.read(&config) + "\n[sessions]\nlocation = \"project\"\n";
    space.write(&config, &own);
    space.session(A, &[call("1", "cargo test --all"), yes("1")]);
    std::fs::create_dir_all(space.root().join(".ostler")).unwrap();
    let (from, to) = (
        space.home().join("sessions"),
        space.root().join(".ostler/sessions"),
    );
    std::fs::rename(from, to).unwrap();
    let all = ["permissions", "suggest", "--since", "9999w", "--apply"];
    space.ostler(all).output().ok();
    assert_eq!(space.read(&config), own);
    let resume = |id: &str| {
        let run = space.ostler(["--model", "demo", "resume", id, "-p", "go"]);
        run.output()
    };
    let out = resume("--last");
    assert_ne!(out.code, Some(0), "{}", out.stdout);
    // By its name it can be opened, and it is said whose it is not.
    let out = resume(A);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(
        out.stderr.contains("not written by your Ostler"),
        "{}",
        out.stderr
    );
    // What Ostler writes there itself is the person's own.
    let run = space.ostler(["--model", "demo", "exec", "-p", "hello"]);
    run.output().ok();
    let out = resume("--last").ok();
    assert!(
        !out.stderr.contains("not written by your Ostler"),
        "{}",
        out.stderr
    );
}

/// A copy of such a log is the person's from the point where they went on, and not before it.
#[test]
fn a_fork_of_a_session_that_came_with_a_project_vouches_for_nothing() {
    let space = configured();
    let config = space.home().join("config.toml");
    let own = space.read(&config) + "\n[sessions]\nlocation = \"project\"\n";
    space.write(&config, &own);
    let said = json!({"type": "message", "role": "user", "text": "the zanzibar plan"});
    space.session(A, &[said, call("1", "cargo test --all"), yes("1")]);
    std::fs::create_dir_all(space.root().join(".ostler")).unwrap();
    let to = space.root().join(".ostler/sessions");
    std::fs::rename(space.home().join("sessions"), to).unwrap();
    let fork = |id: &str| {
        let args = ["--model", "demo", "exec", "--fork", id, "-p", "go on"];
        let out = space
            .ostler(args)
            .args(["--output-format", "json"])
            .output()
            .ok();
        let value: Value = serde_json::from_str(&out.stdout).expect("JSON");
        value["session_id"].as_str().expect("an id").to_owned()
    };
    // A copy of the copy says as little.
    fork(&fork(A));
    let all = ["permissions", "suggest", "--since", "9999w", "--apply"];
    let out = space.ostler(all).output().ok();
    assert_eq!(space.read(&config), own, "{}", out.stdout);
    let found = |word: &str| {
        let out = space.ostler(["sessions", "search", word]).output();
        out.stdout.contains("go on") || out.stdout.contains(word)
    };
    assert!(!found("zanzibar"));
}

#[test]
fn audit_tells_what_a_session_touched() {
    let space = configured();
    space.session(
        A,
        &[
            call("1", "rm -r old; curl -s https://a.example/x > \u{1b}]0;x\u{7}log"),
            yes("1"),
            json!({"type": "tool_result", "tool_use_id": "1", "ok": true, "output": {"ok": true, "data": {"hosts": ["b.example"]}}}),
            call("2", "touch x"),
            json!({"type": "approval", "tool_use_id": "2", "decision": "deny", "rule": "Bash(touch:*)"}),
            json!({"type": "tool_result", "tool_use_id": "2", "ok": false, "output": {"ok": false, "error": {"code": "blocked", "message": ""}}}),
            json!({"type": "tool_use", "id": "3", "name": "read_file", "input": {"path": "a\nb"}}),
        ],
    );
    let out = space.ostler(["permissions", "audit", &A[..8]]).output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
        1  bash rm -r old; curl -s https://a.example/x > ^[]0;x^Glog  [once]
           write    ^[]0
           delete   old
           delete   old/**
           net      a.example
           net      b.example
           may have touched more (cannot be determined from the command)
        4  bash touch x  [deny by Bash(touch:*), did not run]
        7  read_file a b  [allow, no result]
           read     a b
    "#);
    let out = space
        .ostler(["permissions", "audit", "--format", "json"])
        .output()
        .ok();
    let value: Value = serde_json::from_str(&out.stdout).expect("JSON");
    assert_eq!(value[1]["rule"], "Bash(touch:*)");
    assert_eq!(value[1]["touched"], json!([]));
    let out = space.ostler(["permissions", "audit", "zzz"]).output();
    assert_eq!(out.code, Some(1), "{}", out.stdout);
}

#[test]
fn every_command_is_confirmed_where_the_person_wants_it() {
    let space = TempWorkspace::new();
    let checked = |config: &str| {
        space.write(space.home().join("config.toml"), config);
        let run = space.ostler(["permissions", "check", "bash", "ls", "--format", "json"]);
        let out = run.output().ok();
        let answer: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
        (answer["decision"].clone(), out.stderr)
    };
    assert_eq!(checked("").0, "allow");
    let (decision, said) = checked("[tools]\nshell_confirm = true\nrun_shell = true\n");
    assert_eq!(decision, "ask");
    assert!(!said.contains("unknown key"), "{said}");
}
