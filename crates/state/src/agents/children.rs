//! Sessions that run below another one: each has a log of its own and a task that watches over it. Their asks go to whoever
//! is attached to the parent, their end comes back as news. Whoever drops this stops them all.

mod ended;
mod watch;

use crate::agents::ChildRole;
use crate::agents::foreign::ForeignOrder;
use crate::permissions::PermissionState;
use ostler_guard::{Mode, Policy};
use ostler_llm::{Effort, Prefix};
use ostler_sources::definitions::Definitions;
use ostler_tools::jobs::Jobs;
use ostler_wire::{
    self as wire, Ask, Checkpoint, Client, Delivery, Doing, Entry, HubError, Language, Op,
    OpSender, Task, Word,
};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watch::{Seen, Watch};

pub use ended::{Ended, How, Spent};

/// Calls that may wait to have their child started.
const ASSIGNMENTS: usize = 64;
/// Children that are remembered when they are through.
const MAX_PAST: usize = 50;
/// News that may wait for a parent that is busy.
const REPORTS: usize = 64;
const ORDERS: usize = 8;
/// Checkpoints of children in one turn that are written down.
const MAX_SAVED: usize = 1_000;
/// Refusals of children that are told at most, of one round of calls.
const MAX_REFUSED: usize = 100;
/// How long a child that was told to stop may take before it is dropped.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a child may take to put its things away.
const CLOSING: Duration = Duration::from_secs(2);

/// A session that another one starts, with a log of its own.
#[derive(Clone)]
pub struct ChildSettings {
    /// What was said so far.
    pub entries: Vec<Entry>,
    /// The session that it comes from.
    pub parent: String,
    /// The session whose budget it spends.
    pub budget_session: String,
    /// Of one that goes on as its parent is; one with a role has its own.
    pub prefix: Option<Prefix>,
    pub model: String,
    pub effort: Option<Effort>,
    pub policy: Arc<Policy>,
    pub permissions: PermissionState,
    pub title: String,
    /// The role that it plays, if it does not go on as its parent is.
    pub assigned_role: Option<ChildRole>,
    /// Commands, roles and skills, which are not read anew.
    pub definitions: Definitions,
    /// The task of another agent, if one plays the role.
    pub foreign: Option<ForeignOrder>,
}

/// A child that a call waits for.
pub struct Assignment {
    pub child: ChildSettings,
    pub first: Op,
    pub call: Caller,
    /// Its place among those that may run at once.
    pub slot: OwnedSemaphorePermit,
    pub limit: Option<Duration>,
    /// Stops it.
    pub cancel: CancellationToken,
}

/// The call that a child works for.
pub struct Caller {
    pub id: String,
    pub tool: String,
    /// Where its end is told; the error says why there was no beginning.
    pub reply: oneshot::Sender<Result<Ended, String>>,
}

/// Opens the session of a child.
pub type Opener =
    Box<dyn Fn(ChildSettings) -> Result<(Client, JoinHandle<()>), HubError> + Send + Sync>;

pub struct Children {
    open: Opener,
    pub language: Language,
    /// Commands in the background, which are listed and stopped beside them.
    pub jobs: Arc<Jobs>,
    running: Vec<Child>,
    last: u64,
    reports: mpsc::Receiver<Report>,
    sender: mpsc::Sender<Report>,
    assignments: Assignments,
    /// As many as may run at once.
    slots: Slots,
    /// Ends that nobody was told of.
    pub ended: VecDeque<Ended>,
    /// Those that are through, the oldest first.
    pub past: VecDeque<Ended>,
    /// Their asks by the id they have in the parent: the child, and the id they have there.
    pub relayed: HashMap<String, (String, String)>,
}

/// Places for children that run at once.
#[derive(Clone)]
pub struct Slots {
    pub most: usize,
    pub free: Arc<Semaphore>,
}

impl Slots {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            free: Arc::new(Semaphore::new(most)),
        }
    }
}

/// What calls want done.
struct Assignments {
    assignments: mpsc::Receiver<Assignment>,
    /// Where they hand it in.
    handed: mpsc::Sender<Assignment>,
    mode: Mode,
    /// What those that work for a call saved of the tree.
    saved: Vec<Checkpoint>,
    /// What was refused to them, with their names.
    refused: Vec<String>,
    /// Those that are through, for the log of the parent.
    ended: Vec<wire::Child>,
}

