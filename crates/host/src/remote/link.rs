//! Our end of a link: a host whose calls are messages. A call that nobody waits for any more is cancelled at the place, and
//! when the link is cut each that waits gets an error that says so.

use super::codec::decode;
use super::frame::{Broken, Incoming, MAGIC, Reader, Sender, writer};
use super::line::Line;
use super::message::{Answer, Call, Down, PROTOCOL, PlaceFacts, Start, Up};
use super::running::INPUT_WINDOW;
use crate::command::{Command, Output, Stdio};
use crate::host::{CheckpointFut, Fut, Host};
use crate::process::Process;
use crate::process::far::{Ends, Event, Request};
use crate::search::{Found, Search};
use bytes::Bytes;
use ostler_checkpoint::{self as checkpoint, Order, Tree};
use ostler_files::border::Border;
use ostler_files::{Content, Listing, RenameOptions, Renamed, Span, Stat, WriteOptions, Written};
use ostler_files::{Error, Result};
use ostler_sandbox::Elsewhere;
use ostler_sandbox::proxy::Asked;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// How often a link is tried on which nothing happens, and how long an answer may take. One that is cut without a word is
/// found by it.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_LONGEST: Duration = Duration::from_secs(60);

/// Why there is no link to a place.
#[derive(Debug)]
pub enum Unreached {
    /// No helper answered; what was printed instead.
    NoHelper(String),
    /// A helper of another version.
    OtherVersion {
        ours: String,
        theirs: String,
    },
    Broken(String),
    /// Nothing answered in time.
    Silent {
        seconds: u64,
    },
}

/// A place that is reached over a link. Clones share it; it ends with the last of them and with the last process there.
#[derive(Clone)]
pub struct Remote {
    link: Arc<Link>,
    facts: Arc<PlaceFacts>,
    /// None where a broken link is a cut one.
    line: Option<Line>,
    _tasks: Arc<JoinSet<()>>,
}

struct Link {
    /// As people call the place.
    place: String,
    /// Why the line has ended, if that is known.
    why: Arc<OnceLock<String>>,
    sender: Sender,
    next: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    routes: HashMap<u32, Route>,
    /// Why the link is cut.
    cut: Option<String>,
}

/// Who waits for the messages of an exchange.
enum Route {
    Call(oneshot::Sender<Result<Answer>>),
    Command {
        started: Option<oneshot::Sender<Result<Answer>>>,
        events: mpsc::UnboundedSender<Event>,
        room: Arc<Semaphore>,
        /// Dropped when these are gone.
        leftovers: Option<watch::Sender<()>>,
        tree: Option<watch::Sender<()>>,
        /// Where the hosts go that it asked for.
        asked: Option<Arc<Mutex<Vec<Asked>>>>,
    },
}

impl Drop for Route {
    fn drop(&mut self) {
        if let Self::Command { room, .. } = self {
            room.close();
        }
    }
}

