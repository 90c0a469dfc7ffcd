//! What travels: one JSON object a line. Events and ops are the very lines of the log, the JSON output and
//! `--input-format stream-json`; the few other frames are here.

use ostler_wire::{ClientId, Entry, OpLine, Snapshot};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// Version of these frames. Another one is refused, with a word about it.
pub const PROTOCOL: u32 = 1;
/// The longest line that is read: a message with pictures.
const MAX_LINE: u64 = 64 * 1024 * 1024;

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
    /// The last entry that the client has.
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
    pub snapshot: Snapshot,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// The owner speaks another version of the frames.
    Protocol { protocol: u32, version: String },
    /// No such session is open there.
    NoSession { message: String },
}

/// What a client sends later.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FromClient {
    Fetch { fetch: Fetch },
    Op(OpLine),
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
}

impl Fetched {
    pub fn new(id: u64, entries: &[Arc<Entry>]) -> Self {
        let lines = entries.iter().filter_map(|entry| entry.to_line().ok());
        Self {
            fetched: id,
            entries: lines.collect(),
        }
    }

    pub fn entries(&self) -> Vec<Arc<Entry>> {
        let read = |line: &String| Entry::from_line(line, 0).ok().map(Arc::new);
        self.entries.iter().filter_map(read).collect()
    }
}

/// The next line without its line break; `None` at the end.
pub async fn read_line<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = reader.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    if line.pop_if(|byte| *byte == b'\n').is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a line without end",
        ));
    }
    String::from_utf8(line)
        .map(Some)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line that is not UTF-8"))
}

/// A frame as a line. What cannot be written as JSON does not exist among our frames.
pub fn to_line<T: Serialize>(frame: &T) -> io::Result<String> {
    let mut line = serde_json::to_string(frame).map_err(io::Error::other)?;
    line.push('\n');
    Ok(line)
}
