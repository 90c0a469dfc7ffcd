//! Frames on a stream of bytes: a length, the number of the exchange, what kind of frame it is, and a piece of a message.
//! Long messages go in pieces, so that none keeps the others waiting; a bounded number of bytes waits to be written. What a
//! login script prints before the helper begins is skipped, and kept for the error if there never is one.

use super::codec::{Wire, decode, encode};
use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Most bytes of a message in one frame.
const PIECE: usize = 64 << 10;
/// Bytes that wait to be written.
const WAITING: usize = 1 << 20;
/// Most bytes of one message: a file that is written or read.
const MAX_MESSAGE: usize = 1 << 30;
/// Messages that come in pieces at a time.
const MAX_PARTIAL: usize = 4096;
/// Length, number and kind.
const HEAD: usize = 9;
/// What is printed before the helper begins; more than this is not waited for.
const MAX_CHATTER: usize = 256 << 10;
/// Bytes of it that an error shows.
const SHOWN_CHATTER: usize = 600;
/// What both ends begin with. No text has it.
pub const MAGIC: &[u8; 16] = b"\x00\xffostler-host\x01\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    More,
    Last,
    Cancel,
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    Message(u32, Bytes),
    Cancel(u32),
}

/// Why no further frame came.
#[derive(Debug)]
pub enum Broken {
    /// The stream ended between two frames.
    Ended,
    Io(io::Error),
    /// What came is no frame.
    Garbage,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ended => f.write_str("it was closed"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Garbage => f.write_str("what came over it is not what the helper sends"),
        }
    }
}

struct Queued {
    frame: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Where messages are put to be written, in order.
#[derive(Clone)]
pub struct Sender {
    queue: mpsc::UnboundedSender<Queued>,
    room: Arc<Semaphore>,
}

impl Sender {
    /// A message of whatever size. Waits while much is to be written. Nothing happens when the link is cut.
    pub async fn send(&self, id: u32, message: &impl Wire) {
        let bytes = encode(message);
        let mut pieces = bytes.chunks(PIECE).peekable();
        while let Some(piece) = pieces.next() {
            let wanted = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let room = self.room.clone().acquire_many_owned(wanted).await.ok();
            let kind = match pieces.peek() {
                Some(_) => Kind::More,
                None => Kind::Last,
            };
            self.queue(frame(id, kind, piece), room);
        }
    }

    /// A short message, which waits for nothing.
    pub fn send_now(&self, id: u32, message: &impl Wire) {
        self.queue(frame(id, Kind::Last, &encode(message)), None);
    }

    /// Ends an exchange; what was sent of a message of it is void.
    pub fn cancel(&self, id: u32) {
        self.queue(frame(id, Kind::Cancel, &[]), None);
    }

    fn queue(&self, frame: Vec<u8>, room: Option<OwnedSemaphorePermit>) {
        let _cut = self.queue.send(Queued { frame, _room: room });
    }
}

fn frame(id: u32, kind: Kind, piece: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + piece.len());
    u32::try_from(piece.len())
        .unwrap_or(u32::MAX)
        .put(&mut frame);
    id.put(&mut frame);
    let kind: u8 = match kind {
        Kind::More => 0,
        Kind::Last => 1,
        Kind::Cancel => 2,
    };
    kind.put(&mut frame);
    frame.extend_from_slice(piece);
    frame
}

/// A sender, and the work that writes what it is given until the last sender is gone or the stream is broken.
pub fn writer<W: AsyncWrite + Unpin>(
    mut stream: W,
) -> (Sender, impl Future<Output = io::Result<()>>) {
    let (queue, mut waiting) = mpsc::unbounded_channel::<Queued>();
    let sender = Sender {
        queue,
        room: Arc::new(Semaphore::new(WAITING)),
    };
    let work = async move {
        let mut out = Vec::new();
        let mut rooms = Vec::new();
        while let Some(first) = waiting.recv().await {
            let mut next = Some(first);
            // What waits already goes in one write.
            while let Some(Queued { frame, _room }) = next {
                out.extend_from_slice(&frame);
                rooms.push(_room);
                next = match out.len() < PIECE {
                    true => waiting.try_recv().ok(),
                    false => None,
                };
            }
            stream.write_all(&out).await?;
            stream.flush().await?;
            out.clear();
            rooms.clear();
        }
        stream.shutdown().await
    };
    (sender, work)
}