impl Remote {
    /// Greets the helper at the other end. `version` is ours: another one is refused.
    pub async fn connect<R, W>(
        place: &str,
        version: &str,
        input: R,
        output: W,
    ) -> std::result::Result<Self, Unreached>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let mut remote = Self::greet(place, version, (input, output), Arc::default()).await?;
        let watched = Arc::downgrade(&remote.link);
        let watch = async move {
            loop {
                tokio::time::sleep(PING_EVERY).await;
                let Some(link) = watched.upgrade() else {
                    return;
                };
                let alive = link.call(Call::Ping);
                if tokio::time::timeout(PING_LONGEST, alive).await.is_err() {
                    link.cut("it does not answer any more");
                }
            }
        };
        if let Some(tasks) = Arc::get_mut(&mut remote._tasks) {
            tasks.spawn(watch);
        }
        Ok(remote)
    }

    /// The same over a line, which looks itself whether it is alive.
    pub(super) async fn over(
        place: &str,
        version: &str,
        line: Line,
        stream: DuplexStream,
    ) -> std::result::Result<Self, Unreached> {
        let streams = tokio::io::split(stream);
        let remote = Self::greet(place, version, streams, line.lost.clone()).await?;
        Ok(Self {
            line: Some(line),
            ..remote
        })
    }

    async fn greet<R, W>(
        place: &str,
        version: &str,
        (input, mut output): (R, W),
        why: Arc<OnceLock<String>>,
    ) -> std::result::Result<Self, Unreached>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let mut reader = Reader::new(input);
        // Nothing is sent before: a login script could read it.
        reader.skip_to_magic().await.map_err(Unreached::NoHelper)?;
        let facts: PlaceFacts = reader.first().await.map_err(|broken| match broken {
            // Another protocol says other things first.
            Broken::Garbage => Unreached::OtherVersion {
                ours: version.to_owned(),
                theirs: "?".into(),
            },
            Broken::Ended | Broken::Io(_) => Unreached::Broken(broken.to_string()),
        })?;
        if facts.version != version || facts.protocol != PROTOCOL {
            return Err(Unreached::OtherVersion {
                ours: version.to_owned(),
                theirs: facts.version,
            });
        }
        let greeted = output.write_all(MAGIC).await;
        greeted.map_err(|error| Unreached::Broken(error.to_string()))?;
        let (sender, writing) = writer(output);
        let link = Arc::new(Link {
            place: place.to_owned(),
            why,
            sender,
            next: AtomicU32::new(1),
            state: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        let (reading, written) = (link.clone(), link.clone());
        tasks.spawn(async move {
            if let Err(error) = writing.await {
                written.cut(&error.to_string());
            }
        });
        tasks.spawn(async move { reading.read(reader).await });
        Ok(Self {
            link,
            facts: Arc::new(facts),
            line: None,
            _tasks: Arc::new(tasks),
        })
    }

    /// What the place is like.
    pub fn facts(&self) -> &PlaceFacts {
        &self.facts
    }

    /// Why the link is cut just now, while it is being made again, and whenever that changes.
    pub fn interruptions(&self) -> Option<watch::Receiver<Option<String>>> {
        self.line.as_ref().map(Line::state)
    }

    /// Ends the link: what was started there ends at once.
    pub async fn close(&self) {
        if let Some(line) = &self.line {
            line.close().await;
        }
    }

    /// Why the place is out of reach for good, if it is.
    pub fn lost(&self) -> Option<String> {
        self.link.state().cut.clone()
    }
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unreachable(&self, reason: &str) -> Error {
        Error::Unreachable {
            place: self.place.clone(),
            reason: reason.to_owned(),
        }
    }

    /// Everybody who waits is told, and whoever comes later.
    fn cut(&self, reason: &str) {
        let mut state = self.state();
        if state.cut.is_none() {
            state.cut = Some(reason.to_owned());
        }
        let routes = std::mem::take(&mut state.routes);
        drop(state);
        drop(routes);
    }

    async fn read<R: AsyncRead + Unpin>(&self, mut reader: Reader<R>) {
        let broken = loop {
            match reader.next().await {
                Ok(Incoming::Message(id, bytes)) => match decode::<Up>(bytes) {
                    Ok(message) => self.deliver(id, message),
                    Err(_) => break Broken::Garbage,
                },
                // The helper ends no exchange by itself.
                Ok(Incoming::Cancel(_)) => break Broken::Garbage,
                Err(broken) => break broken,
            }
        };
        match self.why.get() {
            Some(why) => self.cut(why),
            None => self.cut(&broken.to_string()),
        }
    }

    fn deliver(&self, id: u32, message: Up) {
        let mut state = self.state();
        let Some(route) = state.routes.get_mut(&id) else {
            // Nobody waits for it any more; a command that has begun all the same is not wanted.
            if matches!(message, Up::Answer(Ok(Answer::Started { .. }))) {
                self.sender.cancel(id);
            }
            return;
        };
        match (route, message) {
            (Route::Call(_), Up::Answer(answer)) => {
                let route = state.routes.remove(&id);
                drop(state);
                finish(route, answer);
            }
            (Route::Call(_), _) => {}
            (Route::Command { started, .. }, Up::Answer(Ok(answer))) => {
                if let Some(started) = started.take() {
                    // Whoever does not wait any more has cancelled it.
                    let _gone = started.send(Ok(answer));
                }
            }
            (Route::Command { started, .. }, Up::Answer(Err(error))) => {
                if let Some(started) = started.take() {
                    let _gone = started.send(Err(error));
                }
                state.routes.remove(&id);
            }
            (Route::Command { events, .. }, Up::Stdout(bytes)) => {
                let _dropped = events.send(Event::Output(Output::Stdout(bytes)));
            }
            (Route::Command { events, .. }, Up::Stderr(bytes)) => {
                let _dropped = events.send(Event::Output(Output::Stderr(bytes)));
            }
            (Route::Command { events, .. }, Up::Exited { exit, leftovers }) => {
                let _dropped = events.send(Event::Exited { exit, leftovers });
            }
            (Route::Command { room, .. }, Up::InputTaken(bytes)) => {
                // A helper that claims too much gains nothing.
                let most = INPUT_WINDOW.saturating_sub(room.available_permits());
                room.add_permits((bytes as usize).min(most));
            }
            (Route::Command { room, .. }, Up::InputClosed) => room.close(),
            (Route::Command { leftovers, .. }, Up::LeftoversGone) => drop(leftovers.take()),
            (Route::Command { tree, .. }, Up::TreeGone) => drop(tree.take()),
            (Route::Command { asked, .. }, Up::Asked(hosts)) => {
                if let Some(asked) = asked {
                    *asked.lock().unwrap_or_else(PoisonError::into_inner) = hosts;
                }
            }
        }
    }

    /// A number for an exchange, whose messages go this way; none when the link is cut.
    fn open(&self, route: Route) -> Result<u32> {
        let mut state = self.state();
        if let Some(reason) = &state.cut {
            return Err(self.unreachable(reason));
        }
        loop {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !state.routes.contains_key(&id) {
                state.routes.insert(id, route);
                return Ok(id);
            }
        }
    }

    fn close(&self, id: u32) {
        if self.state().routes.remove(&id).is_some() {
            self.sender.cancel(id);
        }
    }

    async fn call(&self, call: Call) -> Result<Answer> {
        let (sender, answer) = oneshot::channel();
        let id = self.open(Route::Call(sender))?;
        let _cancel = Cancel { link: self, id };
        self.sender.send(id, &Down::Call(Box::new(call))).await;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.lost()),
        }
    }

    fn lost(&self) -> Error {
        let cut = self.state().cut.clone();
        self.unreachable(cut.as_deref().unwrap_or("it was closed"))
    }
}

