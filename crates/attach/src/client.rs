//! The side that shows the session: a `Client` like any other, whose events and ops go through the stream.

use crate::frame::{
    Attached, Fetch, FetchWhat, Fetched, FromClient, Hello, LineReader, PROTOCOL, Refusal, Wanted,
    Welcome, to_line,
};
use ostler_wire::{
    Ask, BoxFuture, Client, ClientId, Clients, Delta, Entry, EntrySource, Event, OpLine, OpSender,
    SentOp, Subscription,
};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Events that may wait for the front end; from then on pieces of text are dropped.
const EVENTS: usize = 1024;
/// Ops and fetches that may wait for the stream.
const FRAMES: usize = 64;
/// How long the past of a session is waited for.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Time between two looks whether the owner is there.
const PULSE: Duration = Duration::from_millis(1500);
/// Looks without a sign of the owner, after which it counts as silent.
const MAX_MISSED: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("the session's owner does not answer: {0}")]
    Io(#[from] io::Error),
    #[error("the session's owner refused")]
    Refused(Refusal),
}

/// Attaches to a session at the other end of the stream.
pub async fn attach<S>(
    stream: S,
    version: &str,
    session: &str,
    after: Option<u64>,
) -> Result<Client, AttachError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = LineReader::new(BufReader::new(reader));
    let hello = Hello {
        attach: Wanted {
            protocol: PROTOCOL,
            version: version.to_owned(),
            session: session.to_owned(),
            after,
        },
    };
    writer.write_all(to_line(&hello)?.as_bytes()).await?;
    let line = reader.next().await?;
    let line = line
        .ok_or(io::ErrorKind::UnexpectedEof)
        .map_err(io::Error::from)?;
    let broken = |e| io::Error::new(io::ErrorKind::InvalidData, e);
    let Attached {
        session,
        client,
        mut snapshot,
        after,
        ..
    } = match serde_json::from_str(&line).map_err(broken)? {
        Welcome::Attached(attached) => *attached,
        Welcome::Refused(refusal) => return Err(AttachError::Refused(refusal)),
    };
    rank(&mut snapshot.clients, client);
    let fetches = Fetches::default();
    let (events, received) = mpsc::channel(EVENTS);
    let (frames, to_send) = mpsc::channel(FRAMES);
    let (ops, sent) = mpsc::channel(FRAMES);
    let pulse = Pulse {
        frames: frames.clone(),
        clients: snapshot.clients.clone(),
        missed: 0,
        sent: 0,
    };
    let reading = tokio::spawn(read(reader, events, pulse, (client, fetches.clone())));
    let writing = tokio::spawn(write(writer, sent, to_send));
    let ends = [reading.abort_handle(), writing.abort_handle()];
    let source = Arc::new(RemoteSource {
        frames,
        fetches,
        next: AtomicU64::new(1),
    });
    Ok(Client {
        session_id: session,
        notes: Vec::new(),
        snapshot,
        ops: OpSender::new(ops, client, Box::new(move || detach(&ends))),
        events: Subscription::of_pipe(after, received, source),
    })
}

pub(crate) fn detach(tasks: &[AbortHandle]) {
    tasks.iter().for_each(AbortHandle::abort);
}

/// The place of a client among those of the session.
pub(crate) fn rank(clients: &mut Clients, client: ClientId) {
    let older = clients.ids.iter().filter(|id| **id < client);
    clients.rank = Some(older.count() as u64);
}

/// Where the answers to fetches go, by their ids, and the entries so far.
type Waiting = HashMap<u64, (oneshot::Sender<Vec<Arc<Entry>>>, Vec<Arc<Entry>>)>;

/// Answers to fetches that are under way.
#[derive(Clone, Default)]
struct Fetches {
    waiting: Arc<Mutex<Waiting>>,
}

