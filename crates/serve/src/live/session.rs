//! One session that the server has open: a client of it that stays, what it has shown so far, and who waits for replies.

use super::lines::Lines;
use crate::backend::Backend;
use crate::problem::{Kind, Problem};
use ostler_wire::{
    Body, BoxFuture, Client, ClientId, Delta, Entry, EntrySource, Event, Op, OpLine, OpSender,
    Outcome, Posted, Replies, Reply, Snapshot, Subscription, Word,
};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// Events that a stream may fall behind before it reads from the log what it missed.
const RING: usize = 512;
/// Replies that nobody waits for, on their way to streams.
const LOOSE: usize = 64;
/// How long a request waits for the replies to its command; later ones come with the events.
const PATIENCE: Duration = Duration::from_secs(120);
/// Requests that wait for one session.
const MAX_WAITING: usize = 64;

/// What a session is at, for lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Working,
    /// It waits for an answer.
    Asks,
    Idle,
    /// The last turn ended with an error.
    Failed,
    /// This server does not have it open.
    Closed,
    /// It is gone; only streams say so.
    Deleted,
}

pub struct OpenSession {
    pub id: String,
    pub project: String,
    /// What happened on opening.
    pub notes: Vec<String>,
    ops: OpSender,
    source: Arc<dyn EntrySource>,
    shared: Mutex<Shared>,
    loose: broadcast::Sender<Arc<Reply>>,
    lines: Lines,
    /// The session is over, or is no longer held open here.
    over: CancellationToken,
}

struct Shared {
    snapshot: Snapshot,
    head: Option<u64>,
    failed: bool,
    posts: broadcast::Sender<Posted>,
    waiting: HashMap<String, mpsc::UnboundedSender<Heard>>,
    streams: usize,
    /// Since when nothing has happened.
    quiet_since: Instant,
}

/// What a request that waits for its op is told.
enum Heard {
    Reply(Arc<Reply>),
    Done,
}

/// How a session stood at one moment.
pub struct Standing {
    pub snapshot: Snapshot,
    pub head: Option<u64>,
}

/// What came of an op.
pub enum Outcomes {
    Replies(Vec<Arc<Reply>>),
    /// It was sent, and gives back nothing, or later.
    Sent,
}

impl OpenSession {
    /// The session, and the events that are to be fed to it.
    pub fn new(client: Client, project: String) -> (Arc<Self>, Subscription) {
        let Client {
            session_id,
            notes,
            mut snapshot,
            ops,
            events,
        } = client;
        // They come again as the first events of a client that joins in the middle.
        forget_partial(&mut snapshot);
        let session = Self {
            id: session_id,
            project,
            notes,
            ops,
            source: events.source().clone(),
            shared: Mutex::new(Shared {
                snapshot,
                head: events.last(),
                failed: false,
                posts: broadcast::Sender::new(RING),
                waiting: HashMap::new(),
                streams: 0,
                quiet_since: Instant::now(),
            }),
            loose: broadcast::Sender::new(LOOSE),
            lines: Lines::default(),
            over: CancellationToken::new(),
        };
        (Arc::new(session), events)
    }

    pub fn standing(&self) -> Standing {
        let shared = self.lock();
        Standing {
            snapshot: shared.snapshot.clone(),
            head: shared.head,
        }
    }

    pub fn state(&self) -> State {
        match self.over.is_cancelled() {
            true => State::Closed,
            false => self.lock().state(),
        }
    }

    /// Long entries as streams write them.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    pub fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Whether nobody has looked at it for this long, and it is at nothing.
    pub fn is_left_alone(&self, time: Duration) -> bool {
        let shared = self.lock();
        let snapshot = &shared.snapshot;
        let is_busy = snapshot.working
            || !snapshot.asks.is_empty()
            || !snapshot.tasks.is_empty()
            || !snapshot.jobs.is_empty()
            || !snapshot.queue.is_empty();
        shared.streams == 0
            && shared.waiting.is_empty()
            && !is_busy
            && shared.quiet_since.elapsed() >= time
    }

    /// Somebody is about to use it.
    pub fn touch(&self) {
        self.lock().quiet_since = Instant::now();
    }

