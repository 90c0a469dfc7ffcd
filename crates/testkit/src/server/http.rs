//! Just enough HTTP/1.1: reads one request, writes one response, keeps the connection.

use crate::captured::{Captured, Fate};
use serde_json::Value;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const MAX_HEAD_BYTES: u64 = 256 * 1024;
const MAX_BODY_BYTES: usize = 512 * 1024 * 1024;
const OUT_BUFFER_BYTES: usize = 16 * 1024;

/// The next request of a connection, or `None` when the client is done.
pub(crate) fn read_request(
    reader: &mut impl BufRead,
    sock: &TcpStream,
) -> io::Result<Option<Captured>> {
    let mut head = reader.by_ref().take(MAX_HEAD_BYTES);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) = (owned(words.next()), owned(words.next()));
    let mut headers: Vec<(String, String)> = vec![];
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().into())),
            None => break,
        }
    }
    let header = |name: &str| {
        let found = headers.iter().find(|(k, _)| k == name);
        found.map(|(_, v)| v.to_ascii_lowercase())
    };
    if header("expect").is_some_and(|v| v.contains("100-continue")) {
        (&mut &*sock).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let raw = if header("transfer-encoding").is_some_and(|v| v.contains("chunked")) {
        read_chunked(reader)?
    } else {
        let len = header("content-length").and_then(|v| v.parse().ok());
        read_exactly(reader, len.unwrap_or(0))?
    };
    // Reading it takes a while that is not the client's.
    let at = Instant::now();
    Ok(Some(Captured {
        method,
        path,
        headers,
        body: serde_json::from_slice(&raw).unwrap_or(Value::Null),
        raw,
        at,
        fate: Fate::Open,
    }))
}

fn owned(word: Option<&str>) -> String {
    word.unwrap_or_default().into()
}

fn read_exactly(reader: &mut impl Read, len: usize) -> io::Result<Vec<u8>> {
    if len > MAX_BODY_BYTES {
        return Err(io::Error::other("request body too large"));
    }
    let mut body = vec![0; len];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = vec![];
    loop {
        let mut line = String::new();
        reader.by_ref().take(MAX_HEAD_BYTES).read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        if body.len() + size > MAX_BODY_BYTES {
            return Err(io::Error::other("request body too large"));
        }
        body.extend(read_exactly(reader, size)?);
        reader.by_ref().take(2).read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// The response side of a connection.
pub(crate) struct Wire<'a> {
    sock: &'a TcpStream,
    out: BufWriter<&'a TcpStream>,
    /// Just before the last bytes left.
    sent: Option<Instant>,
}

impl<'a> Wire<'a> {
    pub fn new(sock: &'a TcpStream) -> Wire<'a> {
        Wire {
            sock,
            out: BufWriter::with_capacity(OUT_BUFFER_BYTES, sock),
            sent: None,
        }
    }

    pub fn sent(&self) -> Option<Instant> {
        self.sent
    }

    pub fn head(&mut self, status: u16, headers: &[(String, String)]) -> io::Result<()> {
        write!(self.out, "HTTP/1.1 {status} {}\r\n", reason(status))?;
        for (name, value) in headers {
            write!(self.out, "{name}: {value}\r\n")?;
        }
        self.out.write_all(b"\r\n")
    }

    /// One whole response.
    pub fn fixed(
        &mut self,
        status: u16,
        content_type: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> io::Result<()> {
        self.fixed_head(status, content_type, headers, body.len())?;
        self.out.write_all(body)?;
        self.done()
    }

    pub fn fixed_head(
        &mut self,
        status: u16,
        content_type: &str,
        headers: &[(String, String)],
        len: usize,
    ) -> io::Result<()> {
        let mut all = vec![
            pair("content-type", content_type),
            pair("content-length", &len.to_string()),
        ];
        all.extend(headers.iter().cloned());
        self.head(status, &all)
    }

    pub fn start_stream(&mut self, headers: &[(String, String)]) -> io::Result<()> {
        let mut all = vec![
            pair("content-type", "text/event-stream; charset=utf-8"),
            pair("cache-control", "no-cache"),
            pair("transfer-encoding", "chunked"),
        ];
        all.extend(headers.iter().cloned());
        self.head(200, &all)
    }

    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    pub fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        write!(self.out, "{:x}\r\n", bytes.len())?;
        self.out.write_all(bytes)?;
        self.out.write_all(b"\r\n")
    }

    pub fn end_stream(&mut self) -> io::Result<()> {
        self.out.write_all(b"0\r\n\r\n")?;
        self.done()
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Hands over what is left of the response.
    pub fn done(&mut self) -> io::Result<()> {
        self.sent = Some(Instant::now());
        self.out.flush()
    }

    /// Waits until the client goes away, with an SSE comment every so often.
    pub fn stall(&mut self, comments: Option<Duration>) -> io::Result<()> {
        self.out.flush()?;
        self.sock.set_read_timeout(comments)?;
        let mut byte = [0];
        loop {
            match (&mut &*self.sock).read(&mut byte) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    self.chunk(b": keep-alive\n\n")?;
                    self.out.flush()?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(()),
            }
        }
    }
}

pub(crate) fn pair(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Mock",
    }
}
