//! One client on two streams, a message a line. What cannot be read is answered with an error, and no line grows without end.

use super::ToolService;
use super::handler::{Handler, Presence};
use crate::stdio::{MAX_DEPTH, MAX_MESSAGE, depth};
use rmcp::serve_server;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Between the streams and the library that reads the messages.
const BUFFER: usize = 256 * 1024;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    Closed,
    /// The client did not begin as the protocol says; how.
    Refused(String),
}

/// Serves until the client closes its end. Calls that are under way then are stopped.
pub async fn serve_streams(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    service: Arc<dyn ToolService>,
) -> StreamEnd {
    let gone = CancellationToken::new();
    let _over = gone.clone().drop_guard();
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_library, to_library) = tokio::io::split(theirs);
    let output = Arc::new(Mutex::new(output));
    let lines = Lines {
        input: BufReader::new(input),
        to: to_library,
        output: output.clone(),
    };
    let reading = tokio::spawn(read(lines, gone.clone()));
    let writing = tokio::spawn(write(from_library, output));
    let (from_us, to_us) = tokio::io::split(ours);
    let handler = Handler::new(service, gone, Presence::Stream);
    let end = match serve_server(handler, AsyncRwTransport::new_server(from_us, to_us)).await {
        Ok(running) => {
            // What went wrong with the connection, the client knows.
            let _ = running.waiting().await;
            StreamEnd::Closed
        }
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => StreamEnd::Closed,
        Err(error) => StreamEnd::Refused(error.to_string()),
    };
    reading.abort();
    let _ = writing.await;
    end
}

type Shared<W> = Arc<Mutex<W>>;

/// Writes what the library says, whole lines at a time.
async fn write(mut from: ReadHalf<DuplexStream>, output: Shared<impl AsyncWrite + Unpin>) {
    let mut line = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        line.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let Some(end) = memchr::memrchr(b'\n', &line) else {
            continue;
        };
        let rest = line.split_off(end + 1);
        let mut output = output.lock().await;
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
        line = rest;
    }
}

struct Lines<R, W> {
    input: BufReader<R>,
    to: WriteHalf<DuplexStream>,
    output: Shared<W>,
}

/// Passes messages on until the input ends.
async fn read<R, W>(mut lines: Lines<R, W>, gone: CancellationToken)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(BUFFER);
        let Ok(length @ 1..) = lines.next(&mut line).await else {
            break;
        };
        let passed = match fault(&line, length) {
            None => lines.to.write_all(&line).await,
            Some(None) => Ok(()),
            Some(Some(error)) => lines.refuse(&error).await,
        };
        if passed.is_err() {
            break;
        }
    }
    gone.cancel();
    // The library reads to the end of what came before.
    let _ = lines.to.shutdown().await;
}

/// What is wrong with a line; an empty one is passed over.
fn fault(line: &[u8], length: usize) -> Option<Option<Value>> {
    let error = |code: i32, why: String| {
        let error = json!({"code": code, "message": why});
        Some(Some(json!({"jsonrpc": "2.0", "id": null, "error": error})))
    };
    if length > line.len() {
        let most = MAX_MESSAGE >> 20;
        return error(
            INVALID_REQUEST,
            format!("The message is longer than {most} MiB"),
        );
    }
    let text = line.trim_ascii();
    if text.is_empty() {
        return Some(None);
    }
    if let Err(why) = serde_json::from_slice::<IgnoredAny>(text) {
        return error(PARSE_ERROR, format!("Parse error: {why}"));
    }
    if depth(text) > MAX_DEPTH {
        return error(INVALID_REQUEST, "The message is nested too deep".into());
    }
    None
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    async fn refuse(&mut self, error: &Value) -> std::io::Result<()> {
        let mut output = self.output.lock().await;
        output.write_all(format!("{error}\n").as_bytes()).await?;
        output.flush().await
    }

    /// A line of any length, of which at most `MAX_MESSAGE` bytes are kept. It ends with a line break, also the last one.
    async fn next(&mut self, out: &mut Vec<u8>) -> std::io::Result<usize> {
        let mut total = 0;
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                if total > 0 && total == out.len() {
                    out.push(b'\n');
                    total += 1;
                }
                return Ok(total);
            }
            let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
            let take = end.unwrap_or(buffer.len());
            let room = MAX_MESSAGE.saturating_sub(out.len()).min(take);
            out.extend_from_slice(buffer.get(..room).unwrap_or_default());
            self.input.consume(take);
            total += take;
            if end.is_some() {
                return Ok(total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_messages() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let deep = serde_json::to_string(&json!({"a": 1}))
            .unwrap()
            .replace('1', &deep);
        for (line, length, expect) in [
            ("{\"jsonrpc\":\"2.0\"}\n", None, None),
            ("  \n", None, Some(None)),
            ("garbage\n", None, Some(Some(PARSE_ERROR))),
            ("{\"a\":\n", None, Some(Some(PARSE_ERROR))),
            ("{}", Some(MAX_MESSAGE + 1), Some(Some(INVALID_REQUEST))),
        ] {
            let length = length.unwrap_or(line.len());
            let found = fault(line.as_bytes(), length);
            let code = |error: Value| error["error"]["code"].as_i64();
            let found = found.map(|error| error.and_then(code));
            let expect = expect.map(|code| code.map(i64::from));
            assert_eq!(found, expect, "{line}");
        }
        assert!(matches!(fault(deep.as_bytes(), deep.len()), Some(Some(_))));
    }
}
