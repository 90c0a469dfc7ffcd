//! An MCP server on 127.0.0.1, with one tool that says which headers it was called with: over streamable HTTP, of the
//! revision 2025-11-25, and by events, as the revision 2024-11-05 has it. It may want a token, and says where to get one.

use crate::captured::Captured;
use crate::server::http::{Wire, pair, read_request};
use serde_json::{Value, json};
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Before the number of a stream, where messages to it go.
const POSTS: &str = "/messages?session=";

type Guard = Box<dyn Fn(&Captured) -> bool + Send + Sync>;

/// The running server. Its threads end with the test.
pub struct McpServer {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    origin: String,
    issuer: String,
    /// Whoever is refused is told where to go.
    challenges: bool,
    lets_in: Guard,
    requests: Mutex<Vec<Captured>>,
    /// Of the streams that were asked for, by their number.
    streams: Mutex<Vec<mpsc::Sender<String>>>,
}

impl McpServer {
    /// Whoever `lets_in` refuses is sent to the issuer. Panics when no port can be had.
    pub fn start(
        issuer: &str,
        lets_in: impl Fn(&Captured) -> bool + Send + Sync + 'static,
    ) -> McpServer {
        McpServer::open(issuer, true, Box::new(lets_in))
    }

    /// The same, without a word to whoever is refused.
    pub fn without_challenge(
        issuer: &str,
        lets_in: impl Fn(&Captured) -> bool + Send + Sync + 'static,
    ) -> McpServer {
        McpServer::open(issuer, false, Box::new(lets_in))
    }

    fn open(issuer: &str, challenges: bool, lets_in: Guard) -> McpServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let addr = listener.local_addr().expect("the port's address");
        let origin = format!("http://{addr}");
        let shared = Arc::new(Shared {
            origin: origin.clone(),
            issuer: issuer.into(),
            challenges,
            lets_in,
            requests: Mutex::default(),
            streams: Mutex::default(),
        });
        let ours = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = ours.clone();
                thread::spawn(move || shared.serve(&stream).is_ok());
            }
        });
        McpServer {
            url: format!("{origin}/mcp"),
            shared,
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where its events come from.
    pub fn events_url(&self) -> String {
        format!("{}/sse", self.shared.origin)
    }

    /// Ends all streams of events, as a server does that starts anew.
    pub fn drop_streams(&self) {
        self.shared.streams().clear();
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Captured> {
        let requests = self.shared.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let Some(request) = read_request(&mut reader, stream)? else {
            return Ok(());
        };
        let seen = self.requests.lock();
        seen.unwrap_or_else(PoisonError::into_inner)
            .push(request.clone());
        let wants_events = request.method == "GET" && request.path == "/sse";
        if wants_events && (self.lets_in)(&request) {
            return self.send_events(stream);
        }
        if let Some(number) = request.path.strip_prefix(POSTS) {
            return self.take_post(&request, number, stream);
        }
        let (status, more, body) = self.answer(&request);
        let mut headers = vec![pair("connection", "close")];
        headers.extend(more);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        Wire::new(stream).fixed(status, "application/json", &headers, body.as_bytes())
    }

    fn streams(&self) -> MutexGuard<'_, Vec<mpsc::Sender<String>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until the stream is dropped.
    fn send_events(&self, stream: &TcpStream) -> io::Result<()> {
        let (sender, events) = mpsc::channel();
        let number = {
            let mut streams = self.streams();
            streams.push(sender);
            streams.len() - 1
        };
        let mut wire = Wire::new(stream);
        wire.start_stream(&[])?;
        wire.chunk(format!("event: endpoint\ndata: {POSTS}{number}\n\n").as_bytes())?;
        wire.flush()?;
        for message in events {
            wire.chunk(format!("event: message\ndata: {message}\n\n").as_bytes())?;
            wire.flush()?;
        }
        wire.end_stream()
    }

    /// Its answer goes to the stream.
    fn take_post(&self, request: &Captured, number: &str, stream: &TcpStream) -> io::Result<()> {
        let sender = number.parse().ok();
        let sender = sender.and_then(|at: usize| self.streams().get(at).cloned());
        let headers = [pair("connection", "close")];
        let mut wire = Wire::new(stream);
        let Some(sender) = sender else {
            return wire.fixed(404, "text/plain", &headers, b"no such session");
        };
        let asked = Captured {
            path: "/mcp".into(),
            ..request.clone()
        };
        let (status, more, body) = self.answer(&asked);
        if status == 200 {
            // Whoever asked may be gone.
            let _ = sender.send(body.to_string());
            return wire.fixed(202, "text/plain", &headers, b"Accepted");
        }
        let headers: Vec<_> = headers.into_iter().chain(more).collect();
        wire.fixed(status, "text/plain", &headers, b"")
    }

    fn answer(&self, request: &Captured) -> (u16, Option<(String, String)>, Value) {
        let page = "/.well-known/oauth-protected-resource";
        if request.path.starts_with(page) {
            let of = request.path.strip_prefix(page).filter(|of| !of.is_empty());
            let resource = format!("{}{}", self.origin, of.unwrap_or("/mcp"));
            let body = json!({"resource": resource, "authorization_servers": [self.issuer]});
            return (200, None, body);
        }
        let of = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/mcp") => "",
            ("GET", "/sse") => "/sse",
            _ => return (405, None, Value::Null),
        };
        if !(self.lets_in)(request) {
            let challenge = format!("Bearer resource_metadata=\"{}{page}{of}\"", self.origin);
            let header = pair("www-authenticate", &challenge);
            let header = self.challenges.then_some(header);
            return (401, header, json!({"error": "unauthorized"}));
        }
        let body = &request.body;
        if body["id"].is_null() {
            return (202, None, Value::Null);
        }
        let result = match body["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "mock", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{
                "name": "headers", "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true},
            }]}),
            "tools/call" => {
                let own = |(name, _): &&(String, String)| name.starts_with("x-");
                let own = request.headers.iter().filter(own);
                let mut own: Vec<String> = own.map(|(k, v)| format!("{k}={v}")).collect();
                own.sort();
                json!({"content": [{"type": "text", "text": own.join(" ")}]})
            }
            "ping" => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                let body = json!({"jsonrpc": "2.0", "id": body["id"], "error": error});
                return (200, None, body);
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        (200, None, body)
    }
}
