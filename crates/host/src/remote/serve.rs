//! The end of a link that lies at the place: carries out what is asked by the host that it is given, which is this machine,
//! and ends with the link. Whatever it started dies then.

use super::codec::decode;
use super::frame::{Incoming, MAGIC, Reader, Sender, writer};
use super::guards::Guards;
use super::message::{Answer, Call, Down, PlaceFacts, Start, Up};
use super::running::{self, Keeps};
use super::saves::Saves;
use super::spool::SpoolPlace;
use crate::command::Command;
use crate::host::Host;
use crate::local::Local;
use ostler_files::{Error, Result};
use ostler_sandbox::proxy::Proxy;
use ostler_sandbox::{self as sandbox, Choice, Network, Plans, SharedNetwork};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OnceCell, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

/// Exchanges at a time; further calls are refused.
const MAX_EXCHANGES: usize = 4096;

/// What exchanges share.
struct Served {
    host: Local,
    plans: Plans,
    guards: Arc<Guards>,
    saves: Arc<Saves>,
    hold: Hold,
    /// What commands that may reach single hosts have in common; none where the layer has no network to share.
    common: OnceCell<Option<Common>>,
    sender: Sender,
}

struct Common {
    network: Arc<SharedNetwork>,
    proxy: Proxy,
}

impl Served {
    async fn common(&self, layer: Choice) -> Result<Option<&Common>> {
        let make = || async {
            let refused = |error: sandbox::Error| Error::Confine {
                text: error.to_string(),
            };
            let Some((network, door)) = self.host.network(layer).await.map_err(refused)? else {
                return Ok(None);
            };
            let proxy = Proxy::start(door).map_err(|error| Error::Confine {
                text: error.to_string(),
            })?;
            let network = Arc::new(network);
            Ok(Some(Common { network, proxy }))
        };
        Ok(self.common.get_or_try_init(make).await?.as_ref())
    }
}

/// Whether what is sent goes anywhere now, and where output waits meanwhile.
#[derive(Clone)]
pub struct Hold {
    pub attached: watch::Receiver<bool>,
    pub spools: SpoolPlace,
}

impl Hold {
    /// Of a link that ends when it breaks.
    pub fn never() -> Self {
        let (_always, attached) = watch::channel(true);
        Self {
            attached,
            spools: SpoolPlace::default(),
        }
    }
}

/// Serves one link until it ends. `facts` is what the other end is told first.
pub async fn serve<R, W>(facts: &PlaceFacts, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve_held(facts, input, output, Hold::never()).await
}

/// The same for a link that can be away for a while.
pub async fn serve_held<R, W>(
    facts: &PlaceFacts,
    input: R,
    mut output: W,
    hold: Hold,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let guards = Arc::new(Guards::new(facts.checkpoints.as_deref()));
    let recovering = guards.clone();
    // Before anything is read there.
    let put_back = tokio::task::spawn_blocking(move || recovering.recover()).await;
    let facts = &PlaceFacts {
        put_back: put_back.unwrap_or_default(),
        ..facts.clone()
    };
    output.write_all(MAGIC).await?;
    let (sender, work) = writer(output);
    let writing = tokio::spawn(work);
    sender.send(0, facts).await;
    let served = Arc::new(Served {
        host: Local::new(),
        plans: Plans::default(),
        saves: Arc::new(Saves {
            folder: facts.checkpoints.clone(),
            home: facts.home.clone(),
            guards: guards.clone(),
        }),
        guards,
        hold,
        common: OnceCell::new(),
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
    served.guards.end().await;
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
                Call::Start(start) => run(id, *start, heard, &served).await,
                call => {
                    let answer = Up::Answer(answer(call, &served).await);
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

async fn answer(call: Call, served: &Served) -> Result<Answer> {
    let host = &served.host;
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
            let written = host.write(&path, bytes, options).await?;
            accept(served, [&written.path]).await;
            Answer::Written(written)
        }
        Call::Rename {
            from,
            to,
            mut options,
        } => {
            options.roots = with_links(options.roots).await;
            let renamed = host.rename(&from, &to, options).await?;
            accept(served, [&renamed.from, &renamed.to]).await;
            Answer::Renamed(renamed)
        }
        Call::List { path, most, border } => {
            Answer::Listing(host.list(&path, most, &Arc::new(border)).await?)
        }
        Call::Search(search) => Answer::Found(host.search(search).await?),
        Call::Ping => Answer::Alive,
        Call::Checkpoint { tree, order } => {
            let saves = served.saves.clone();
            // Once begun it is carried out, whoever waits for it.
            let work = tokio::task::spawn_blocking(move || saves.carry_out(*tree, *order));
            let lost = |error: tokio::task::JoinError| Error::Search {
                text: error.to_string(),
            };
            Answer::Checkpoint(Box::new(work.await.map_err(lost)?))
        }
        Call::Start(_) => return Err(Error::BadCommand),
    })
}

/// The person let these be changed.
async fn accept<const N: usize>(served: &Served, paths: [&PathBuf; N]) {
    let (guards, paths) = (served.guards.clone(), paths.map(PathBuf::clone));
    let accept = move || paths.iter().for_each(|path| guards.accept(path));
    // A panic there has been told; the file is changed all the same.
    let _done = tokio::task::spawn_blocking(accept).await;
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
        Ok((command, keeps)) => served
            .host
            .spawn(command)
            .await
            .map(|process| (process, keeps)),
        Err(error) => Err(error),
    };
    match process {
        Ok((process, keeps)) => {
            let started = Answer::Started { pid: process.pid() };
            served.sender.send_now(id, &Up::Answer(Ok(started)));
            let link = running::Link {
                id,
                sender: served.sender.clone(),
            };
            let hold = served.hold.clone();
            running::attend((process, keeps), heard, &link, hold).await;
        }
        Err(error) => served.sender.send_now(id, &Up::Answer(Err(error))),
    }
}

/// With the plan that its policy asks for. A command that cannot be confined as asked does not run.
async fn command(start: Start, served: &Arc<Served>) -> Result<(Command, Keeps)> {
    let mut command = Command {
        argv: start.argv,
        cwd: start.cwd,
        env: start.env,
        stdio: start.stdio,
        sandbox: None,
    };
    let mut keeps = Keeps::default();
    let Some(mut policy) = start.policy else {
        return Ok((command, keeps));
    };
    if policy.network == Network::Proxy
        && let Some(common) = served.common(policy.layer).await?
    {
        policy.shared = Some(common.network.clone());
        let admit = |(token, reach)| common.proxy.admit(token, reach);
        keeps.guest = start.way.map(admit);
    }
    let (with_guards, cwd) = (served.clone(), command.cwd.clone());
    let prepare = move || {
        let plan = with_guards.plans.prepare(&policy)?;
        let tree = policy.writable.first().unwrap_or(&cwd);
        let guard = with_guards.guards.begin(tree, &policy.protect);
        Ok::<_, sandbox::Error>((plan, guard))
    };
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let refused = |text: String| Error::Confine { text };
    let (plan, guard) = prepared
        .map_err(|error| refused(error.to_string()))?
        .map_err(|error| refused(error.to_string()))?;
    command.put_on(&Arc::new(plan));
    keeps.guard = Some(guard);
    Ok((command, keeps))
}
