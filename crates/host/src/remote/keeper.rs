//! The helper as processes: one that keeps what runs and listens on a socket of its own, and for each connection one that
//! passes bytes on between that socket and its standard streams. When a connection breaks the first waits for another one,
//! for a bounded time; then it ends, and all that it started.

use super::carrier::{self, BUFFER, Carrier, Over};
use super::frame::MAGIC;
use super::hello::{self, Hello};
use super::message::{self, PlaceFacts};
use super::serve::{Hold, serve_held};
use super::spool::SpoolPlace;
use crate::socket::{self, Connection, Listener};
use rustix::process::setsid;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

/// What a keeper prints when it listens.
const READY: &[u8] = b"ready\n";
/// How long a keeper may take to listen, and a connection to say hello.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that are passed on at a time.
const PIECE: usize = 64 << 10;
/// Sockets of helpers that were killed and are looked for.
const MAX_STALE: usize = 1000;

/// The standard streams of a process, and its environment.
pub struct Streams<R, W> {
    pub input: R,
    pub output: W,
    pub env: Vec<(OsString, OsString)>,
}

/// Passes on what comes over these streams to a helper, which is started if the other end has none yet. `keeper` is the
/// command that starts one. Where none can be kept, this process is the helper, and ends with its streams.
pub async fn relay<R, W>(
    streams: Streams<R, W>,
    keeper: &[OsString],
    facts: impl FnOnce() -> PlaceFacts,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let Streams {
        mut input,
        mut output,
        env,
    } = streams;
    output.write_all(MAGIC).await?;
    output.flush().await?;
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).await?;
    if magic != *MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let hello = Hello::receive(&mut input).await?;
    let folder = hello::folder(&env, message::home(&env).as_deref());
    let Some(folder) = folder else {
        return alone(&facts(), &hello, input, output).await;
    };
    if hello.known.is_none() && begin(keeper, &hello).await.is_err() {
        return alone(&facts(), &hello, input, output).await;
    }
    match socket::connect(&folder, &hello.socket()).await {
        Ok(mut socket) => {
            hello.send(&mut socket).await?;
            let (from, to) = socket.into_split();
            tokio::select! {
                passed = pass_on(input, to) => passed,
                passed = pass_on(from, output) => passed,
            }
        }
        Err(_) => carrier::refuse(&mut output).await,
    }
}

async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let count = from.read(&mut buffer).await?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return to.flush().await;
        }
        to.write_all(bytes).await?;
        to.flush().await?;
    }
}

/// Starts a keeper, and waits until it listens.
async fn begin(keeper: &[OsString], hello: &Hello) -> io::Result<()> {
    let (program, args) = keeper.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = tokio::process::Command::new(program);
    command.args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let started = async {
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let mut stdin = child.stdin.take().ok_or_else(missing)?;
        hello.send(&mut stdin).await?;
        let mut said = vec![0; READY.len()];
        let stdout = child.stdout.as_mut().ok_or_else(missing)?;
        stdout.read_exact(&mut said).await?;
        match said == READY {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    };
    match tokio::time::timeout(PATIENCE, started).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let _ended = child.kill().await;
            Err(error)
        }
        Err(_) => {
            let _ended = child.kill().await;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// Serves this one connection.
async fn alone(
    facts: &PlaceFacts,
    hello: &Hello,
    input: impl AsyncRead + Unpin + Send + 'static,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    if hello.known.is_some() {
        return carrier::refuse(&mut output).await;
    }
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let carrier = Carrier::new(theirs);
    carrier::welcome(&mut output, 0).await?;
    tokio::spawn(async move {
        carrier.carry(0, input, output).await;
    });
    let (input, output) = tokio::io::split(ours);
    serve_held(facts, input, output, Hold::never()).await
}

/// Keeps what is started for one other end, over as many connections as it takes. What says hello first comes over `input`;
/// when it listens it says so over `output` and lets go of both, by `release`.
pub async fn keep(
    facts: &PlaceFacts,
    (mut input, mut output): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    release: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    // Whoever started it may end without it. It fails only for the first of a group, which is as good.
    let _own_session = setsid();
    let none = || io::Error::from(io::ErrorKind::NotFound);
    let folder = facts.run.as_ref().ok_or_else(none)?;
    let hello = Hello::receive(&mut input).await?;
    sweep(folder).await;
    let listener = socket::listen(folder, &hello.socket())?;
    output.write_all(READY).await?;
    output.flush().await?;
    release()?;

    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (attached, is_attached) = watch::channel(true);
    let hold = Hold {
        attached: is_attached,
        spools: SpoolPlace::new(Some(folder.clone())),
    };
    let (input, output) = tokio::io::split(ours);
    let carrier = Carrier::new(theirs);
    // The end of the carrier's stream ends the other, which ends what runs.
    let (served, ()) = tokio::join!(
        serve_held(facts, input, output, hold),
        connections(&hello, &listener, carrier, &attached)
    );
    served
}

/// One connection after the other, until the other end says that it is done or does not come back.
async fn connections(
    hello: &Hello,
    listener: &Listener,
    carrier: Carrier,
    attached: &watch::Sender<bool>,
) {
    let mut next = tokio::time::timeout(hello.grace, admit(hello, listener))
        .await
        .ok();
    while let Some((mut connection, theirs)) = next {
        attached.send_replace(true);
        let welcomed = carrier::welcome(&mut connection, carrier.received()).await;
        let (input, output) = connection.into_split();
        let carried = async {
            match welcomed {
                Ok(()) => carrier.carry(theirs, input, output).await,
                Err(error) => Over::Broken(error.to_string()),
            }
        };
        next = tokio::select! {
            over = carried => match over {
                Over::Done => None,
                Over::Broken(_) => {
                    attached.send_replace(false);
                    tokio::time::timeout(hello.grace, admit(hello, listener)).await.ok()
                }
            },
            // The old one is broken, and nobody has noticed here.
            newer = admit(hello, listener) => Some(newer),
        };
    }
}

/// The next connection of one who has the key, and how much of ours it has received.
async fn admit(hello: &Hello, listener: &Listener) -> (Connection, u64) {
    loop {
        let Ok(mut connection) = listener.accept_own().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let said = tokio::time::timeout(PATIENCE, Hello::receive(&mut connection)).await;
        if let Ok(Ok(said)) = said
            && hello.has_key_of(&said)
        {
            return (connection, said.known.unwrap_or(0));
        }
    }
}

/// Removes the sockets of helpers that were killed.
async fn sweep(folder: &Path) {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names
        .filter(|name| name.ends_with(".sock"))
        .take(MAX_STALE)
        .collect();
    for name in names {
        let connected = socket::connect(folder, &name).await;
        if connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            let _gone = std::fs::remove_file(folder.join(name));
        }
    }
}