/// Reads frames and puts messages together.
pub struct Reader<R> {
    stream: R,
    buffer: BytesMut,
    partial: HashMap<u32, BytesMut>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(2 * PIECE),
            partial: HashMap::new(),
        }
    }

    /// Skips what comes before the first frame; the error shows it.
    pub async fn skip_to_magic(&mut self) -> Result<(), String> {
        loop {
            let found = memchr::memmem::find(&self.buffer, MAGIC);
            if let Some(at) = found {
                drop(self.buffer.split_to(at + MAGIC.len()));
                return Ok(());
            }
            if self.buffer.len() > MAX_CHATTER {
                return Err(self.chatter());
            }
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(count) if count > 0 => {}
                Ok(_) | Err(_) => return Err(self.chatter()),
            }
        }
    }

    /// The end of what came, as a text of bounded length.
    fn chatter(&self) -> String {
        let from = self.buffer.len().saturating_sub(SHOWN_CHATTER);
        let tail = self.buffer.get(from..).unwrap_or_default();
        let text = String::from_utf8_lossy(tail);
        let plain = |c: char| match c.is_control() && c != '\n' {
            true => ' ',
            false => c,
        };
        text.chars()
            .map(plain)
            .collect::<String>()
            .trim()
            .to_owned()
    }

    /// One message of the exchange 0, which is that of the beginning.
    pub async fn first<T: Wire>(&mut self) -> Result<T, Broken> {
        match self.next().await? {
            Incoming::Message(0, bytes) => decode(bytes).map_err(|_| Broken::Garbage),
            Incoming::Message(..) | Incoming::Cancel(_) => Err(Broken::Garbage),
        }
    }

    /// The next message that is whole. May be cancelled without losing anything.
    pub async fn next(&mut self) -> Result<Incoming, Broken> {
        loop {
            self.fill(HEAD).await?;
            let (length, id, kind) = self.head()?;
            self.fill(HEAD + length).await?;
            let piece = self.buffer.split_to(HEAD + length).freeze().slice(HEAD..);
            match kind {
                Kind::Cancel => {
                    self.partial.remove(&id);
                    return Ok(Incoming::Cancel(id));
                }
                Kind::More => self.keep(id, &piece)?,
                Kind::Last => match self.partial.remove(&id) {
                    None => return Ok(Incoming::Message(id, piece)),
                    Some(mut whole) => {
                        whole.extend_from_slice(&piece);
                        return Ok(Incoming::Message(id, whole.freeze()));
                    }
                },
            }
        }
    }

    /// The head of the frame that comes next, which is there.
    fn head(&self) -> Result<(usize, u32, Kind), Broken> {
        let head = self.buffer.get(..HEAD).unwrap_or_default();
        let head = Bytes::copy_from_slice(head);
        let ((length, id), kind): ((u32, u32), u8) = decode(head).map_err(|_| Broken::Garbage)?;
        let kind = match kind {
            0 => Kind::More,
            1 => Kind::Last,
            2 => Kind::Cancel,
            3.. => return Err(Broken::Garbage),
        };
        match length as usize {
            length if length <= PIECE => Ok((length, id, kind)),
            _ => Err(Broken::Garbage),
        }
    }

    fn keep(&mut self, id: u32, piece: &[u8]) -> Result<(), Broken> {
        if self.partial.len() >= MAX_PARTIAL {
            return Err(Broken::Garbage);
        }
        let whole = self.partial.entry(id).or_default();
        whole.extend_from_slice(piece);
        match whole.len() > MAX_MESSAGE {
            true => Err(Broken::Garbage),
            false => Ok(()),
        }
    }

    /// Waits until so many bytes are there.
    async fn fill(&mut self, length: usize) -> Result<(), Broken> {
        while self.buffer.len() < length {
            self.buffer.reserve(PIECE);
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(count) if count > 0 => {}
                Ok(_) if self.buffer.is_empty() => return Err(Broken::Ended),
                Ok(_) => return Err(Broken::Io(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Err(Broken::Io(error)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(messages: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut out = Vec::new();
        let (sender, work) = writer(&mut out);
        let send = async move {
            for (id, bytes) in messages {
                sender.send(*id, &Bytes::copy_from_slice(bytes)).await;
            }
        };
        let (_, written) = tokio::join!(send, work);
        written.unwrap();
        out
    }

    #[tokio::test]
    async fn messages_of_any_size_come_back_after_chatter() {
        let messages = [(1, vec![1; 3]), (2, vec![2; 5 * PIECE]), (3, Vec::new())];
        let mut bytes = b"Welcome!\nmotd \x00\xffostler".to_vec();
        bytes.extend_from_slice(MAGIC);
        bytes.extend(sent(&messages).await);
        let mut reader = Reader::new(bytes.as_slice());
        reader.skip_to_magic().await.unwrap();
        for (id, expect) in messages {
            let Incoming::Message(got, bytes) = reader.next().await.unwrap() else {
                panic!("cancelled");
            };
            assert_eq!(got, id);
            assert_eq!(decode::<Bytes>(bytes).unwrap(), expect);
        }
        assert!(matches!(reader.next().await, Err(Broken::Ended)));
    }

    #[tokio::test]
    async fn what_is_no_frame_is_an_error() {
        let whole = sent(&[(7, vec![9; 100])]).await;
        for end in 1..whole.len() {
            let mut reader = Reader::new(&whole[..end]);
            let got = reader.next().await;
            assert!(matches!(got, Err(Broken::Io(_))), "{end}");
        }
        let garbage = [0xff_u8; 64];
        let mut reader = Reader::new(garbage.as_slice());
        assert!(matches!(reader.next().await, Err(Broken::Garbage)));
    }

    #[tokio::test]
    async fn chatter_without_a_helper_is_shown() {
        let mut reader = Reader::new(b"bash: no such program\x1b[0m\n".as_slice());
        let shown = reader.skip_to_magic().await.unwrap_err();
        assert_eq!(shown, "bash: no such program [0m");
        let endless = vec![b'x'; 2 * MAX_CHATTER];
        let mut reader = Reader::new(endless.as_slice());
        let shown = reader.skip_to_magic().await.unwrap_err();
        assert_eq!(shown.len(), SHOWN_CHATTER);
    }
}
