//! A command that was started for the other end of a link: its output goes there as far as there is room for it, and its
//! input comes from there.

use super::frame::Sender;
use super::guards::Guard;
use super::message::{Down, Up};
use super::serve::Hold;
use super::spool::Spool;
use crate::command::Output;
use crate::process::{Input, Leftovers, Process};
use bytes::Bytes;
use ostler_sandbox::proxy::Guest;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Bytes of output that are on the way; the command waits when they are not taken.
pub const OUTPUT_WINDOW: usize = 1 << 20;
/// Paths that are named of those that were put back.
const MAX_TOLD: usize = 10;
/// Bytes of input that are on the way.
pub const INPUT_WINDOW: usize = 256 << 10;

/// The exchange that a command is.
pub struct Link {
    pub id: u32,
    pub sender: Sender,
}

/// What holds for a command as long as it or something of it runs.
#[derive(Default)]
pub struct Keeps {
    pub guard: Option<Guard>,
    /// By which it reaches single hosts.
    pub guest: Option<Guest>,
}

/// Until the exchange is cancelled. What runs then is killed: the process is dropped.
pub async fn attend(
    (mut process, keeps): (Process, Keeps),
    heard: mpsc::UnboundedReceiver<Down>,
    link: &Link,
    hold: Hold,
) {
    let mut tasks = JoinSet::new();
    let input = process
        .take_input()
        .map(|input| feed(input, link, &mut tasks));
    let running = Running {
        process: Some(process),
        input,
        room: OUTPUT_WINDOW,
        ended: false,
        killer: None,
        tasks,
        guard: keeps.guard.map(Arc::new),
        guest: keeps.guest,
        spool: Spool::new(hold.spools.clone()),
    };
    running.attend(heard, link, hold.attached).await;
}

struct Running {
    /// None once the other end has dropped it.
    process: Option<Process>,
    input: Option<mpsc::UnboundedSender<Bytes>>,
    room: usize,
    ended: bool,
    /// Before the killer, whose end is a request to those tasks.
    tasks: JoinSet<()>,
    killer: Option<oneshot::Sender<()>>,
    /// After the process, which is killed first.
    guard: Option<Arc<Guard>>,
    guest: Option<Guest>,
    /// What could not be sent yet.
    spool: Spool,
}

impl Running {
    async fn attend(
        mut self,
        mut heard: mpsc::UnboundedReceiver<Down>,
        link: &Link,
        mut attached: watch::Receiver<bool>,
    ) {
        loop {
            let is_attached = *attached.borrow_and_update();
            let sends = is_attached && !self.spool.is_empty() && self.room > 0;
            let reads = !self.ended
                && match is_attached {
                    true => self.spool.is_empty() && self.room > 0,
                    false => !self.spool.is_full(),
                };
            let next = async {
                match &mut self.process {
                    Some(process) if reads => process.next().await,
                    Some(_) | None => std::future::pending().await,
                }
            };
            let changes = async {
                if attached.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                message = heard.recv() => match message {
                    Some(message) => self.obey(message, link),
                    None => return,
                },
                output = next => self.pass_on(output, link, is_attached).await,
                () = std::future::ready(()), if sends => match self.spool.pop() {
                    Ok(Some(up)) => self.send(up, link).await,
                    Ok(None) => {}
                    // Without it the rest would be another output: the other end hears that the command is lost.
                    Err(_) => return,
                },
                () = changes => {}
            }
        }
    }

    /// What was said of a command: now, or when it can be sent and all before it was.
    async fn tell(&mut self, up: Up, link: &Link, is_attached: bool) {
        match is_attached && self.spool.is_empty() {
            true => self.send(up, link).await,
            false => self.spool.push(up),
        }
    }

    async fn send(&mut self, up: Up, link: &Link) {
        if let Up::Stdout(bytes) | Up::Stderr(bytes) = &up {
            self.room = self.room.saturating_sub(bytes.len());
        }
        link.sender.send(link.id, &up).await;
    }

