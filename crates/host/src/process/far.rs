//! A command that runs at another place: what is heard of it, and what is asked of it. How that travels is up to whoever
//! made it.

use crate::command::{Exit, Output, Signal};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};

/// Most bytes of input in one request.
const INPUT_CHUNK: usize = 32 << 10;

/// What is asked of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    Signal(Signal),
    Resize {
        rows: u16,
        cols: u16,
    },
    Input(Bytes),
    CloseInput,
    /// So many bytes of output were used.
    Taken(usize),
    /// Its process is dropped: what runs is killed.
    Drop,
    /// Tell when everything that it started is dead.
    WatchTree,
    KillLeftovers,
}

/// What is heard of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Output(Output),
    /// Its end, and whether it left something in the background.
    Exited {
        exit: Exit,
        leftovers: bool,
    },
}

type Ask = Arc<dyn Fn(Request) + Send + Sync>;

/// The ways to a command that was started elsewhere.
pub struct Ends {
    pub pid: i32,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub ask: Ask,
    /// A permit for each byte of input that may be sent; closed when there is nobody to read it.
    pub room: Arc<Semaphore>,
    pub has_input: bool,
    pub has_terminal: bool,
    /// Closed when the last of what it left in the background has ended.
    pub leftovers_gone: watch::Receiver<()>,
    /// Closed when everything that it started is dead.
    pub tree_gone: watch::Receiver<()>,
}

pub struct Process {
    pid: i32,
    events: mpsc::UnboundedReceiver<Event>,
    ask: Ask,
    input: Option<Input>,
    has_terminal: bool,
    exit: Option<Exit>,
    leftovers: Option<Leftovers>,
    leftovers_gone: watch::Receiver<()>,
    tree_gone: watch::Receiver<()>,
}

pub struct Input {
    ask: Ask,
    room: Arc<Semaphore>,
    /// A terminal stays open.
    closes: bool,
}

pub struct Leftovers {
    ask: Ask,
    gone: watch::Receiver<()>,
}

pub struct TreeEnd {
    ask: Ask,
    gone: watch::Receiver<()>,
}

impl Process {
    pub fn new(ends: Ends) -> Self {
        let input = ends.has_input.then(|| Input {
            ask: ends.ask.clone(),
            room: ends.room.clone(),
            closes: !ends.has_terminal,
        });
        Self {
            pid: ends.pid,
            events: ends.events,
            ask: ends.ask,
            input,
            has_terminal: ends.has_terminal,
            exit: None,
            leftovers: None,
            leftovers_gone: ends.leftovers_gone,
            tree_gone: ends.tree_gone,
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub async fn next(&mut self) -> Output {
        if let Some(exit) = self.exit {
            return Output::Exited(exit);
        }
        let exit = match self.events.recv().await {
            Some(Event::Output(output)) => {
                if let Output::Stdout(bytes) | Output::Stderr(bytes) = &output {
                    (self.ask)(Request::Taken(bytes.len()));
                }
                return output;
            }
            Some(Event::Exited { exit, leftovers }) => {
                self.leftovers = leftovers.then(|| Leftovers {
                    ask: self.ask.clone(),
                    gone: self.leftovers_gone.clone(),
                });
                exit
            }
            // The place is out of reach; what becomes of the command is not known here.
            None => Exit::LOST,
        };
        self.exit = Some(exit);
        Output::Exited(exit)
    }

    pub fn signal(&self, signal: Signal) {
        (self.ask)(Request::Signal(signal));
    }

    pub fn take_leftovers(&mut self) -> Option<Leftovers> {
        self.leftovers.take()
    }

    pub fn tree_end(&mut self) -> TreeEnd {
        (self.ask)(Request::WatchTree);
        TreeEnd {
            ask: self.ask.clone(),
            gone: self.tree_gone.clone(),
        }
    }

    pub fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    pub async fn write_stdin(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub fn close_stdin(&mut self) {
        self.input = None;
    }

    pub fn resize(&self, rows: u16, cols: u16) -> io::Result<()> {
        match self.has_terminal {
            true => {
                (self.ask)(Request::Resize { rows, cols });
                Ok(())
            }
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        (self.ask)(Request::Drop);
    }
}

impl Input {
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = bytes.get(..INPUT_CHUNK).unwrap_or(bytes);
        if part.is_empty() {
            return Ok(0);
        }
        let wanted = u32::try_from(part.len()).unwrap_or(u32::MAX);
        let permits = self.room.acquire_many(wanted).await;
        permits.map_err(|_| io::ErrorKind::BrokenPipe)?.forget();
        (self.ask)(Request::Input(Bytes::copy_from_slice(part)));
        Ok(part.len())
    }

    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write(bytes).await?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if self.closes {
            (self.ask)(Request::CloseInput);
        }
    }
}

impl Leftovers {
    pub fn is_alive(&self) -> bool {
        self.gone.has_changed().is_ok()
    }

    pub async fn wait(&mut self) {
        while self.gone.changed().await.is_ok() {}
    }

    pub async fn end(mut self) {
        (self.ask)(Request::KillLeftovers);
        while self.gone.changed().await.is_ok() {}
    }
}

impl TreeEnd {
    pub async fn wait(&mut self) {
        while self.gone.changed().await.is_ok() {}
    }

    pub fn kill(&self) {
        (self.ask)(Request::Signal(Signal::Kill));
    }
}
