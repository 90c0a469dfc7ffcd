//! Commands where there is no watchdog: a child of ours, killed when its handle is dropped.

use crate::command::{Command, Exit, Output, Signal, Stdio};
use bytes::{Bytes, BytesMut};
use ostler_files::{Error, Result};
use std::io;
use std::process::Stdio as StdStdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// Most bytes in one piece of output.
const CHUNK: usize = 64 << 10;
/// Silence after the command's end that ends the wait for output of its background children.
const DRAIN_QUIET: Duration = Duration::from_millis(50);

/// A running command. Dropping it kills the command.
pub struct Process {
    pid: i32,
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    input: Option<Input>,
    ended: Option<Exit>,
    killer: tokio::sync::Notify,
    /// Closed with the process, if somebody wants to know.
    alive: Option<tokio::sync::watch::Sender<()>>,
}

/// The end of a command, to be waited for by somebody who does not hold its `Process`.
pub struct TreeEnd {
    gone: tokio::sync::watch::Receiver<()>,
}

impl TreeEnd {
    /// Waits until the process was dropped, which kills it.
    pub async fn wait(&mut self) {
        while self.gone.changed().await.is_ok() {}
    }

    /// Whoever holds the process ends it here.
    pub fn kill(&self) {}
}

/// Writes to the command's stdin. Dropping it closes the pipe.
pub struct Input {
    stdin: ChildStdin,
}

pub(crate) fn spawn(command: &Command) -> Result<Process> {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Err(Error::BadCommand);
    };
    let cannot = |source| Error::Spawn {
        program: command.program(),
        source,
    };
    let stdin = match command.stdio {
        Stdio::Pipes => StdStdio::null(),
        Stdio::PipesWithStdin => StdStdio::piped(),
        Stdio::Pty { .. } => {
            return Err(cannot(io::Error::new(
                io::ErrorKind::Unsupported,
                "this system offers no terminal for commands; run it without one",
            )));
        }
    };
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(StdStdio::piped())
        .stderr(StdStdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::ProgramNotFound {
                program: command.program(),
            },
            _ => cannot(source),
        })?;
    Ok(Process {
        pid: child.id().map_or(0, u32::cast_signed),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        input: child.stdin.take().map(|stdin| Input { stdin }),
        child,
        ended: None,
        killer: tokio::sync::Notify::new(),
        alive: None,
    })
}

/// What a finished command left in the background: never known on this system.
pub enum Leftovers {}

impl Leftovers {
    pub fn is_alive(&self) -> bool {
        match *self {}
    }

    pub async fn wait(&mut self) {
        match *self {}
    }

    pub async fn end(self) {
        match self {}
    }
}

impl Process {
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What comes next. After `Output::Exited` only that, again and again.
    pub async fn next(&mut self) -> Output {
        loop {
            let open = self.stdout.is_some() || self.stderr.is_some();
            if let (Some(exit), false) = (self.ended, open) {
                return Output::Exited(exit);
            }
            tokio::select! {
                bytes = read(&mut self.stdout) => if let Some(bytes) = bytes {
                    return Output::Stdout(bytes);
                },
                bytes = read(&mut self.stderr) => if let Some(bytes) = bytes {
                    return Output::Stderr(bytes);
                },
                status = self.child.wait(), if self.ended.is_none() => {
                    let code = status.ok().and_then(|status| status.code());
                    self.ended = Some(Exit { code, signal: None });
                }
                () = self.killer.notified() => {
                    let _gone = self.child.start_kill();
                }
                () = tokio::time::sleep(DRAIN_QUIET), if self.ended.is_some() => {
                    self.stdout = None;
                    self.stderr = None;
                }
            }
        }
    }

    /// Every signal ends the command here.
    pub fn signal(&self, signal: Signal) {
        match signal {
            Signal::Int | Signal::Term | Signal::Kill => self.killer.notify_one(),
        }
    }

    /// What the command left in the background: not known here.
    pub fn take_leftovers(&mut self) -> Option<Leftovers> {
        None
    }

    /// The end of the command.
    pub fn tree_end(&mut self) -> TreeEnd {
        let alive = self
            .alive
            .get_or_insert_with(|| tokio::sync::watch::channel(()).0);
        TreeEnd {
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

    /// There are no terminals here.
    pub fn resize(&self, _rows: u16, _cols: u16) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Input {
    /// Waits until some of the bytes are taken, and says how many.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdin.write(bytes).await
    }

    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.write_all(bytes).await
    }
}

/// Waits for bytes. At its end the stream becomes `None`, and a stream that is `None` never answers.
async fn read(slot: &mut Option<impl AsyncRead + Unpin>) -> Option<Bytes> {
    let Some(stream) = slot else {
        return std::future::pending().await;
    };
    let mut buffer = BytesMut::with_capacity(CHUNK);
    match stream.read_buf(&mut buffer).await {
        Ok(count) if count > 0 => Some(buffer.freeze()),
        Ok(_) | Err(_) => {
            *slot = None;
            None
        }
    }
}
