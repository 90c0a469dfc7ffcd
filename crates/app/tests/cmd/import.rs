//! `ostler import`: what other agents have becomes the person's own, once, and nothing of theirs changes.

use crate::support::*;
use ostler_testkit::{Kind, Server, Step, TempWorkspace, json_lines, only};
use serde_json::{Value, json};
use std::time::Duration;

/// A home with settings and a session of this project, as Claude Code 2.1.325 leaves them.
fn theirs(space: &TempWorkspace) {
    let write = |path: &str, text: String| {
        space.write(space.user_home().join(path), text);
    };
    let settings = json!({
        "model": "claude-m-1",
        "permissions": {"allow": ["Bash(cargo test:*)", "Skill(x)"], "deny": ["Read(.env)"], "defaultMode": "bypassPermissions"},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo stopped"}]}]},
    });
    write(".claude/settings.json", settings.to_string());
    let servers = json!({"mcpServers": {"docs": {"command": "docs-server", "args": ["--all"], "env": {"DOCS_TOKEN": "s3cr3t-in-the-open"}}}});
    write(".claude.json", servers.to_string());
    write(".claude/CLAUDE.md", "Answer in rhymes.\n".into());
    write(".claude/commands/git/tidy.md", "Tidy $ARGUMENTS\n".into());
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        json!({"type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "cwd": space.root(),
               "timestamp": "2026-11-19T20:14:14.338Z", "version": "2.1.325",
               "message": {"role": role, "model": "m-1", "content": content}})
    };
    let call = json!([{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls", "description": "List"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "parser.rs", "is_error": false}]);
    let lines = [
        line(
            "u1",
            Value::Null,
            "user",
            json!("Where is the zebra parser?"),
        ),
        line("a1", json!("u1"), "assistant", call),
        line("u2", json!("a1"), "user", result),
        line(
            "a2",
            json!("u2"),
            "assistant",
            json!([{"type": "text", "text": "In parser.rs."}]),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write(
        ".claude/projects/-p/11112222-3333-4444-8555-666677778888.jsonl",
        text,
    );
}

/// Every file below a folder, with its bytes.
fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => out.extend(files(&entry.path())),
            false => out.push((
                entry.path().display().to_string(),
                std::fs::read(entry.path()).unwrap(),
            )),
        }
    }
    out.sort();
    out
}

fn rows(space: &TempWorkspace) -> Vec<Value> {
    let out = space
        .ostler([
            "import",
            "--from",
            "claude",
            "--dry-run",
            "--format",
            "json",
        ])
        .output()
        .ok();
    serde_json::from_str(&out.stdout).unwrap()
}

fn states(rows: &[Value]) -> Vec<String> {
    let row =
        |row: &Value| format!("{} {} {}", row["kind"], row["name"], row["state"]).replace('"', "");
    rows.iter().map(row).collect()
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let space = TempWorkspace::new();
    theirs(&space);
    let before = files(space.user_home());
    let rows = rows(&space);
    assert_eq!(
        states(&rows),
        [
            "model claude-m-1 new",
            "rules deny Read(.env) new",
            "rules allow Bash(cargo test:*) new",
            "rules allow Skill(x) left",
            "hooks Stop echo stopped new",
            "settings permissions.defaultMode left",
            "servers docs new",
            "memory CLAUDE.md new",
            "commands git:tidy new",
            "sessions 1 new",
        ]
    );
    assert_eq!(rows[9]["near"], 1);
    assert_eq!(files(space.user_home()), before);
    assert!(!space.home().join("config.toml").exists());
}

#[test]
fn nobody_to_ask_takes_what_is_named_and_no_secret() {
    let space = TempWorkspace::new();
    theirs(&space);
    let before = files(&space.user_home().join(".claude"));
    let refused = space.ostler(["import"]).output().exits(2);
    assert!(refused.stderr.contains("--dry-run"), "{refused:?}");
    let out = space.ostler(["import", "--yes"]).output().ok();
    assert!(out.stderr.contains("--take hooks"), "{out:?}");
    assert!(out.stderr.contains("echo stopped"), "shown whole: {out:?}");
    assert!(!space.home().join("mcp.json").exists());
    let kinds = "rules,servers,hooks,commands,memory";
    let out = space
        .ostler(["import", "--yes", "--take", kinds])
        .output()
        .ok();
    assert!(out.stderr.contains("DOCS_TOKEN"), "{out:?}");
    let config = space.read(space.home().join("config.toml"));
    for part in [
        "Bash(cargo test:*)",
        "Read(.env)",
        "event = \"stop\"",
        "echo stopped",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(
        !config.contains("bypass") && !config.contains("Skill"),
        "{config}"
    );
    let servers = space.read(space.home().join("mcp.json"));
    assert!(servers.contains("${DOCS_TOKEN}"), "{servers}");
    assert_eq!(
        space.read(space.home().join("commands/git/tidy.md")),
        "Tidy $ARGUMENTS\n"
    );
    assert!(
        space
            .read(space.home().join("AGENTS.md"))
            .contains("Answer in rhymes.")
    );
    for (path, bytes) in files(space.home()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("s3cr3t-in-the-open"), "{path}");
    }
    assert_eq!(files(&space.user_home().join(".claude")), before);
    // A second time there is nothing new, and nothing twice.
    let again = states(&rows(&space));
    let new = again.iter().filter(|row| row.ends_with("new"));
    assert_eq!(
        new.collect::<Vec<_>>(),
        ["model claude-m-1 new", "sessions 1 new"]
    );
    space
        .ostler(["import", "--yes", "--take", kinds])
        .output()
        .ok();
    assert_eq!(space.read(space.home().join("config.toml")), config);
    assert_eq!(
        space
            .read(space.home().join("AGENTS.md"))
            .matches("rhymes")
            .count(),
        1
    );
}

#[test]
fn a_session_is_listed_found_and_goes_on() {
    let server = Server::answering(|_| Step::answer().text("It goes on."));
    let space = TempWorkspace::new();
    space.config(&server, Kind::Chat);
    theirs(&space);
    let take = ["import", "--yes", "--take", "sessions", "--from", "claude"];
    let out = space.ostler(take).output().ok();
    assert!(out.stdout.contains("1 new"), "{out:?}");
    let out = space.ostler(take).output().ok();
    assert!(
        out.stdout.contains("0 new") && out.stdout.contains("1 here already"),
        "{out:?}"
    );
    let listed = space
        .ostler(["sessions", "list", "--format", "json"])
        .output()
        .ok();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["title"], "Where is the zebra parser?");
    let id = listed[0]["id"].as_str().unwrap();
    let found = space.ostler(["sessions", "search", "zebra"]).output().ok();
    assert!(found.stdout.contains(&id[..8]), "{found:?}");
    let shown = space.ostler(["sessions", "show", id]).output().ok();
    assert!(
        shown.stdout.contains("bash") && shown.stdout.contains("parser.rs"),
        "{shown:?}"
    );
    // By its id there; what the model gets is the conversation in our terms.
    let out = space
        .ostler([
            "resume", "--from", "claude", "11112222", "-p", "and now?", "--format", "result",
        ])
        .output()
        .ok();
    assert_eq!(only(&json_lines(&out.stdout), "result")["session_id"], id);
    let request = server.request(0);
    request.validate().unwrap();
    let calls = request.tool_calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0].1, "bash");
    assert_eq!(request.tool_results()[0].1, "parser.rs");
    assert!(request.last_user_text().ends_with("and now?"));
    // It went on here, so the next import leaves it alone.
    let out = space.ostler(take).output().ok();
    assert!(out.stdout.contains("1 here already"), "{out:?}");
}