impl Fetches {
    /// A part of an answer has come.
    fn take(&self, fetched: &Fetched) {
        let mut waiting = self.lock();
        let Some((reply, mut entries)) = waiting.remove(&fetched.fetched) else {
            return;
        };
        entries.extend(fetched.entries());
        if fetched.more {
            waiting.insert(fetched.fetched, (reply, entries));
        } else {
            // The one that wanted to know may have given up.
            let _ = reply.send(entries);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the owner gives signs of life.
struct Pulse {
    frames: mpsc::Sender<FromClient>,
    /// The clients as the owner said last.
    clients: Clients,
    /// Looks since the last sign.
    missed: u32,
    /// Pings that were sent.
    sent: u64,
}

impl Pulse {
    /// Asks for a sign where none has come. What the front end is told when the owner has become silent.
    fn look(&mut self) -> Option<Event> {
        if self.missed == 0 {
            self.sent += 1;
            let ping = self.sent;
            // Where frames wait already, one of them gets an answer.
            let _ = self.frames.try_send(FromClient::Ping { ping });
        }
        self.missed = self.missed.saturating_add(1);
        (self.missed == MAX_MISSED + 1).then(|| self.set_silent(Silent::Yes))
    }

    /// The owner has said something. What the front end is told when it was silent.
    fn hear(&mut self) -> Option<Event> {
        self.missed = 0;
        self.clients.silent.then(|| self.set_silent(Silent::No))
    }

    fn set_silent(&mut self, silent: Silent) -> Event {
        self.clients.silent = silent == Silent::Yes;
        Event::Delta(Delta::Clients(self.clients.clone()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Silent {
    Yes,
    No,
}

/// Reads on while the front end is busy, so that an answer to a fetch is not stuck behind events.
async fn read<S: AsyncRead>(
    mut reader: LineReader<BufReader<ReadHalf<S>>>,
    events: mpsc::Sender<Event>,
    mut pulse: Pulse,
    (client, fetches): (ClientId, Fetches),
) {
    let mut waiting = VecDeque::new();
    let mut is_open = true;
    let mut looks = interval_at(Instant::now() + PULSE, PULSE);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while is_open || !waiting.is_empty() {
        let line = tokio::select! {
            permit = events.reserve(), if !waiting.is_empty() => {
                match (permit, waiting.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    (Err(_), _) | (_, None) => break,
                }
                continue;
            }
            line = reader.next(), if is_open => line,
            _ = looks.tick(), if is_open => {
                waiting.extend(pulse.look());
                continue;
            }
        };
        let Ok(Some(line)) = line else {
            is_open = false;
            fetches.lock().clear();
            continue;
        };
        waiting.extend(pulse.hear());
        if line.starts_with("{\"pong\"") {
            continue;
        }
        if line.starts_with("{\"fetched\"") {
            if let Ok(fetched) = serde_json::from_str::<Fetched>(&line) {
                fetches.take(&fetched);
            }
            continue;
        }
        // A line of a newer version that this one does not know is left out, as in a log.
        let Some(mut event) = Event::from_line(&line) else {
            continue;
        };
        if let Event::Delta(Delta::Clients(clients)) = &mut event {
            rank(clients, client);
            pulse.clients.clone_from(clients);
        }
        if waiting.len() < EVENTS || !is_droppable(&event) {
            waiting.push_back(event);
        }
    }
}

/// An entry says it whole later.
fn is_droppable(event: &Event) -> bool {
    match event {
        Event::Delta(
            Delta::AssistantDelta { .. }
            | Delta::ReasoningDelta { .. }
            | Delta::ToolOutput { .. }
            | Delta::Progress { .. },
        ) => true,
        Event::Delta(_) | Event::Entry(_) | Event::Ask(_) | Event::Reply(_) => false,
    }
}

async fn write<S: AsyncWrite>(
    mut writer: WriteHalf<S>,
    mut ops: mpsc::Receiver<SentOp>,
    mut frames: mpsc::Receiver<FromClient>,
) {
    loop {
        let frame = tokio::select! {
            biased;
            Some(SentOp { reply_to, op }) = ops.recv() => FromClient::Op(OpLine {
                id: reply_to.op,
                again: reply_to.again,
                op,
            }),
            Some(frame) = frames.recv() => frame,
            else => break,
        };
        let Ok(line) = to_line(&frame) else { continue };
        if writer.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
}

/// The log of the session, asked for through the stream.
struct RemoteSource {
    frames: mpsc::Sender<FromClient>,
    fetches: Fetches,
    next: AtomicU64,
}

impl RemoteSource {
    async fn fetch(&self, what: FetchWhat) -> Vec<Arc<Entry>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.fetches.lock().insert(id, (reply, Vec::new()));
        let fetch = Fetch { id, what };
        if self.frames.send(FromClient::Fetch { fetch }).await.is_err() {
            return Vec::new();
        }
        answer.await.unwrap_or_default()
    }
}

impl EntrySource for RemoteSource {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        Box::pin(self.fetch(FetchWhat::After(last)))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        // It is only shown: a front end does not hang on an owner that does.
        let branch = tokio::time::timeout(MAX_WAIT, self.fetch(FetchWhat::Branch));
        Box::pin(async move { branch.await.unwrap_or_default() })
    }

    /// The owner sends open asks by itself.
    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}
