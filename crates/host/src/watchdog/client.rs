//! Our side of the watchdog: starts one with the first command, sends requests, and starts another when it has died.

use super::frame::{self, FAILURE_SIZE, Failure, REPORT_SIZE, Report, Stage};
use super::strays::{sweep, watchdogs};
use super::sys::{self, Forked};
use super::{MODE, server, terminal, tree};
use crate::command::Command;
use ostler_files::{Error, Result};
#[cfg(target_os = "linux")]
use ostler_sandbox::{SharedNetwork, linux::Way};
use ostler_wire::Word;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::io::{self, PipeReader};
#[cfg(target_os = "linux")]
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Mutex;

/// Tries to hand a command to a watchdog; each failure means that one had just died.
const MAX_ATTEMPTS: usize = 3;
/// How long a watchdog that dropped a request may take to show that it is dead.
const DEATH_NOTICE: Duration = Duration::from_millis(200);

static MAY_REEXEC: AtomicBool = AtomicBool::new(false);

/// This program's `main` knows the hidden mode.
pub(super) fn allow_reexec() {
    MAY_REEXEC.store(true, Ordering::Relaxed);
}

/// Starts commands by way of a watchdog.
#[derive(Default)]
pub(crate) struct Spawner {
    link: Mutex<Option<Link>>,
}

/// A command that runs, and the line to its keeper.
pub(crate) struct Started {
    pub(crate) pid: i32,
    pub(crate) control: Control,
}

/// The line to a keeper. When all of its holders are gone, the keeper kills what it keeps.
pub(crate) struct Control {
    stream: Arc<UnixStream>,
    report: [u8; REPORT_SIZE],
    filled: usize,
}

impl Control {
    fn new(stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream: Arc::new(UnixStream::from_std(stream)?),
            report: [0; REPORT_SIZE],
            filled: 0,
        })
    }

    /// Another holder. Only one of them may listen.
    pub(crate) fn share(&self) -> Self {
        Self {
            stream: self.stream.clone(),
            report: [0; REPORT_SIZE],
            filled: 0,
        }
    }

    /// The next report; `None` when the keeper is gone. May be cancelled without losing anything.
    pub(crate) async fn hear(&mut self) -> Option<Report> {
        while let Some(space) = self.report.get_mut(self.filled..)
            && !space.is_empty()
        {
            // What is there already needs no word from the reactor.
            let count = match rustix::io::read(&*self.stream, &mut *space) {
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.stream.readable().await.ok()?;
                    let read = || Ok(rustix::io::read(&*self.stream, &mut *space)?);
                    match self.stream.try_io(Interest::READABLE, read) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                        read => read.ok()?,
                    }
                }
                read => read.ok()?,
            };
            if count == 0 {
                return None;
            }
            self.filled += count;
        }
        self.filled = 0;
        Report::decode(self.report)
    }

    /// Has the keeper send a signal to everything it keeps. One that is gone keeps nothing.
    pub(crate) fn signal(&self, number: i32) {
        // Not by way of the reactor: it may not know yet that the socket takes bytes, and these few always fit.
        let _gone = frame::send(self.stream.as_fd(), &number.to_ne_bytes(), &[]);
    }
}

impl Spawner {
    /// `stdio` is the command's side of its streams.
    pub(crate) async fn start(&self, command: &Command, stdio: &[OwnedFd]) -> Result<Started> {
        let cannot = |source| Error::Spawn {
            program: command.program(),
            source,
        };
        let lost = || Error::Lost {
            program: command.program(),
        };
        let frame = frame::encode_spawn(command)?;
        for _ in 0..MAX_ATTEMPTS {
            let (ours, control) = StdStream::pair().map_err(cannot)?;
            let (failure, failures) = io::pipe().map_err(cannot)?;
            let fds: Vec<BorrowedFd<'_>> = [control.as_fd(), failures.as_fd()]
                .into_iter()
                .chain(stdio.iter().map(AsFd::as_fd))
                .chain(cage_of(command))
                .collect();
            self.send(&frame, &fds).await.map_err(cannot)?;
            drop(fds);
            drop((control, failures));
            if let Some(failure) = read_failure(failure).await.map_err(cannot)? {
                return Err(explain(command, failure));
            }
            // Only now, so that what the keeper says meanwhile does not wake us for nothing.
            let mut control = Control::new(ours).map_err(cannot)?;
            let mut taken = false;
            loop {
                match control.hear().await {
                    Some(Report::Taken) => taken = true,
                    Some(Report::Started { pid }) => return Ok(Started { pid, control }),
                    Some(Report::Exited { .. }) | None if taken => return Err(lost()),
                    // Nobody had taken the request, so it is safe to make it again.
                    Some(Report::Exited { .. }) | None => break,
                }
            }
            self.bury_if_dead(DEATH_NOTICE).await;
        }
        Err(lost())
    }

