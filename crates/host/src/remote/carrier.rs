//! A stream of bytes that outlives the connection that it goes over. Each end keeps what the other has not confirmed, and on
//! the next connection sends what the other says it lacks: no byte is lost, and none comes twice.

use bytes::{Bytes, BytesMut};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

/// Bytes between a carrier and what uses it.
pub const BUFFER: usize = 256 << 10;
/// Most bytes of one record.
const PIECE: usize = 64 << 10;
/// Bytes that are kept until they are confirmed. What uses the carrier waits when there are more.
const MAX_KEPT: usize = 4 << 20;
/// Received bytes after which they are confirmed.
const CONFIRM_EVERY: u64 = 64 << 10;
/// Kind and number of a record.
const HEAD: usize = 9;
/// How often a sign of life is sent, and how long none makes a connection a broken one.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(45);

/// The first byte of a record; a number follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// So many bytes follow.
    Data,
    /// So many bytes were received, from the first on.
    Confirmed,
    Alive,
    /// Nothing will follow, on this connection or another.
    Bye,
    /// What was connected to before is no longer there.
    Gone,
    /// The connection is accepted; so many bytes were received before.
    Welcome,
}

const KINDS: [Kind; 6] = [
    Kind::Data,
    Kind::Confirmed,
    Kind::Alive,
    Kind::Bye,
    Kind::Gone,
    Kind::Welcome,
];

/// Why a connection is over.
#[derive(Debug, PartialEq, Eq)]
pub enum Over {
    /// It broke, and why; another one goes on where it ended.
    Broken(String),
    /// The other end will not come back, or this one has said all.
    Done,
}

/// What the other end says to a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Greeting {
    /// It goes on; so many bytes of ours were received.
    Welcome(u64),
    Gone,
}

pub struct Carrier {
    shared: Arc<Shared>,
    incoming: mpsc::UnboundedSender<Bytes>,
    _tasks: JoinSet<()>,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to send.
    more: Notify,
    /// There is room for more.
    room: Notify,
}

#[derive(Default)]
struct State {
    /// What was sent or is to be, and is not confirmed, from the byte `base` on.
    kept: BytesMut,
    base: u64,
    /// Bytes that came in.
    received: u64,
    /// Bytes that were passed on, and those that were confirmed of them.
    used: u64,
    confirmed: u64,
    /// Nothing more will be sent than what is kept.
    is_ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that nothing more will be sent.
#[derive(Clone)]
pub struct Closer(Arc<Shared>);

impl Closer {
    pub fn close(&self) {
        self.0.state().is_ended = true;
        self.0.more.notify_one();
    }

