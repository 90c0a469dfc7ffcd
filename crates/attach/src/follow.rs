//! A client that outlives the process that owns its session: when the connection ends, the session is opened again, here or
//! at its next owner, and the front end goes on with the next event.

use ostler_wire::{
    Ask, Body, BoxFuture, Client, Clients, Delta, Entry, EntrySource, Event, HubError, Mode, Op,
    OpLine, OpSender, Reply, SentOp, Snapshot, Subscription, View,
};
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Events that may wait for the front end.
const EVENTS: usize = 256;
/// Ops that may wait for the session.
const OPS: usize = 64;
/// Ops of this client that are remembered until the owner has confirmed them.
const MAX_PENDING: usize = 256;

/// Opens a session again whose connection has ended.
pub trait Reopen: Send + Sync {
    fn reopen(&self, lost: Lost) -> BoxFuture<'_, Result<Client, HubError>>;
    /// What the person is told afterwards.
    fn describe(&self, client: &Client) -> String;
    /// What the person is told when the owner does not answer, or answers again.
    fn describe_silence(&self, clients: &Clients) -> String;
    /// Why an op is too large for another process, as a sentence for the person.
    fn refuse(&self, line: &OpLine) -> Option<String>;
    /// What the person is told of an op that went down with its owner: whether it was carried out is unknown.
    fn describe_lost(&self, op: &Op) -> String;
}

/// A session whose owner is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub session: String,
    /// The last entry that the client has.
    pub after: Option<u64>,
    /// How many clients are older, as far as the client knows.
    pub rank: u64,
    /// How the session stood, with the rules that were added to it.
    pub mode: Mode,
}

/// A client that shows the same session for as long as somebody can be found that has it.
pub fn follow(client: Client, reopen: Arc<dyn Reopen>) -> Client {
    let (ops, sent) = mpsc::channel(OPS);
    let (events, received) = mpsc::channel(EVENTS);
    let source = Arc::new(CurrentSource(Mutex::new(client.events.source().clone())));
    let front = Client {
        session_id: client.session_id.clone(),
        notes: client.notes.clone(),
        snapshot: client.snapshot.clone(),
        ops: OpSender::new(ops, client.ops.client(), Box::new(|| {})),
        events: Subscription::of_pipe(client.events.last(), received, source.clone()),
    };
    let follower = Follower {
        view: client.snapshot.clone(),
        last: client.events.last(),
        client,
        sent,
        events,
        source,
        reopen,
        pending: VecDeque::new(),
        ids: OpIds::default(),
        closing: false,
    };
    tokio::spawn(follower.run());
    front
}

/// The source of whichever client is the present one.
struct CurrentSource(Mutex<Arc<dyn EntrySource>>);

impl CurrentSource {
    fn get(&self) -> Arc<dyn EntrySource> {
        let source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        source.clone()
    }

    fn set(&self, source: Arc<dyn EntrySource>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }
}

impl EntrySource for CurrentSource {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let source = self.get();
        Box::pin(async move { source.entries_after(last).await })
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let source = self.get();
        Box::pin(async move { source.branch().await })
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        let source = self.get();
        Box::pin(async move { source.pending_asks().await })
    }
}

/// Ids for ops to which the front end gave none. They differ from those of every other client.
struct OpIds {
    prefix: String,
    last: u64,
}

impl Default for OpIds {
    fn default() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        Self {
            prefix: format!("{random:016x}-"),
            last: 0,
        }
    }
}

impl OpIds {
    fn next(&mut self) -> String {
        self.last += 1;
        format!("{}{}", self.prefix, self.last)
    }

    fn is_own(&self, id: &str) -> bool {
        id.starts_with(&self.prefix)
    }
}

struct Follower {
    client: Client,
    sent: mpsc::Receiver<SentOp>,
    events: mpsc::Sender<Event>,
    source: Arc<CurrentSource>,
    reopen: Arc<dyn Reopen>,
    /// How the session stands, as the front end was shown it.
    view: Snapshot,
    /// The last entry that the front end was given.
    last: Option<u64>,
    /// Ops that were sent and whose end the owner has not told.
    pending: VecDeque<PendingOp>,
    ids: OpIds,
    /// The front end has ended the session.
    closing: bool,
}

/// An op that was sent.
struct PendingOp {
    line: OpLine,
    /// The owner has it. What it may have carried out is not sent to another.
    arrived: bool,
}

impl PendingOp {
    fn is_prompt(&self) -> bool {
        matches!(self.line.op, Op::Prompt { .. })
    }
}

/// What comes next.
enum Step {
    Op(SentOp),
    /// The front end is gone.
    Left,
    Event(Event),
    /// The connection has ended.
    Lost,
}