struct Child {
    id: String,
    session_id: String,
    /// The role that it plays; empty for one that goes on as its parent.
    role: String,
    prompt: String,
    doing: Doing,
    tokens: u64,
    since: Instant,
    ops: OpSender,
    orders: mpsc::Sender<Order>,
    watcher: JoinHandle<()>,
    call: Option<Caller>,
    _slot: OwnedSemaphorePermit,
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
    /// A call has one more.
    Started,
    /// What it is at, and the tokens it took so far.
    Doing(Doing, u64),
    Asks(Arc<Ask>),
    /// Ignored files that it was about to remove.
    Saved(Checkpoint),
    /// A call of it was refused because nobody can be asked: what would allow it, for the person.
    Refused(String),
    Ended(Ended),
}

impl Children {
    /// From now on they are opened so.
    pub fn open_with(&mut self, open: Opener) {
        self.open = open;
    }

    pub fn new(open: Opener, jobs: Arc<Jobs>, language: Language, slots: Slots) -> Self {
        let (sender, reports) = mpsc::channel(REPORTS);
        let (handed, assignments) = mpsc::channel(ASSIGNMENTS);
        Self {
            open,
            language,
            jobs,
            running: Vec::new(),
            last: 0,
            reports,
            sender,
            assignments: Assignments {
                assignments,
                handed,
                mode: Mode::Normal,
                saved: Vec::new(),
                refused: Vec::new(),
                ended: Vec::new(),
            },
            slots,
            ended: VecDeque::new(),
            past: VecDeque::new(),
            relayed: HashMap::new(),
        }
    }

    /// Starts a prompt in a session of its own, and names it. The error is for the person.
    pub fn start(&mut self, child: ChildSettings, prompt: &str) -> Result<String, String> {
        let Ok(slot) = self.slots.free.clone().try_acquire_owned() else {
            let most = self.slots.most.to_string();
            return Err(self.language.fill(Word::TasksFull, &[&most]));
        };
        self.begin(child, first(prompt), slot, None, Limits::default())
            .map_err(|(why, _)| why)
    }

    /// Starts what a call wants done, or tells it why not.
    fn carry_out(&mut self, assignment: Assignment) {
        let Assignment {
            child,
            first,
            call,
            slot,
            limit,
            cancel,
        } = assignment;
        let limits = Limits {
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            cancel,
        };
        if let Err((why, Some(call))) = self.begin(child, first, slot, Some(call), limits) {
            // Whoever called may have been stopped.
            let _ = call.reply.send(Err(why));
        }
    }

    fn begin(
        &mut self,
        child: ChildSettings,
        first: Op,
        slot: OwnedSemaphorePermit,
        call: Option<Caller>,
        limits: Limits,
    ) -> Result<String, (String, Option<Caller>)> {
        let role = child
            .assigned_role
            .as_ref()
            .map_or("", |assigned_role| &assigned_role.role)
            .to_owned();
        let prompt = child.title.clone();
        let (client, session) = match (self.open)(child) {
            Ok(opened) => opened,
            Err(why) => return Err((why.to_string(), call)),
        };
        self.last += 1;
        let id = format!("t{}", self.last);
        let (orders, receiver) = mpsc::channel(ORDERS);
        let ops = client.ops.clone();
        let session_id = client.session_id.clone();
        let watch = Watch {
            id: id.clone(),
            about: (role.clone(), prompt.clone()),
            session_id: client.session_id.clone(),
            client,
            session,
            command: match &first {
                Op::Command { line } => Some(line.clone()),
                Op::Say { .. }
                | Op::Prompt { .. }
                | Op::Answer { .. }
                | Op::Interrupt
                | Op::Complete(_)
                | Op::Close
                | Op::Finish => None,
            },
            since: Instant::now(),
            language: self.language,
            reports: self.sender.clone(),
            seen: Seen::default(),
        };
        let watcher = tokio::spawn(watch.run(first, receiver, limits));
        self.running.push(Child {
            id: id.clone(),
            session_id,
            role,
            prompt,
            doing: Doing::Thinking,
            tokens: 0,
            since: Instant::now(),
            ops,
            orders,
            watcher,
            call,
            _slot: slot,
        });
        Ok(id)
    }

