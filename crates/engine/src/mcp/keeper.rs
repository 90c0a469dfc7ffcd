//! Keeps one server: a task that connects when it is wanted, learns what the server offers, connects anew when it is
//! lost, later each time it fails, and tells how things stand. It owns the connection; everybody else asks it.

use super::client::{About, Link};
use super::originals;
use super::settings::{Server, Surroundings, Trust};
use super::{Lists, ToolInfo, cache};
use ostler_wire::{Why, Word};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Wishes that may wait.
const MAX_WISHES: usize = 64;
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
    pub about: About,
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

pub enum Wish {
    /// The connection, as soon as it stands.
    Connect(oneshot::Sender<Result<Arc<Link>, Why>>),
    /// To be connected, without waiting for it.
    Start,
    /// Connected anew.
    Restart,
}

/// The way to a keeper.
pub struct Kept {
    pub server: Arc<Server>,
    wishes: mpsc::Sender<Wish>,
    seen: watch::Receiver<Snapshot>,
    /// Tools that the person trusts to read only, as the server calls them; they may change their mind.
    trusted: Mutex<BTreeSet<String>>,
}

impl Kept {
    /// Starts the keeper, and not the server. `cancel` ends both.
    pub fn new(server: Server, around: Surroundings, cancel: CancellationToken) -> Self {
        originals::remember_server(&server, &around);
        let server = Arc::new(server);
        let cached = around.cache.as_deref();
        let cached = cached.and_then(|folder| cache::load(folder, &server.fingerprint()));
        let snapshot = Snapshot {
            lists: cached.map(|(lists, _)| Arc::new(lists)),
            ..Snapshot::default()
        };
        let (wishes, receiver) = mpsc::channel(MAX_WISHES);
        let (sender, seen) = watch::channel(snapshot);
        let keeper = Keeper {
            server: server.clone(),
            around,
            wishes: receiver,
            seen: sender,
            cancel: cancel.clone(),
            link: None,
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
            wishes,
            seen,
            trusted: Mutex::new(trusted),
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
        // A keeper that is gone keeps nobody waiting.
        let _ = seen.wait_for(|s| s.state.is_settled()).await;
    }

    /// A wish that waits for no answer. Whoever has so many already gets this one, too.
    pub fn wish(&self, wish: Wish) {
        let _ = self.wishes.try_send(wish);
    }

    pub async fn link(&self) -> Result<Arc<Link>, Why> {
        let gone = || Why::from(Word::McpClosing);
        let (sender, receiver) = oneshot::channel();
        self.wishes
            .send(Wish::Connect(sender))
            .await
            .map_err(|_| gone())?;
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }
}

struct Keeper {
    server: Arc<Server>,
    around: Surroundings,
    wishes: mpsc::Receiver<Wish>,
    seen: watch::Sender<Snapshot>,
    cancel: CancellationToken,
    link: Option<Arc<Link>>,
    /// One after the other.
    failures: u32,
    next_try: Option<Instant>,
    /// Something has changed; when it may be looked at.
    next_look: Option<Instant>,
}

impl Keeper {
    async fn run(mut self) {
        loop {
            let link = self.link.clone();
            let (lost, changed) = (lost(link.as_deref()), changed(link.as_deref()));
            let (next_try, next_look) = (self.next_try, self.next_look);
            tokio::select! {
                wish = self.wishes.recv() => match wish {
                    Some(wish) => self.grant(wish).await,
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
                () = at(next_try), if link.is_none() => self.connect().await,
            }
        }
    }

    async fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Connect(reply) => {
                let link = self.wanted().await;
                // Whoever asked may have been stopped.
                let _ = reply.send(link);
            }
            Wish::Start => {
                if self.link.is_none() && self.next_try.is_none() {
                    self.connect().await;
                }
            }
            Wish::Restart => {
                if let Some(link) = self.link.take() {
                    link.over.cancel();
                }
                self.failures = 0;
                self.connect().await;
            }
        }
    }

    async fn wanted(&mut self) -> Result<Arc<Link>, Why> {
        if self.link.as_ref().is_some_and(|link| link.is_over()) {
            self.lose();
        }
        if let Some(link) = &self.link {
            return Ok(link.clone());
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
        self.link.clone().ok_or_else(|| self.why())
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
        match Link::meet(&self.server, &self.around, cancel).await {
            Ok((link, lists)) => {
                self.failures = 0;
                let about = link.about();
                self.link = Some(Arc::new(link));
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
        self.link = None;
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
        let Some(link) = self.link.take() else {
            return;
        };
        link.over.cancel();
        self.fail(link.obituary());
    }

    async fn look_again(&mut self) {
        let Some(link) = self.link.clone() else {
            return;
        };
        let looking = link.lists(&self.server);
        // Who does not say what it offers now offers what it did.
        if let Ok(Ok(lists)) = tokio::time::timeout(self.around.settings.start, looking).await {
            self.learn(lists);
        }
    }

    fn learn(&mut self, lists: Lists) {
        let old = self.seen.borrow().lists.clone();
        if old.as_deref() == Some(&lists) && self.is_kept() {
            return;
        }
        if let Some(folder) = &self.around.cache {
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
        let kept = self.around.cache.as_deref();
        let kept = kept.and_then(|folder| cache::load(folder, &self.server.fingerprint()));
        kept.is_some_and(|(_, is_recent)| is_recent)
    }

    fn tell(&self, state: State) {
        self.seen.send_modify(|s| s.state = state);
    }
}

async fn lost(link: Option<&Link>) {
    match link {
        Some(link) => link.over.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn changed(link: Option<&Link>) {
    match link {
        Some(link) => link.talk.changed().await,
        None => std::future::pending().await,
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
