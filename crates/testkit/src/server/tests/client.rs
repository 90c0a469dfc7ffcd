//! The smallest client that can tell a whole answer from a cut one.

use crate::Kind;
use crate::server::Server;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

pub struct Client(BufReader<TcpStream>);

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The body ended where HTTP says it ends.
    pub complete: bool,
}

impl Client {
    pub fn new(server: &Server) -> Client {
        let sock = TcpStream::connect(server.addr()).expect("connect");
        Client(BufReader::new(sock))
    }

    /// Sends a model request in the protocol's own way.
    pub fn post(&mut self, kind: Kind, body: &Value) -> Response {
        self.send(kind, body);
        self.receive().expect("a response")
    }

    pub fn send(&mut self, kind: Kind, body: &Value) {
        let mut path = kind.path("mock-model");
        if body["stream"] == false {
            path = path.replace(":streamGenerateContent?alt=sse", ":generateContent");
        }
        self.request("POST", &path, &body.to_string());
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "");
        self.receive().expect("a response")
    }

    pub fn request(&mut self, method: &str, path: &str, body: &str) {
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: mock\r\nAnthropic-Version: 2023-06-01\r\n\
             Authorization: Bearer mock-key\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.raw(&text);
    }

    pub fn raw(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("send");
    }

    /// `None` when the server closes without a response.
    pub fn receive(&mut self) -> Option<Response> {
        let mut response = self.receive_head()?;
        let header = |name: &str| {
            let found = response.headers.iter().find(|(k, _)| k == name);
            found.map(|(_, v)| v.clone())
        };
        let (body, complete) = match header("content-length") {
            Some(len) => self.read_fixed(len.parse().expect("a length")),
            None => self.read_chunked(),
        };
        (response.body, response.complete) = (body, complete);
        Some(response)
    }

    pub fn receive_head(&mut self) -> Option<Response> {
        let mut line = String::new();
        if self.0.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = vec![];
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("headers");
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.into(), value.into())),
                None => break,
            }
        }
        Some(Response {
            status,
            headers,
            body: vec![],
            complete: false,
        })
    }

    /// One HTTP chunk; `None` when the connection is cut, empty at the end.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut bytes = vec![0; size + 2];
        self.0.read_exact(&mut bytes).ok()?;
        bytes.truncate(size);
        Some(bytes)
    }

    fn read_chunked(&mut self) -> (Vec<u8>, bool) {
        let mut body = vec![];
        loop {
            match self.chunk() {
                None => return (body, false),
                Some(bytes) if bytes.is_empty() => return (body, true),
                Some(bytes) => body.extend(bytes),
            }
        }
    }

    fn read_fixed(&mut self, len: u64) -> (Vec<u8>, bool) {
        let mut body = vec![];
        let read = self.0.by_ref().take(len).read_to_end(&mut body);
        (body, read.is_ok_and(|n| n as u64 == len))
    }
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(k, _)| k == name);
        found.map(|(_, v)| v.as_str())
    }

    /// The `data` of each SSE frame.
    pub fn data(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }
}

/// A streaming request with one user message.
pub fn ask(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Chat => json!({"model": "mock-model", "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": text}]}),
        Kind::Responses => json!({"model": "mock-model", "stream": true, "store": false,
            "include": ["reasoning.encrypted_content"],
            "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}]}),
        Kind::Messages => json!({"model": "mock-model", "stream": true, "max_tokens": 1000,
            "messages": [{"role": "user", "content": [{"type": "text", "text": text,
                "cache_control": {"type": "ephemeral"}}]}]}),
        Kind::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
    }
}

/// The same, not streaming.
pub fn ask_whole(kind: Kind, text: &str) -> Value {
    let mut body = ask(kind, text);
    // Gemini has no such field; the path says it, and the client takes it from here.
    body["stream"] = json!(false);
    if let Some(map) = body.as_object_mut() {
        map.shift_remove("stream_options");
    }
    body
}
