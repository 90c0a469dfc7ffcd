//! A client that outlives the process that owns its session: when the connection ends, the session is opened again, here or
//! at its next owner, and the front end goes on with the next event.

use ostler_wire::{
    Ask, Body, BoxFuture, Client, Delta, Entry, EntrySource, Event, HubError, Op, OpLine, OpSender,
    Role, SentOp, Snapshot, Subscription, View,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Events that may wait for the front end.
const EVENTS: usize = 256;
/// Ops that may wait for the session.
const OPS: usize = 64;
/// Prompts of this client that are remembered until they are entries.
const MAX_PROMPTS: usize = 256;

/// Opens a session again whose connection has ended.
pub trait Reopen: Send + Sync {
    fn reopen(&self, lost: Lost) -> BoxFuture<'_, Result<Client, HubError>>;
    /// What the person is told afterwards.
    fn describe(&self, client: &Client) -> String;
}

/// A session whose owner is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub session: String,
    /// The last entry that the client has.
    pub after: Option<u64>,
    /// How many clients are older, as far as the client knows.
    pub rank: u64,
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
        prompts: VecDeque::new(),
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
    /// Prompts that were sent and are not among the entries yet.
    prompts: VecDeque<OpLine>,
    /// The front end has ended the session.
    closing: bool,
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
                    let (id, op) = (sent.reply_to.op, sent.op.parsed());
                    let line = OpLine { id, op };
                    self.remember_prompt(&line);
                    // What a session that is over does not take is no loss: `Lost` comes next.
                    let _ = self.client.ops.send_line(line).await;
                }
                Step::Event(event) => {
                    if !self.hand_out(event).await {
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

    /// Gives an event to the front end. False when that is gone.
    async fn hand_out(&mut self, event: Event) -> bool {
        self.view.follow(&event);
        if let Event::Entry(entry) = &event {
            self.last = Some(entry.entry);
            self.forget_prompt(entry);
        }
        self.events.send(event).await.is_ok()
    }

    fn remember_prompt(&mut self, line: &OpLine) {
        if matches!(line.op, Op::Prompt { .. }) {
            if self.prompts.len() >= MAX_PROMPTS {
                self.prompts.pop_front();
            }
            self.prompts.push_back(line.clone());
        }
    }

    /// An entry may be one of the prompts that were sent.
    fn forget_prompt(&mut self, entry: &Entry) {
        let Body::Message(message) = &entry.body else {
            return;
        };
        let texts = [Some(&message.text), message.typed.as_ref()];
        let is_it = |line: &OpLine| match &line.op {
            Op::Prompt { text, .. } => texts.contains(&Some(text)),
            Op::Say { .. }
            | Op::Answer { .. }
            | Op::Interrupt
            | Op::Command { .. }
            | Op::Close
            | Op::Finish => false,
        };
        if message.role == Role::User
            && let Some(at) = self.prompts.iter().position(is_it)
        {
            self.prompts.remove(at);
        }
    }

    /// Sends what still waited at the old owner to the new one. A prompt that the old one may have taken in is not sent
    /// twice: it was no longer in the queue, or is an entry by now.
    async fn send_again(&mut self) {
        for entry in self.source.get().entries_after(self.last).await {
            self.forget_prompt(&entry);
        }
        let queue = &self.view.queue;
        let waited = |line: &OpLine| match &line.op {
            // The queue shows the beginning of a long prompt.
            Op::Prompt { text, .. } => queue.iter().any(|queued| {
                let shown = queued.text.trim_end_matches('…');
                text.starts_with(shown)
            }),
            Op::Say { .. }
            | Op::Answer { .. }
            | Op::Interrupt
            | Op::Command { .. }
            | Op::Close
            | Op::Finish => false,
        };
        self.prompts.retain(waited);
        for line in &self.prompts {
            // An owner that is gone already is replaced in its turn, and the prompt sent again then.
            let _ = self.client.ops.send_line(line.clone()).await;
        }
    }

    /// Goes on with another owner of the session, or as its owner. False when there is none.
    async fn replace_client(&mut self) -> bool {
        let lost = Lost {
            session: self.client.session_id.clone(),
            after: self.last,
            rank: self.view.clients.rank.unwrap_or(0),
        };
        let reopen = self.reopen.clone();
        let new = tokio::select! {
            new = reopen.reopen(lost) => new,
            () = self.events.closed() => return false,
        };
        let new = match new {
            Ok(new) => new,
            Err(error) => {
                let view = View::Error(error.to_string());
                self.hand_out(Event::Delta(Delta::Announcement { view }))
                    .await;
                return false;
            }
        };
        self.source.set(new.events.source().clone());
        let (withdrawn, view) = (self.withdrawn(&new.snapshot), self.reopen.describe(&new));
        self.client = new;
        self.send_again().await;
        for delta in withdrawn {
            if !self.hand_out(Event::Delta(delta)).await {
                return false;
            }
        }
        let view = View::Text(view);
        self.hand_out(Event::Delta(Delta::Announcement { view }))
            .await
    }

    /// What the old owner had under way and the new one has not.
    fn withdrawn(&self, new: &Snapshot) -> Vec<Delta> {
        let close = |ask: &Arc<Ask>| Delta::AskClosed {
            ask: ask.ask.clone(),
            by: None,
        };
        let mut deltas: Vec<Delta> = self.view.asks.iter().map(close).collect();
        let prompts = new.queue.clone();
        let (tasks, running) = (new.tasks.clone(), new.jobs.clone());
        deltas.push(Delta::Tasks { tasks });
        deltas.push(Delta::Jobs { running });
        deltas.push(Delta::Queue { prompts });
        deltas.push(Delta::Standing {
            mode: new.mode.clone(),
        });
        deltas
    }
}
