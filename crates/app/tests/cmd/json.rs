//! The JSON of the utilities, which programs read: every key and value of it, for one prepared home. Keys are sorted,
//! since their order says nothing; what differs from run to run is replaced.

use crate::support::*;
use ostler_testkit::{Kind, Server, TempWorkspace, json_lines};
use ostler_wire::View;
use serde_json::{Map, Value, json};

const CONFIG: &str = r#"
[permissions]
allow = ["Bash(git status)"]
deny = ["Bash(rm:*)", "Bash(rm -rf *)"]

[[providers]]
name = "mock"
kind = "openai-chat"
base_url = "http://127.0.0.1:9/v1"
models = ["m"]

[providers.oauth]
authorize_url = "http://127.0.0.1:9/authorize"
token_url = "http://127.0.0.1:9/token"
client_id = "c"
"#;

const SERVERS: &str = r#"{"mcpServers": {
  "files": {"command": "files-server", "args": ["--root", "/srv"], "env": {"API_TOKEN": "secret", "MODE": "fast"}},
  "far": {"type": "http", "url": "http://127.0.0.1:9/mcp", "disabled": true}
}}"#;

const LEDGER: [&str; 2] = [
    r#"{"ts":"2020-01-05T23:30:00.000Z","session":"aaaaaaaa-0000-4000-8000-000000000001","project":"shop-12345678","role":"","provider":"mock","model":"m","input":4000,"cached":2000,"cache_write":0,"output":10,"cost":1.5}"#,
    r#"{"ts":"2020-01-06T10:30:00.000Z","session":"bbbbbbbb-0000-4000-8000-000000000002","project":"shop-12345678","role":"plan","provider":"mock","model":"local","input":500,"cached":0,"cache_write":0,"output":10}"#,
];

fn call(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}})
}

fn prepared() -> TempWorkspace {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), CONFIG);
    space.write(space.home().join("mcp.json"), SERVERS);
    space.write(space.home().join("ledger.jsonl"), LEDGER.join("\n") + "\n");
    fill(&space);
    space
}

/// A role, a skill, two facts and two sessions.
fn fill(space: &TempWorkspace) {
    space.write(
        space.home().join("agents/tester.md"),
        "---\nname: tester\ndescription: Runs tests\nmodel: mock/m\n---\nRun them.\n",
    );
    space.write(
        space.home().join("skills/tidy/SKILL.md"),
        "---\nname: tidy\ndescription: Puts things in order\n---\nSweep.\n",
    );
    let project = ostler_engine::store::project_name(space.root());
    let fact = "---\nname: Ports\ndescription: Where the gateway listens\ntype: reference\ncreated: 2020-01-05T10:00:00Z\nupdated: 2020-01-06T10:00:00Z\n---\nThe quagga gateway is 7741.\n";
    let memory = space.home().join("memory");
    let (ports, team) = (
        memory.join(&project).join("ports.md"),
        memory.join("global/team.md"),
    );
    space.write(&ports, fact);
    space.write(&team, fact.replace("Ports", "Team"));
    // Lists begin with what was changed last; these were changed at once.
    let now = std::time::SystemTime::now();
    for path in [ports, team] {
        let file = std::fs::File::options().write(true).open(path);
        file.and_then(|file| file.set_modified(now))
            .expect("a time");
    }
    space.session(
        A,
        &[
            user("find the quagga"),
            usage(4000, 0),
            call("1", "touch a"),
            json!({"type": "approval", "tool_use_id": "1", "decision": "once"}),
            json!({"type": "tool_result", "tool_use_id": "1", "ok": true, "output": {"ok": true, "data": {}}}),
            broken(5000, 1200, "unknown"),
            assistant("it is **there**"),
            json!({"type": "turn_end", "reason": "done"}),
        ],
    );
    space.session(B, &[user("another"), assistant("yes")]);
}

/// What changes with the clock, the machine or a digest.
const MASKED: [&str; 8] = [
    "ts",
    "revision",
    "ms",
    "mode",
    "tree",
    "score",
    "bytes_before",
    "bytes_after",
];

/// The value with sorted keys, and without what differs from run to run.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<(String, Value)> = fields.into_iter().collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            let field = |(key, value): (String, Value)| match MASKED.contains(&key.as_str()) {
                true => (key, json!("…")),
                false => (key, canonical(value)),
            };
            Value::Object(pairs.into_iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[track_caller]
fn check(name: &str, text: &str) {
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, text);
    });
}