    /// Takes in an event and passes it on. True when what lists say of the session has changed.
    pub fn take(&self, event: Event) -> bool {
        let mut shared = self.lock();
        let before = shared.state();
        shared.quiet_since = Instant::now();
        match &event {
            Event::Reply(reply) => {
                if !shared.answer(reply) {
                    // Without a stream nobody is there to read it.
                    let _ = self.loose.send(reply.clone());
                }
                return false;
            }
            // Between the owner of the session and this process.
            Event::Delta(Delta::OpArrived { .. }) => return false,
            Event::Delta(Delta::OpDone { op }) => {
                shared.finish(op);
                return false;
            }
            Event::Entry(entry) => shared.follow_entry(entry),
            Event::Delta(_) | Event::Ask(_) => {}
        }
        shared.snapshot.follow(&event);
        let is_end = matches!(&event, Event::Entry(e) if matches!(e.body, Body::TurnEnd(_) | Body::Settings(_)));
        // Without a stream the log has it.
        let _ = shared.posts.send(Posted { to: None, event });
        is_end || shared.state() != before
    }

    /// The session is over: who waits is told.
    pub fn end(&self) {
        self.lock().waiting.clear();
        self.over.cancel();
    }

    pub async fn close(&self) {
        // One that is over already needs no telling.
        let _ = self.ops.send(Op::Close).await;
    }

    /// Sends an op, and waits for what a command gives back.
    pub async fn send(&self, line: OpLine, backend: &dyn Backend) -> Result<Outcomes, Problem> {
        let language = backend.about().language;
        let closed = || Problem::closed(language);
        let line = OpLine {
            id: Some(line.id.unwrap_or_else(crate::auth::random_key)),
            again: line.again,
            op: line.op.parsed(),
        };
        let waits = matches!(line.op, Op::Command { .. } | Op::Complete(_));
        self.touch();
        if !waits {
            let sent = self.ops.send_line(line).await;
            return sent.map(|()| Outcomes::Sent).map_err(|_| closed());
        }
        let id = line.id.clone().unwrap_or_default();
        let (sender, mut heard) = mpsc::unbounded_channel();
        {
            let mut shared = self.lock();
            if shared.waiting.contains_key(&id) || shared.waiting.len() >= MAX_WAITING {
                return Err(Problem::new(
                    Kind::Conflict,
                    language.say(Word::ServeOpWaits),
                ));
            }
            shared.waiting.insert(id.clone(), sender);
        }
        let _waiting = Waiting {
            session: self,
            id: &id,
        };
        self.ops.send_line(line).await.map_err(|_| closed())?;
        let mut replies = Vec::new();
        let all = async {
            while let Some(heard) = heard.recv().await {
                match heard {
                    Heard::Reply(reply) => {
                        let more = reply.more;
                        replies.push(reply);
                        if !more {
                            return true;
                        }
                    }
                    Heard::Done => return true,
                }
            }
            false
        };
        let is_done = tokio::time::timeout(PATIENCE, all).await;
        match (is_done, replies.is_empty()) {
            (_, false) => Ok(Outcomes::Replies(replies)),
            (Ok(true) | Err(_), true) => Ok(Outcomes::Sent),
            (Ok(false), true) => Err(closed()),
        }
    }

    /// What happens from now on, after everything since the entry `after`; `None` for all of it.
    pub async fn join(self: &Arc<Self>, after: Option<u64>) -> Joined {
        let (mut snapshot, head, live, replies) = {
            let mut shared = self.lock();
            shared.streams += 1;
            let live = shared.posts.subscribe();
            let replies = self.loose.subscribe();
            (shared.snapshot.clone(), shared.head, live, replies)
        };
        let place = Place(self.clone());
        let source = Arc::new(Opened(self.clone()));
        let unread = (ClientId::default(), Replies::default());
        let events = Subscription::of_ring(after, live, unread, source)
            .beginning_with(head, snapshot.to_deltas());
        forget_partial(&mut snapshot);
        Joined {
            snapshot,
            head,
            events,
            replies,
            _place: place,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look at a session that goes on.
pub struct Joined {
    /// Without the answer that is under way: the events bring it.
    pub snapshot: Snapshot,
    pub head: Option<u64>,
    pub events: Subscription,
    /// To ops whose requests have gone.
    pub replies: broadcast::Receiver<Arc<Reply>>,
    _place: Place,
}

/// Counted among the streams of a session while it lives.
struct Place(Arc<OpenSession>);

impl Drop for Place {
    fn drop(&mut self) {
        let mut shared = self.0.lock();
        shared.streams = shared.streams.saturating_sub(1);
        shared.quiet_since = Instant::now();
    }
}

/// A request that waits, until it is dropped.
struct Waiting<'a> {
    session: &'a OpenSession,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.session.lock().waiting.remove(self.id);
    }
}

/// Where streams of the server read what they missed.
struct Opened(Arc<OpenSession>);

impl EntrySource for Opened {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        self.0.source.entries_after(last)
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        self.0.source.branch()
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<ostler_wire::Ask>>> {
        let asks = self.0.lock().snapshot.asks.clone();
        Box::pin(std::future::ready(asks))
    }
}

impl Shared {
    fn state(&self) -> State {
        match (self.snapshot.asks.is_empty(), self.snapshot.working) {
            (false, _) => State::Asks,
            (true, true) => State::Working,
            (true, false) if self.failed => State::Failed,
            (true, false) => State::Idle,
        }
    }