    pub fn is_closed(&self) -> bool {
        self.0.state().is_ended
    }
}

impl Carrier {
    /// Carries what goes in and out at the other end of `inner`.
    pub fn new(inner: DuplexStream) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            more: Notify::new(),
            room: Notify::new(),
        });
        let (from_inner, to_inner) = tokio::io::split(inner);
        let (incoming, arrived) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(take_in(from_inner, shared.clone()));
        tasks.spawn(pass_on(arrived, to_inner, shared.clone()));
        Self {
            shared,
            incoming,
            _tasks: tasks,
        }
    }

    pub fn closer(&self) -> Closer {
        Closer(self.shared.clone())
    }

    /// Bytes that came in over all connections.
    pub fn received(&self) -> u64 {
        self.shared.state().received
    }

    /// Carries over this connection until it is over. `theirs` is how much the other end has received.
    pub async fn carry<R, W>(&self, theirs: u64, input: R, mut output: W) -> Over
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut input = BufReader::with_capacity(PIECE, input);
        if let Err(over) = self.confirm(theirs) {
            return over;
        }
        // What was confirmed on another connection may not have arrived.
        self.shared.state().confirmed = 0;
        let over = tokio::select! {
            over = self.read(&mut input) => over,
            over = self.write(&mut output, theirs) => over,
        };
        if over == Over::Done {
            let _gone = output.shutdown().await;
        }
        over
    }

    async fn read(&self, input: &mut (impl AsyncRead + Unpin)) -> Over {
        loop {
            let record = tokio::time::timeout(SILENCE, record(input)).await;
            let (kind, number) = match record {
                Ok(Ok(record)) => record,
                Ok(Err(error)) => return broken(&error),
                Err(_) => return Over::Broken("nothing came over it any more".into()),
            };
            match kind {
                Kind::Data => {
                    let Some(length) = usize::try_from(number).ok().filter(|n| *n <= PIECE) else {
                        return garbage();
                    };
                    let mut bytes = vec![0; length];
                    match tokio::time::timeout(SILENCE, input.read_exact(&mut bytes)).await {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return broken(&error),
                        Err(_) => return Over::Broken("nothing came over it any more".into()),
                    }
                    // Counted and handed on in one step: a connection that ends here loses nothing.
                    self.shared.state().received += number;
                    let _ended = self.incoming.send(bytes.into());
                }
                Kind::Confirmed => {
                    if let Err(over) = self.confirm(number) {
                        return over;
                    }
                }
                Kind::Alive => {}
                Kind::Bye => return Over::Done,
                Kind::Gone | Kind::Welcome => return garbage(),
            }
        }
    }

    /// The other end has received so many bytes.
    fn confirm(&self, count: u64) -> Result<(), Over> {
        let mut state = self.shared.state();
        let known = count.checked_sub(state.base);
        let known = known.and_then(|known| usize::try_from(known).ok());
        match known.filter(|known| *known <= state.kept.len()) {
            Some(known) => {
                drop(state.kept.split_to(known));
                state.base = count;
                drop(state);
                self.shared.room.notify_one();
                Ok(())
            }
            None => Err(garbage()),
        }
    }

    async fn write(&self, output: &mut (impl AsyncWrite + Unpin), from: u64) -> Over {
        let mut at = from;
        let mut alive = tokio::time::interval(ALIVE_EVERY);
        loop {
            let (batch, is_last) = self.batch(&mut at);
            if batch.is_empty() {
                tokio::select! {
                    () = self.shared.more.notified() => {}
                    _ = alive.tick() => {
                        let sent = write(output, &head(Kind::Alive, 0)).await;
                        if let Err(error) = sent {
                            return broken(&error);
                        }
                    }
                }
                continue;
            }
            if let Err(error) = write(output, &batch).await {
                return broken(&error);
            }
            if is_last {
                return Over::Done;
            }
        }
    }

    /// What is to be sent next, and whether it is the end.
    fn batch(&self, at: &mut u64) -> (Vec<u8>, bool) {
        let mut state = self.shared.state();
        let mut batch = Vec::new();
        if state.used - state.confirmed.min(state.used) >= CONFIRM_EVERY {
            state.confirmed = state.used;
            batch.extend(head(Kind::Confirmed, state.used));
        }
        let from = usize::try_from(at.saturating_sub(state.base)).unwrap_or(usize::MAX);
        let waiting = state.kept.get(from..).unwrap_or_default();
        let piece = waiting.get(..PIECE).unwrap_or(waiting);
        if !piece.is_empty() {
            batch.extend(head(Kind::Data, piece.len() as u64));
            batch.extend_from_slice(piece);
            *at += piece.len() as u64;
            return (batch, false);
        }
        if state.is_ended {
            batch.extend(head(Kind::Bye, 0));
            return (batch, true);
        }
        (batch, false)
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    output.write_all(bytes).await?;
    output.flush().await
}

fn broken(error: &io::Error) -> Over {
    Over::Broken(match error.kind() {
        io::ErrorKind::UnexpectedEof => "it was closed".into(),
        _ => error.to_string(),
    })
}

fn garbage() -> Over {
    Over::Broken("what came over it is not what the helper sends".into())
}

fn head(kind: Kind, number: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let (first, rest) = head.split_at_mut(1);
    first.fill(KINDS.iter().position(|one| *one == kind).unwrap_or(0) as u8);
    rest.copy_from_slice(&number.to_le_bytes());
    head
}

async fn record(input: &mut (impl AsyncRead + Unpin)) -> io::Result<(Kind, u64)> {
    let kind = input.read_u8().await?;
    let number = input.read_u64_le().await?;
    let kind = KINDS.get(usize::from(kind)).copied();
    let kind =
        kind.ok_or_else(|| io::Error::other("what came over it is not what the helper sends"))?;
    Ok((kind, number))
}

/// To a connection that is accepted.
pub async fn welcome(output: &mut (impl AsyncWrite + Unpin), received: u64) -> io::Result<()> {
    write(output, &head(Kind::Welcome, received)).await
}

/// To one that looks for what is no longer there.
pub async fn refuse(output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    write(output, &head(Kind::Gone, 0)).await
}

