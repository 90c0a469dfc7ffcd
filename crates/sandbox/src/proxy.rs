//! The way out of a session's own network: one listener that its commands can reach and we answer. Each command is a
//! `Guest` with a token of its own, by which it is known; which hosts it is led to is its `Reach`. What is spoken is in
//! `talk`. A guest ends with its command and then tells what was asked for.

mod hosts;
mod talk;
#[cfg(test)]
mod tests;

pub use hosts::{HostRule, is_public_address};

use crate::address::leads_to;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use talk::{Asker, Fault, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Connections of one guest at one time; more wait.
const MAX_CONNECTIONS: usize = 64;
/// Connections that have not said yet what they want, or wait; more are not looked at.
const MAX_ASKING: usize = 64;
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
    pub allow: Vec<HostRule>,
    pub ask: Vec<HostRule>,
    pub deny: Vec<HostRule>,
    /// What the person said to such a question.
    pub granted: Vec<HostRule>,
    /// Hosts whose address may be private.
    pub private: Vec<String>,
    /// Where this process serves people. No command reaches it, whatever rules say.
    pub served: Option<SocketAddr>,
    pub resolve: Resolve,
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Reach");
        shown.field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// The hosts that a command at another place may reach from there, and what was asked for.
#[derive(Clone, Debug)]
pub struct WayOut {
    pub token: String,
    pub reach: Reach,
    pub asked: Arc<Mutex<Vec<Asked>>>,
}

impl Reach {
    /// Whether there is a host that it could lead to.
    pub fn leads_anywhere(&self) -> bool {
        !self.allow.is_empty() || !self.granted.is_empty()
    }
}

/// The addresses of a name.
pub type Resolve = Arc<dyn Fn(String, u16) -> Resolving + Send + Sync>;
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

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
        let touched = |rules: &[HostRule]| rules.iter().any(|rule| rule.touches(&subject));
        let allowed = |rules: &[HostRule]| rules.iter().any(|rule| rule.allows(&subject));
        !touched(&self.deny)
            && (allowed(&self.granted) || allowed(&self.allow) && !touched(&self.ask))
    }

    /// A name that anybody can give to an address in this house opens nothing: the rule must name the address.
    fn allows_address(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        if is_public_address(ip) {
            return true;
        }
        let subject = subject(host, port);
        let literal = host == "localhost" || host.parse::<IpAddr>().is_ok();
        let names = |rule: &HostRule| rule.names(&bracketed(host)) || rule.names(&subject);
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
        let is_served =
            |address: &SocketAddr| self.served.is_some_and(|served| leads_to(*address, served));
        if addresses.iter().any(is_served) {
            return Err(Fault::Refused);
        }
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
    guests: Arc<Guests>,
    _stop: DropGuard,
}

impl Proxy {
    pub fn start(door: std::net::TcpListener) -> io::Result<Self> {
        let door = TcpListener::from_std(door)?;
        let cancel = CancellationToken::new();
        let guests = Arc::new(Guests::default());
        tokio::spawn(serve(door, guests.clone(), cancel.clone()));
        Ok(Self {
            guests,
            _stop: cancel.drop_guard(),
        })
    }

    /// Lets a command reach these hosts, until the guest is gone. Nobody can guess the token.
    pub fn admit(&self, token: String, reach: Reach) -> Guest {
        let stay = Stay {
            reach: Arc::new(reach),
            room: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            stop: CancellationToken::new(),
            asked: Vec::new(),
        };
        self.guests.table().insert(token.clone(), stay);
        Guest {
            token,
            guests: self.guests.clone(),
        }
    }
}

/// A command that the proxy knows. Dropping it ends its connections.
pub struct Guest {
    token: String,
    guests: Arc<Guests>,
}

impl Guest {
    /// By which the command is known. Nobody can guess it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What was asked for until now, each host once, in the order of the first time.
    pub fn asked(&self) -> Vec<Asked> {
        let table = self.guests.table();
        table
            .get(&self.token)
            .map_or_else(Vec::new, |stay| stay.asked.clone())
    }

    /// The same at its end.
    pub fn end(self) -> Vec<Asked> {
        self.guests.dismiss(&self.token)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.dismiss(&self.token);
    }
}

/// By their tokens.
#[derive(Default)]
struct Guests(Mutex<HashMap<String, Stay>>);

struct Stay {
    reach: Arc<Reach>,
    room: Arc<Semaphore>,
    stop: CancellationToken,
    asked: Vec<Asked>,
}

impl Guests {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Stay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, token: &str) -> Option<(Arc<Reach>, Arc<Semaphore>, CancellationToken)> {
        let table = self.table();
        let stay = table.get(token)?;
        Some((stay.reach.clone(), stay.room.clone(), stay.stop.clone()))
    }

    fn remember(&self, token: &str, one: Asked) {
        if let Some(Stay { asked, .. }) = self.table().get_mut(token)
            && asked.len() < MAX_ASKED
            && !asked.contains(&one)
        {
            asked.push(one);
        }
    }

    fn dismiss(&self, token: &str) -> Vec<Asked> {
        let stay = self.table().remove(token);
        stay.map_or_else(Vec::new, |stay| {
            stay.stop.cancel();
            stay.asked
        })
    }
}

async fn serve(door: TcpListener, guests: Arc<Guests>, cancel: CancellationToken) {
    let asking = Arc::new(Semaphore::new(MAX_ASKING));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = asking.clone().acquire_owned().await;
            (door.accept().await, permit)
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            Some(_) = connections.join_next() => {}
            (accepted, permit) = next => match (accepted, permit) {
                (Ok((client, _)), Ok(permit)) => {
                    let guests = guests.clone();
                    connections.spawn(async move { answer(client, &guests, permit).await });
                }
                (Err(_), _) | (_, Err(_)) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

async fn answer(
    mut client: TcpStream,
    guests: &Guests,
    asking: OwnedSemaphorePermit,
) -> io::Result<()> {
    let mut asker = Asker::default();
    let request = match timeout(TIME_TO_ASK, asker.ask(&mut client)).await {
        Ok(Ok(request)) => request,
        Ok(Err(fault)) => return asker.refuse(&mut client, fault, "").await,
        Err(_) => return Ok(()),
    };
    let token = request.token.clone().unwrap_or_default();
    let Some((reach, room, stop)) = guests.find(&token) else {
        return asker.refuse(&mut client, Fault::Stranger, "").await;
    };
    let tell = |one| guests.remember(&token, one);
    let guided = async {
        let _permit = room.acquire().await;
        drop(asking);
        guide(client, &asker, request, &reach, tell).await
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        done = guided => done,
    }
}

/// `tell` is called before the client is answered, so the end of a command finds all that it knows of.
async fn guide(
    mut client: TcpStream,
    asker: &Asker,
    request: Request,
    reach: &Reach,
    tell: impl Fn(Asked),
) -> io::Result<()> {
    let Request { host, port, .. } = &request;
    let connected = reach.connect(host, *port).await;
    tell(Asked {
        host: host.clone(),
        port: *port,
        allowed: !matches!(connected, Err(Fault::Refused | Fault::Private)),
        private: matches!(connected, Err(Fault::Private)),
    });
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
    // What is typed into a shell far away comes in small pieces; refused, they only come later.
    let _later = client.set_nodelay(true).and(server.set_nodelay(true));
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