    fn obey(&mut self, message: Down, link: &Link) {
        match message {
            Down::Signal(signal) => {
                if let Some(process) = &self.process {
                    process.signal(signal);
                }
            }
            Down::Resize { rows, cols } => {
                if let Some(process) = &self.process {
                    // Of a command that has no terminal there is nothing to change.
                    let _none = process.resize(rows, cols);
                }
            }
            Down::Input(bytes) => {
                if let Some(input) = &self.input {
                    // Its reader may have gone; the other end hears that.
                    let _closed = input.send(bytes);
                }
            }
            Down::CloseInput => self.input = None,
            Down::Taken(bytes) => self.room += bytes as usize,
            Down::WatchTree => {
                let Some(process) = &mut self.process else {
                    link.sender.send_now(link.id, &Up::TreeGone);
                    return;
                };
                let mut tree = process.tree_end();
                let (id, sender) = (link.id, link.sender.clone());
                self.tasks.spawn(async move {
                    tree.wait().await;
                    sender.send_now(id, &Up::TreeGone);
                });
            }
            Down::KillLeftovers => drop(self.killer.take()),
            Down::Drop => self.process = None,
            // A second call under this number was refused before.
            Down::Call(_) => {}
        }
    }

    async fn pass_on(&mut self, output: Output, link: &Link, is_attached: bool) {
        match output {
            Output::Stdout(bytes) => self.tell(Up::Stdout(bytes), link, is_attached).await,
            Output::Stderr(bytes) => self.tell(Up::Stderr(bytes), link, is_attached).await,
            Output::Exited(exit) => {
                self.ended = true;
                let process = self.process.as_mut();
                let left = process.and_then(Process::take_leftovers);
                let leftovers = left.is_some();
                if let Some(guard) = &self.guard {
                    let changed = guard.put_back().await;
                    if let Some(told) = told(&changed) {
                        self.tell(Up::Stderr(told), link, is_attached).await;
                    }
                }
                if let Some(guest) = &self.guest {
                    self.tell(Up::Asked(guest.asked()), link, is_attached).await;
                }
                let ended = Up::Exited { exit, leftovers };
                self.tell(ended, link, is_attached).await;
                let guard = self.guard.clone();
                self.killer = left.map(|left| look_after((left, guard), link, &mut self.tasks));
            }
        }
    }
}

/// For the model: what it had changed is not changed.
fn told(changed: &[PathBuf]) -> Option<Bytes> {
    let shown = changed
        .iter()
        .take(MAX_TOLD)
        .map(|path| path.display().to_string());
    let shown: Vec<String> = shown.collect();
    let text = format!("[protected files were put back: {}]\n", shown.join(", "));
    (!changed.is_empty()).then(|| text.into())
}

/// Writes input in order; what was written makes room for more.
fn feed(input: Input, link: &Link, tasks: &mut JoinSet<()>) -> mpsc::UnboundedSender<Bytes> {
    let (sender, mut waiting) = mpsc::unbounded_channel::<Bytes>();
    let (id, link) = (link.id, link.sender.clone());
    tasks.spawn(async move {
        let mut input = input;
        while let Some(bytes) = waiting.recv().await {
            if input.write_all(&bytes).await.is_err() {
                link.send_now(id, &Up::InputClosed);
                return;
            }
            let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            link.send_now(id, &Up::InputTaken(count));
        }
    });
    sender
}

/// Tells the end of what the command left in the background, and kills it when what this returns is dropped.
fn look_after(
    (mut left, guard): (Leftovers, Option<Arc<Guard>>),
    link: &Link,
    tasks: &mut JoinSet<()>,
) -> oneshot::Sender<()> {
    let (kill, killed) = oneshot::channel::<()>();
    let (id, sender) = (link.id, link.sender.clone());
    tasks.spawn(async move {
        let asked = tokio::select! {
            () = left.wait() => false,
            _ = killed => true,
        };
        if asked {
            left.end().await;
        }
        if let Some(guard) = guard {
            guard.put_back().await;
        }
        sender.send_now(id, &Up::LeftoversGone);
    });
    kill
}
