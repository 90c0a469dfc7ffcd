//! Sessions that run below another one: each has a log of its own and a task that watches over it. Their asks go to whoever
//! is attached to the parent, their end comes back as news. Whoever drops this stops them all.

use crate::jobs::Jobs;
use crate::policy::Policy;
use crate::standing::Standing;
use ostler_llm::{Effort, Prefix};
use ostler_wire::{
    Ask, Body, Client, Delivery, Delta, Doing, Entry, Event, HubError, Language, Op, Outcome, Role,
    Task, View, Word,
};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Children of one session that run at the same time.
pub const MAX_CHILDREN: usize = 4;
/// News that may wait for a parent that is busy.
const REPORTS: usize = 64;
const ORDERS: usize = 8;
/// How long a child that was told to stop may take before it is dropped.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a child may take to put its things away.
const CLOSING: Duration = Duration::from_secs(2);
/// Of a prompt that is shown.
const PROMPT_CHARS: usize = 80;

/// A session that goes on from another one, in a log of its own.
pub struct Heir {
    /// What was said so far.
    pub entries: Vec<Entry>,
    /// The session that it comes from.
    pub parent: String,
    /// The session whose budget it spends.
    pub purse: String,
    pub prefix: Prefix,
    pub model: String,
    pub effort: Option<Effort>,
    pub policy: Arc<Policy>,
    pub standing: Standing,
    pub title: String,
}

/// Opens the session of a child.
pub type Opener = Box<dyn Fn(Heir) -> Result<(Client, JoinHandle<()>), HubError> + Send + Sync>;

pub struct Children {
    open: Opener,
    pub language: Language,
    /// Commands in the background, which are listed and stopped beside them.
    pub jobs: Arc<Jobs>,
    running: Vec<Child>,
    last: u64,
    reports: mpsc::Receiver<Report>,
    sender: mpsc::Sender<Report>,
    /// Ends that nobody was told of.
    pub ended: VecDeque<Ended>,
    /// Their asks by the id they have in the parent: the child, and the id they have there.
    pub relayed: HashMap<String, (String, String)>,
}

struct Child {
    id: String,
    prompt: String,
    doing: Doing,
    since: Instant,
    ops: mpsc::Sender<Op>,
    orders: mpsc::Sender<Order>,
    watcher: JoinHandle<()>,
}

enum Order {
    Stop,
    /// Stops it at that time; `None` takes the limit off.
    Deadline(Option<Instant>),
}

/// What a child has to say.
pub struct Report {
    pub child: String,
    pub what: What,
}

pub enum What {
    Doing(Doing),
    Asks(Arc<Ask>),
    Ended(Ended),
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub id: String,
    /// Of its log.
    pub session: String,
    pub how: How,
    /// The last answer, or what went wrong.
    pub text: String,
    pub took: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Done,
    Failed,
    Stopped,
    OutOfTime,
}

impl Children {
    pub fn new(open: Opener, jobs: Arc<Jobs>, language: Language) -> Self {
        let (sender, reports) = mpsc::channel(REPORTS);
        Self {
            open,
            language,
            jobs,
            running: Vec::new(),
            last: 0,
            reports,
            sender,
            ended: VecDeque::new(),
            relayed: HashMap::new(),
        }
    }

    /// Starts a prompt in a session of its own, and names it. The error is for the person.
    pub fn start(&mut self, heir: Heir, prompt: &str) -> Result<String, String> {
        if self.running.len() >= MAX_CHILDREN {
            let most = MAX_CHILDREN.to_string();
            return Err(self.language.fill(Word::TasksFull, &[&most]));
        }
        let (client, session) = (self.open)(heir).map_err(|e| e.to_string())?;
        self.last += 1;
        let id = format!("t{}", self.last);
        let (orders, receiver) = mpsc::channel(ORDERS);
        let ops = client.ops.clone();
        let watch = Watch {
            id: id.clone(),
            session_id: client.session_id.clone(),
            client,
            session,
            command: prompt.strip_prefix('/').map(str::to_owned),
            since: Instant::now(),
            language: self.language,
            reports: self.sender.clone(),
            seen: Seen::default(),
        };
        let watcher = tokio::spawn(watch.run(first(prompt), receiver));
        self.running.push(Child {
            id: id.clone(),
            prompt: shortened(prompt),
            doing: Doing::Thinking,
            since: Instant::now(),
            ops,
            orders,
            watcher,
        });
        Ok(id)
    }

    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The ids of those that run, for people.
    pub fn names(&self) -> String {
        let ids: Vec<&str> = self.running.iter().map(|c| c.id.as_str()).collect();
        ids.join(", ")
    }

