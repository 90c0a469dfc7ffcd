//! An editor as a program: it writes lines of JSON-RPC to `ostler acp`, answers what it is asked, and checks every line that
//! comes against the schema of the protocol.

use crate::common::Scene;
use jsonschema::Validator;
use ostler_testkit::Running;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub const WAIT: Duration = Duration::from_secs(30);

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema.json")).unwrap());
static CHECKS: LazyLock<HashMap<&'static str, Validator>> = LazyLock::new(|| {
    let names = [
        "InitializeResponse",
        "NewSessionResponse",
        "LoadSessionResponse",
        "ResumeSessionResponse",
        "ListSessionsResponse",
        "CloseSessionResponse",
        "DeleteSessionResponse",
        "PromptResponse",
        "SetSessionModeResponse",
        "SetSessionConfigOptionResponse",
        "SessionNotification",
        "RequestPermissionRequest",
        "CreateElicitationRequest",
        "ReadTextFileRequest",
        "WriteTextFileRequest",
        "CreateTerminalRequest",
        "TerminalOutputRequest",
        "WaitForTerminalExitRequest",
        "KillTerminalRequest",
        "ReleaseTerminalRequest",
        "CancelRequestNotification",
        "Error",
    ];
    let check = |name: &'static str| {
        let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": SCHEMA["$defs"]});
        (name, jsonschema::validator_for(&schema).unwrap())
    };
    names.into_iter().map(check).collect()
});

/// What the editor says to a request of ours; none leaves it open.
type Answers = Box<dyn FnMut(&Value) -> Option<Value>>;

pub struct Editor {
    running: Option<Running>,
    read: usize,
    sent: HashMap<u64, &'static str>,
    next: u64,
    /// Everything that came, in order.
    pub seen: Vec<Value>,
    pub answers: Answers,
}

impl Editor {
    /// Starts it and says hello.
    #[track_caller]
    pub fn start(scene: &Scene, capabilities: Value) -> Self {
        let mut editor = Self::raw(scene);
        let reply = editor.call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": capabilities}),
        );
        assert_eq!(reply["result"]["protocolVersion"], 1, "{reply}");
        editor
    }

    /// Starts it and says nothing.
    #[track_caller]
    pub fn raw(scene: &Scene) -> Self {
        let running = scene.ostler(["acp"]).open_stdin().timeout(WAIT * 2).spawn();
        Self {
            running: Some(running),
            read: 0,
            sent: HashMap::new(),
            next: 1,
            seen: Vec::new(),
            answers: Box::new(|_| None),
        }
    }

    pub fn allow(&mut self, kind: &'static str) {
        self.answers = Box::new(move |request| chosen(request, kind));
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

    pub fn send(&mut self, method: &'static str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.sent.insert(id, method);
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&line.to_string());
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&line.to_string());
    }

    #[track_caller]
    pub fn call(&mut self, method: &'static str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait(id)
    }

    /// Takes lines in until the answer to a request is there.
    #[track_caller]
    pub fn wait(&mut self, id: u64) -> Value {
        self.until(&format!("the answer to {id}"), |message| {
            message.get("method").is_none() && message["id"] == id
        })
    }

    /// Takes lines in until one that is meant.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
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
        self.check(&message);
        self.seen.push(message.clone());
        if message.get("method").is_some()
            && message.get("id").is_some()
            && let Some(result) = (self.answers)(&message)
        {
            let mut reply = json!({"jsonrpc": "2.0", "id": message["id"]});
            let key = match result.get("code") {
                Some(_) => "error",
                None => "result",
            };
            reply[key] = result;
            self.write(&reply.to_string());
        }
        Some(message)
    }

    /// Whether a line is what the protocol says.
    #[track_caller]
    fn check(&self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let (name, value) = match message.get("method").and_then(Value::as_str) {
            Some("session/update") => ("SessionNotification", &message["params"]),
            Some("session/request_permission") => ("RequestPermissionRequest", &message["params"]),
            Some("elicitation/create") => ("CreateElicitationRequest", &message["params"]),
            Some("fs/read_text_file") => ("ReadTextFileRequest", &message["params"]),
            Some("fs/write_text_file") => ("WriteTextFileRequest", &message["params"]),
            Some("terminal/create") => ("CreateTerminalRequest", &message["params"]),
            Some("terminal/output") => ("TerminalOutputRequest", &message["params"]),
            Some("terminal/wait_for_exit") => ("WaitForTerminalExitRequest", &message["params"]),
            Some("terminal/kill") => ("KillTerminalRequest", &message["params"]),
            Some("terminal/release") => ("ReleaseTerminalRequest", &message["params"]),
            Some("$/cancel_request") => ("CancelRequestNotification", &message["params"]),
            Some(method) => panic!("{method} is no method of an agent: {message}"),
            None if message.get("error").is_some() => ("Error", &message["error"]),
            None => {
                let id = message["id"].as_u64().unwrap_or_default();
                let Some(method) = self.sent.get(&id) else {
                    panic!("an answer to nothing: {message}")
                };
                let name = match *method {
                    "initialize" => "InitializeResponse",
                    "session/new" => "NewSessionResponse",
                    "session/load" => "LoadSessionResponse",
                    "session/resume" => "ResumeSessionResponse",
                    "session/list" => "ListSessionsResponse",
                    "session/close" => "CloseSessionResponse",
                    "session/delete" => "DeleteSessionResponse",
                    "session/prompt" => "PromptResponse",
                    "session/set_mode" => "SetSessionModeResponse",
                    "session/set_config_option" => "SetSessionConfigOptionResponse",
                    other => panic!("{other} was answered: {message}"),
                };
                (name, &message["result"])
            }
        };
        let check = &CHECKS[name];
        let faults: Vec<String> = check.iter_errors(value).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}\n{message:#}");
        if name == "SessionNotification" {
            let update: agent_client_protocol::v1::schema::SessionNotification =
                serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"));
            // Nothing of ours is lost on the way through the official types.
            assert_eq!(serde_json::to_value(&update).unwrap(), *value);
        }
    }

    /// A new session in a folder.
    #[track_caller]
    pub fn open(&mut self, cwd: &Path) -> String {
        let reply = self.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        let id = reply["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{reply:#}")).to_owned()
    }

    pub fn send_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// A prompt to its end: why it stopped.
    #[track_caller]
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.send_prompt(session, text);
        let reply = self.wait(id);
        let reason = reply["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{reply:#}")).to_owned()
    }

    /// The updates of one kind, in order.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        let updates = updates.filter(|update| update["sessionUpdate"] == kind);
        updates.cloned().collect()
    }

    /// What was said in pieces.
    pub fn said(&self, kind: &str) -> String {
        let updates = self.updates(kind);
        let texts = updates.iter().filter_map(|u| u["content"]["text"].as_str());
        texts.collect()
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

/// The answer that takes the first option of a kind.
pub fn chosen(request: &Value, kind: &str) -> Option<Value> {
    (request["method"] == "session/request_permission").then(|| {
        let options = request["params"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["kind"] == kind);
        let option = option.unwrap_or_else(|| panic!("no {kind} in {options:?}"));
        json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
    })
}
