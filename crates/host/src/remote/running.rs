//! A command that was started for the other end of a link: its output goes there as far as there is room for it, and its
//! input comes from there.

use super::frame::Sender;
use super::message::{Down, Up};
use crate::command::Output;
use crate::process::{Input, Leftovers, Process};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Bytes of output that are on the way; the command waits when they are not taken.
pub const OUTPUT_WINDOW: usize = 1 << 20;
/// Bytes of input that are on the way.
pub const INPUT_WINDOW: usize = 256 << 10;

/// The exchange that a command is.
pub struct Link {
    pub id: u32,
    pub sender: Sender,
}

/// Until the exchange is cancelled. What runs then is killed: the process is dropped.
pub async fn attend(mut process: Process, heard: mpsc::UnboundedReceiver<Down>, link: &Link) {
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
    };
    running.attend(heard, link).await;
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
}

impl Running {
    async fn attend(mut self, mut heard: mpsc::UnboundedReceiver<Down>, link: &Link) {
        loop {
            let reads = !self.ended && self.room > 0;
            let next = async {
                match &mut self.process {
                    Some(process) if reads => process.next().await,
                    Some(_) | None => std::future::pending().await,
                }
            };
            tokio::select! {
                message = heard.recv() => match message {
                    Some(message) => self.obey(message, link),
                    None => return,
                },
                output = next => self.pass_on(output, link).await,
            }
        }
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

    async fn pass_on(&mut self, output: Output, link: &Link) {
        match output {
            Output::Stdout(bytes) => {
                self.room = self.room.saturating_sub(bytes.len());
                link.sender.send(link.id, &Up::Stdout(bytes)).await;
            }
            Output::Stderr(bytes) => {
                self.room = self.room.saturating_sub(bytes.len());
                link.sender.send(link.id, &Up::Stderr(bytes)).await;
            }
            Output::Exited(exit) => {
                self.ended = true;
                let process = self.process.as_mut();
                let left = process.and_then(Process::take_leftovers);
                let leftovers = left.is_some();
                let ended = Up::Exited { exit, leftovers };
                link.sender.send(link.id, &ended).await;
                self.killer = left.map(|left| watch(left, link, &mut self.tasks));
            }
        }
    }
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
fn watch(mut left: Leftovers, link: &Link, tasks: &mut JoinSet<()>) -> oneshot::Sender<()> {
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
        sender.send_now(id, &Up::LeftoversGone);
    });
    kill
}
