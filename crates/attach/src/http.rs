//! A session of `ostler serve`: what happens comes as a stream of events over HTTP, ops go as requests. When the stream
//! breaks the client ends, and whoever follows it begins another one after the last entry.

use crate::client::{detach, rank};
use ostler_wire::sse::{Frame, Sse};
use ostler_wire::{
    Ask, BoxFuture, Client, ClientId, Delta, Entry, EntrySource, Event, Op, OpLine, OpSender, Open,
    Reply, SentOp, Snapshot, Subscription, View,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Events that may wait for the front end; then the server waits.
const EVENTS: usize = 1024;
/// Ops that may wait for the link.
const OPS: usize = 64;
/// The server says something at least every 15 seconds.
const SILENCE: Duration = Duration::from_secs(40);
/// How long an answer may take that needs nobody's thought.
const ANSWER: Duration = Duration::from_secs(20);
/// The server waits for the reply to a command a little less.
const REPLY: Duration = Duration::from_secs(150);
/// Time before an op is sent once more, and how often it is.
const RETRY: Duration = Duration::from_millis(300);
const TRIES: usize = 3;
/// Entries of one page, and pages that are read back.
const PAGE: usize = 2000;
const MAX_PAGES: usize = 50;
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 20;

/// Where sessions are served.
#[derive(Clone)]
pub struct Server {
    http: reqwest::Client,
    /// Without a slash at its end.
    base: String,
    token: String,
}

/// Why a server did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nobody answers, or the answer broke off.
    #[error("{0}")]
    Unreachable(String),
    /// The token is not the right one.
    #[error("{0}")]
    Unauthorized(String),
    /// It said no, with a sentence for the person.
    #[error("{detail}")]
    Refused { status: u16, detail: String },
    /// What answers is no `ostler serve`, or another version of it.
    #[error("{0}")]
    Strange(String),
}

/// A session that the server has opened.
#[derive(Debug, Deserialize)]
pub struct Opened {
    pub id: String,
    head: Option<u64>,
    snapshot: Snapshot,
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Opened {
    /// The entry after which a front end begins: it sees the running turn whole.
    pub fn after(&self) -> Option<u64> {
        match (self.snapshot.working, self.snapshot.turn) {
            (true, Some(turn)) => turn.checked_sub(1),
            (true, None) | (false, _) => self.head,
        }
    }
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    detail: String,
}

#[derive(Deserialize)]
struct Replies {
    #[serde(default)]
    replies: Vec<Reply>,
}

#[derive(Deserialize)]
struct Entries {
    entries: Vec<Box<RawValue>>,
    more: bool,
}

impl Server {
    /// `base` is the address that the server printed, without its token.
    pub fn new(http: reqwest::Client, base: &str, token: String) -> Self {
        Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            token,
        }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ServerError> {
        let request = self.http.get(self.url(path)).timeout(ANSWER);
        read(self.send(request).await?).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ServerError> {
        let body = serde_json::to_vec(body).map_err(|e| ServerError::Strange(e.to_string()))?;
        let request = self.http.post(self.url(path)).timeout(REPLY).body(body);
        read(
            self.send(request.header("content-type", "application/json"))
                .await?,
        )
        .await
    }

    /// Opens a session of a project.
    pub async fn open(&self, project: &str, open: &Open) -> Result<Opened, ServerError> {
        #[derive(Serialize)]
        struct Wanted<'a> {
            project: &'a str,
            open: &'a Open,
        }
        self.post("/api/sessions", &Wanted { project, open }).await
    }

    /// How a session stands; one that is closed is resumed.
    pub async fn show(&self, session: &str) -> Result<Opened, ServerError> {
        self.get(&format!("/api/sessions/{session}")).await
    }