/// What the other end says first.
pub async fn greeting(input: &mut (impl AsyncRead + Unpin)) -> io::Result<Greeting> {
    match record(input).await? {
        (Kind::Welcome, received) => Ok(Greeting::Welcome(received)),
        (Kind::Gone, _) => Ok(Greeting::Gone),
        (Kind::Data | Kind::Confirmed | Kind::Alive | Kind::Bye, _) => {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

/// What is to be sent, while there is room.
async fn take_in(mut from: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut buffer = vec![0; PIECE];
    loop {
        while shared.state().kept.len() >= MAX_KEPT {
            shared.room.notified().await;
        }
        let count = from.read(&mut buffer).await.unwrap_or(0);
        let mut state = shared.state();
        match buffer.get(..count) {
            Some(bytes) if count > 0 => state.kept.extend_from_slice(bytes),
            Some(_) | None => state.is_ended = true,
        }
        drop(state);
        shared.more.notify_one();
        if count == 0 {
            return;
        }
    }
}

/// What came in goes to whoever uses the carrier; it is confirmed then.
async fn pass_on(
    mut arrived: mpsc::UnboundedReceiver<Bytes>,
    mut to: impl AsyncWrite + Unpin,
    shared: Arc<Shared>,
) {
    while let Some(bytes) = arrived.recv().await {
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        let mut state = shared.state();
        state.used += bytes.len() as u64;
        let is_due = state.used - state.confirmed.min(state.used) >= CONFIRM_EVERY;
        drop(state);
        if is_due {
            shared.more.notify_one();
        }
    }
    let _closed = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct End {
        carrier: Carrier,
        stream: DuplexStream,
    }

    fn end() -> End {
        let (stream, inner) = tokio::io::duplex(BUFFER);
        End {
            carrier: Carrier::new(inner),
            stream,
        }
    }

    /// A connection between two ends that breaks after so many bytes in each direction.
    async fn connect((one, other): (&Carrier, &Carrier), up: u64, down: u64) -> (Over, Over) {
        let (near, far) = tokio::io::duplex(1000);
        let (near_in, near_out) = tokio::io::split(near);
        let (far_in, far_out) = tokio::io::split(far);
        let (of_one, of_other) = (one.received(), other.received());
        let first = one.carry(of_other, near_in.take(down), near_out);
        let second = other.carry(of_one, far_in.take(up), far_out);
        tokio::join!(first, second)
    }

    #[tokio::test]
    async fn no_byte_is_lost_or_doubled_whenever_it_breaks() {
        let (one, other) = (end(), end());
        let expect: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
        let (mut from, mut to) = (one.stream, other.stream);
        let bytes = expect.clone();
        let writing = tokio::spawn(async move {
            from.write_all(&bytes).await.unwrap();
            from
        });
        let mut got = vec![0; expect.len()];
        let reading = to.read_exact(&mut got);
        let carrying = async {
            // Each breaks somewhere else, also in the middle of a record or of its head.
            for up in (0u64..).map(|n| n * 7919 % 90_000) {
                connect((&one.carrier, &other.carrier), up, up / 3 + 5).await;
            }
        };
        tokio::select! {
            read = reading => assert!(read.is_ok()),
            () = carrying => unreachable!(),
        }
        assert!(got == expect);
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn an_end_that_closes_says_so_after_what_it_has_to_say() {
        let (mut one, mut other) = (end(), end());
        one.stream.write_all(b"last words").await.unwrap();
        // They are taken in first.
        while one.carrier.shared.state().kept.len() < 10 {
            tokio::task::yield_now().await;
        }
        one.carrier.closer().close();
        let over = connect((&one.carrier, &other.carrier), u64::MAX, u64::MAX).await;
        assert_eq!(over, (Over::Done, Over::Done));
        let mut got = [0; 10];
        other.stream.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"last words");
    }

    #[tokio::test]
    async fn what_makes_no_sense_breaks_the_connection() {
        let one = end();
        for input in [vec![9u8; 9], head(Kind::Confirmed, 5).to_vec(), {
            let mut long = head(Kind::Data, u64::MAX).to_vec();
            long.extend([0; 100]);
            long
        }] {
            let over = one.carrier.carry(0, input.as_slice(), tokio::io::sink());
            assert!(matches!(over.await, Over::Broken(_)), "{input:?}");
        }
        let over = one.carrier.carry(1, [].as_slice(), tokio::io::sink());
        assert!(matches!(over.await, Over::Broken(_)));
    }
}
