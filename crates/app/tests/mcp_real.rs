//! Servers that we did not write, as people use them. They are installed by name with `cargo xtask mcp install`; where they
//! are not, these tests say so and prove nothing.
#![cfg(unix)]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;

use common::{Scene, of_type};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where the packages lie.
fn installed(name: &str) -> Option<PathBuf> {
    let target = PathBuf::from(env!("CARGO_BIN_EXE_ostler"));
    let folder = target.parent()?.parent()?.join("mcp-servers");
    let places = ["node_modules/.bin", "py/bin"];
    let found = places.iter().map(|place| folder.join(place).join(name));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: {name} is not installed; run `cargo xtask mcp install`");
    }
    found
}

/// The result of one call of a server that is a program.
fn called(program: &str, args: &[&str], tool: &str, input: Value) -> Option<Value> {
    let path = installed(program)?;
    let steps = [
        Step::answer().call(&format!("mcp__real__{tool}"), input),
        Step::answer().text("Done."),
    ];
    let scene = Scene::new(Kind::Chat, steps);
    scene.space.git_init();
    let mut entry = json!({"command": path, "args": args});
    entry["env"] = json!({
        "PATH": std::env::var("PATH").unwrap_or_default(),
        // Or it remembers across tests, in its own package.
        "MEMORY_FILE_PATH": scene.space.root().join("memory.jsonl"),
    });
    let file = json!({"mcpServers": {"real": entry}});
    scene
        .space
        .write(scene.space.home().join("mcp.json"), file.to_string());
    scene.exec("go").ok();
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    Some(results[0]["output"].clone())
}

#[track_caller]
fn check(program: &str, args: &[&str], tool: &str, input: Value, expect: &str) {
    if let Some(result) = called(program, args, tool, input) {
        let text = result["data"]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expect), "{program} {tool}: {result}");
    }
}

#[test]
fn everything() {
    let program = "mcp-server-everything";
    check(program, &[], "echo", json!({"message": "hi"}), "hi");
    check(program, &[], "get-sum", json!({"a": 2, "b": 40}), "42");
    if let Some(result) = called(program, &[], "get-tiny-image", json!({})) {
        assert!(
            result["data"]["images"][0]["image"]["data"].is_string(),
            "{result}"
        );
    }
}

#[test]
fn filesystem() {
    let input = json!({"path": "."});
    check(
        "mcp-server-filesystem",
        &["."],
        "list_directory",
        input,
        "[DIR] .git",
    );
}

#[test]
fn memory() {
    let entity = json!({"name": "Ann", "entityType": "person", "observations": ["likes tea"]});
    let input = json!({"entities": [entity]});
    check(
        "mcp-server-memory",
        &[],
        "create_entities",
        input,
        "likes tea",
    );
}

#[test]
fn git() {
    check(
        "mcp-server-git",
        &[],
        "git_status",
        json!({"repo_path": "."}),
        "On branch",
    );
}

#[test]
fn time() {
    let input = json!({"timezone": "Etc/UTC"});
    check("mcp-server-time", &[], "get_current_time", input, "Etc/UTC");
}
