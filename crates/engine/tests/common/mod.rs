//! What the engine's integration tests share: a hub in a throw-away workspace with a scripted model behind it, and a session
//! in the hands of a test.
#![allow(dead_code, reason = "what only some tests need")]

pub mod agents;

use ostler_engine::budget::{Budget, Limits};
use ostler_engine::ledger::Ledger;
use ostler_engine::store::Store;
use ostler_engine::tool::ToolSettings;
use ostler_engine::{
    CommandSources, HubSettings, LocalHub, ModelSettings, Models, Paths, PermissionSettings,
    RunSettings, TemplateFolder, ToolSources, Voice,
};
use ostler_guard::{Headless, Policy};
use ostler_host::Local;
use ostler_llm::{Params, Proxies, Secret, Target, Transport, TransportOptions};
use ostler_testkit::{Captured, KEY, Kind, Server, Step, TempWorkspace};
use ostler_wire::{
    Ask, Body, Client, Delivery, Delta, Entry, Event, Hub as _, Language, Op, Open, Origin,
    Outcome, View,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// `mock/<anything>` at the scripted server, in one protocol.
struct Mock {
    kind: Kind,
    base_url: String,
    window: u64,
}

impl Models for Mock {
    fn resolve(&self, reference: Option<&str>) -> Result<Target, String> {
        let reference = reference.unwrap_or("mock/mock-model");
        let Some(model) = reference.strip_prefix("mock/") else {
            return Err(format!("There is no model {reference}."));
        };
        Ok(Target {
            key: Some(Secret::new(KEY).into()),
            window: self.window,
            reasoning: true,
            images: true,
            ..Target::new(
                Origin {
                    provider: "mock".into(),
                    model: model.into(),
                },
                self.kind.config_name(),
                &self.base_url,
            )
        })
    }
}

/// A workspace and a model.
pub struct Bench {
    pub server: Server,
    pub space: TempWorkspace,
    pub kind: Kind,
    /// Of every model, in tokens.
    pub window: u64,
    transport: Arc<Transport>,
}

impl Bench {
    pub fn new(kind: Kind, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(kind, Server::start(steps))
    }

    pub fn with(kind: Kind, server: Server) -> Self {
        Self {
            server,
            space: TempWorkspace::new(),
            kind,
            window: 0,
            transport: Arc::new(Transport::new(TransportOptions {
                proxies: Proxies::None,
                ..TransportOptions::default()
            })),
        }
    }

    /// As the binary would fill them for a run without a terminal.
    pub fn options(&self) -> HubSettings {
        let root = self.space.root().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        HubSettings {
            paths: Paths {
                home: self.space.home().to_owned(),
                user_home: Some(self.space.user_home().to_owned()),
                root: root.clone(),
                project: root.clone(),
                temp: self.space.user_home().join("tmp"),
                sessions: self.space.home().join("sessions"),
            },
            run: RunSettings {
                version: "test".into(),
                save: true,
                interactive: false,
                voice: Voice::Person,
                language: Language::English,
                max_steps: 0,
                recall: true,
                system: "test".into(),
                operator: Vec::new(),
                redactor: Default::default(),
            },
            model: ModelSettings {
                wanted: None,
                models: Arc::new(Mock {
                    kind: self.kind,
                    base_url: self.server.base_url_for(self.kind),
                    window: self.window,
                }),
                params: Params::default(),
                budget: Budget::new(Limits::default(), Ledger::new(self.space.home())),
            },
            context: Default::default(),
            checkpoints: Some(Default::default()),
            permissions: PermissionSettings {
                policy: Policy {
                    headless: Headless::Allow,
                    ..Policy::default()
                },
                watch: None,
                rules: None,
                mode: None,
                plan_tools: Vec::new(),
            },
            hooks: Default::default(),
            tools: ToolSettings {
                shell: vec!["sh".into(), "-c".into()],
                env: vec![("PATH".into(), path)],
                bash_timeout_seconds: 60,
                bash_max_bytes: 32 * 1024,
                writable: vec![root.clone()],
                allow_private: Vec::new(),
                served: None,
                search_url: String::new(),
                ca_file: None,
                envelope: false,
                language: ostler_wire::Language::English,
            },
            toolbox: ToolSources {
                host: Arc::new(Local::new()),
                filter: Vec::new(),
                more: Vec::new(),
                sandbox: Default::default(),
                elsewhere: None,
                pane: None,
                terminal: None,
            },
            mcp: Default::default(),
            agents: Default::default(),
            commands: CommandSources {
                templates: [
                    (self.space.root().join(".ostler/commands"), false),
                    (self.space.home().join("commands"), true),
                ]
                .map(|(path, trusted)| TemplateFolder {
                    path,
                    project: (!trusted).then(|| root.canonicalize().unwrap_or(root.clone())),
                    trusted,
                })
                .to_vec(),
                extras: Vec::new(),
                hub: None,
                places: None,
            },
        }
    }

    /// Opens a session as another process would: nothing is shared with other sessions but the disk and the connection.
    pub async fn open_with(&self, which: Open, change: impl Fn(&mut HubSettings)) -> Session {
        let since = Instant::now();
        loop {
            match self.try_open(which.clone(), &change).await {
                Ok(session) => return session,
                // A process that another test has just forked may hold the lock for a moment.
                Err(why) if why.contains("open in another process") && since.elapsed() < LIMIT => {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                Err(why) => panic!("{why}"),
            }
        }
    }

    pub async fn try_open(
        &self,
        which: Open,
        change: impl FnOnce(&mut HubSettings),
    ) -> Result<Session, String> {
        let hub = self.hub(change);
        let client = hub.open(which).await.map_err(|e| e.to_string())?;
        let log = self.store().path_of(&client.session_id);
        Ok(Session { client, log })
    }

    pub fn hub(&self, change: impl FnOnce(&mut HubSettings)) -> LocalHub {
        let mut options = self.options();
        change(&mut options);
        LocalHub::new(Arc::new(options), self.transport.clone())
    }

    pub async fn open(&self) -> Session {
        self.open_with(Open::New, |_| {}).await
    }

    pub async fn resume(&self, id: &str) -> Session {
        self.open_with(Open::Resume(id.into()), |_| {}).await
    }

    pub fn store(&self) -> Store {
        Store::new(&self.space.home().join("sessions"), self.space.root())
    }

    /// Waits for so many requests while the session goes on.
    pub async fn asked(&self, n: usize) {
        let since = Instant::now();
        while self.server.requests().len() < n {
            assert!(since.elapsed() < LIMIT, "the model is not asked");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub fn request(&self, n: usize) -> Captured {
        self.server.request(n)
    }
}

/// A session in the hands of a test.
pub struct Session {
    pub client: Client,
    pub log: PathBuf,
}

/// What was shown until the turn ended.
#[derive(Debug, Default)]
pub struct Shown {
    pub entries: Vec<Arc<Entry>>,
    pub deltas: Vec<Delta>,
    pub asks: Vec<Arc<Ask>>,
    pub replies: Vec<Arc<ostler_wire::Reply>>,
}

impl Session {
    /// One turn, its asks answered in order; there must be as many as answers.
    pub async fn answered(&mut self, answers: &[(&str, Option<&str>)]) -> Shown {
        self.prompt("go", Delivery::Queue).await;
        let mut answers = answers.iter();
        let shown = self
            .watch(async |session, event| {
                if let Event::Ask(ask) = event {
                    let (choice, reason) = answers
                        .next()
                        .unwrap_or_else(|| panic!("nobody answers {ask:?}"));
                    session.send(Session::answer(ask, choice, *reason)).await;
                }
            })
            .await;
        assert_eq!(answers.len(), 0, "not asked: {shown:?}");
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{shown:?}");
        shown
    }

    pub fn id(&self) -> String {
        self.client.session_id.clone()
    }

    pub async fn send(&self, op: Op) {
        self.client.ops.send(op).await.unwrap();
    }

    pub async fn prompt(&self, text: &str, delivery: Delivery) {
        self.send(Op::Prompt {
            text: text.into(),
            delivery,
            images: Vec::new(),
        })
        .await;
    }

    pub async fn next(&mut self) -> Event {
        let event = tokio::time::timeout(LIMIT, self.client.events.next()).await;
        event
            .expect("the session hangs")
            .expect("the session ended")
    }

    /// Sends a command and waits for what it shows.
    pub async fn command(&mut self, line: &str) -> View {
        self.send(Op::Command { line: line.into() }).await;
        loop {
            if let Event::Reply(reply) = self.next().await
                && reply.command == line
            {
                return reply.view.clone();
            }
        }
    }

    /// Sends a prompt and watches it to the end of its turn.
    pub async fn run(&mut self, text: &str) -> Shown {
        self.prompt(text, Delivery::Queue).await;
        self.finish().await
    }

    /// Watches to the end of the turn.
    pub async fn finish(&mut self) -> Shown {
        self.watch(async |_, _| {}).await
    }

    /// The same, doing something at each event.
    pub async fn watch(&mut self, mut act: impl AsyncFnMut(&Session, &Event)) -> Shown {
        let mut shown = Shown::default();
        loop {
            let event = self.next().await;
            act(self, &event).await;
            let over = match event {
                Event::Entry(entry) => {
                    let over = matches!(entry.body, Body::TurnEnd(_));
                    shown.entries.push(entry);
                    over
                }
                Event::Delta(delta) => {
                    let over = matches!(delta, Delta::Unrecorded { .. });
                    shown.deltas.push(delta);
                    over
                }
                Event::Ask(ask) => {
                    shown.asks.push(ask);
                    false
                }
                Event::Reply(reply) => {
                    shown.replies.push(reply);
                    false
                }
            };
            if over {
                return shown;
            }
        }
    }

    /// Ends the session and waits until it is gone.
    pub async fn close(self) {
        let Client {
            ops, mut events, ..
        } = self.client;
        // It may have ended by itself.
        let _ = ops.send(Op::Close).await;
        drop(ops);
        let gone = async { while events.next().await.is_some() {} };
        tokio::time::timeout(LIMIT, gone)
            .await
            .expect("the session does not end");
    }

    pub fn answer(ask: &Ask, choice: &str, reason: Option<&str>) -> Op {
        Op::Answer {
            ask: ask.ask.clone(),
            choice: choice.into(),
            reason: reason.map(str::to_owned),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.log).unwrap_or_default()
    }

    /// What is in the file now.
    pub fn entries(&self) -> Vec<Entry> {
        ostler_engine::log::read(&self.log).unwrap().0
    }
}

/// Lets every task that can go on do so.
pub async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

impl Shown {
    pub fn outcome(&self) -> Option<Outcome> {
        self.entries.last().and_then(|e| match &e.body {
            Body::TurnEnd(end) => Some(end.outcome),
            _ => None,
        })
    }

    /// The types of the entries, in order.
    pub fn types(&self) -> Vec<&'static str> {
        self.entries.iter().map(|e| e.body.name()).collect()
    }

    /// The envelopes of the results, in order.
    pub fn results(&self) -> Vec<serde_json::Value> {
        let of = |e: &Arc<Entry>| match &e.body {
            Body::ToolResult(result) => Some(result.output.to_value()),
            _ => None,
        };
        self.entries.iter().filter_map(of).collect()
    }

    /// The code of each result that is an error, `ok` for the others.
    pub fn codes(&self) -> Vec<String> {
        let code = |value: serde_json::Value| match value["error"]["code"].as_str() {
            Some(code) => code.to_owned(),
            None => "ok".to_owned(),
        };
        self.results().into_iter().map(code).collect()
    }

    /// Kind and message of the error entry, if there is one.
    pub fn error(&self) -> Option<(String, String)> {
        self.entries.iter().find_map(|e| match &e.body {
            Body::Error(error) => Some((error.kind.clone(), error.message.clone())),
            _ => None,
        })
    }

    /// The decisions of the approval entries.
    pub fn approvals(&self) -> Vec<String> {
        let of = |e: &Arc<Entry>| match &e.body {
            Body::Approval(approval) => Some(approval.decision.as_str().to_owned()),
            _ => None,
        };
        self.entries.iter().filter_map(of).collect()
    }

    pub fn text(&self) -> String {
        let deltas = self.deltas.iter().filter_map(|d| match d {
            Delta::AssistantDelta { text } => Some(text.as_str()),
            _ => None,
        });
        deltas.collect()
    }
}
