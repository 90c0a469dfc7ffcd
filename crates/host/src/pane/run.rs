//! One command in the pane, from what is typed to the mark of its end; and the reader of what the pane shows.

use super::marks::{Marks, Piece};
use super::{Live, PaneError, Shared, script};
use crate::command::{Command, Exit, Output, Signal};
use crate::process::Process;
use crate::process::far::{Ends, Event, Request};
use bytes::Bytes;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// How long the pane's shell may take to begin a command: its own start may be slow.
const BEGIN_PATIENCE: Duration = Duration::from_secs(20);
/// How long a command may take to end after it was asked to, when nobody wants it any more.
const END_PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of output that wait to be read; beyond, what is shown is left out: tmux would keep it all in its memory.
const MAX_WAITING: usize = 4 << 20;
/// Characters of a command that the pane shows before its output.
const MAX_TITLE: usize = 200;

/// Numbers scripts.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The turn of one command, until it has ended.
pub struct Taken(Arc<Shared>);

impl Taken {
    pub async fn take(shared: &Arc<Shared>, title: &str) -> Result<Self, PaneError> {
        shared.slot.take(title).await?;
        Ok(Self(shared.clone()))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.slot.free();
    }
}

/// What the pane shows, as it comes, for the command that runs.
#[derive(Default)]
pub struct Feed {
    reader: Mutex<Option<Listener>>,
    has_ended: AtomicBool,
}

/// The command that what is shown belongs to.
struct Listener {
    marks: Marks,
    heard: mpsc::UnboundedSender<Heard>,
    waiting: Arc<AtomicUsize>,
    is_behind: bool,
}

enum Heard {
    Piece(Piece),
    /// Output was left out here.
    LeftOut,
    /// The pane is gone.
    Closed,
}

impl Feed {
    /// Reads until the process ends, which the pane's end brings about, or until what is given back is dropped.
    pub fn start(mut process: Process, first: &[u8]) -> (Arc<Self>, oneshot::Sender<()>) {
        let feed = Arc::new(Self::default());
        let (keep, mut dropped) = oneshot::channel();
        feed.take(first);
        let fed = feed.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    // Dropping the process ends all that it started.
                    _ = &mut dropped => return fed.end(),
                    output = process.next() => match output {
                        Output::Stdout(bytes) => fed.take(&bytes),
                        Output::Stderr(_) => {}
                        Output::Exited(_) => return fed.end(),
                    },
                }
            }
        });
        (feed, keep)
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Listener>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: &[u8]) {
        let mut reader = self.lock();
        let Some(listener) = reader.as_mut() else {
            return;
        };
        for piece in listener.marks.feed(bytes) {
            listener.pass_on(piece);
        }
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        if let Some(listener) = self.lock().take() {
            // Nobody may wait any more.
            let _gone = listener.heard.send(Heard::Closed);
        }
    }

    /// From now on what is shown is heard, until the next one listens.
    fn listen(&self, word: &str) -> (mpsc::UnboundedReceiver<Heard>, Arc<AtomicUsize>) {
        let (heard, hears) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let listener = Listener {
            marks: Marks::new(word),
            heard,
            waiting: waiting.clone(),
            is_behind: false,
        };
        match self.has_ended() {
            true => drop(listener.heard.send(Heard::Closed)),
            false => *self.lock() = Some(listener),
        }
        (hears, waiting)
    }

    fn forget(&self) {
        *self.lock() = None;
    }
}

impl Listener {
    fn pass_on(&mut self, piece: Piece) {
        if let Piece::Text(text) = &piece {
            if self.waiting.load(Ordering::Acquire) > MAX_WAITING {
                if !std::mem::replace(&mut self.is_behind, true) {
                    let _gone = self.heard.send(Heard::LeftOut);
                }
                return;
            }
            self.waiting.fetch_add(text.len(), Ordering::AcqRel);
        }
        self.is_behind = false;
        let _gone = self.heard.send(Heard::Piece(piece));
    }
}