fn finish(route: Option<Route>, answer: Result<Answer>) {
    if let Some(mut route) = route
        && let Route::Call(sender) = &mut route
    {
        let (unused, _) = oneshot::channel();
        // Whoever does not wait any more has dropped the other end.
        let _gone = std::mem::replace(sender, unused).send(answer);
    }
}

/// Ends an exchange that nobody waits for any more.
struct Cancel<'a> {
    link: &'a Link,
    id: u32,
}

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        self.link.close(self.id);
    }
}

/// The exchange that a command is: ended when nobody asks anything of it any more.
struct CommandExchange {
    link: Arc<Link>,
    id: u32,
    _tasks: Arc<JoinSet<()>>,
}

impl CommandExchange {
    fn ask(&self, request: Request) {
        let send = |message: &Down| self.link.sender.send_now(self.id, message);
        match request {
            Request::Signal(signal) => send(&Down::Signal(signal)),
            Request::Resize { rows, cols } => send(&Down::Resize { rows, cols }),
            Request::Input(bytes) => send(&Down::Input(bytes)),
            Request::CloseInput => send(&Down::CloseInput),
            Request::Taken(bytes) => {
                send(&Down::Taken(u32::try_from(bytes).unwrap_or(u32::MAX)));
            }
            Request::WatchTree => send(&Down::WatchTree),
            Request::KillLeftovers => send(&Down::KillLeftovers),
            Request::Drop => send(&Down::Drop),
        }
    }
}

impl Drop for CommandExchange {
    fn drop(&mut self) {
        self.link.close(self.id);
    }
}