impl Follower {
    async fn run(mut self) {
        loop {
            match self.step().await {
                Step::Op(sent) => {
                    let is_end = matches!(sent.op, Op::Close | Op::Finish);
                    // A session elsewhere is not this client's to end.
                    if is_end && self.client.snapshot.clients.is_remote() {
                        return;
                    }
                    self.closing |= is_end;
                    let id = sent.reply_to.op.unwrap_or_else(|| self.ids.next());
                    let line = OpLine {
                        id: Some(id),
                        again: false,
                        op: sent.op.parsed(),
                    };
                    if self.client.snapshot.clients.is_remote()
                        && let Some(why) = self.reopen.refuse(&line)
                    {
                        let reply = Reply {
                            op: self.shown_id(line.id),
                            command: String::new(),
                            view: View::Error(why),
                            more: false,
                        };
                        if !self.hand_out(Event::Reply(Arc::new(reply))).await {
                            return;
                        }
                        continue;
                    }
                    self.remember(&line);
                    // What a session that is over does not take is no loss: `Lost` comes next.
                    let _ = self.client.ops.send_line(line).await;
                }
                Step::Event(event) => {
                    if !self.take_event(event).await {
                        return;
                    }
                }
                Step::Left => return,
                Step::Lost if self.closing => return,
                Step::Lost => {
                    if !self.replace_client().await {
                        return;
                    }
                }
            }
        }
    }

    async fn step(&mut self) -> Step {
        tokio::select! {
            biased;
            sent = self.sent.recv() => sent.map_or(Step::Left, Step::Op),
            event = self.client.events.next() => event.map_or(Step::Lost, Step::Event),
        }
    }

    /// Takes in what the owner says. False when the front end is gone.
    async fn take_event(&mut self, event: Event) -> bool {
        self.confirm(&event);
        let was_silent = self.view.clients.silent;
        let event = match event {
            Event::Delta(Delta::OpArrived { .. }) => return true,
            Event::Delta(Delta::OpDone { op }) if self.ids.is_own(&op) => return true,
            Event::Reply(reply) => {
                let op = self.shown_id(reply.op.clone());
                let reply = Reply::clone(&reply);
                Event::Reply(Arc::new(Reply { op, ..reply }))
            }
            Event::Delta(_) | Event::Entry(_) | Event::Ask(_) => event,
        };
        if !self.hand_out(event).await {
            return false;
        }
        match self.view.clients.silent == was_silent {
            true => true,
            false => {
                let text = self.reopen.describe_silence(&self.view.clients);
                self.announce(View::Text(text)).await
            }
        }
    }

    async fn announce(&mut self, view: View) -> bool {
        let delta = Delta::Announcement {
            view: Box::new(view),
        };
        self.hand_out(Event::Delta(delta)).await
    }

    /// Gives an event to the front end. False when that is gone.
    async fn hand_out(&mut self, event: Event) -> bool {
        self.view.follow(&event);
        if let Event::Entry(entry) = &event {
            self.last = Some(entry.entry);
        }
        self.events.send(event).await.is_ok()
    }

    /// The id that the front end gave to an op.
    fn shown_id(&self, id: Option<String>) -> Option<String> {
        id.filter(|id| !self.ids.is_own(id))
    }

    /// An op that another process is to carry out is remembered until that says what became of it.
    fn remember(&mut self, line: &OpLine) {
        let has_outcome = match &line.op {
            Op::Prompt { .. }
            | Op::Say { .. }
            | Op::Command { .. }
            | Op::Complete(_)
            | Op::Interrupt
            | Op::Answer { .. } => true,
            Op::Close | Op::Finish => false,
        };
        if has_outcome && self.client.snapshot.clients.is_remote() {
            if self.pending.len() >= MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(PendingOp {
                line: line.clone(),
                arrived: false,
            });
        }
    }

    /// What an event says about the ops that were sent: a prompt is an entry in the end, an answer closes its ask, a command
    /// is replied to or done.
    fn confirm(&mut self, event: &Event) {
        match event {
            Event::Entry(entry) => self.confirm_entry(entry),
            Event::Reply(reply) if !reply.more => self.forget(reply.op.as_deref()),
            Event::Delta(Delta::OpDone { op }) => self.forget(Some(op)),
            Event::Delta(Delta::AskClosed { ask, .. }) => {
                let is_answer =
                    |op: &Op| matches!(op, Op::Answer { ask: answered, .. } if answered == ask);
                self.pending.retain(|op| !is_answer(&op.line.op));
            }
            Event::Delta(Delta::OpArrived { op }) => {
                let is_it = |pending: &&mut PendingOp| pending.line.id.as_ref() == Some(op);
                if let Some(pending) = self.pending.iter_mut().find(is_it) {
                    pending.arrived = true;
                }
                self.pending
                    .retain(|op| !(op.arrived && op.line.op == Op::Interrupt));
            }
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        }
    }

    fn confirm_entry(&mut self, entry: &Entry) {
        if let Body::Message(message) = &entry.body {
            self.forget(message.op.as_deref());
        }
    }