/// Types a command into the pane. It is answered for when the pane's shell has begun it.
pub async fn start(
    slot: Taken,
    live: Arc<Live>,
    command: Command,
    title: &str,
) -> Result<Process, PaneError> {
    let (asks, asked) = mpsc::unbounded_channel();
    let (events, heard) = mpsc::unbounded_channel();
    let (gone, is_gone) = watch::channel(());
    let (started, is_started) = oneshot::channel();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let word = format!("{number}-{:08x}", random_word());
    let (hears, waiting) = live.feed.listen(&word);
    let holder = slot.0.clone();
    let running = Running {
        slot,
        file: format!("{}/{number}", live.folder),
        live,
        hears,
        asked,
        events,
        waiting,
        pid: None,
    };
    let title: String = title
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(MAX_TITLE)
        .collect();
    let title = format!("ostler$ {}", ostler_wire::printable(&title));
    let leash = format!("{}/leash", running.live.folder);
    let text = script::command(&command, &word, &leash, &title);
    // It goes on to its end whoever waits: what was typed must not be left alone.
    tokio::spawn(async move {
        // Closed when it has ended, whatever way.
        let _gone = gone;
        running.go(text, started).await;
    });
    let process = Process::far(Ends {
        pid: 0,
        events: heard,
        ask: Arc::new(move |request| {
            if request == Request::Drop && !asks.is_closed() {
                holder.slot.mark_ending();
            }
            // It may have ended.
            let _ended = asks.send(request);
        }),
        room: Arc::new(Semaphore::new(0)),
        has_input: false,
        has_terminal: false,
        leftovers_gone: is_gone.clone(),
        tree_gone: is_gone,
    });
    // Dropping the process here takes the command back.
    is_started.await.map_err(|_| PaneError::Closed)??;
    Ok(process)
}

/// What tells the marks of one command from those of others.
fn random_word() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    (RandomState::new().hash_one(std::process::id()) & 0xffff_ffff) as u32
}

struct Running {
    slot: Taken,
    live: Arc<Live>,
    /// Its script at the place.
    file: String,
    hears: mpsc::UnboundedReceiver<Heard>,
    asked: mpsc::UnboundedReceiver<Request>,
    events: mpsc::UnboundedSender<Event>,
    waiting: Arc<AtomicUsize>,
    /// Once it has begun.
    pid: Option<i32>,
}

impl Running {
    async fn go(mut self, text: Vec<u8>, started: oneshot::Sender<Result<(), PaneError>>) {
        let begun = self.begin(text).await;
        let is_running = begun.is_ok();
        if started.send(begun).is_err() && is_running {
            self.abandon().await;
        } else if is_running {
            self.attend().await;
        }
        self.live.feed.forget();
    }

    async fn begin(&mut self, text: Vec<u8>) -> Result<(), PaneError> {
        let tmux = self.slot.0.settings.session.tmux();
        let args = [&self.live.id, &self.live.shell, &self.file].map(OsStr::new);
        let said = self.slot.0.run(&script::begin(&tmux), args, text).await?;
        match script::said(&said.out).and_then(|said| said.split_once(' ').or(Some((said, "")))) {
            Some(("typed", _)) => {}
            Some(("busy", program)) => return Err(PaneError::Busy(program.to_owned())),
            Some(("full", _)) => return Err(PaneError::Full),
            Some(("gone", _)) => return Err(PaneError::Gone),
            Some(_) | None => return Err(PaneError::Failed(said.err.trim().to_owned())),
        }
        let begun = tokio::time::timeout(BEGIN_PATIENCE, self.wait_for_begin()).await;
        if let Ok(begun) = begun {
            return begun;
        }
        if self.withdraw().await {
            return Err(PaneError::Silent);
        }
        // It was taken; one that was killed before it could say so begins no more.
        let begun = tokio::time::timeout(BEGIN_PATIENCE, self.wait_for_begin()).await;
        begun.unwrap_or(Err(PaneError::Silent))
    }