    /// A keeper ended without a word. If the watchdog is dead as well, whatever is left is ours to kill.
    pub(crate) async fn after_loss(&self) {
        self.bury_if_dead(Duration::ZERO).await;
    }

    /// Starts the watchdog now, so that the first command need not wait for it.
    pub(crate) async fn warm_up(&self) -> io::Result<()> {
        let mut link = self.link.lock().await;
        if link.is_none() {
            *link = Some(Link::start()?);
        }
        Ok(())
    }

    /// Has the watchdog remember the terminal as it is now, and `reset` to be written to it, for the case of our death.
    pub(crate) async fn guard_terminal(&self, reset: &[u8]) -> io::Result<()> {
        let (tty, termios) = terminal::present()?;
        let frame = frame::encode_guard(termios, reset)?;
        self.send(&frame, &[tty.as_fd()]).await
    }

    pub(crate) async fn release_terminal(&self) -> io::Result<()> {
        if self.link.lock().await.is_none() {
            return Ok(());
        }
        self.send(&frame::encode_release(), &[]).await
    }

    /// Has the watchdog make a network. A watchdog that dies meanwhile is an error; the next call has a new one.
    #[cfg(target_os = "linux")]
    pub(crate) async fn network(&self, way: Way) -> io::Result<(SharedNetwork, TcpListener)> {
        let (ours, theirs) = StdStream::pair()?;
        self.send(&frame::encode_network(way), &[theirs.as_fd()])
            .await?;
        drop(theirs);
        tokio::task::spawn_blocking(move || SharedNetwork::receive(&ours, way)).await?
    }

    async fn send(&self, frame: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut slot = self.link.lock().await;
        let mut failure = io::Error::from(io::ErrorKind::BrokenPipe);
        for _ in 0..MAX_ATTEMPTS {
            let link = match &mut *slot {
                Some(link) => link,
                None => slot.insert(Link::start()?),
            };
            match link.send(frame, fds).await {
                Ok(()) => return Ok(()),
                Err(error) => failure = error,
            }
            if let Some(link) = slot.take() {
                link.bury().await;
            }
        }
        Err(failure)
    }

    async fn bury_if_dead(&self, patience: Duration) {
        let mut slot = self.link.lock().await;
        let Some(link) = &*slot else {
            return;
        };
        // A watchdog never says anything on this socket: only its end makes it readable.
        let dead = match rustix::io::read(&link.stream, &mut [0]) {
            Err(Errno::AGAIN) => tokio::time::timeout(patience, link.stream.readable())
                .await
                .is_ok(),
            Ok(_) | Err(_) => true,
        };
        if dead && let Some(link) = slot.take() {
            link.bury().await;
        }
    }
}

struct Link {
    stream: UnixStream,
    pid: Pid,
    /// The rest of a frame whose sender was cancelled; goes out before the next.
    unsent: Vec<u8>,
}

impl Link {
    fn start() -> io::Result<Self> {
        let (stream, pid) = launch()?;
        stream.set_nonblocking(true)?;
        #[cfg(target_os = "linux")]
        tokio::spawn(mourn(pid));
        Ok(Self {
            stream: UnixStream::from_std(stream)?,
            pid,
            unsent: Vec::new(),
        })
    }

    async fn send(&mut self, frame: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.flush().await?;
        let sent = self
            .stream
            .async_io(Interest::WRITABLE, || {
                frame::send(self.stream.as_fd(), frame, fds)
            })
            .await?;
        self.unsent = frame.get(sent..).unwrap_or_default().to_vec();
        self.flush().await
    }

    async fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let sent = self
                .stream
                .async_io(Interest::WRITABLE, || {
                    frame::send(self.stream.as_fd(), &self.unsent, &[])
                })
                .await?;
            self.unsent.drain(..sent.min(self.unsent.len()));
        }
        Ok(())
    }

    async fn bury(self) {
        let Self { stream, pid, .. } = self;
        drop(stream);
        tree::send(pid, Signal::KILL);
        bury(pid).await;
    }
}