impl Remote {
    async fn start(&self, command: Command) -> Result<Process> {
        let (policy, way) = match &command.sandbox {
            None => (None, None),
            // A plan of this machine holds nothing there.
            Some(plan) => {
                let Elsewhere { policy, way } = plan.elsewhere().ok_or(Error::BadCommand)?;
                (Some(policy.clone()), way.clone())
            }
        };
        let stdio = command.stdio;
        let start = Start {
            argv: command.argv,
            cwd: command.cwd,
            env: command.env,
            stdio,
            policy,
            way: way
                .as_ref()
                .map(|way| (way.token.clone(), way.reach.clone())),
        };
        let (sender, started) = oneshot::channel();
        let (events, heard) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(INPUT_WINDOW));
        let (leftovers, leftovers_gone) = watch::channel(());
        let (tree, tree_gone) = watch::channel(());
        let id = self.link.open(Route::Command {
            started: Some(sender),
            events,
            room: room.clone(),
            leftovers: Some(leftovers),
            tree: Some(tree),
            asked: way.map(|way| way.asked),
        })?;
        let exchange = CommandExchange {
            link: self.link.clone(),
            id,
            _tasks: self._tasks.clone(),
        };
        self.link
            .sender
            .send(id, &Down::Call(Box::new(Call::Start(Box::new(start)))))
            .await;
        let pid = match started.await {
            Ok(Ok(Answer::Started { pid })) => pid,
            Ok(Ok(_)) => return Err(self.link.unreachable(&Broken::Garbage.to_string())),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(self.link.lost()),
        };
        Ok(Process::far(Ends {
            pid,
            events: heard,
            ask: Arc::new(move |request| exchange.ask(request)),
            room,
            has_input: stdio != Stdio::Pipes,
            has_terminal: matches!(stdio, Stdio::Pty { .. }),
            leftovers_gone,
            tree_gone,
        }))
    }

    /// One call, and its answer if it is of the kind that was asked for.
    fn answered<T: Send>(
        &self,
        call: Call,
        pick: impl FnOnce(Answer) -> Option<T> + Send + 'static,
    ) -> Fut<'_, T> {
        Box::pin(async move {
            let answer = self.link.call(call).await?;
            let garbled = || self.link.unreachable(&Broken::Garbage.to_string());
            pick(answer).ok_or_else(garbled)
        })
    }
}

macro_rules! only {
    ($kind:ident) => {
        |answer| {
            let Answer::$kind(inner) = answer else {
                return None;
            };
            Some(inner)
        }
    };
}

impl Host for Remote {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        Box::pin(self.start(command))
    }

    fn stat(&self, path: &Path) -> Fut<'_, Stat> {
        let path = path.to_owned();
        self.answered(Call::Stat { path }, only!(Stat))
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        let call = Call::Read {
            path: path.to_owned(),
            span,
            border: Border::clone(border),
        };
        self.answered(call, only!(Content))
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        let call = Call::Write {
            path: path.to_owned(),
            bytes,
            options,
        };
        self.answered(call, only!(Written))
    }

    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        let call = Call::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            options,
        };
        self.answered(call, only!(Renamed))
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        let call = Call::List {
            path: path.to_owned(),
            most: max_entries,
            border: Border::clone(border),
        };
        self.answered(call, only!(Listing))
    }

    fn search(&self, search: Search) -> Fut<'_, Found> {
        self.answered(Call::Search(search), only!(Found))
    }

    fn checkpoint(&self, tree: Tree, order: Order) -> CheckpointFut<'_> {
        Box::pin(async move {
            let away = |error: Error| checkpoint::Error::Away {
                place: self.link.place.clone(),
                reason: match error {
                    Error::Unreachable { reason, .. } => reason,
                    other => other.to_string(),
                },
            };
            let call = Call::Checkpoint {
                tree: Box::new(tree),
                order: Box::new(order),
            };
            match self.link.call(call).await {
                Ok(Answer::Checkpoint(reply)) => *reply,
                Ok(_) => Err(away(self.link.unreachable(&Broken::Garbage.to_string()))),
                Err(error) => Err(away(error)),
            }
        })
    }
}