    pub fn list(&self) -> Vec<Task> {
        let task = |child: &Child| Task {
            id: child.id.clone(),
            prompt: child.prompt.clone(),
            doing: child.doing.clone(),
            seconds: child.since.elapsed().as_secs(),
        };
        self.running.iter().map(task).collect()
    }

    /// The only one that runs, or the one with this id.
    pub fn named(&self, id: &str) -> Option<String> {
        let found = match (id, self.running.as_slice()) {
            ("", [only]) => Some(only),
            _ => self
                .running
                .iter()
                .find(|c| c.id == id || c.id.strip_prefix('t') == Some(id)),
        };
        found.map(|c| c.id.clone())
    }

    /// Asks it to stop; what does not listen is dropped a moment later.
    pub fn stop(&mut self, id: &str) {
        if let Some(child) = self.running.iter_mut().find(|c| c.id == id) {
            child.doing = Doing::Ending;
            // A full queue of orders has a stop in it already.
            let _ = child.orders.try_send(Order::Stop);
        }
    }

    pub fn limit(&mut self, id: &str, time: Option<Duration>) {
        let at = time.and_then(|time| Instant::now().checked_add(time));
        if let Some(child) = self.running.iter().find(|c| c.id == id) {
            let _ = child.orders.try_send(Order::Deadline(at));
        }
    }

    /// What the person said about approval holds for those that run, too.
    pub fn tell_all(&self, line: &str) {
        for child in &self.running {
            post(&child.ops, Op::Command { line: line.into() });
        }
    }

    pub fn ops(&self, id: &str) -> Option<mpsc::Sender<Op>> {
        let child = self.running.iter().find(|c| c.id == id)?;
        Some(child.ops.clone())
    }

    pub async fn next(&mut self) -> Option<Report> {
        self.reports.recv().await
    }

    pub fn try_next(&mut self) -> Option<Report> {
        self.reports.try_recv().ok()
    }

    pub fn is_at(&mut self, id: &str, doing: Doing) {
        if let Some(child) = self.running.iter_mut().find(|c| c.id == id)
            && child.doing != Doing::Ending
        {
            child.doing = doing;
        }
    }

    pub fn end(&mut self, ended: Ended) {
        self.running.retain(|c| c.id != ended.id);
        self.ended.push_back(ended);
    }

