//! The task that owns one running job: moves its output to the log, types into it, ends it.

use super::{Adopted, JobState, Plain, Progress, exit_code};
use crate::cut::MAX_KEPT;
use crate::programs::Confinement;
use crate::redact::Stream;
use ostler_host::{Exit, Input, Output, Process, Signal};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Between asking a command to end and ending it.
const GRACE: Duration = Duration::from_secs(1);
/// Between ending it and giving up waiting for the news of it.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// Bytes of the last output in which a refusal is looked for.
const TAIL: usize = 8 << 10;
/// A job that floods a full log is slowed down instead of taking a whole core to be thrown away.
const FLOOD_PAUSE: Duration = Duration::from_millis(5);

pub struct Owner {
    process: Process,
    stdin: Option<Input>,
    typed: mpsc::Receiver<Vec<u8>>,
    cancel: CancellationToken,
    log: Log,
    confinement: Option<Box<dyn Confinement>>,
    pub(super) hosts: Arc<OnceLock<Value>>,
}

struct Log {
    file: File,
    clean: Stream,
    /// The end of what was said, whether or not it was kept.
    tail: Vec<u8>,
    plain: Option<Plain>,
    progress: watch::Sender<Progress>,
}

enum Step {
    Output(Output),
    Typed(Vec<u8>),
    Taken(usize),
    Cancelled,
}

impl Owner {
    /// Also gives what to look at for progress, and how much of the log was shown already.
    pub fn new(
        started: Adopted,
        stdin: Option<Input>,
        typed: mpsc::Receiver<Vec<u8>>,
        (file, clean): (File, Stream),
        cancel: CancellationToken,
    ) -> (Self, watch::Receiver<Progress>, u64) {
        let (progress, watched) = watch::channel(Progress {
            written: 0,
            dropped: 0,
            state: JobState::Running,
        });
        let mut log = Log {
            file,
            clean,
            tail: Vec::new(),
            plain: started.plain,
            progress,
        };
        log.keep(started.so_far.as_bytes());
        let shown = watched.borrow().written;
        log.say(&started.held);
        let mut confinement = started.confinement;
        if let Some(confinement) = &mut confinement {
            confinement.outlive_call();
        }
        let owner = Self {
            process: started.process,
            stdin,
            typed,
            cancel,
            log,
            confinement,
            hosts: Arc::default(),
        };
        (owner, watched, shown)
    }

    pub async fn run(mut self) {
        let mut pending = Vec::new();
        let state = loop {
            match self.step(&pending).await {
                Step::Output(Output::Exited(exit)) => {
                    self.leave(exit).await;
                    break JobState::Exited(exit_code(exit));
                }
                Step::Output(output) => {
                    self.log.take(&output);
                    if self.log.progress.borrow().dropped > 0 {
                        tokio::time::sleep(FLOOD_PAUSE).await;
                    }
                }
                Step::Typed(bytes) => pending = bytes,
                Step::Taken(count) => drop(pending.drain(..count.min(pending.len()))),
                Step::Cancelled => {
                    let exit = end_tree(&mut self.process, |output| self.log.take(&output)).await;
                    self.leave(exit).await;
                    break JobState::Killed(exit_code(exit));
                }
            }
        };
        self.log.progress.send_modify(|p| p.state = state);
    }

    /// What was held back and what the sandbox has to say end the log.
    async fn leave(&mut self, exit: Exit) {
        let held = self.log.clean.finish();
        self.log.keep(&held);
        if let Some(confinement) = self.confinement.take() {
            confinement.take_leftovers(&mut self.process);
            let said = String::from_utf8_lossy(&self.log.tail).into_owned();
            let report = confinement.end(exit, &[&said]).await;
            self.log.keep(report.lines().as_bytes());
            if let Some(hosts) = report.hosts() {
                let _once = self.hosts.set(hosts);
            }
        }
    }

    async fn step(&mut self, pending: &[u8]) -> Step {
        let Self {
            process,
            stdin,
            typed,
            cancel,
            log: _,
            confinement: _,
            hosts: _,
        } = self;
        let typing = async {
            match stdin {
                // A terminal that takes nothing more has ended, which the process will tell.
                Some(stdin) if !pending.is_empty() => {
                    Step::Taken(stdin.write(pending).await.unwrap_or(pending.len()))
                }
                Some(_) => match typed.recv().await {
                    Some(bytes) => Step::Typed(bytes),
                    None => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => Step::Cancelled,
            output = process.next() => Step::Output(output),
            step = typing => step,
        }
    }
}

impl Log {
    fn take(&mut self, output: &Output) {
        let (Output::Stdout(bytes) | Output::Stderr(bytes)) = output else {
            return;
        };
        match &mut self.plain {
            Some(plain) => {
                let text = plain.feed(bytes);
                self.say(&text);
            }
            None => self.say(bytes),
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        let clean = self.clean.push(bytes);
        if !clean.is_empty() {
            self.keep(&clean);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
        let written = self.progress.borrow().written;
        let room = (MAX_KEPT as u64).saturating_sub(written);
        let part = bytes
            .get(..(bytes.len() as u64).min(room) as usize)
            .unwrap_or_default();
        // A log that cannot be written keeps no more, and the reader is told.
        let kept = self.file.write_all(part).map_or(0, |()| part.len() as u64);
        self.progress.send_modify(|p| {
            p.written += kept;
            p.dropped += bytes.len() as u64 - kept;
        });
    }
}

/// Ends a command and everything it started: asks first, then does not ask. Its last output goes to `take`.
pub async fn end_tree(process: &mut Process, mut take: impl FnMut(Output)) -> Exit {
    process.signal(Signal::Term);
    let exit = drain(process, GRACE, &mut take).await;
    // What does not listen, or has outlived its parent, goes now.
    process.signal(Signal::Kill);
    match exit {
        Some(exit) => exit,
        None => drain(process, LAST_WAIT, &mut take)
            .await
            .unwrap_or(Exit::LOST),
    }
}

async fn drain(
    process: &mut Process,
    wait: Duration,
    take: &mut impl FnMut(Output),
) -> Option<Exit> {
    let until = Instant::now() + wait;
    loop {
        match tokio::time::timeout_at(until, process.next()).await {
            Ok(Output::Exited(exit)) => return Some(exit),
            Ok(output) => take(output),
            Err(_) => return None,
        }
    }
}