    fn follow_entry(&mut self, entry: &Entry) {
        self.head = Some(entry.entry);
        if let Some(message) = entry.body.prompt() {
            self.failed = false;
            if let Some(op) = &message.op {
                self.finish(op);
            }
        } else if let Body::TurnEnd(end) = &entry.body {
            self.failed = match end.outcome {
                Outcome::Done | Outcome::Interrupted => false,
                Outcome::Error | Outcome::MaxSteps | Outcome::EmptyResponse | Outcome::Refusal => {
                    true
                }
            };
        }
    }

    /// Whether a request waits for this reply.
    fn answer(&mut self, reply: &Arc<Reply>) -> bool {
        let Some(op) = &reply.op else {
            return false;
        };
        let Some(waiting) = self.waiting.get(op) else {
            return false;
        };
        let sent = waiting.send(Heard::Reply(reply.clone())).is_ok();
        if !reply.more || !sent {
            self.waiting.remove(op);
        }
        sent
    }

    fn finish(&mut self, op: &str) {
        if let Some(waiting) = self.waiting.remove(op) {
            // It may have given up a moment ago.
            let _ = waiting.send(Heard::Done);
        }
    }
}

fn forget_partial(snapshot: &mut Snapshot) {
    snapshot.answer.clear();
    snapshot.reasoning.clear();
    snapshot.running.clear();
    snapshot.retry = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{Ask, Message, TurnEnd};

    struct Nothing;

    impl EntrySource for Nothing {
        fn entries_after(&self, _: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
            Box::pin(std::future::ready(Vec::new()))
        }

        fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
            Box::pin(std::future::ready(Vec::new()))
        }

        fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
            Box::pin(std::future::ready(Vec::new()))
        }
    }

    fn session() -> Arc<OpenSession> {
        let (ops, _) = mpsc::channel(1);
        let (_, events) = mpsc::channel(1);
        let client = Client {
            session_id: "s".into(),
            notes: Vec::new(),
            snapshot: Snapshot::default(),
            ops: OpSender::new(ops, ClientId(1), Box::new(|| {})),
            events: Subscription::of_pipe(None, events, Arc::new(Nothing)),
        };
        OpenSession::new(client, "p".into()).0
    }

    fn entry(number: u64, body: Body) -> Event {
        Event::Entry(Arc::new(Entry {
            entry: number,
            parent: None,
            ts: String::new(),
            body,
        }))
    }

    #[test]
    fn a_session_that_works_is_not_let_go_and_lists_hear_of_it() {
        let session = session();
        let alone = || session.is_left_alone(Duration::ZERO);
        assert!(alone() && session.state() == State::Idle);
        assert!(session.take(entry(0, Body::Message(Message::user("go")))));
        assert!(!alone() && session.state() == State::Working);
        let text = "words".into();
        assert!(!session.take(Event::Delta(Delta::AssistantDelta { text })));
        let outcome = Outcome::Error;
        assert!(session.take(entry(1, Body::TurnEnd(TurnEnd { outcome }))));
        assert!(alone() && session.state() == State::Failed);
        assert_eq!(session.standing().head, Some(1));
        session.end();
        assert_eq!(session.state(), State::Closed);
    }

    #[tokio::test]
    async fn who_joins_in_the_middle_gets_the_partial_answer_once() {
        let session = session();
        session.take(entry(0, Body::Message(Message::user("go"))));
        let say = |text: &str| {
            let text = text.to_owned();
            session.take(Event::Delta(Delta::AssistantDelta { text }))
        };
        say("Hel");
        say("lo");
        let mut joined = session.join(Some(0)).await;
        assert_eq!(
            (joined.snapshot.answer.as_str(), joined.head),
            ("", Some(0))
        );
        assert!(joined.snapshot.working && !session.is_left_alone(Duration::ZERO));
        say(" there");
        session.take(entry(
            1,
            Body::TurnEnd(TurnEnd {
                outcome: Outcome::Done,
            }),
        ));
        let mut text = String::new();
        while let Some(event) = joined.events.next().await {
            match event {
                Event::Delta(Delta::AssistantDelta { text: more }) => text += &more,
                Event::Entry(entry) => {
                    assert_eq!(entry.entry, 1);
                    break;
                }
                Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
            }
        }
        assert_eq!(text, "Hello there");
        drop(joined);
        assert!(session.is_left_alone(Duration::ZERO));
    }
}