    /// A client of a session that is open there, from the entry after `after` on.
    pub async fn join(&self, session: &str, after: Option<u64>) -> Result<Client, ServerError> {
        let path = match after {
            Some(after) => format!("/api/sessions/{session}/events?after={after}"),
            None => format!("/api/sessions/{session}/events"),
        };
        let request = self.http.get(self.url(&path));
        let request = request.header("accept", "text/event-stream");
        let answer = timeout(ANSWER, self.send(request)).await;
        let answer = answer.map_err(|_| unreachable("no answer"))??;
        let (events, received) = mpsc::channel(EVENTS);
        let (first, snapshot) = oneshot::channel();
        let (ops, sent) = mpsc::channel(OPS);
        let reading = tokio::spawn(follow_stream(answer, events.clone(), first));
        let writing = Writing {
            server: self.clone(),
            session: session.to_owned(),
            events: events.downgrade(),
            reading: reading.abort_handle(),
        };
        let writing = tokio::spawn(writing.run(sent));
        let ends = [reading.abort_handle(), writing.abort_handle()];
        // Also when this is given up.
        let ops = OpSender::new(ops, ClientId(0), Box::new(move || detach(&ends)));
        let snapshot = timeout(ANSWER, snapshot).await.ok().and_then(Result::ok);
        let snapshot = snapshot.ok_or_else(|| unreachable("no events"))?;
        let source = Arc::new(Past {
            server: self.clone(),
            session: session.to_owned(),
        });
        Ok(Client {
            session_id: session.to_owned(),
            notes: Vec::new(),
            snapshot,
            ops,
            events: Subscription::of_pipe(after, received, source),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, ServerError> {
        let answer = request.bearer_auth(&self.token).send().await;
        let answer = answer.map_err(|e| unreachable(&root(&e)))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.unwrap_or_default();
        let problem = serde_json::from_str::<Problem>(&text).ok();
        let detail = problem
            .map(|problem| problem.detail)
            .filter(|d| !d.is_empty());
        Err(match (status.as_u16(), detail) {
            (401, detail) => ServerError::Unauthorized(detail.unwrap_or_default()),
            (status, Some(detail)) => ServerError::Refused { status, detail },
            // A proxy whose server is away.
            (status @ 502..=504, None) => unreachable(&format!("HTTP {status}")),
            (status, None) => ServerError::Strange(format!("HTTP {status}")),
        })
    }
}

fn unreachable(why: &str) -> ServerError {
    ServerError::Unreachable(why.to_owned())
}

/// What lies at the bottom of a failed request; the rest names addresses.
fn root(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

async fn read<T: DeserializeOwned>(mut answer: reqwest::Response) -> Result<T, ServerError> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|e| unreachable(&root(&e)))? {
        if bytes.len() + piece.len() > MAX_ANSWER {
            return Err(ServerError::Strange("the answer is too long".into()));
        }
        bytes.extend_from_slice(&piece);
    }
    serde_json::from_slice(&bytes).map_err(|e| ServerError::Strange(e.to_string()))
}

/// Hands out what the stream says until it ends.
async fn follow_stream(
    mut answer: reqwest::Response,
    events: mpsc::Sender<Event>,
    first: oneshot::Sender<Snapshot>,
) {
    let mut first = Some(first);
    let mut sse = Sse::default();
    let mut clients = ostler_wire::Clients::default();
    // An end, an error and silence are the same: the link is gone.
    while let Ok(Ok(Some(piece))) = timeout(SILENCE, answer.chunk()).await {
        let mut messages = Vec::new();
        let mut take = |frame: Frame<'_>| {
            messages.push((frame.event.to_owned(), frame.data.to_owned()));
        };
        if sse.push(&piece, &mut take).is_err() {
            break;
        }
        for (event, data) in messages {
            match event.as_str() {
                "snapshot" => {
                    let Ok(mut snapshot) = serde_json::from_str::<Snapshot>(&data) else {
                        return;
                    };
                    rank(&mut snapshot.clients, ClientId(0));
                    clients.clone_from(&snapshot.clients);
                    if let Some(first) = first.take() {
                        // Whoever waited may have given up.
                        let _ = first.send(snapshot);
                    }
                }
                "closed" => return,
                _ => {
                    let Some(mut event) = Event::from_line(&data) else {
                        continue;
                    };
                    if let Event::Delta(Delta::Clients(now)) = &mut event {
                        rank(now, ClientId(0));
                        clients.clone_from(now);
                    }
                    if events.send(event).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
    clients.silent = true;
    // A front end that is gone needs no telling.
    let _ = events.send(Event::Delta(Delta::Clients(clients))).await;
}

/// Sends the ops of one client, in their order.
struct Writing {
    server: Server,
    session: String,
    /// The end of the stream ends the client, also while an op is on its way.
    events: mpsc::WeakSender<Event>,
    reading: tokio::task::AbortHandle,
}

impl Writing {
    async fn run(self, mut ops: mpsc::Receiver<SentOp>) {
        let this = Arc::new(self);
        while let Some(SentOp { reply_to, op }) = ops.recv().await {
            let line = OpLine {
                id: reply_to.op,
                again: reply_to.again,
                op,
            };
            match &line.op {
                // Its reply may take its time: what follows it does not wait.
                Op::Command { .. } | Op::Complete(_) => {
                    let this = this.clone();
                    tokio::spawn(async move { this.send(line).await });
                }
                Op::Say { .. } | Op::Prompt { .. } | Op::Answer { .. } | Op::Interrupt => {
                    this.send(line).await;
                }
                // A session elsewhere is not this client's to end.
                Op::Close | Op::Finish => return,
            }
        }
    }

    async fn send(&self, mut line: OpLine) {
        let path = format!("/api/sessions/{}/ops", self.session);
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(RETRY).await;
                line.again = true;
            }
            match self.server.post::<Replies>(&path, &line).await {
                Ok(Replies { replies }) => return self.done(&line, replies).await,
                Err(ServerError::Unreachable(_)) => {}
                // The session has ended there: it is opened again, and the op is sent to it.
                Err(ServerError::Refused { status: 410, .. }) => break,
                Err(why) => return self.refused(&line, why.to_string()).await,
            }
        }
        self.reading.abort();
    }

    async fn done(&self, line: &OpLine, replies: Vec<Reply>) {
        let Some(op) = line.id.clone() else { return };
        self.tell(Event::Delta(Delta::OpArrived { op: op.clone() }))
            .await;
        let is_command = matches!(line.op, Op::Command { .. } | Op::Complete(_));
        if is_command && replies.is_empty() {
            return self.tell(Event::Delta(Delta::OpDone { op })).await;
        }
        for reply in replies {
            self.tell(Event::Reply(Arc::new(reply))).await;
        }
    }

    async fn refused(&self, line: &OpLine, why: String) {
        let command = match &line.op {
            Op::Command { line } => line.clone(),
            Op::Say { .. }
            | Op::Prompt { .. }
            | Op::Answer { .. }
            | Op::Interrupt
            | Op::Complete(_)
            | Op::Close
            | Op::Finish => String::new(),
        };
        let reply = Reply {
            op: line.id.clone(),
            command,
            view: View::Error(why),
            more: false,
        };
        self.tell(Event::Reply(Arc::new(reply))).await;
    }

    async fn tell(&self, event: Event) {
        if let Some(events) = self.events.upgrade() {
            // Without a front end nobody is to be told.
            let _ = events.send(event).await;
        }
    }
}

/// What was said, page by page.
struct Past {
    server: Server,
    session: String,
}

impl Past {
    /// Entries on the branch that goes on, oldest first, back to the one after `last`.
    async fn back_to(&self, last: Option<u64>) -> Vec<Arc<Entry>> {
        let mut all: Vec<Arc<Entry>> = Vec::new();
        for _ in 0..MAX_PAGES {
            let before = all.first().map(|entry| format!("&before={}", entry.entry));
            let path = format!(
                "/api/sessions/{}/entries?limit={PAGE}{}",
                self.session,
                before.unwrap_or_default()
            );
            let Ok(page) = self.server.get::<Entries>(&path).await else {
                break;
            };
            let lines = page.entries.iter().map(|line| line.get());
            let read = |line: &str| Entry::from_line(line, 0).ok().map(Arc::new);
            let older: Vec<_> = lines.filter_map(read).collect();
            let is_done = !page.more
                || older.is_empty()
                || older
                    .first()
                    .is_some_and(|e| last.is_some_and(|last| e.entry <= last));
            all.splice(0..0, older);
            if is_done {
                break;
            }
        }
        all.retain(|entry| last.is_none_or(|last| entry.entry > last));
        all
    }
}

impl EntrySource for Past {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        Box::pin(self.back_to(last))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        Box::pin(self.back_to(None))
    }

    /// The stream sends open asks by itself.
    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}
