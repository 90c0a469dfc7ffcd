//! A server that runs: the real binary with a scripted vendor.

use super::common::Scene;
use super::http::{Events, Request, Response};
use ostler_testkit::{Kind, Running, Server, Signal, Step};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

pub const TOKEN: &str = "a-token-for-these-tests-only";

pub struct Bench {
    pub scene: Scene,
    pub address: SocketAddr,
    pub running: Option<Running>,
}

impl Bench {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Bench {
        Bench::with("", steps)
    }

    /// `config` follows `[serve] token`.
    pub fn with(config: &str, steps: impl IntoIterator<Item = Step>) -> Bench {
        let config = format!("[serve]\ntoken = '{TOKEN}'\n{config}");
        let scene = Scene::with_config(Kind::Chat, &config, steps);
        Bench::of(scene, &[])
    }

    /// A server whose person has no model yet; the vendor is there all the same.
    pub fn without_model(vendor: Server) -> Bench {
        let scene = Scene::of(Kind::Chat, "", vendor);
        let config = format!("[serve]\ntoken = '{TOKEN}'\n");
        let file = scene.space.home().join("config.toml");
        scene.space.write(file, config);
        Bench::of(scene, &[])
    }

    pub fn of(scene: Scene, flags: &[&str]) -> Bench {
        let port: &[&str] = match flags.contains(&"--port") {
            true => &[],
            false => &["--port", "0"],
        };
        let run = scene.ostler(["serve"]).args(port).args(flags);
        let running = run.timeout(Duration::from_secs(120)).spawn();
        let line = running.wait_stdout("\n");
        let rest = line.trim().strip_prefix("http://").expect("an address");
        let address = rest.split('/').next().unwrap_or_default();
        Bench {
            address: address.parse().expect("an address"),
            scene,
            running: Some(running),
        }
    }

    /// A request without a login.
    pub fn bare(&self, method: &str, path: &str) -> Request {
        Request::new(self.address, method, path)
    }

    pub fn ask(&self, method: &str, path: &str) -> Request {
        let request = self.bare(method, path);
        request.header("Authorization", format!("Bearer {TOKEN}"))
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path).send().is(200).json()
    }

    #[track_caller]
    pub fn project(&self) -> String {
        let all = self.get("/api/projects");
        all["projects"][0]["id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub fn open(&self, which: Value) -> Value {
        let body = json!({"project": self.project(), "open": which});
        self.ask("POST", "/api/sessions")
            .json(&body)
            .send()
            .is(201)
            .json()
    }

    /// The id of a new session.
    #[track_caller]
    pub fn new_session(&self) -> String {
        let opened = self.open(json!("new"));
        opened["id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub fn op(&self, session: &str, op: Value) -> Response {
        let path = format!("/api/sessions/{session}/ops");
        self.ask("POST", &path).json(&op).send()
    }

    #[track_caller]
    pub fn say(&self, session: &str, text: &str) {
        self.op(session, json!({"op": "say", "text": text})).is(202);
    }

    /// The stream of one session after an entry.
    #[track_caller]
    pub fn events(&self, session: &str, after: Option<u64>) -> Events {
        let after = after.map_or_else(String::new, |after| format!("?after={after}"));
        let path = format!("/api/sessions/{session}/events{after}");
        self.ask("GET", &path).stream()
    }

    /// Runs a prompt to the end of its turn; the entries that the stream had.
    #[track_caller]
    pub fn turn(&self, session: &str, prompt: &str) -> Vec<Value> {
        let head = self.get(&format!("/api/sessions/{session}"))["head"].as_u64();
        let mut events = self.events(session, head);
        self.say(session, prompt);
        let seen = events.until("the end of the turn", |e| e.data["type"] == "turn_end");
        seen.into_iter()
            .filter(|e| e.id.is_some())
            .map(|e| e.data)
            .collect()
    }

    pub fn stop(&mut self) -> ostler_testkit::Output {
        let running = self.running.take().expect("it runs");
        running.signal(Signal::Interrupt);
        running.wait()
    }
}
