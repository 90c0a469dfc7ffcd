//! Servers that we did not write, as people use them. They are installed by name with `cargo xtask mcp install`; where they
//! are not, these tests say so and prove nothing.
#![cfg(unix)]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;

use common::{Scene, of_type, wait_for};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

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
    let open = "\n[permissions]\nheadless = \"allow\"\n";
    let scene = Scene::with_config(Kind::Chat, open, steps);
    scene.space.git_init();
    let mut entry = json!({"command": path, "args": args});
    entry["env"] = json!({
        "PATH": std::env::var("PATH").unwrap_or_default(),
        // Or it remembers across tests, in its own package.
        "MEMORY_FILE_PATH": scene.space.root().join("memory.jsonl"),
    });
    Some(result(&scene, &entry))
}

fn result(scene: &Scene, entry: &Value) -> Value {
    let file = json!({"mcpServers": {"real": entry}});
    scene
        .space
        .write(scene.space.home().join("mcp.json"), file.to_string());
    scene.exec("go").ok();
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    results[0]["output"].clone()
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

/// It would listen on every interface.
const ONLY_HERE: &str = "const net = require('net'); const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port === 'object') return listen.call(this, port, ...rest);
  const then = rest.filter((one) => typeof one === 'function');
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...then);
};
";

/// Ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn everything_over_http() {
    everything_at("streamableHttp", "http", "mcp");
}

#[test]
fn everything_over_the_transport_of_2024() {
    everything_at("sse", "sse", "sse");
}

/// The server by one of its forms, and how it is reached.
fn everything_at(form: &str, kind: &str, page: &str) {
    let Some(path) = installed("mcp-server-everything") else {
        return;
    };
    let steps = [
        Step::answer().call("mcp__real__get-sum", json!({"a": 2, "b": 40})),
        Step::answer().text("Done."),
    ];
    let open = "\n[permissions]\nheadless = \"allow\"\n";
    let scene = Scene::with_config(Kind::Chat, open, steps);
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let hook = scene.space.write("only-here.cjs", ONLY_HERE);
    let serving = Command::new(path)
        .arg(form)
        .env("PORT", port.to_string())
        .env("NODE_OPTIONS", format!("--require {}", hook.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a server");
    let _served = Served(serving);
    wait_for("the server", || {
        TcpStream::connect(("127.0.0.1", port))
            .is_ok()
            .then_some(())
    });
    let entry = json!({"type": kind, "url": format!("http://127.0.0.1:{port}/{page}")});
    let result = result(&scene, &entry);
    let text = result["data"]["text"].as_str().unwrap_or_default();
    assert!(text.contains("42"), "{result}");
    let tested = scene.ostler(["mcp", "test", "real"]).output().ok();
    assert!(tested.stdout.contains("real works: "), "{}", tested.stdout);
}
