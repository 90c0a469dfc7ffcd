//! The end of a link that lies at the place: carries out what is asked by the host that it is given, which is this machine,
//! and ends with the link. Whatever it started dies then.

use super::codec::decode;
use super::frame::{Incoming, MAGIC, Reader, Sender, writer};
use super::message::{Answer, Call, Down, PlaceFacts, Start, Up};
use super::running;
use crate::command::Command;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::local::Local;
use crate::sandbox::Plans;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

/// Exchanges at a time; further calls are refused.
const MAX_EXCHANGES: usize = 4096;

/// What exchanges share.
struct Served {
    host: Local,
    plans: Plans,
    sender: Sender,
}

/// Serves one link until it ends. `facts` is what the other end is told first.
pub async fn serve<R, W>(facts: &PlaceFacts, input: R, mut output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    output.write_all(MAGIC).await?;
    let (sender, work) = writer(output);
    let writing = tokio::spawn(work);
    sender.send(0, facts).await;
    let served = Arc::new(Served {
        host: Local::new(),
        plans: Plans::default(),
        sender,
    });
    let mut reader = Reader::new(input);
    let mut exchanges = Exchanges::default();
    if reader.skip_to_magic().await.is_ok() {
        loop {
            tokio::select! {
                incoming = reader.next() => match incoming {
                    Ok(Incoming::Message(id, bytes)) => match decode::<Down>(bytes) {
                        Ok(message) => exchanges.take(id, message, &served),
                        Err(_) => break,
                    },
                    Ok(Incoming::Cancel(id)) => exchanges.cancel(id),
                    Err(_) => break,
                },
                Some(ended) = exchanges.running.join_next() => exchanges.forget(ended.ok()),
            }
        }
    }
    drop(exchanges);
    writing.abort();
    Ok(())
}

/// What is being done for the other end.
#[derive(Default)]
struct Exchanges {
    running: JoinSet<u32>,
    known: HashMap<u32, Exchange>,
}

struct Exchange {
    task: AbortHandle,
    /// To a command that runs.
    more: mpsc::UnboundedSender<Down>,
}

impl Exchanges {
    fn take(&mut self, id: u32, message: Down, served: &Arc<Served>) {
        match message {
            Down::Call(call) => self.begin(id, *call, served),
            Down::Signal(_)
            | Down::Resize { .. }
            | Down::Input(_)
            | Down::CloseInput
            | Down::Taken(_)
            | Down::WatchTree
            | Down::KillLeftovers
            | Down::Drop => {
                if let Some(known) = self.known.get(&id) {
                    // The command's task may have just ended.
                    let _ended = known.more.send(message);
                }
            }
        }
    }

    fn begin(&mut self, id: u32, call: Call, served: &Arc<Served>) {
        if self.known.len() >= MAX_EXCHANGES || self.known.contains_key(&id) {
            let full = Error::Spawn {
                program: String::new(),
                source: io::ErrorKind::QuotaExceeded.into(),
            };
            served.sender.send_now(id, &Up::Answer(Err(full)));
            return;
        }
        let (more, heard) = mpsc::unbounded_channel();
        let served = served.clone();
        let task = self.running.spawn(async move {
            match call {
                Call::Start(start) => run(id, start, heard, &served).await,
                call => {
                    let answer = Up::Answer(answer(call, &served.host).await);
                    served.sender.send(id, &answer).await;
                }
            }
            id
        });
        self.known.insert(id, Exchange { task, more });
    }

    fn cancel(&mut self, id: u32) {
        if let Some(known) = self.known.remove(&id) {
            known.task.abort();
        }
    }

    fn forget(&mut self, ended: Option<u32>) {
        match ended {
            Some(id) => drop(self.known.remove(&id)),
            // One was cancelled, or panicked.
            None => self.known.retain(|_, one| !one.task.is_finished()),
        }
    }
}

async fn answer(call: Call, host: &Local) -> Result<Answer> {
    Ok(match call {
        Call::Stat { path } => Answer::Stat(host.stat(&path).await?),
        Call::Read { path, span, border } => {
            Answer::Content(host.read(&path, span, &Arc::new(border)).await?)
        }
        Call::Write {
            path,
            bytes,
            mut options,
        } => {
            options.roots = with_links(options.roots).await;
            Answer::Written(host.write(&path, bytes, options).await?)
        }
        Call::Rename {
            from,
            to,
            mut options,
        } => {
            options.roots = with_links(options.roots).await;
            Answer::Renamed(host.rename(&from, &to, options).await?)
        }
        Call::List { path, most, border } => {
            Answer::Listing(host.list(&path, most, &Arc::new(border)).await?)
        }
        Call::Search(search) => Answer::Found(host.search(search).await?),
        Call::Ping => Answer::Alive,
        Call::Start(_) => return Err(Error::BadCommand),
    })
}

/// What links at protected names lead to is looked up here, where they are.
async fn with_links(mut roots: crate::Roots) -> crate::Roots {
    let protected = std::mem::take(&mut roots.protected);
    let looked = tokio::task::spawn_blocking(|| protected.with_links()).await;
    match looked {
        Ok(protected) => roots.protected = protected,
        // Without it nothing may be changed.
        Err(_) => roots.writable.clear(),
    }
    roots
}

/// Starts a command, and stays with it until nobody asks for it any more.
async fn run(id: u32, start: Start, heard: mpsc::UnboundedReceiver<Down>, served: &Arc<Served>) {
    let process = match command(start, served).await {
        Ok(command) => served.host.spawn(command).await,
        Err(error) => Err(error),
    };
    match process {
        Ok(process) => {
            let started = Answer::Started { pid: process.pid() };
            served.sender.send_now(id, &Up::Answer(Ok(started)));
            let link = running::Link {
                id,
                sender: served.sender.clone(),
            };
            running::attend(process, heard, &link).await;
        }
        Err(error) => served.sender.send_now(id, &Up::Answer(Err(error))),
    }
}

/// With the plan that its policy asks for. A command that cannot be confined as asked does not run.
async fn command(start: Start, served: &Arc<Served>) -> Result<Command> {
    let mut command = Command {
        argv: start.argv,
        cwd: start.cwd,
        env: start.env,
        stdio: start.stdio,
        sandbox: None,
    };
    if let Some(policy) = start.policy {
        let served = served.clone();
        let prepared = tokio::task::spawn_blocking(move || served.plans.prepare(&policy)).await;
        let refused = |text: String| Error::Confine { text };
        let plan = prepared
            .map_err(|error| refused(error.to_string()))?
            .map_err(|error| refused(error.to_string()))?;
        Arc::new(plan).put_on(&mut command);
    }
    Ok(command)
}