/// Waits for a watchdog's end and kills what came to us from it. Off the runtime: both block.
async fn bury(pid: Pid) {
    let _cancelled = tokio::task::spawn_blocking(move || {
        let _reaped = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
        watchdogs().retain(|other| *other != pid);
        sweep();
    })
    .await;
}

/// Buries a watchdog as soon as it has ended, whether or not anybody asks for it again. Ends with it.
#[cfg(target_os = "linux")]
async fn mourn(pid: Pid) {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::unix::AsyncFd;
    // A kernel without pidfds leaves it to the next request to find out.
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    // SAFETY: the descriptor is owned, open, and stays the same until the registration is dropped.
    #[expect(unsafe_code, reason = "registering a descriptor has no safe form")]
    let Ok(fd) = (unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }) else {
        return;
    };
    if fd.readable().await.is_ok() {
        bury(pid).await;
    }
}

fn launch() -> io::Result<(StdStream, Pid)> {
    let (ours, theirs) = StdStream::pair()?;
    // Held until the new one is on the list, so that no sweep takes it for a stray.
    let mut watchdogs = watchdogs();
    watchdogs.retain(|pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None)));
    server::become_reaper();
    let reexecuted = match MAY_REEXEC.load(Ordering::Relaxed) {
        true => reexec(&theirs).ok().flatten(),
        false => None,
    };
    let pid = match reexecuted {
        Some(pid) => pid,
        // A program without the hidden mode, or one whose file is out of reach.
        // SAFETY: the child only allocates and makes system calls; it takes no lock of ours.
        #[expect(
            unsafe_code,
            reason = "a copy is the only other way to a process of ours"
        )]
        None => match unsafe { sys::fork() }? {
            Forked::Child => server::serve(theirs.into()),
            Forked::Parent(pid) => pid,
        },
    };
    watchdogs.push(pid);
    Ok((ours, pid))
}

fn reexec(socket: &StdStream) -> io::Result<Option<Pid>> {
    let mut command = std::process::Command::new(own_program()?);
    command
        .arg0("ostler")
        .arg(MODE)
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(socket.try_clone()?))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    sys::in_own_session(&mut command);
    // Waited for by its number, in `launch` or `bury`.
    let child = command.spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// The file this process runs, even if it was replaced or removed meanwhile.
fn own_program() -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    return Ok(PathBuf::from("/proc/self/exe"));
    #[cfg(not(target_os = "linux"))]
    return std::env::current_exe();
}

/// Waits until the command was executed, or tells why not.
async fn read_failure(pipe: PipeReader) -> io::Result<Option<Failure>> {
    let mut pipe = Receiver::from_owned_fd(pipe.into())?;
    let mut bytes = [0; FAILURE_SIZE];
    match pipe.read_exact(&mut bytes).await {
        Ok(_) => Ok(Some(Failure::decode(bytes))),
        Err(_) => Ok(None),
    }
}

/// What its sandbox needs beside the bytes, in the order in which the keeper takes it.
fn cage_of(command: &Command) -> impl Iterator<Item = BorrowedFd<'_>> {
    #[cfg(target_os = "linux")]
    return {
        let jail = command.sandbox.as_ref().and_then(|plan| plan.jail());
        let rules = jail.and_then(|jail| jail.ruleset.as_ref());
        let network = jail.and_then(|jail| jail.network.as_ref());
        let network = network.into_iter().flat_map(|n| n.descriptors());
        rules.into_iter().map(AsFd::as_fd).chain(network)
    };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = command;
        std::iter::empty()
    }
}

fn explain(command: &Command, Failure { stage, errno }: Failure) -> Error {
    let program = command.program();
    let source = io::Error::from_raw_os_error(errno);
    match (stage, errno) {
        (Stage::WorkingDirectory, _) => Error::WorkingDirectory {
            path: command.cwd.clone(),
            source,
        },
        (Stage::Exec, libc::ENOENT | libc::ENOTDIR) => Error::ProgramNotFound { program },
        (Stage::Exec, libc::E2BIG) => Error::TooLong,
        (Stage::Exec, libc::EACCES | libc::ENOEXEC | libc::EISDIR) => {
            Error::NotExecutable { program, source }
        }
        (Stage::Sandbox(step), _) => Error::Sandbox {
            program,
            step: step_word(step),
            source,
        },
        (Stage::Prepare | Stage::Exec, _) => Error::Spawn { program, source },
    }
}

fn step_word(step: u8) -> Word {
    #[cfg(target_os = "linux")]
    if let Some(step) = ostler_sandbox::linux::Step::from_number(step) {
        return step.word();
    }
    let _ = step;
    Word::BoxStepOther
}