    async fn wait_for_begin(&mut self) -> Result<(), PaneError> {
        loop {
            match self.hears.recv().await {
                Some(Heard::Piece(Piece::Begin(pid))) => {
                    self.pid = Some(pid);
                    return Ok(());
                }
                // What was there before, and the typed line itself.
                Some(Heard::Piece(piece)) => self.count_off(&piece),
                Some(Heard::LeftOut) => {}
                Some(Heard::Closed) | None => return Err(PaneError::Closed),
            }
        }
    }

    fn count_off(&self, piece: &Piece) {
        if let Piece::Text(text) = piece {
            self.waiting.fetch_sub(text.len(), Ordering::AcqRel);
        }
    }

    /// Whether the shell had not taken the script, and never will.
    async fn withdraw(&self) -> bool {
        let args = [OsStr::new(&self.file)];
        let said = self.slot.0.run(script::WITHDRAW, args, Vec::new()).await;
        said.is_ok_and(|said| script::said(&said.out) == Some("withdrawn"))
    }

    /// Passes on what the command prints, and does what is asked of it, until it ends.
    async fn attend(&mut self) {
        loop {
            tokio::select! {
                biased;
                request = self.asked.recv() => match request {
                    Some(Request::Taken(count)) => {
                        self.waiting.fetch_sub(count, Ordering::AcqRel);
                    }
                    Some(Request::Signal(Signal::Kill)) => {
                        self.signal("KILL").await;
                        return self.exit(Exit { code: None, signal: Some(9) });
                    }
                    Some(Request::Signal(Signal::Term)) => self.signal("TERM").await,
                    Some(Request::Signal(Signal::Int)) => self.signal("INT").await,
                    Some(Request::Drop) | None => return self.abandon().await,
                    Some(
                        Request::Resize { .. }
                        | Request::Input(_)
                        | Request::CloseInput
                        | Request::WatchTree
                        | Request::KillLeftovers,
                    ) => {}
                },
                heard = self.hears.recv() => match heard {
                    Some(Heard::Piece(Piece::Text(text))) => self.tell(Output::Stdout(text)),
                    Some(Heard::Piece(Piece::End(code))) => {
                        return self.exit(Exit { code: Some(code), signal: None });
                    }
                    Some(Heard::Piece(Piece::Begin(_))) => {}
                    Some(Heard::LeftOut) => {
                        self.tell(Output::Stderr(Bytes::from_static(b"[output was left out: it came faster than it could be kept]\n")));
                    }
                    Some(Heard::Closed) | None => {
                        let text = format!("{}.\n", PaneError::Closed);
                        self.tell(Output::Stderr(text.into()));
                        return self.exit(Exit::LOST);
                    }
                },
            }
        }
    }

    fn tell(&self, output: Output) {
        // Whoever listened may be gone; the request to drop is on its way then.
        let _gone = self.events.send(Event::Output(output));
    }

    fn exit(&self, exit: Exit) {
        self.slot.0.slot.mark_ending();
        let _gone = self.events.send(Event::Exited {
            exit,
            leftovers: false,
        });
    }

    async fn signal(&self, signal: &str) {
        let Some(pid) = self.pid else { return };
        let pid = pid.to_string();
        let args = [OsStr::new(signal), OsStr::new(&pid)];
        // One that cannot be sent has nobody to be told: its command's end is waited for all the same.
        let _sent = self.slot.0.run(script::SIGNAL, args, Vec::new()).await;
    }

    /// Nobody wants it any more.
    async fn abandon(&mut self) {
        self.signal("TERM").await;
        let ended = async {
            loop {
                match self.hears.recv().await {
                    Some(Heard::Piece(Piece::End(_)) | Heard::Closed) | None => return,
                    Some(Heard::Piece(piece)) => self.count_off(&piece),
                    Some(Heard::LeftOut) => {}
                }
            }
        };
        if tokio::time::timeout(END_PATIENCE, ended).await.is_err() {
            self.signal("KILL").await;
        }
    }
}
