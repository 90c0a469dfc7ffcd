//! A client as a program: it writes lines of JSON-RPC to `ostler mcp-server`, answers what it is asked, and checks that every
//! line that comes is a message and every result what the tool's schema says.

use crate::common::Scene;
use jsonschema::Validator;
use ostler_testkit::Running;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const WAIT: Duration = Duration::from_secs(40);
/// The tools of the server, in order.
pub const NAMES: [&str; 6] = [
    "ostler",
    "three",
    "batch",
    "roundtable",
    "roundtable-batch",
    "info",
];

static RESULTS: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let table = include_str!("../../src/mcp_server/tools.json");
    let tools: Vec<Value> = serde_json::from_str(table).unwrap();
    let check = |tool: Value| {
        let validator = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        (tool["name"].as_str().unwrap().to_owned(), validator)
    };
    tools.into_iter().map(check).collect()
});

/// What the client says to a request of ours; none leaves it open.
type Answers = Box<dyn FnMut(&Value) -> Option<Value>>;

pub struct Peer {
    running: Option<Running>,
    read: usize,
    next: u64,
    /// Everything that came, in order.
    pub seen: Vec<Value>,
    pub answers: Answers,
}

impl Peer {
    /// Starts it and says hello.
    #[track_caller]
    pub fn start(scene: &Scene, flags: &[&str], capabilities: Value) -> Self {
        let mut peer = Self::raw(scene, flags);
        let reply = peer.hello(capabilities);
        assert!(reply["result"].is_object(), "{reply:#}");
        peer
    }

    /// Starts it and says nothing.
    #[track_caller]
    pub fn raw(scene: &Scene, flags: &[&str]) -> Self {
        let run = scene.ostler(["mcp-server"]).args(flags);
        Self::of(run.open_stdin().timeout(WAIT * 2).spawn())
    }

    pub fn of(running: Running) -> Self {
        Self {
            running: Some(running),
            read: 0,
            next: 1,
            seen: Vec::new(),
            answers: Box::new(|_| None),
        }
    }

    #[track_caller]
    pub fn hello(&mut self, capabilities: Value) -> Value {
        let reply = self.call(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.notify("notifications/initialized", json!({}));
        reply
    }

    pub fn running(&mut self) -> &mut Running {
        self.running.as_mut().unwrap()
    }

    /// Closes its end and waits for ours.
    #[track_caller]
    pub fn leave(mut self) -> ostler_testkit::Output {
        let mut running = self.running.take().unwrap();
        running.close_stdin();
        running.wait()
    }

    pub fn write(&mut self, line: &str) {
        self.running().write(&format!("{line}\n"));
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&line.to_string());
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&line.to_string());
    }

    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait(id)
    }

    pub fn send_tool(&mut self, name: &str, arguments: Value, token: Option<&str>) -> u64 {
        let mut params = json!({"name": name, "arguments": arguments});
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        self.send("tools/call", params)
    }

    /// A call of a tool to its end; the result fits the tool's schema.
    #[track_caller]
    pub fn tool(&mut self, name: &str, arguments: Value, token: Option<&str>) -> Value {
        let id = self.send_tool(name, arguments, token);
        let reply = self.wait(id);
        let result = &reply["result"]["structuredContent"];
        if !result.is_null() {
            let faults: Vec<String> = RESULTS[name]
                .iter_errors(result)
                .map(|e| e.to_string())
                .collect();
            assert!(faults.is_empty(), "{faults:?}\n{reply:#}");
        }
        reply
    }

    pub fn send_task(&mut self, arguments: Value, token: Option<&str>) -> u64 {
        self.send_tool("ostler", arguments, token)
    }

    #[track_caller]
    pub fn task_with(&mut self, arguments: Value, token: Option<&str>) -> Value {
        self.tool("ostler", arguments, token)
    }

    #[track_caller]
    pub fn task(&mut self, prompt: &str) -> Value {
        self.task_with(json!({"prompt": prompt}), None)
    }

    /// Takes lines in until the answer to a request is there.
    #[track_caller]
    pub fn wait(&mut self, id: u64) -> Value {
        self.until(&format!("the answer to {id}"), |message| {
            message.get("method").is_none() && message["id"] == id
        })
    }

    /// The first message that is meant, also of those that came before.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.seen.iter().find(|message| is_meant(message)) {
            return found.clone();
        }
        let end = Instant::now() + WAIT;
        loop {
            while let Some(message) = self.take() {
                if is_meant(&message) {
                    return message;
                }
            }
            if Instant::now() > end {
                let stderr = self.running().stderr();
                panic!("no {what}; {:#?}\n{stderr}", self.seen);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The next line, if one is there.
    #[track_caller]
    fn take(&mut self) -> Option<Value> {
        let text = self.running().stdout();
        let rest = text.get(self.read..)?;
        let end = rest.find('\n')?;
        let line = rest.get(..end).unwrap().to_owned();
        self.read += end + 1;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        self.seen.push(message.clone());
        if message.get("method").is_some()
            && message.get("id").is_some()
            && let Some(result) = (self.answers)(&message)
        {
            let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            self.write(&reply.to_string());
        }
        Some(message)
    }

    /// The notifications of a kind, in order.
    pub fn notes(&self, method: &str) -> Vec<Value> {
        self.asked(method)
    }

    /// The requests of ours, by method.
    pub fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self
            .seen
            .iter()
            .filter(|message| message["method"] == method);
        asked.map(|message| message["params"].clone()).collect()
    }
}

#[track_caller]
pub fn data(reply: &Value) -> &Value {
    let data = &reply["result"]["structuredContent"];
    assert!(data.is_object(), "{reply:#}");
    data
}

pub fn is_error(reply: &Value) -> bool {
    reply["result"]["isError"] == true
}

/// The words of a result.
#[track_caller]
pub fn text(reply: &Value) -> &str {
    let text = reply["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{reply:#}"))
}
