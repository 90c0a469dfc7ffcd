//! What travels: one JSON object a line. Events and ops are the very lines of the log, the JSON output and
//! `--input-format stream-json`; the few other frames are here.

use ostler_wire::{ClientId, Entry, MAX_OP_LINE, OpLine, Snapshot};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// Version of these frames.
pub const PROTOCOL: u32 = 4;
/// The longest line that is read: a message with pictures.
const MAX_LINE: u64 = MAX_OP_LINE as u64;
/// Bytes of entries in one answer to a `Fetch`; further ones follow.
const MAX_FETCHED: usize = 1024 * 1024;

/// What a client says first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub attach: Wanted,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Wanted {
    pub protocol: u32,
    /// Of the program, for messages.
    pub version: String,
    pub session: String,
    /// The last entry that the client has. Without it the events begin where the running turn does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// What the owner says first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Welcome {
    Attached(Box<Attached>),
    Refused(Refusal),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Attached {
    pub session: String,
    pub client: ClientId,
    pub version: String,
    /// The last entry before the first event.
    #[serde(default)]
    pub after: Option<u64>,
    pub snapshot: Snapshot,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// The owner is another version of the program, or speaks another version of the frames.
    Version { protocol: u32, version: String },
    /// No such session is open there.
    NoSession { message: String },
}

/// What a client sends later.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FromClient {
    /// Asks for a `Pong`.
    Ping {
        ping: u64,
    },
    Fetch {
        fetch: Fetch,
    },
    Op(OpLine),
}

/// The answer to a `Ping`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pong {
    pub pong: u64,
}

/// A question about what lies in the log already.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fetch {
    pub id: u64,
    pub what: FetchWhat,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchWhat {
    /// The branch that goes on.
    Branch,
    /// Everything after this entry.
    After(Option<u64>),
}

/// The answer to a `Fetch`: entries as lines of the log.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fetched {
    pub fetched: u64,
    pub entries: Vec<String>,
    /// Further entries follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl Fetched {
    /// The frames that hold these entries; at least one.
    pub fn split(id: u64, entries: &[Arc<Entry>]) -> Vec<Self> {
        let mut frames = Vec::new();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for line in entries.iter().filter_map(|entry| entry.to_line().ok()) {
            if bytes > 0 && bytes + line.len() > MAX_FETCHED {
                frames.push(std::mem::take(&mut lines));
                bytes = 0;
            }
            bytes += line.len();
            lines.push(line);
        }
        frames.push(lines);
        let last = frames.len() - 1;
        let frame = |(at, entries): (usize, Vec<String>)| Self {
            fetched: id,
            entries,
            more: at < last,
        };
        frames.into_iter().enumerate().map(frame).collect()
    }

    pub fn entries(&self) -> Vec<Arc<Entry>> {
        let read = |line: &String| Entry::from_line(line, 0).ok().map(Arc::new);
        self.entries.iter().filter_map(read).collect()
    }
}

/// Reads lines. Nothing is lost when a read is given up half-way.
pub struct LineReader<R> {
    reader: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
        }
    }

    /// The next line without its line break; `None` at the end.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        let broken = |why: &'static str| io::Error::new(io::ErrorKind::InvalidData, why);
        let room = MAX_LINE.saturating_sub(self.line.len() as u64);
        let mut limited = (&mut self.reader).take(room);
        limited.read_until(b'\n', &mut self.line).await?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.line);
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            return Err(broken("a line without end"));
        }
        let line = String::from_utf8(line);
        line.map(Some)
            .map_err(|_| broken("a line that is not UTF-8"))
    }
}

/// A frame as a line. What cannot be written as JSON does not exist among our frames.
pub fn to_line<T: Serialize>(frame: &T) -> io::Result<String> {
    let mut line = serde_json::to_string(frame).map_err(io::Error::other)?;
    line.push('\n');
    Ok(line)
}
