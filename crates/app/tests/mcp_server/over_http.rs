//! The server over HTTP: who may come in, a whole task, and a stop.

use super::http::{Request, Response};
use super::scene;
use crate::common::Scene;
use ostler_testkit::{Running, Signal};
use serde_json::{Value, json};
use std::net::SocketAddr;

struct Site {
    running: Running,
    address: SocketAddr,
    token: String,
}

impl Site {
    #[track_caller]
    fn start(scene: &Scene, flags: &[&str]) -> Site {
        let run = scene.ostler(["mcp-server", "--http", "0"]).args(flags);
        let running = run.spawn();
        let said = running.wait_stdout("Bearer ");
        running.wait_stderr("/mcp");
        let address = said.split("http://").nth(1).unwrap();
        let address = address.split("/mcp").next().unwrap().parse().unwrap();
        let token = said.split("Bearer ").nth(1).unwrap().trim().to_owned();
        assert_eq!(token.len(), 64, "{said}");
        Site {
            running,
            address,
            token,
        }
    }

    fn post(&self, body: &Value) -> Request {
        Request::new(self.address, "POST", "/mcp")
            .header("Accept", "application/json, text/event-stream")
            .header("Authorization", format!("Bearer {}", self.token))
            .json(body)
    }

    /// Says hello; the id of the session.
    #[track_caller]
    fn hello(&self, capabilities: Value) -> String {
        let response = self.post(&hello(capabilities)).send();
        assert_eq!(response.status, 200, "{}", response.text());
        let id = response.header("mcp-session-id").unwrap().to_owned();
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.in_session(&id, &done).send().status, 202);
        id
    }

    fn in_session(&self, id: &str, body: &Value) -> Request {
        self.post(body)
            .header("Mcp-Session-Id", id)
            .header("MCP-Protocol-Version", "2025-11-25")
    }
}

fn hello(capabilities: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

fn task(prompt: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "ostler", "arguments": {"prompt": prompt}, "_meta": {"progressToken": 7},
    }})
}

/// The messages of a stream.
fn messages(response: &Response) -> Vec<Value> {
    let text = response.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    lines
        .filter_map(|line| serde_json::from_str(line.trim()).ok())
        .collect()
}

#[test]
fn only_who_has_the_token_and_names_us_comes_in() {
    let scene = scene([]);
    let site = Site::start(&scene, &[]);
    let hello = hello(json!({}));
    let port = site.address.port();
    let wrong = format!("Bearer {}", "0".repeat(64));
    let ours = format!("http://localhost:{port}");
    for (name, value, status) in [
        ("Authorization", "", 401),
        ("Authorization", wrong.as_str(), 401),
        ("Authorization", site.token.as_str(), 401),
        ("Host", "evil.test", 403),
        ("Host", "127.0.0.1:1", 403),
        ("Origin", "http://evil.test", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:1", 403),
        ("Origin", ours.as_str(), 200),
        ("Sec-Fetch-Site", "none", 200),
    ] {
        let response = site.post(&hello).header(name, value).send();
        assert_eq!(response.status, status, "{name}: {value}");
    }
    let named = site
        .post(&hello)
        .header("Host", format!("localhost:{port}"));
    assert_eq!(named.send().status, 200);
    let elsewhere = Request::new(site.address, "POST", "/")
        .header("Authorization", format!("Bearer {}", site.token));
    assert_eq!(elsewhere.json(&hello).send().status, 404);
    let unknown = site.in_session("00000000-0000-4000-8000-000000000000", &task("hi"));
    assert_eq!(unknown.send().status, 404);
    site.running.signal(Signal::Terminate);
    assert_eq!(site.running.wait().code, Some(143));
}

#[test]
fn a_task_over_http_streams_its_progress() {
    let scene = scene([super::said("Over HTTP.")]);
    let site = Site::start(&scene, &[]);
    let id = site.hello(json!({}));
    let response = site.in_session(&id, &task("hi")).send();
    assert_eq!(response.status, 200, "{}", response.text());
    let messages = messages(&response);
    let result = messages.iter().find(|message| message["id"] == 2);
    let result = result.unwrap_or_else(|| panic!("{messages:#?}"));
    let data = &result["result"]["structuredContent"];
    assert_eq!(data["answer"], "Over HTTP.", "{result:#}");
    assert_eq!(data["session_id"], scene.session_id().as_str());
    let progress = messages.iter().filter(|message| {
        message["method"] == "notifications/progress" && message["params"]["progressToken"] == 7
    });
    assert!(progress.count() > 0, "{messages:#?}");
    // A session that is over is unknown.
    let over = Request::new(site.address, "DELETE", "/mcp")
        .header("Authorization", format!("Bearer {}", site.token))
        .header("Mcp-Session-Id", id.as_str());
    assert!(over.send().status < 300);
    assert_eq!(site.in_session(&id, &task("hi")).send().status, 404);
}

#[test]
fn a_configured_token_is_taken_and_a_short_one_is_not() {
    let token = "a-token-of-my-own-that-is-long-enough-and-is-64-characters-wide..";
    let config = format!("\n[serve]\ntoken = \"{token}\"\n");
    let scene = Scene::with_config(super::KIND, &config, []);
    let running = scene
        .ostler(["mcp-server", "--http", "localhost:0"])
        .spawn();
    let said = running.wait_stdout("Bearer ");
    assert!(said.contains(token), "{said}");
    running.signal(Signal::Interrupt);
    assert_eq!(running.wait().code, Some(130));
    for (config, flags, part) in [
        ("\n[serve]\ntoken = \"short\"\n", ["--http", "0"], "16"),
        (
            "\n[serve]\nauth_mode = \"none\"\n",
            ["--http", "0.0.0.0:0"],
            "0.0.0.0",
        ),
        ("", ["--http", "example.com:1"], "example.com:1"),
    ] {
        let scene = Scene::with_config(super::KIND, config, []);
        let out = scene.ostler(["mcp-server"]).args(flags).output().exits(2);
        assert!(out.stderr.contains(part), "{part}: {}", out.stderr);
    }
}