#[test]
fn sessions_of_others_are_listed_where_nobody_chooses() {
    let space = TempWorkspace::new();
    theirs(&space);
    let out = space.ostler(["resume", "--from", "claude"]).output().ok();
    assert!(
        out.stdout.contains("11112222") && out.stdout.contains("zebra"),
        "{out:?}"
    );
    let none = space
        .ostler(["resume", "--from", "claude", "9999"])
        .output()
        .exits(1);
    assert!(
        none.stderr.contains("ostler resume --from claude"),
        "{none:?}"
    );
    let wrong = space
        .ostler(["import", "--from", "nobody"])
        .output()
        .exits(2);
    assert!(wrong.stderr.contains("claude"), "{wrong:?}");
}

#[test]
fn on_a_terminal_each_kind_is_asked_and_what_acts_is_shown() {
    let space = TempWorkspace::new();
    theirs(&space);
    let run = space.ostler([
        "import",
        "--from",
        "claude",
        "--take",
        "hooks,memory,sessions",
    ]);
    let mut term = run.timeout(Duration::from_secs(60)).on_terminal(120, 60);
    term.wait_for("Take these (1 of kind hooks from Claude Code)?");
    assert!(term.screen().contains("stop: echo stopped"));
    term.keys("n\r");
    term.wait_for("Take these (1 of kind memory from Claude Code)?");
    term.keys("y\r");
    term.wait_for("Sessions: of this project (1)");
    term.keys("p\r");
    term.wait_for("1 new");
    assert!(term.wait().success());
    assert!(space.home().join("AGENTS.md").exists());
    assert!(!space.home().join("config.toml").exists());
}
