//! Our end of a command that a keeper runs: reads its streams, hears of its end, sends signals down.

use crate::command::{Command, Exit, Output, Signal, Stdio};
use crate::watchdog::{Control, Report, Spawner, Started};
use bytes::Bytes;
use ostler_files::{Error, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::time::Instant;

/// Most bytes in one piece of output.
const CHUNK: usize = 64 << 10;
/// After the command's end its background children may hold its streams; this much silence ends the wait for them.
const DRAIN_QUIET: Duration = Duration::from_millis(50);
/// The same for children that never fall silent.
const DRAIN_LONGEST: Duration = Duration::from_millis(500);

/// How long the end of what was killed is waited for.
const LONGEST_END: Duration = Duration::from_secs(2);

/// A running command. Dropping it kills everything the command started, unless `next` has already told its end: what a
/// finished command left in the background lives on until we end.
pub struct Process {
    pid: i32,
    spawner: Arc<Spawner>,
    control: Control,
    streams: Streams,
    input: Option<Input>,
    terminal: Option<Fd>,
    phase: Phase,
    leftovers: Option<Leftovers>,
    /// Closed when everything that the command started is dead, if somebody wants to know.
    alive: Option<Arc<watch::Sender<()>>>,
}

/// The end of everything that a command started, to be waited for by somebody who does not hold its `Process`.
pub struct TreeEnd {
    control: Control,
    gone: watch::Receiver<()>,
}

impl TreeEnd {
    /// Waits until all of it is dead.
    pub async fn wait(&mut self) {
        while self.gone.changed().await.is_ok() {}
    }

    /// Kills all of it.
    pub fn kill(&self) {
        self.control.signal(libc::SIGKILL);
    }
}

/// What a finished command left in the background.
pub struct Leftovers {
    control: Control,
    /// Closed when the last of it has ended.
    gone: watch::Receiver<()>,
}

impl Leftovers {
    pub fn is_alive(&self) -> bool {
        self.gone.has_changed().is_ok()
    }

    /// Waits until the last of it has ended.
    pub async fn wait(&mut self) {
        while self.gone.changed().await.is_ok() {}
    }

    /// Kills all of it, and waits for its end.
    pub async fn end(mut self) {
        self.control.signal(libc::SIGKILL);
        let gone = async { while self.gone.changed().await.is_ok() {} };
        // Only what is stuck in the kernel takes longer.
        let _late = tokio::time::timeout(LONGEST_END, gone).await;
    }
}

/// Writes to the command's stdin. Dropping it closes a pipe; a terminal stays open.
pub struct Input {
    fd: Fd,
}

type Fd = Arc<AsyncFd<OwnedFd>>;

#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// The command has ended; its last words may still be on the way.
    Draining {
        exit: Exit,
        leftovers: bool,
        quiet: Instant,
        longest: Instant,
    },
    Done(Exit),
}

pub(crate) async fn spawn(spawner: &Arc<Spawner>, command: &Command) -> Result<Process> {
    if !command.cwd.is_absolute() {
        return Err(Error::BadPath {
            path: command.cwd.clone(),
        });
    }
    let plumbing = Plumbing::new(command.stdio).map_err(|source| Error::Spawn {
        program: command.program(),
        source,
    })?;
    let Started { pid, control } = spawner.start(command, &plumbing.theirs).await?;
    Ok(Process {
        pid,
        spawner: spawner.clone(),
        control,
        streams: plumbing.streams,
        input: plumbing.input,
        terminal: plumbing.terminal,
        phase: Phase::Running,
        leftovers: None,
        alive: None,
    })
}

impl Process {
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What comes next. After `Output::Exited` only that, again and again. May be cancelled without losing anything.
    pub async fn next(&mut self) -> Output {
        loop {
            match self.phase {
                Phase::Running => tokio::select! {
                    output = self.streams.next(), if !self.streams.closed() => {
                        if let Some(output) = output {
                            return output;
                        }
                    }
                    heard = self.control.hear() => self.on_report(heard).await,
                },
                Phase::Draining { quiet, longest, .. } => {
                    if Instant::now() >= longest {
                        self.finish();
                        continue;
                    }
                    // Usually all is there and both ends are closed: no need to wait for the reactor to say so.
                    let mut output = self.streams.now();
                    if output.is_none() && !self.streams.closed() {
                        output = tokio::time::timeout_at(quiet.min(longest), self.streams.next())
                            .await
                            .unwrap_or_default();
                    }
                    match output {
                        Some(output) => {
                            self.heard_now();
                            return output;
                        }
                        None => self.finish(),
                    }
                }
                Phase::Done(exit) => return Output::Exited(exit),
            }
        }
    }