    /// Stops all that run and waits until they are gone.
    pub async fn close(&mut self) {
        for child in &self.running {
            let _ = child.orders.try_send(Order::Stop);
        }
        let until = Instant::now() + PATIENCE + CLOSING;
        while !self.running.is_empty() {
            match tokio::time::timeout_at(until, self.reports.recv()).await {
                Ok(Some(Report {
                    what: What::Ended(ended),
                    ..
                })) => self.end(ended),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        for child in self.running.drain(..) {
            child.watcher.abort();
        }
    }
}

/// A send that waits for nobody.
pub fn post(ops: &mpsc::Sender<Op>, op: Op) {
    if let Err(mpsc::error::TrySendError::Full(op)) = ops.try_send(op) {
        let ops = ops.clone();
        tokio::spawn(async move { ops.send(op).await });
    }
}

fn first(prompt: &str) -> Op {
    match prompt.strip_prefix('/') {
        Some(line) => Op::Command { line: line.into() },
        None => Op::Prompt {
            text: prompt.into(),
            delivery: Delivery::Queue,
            images: Vec::new(),
        },
    }
}

pub fn shortened(prompt: &str) -> String {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(PROMPT_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// Looks after one child from its prompt to its end.
struct Watch {
    id: String,
    session_id: String,
    client: Client,
    session: JoinHandle<()>,
    /// It began with a command instead of words.
    command: Option<String>,
    since: Instant,
    language: Language,
    reports: mpsc::Sender<Report>,
    seen: Seen,
}

/// What is known of how it went.
#[derive(Default)]
struct Seen {
    doing: Option<Doing>,
    answer: String,
    error: Option<String>,
    outcome: Option<Outcome>,
    over: bool,
}

impl Watch {
    async fn run(mut self, first: Op, mut orders: mpsc::Receiver<Order>) {
        // A session that is gone already shows by its events.
        let _ = self.client.ops.send(first).await;
        let (mut deadline, mut overdue, mut why) = (None, None, None);
        while !self.seen.over {
            tokio::select! {
                biased;
                order = orders.recv(), if why.is_none() => match order {
                    Some(Order::Deadline(at)) => deadline = at,
                    Some(Order::Stop) | None => why = Some(How::Stopped),
                },
                () = until(deadline), if why.is_none() => why = Some(How::OutOfTime),
                () = until(overdue) => break,
                event = self.client.events.next() => match event {
                    Some(event) => self.event(event).await,
                    None => break,
                },
            }
            if why.is_some() && overdue.is_none() {
                overdue = Some(Instant::now() + PATIENCE);
                post(&self.client.ops, Op::Interrupt);
            }
        }
        self.finish(why).await;
    }

    async fn event(&mut self, event: Event) {
        let doing = match &event {
            Event::Ask(ask) => {
                self.report(What::Asks(ask.clone())).await;
                Some(Doing::Asking)
            }
            Event::Delta(Delta::ToolStarted { name, .. }) => Some(Doing::Running(name.clone())),
            Event::Delta(Delta::Progress { text, .. })
                if text == self.language.say(Word::WaitsToWrite) =>
            {
                Some(Doing::Queueing)
            }
            Event::Delta(Delta::AssistantDelta { .. } | Delta::ReasoningDelta { .. }) => {
                Some(Doing::Thinking)
            }
            Event::Delta(Delta::Unrecorded { message }) => {
                self.seen.error = Some(message.clone());
                self.seen.over = true;
                None
            }
            // A command that could not be sent starts no turn.
            Event::Delta(Delta::View {
                command,
                view: View::Error(why),
            }) if self.command.as_ref() == Some(command) => {
                self.seen.error = Some(why.clone());
                self.seen.over = true;
                None
            }
            Event::Delta(_) => None,
            Event::Entry(entry) => self.seen.entry(entry),
        };
        if doing.is_some() && doing != self.seen.doing {
            self.seen.doing.clone_from(&doing);
            if let Some(doing) = doing {
                self.report(What::Doing(doing)).await;
            }
        }
    }

    async fn report(&self, what: What) {
        let child = self.id.clone();
        // A parent that is gone takes no reports; its orders have ended, too.
        let _ = self.reports.send(Report { child, what }).await;
    }

    async fn finish(mut self, why: Option<How>) {
        let _ = self.client.ops.try_send(Op::Close);
        let gone = async { while self.client.events.next().await.is_some() {} };
        if tokio::time::timeout(CLOSING, gone).await.is_err() {
            self.session.abort();
        }
        let seen = std::mem::take(&mut self.seen);
        let how = match (why, seen.outcome) {
            (Some(how), _) => how,
            (None, Some(Outcome::Done)) => How::Done,
            (None, Some(Outcome::Interrupted)) => How::Stopped,
            (None, _) => How::Failed,
        };
        let text = match how {
            How::Done | How::Stopped | How::OutOfTime => seen.answer,
            How::Failed => seen.error.unwrap_or(seen.answer),
        };
        let ended = Ended {
            id: self.id.clone(),
            session: self.session_id.clone(),
            how,
            text,
            took: self.since.elapsed(),
        };
        self.report(What::Ended(ended)).await;
    }
}

impl Seen {
    fn entry(&mut self, entry: &Entry) -> Option<Doing> {
        match &entry.body {
            Body::Message(message) => {
                if message.role == Role::Assistant && !message.text.trim().is_empty() {
                    self.answer.clone_from(&message.text);
                }
                None
            }
            Body::ToolResult(_) => Some(Doing::Thinking),
            Body::Error(error) => {
                self.error = Some(error.message.clone());
                None
            }
            Body::TurnEnd(end) => {
                self.outcome = Some(end.outcome);
                self.over = true;
                None
            }
            Body::Meta(_)
            | Body::ToolUse(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Notice(_)
            | Body::Interrupted(_)
            | Body::Compaction(_) => None,
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
