//! Lines in, lines out: none longer than a message may be, and none waiting without end for an editor that does not read.

use crate::flow::Flow;
use crate::protocol::Error;
use agent_client_protocol::Lines;
use futures_util::{Sink, SinkExt as _, Stream, stream};
use ostler_wire::{Language, MAX_OP_LINE, Word};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

/// Bytes of a message of the editor: a prompt with pictures.
const MAX_LINE: usize = MAX_OP_LINE;
/// Lines that wait to be written.
const LINES: usize = 64;
/// Bytes of a line that are looked at for its id, when the rest is too long to be read.
const HEAD: usize = 4 * 1024;
/// A line that is no JSON is sent back with the error; of longer ones only the error.
const MAX_ECHOED: usize = 4 * 1024;

/// Writes lines until all senders are gone.
pub async fn write(
    mut output: impl AsyncWrite + Send + Unpin,
    mut lines: mpsc::Receiver<String>,
    flow: Arc<Flow>,
) {
    while let Some(line) = lines.recv().await {
        let mut next = Some(line);
        let mut count = 0;
        let mut bytes = Vec::new();
        while let Some(line) = next {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            count += 1;
            next = lines.try_recv().ok();
        }
        let written = output.write_all(&bytes).await;
        if written.is_err() || output.flush().await.is_err() {
            // Nobody reads any more: what is left is dropped, so that nothing waits for it.
            lines.close();
            while lines.recv().await.is_some() {
                flow.wrote();
            }
        }
        (0..count).for_each(|_| flow.wrote());
    }
}

/// The lines of the editor, and where ours go: `write` takes them from there.
pub fn lines(
    input: impl AsyncRead + Send + Sync + Unpin + 'static,
    language: Language,
) -> (
    Lines<
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    >,
    mpsc::Receiver<String>,
) {
    let (sender, receiver) = mpsc::channel(LINES);
    let sink = PollSender::new(sender.clone())
        .sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
    let reader = Reader {
        input: BufReader::new(input),
        replies: sender.downgrade(),
        language,
    };
    let incoming = stream::unfold(reader, |mut reader| async move {
        let line = reader.next().await?;
        Some((Ok(line), reader))
    });
    (Lines::new(sink, Box::pin(incoming)), receiver)
}

struct Reader<R> {
    input: BufReader<R>,
    /// For what is refused before it is read.
    replies: mpsc::WeakSender<String>,
    language: Language,
}

impl<R: AsyncRead + Send + Unpin> Reader<R> {
    /// The next line that can be read; none at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            let mut bytes = Vec::new();
            let length = self.line(&mut bytes).await.ok().filter(|n| *n > 0)?;
            if length > bytes.len() {
                let most = (MAX_LINE >> 20).to_string();
                let why = self.language.fill(Word::AcpLine, &[&most]);
                let error = Error::new(-32600, why);
                self.refuse(id_in(&bytes), &error).await;
                continue;
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            if text.len() > MAX_ECHOED
                && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
            {
                let error = Error::parse_error().data(error.to_string());
                self.refuse(Value::Null, &error).await;
                continue;
            }
            return Some(text.to_owned());
        }
    }

    async fn refuse(&self, id: Value, error: &Error) {
        let reply = json!({"jsonrpc": "2.0", "id": id, "error": error});
        if let Some(replies) = self.replies.upgrade() {
            // Whoever reads us may be gone.
            let _ = replies.send(reply.to_string()).await;
        }
    }

    /// A line of any length, of which at most `MAX_LINE` bytes are kept.
    async fn line(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let mut total = 0;
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(total);
            }
            let end = buffer.iter().position(|b| *b == b'\n').map(|i| i + 1);
            let take = end.unwrap_or(buffer.len());
            let room = MAX_LINE.saturating_sub(out.len()).min(take);
            out.extend_from_slice(buffer.get(..room).unwrap_or_default());
            self.input.consume(take);
            total += take;
            if end.is_some() {
                return Ok(total);
            }
        }
    }
}

/// The id of a message of which only the beginning is read: what stands at its top level before everything long.
fn id_in(bytes: &[u8]) -> Value {
    let head = String::from_utf8_lossy(bytes.get(..HEAD.min(bytes.len())).unwrap_or_default());
    let Some((before, after)) = head.split_once("\"id\"") else {
        return Value::Null;
    };
    // An id further in is that of something else.
    if before.matches('{').count() != 1 {
        return Value::Null;
    }
    let after = after.trim_start().trim_start_matches(':');
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
    match values.next() {
        Some(Ok(id)) if id.is_string() || id.is_number() => id,
        Some(_) | None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_message_that_is_too_long() {
        for (head, expect) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a"#,
                json!(7),
            ),
            (r#"{"id" : "a b", "params": "#, json!("a b")),
            (r#"{"params":{"id":3,"x":"#, Value::Null),
            (r#"{"jsonrpc":"2.0","method":"#, Value::Null),
            ("garbage", Value::Null),
        ] {
            assert_eq!(id_in(head.as_bytes()), expect, "{head}");
        }
    }
}
