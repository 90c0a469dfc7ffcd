//! One server over the life of a process: a task (`Connector`) that connects on demand, learns what the server offers,
//! reconnects when the connection is lost, later each time it fails, and publishes its state. It owns the connection;
//! everything else has a `ServerHandle`.

use crate::client::{Connection, PeerInfo};
use crate::launch::Launcher;
use crate::settings::{Endpoint, Server, ServerContext, Trust};
use crate::{Lists, ToolInfo, cache};
use ostler_wire::{Why, Word};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Commands that may wait.
const MAX_COMMANDS: usize = 64;
/// Before the second try, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Tries that nobody asked for, one after the other.
const MAX_TRIES: u32 = 5;
/// A call waits this long for the next try; one that would wait longer is told why.
const WORTH_WAITING: Duration = Duration::from_secs(5);
/// Lists of a server that keeps changing them are looked at this often at most.
const LIST_PAUSE: Duration = Duration::from_secs(2);

/// How things stand with a server.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub state: State,
    /// What it offers, as far as that is known: now, or from the last time.
    pub lists: Option<Arc<Lists>>,
    /// Counts the changes of `lists`.
    pub edition: u64,
    pub about: PeerInfo,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not started; a call would.
    #[default]
    Idle,
    Starting,
    Ready,
    /// Why.
    Failed(Why),
}

impl State {
    pub fn is_settled(&self) -> bool {
        match self {
            State::Ready | State::Failed(_) => true,
            State::Idle | State::Starting => false,
        }
    }
}

pub enum ConnectorCommand {
    /// The connection, as soon as it stands.
    Connect(oneshot::Sender<Result<Arc<Connection>, Why>>),
    /// To be connected, without waiting for it.
    Start,
    /// Connected anew.
    Restart,
}

/// The way to a connector.
pub struct ServerHandle {
    pub server: Arc<Server>,
    commands: mpsc::Sender<ConnectorCommand>,
    seen: watch::Receiver<Snapshot>,
    /// Tools that the person trusts to read only, as the server calls them; they may change their mind.
    trusted: Mutex<BTreeSet<String>>,
    launcher: Arc<dyn Launcher>,
}

impl ServerHandle {
    /// Starts the connector, and not the server. `cancel` ends both.
    pub fn new(server: Server, context: ServerContext, cancel: CancellationToken) -> Self {
        remember_programs(&server, &context);
        let server = Arc::new(server);
        let cached = context.cache.as_deref();
        let cached = cached.and_then(|folder| cache::load(folder, &server.fingerprint()));
        let snapshot = Snapshot {
            lists: cached.map(|(lists, _)| Arc::new(lists)),
            ..Snapshot::default()
        };
        let launcher = context.launcher.clone();
        let (commands, receiver) = mpsc::channel(MAX_COMMANDS);
        let (sender, seen) = watch::channel(snapshot);
        let keeper = Connector {
            server: server.clone(),
            context,
            commands: receiver,
            seen: sender,
            cancel: cancel.clone(),
            connection: None,
            failures: 0,
            next_try: None,
            next_look: None,
        };
        tokio::spawn(async move {
            tokio::select! {
                () = keeper.run() => {}
                () = cancel.cancelled() => {}
            }
        });
        let trusted = server.trusted_read_only_tools.iter().cloned().collect();
        Self {
            server,
            commands,
            seen,
            trusted: Mutex::new(trusted),
            launcher,
        }
    }

    /// Whether its program runs in a sandbox, by what it depends on now. Blocks.
    pub fn is_confined(&self) -> bool {
        match &self.server.endpoint {
            Endpoint::Program(program) => self.launcher.is_confined(program),
            Endpoint::Address(_) | Endpoint::Unusable(_) => false,
        }
    }

    /// Whether it is a program on this machine.
    pub fn is_program(&self) -> bool {
        matches!(self.server.endpoint, Endpoint::Program(_))
    }

    /// The folder in which its program starts, if that is not the project. Blocks.
    pub fn start_folder(&self) -> Option<PathBuf> {
        match &self.server.endpoint {
            Endpoint::Program(program) => {
                let chosen = program.cwd.clone();
                chosen.or_else(|| self.launcher.unchosen_folder(program))
            }
            Endpoint::Address(_) | Endpoint::Unusable(_) => None,
        }
    }

    fn trusted(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn trusts(&self, tool: &str) -> bool {
        self.trusted().contains(tool)
    }

    pub fn trust(&self, tools: &[String], trust: Trust) {
        let mut trusted = self.trusted();
        for tool in tools {
            match trust {
                Trust::Yes => trusted.insert(tool.clone()),
                Trust::No => trusted.remove(tool),
            };
        }
    }

    /// Tools that it says only read, and those that are trusted to, as it calls them.
    pub fn readers(&self) -> Vec<String> {
        let lists = self.snapshot().lists.unwrap_or_default();
        let reads = |tool: &&ToolInfo| tool.read_only || self.trusts(&tool.name);
        let readers = lists.tools.iter().filter(reads);
        readers.map(|tool| tool.name.clone()).collect()
    }

    pub fn snapshot(&self) -> Snapshot {
        self.seen.borrow().clone()
    }

    /// Waits until it is known whether the server works.
    pub async fn settled(&self) {
        let mut seen = self.seen.clone();
        // A connector that is gone keeps nobody waiting.
        let _ = seen.wait_for(|s| s.state.is_settled()).await;
    }

    /// Waits for no answer. A full queue already holds a command that connects, so this one may be dropped.
    pub fn send(&self, send: ConnectorCommand) {
        let _ = self.commands.try_send(send);
    }

    pub async fn connection(&self) -> Result<Arc<Connection>, Why> {
        let gone = || Why::from(Word::McpClosing);
        let (sender, receiver) = oneshot::channel();
        self.commands
            .send(ConnectorCommand::Connect(sender))
            .await
            .map_err(|_| gone())?;
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }
}

struct Connector {
    server: Arc<Server>,
    context: ServerContext,
    commands: mpsc::Receiver<ConnectorCommand>,
    seen: watch::Sender<Snapshot>,
    cancel: CancellationToken,
    connection: Option<Arc<Connection>>,
    /// One after the other.
    failures: u32,
    next_try: Option<Instant>,
    /// Something has changed; when it may be looked at.
    next_look: Option<Instant>,
}

impl Connector {
    async fn run(mut self) {
        loop {
            let connection = self.connection.clone();
            let (lost, changed) = (lost(connection.as_deref()), changed(connection.as_deref()));
            let (next_try, next_look) = (self.next_try, self.next_look);
            tokio::select! {
                send = self.commands.recv() => match send {
                    Some(send) => self.grant(send).await,
                    None => return,
                },
                () = lost => self.lose(),
                () = changed, if next_look.is_none() => {
                    self.next_look = Some(Instant::now() + LIST_PAUSE);
                }
                () = at(next_look) => {
                    self.next_look = None;
                    self.look_again().await;
                }
                () = at(next_try), if connection.is_none() => self.connect().await,
            }
        }
    }

