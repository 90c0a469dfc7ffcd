//! Events as `text/event-stream`: of one session, or of all that one browser shows. A client that reads slowly holds a
//! bounded number of bytes; what it misses it gets from the log.

use crate::App;
use crate::live::lines::{LONG, Line, Lines};
use crate::live::session::{Joined, OpenSession};
use crate::problem::{Kind, Problem};
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use ostler_wire::{Delta, Event, Word};
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// At most one write in this time.
const PACE: Duration = Duration::from_millis(5);
/// A comment is sent after this long without a word.
const SILENCE: Duration = Duration::from_secs(15);
/// Bytes of one piece, about; a single event may be longer.
const MAX_PIECE: usize = 128 << 10;
/// Bytes of a delta that further ones are joined to.
const MAX_JOINED: usize = 32 << 10;
/// Pieces that wait for the client.
const MAX_PIECES: usize = 4;
/// Streams of browsers at once.
const MAX_STREAMS: usize = 128;
/// Sessions that one stream carries.
const MAX_CARRIED: usize = 64;

/// How the events of a session are written.
#[derive(Clone, Debug)]
enum Form {
    /// One session: entries have their number as id.
    Single,
    /// Several: each event says whose it is.
    Tagged(String),
}

/// The events of one session, from the entry after `after` on.
pub async fn single(
    app: &Arc<App>,
    open: Arc<OpenSession>,
    after: Option<u64>,
    over: &CancellationToken,
) -> Response {
    let (sender, pieces) = mpsc::channel(MAX_PIECES);
    let carrier = carry(app.clone(), open, after, Form::Single, sender);
    let task = tokio::spawn(carrier).abort_handle();
    // What it carries keeps the pace already.
    let writing = Writing::new(pieces, (Ended(vec![task]), None), Duration::ZERO);
    answer(writing, vec![over.clone(), app.stop.clone()])
}

/// The streams of browsers, by the keys that they chose.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<String, Arc<Shown>>>);

/// What one browser is shown.
struct Shown {
    sender: mpsc::Sender<Bytes>,
    carried: Mutex<HashMap<String, AbortHandle>>,
    over: CancellationToken,
}

/// A session that a stream is to carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub session: String,
    pub after: Option<u64>,
}

impl Streams {
    /// Begins the stream with this key. An older one with the same key ends.
    pub fn begin(
        &self,
        app: &Arc<App>,
        key: String,
        wanted: Vec<Wanted>,
        login: &CancellationToken,
    ) -> Result<Response, Problem> {
        let (sender, pieces) = mpsc::channel(MAX_PIECES);
        let shown = Arc::new(Shown {
            sender,
            carried: Mutex::default(),
            over: CancellationToken::new(),
        });
        {
            let mut all = self.lock();
            if let Some(old) = all.remove(&key) {
                old.over.cancel();
            }
            if all.len() >= MAX_STREAMS {
                return Err(too_many(app));
            }
            all.insert(key.clone(), shown.clone());
        }
        let place = Place {
            app: app.clone(),
            key,
            shown: shown.clone(),
        };
        let rows = tokio::spawn(tell_rows(app.live.rows(), shown.sender.clone())).abort_handle();
        let stops = vec![login.clone(), shown.over.clone(), app.stop.clone()];
        for one in wanted {
            shown.add(app, one)?;
        }
        // Several sessions together may write more often than one.
        let writing = Writing::new(pieces, (Ended(vec![rows]), Some(place)), PACE);
        Ok(answer(writing, stops))
    }

