//! A client that says exactly what a test wants it to say: one connection a request, and event streams line by line.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A request, sent by `send`.
pub struct Request {
    address: SocketAddr,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn new(address: SocketAddr, method: &str, path: &str) -> Request {
        Request {
            address,
            line: format!("{method} {path} HTTP/1.1"),
            headers: vec![("Host".into(), address.to_string())],
            body: Vec::new(),
        }
    }

    /// A later header of the same name takes the place of the earlier one.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Request {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn json(self, body: &Value) -> Request {
        let mut request = self.header("Content-Type", "application/json");
        request.body = body.to_string().into_bytes();
        request
    }

    pub fn form(self, body: &str) -> Request {
        let mut request = self.header("Content-Type", "application/x-www-form-urlencoded");
        request.body = body.into();
        request
    }

    #[track_caller]
    pub fn send(self) -> Response {
        let (head, mut reader) = self.begin();
        let mut body = Vec::new();
        match head.header("transfer-encoding") {
            Some(_) => {
                while let Some(chunk) = chunk(&mut reader) {
                    body.extend(chunk);
                }
            }
            None => {
                // A connection that is cut is what some tests look for.
                let _ = reader.read_to_end(&mut body);
            }
        }
        Response { body, ..head }
    }

    /// The events of a stream, as they come.
    #[track_caller]
    pub fn stream(self) -> Events {
        let (head, reader) = self.begin();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Events {
            reader,
            text: String::new(),
        }
    }

    #[track_caller]
    fn begin(self) -> (Response, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut text = self.line.clone() + "\r\n";
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        let length = self.body.len();
        text += &format!("Connection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(text.as_bytes()).expect("a request");
        // A server that has read enough may hang up.
        let _ = stream.write_all(&self.body);
        head(BufReader::new(stream))
    }
}

#[track_caller]
pub fn head(mut reader: BufReader<TcpStream>) -> (Response, BufReader<TcpStream>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("an answer");
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let response = Response {
        status: status.unwrap_or_else(|| panic!("no status: {line:?}")),
        headers,
        body: Vec::new(),
    };
    (response, reader)
}

fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).ok()?;
    let size = usize::from_str_radix(size.trim(), 16).ok()?;
    let mut bytes = vec![0; size + 2];
    reader.read_exact(&mut bytes).ok()?;
    bytes.truncate(size);
    (size > 0).then_some(bytes)
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {} {text}", self.status))
    }

    /// The value of our cookie, with its name.
    #[track_caller]
    pub fn cookie(&self) -> String {
        let cookie = self.header("set-cookie").expect("a cookie");
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Response {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// That it is an error of this kind.
    #[track_caller]
    pub fn refuses(self, status: u16, kind: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(self.json()["kind"], kind);
    }
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `message` where it has no name.
    pub name: String,
    pub id: Option<u64>,
    pub data: Value,
}

pub struct Events {
    reader: BufReader<TcpStream>,
    text: String,
}

impl Events {
    /// The next message; none when the stream is over.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let message = message.to_owned();
                self.text = rest.to_owned();
                match of_text(&message) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let chunk = chunk(&mut self.reader)?;
            self.text.push_str(&String::from_utf8(chunk).expect("text"));
        }
    }

    /// The messages up to and with the first that fits.
    #[track_caller]
    pub fn until(&mut self, what: &str, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let Some(event) = self.next() else {
                panic!("the stream ended before {what}: {seen:#?}");
            };
            seen.push(event);
            if seen.last().is_some_and(&fits) {
                return seen;
            }
        }
    }
}

fn of_text(message: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut lines = message.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Event {
        data: serde_json::from_str(field("data")?).expect("JSON"),
        name: field("event").unwrap_or("message").to_owned(),
        id: field("id").and_then(|id| id.parse().ok()),
    })
}