    async fn grant(&mut self, send: ConnectorCommand) {
        match send {
            ConnectorCommand::Connect(reply) => {
                let connection = self.wanted().await;
                // Whoever asked may have been stopped.
                let _ = reply.send(connection);
            }
            ConnectorCommand::Start => {
                if self.connection.is_none() && self.next_try.is_none() {
                    self.connect().await;
                }
            }
            ConnectorCommand::Restart => {
                if let Some(connection) = self.connection.take() {
                    connection.over.cancel();
                }
                self.failures = 0;
                self.connect().await;
            }
        }
    }

    async fn wanted(&mut self) -> Result<Arc<Connection>, Why> {
        if self
            .connection
            .as_ref()
            .is_some_and(|connection| connection.is_over())
        {
            self.lose();
        }
        if let Some(connection) = &self.connection {
            return Ok(connection.clone());
        }
        if let Some(at) = self.next_try {
            let wait = at.saturating_duration_since(Instant::now());
            if wait > WORTH_WAITING {
                let why = self.why();
                let seconds = wait.as_secs().to_string();
                return Err(Why::ours(Word::McpAgain, [why, seconds.into()]));
            }
            tokio::time::sleep(wait).await;
        }
        self.connect().await;
        self.connection.clone().ok_or_else(|| self.why())
    }

    fn why(&self) -> Why {
        match &self.seen.borrow().state {
            State::Failed(why) => why.clone(),
            State::Idle | State::Starting | State::Ready => Word::McpApart.into(),
        }
    }

    async fn connect(&mut self) {
        self.next_try = None;
        self.tell(State::Starting);
        let cancel = self.cancel.child_token();
        match Connection::open_and_list(&self.server, &self.context, cancel).await {
            Ok((connection, lists)) => {
                self.failures = 0;
                let about = connection.about();
                self.connection = Some(Arc::new(connection));
                self.learn(lists);
                self.seen.send_modify(|s| {
                    s.about = about;
                    s.state = State::Ready;
                });
            }
            Err(failed) => self.fail(failed.why),
        }
    }

    fn fail(&mut self, why: Why) {
        self.connection = None;
        self.failures += 1;
        let doublings = (self.failures - 1).min(16);
        let pause = FIRST_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE);
        // Later tries wait for somebody who wants the server.
        self.next_try = (self.failures < MAX_TRIES).then(|| Instant::now() + pause);
        self.tell(State::Failed(why));
    }

    /// The connection is over, and nobody meant it to be.
    fn lose(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        connection.over.cancel();
        self.fail(connection.end_reason());
    }

    async fn look_again(&mut self) {
        let Some(connection) = self.connection.clone() else {
            return;
        };
        let looking = connection.lists(&self.server);
        // Who does not say what it offers now offers what it did.
        if let Ok(Ok(lists)) = tokio::time::timeout(self.context.settings.start, looking).await {
            self.learn(lists);
        }
    }

    fn learn(&mut self, lists: Lists) {
        let old = self.seen.borrow().lists.clone();
        if old.as_deref() == Some(&lists) && self.is_kept() {
            return;
        }
        if let Some(folder) = &self.context.cache {
            // What is not kept is asked for again the next time.
            let _ = cache::keep(folder, &self.server.fingerprint(), &lists);
        }
        if old.as_deref() == Some(&lists) {
            return;
        }
        self.seen.send_modify(|s| {
            s.lists = Some(Arc::new(lists));
            s.edition += 1;
        });
    }

    fn is_kept(&self) -> bool {
        let kept = self.context.cache.as_deref();
        let kept = kept.and_then(|folder| cache::load(folder, &self.server.fingerprint()));
        kept.is_some_and(|(_, is_recent)| is_recent)
    }

    fn tell(&self, state: State) {
        self.seen.send_modify(|s| s.state = state);
    }
}

/// Programs that the server is or uses are named to the launcher before a command can run.
fn remember_programs(server: &Server, context: &ServerContext) {
    match &server.endpoint {
        Endpoint::Program(program) => context.launcher.remember(program),
        Endpoint::Address(address) => {
            if let Some(helper) = address.helper(context) {
                context.launcher.remember(&helper);
            }
        }
        Endpoint::Unusable(_) => {}
    }
}

async fn lost(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.over.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn changed(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.pending.changed().await,
        None => std::future::pending().await,
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