    pub fn change(
        &self,
        app: &Arc<App>,
        key: &str,
        (add, remove): (Vec<Wanted>, Vec<String>),
    ) -> Result<(), Problem> {
        let shown = self.lock().get(key).cloned();
        let language = app.backend.about().language;
        let gone = || Problem::new(Kind::NotFound, language.say(Word::ServeNoStream));
        let shown = shown.ok_or_else(gone)?;
        for id in remove {
            if let Some(task) = shown.lock().remove(&id) {
                task.abort();
            }
        }
        for one in add {
            shown.add(app, one)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Shown>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    /// Carries a session, from the beginning or anew.
    fn add(&self, app: &Arc<App>, wanted: Wanted) -> Result<(), Problem> {
        let mut carried = self.lock();
        if carried.len() >= MAX_CARRIED && !carried.contains_key(&wanted.session) {
            return Err(too_many(app));
        }
        let (app, sender) = (app.clone(), self.sender.clone());
        let Wanted { session, after } = wanted;
        let form = Form::Tagged(session.clone());
        let id = session.clone();
        let task = tokio::spawn(async move {
            match app.live.get(&id).await {
                Ok(open) => carry(app, open, after, form, sender).await,
                Err(_) => drop(sender.send(closed(&form)).await),
            }
        });
        if let Some(old) = carried.insert(session, task.abort_handle()) {
            old.abort();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many(app: &App) -> Problem {
    let language = app.backend.about().language;
    Problem::new(Kind::Conflict, language.say(Word::ServeTooManyStreams))
}

/// Takes a stream out of the table when its connection ends, and ends what it carries.
struct Place {
    app: Arc<App>,
    key: String,
    shown: Arc<Shown>,
}

impl Drop for Place {
    fn drop(&mut self) {
        for (_, task) in self.shown.lock().drain() {
            task.abort();
        }
        let mut all = self.app.streams.lock();
        if all
            .get(&self.key)
            .is_some_and(|s| Arc::ptr_eq(s, &self.shown))
        {
            all.remove(&self.key);
        }
    }
}

/// Tasks that end with the connection they work for.
struct Ended(Vec<AbortHandle>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// The answer that writes pieces as they come, until one of `stops`.
fn answer(writing: Writing, stops: Vec<CancellationToken>) -> Response {
    for stop in stops {
        let over = writing.over.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => over.cancel(),
                () = over.cancelled() => {}
            }
        });
    }
    let body = stream::unfold(writing, |mut state| async move {
        let piece = state.next().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), state))
    });
    let mut response = Body::from_stream(body).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Writing {
    pieces: mpsc::Receiver<Bytes>,
    pace: Duration,
    /// The earliest time for the next write.
    next: Instant,
    greeted: bool,
    /// Taken already, and too long to be joined to what was before it.
    kept: Option<Bytes>,
    over: CancellationToken,
    _held: ((Ended, Option<Place>), DropGuard),
}

impl Writing {
    fn new(pieces: mpsc::Receiver<Bytes>, held: (Ended, Option<Place>), pace: Duration) -> Self {
        let over = CancellationToken::new();
        Self {
            pieces,
            pace,
            next: Instant::now(),
            greeted: false,
            kept: None,
            over: over.clone(),
            _held: (held, over.drop_guard()),
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            // The client knows that it is connected, also where nothing happens.
            return Some(Bytes::from_static(b": ostler\n\n"));
        }
        if let Some(kept) = self.kept.take() {
            return Some(kept);
        }
        let piece = tokio::select! {
            piece = timeout(SILENCE, self.pieces.recv()) => piece,
            () = self.over.cancelled() => return None,
        };
        let Ok(piece) = piece else {
            return Some(Bytes::from_static(b": still here\n\n"));
        };
        let first = piece?;
        sleep_until(self.next).await;
        self.next = Instant::now() + self.pace;
        // A long one is written as it is: joining it would be a copy of its own.
        let mut all = BytesMut::new();
        let mut only = first;
        while only.len() + all.len() < MAX_PIECE && only.len() < LONG {
            let Ok(more) = self.pieces.try_recv() else {
                break;
            };
            all.extend_from_slice(&only);
            only = more;
        }
        if all.is_empty() {
            return Some(only);
        }
        if only.len() < LONG {
            all.extend_from_slice(&only);
        } else {
            self.kept = Some(only);
        }
        Some(all.freeze())
    }
}

/// Writes what happens in a session, until it or the connection ends.
async fn carry(
    app: Arc<App>,
    open: Arc<OpenSession>,
    after: Option<u64>,
    form: Form,
    sender: mpsc::Sender<Bytes>,
) {
    let joined = open.join(after).await;
    let first = snapshot(&joined, &form);
    // The connection is gone; so is what was to be written.
    if sender.send(first).await.is_err() {
        return;
    }
    let mut feed = Feed {
        joined,
        kept: VecDeque::new(),
        over: open.over().clone(),
    };
    let mut next = Instant::now();
    while let Some(event) = feed.next().await {
        sleep_until(next).await;
        next = Instant::now() + PACE;
        let mut written = Written::default();
        let mut event = Some(event);
        while let Some(one) = event {
            written.put(&one, &form, (open.lines(), &app.backend.now()));
            event = match written.size < MAX_PIECE {
                true => feed.try_next(),
                false => None,
            };
        }
        for piece in written.pieces() {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    }
    let _ = sender.send(closed(&form)).await;
}

/// Events of a session, with neighbouring deltas of one kind joined.
struct Feed {
    joined: Joined,
    /// Taken already to see whether they could be joined.
    kept: VecDeque<Event>,
    over: CancellationToken,
}

impl Feed {
    async fn next(&mut self) -> Option<Event> {
        if let Some(kept) = self.kept.pop_front() {
            return Some(self.extended(kept));
        }
        loop {
            let first = tokio::select! {
                biased;
                event = self.joined.events.next() => event?,
                reply = self.joined.replies.recv() => match reply {
                    Ok(reply) => Event::Reply(reply),
                    // What was missed is gone; nobody waited for it.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                () = self.over.cancelled() => return None,
            };
            return Some(self.extended(first));
        }
    }

    fn try_next(&mut self) -> Option<Event> {
        let first = self
            .kept
            .pop_front()
            .or_else(|| self.joined.events.try_next())?;
        Some(self.extended(first))
    }

    fn extended(&mut self, mut event: Event) -> Event {
        while let Event::Delta(delta) = &mut event
            && can_grow(delta)
            && let Some(next) = self.joined.events.try_next()
        {
            if let Some(other) = join(delta, next) {
                self.kept.push_back(other);
                break;
            }
        }
        event
    }
}

fn can_grow(delta: &Delta) -> bool {
    match delta {
        Delta::AssistantDelta { text } | Delta::ReasoningDelta { text } => text.len() < MAX_JOINED,
        Delta::ToolOutput { chunk, .. } => chunk.len() < MAX_JOINED,
        Delta::ToolStarted { .. }
        | Delta::Retry { .. }
        | Delta::Progress { .. }
        | Delta::Unrecorded { .. }
        | Delta::Mode { .. }
        | Delta::Budget { .. }
        | Delta::AskClosed { .. }
        | Delta::Announcement { .. }
        | Delta::Idle
        | Delta::OpArrived { .. }
        | Delta::OpDone { .. }
        | Delta::Clients(_)
        | Delta::Queue { .. }
        | Delta::Tasks { .. }
        | Delta::Jobs { .. } => false,
    }
}

/// Joins an event to a delta of the same kind and call; gives it back where it is another one.
fn join(delta: &mut Delta, next: Event) -> Option<Event> {
    match (delta, next) {
        (Delta::AssistantDelta { text }, Event::Delta(Delta::AssistantDelta { text: more }))
        | (Delta::ReasoningDelta { text }, Event::Delta(Delta::ReasoningDelta { text: more })) => {
            text.push_str(&more)
        }
        (
            Delta::ToolOutput { id, chunk, .. },
            Event::Delta(Delta::ToolOutput {
                id: other,
                chunk: more,
                ..
            }),
        ) if *id == other => chunk.push_str(&more),
        (_, next) => return Some(next),
    }
    None
}

/// What is written at once: pieces, of which long lines are shared with the other streams.
#[derive(Default)]
struct Written {
    done: Vec<Bytes>,
    last: BytesMut,
    size: usize,
}

impl Written {
    fn put(&mut self, event: &Event, form: &Form, (lines, now): (&Lines, &str)) {
        let line = match event {
            Event::Entry(entry) => lines.of(entry),
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {
                event.to_line(now).ok().map(Line::Short)
            }
        };
        // Only what is no JSON at all cannot be written, and there is none.
        let Some(line) = line else { return };
        if let (Form::Single, Event::Entry(entry)) = (form, event) {
            let id = format!("id: {}\n", entry.entry);
            self.last.extend_from_slice(id.as_bytes());
        }
        self.last.extend_from_slice(b"data: ");
        if let Form::Tagged(id) = form {
            let head = format!("{{\"session\":{},\"event\":", json!(id));
            self.last.extend_from_slice(head.as_bytes());
        }
        match line {
            Line::Short(line) => self.last.extend_from_slice(line.as_bytes()),
            Line::Long(line) => {
                self.done.push(self.last.split().freeze());
                self.done.push(line);
            }
        }
        let end: &[u8] = match form {
            Form::Single => b"\n\n",
            Form::Tagged(_) => b"}\n\n",
        };
        self.last.extend_from_slice(end);
        self.size = self.done.iter().map(Bytes::len).sum::<usize>() + self.last.len();
    }

    fn pieces(mut self) -> Vec<Bytes> {
        self.done.push(self.last.freeze());
        self.done
    }
}

/// One message. JSON has no line breaks.
fn put(out: &mut BytesMut, data: &[&str]) {
    out.extend_from_slice(b"data: ");
    for part in data {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\n\n");
}

fn named(name: &str, data: &str) -> Bytes {
    let mut out = BytesMut::from(format!("event: {name}\n").as_bytes());
    put(&mut out, &[data]);
    out.freeze()
}

fn snapshot(joined: &Joined, form: &Form) -> Bytes {
    let data = match form {
        Form::Single => json!(joined.snapshot),
        Form::Tagged(id) => {
            json!({"session": id, "snapshot": joined.snapshot, "head": joined.head})
        }
    };
    named("snapshot", &data.to_string())
}

fn closed(form: &Form) -> Bytes {
    let data = match form {
        Form::Single => json!({}),
        Form::Tagged(id) => json!({"session": id}),
    };
    named("closed", &data.to_string())
}

/// Tells a browser what changes in the list of sessions.
async fn tell_rows(
    mut rows: broadcast::Receiver<Arc<crate::live::Row>>,
    sender: mpsc::Sender<Bytes>,
) {
    loop {
        let changed = match rows.recv().await {
            Ok(row) => vec![row],
            // The next change of the session says it.
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let data = json!({"sessions": changed}).to_string();
        if sender.send(named("sessions", &data)).await.is_err() {
            return;
        }
    }
}