    fn forget(&mut self, id: Option<&str>) {
        if id.is_some() {
            self.pending.retain(|op| op.line.id.as_deref() != id);
        }
    }

    /// Takes out what went down with the old owner: commands that it had, completions, and answers to questions that the new one does
    /// not ask.
    fn take_lost(&mut self) -> Vec<OpLine> {
        let asks = &self.client.snapshot.asks;
        let is_lost = |op: &PendingOp| match &op.line.op {
            Op::Command { .. } => op.arrived,
            // Its front end asks anew with the next key.
            Op::Complete(_) => true,
            Op::Answer { ask, .. } => asks.iter().all(|open| open.ask != *ask),
            Op::Prompt { .. } | Op::Say { .. } | Op::Interrupt | Op::Close | Op::Finish => false,
        };
        let (lost, left): (VecDeque<_>, VecDeque<_>) = self.pending.drain(..).partition(is_lost);
        self.pending = left;
        lost.into_iter().map(|op| op.line).collect()
    }

    /// Sends the rest to the new owner; what is an entry of the log by now is not sent twice. What is lost.
    async fn send_again(&mut self) -> Vec<OpLine> {
        for entry in self.source.get().entries_after(self.last).await {
            self.confirm_entry(&entry);
        }
        let lost = self.take_lost();
        // An interrupt is of what was sent before it; what the old owner was at is over.
        let is_interrupt = |op: &PendingOp| op.line.op == Op::Interrupt;
        while self.pending.front().is_some_and(is_interrupt) {
            self.pending.pop_front();
        }
        for op in &mut self.pending {
            op.arrived = false;
            let line = OpLine {
                again: true,
                ..op.line.clone()
            };
            // An owner that is gone already is replaced in its turn, and the op sent again then.
            let _ = self.client.ops.send_line(line).await;
        }
        lost
    }

    /// Goes on with another owner of the session, or as its owner. False when there is none.
    async fn replace_client(&mut self) -> bool {
        let lost = Lost {
            session: self.client.session_id.clone(),
            after: self.last,
            rank: self.view.clients.rank.unwrap_or(0),
            mode: self.view.mode.clone(),
        };
        let reopen = self.reopen.clone();
        let new = tokio::select! {
            new = reopen.reopen(lost) => new,
            () = self.events.closed() => return false,
        };
        let new = match new {
            Ok(new) => new,
            Err(error) => {
                self.announce(View::Error(error.to_string())).await;
                return false;
            }
        };
        self.source.set(new.events.source().clone());
        let (mut withdrawn, text) = (self.withdrawn(&new.snapshot), self.reopen.describe(&new));
        self.client = new;
        let lost = self.send_again().await;
        // A prompt that was just sent again begins a turn.
        if !self.client.snapshot.working && !self.pending.iter().any(PendingOp::is_prompt) {
            withdrawn.push(Delta::Idle);
        }
        if !self.client.snapshot.clients.is_remote() {
            // This process carries them out now.
            self.pending.clear();
        }
        for delta in withdrawn {
            if !self.hand_out(Event::Delta(delta)).await {
                return false;
            }
        }
        self.announce(View::Text(text)).await && self.report_lost(lost).await
    }

    /// Tells the front end which of its ops have no outcome. False when that is gone.
    async fn report_lost(&mut self, lost: Vec<OpLine>) -> bool {
        for OpLine { id, op, .. } in lost {
            let told = || View::Error(self.reopen.describe_lost(&op));
            let (command, view) = match &op {
                Op::Complete(request) => {
                    let unanswered = request.clone().superseded();
                    (String::new(), View::Completion(unanswered))
                }
                Op::Command { line } => (line.clone(), told()),
                Op::Say { .. }
                | Op::Prompt { .. }
                | Op::Answer { .. }
                | Op::Interrupt
                | Op::Close
                | Op::Finish => (String::new(), told()),
            };
            let reply = Reply {
                op: self.shown_id(id),
                command,
                view,
                more: false,
            };
            if !self.hand_out(Event::Reply(Arc::new(reply))).await {
                return false;
            }
        }
        true
    }

    /// What the old owner had under way and the new one has not.
    fn withdrawn(&self, new: &Snapshot) -> Vec<Delta> {
        let close = |ask: &Arc<Ask>| Delta::AskClosed {
            ask: ask.ask.clone(),
            by: None,
            answer: None,
        };
        let mut deltas: Vec<Delta> = self.view.asks.iter().map(close).collect();
        let prompts = new.queue.clone();
        let (tasks, running) = (new.tasks.clone(), new.jobs.clone());
        deltas.push(Delta::Tasks { tasks });
        deltas.push(Delta::Jobs { running });
        deltas.push(Delta::Queue { prompts });
        deltas.push(Delta::Clients(new.clients.clone()));
        deltas.push(Delta::Mode {
            mode: Box::new(new.mode.clone()),
        });
        deltas
    }
}