/// Exit code and JSON of one command.
#[track_caller]
fn shown(space: &TempWorkspace, args: &[&str]) -> String {
    let run = space.run(env!("CARGO_BIN_EXE_ostler")).args(args);
    let out = run.output();
    let value: Value = match serde_json::from_str(&out.stdout) {
        Ok(value) => canonical(value),
        Err(error) => panic!("{args:?}: {error}: {out:?}"),
    };
    let text = serde_json::to_string_pretty(&value).expect("JSON");
    let code = out.code.unwrap_or(-1);
    space.clean(&format!(
        "$ ostler {}\nexit {code}\n{text}\n",
        args.join(" ")
    ))
}

/// The outputs of several commands, one after the other.
#[track_caller]
fn all(space: &TempWorkspace, commands: &[&[&str]]) -> String {
    let outputs: Vec<String> = commands.iter().map(|args| shown(space, args)).collect();
    outputs.join("\n")
}

#[test]
fn json_of_sessions() {
    let space = prepared();
    check(
        "sessions",
        &all(
            &space,
            &[
                &["sessions", "list", "--format", "json"],
                &["sessions", "list", "--all", "--format", "json"],
                &["sessions", "show", A, "--format", "json"],
                &["sessions", "search", "quagga", "--format", "json"],
                &["sessions", "search", "nowhere", "--format", "json"],
            ],
        ),
    );
    let empty = TempWorkspace::new();
    insta::assert_snapshot!(shown(&empty, &["sessions", "list", "--format", "json"]), @"
    $ ostler sessions list --format json
    exit 0
    []
    ");
}

#[test]
fn json_of_memory() {
    let space = prepared();
    check(
        "memory",
        &all(
            &space,
            &[
                &["memory", "list", "--format", "json"],
                &["memory", "show", "ports", "--format", "json"],
                &["memory", "search", "quagga", "gateway", "--format", "json"],
                &["memory", "archive", "ports", "--format", "json"],
                &["memory", "list", "--archived", "--format", "json"],
                &["memory", "restore", "ports", "--format", "json"],
                &["memory", "path", "--format", "json"],
                &["memory", "path", "team", "--format", "json"],
            ],
        ),
    );
}

#[test]
fn json_of_permissions() {
    let space = prepared();
    check(
        "permissions",
        &all(
            &space,
            &[
                &["permissions", "list", "--format", "json"],
                &[
                    "--no-sandbox",
                    "permissions",
                    "check",
                    "bash",
                    "rm -rf x",
                    "--format",
                    "json",
                ],
                &[
                    "--no-sandbox",
                    "permissions",
                    "check",
                    "read_file",
                    r#"{"path":"a"}"#,
                    "--format",
                    "json",
                ],
                &[
                    "permissions",
                    "suggest",
                    "--since",
                    "9999w",
                    "--format",
                    "json",
                ],
                &["permissions", "audit", A, "--format", "json"],
            ],
        ),
    );
}

#[test]
fn json_of_servers_agents_and_skills() {
    let space = prepared();
    check(
        "servers_agents_skills",
        &all(
            &space,
            &[
                &["mcp", "list", "--format", "json"],
                &["mcp", "get", "files"],
                &["mcp", "get", "far"],
                &["mcp", "test", "files", "--format", "json"],
                &["agents", "list", "--format", "json"],
                &["skills", "list", "--format", "json"],
                &["auth", "status", "--format", "json"],
            ],
        ),
    );
}

#[test]
fn json_of_usage_and_cache() {
    let space = prepared();
    check(
        "usage_cache",
        &all(
            &space,
            &[
                &["usage", "--format", "json"],
                &["usage", "--by", "model", "--format", "json"],
                &["usage", "--by", "session", "--format", "json"],
                &["usage", "--by", "project", "--format", "json"],
                &["cache", "why", A, "--format", "json"],
                &["cache", "why", B, "--format", "json"],
            ],
        ),
    );
    let empty = TempWorkspace::new();
    check(
        "usage_empty",
        &shown(&empty, &["usage", "--format", "json"]),
    );
}

#[test]
fn json_of_checkpoints() {
    let space = prepared();
    space.write("a.txt", "one");
    space
        .ostler(["checkpoint", "take", "--label", "before"])
        .output()
        .ok();
    space.write("a.txt", "other");
    space.write("new.txt", "");
    check(
        "checkpoints",
        &all(
            &space,
            &[
                &["checkpoint", "list", "--format", "json"],
                &["checkpoint", "show", "1", "--format", "json"],
                &["checkpoint", "diff", "1", "--format", "json"],
                &["checkpoint", "restore", "1", "--keep", "--format", "json"],
                &["checkpoint", "restore", "1", "--force", "--format", "json"],
                &["checkpoint", "gc", "--format", "json"],
            ],
        ),
    );
}

#[test]
fn json_of_configuration_and_trust() {
    let space = prepared();
    space.write(
        ".mcp.json",
        r#"{"mcpServers": {"own": {"command": "own-server"}}}"#,
    );
    space.ostler(["trust", "--yes"]).output().ok();
    let trusted = shown(&space, &["trust", "--list", "--format", "json"]);
    check("trust", &masked_since(&trusted));
    let shown = |args: &[&str]| -> Value {
        let out = space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .output()
            .ok();
        serde_json::from_str(&out.stdout).expect("JSON")
    };
    // Every setting has the same shape; which there are is another contract.
    let pairs = shown(&["config", "show", "--format", "json"]);
    let origins = shown(&["config", "show", "--origin", "--format", "json"]);
    let keys: Vec<&String> = pairs.as_object().expect("an object").keys().collect();
    let rows = origins.as_array().expect("a list");
    assert_eq!(keys.len(), rows.len());
    for (key, row) in keys.iter().zip(rows) {
        assert_eq!(row["key"], key.as_str());
        assert_eq!(row["value"], pairs[key.as_str()], "{key}");
    }
    let row = rows.iter().find(|row| row["key"] == "permissions.deny");
    let row = canonical(row.expect("a setting of the file").clone());
    let row = space.clean(&serde_json::to_string_pretty(&row).expect("JSON"));
    check("setting", &row);
}

/// Trust says since when.
fn masked_since(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match line.split_once("\"since\": ") {
            Some((before, _)) => format!("{before}\"since\": …"),
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn json_of_doctor() {
    let space = prepared();
    let out = space.ostler(["doctor", "--json", "--no-sandbox"]).output();
    let report: Value = serde_json::from_str(&out.stdout).expect("JSON");
    let keys: Vec<&String> = report.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["version", "ok", "findings"]);
    let findings = report["findings"].as_array().expect("a list");
    let problems = findings.iter().filter(|f| f["status"] == "problem").count();
    assert_eq!(report["ok"], problems == 0);
    assert_eq!(out.code, Some(i32::from(problems > 0)));
    let mut topics: Vec<&str> = Vec::new();
    for finding in findings {
        let keys = finding.as_object().expect("an object").keys();
        let keys: Vec<&str> = keys.map(String::as_str).collect();
        assert!(
            matches!(
                keys[..],
                ["status", "topic", "text"] | ["status", "topic", "text", "fix"]
            ),
            "{keys:?}"
        );
        let topic = finding["topic"].as_str().expect("a word");
        if topics.last() != Some(&topic) {
            topics.push(topic);
        }
    }
    check("doctor_topics", &topics.join(" "));
}

/// What a slash command answers in a session, as programs read it.
fn slash_commands(space: &TempWorkspace, lines: &[&str]) -> Vec<View> {
    let op = |line: &&str| json!({"op": "command", "line": line}).to_string() + "\n";
    let ops: String = lines.iter().map(op).collect();
    let run = space.ostler(["exec", "--input-format", "stream-json", "--format", "json"]);
    let out = run.stdin(ops).output().ok();
    let views = json_lines(&out.stdout)
        .into_iter()
        .filter(|line| line["type"] == "view");
    let views: Vec<View> = views
        .map(|line| serde_json::from_value(line["view"].clone()).expect("a view"))
        .collect();
    assert_eq!(views.len(), lines.len(), "{out:?}");
    views
}

/// The keys of each row that people are shown.
fn shown_keys(rows: &Value, keys: &[&str]) -> Value {
    let row = |row: &Value| {
        keys.iter()
            .map(|key| (*key, row[key].clone()))
            .collect::<Value>()
    };
    rows.as_array().expect("rows").iter().map(row).collect()
}

#[test]
fn a_slash_command_and_a_subcommand_are_one() {
    let space = TempWorkspace::new();
    let server = Server::start([]);
    space.config(&server, Kind::Chat);
    fill(&space);
    let lines = ["agents", "skills", "memory", "memory show ports", "resume"];
    let views = slash_commands(&space, &lines);
    let [agents, skills, memory, fact, resume] = &views[..] else {
        panic!("{views:?}");
    };
    let printed = |args: &[&str]| -> Value {
        let run = space.run(env!("CARGO_BIN_EXE_ostler")).args(args);
        let out = run.args(["--format", "json"]).output().ok();
        serde_json::from_str(&out.stdout).expect("JSON")
    };
    assert_eq!(agents.json()[0], printed(&["agents", "list"]));
    assert_eq!(skills.json(), printed(&["skills", "list"]));
    assert_eq!(fact.json(), printed(&["memory", "show", "ports"]));
    let keys = ["id", "scope", "type", "updated", "name", "description"];
    let listed = printed(&["memory", "list"]);
    assert_eq!(memory.json(), shown_keys(&listed, &keys));
    let keys = ["id", "updated", "turns", "cost", "title"];
    let listed = printed(&["sessions", "list"]);
    assert_eq!(resume.json(), shown_keys(&listed, &keys));
}
