//! The process of an agent of the Agent Client Protocol: its lines carried to and fro, the rest of what it prints told.

use super::super::process::{Sink, drain, stop};
use super::state::Shared;
use crate::activity::NoticeSource;
use crate::output::{Line, Lines};
use agent_client_protocol as acp;
use futures_util::{Sink as FutureSink, SinkExt as _, Stream, stream};
use ostler_host::{Exit, Input, Output, Process};
use std::io;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, PollSender};

/// Lines that wait, in each direction.
const LINES: usize = 256;
/// How long an agent may take to end when its input is closed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process, from outside.
pub struct Handle {
    /// Cancelled when it has ended by itself.
    pub ended: CancellationToken,
    orders: Orders,
    exit: oneshot::Receiver<Option<Exit>>,
}

/// How the process is to be ended.
#[derive(Clone, Default)]
struct Orders {
    /// Its input is closed, and it may take its time.
    close: CancellationToken,
    /// At once.
    stop: CancellationToken,
}

impl Handle {
    /// Closes its input and waits for its end; `None` where we had to end it.
    pub async fn close(mut self) -> Option<Exit> {
        self.orders.close.cancel();
        (&mut self.exit).await.ok().flatten()
    }

    /// Ends it.
    pub async fn stop(mut self) -> Option<Exit> {
        self.orders.stop.cancel();
        (&mut self.exit).await.ok().flatten()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.orders.stop.cancel();
    }
}

/// Takes a process over. The lines are for the library; when they are dropped, the agent's input is closed.
pub fn connect(
    mut process: Process,
    shared: Shared,
) -> (
    acp::Lines<
        impl FutureSink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    >,
    Handle,
) {
    let (to_agent, outgoing) = mpsc::channel::<String>(LINES);
    let (from_agent, incoming) = mpsc::channel::<String>(LINES);
    let ended = CancellationToken::new();
    let orders = Orders::default();
    let (exit_sender, exit) = oneshot::channel();
    let input = process.take_input();
    let handle = Handle {
        ended: ended.clone(),
        orders: orders.clone(),
        exit,
    };
    tokio::spawn(async move {
        let mut pump = Pump {
            shared,
            out: Lines::default(),
            err: Lines::default(),
            ready: Vec::new(),
        };
        let writing = write(input, outgoing);
        let exit = carry(process, &mut pump, &from_agent, writing, &orders).await;
        drop(from_agent);
        ended.cancel();
        // Nobody may wait for it any more.
        let _ = exit_sender.send(exit);
    });
    let sink =
        PollSender::new(to_agent).sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
    let lines = stream::unfold(incoming, |mut incoming| async move {
        let line = incoming.recv().await?;
        Some((Ok(line), incoming))
    });
    (acp::Lines::new(sink, Box::pin(lines)), handle)
}

async fn write(input: Option<Input>, mut lines: mpsc::Receiver<String>) {
    let Some(mut input) = input else {
        return;
    };
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() {
            // It reads no more; its end says why.
            lines.close();
        }
    }
}

async fn carry(
    mut process: Process,
    pump: &mut Pump,
    to: &mpsc::Sender<String>,
    writing: impl Future<Output = ()>,
    orders: &Orders,
) -> Option<Exit> {
    let mut writing = std::pin::pin!(writing);
    let mut is_written = false;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            () = &mut writing, if !is_written => {
                is_written = true;
                continue;
            }
            () = orders.close.cancelled() => break,
            () = orders.stop.cancelled() => break,
        };
        match output {
            Output::Stdout(bytes) => pump.stdout(&bytes),
            Output::Stderr(bytes) => pump.stderr(&bytes),
            Output::Exited(exit) => {
                pump.rest();
                pump.pass(to).await;
                if let Some(leftovers) = process.take_leftovers() {
                    leftovers.end().await;
                }
                return Some(exit);
            }
        }
        tokio::select! {
            () = pump.pass(to) => {}
            () = orders.close.cancelled() => break,
            () = orders.stop.cancelled() => break,
        }
    }
    // The library has closed its end: what is left is written, then the agent's input is closed.
    let closing = async {
        if !is_written {
            writing.await;
        }
        drain(&mut process, pump).await
    };
    let ended = tokio::select! {
        ended = timeout(PATIENCE, closing) => ended.ok(),
        () = orders.stop.cancelled() => None,
    };
    match ended {
        Some(_) => {
            if let Some(leftovers) = process.take_leftovers() {
                leftovers.end().await;
            }
        }
        None => stop(process, pump).await,
    }
    ended
}

/// Sorts what the agent prints.
struct Pump {
    shared: Shared,
    out: Lines,
    err: Lines,
    /// Messages that the library has not got yet.
    ready: Vec<String>,
}

impl Pump {
    async fn pass(&mut self, to: &mpsc::Sender<String>) {
        for line in self.ready.drain(..) {
            // The library may have ended.
            let _ = to.send(line).await;
        }
    }

    fn line(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong => {
                let text = "a message of its is too long and was left out";
                return self
                    .shared
                    .state()
                    .recorder
                    .notice(NoticeSource::Ours, text);
            }
        };
        let text = text.trim();
        let is_message =
            text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        match is_message {
            true => self.ready.push(text.to_owned()),
            false => self
                .shared
                .state()
                .recorder
                .notice(NoticeSource::Output, text),
        }
    }

    fn rest(&mut self) {
        if let Some(line) = self.out.rest() {
            self.line(line);
        }
    }
}

impl Sink for Pump {
    fn stdout(&mut self, bytes: &[u8]) {
        self.out.push(bytes);
        while let Some(line) = self.out.next() {
            self.line(line);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.err.push(bytes);
        while let Some(line) = self.err.next() {
            if let Line::Text(text) = line {
                self.shared.stderr(&text);
            }
        }
    }

    fn gives_up(&self) -> bool {
        false
    }
}