    /// To everything that the command started, wherever it went.
    pub fn signal(&self, signal: Signal) {
        self.control.signal(match signal {
            Signal::Int => libc::SIGINT,
            Signal::Term => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        });
    }

    /// What the command left in the background, once it has ended; `None` if that is nothing.
    pub fn take_leftovers(&mut self) -> Option<Leftovers> {
        self.leftovers.take()
    }

    /// The end of everything that the command started. Dropping the process kills all of it then, also what an ended
    /// command left in the background and nobody took.
    pub fn tree_end(&mut self) -> TreeEnd {
        let alive = self
            .alive
            .get_or_insert_with(|| Arc::new(watch::channel(()).0));
        TreeEnd {
            control: self.control.share(),
            gone: alive.subscribe(),
        }
    }

    /// The command's stdin, once, if it has one.
    pub fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    /// Waits until some of the bytes are taken, and says how many.
    pub async fn write_stdin(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub fn close_stdin(&mut self) {
        self.input = None;
    }

    /// Tells a command on a terminal that its window has changed.
    pub fn resize(&self, rows: u16, cols: u16) -> io::Result<()> {
        match &self.terminal {
            Some(terminal) => Ok(tcsetwinsize(terminal.get_ref(), window(rows, cols))?),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    async fn on_report(&mut self, heard: Option<Report>) {
        let (exit, leftovers) = match heard {
            Some(Report::Exited { exit, leftovers }) => (exit, leftovers),
            Some(Report::Taken | Report::Started { .. }) => return,
            None => (Exit::LOST, false),
        };
        let now = Instant::now();
        self.phase = Phase::Draining {
            exit,
            leftovers,
            quiet: now + DRAIN_QUIET,
            longest: now + DRAIN_LONGEST,
        };
        if heard.is_none() {
            self.spawner.after_loss().await;
        }
    }

    fn heard_now(&mut self) {
        if let Phase::Draining { quiet, .. } = &mut self.phase {
            *quiet = Instant::now() + DRAIN_QUIET;
        }
    }

    fn finish(&mut self) {
        if let Phase::Draining {
            exit, leftovers, ..
        } = self.phase
        {
            self.phase = Phase::Done(exit);
            let streams = std::mem::take(&mut self.streams);
            if leftovers {
                let (alive, gone) = watch::channel(());
                let control = self.control.share();
                self.leftovers = Some(Leftovers { control, gone });
                let all = self.alive.clone();
                tokio::spawn(linger(self.control.share(), streams, (alive, all)));
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(alive) = self.alive.take() else {
            return;
        };
        match self.phase {
            Phase::Done(_) => {
                if self.leftovers.is_some() {
                    self.control.signal(libc::SIGKILL);
                }
            }
            Phase::Running | Phase::Draining { .. } => {
                self.control.signal(libc::SIGKILL);
                let mut control = self.control.share();
                let death = async move {
                    let _alive = alive;
                    let gone = async { while control.hear().await.is_some() {} };
                    // Only what is stuck in the kernel takes longer.
                    let _late = tokio::time::timeout(LONGEST_END, gone).await;
                };
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(death);
                }
            }
        }
    }
}

/// Keeps what a finished command left in the background: its output goes nowhere instead of into a closed pipe. Ends
/// with the last of it, or with the runtime.
async fn linger(
    mut control: Control,
    mut streams: Streams,
    _alive: (watch::Sender<()>, Option<Arc<watch::Sender<()>>>),
) {
    loop {
        tokio::select! {
            output = streams.next(), if !streams.closed() => drop(output),
            heard = control.hear() => if heard.is_none() {
                return;
            },
        }
    }
}

impl Input {
    /// Waits until some of the bytes are taken, and says how many.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fd
            .async_io(tokio::io::Interest::WRITABLE, |fd| {
                Ok(rustix::io::write(fd, bytes)?)
            })
            .await
    }

    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write(bytes).await?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }
}

/// What the command writes to; a stream at its end is `None`.
#[derive(Default)]
struct Streams {
    stdout: Option<Stream>,
    stderr: Option<Stream>,
}

impl Streams {
    fn closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits for the next piece; `None` when there will be no more.
    async fn next(&mut self) -> Option<Output> {
        while !self.closed() {
            let output = tokio::select! {
                bytes = read(&mut self.stdout) => bytes.map(Output::Stdout),
                bytes = read(&mut self.stderr) => bytes.map(Output::Stderr),
            };
            if output.is_some() {
                return output;
            }
        }
        None
    }

    /// The next piece if it is already there.
    fn now(&mut self) -> Option<Output> {
        let stdout = read_now(&mut self.stdout).map(Output::Stdout);
        stdout.or_else(|| read_now(&mut self.stderr).map(Output::Stderr))
    }
}

struct Stream {
    fd: Fd,
    /// Reused; what is read is copied out at its true size.
    buffer: Vec<u8>,
}

impl Stream {
    fn new(fd: Fd) -> Option<Self> {
        Some(Self {
            fd,
            buffer: Vec::new(),
        })
    }

    /// Empty at the end. A terminal whose last user is gone answers with an error instead.
    fn take(&mut self) -> io::Result<Bytes> {
        self.buffer.clear();
        self.buffer.reserve(CHUNK);
        let space = rustix::buffer::spare_capacity(&mut self.buffer);
        match rustix::io::read(self.fd.get_ref(), space) {
            Ok(_) => Ok(Bytes::copy_from_slice(&self.buffer)),
            Err(Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
            Err(Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
            Err(_) => Ok(Bytes::new()),
        }
    }
}

/// Waits for bytes. At its end the stream becomes `None`, and a stream that is `None` never answers.
async fn read(slot: &mut Option<Stream>) -> Option<Bytes> {
    let Some(stream) = slot else {
        return std::future::pending().await;
    };
    let fd = stream.fd.clone();
    let bytes = loop {
        let Ok(mut ready) = fd.readable().await else {
            break Bytes::new();
        };
        if let Ok(taken) = ready.try_io(|_| stream.take()) {
            break taken.unwrap_or_default();
        }
    };
    close_if_empty(slot, bytes)
}

fn read_now(slot: &mut Option<Stream>) -> Option<Bytes> {
    let bytes = slot.as_mut()?.take().ok()?;
    close_if_empty(slot, bytes)
}

fn close_if_empty(slot: &mut Option<Stream>, bytes: Bytes) -> Option<Bytes> {
    if bytes.is_empty() {
        *slot = None;
        return None;
    }
    Some(bytes)
}

/// Both ends of a command's streams, made before it starts.
struct Plumbing {
    /// In the order a keeper expects them.
    theirs: Vec<OwnedFd>,
    streams: Streams,
    input: Option<Input>,
    terminal: Option<Fd>,
}

impl Plumbing {
    fn new(stdio: Stdio) -> io::Result<Self> {
        match stdio {
            Stdio::Pipes => Self::pipes(),
            Stdio::PipesWithStdin => {
                let (theirs, ours) = io::pipe()?;
                let mut plumbing = Self::pipes()?;
                plumbing.theirs.insert(0, theirs.into());
                plumbing.input = Some(Input {
                    fd: asynchronous(ours.into())?,
                });
                Ok(plumbing)
            }
            Stdio::Pty { rows, cols } => Self::terminal(rows, cols),
        }
    }

    fn pipes() -> io::Result<Self> {
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = io::pipe()?;
        Ok(Self {
            theirs: vec![their_stdout.into(), their_stderr.into()],
            streams: Streams {
                stdout: Stream::new(asynchronous(stdout.into())?),
                stderr: Stream::new(asynchronous(stderr.into())?),
            },
            input: None,
            terminal: None,
        })
    }

    fn terminal(rows: u16, cols: u16) -> io::Result<Self> {
        let ours = open_terminal()?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = rustix::fs::open(ptsname(&ours, Vec::new())?, flags, Mode::empty())?;
        tcsetwinsize(&ours, window(rows, cols))?;
        let ours = asynchronous(ours)?;
        Ok(Self {
            theirs: vec![theirs],
            streams: Streams {
                stdout: Stream::new(ours.clone()),
                stderr: None,
            },
            input: Some(Input { fd: ours.clone() }),
            terminal: Some(ours),
        })
    }
}

fn open_terminal() -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    #[cfg(target_os = "linux")]
    return Ok(openpt(flags | OpenptFlags::CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    {
        let fd = openpt(flags)?;
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
        Ok(fd)
    }
}

fn asynchronous(fd: OwnedFd) -> io::Result<Fd> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    // SAFETY: the descriptor is owned, open, and stays the same until the registration is dropped.
    #[expect(unsafe_code, reason = "registering a descriptor has no safe form")]
    let fd = unsafe { AsyncFd::register(fd) }?;
    Ok(Arc::new(fd))
}

fn window(rows: u16, cols: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