    /// Where calls hand in what they want done, and the places there are for it.
    pub fn door(&self) -> (mpsc::Sender<Assignment>, Slots) {
        (self.assignments.handed.clone(), self.slots.clone())
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
            session: child.session_id.clone(),
            prompt: match child.role.as_str() {
                "" => child.prompt.clone(),
                role => format!("{role}: {}", child.prompt),
            },
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

    /// A change of mode holds for those that a call waits for. They pursue no goal of their own.
    pub fn enter(&mut self, mode: Mode) {
        self.assignments.mode = mode;
        let theirs = match mode {
            Mode::Plan => Mode::Plan,
            Mode::Normal | Mode::Goal => Mode::Normal,
        };
        let line = format!("mode {}", theirs.name());
        for child in self.running.iter().filter(|child| child.call.is_some()) {
            post(&child.ops, Op::Command { line: line.clone() });
        }
    }

    pub fn saved(&mut self, checkpoint: Checkpoint) {
        if self.assignments.saved.len() < MAX_SAVED {
            self.assignments.saved.push(checkpoint);
        }
    }

    /// Keeps what was refused to a child, for the log of its parent.
    pub fn refuse(&mut self, child: &str, text: &str) {
        if self.assignments.refused.len() < MAX_REFUSED {
            let text = format!("{}: {text}", self.called(child, None));
            self.assignments.refused.push(text);
        }
    }

    pub fn take_refused(&mut self) -> Vec<String> {
        std::mem::take(&mut self.assignments.refused)
    }

    pub fn take_ended(&mut self) -> Vec<wire::Child> {
        std::mem::take(&mut self.assignments.ended)
    }

    pub fn take_saved(&mut self) -> Vec<Checkpoint> {
        std::mem::take(&mut self.assignments.saved)
    }

    /// The mode as far as the person has said; the turn that runs may not have got to it.
    pub fn mode(&mut self) -> &mut Mode {
        &mut self.assignments.mode
    }

    pub fn ops(&self, id: &str) -> Option<OpSender> {
        let child = self.running.iter().find(|c| c.id == id)?;
        Some(child.ops.clone())
    }

    pub async fn next(&mut self) -> Option<Report> {
        tokio::select! {
            report = self.reports.recv() => report,
            assignment = self.assignments.assignments.recv() => {
                self.carry_out(assignment?);
                let child = self.running.last().map(|c| c.id.clone()).unwrap_or_default();
                let what = What::Started;
                Some(Report { child, what })
            }
        }
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

    /// What the call that a child works for can show of it: the call, its tool, and a line.
    pub fn progress(&mut self, id: &str, tokens: u64) -> Option<(String, String, String)> {
        let language = self.language;
        let child = self.running.iter_mut().find(|c| c.id == id)?;
        child.tokens = tokens;
        let call = child.call.as_ref()?;
        let doing = describe_doing(&child.doing, language);
        let mut parts = vec![format!("{} {}", child.id, child.role), doing];
        if tokens > 0 {
            parts.push(language.fill(Word::TokenCount, &[&tokens.to_string()]));
        }
        Some((call.id.clone(), call.tool.clone(), parts.join(" · ")))
    }

    /// As asks name it. `from` is who asks below it.
    pub fn called(&self, id: &str, from: Option<&str>) -> String {
        let child = self.running.iter().find(|c| c.id == id);
        let role = child.map_or("", |child| child.role.as_str());
        let own = format!("{id} {role}");
        match from {
            Some(below) => format!("{} › {below}", own.trim_end()),
            None => own.trim_end().to_owned(),
        }
    }

    pub fn end(&mut self, ended: Ended) {
        let at = self.running.iter().position(|c| c.id == ended.id);
        let call = at.and_then(|at| self.running.remove(at).call);
        if self.past.len() >= MAX_PAST {
            self.past.pop_front();
        }
        self.past.push_back(ended.clone());
        match call {
            // A call that was stopped had its result already.
            Some(call) => {
                self.assignments.ended.push(ended.entry(Some(call.id)));
                drop(call.reply.send(Ok(ended)));
            }
            None => self.ended.push_back(ended),
        }
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

/// What ends a child beside itself.
#[derive(Default)]
struct Limits {
    deadline: Option<Instant>,
    cancel: CancellationToken,
}

/// A send that waits for nobody.
pub fn post(ops: &OpSender, op: Op) {
    if ops.try_send(op.clone()).is_err() {
        let ops = ops.clone();
        // The session is over, or takes it in as soon as it can.
        tokio::spawn(async move { ops.send(op).await });
    }
}

fn first(prompt: &str) -> Op {
    match prompt.strip_prefix('/') {
        Some(line) => Op::Command { line: line.into() },
        None => post_prompt(prompt.into()),
    }
}

pub fn post_prompt(text: String) -> Op {
    Op::Prompt {
        text,
        delivery: Delivery::Queue,
        images: Vec::new(),
    }
}

/// What a task is at, for people.
pub fn describe_doing(doing: &Doing, language: Language) -> String {
    match doing {
        Doing::Thinking => language.say(Word::DoingThinks).into(),
        Doing::Running(tool) => language.fill(Word::DoingRuns, &[tool]),
        Doing::Queueing => language.say(Word::WaitsToWrite).into(),
        Doing::Asking => language.say(Word::DoingAsks).into(),
        Doing::Ending => language.say(Word::Stopping).into(),
    }
}
