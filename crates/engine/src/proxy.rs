//! The way out of a command's own network: one listener that the command can reach and we answer. Which hosts it leads to
//! is `Reach`; what is spoken on it is in `talk`. It ends with the command and then tells what was asked for.

mod talk;
#[cfg(test)]
mod tests;

use crate::policy::Rule;
use crate::tools::web::is_public;
use futures_util::future::BoxFuture;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use talk::{Asker, Fault, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Connections at one time; more wait.
const MAX_CONNECTIONS: usize = 64;
/// Hosts that are remembered.
const MAX_ASKED: usize = 64;
/// Addresses of one host that are tried.
const MAX_ADDRESSES: usize = 4;
/// For a client to say what it wants.
const TIME_TO_ASK: Duration = Duration::from_secs(30);
const TIME_TO_CONNECT: Duration = Duration::from_secs(15);
/// Silence in both directions that ends a connection.
const LONGEST_SILENCE: Duration = Duration::from_secs(600);
/// Between an error of the listener and the next try.
const PAUSE: Duration = Duration::from_millis(50);
const BUFFER: usize = 16 << 10;

/// The hosts that a command may reach.
#[derive(Clone)]
pub struct Reach {
    /// `Net` rules. Those that deny are stronger, and those that want a question, too.
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// What the person said to such a question.
    pub granted: Vec<Rule>,
    /// Hosts whose address may be private.
    pub private: Vec<String>,
    pub resolve: Resolve,
}

/// The addresses of a name.
pub type Resolve =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// By the system.
pub fn system() -> Resolve {
    Arc::new(|name, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
    })
}

/// A host that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub host: String,
    pub port: u16,
    pub allowed: bool,
    /// The rules allow it, but it lies at an address of this house.
    pub private: bool,
}

impl Reach {
    /// By name alone, before anybody looks where it is.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let subject = subject(host, port);
        let touched = |rules: &[Rule]| rules.iter().any(|rule| rule.touches_host(&subject));
        let allowed = |rules: &[Rule]| rules.iter().any(|rule| rule.allows_host(&subject));
        !touched(&self.deny)
            && (allowed(&self.granted) || allowed(&self.allow) && !touched(&self.ask))
    }

    /// A name that anybody can give to an address in this house opens nothing: the rule must name the address.
    fn allows_address(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        if is_public(ip) {
            return true;
        }
        let subject = subject(host, port);
        let literal = host == "localhost" || host.parse::<IpAddr>().is_ok();
        let names = |rule: &Rule| {
            let text = rule.canonical();
            text == format!("Net({})", bracketed(host)) || text == format!("Net({subject})")
        };
        self.private.iter().any(|p| p == host || *p == subject)
            || (literal && self.allow.iter().chain(&self.granted).any(names))
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Fault> {
        if !self.allows(host, port) {
            return Err(Fault::Refused);
        }
        let addresses = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => {
                let resolving = (self.resolve)(host.to_owned(), port);
                let found = timeout(TIME_TO_CONNECT, resolving).await;
                found
                    .map_err(|_| Fault::Unreachable)?
                    .map_err(|_| Fault::Unreachable)?
            }
        };
        let fits = |address: &SocketAddr| self.allows_address(host, port, address.ip());
        if !addresses.iter().all(fits) {
            return Err(Fault::Private);
        }
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            if let Ok(Ok(stream)) = timeout(TIME_TO_CONNECT, TcpStream::connect(address)).await {
                return Ok(stream);
            }
        }
        Err(Fault::Unreachable)
    }
}

/// As rules name it.
fn subject(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

fn bracketed(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

/// A proxy that runs. Dropping it ends all of its connections.
pub struct Proxy {
    task: JoinHandle<Vec<Asked>>,
    stop: DropGuard,
}

impl Proxy {
    pub fn start(door: std::net::TcpListener, reach: Reach) -> io::Result<Self> {
        let door = TcpListener::from_std(door)?;
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        let task = tokio::spawn(serve(door, Arc::new(reach), cancel));
        Ok(Self { task, stop })
    }

    /// What was asked for, each host once, in the order of the first time.
    pub async fn end(self) -> Vec<Asked> {
        drop(self.stop);
        self.task.await.unwrap_or_default()
    }
}

async fn serve(door: TcpListener, reach: Arc<Reach>, cancel: CancellationToken) -> Vec<Asked> {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (tell, mut told) = mpsc::channel(MAX_CONNECTIONS);
    let mut asked = Vec::new();
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (door.accept().await, permit)
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            Some(one) = told.recv() => remember(&mut asked, one),
            Some(_) = connections.join_next() => {}
            (accepted, permit) = next => match (accepted, permit) {
                (Ok((client, _)), Ok(permit)) => {
                    let (reach, tell) = (reach.clone(), tell.clone());
                    connections.spawn(async move {
                        let _broken = answer(client, &reach, &tell).await;
                        drop(permit);
                    });
                }
                (Err(_), _) | (_, Err(_)) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
    // Each was told before its client was answered, so all that the command knows of is here.
    while let Ok(one) = told.try_recv() {
        remember(&mut asked, one);
    }
    asked
}

fn remember(asked: &mut Vec<Asked>, one: Asked) {
    if asked.len() < MAX_ASKED && !asked.contains(&one) {
        asked.push(one);
    }
}

async fn answer(
    mut client: TcpStream,
    reach: &Reach,
    tell: &mpsc::Sender<Asked>,
) -> io::Result<()> {
    let mut asker = Asker::default();
    let request = match timeout(TIME_TO_ASK, asker.ask(&mut client)).await {
        Ok(Ok(request)) => request,
        Ok(Err(fault)) => return asker.refuse(&mut client, fault, "").await,
        Err(_) => return Ok(()),
    };
    let Request { host, port, .. } = &request;
    let connected = reach.connect(host, *port).await;
    let one = Asked {
        host: host.clone(),
        port: *port,
        allowed: !matches!(connected, Err(Fault::Refused | Fault::Private)),
        private: matches!(connected, Err(Fault::Private)),
    };
    let _full = tell.send(one).await;
    match connected {
        Ok(mut server) => {
            asker.accept(&mut client).await?;
            server.write_all(&request.first).await?;
            pass(client, server, request.more).await;
            Ok(())
        }
        Err(fault) => {
            asker
                .refuse(&mut client, fault, &subject(host, *port))
                .await
        }
    }
}

/// Both directions until both ends are done, or nobody says anything. At most `more` bytes go to the server.
async fn pass(client: TcpStream, server: TcpStream, more: u64) {
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let start = Instant::now();
    let last = AtomicU64::new(0);
    let up = async {
        pump(&mut from_client.take(more), &mut to_server, start, &last).await;
        // Who has its whole request may take an early end for a change of mind.
        if more == u64::MAX {
            let _gone = to_server.shutdown().await;
        }
    };
    let down = async {
        pump(&mut from_server, &mut to_client, start, &last).await;
        let _gone = to_client.shutdown().await;
    };
    let silence = async {
        loop {
            let spoke = start + Duration::from_millis(last.load(Ordering::Relaxed));
            match spoke + LONGEST_SILENCE {
                due if due <= Instant::now() => return,
                due => tokio::time::sleep_until(due).await,
            }
        }
    };
    tokio::select! {
        _ = async { tokio::join!(up, down) } => {}
        () = silence => {}
    }
}

async fn pump(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    start: Instant,
    last: &AtomicU64,
) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = from.read(&mut buffer).await.unwrap_or(0);
        last.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() || to.write_all(bytes).await.is_err() {
            return;
        }
    }
}
