//! Many clients over HTTP: each request names a host that is ours and brings the token, and none comes from a page of another
//! site. Sessions of the protocol, streams and resumption are the library's.

use super::ToolService;
use super::handler::{Handler, Presence};
use crate::stdio::MAX_MESSAGE;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ostler_wire::{Card, Door, Guest};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Where clients find us.
const PATH: &str = "/mcp";
/// Connections at one time. The next one takes the place of one that carries nothing.
const MAX_CONNECTIONS: usize = 128;
/// For the head of a request, and between two requests.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// A session without a message for this long is over. A call that runs asks its client more often than that.
const IDLE: Duration = Duration::from_secs(3600);
/// For the answers that are under way at the end.
const LEAVING: Duration = Duration::from_secs(2);
/// Between an error of the listener and the next try.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// What clients send as bearer; none: everybody may come in.
    pub token: Option<String>,
    /// `host:port` names that we go by.
    pub hosts: Vec<String>,
}

type Body = BoxBody<Bytes, Infallible>;

struct Server {
    library: StreamableHttpService<Handler, LocalSessionManager>,
    token: Option<[u8; 32]>,
}

/// Serves until `stop`.
pub async fn serve_http(
    listener: TcpListener,
    settings: HttpSettings,
    service: Arc<dyn ToolService>,
    stop: CancellationToken,
) {
    let server = Arc::new(server(settings, service, &stop));
    let door = Door::new(MAX_CONNECTIONS);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Some(guest) = door.enter(peer.ip()) else {
            continue;
        };
        // Small events are not held back.
        let _late = stream.set_nodelay(true);
        let (server, stop) = (server.clone(), stop.clone());
        connections.spawn(async move {
            connection(stream, guest, server, stop).await;
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LEAVING, all).await;
}

fn server(
    settings: HttpSettings,
    service: Arc<dyn ToolService>,
    stop: &CancellationToken,
) -> Server {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    let origins = settings.hosts.iter().map(|host| format!("http://{host}"));
    let origins: Vec<String> = origins.collect();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(settings.hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(stop.clone());
    let gone = stop.clone();
    let make = move || Ok(Handler::new(service.clone(), gone.clone(), Presence::Asked));
    Server {
        library: StreamableHttpService::new(make, Arc::new(sessions), config),
        token: settings.token.as_deref().map(digest),
    }
}

/// Secrets are compared by their digests, so that the time it takes tells nothing.
fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

async fn connection(
    stream: TcpStream,
    mut guest: Guest,
    server: Arc<Server>,
    stop: CancellationToken,
) {
    let card = guest.card();
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, card) = (server.clone(), card.clone());
        async move { Ok::<_, Infallible>(noted(server.answer(request).await, &card)) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        // A connection that breaks is the client's to notice.
        _ = serving.as_mut() => {}
        () = guest.has_to_go() => {}
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// A client that got what it asked for keeps its place before one that got nothing, and an event stream keeps it for as long
/// as it lasts.
fn noted(response: Response<Body>, card: &Card) -> Response<Body> {
    if response.status().is_success() {
        card.renew();
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    let carried = card.carry();
    response.map(|body| {
        body.map_frame(move |frame| {
            let _until_its_end = &carried;
            frame
        })
        .boxed()
    })
}

impl Server {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if !self.admits(request.headers()) {
            return refusal(
                StatusCode::UNAUTHORIZED,
                "Send the token of this server: `Authorization: Bearer TOKEN`.",
            );
        }
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "The address of this server is /mcp.");
        }
        self.library.handle(request).await
    }

    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let bearer = given.and_then(|value| value.strip_prefix("Bearer "));
        bearer.is_some_and(|bearer| digest(bearer.trim()) == *token)
    }
}

fn refusal(status: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    if status == StatusCode::UNAUTHORIZED {
        let bearer = http::HeaderValue::from_static("Bearer");
        headers.insert(header::WWW_AUTHENTICATE, bearer);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{ServerAbout, ToolAnswer, ToolCall, ToolTable};
    use futures_util::future::BoxFuture;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[derive(Default)]
    struct Nothing(ToolTable);

    impl ToolService for Nothing {
        fn about(&self) -> ServerAbout {
            ServerAbout {
                name: "nothing".into(),
                title: String::new(),
                version: "1".into(),
                instructions: String::new(),
            }
        }

        fn tools(&self) -> &ToolTable {
            &self.0
        }

        fn call(&self, _call: ToolCall) -> BoxFuture<'_, ToolAnswer> {
            Box::pin(async { ToolAnswer::error("nothing") })
        }
    }

    #[tokio::test]
    async fn half_open_connections_shut_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = HttpSettings {
            token: Some("t".into()),
            hosts: vec![address.to_string()],
        };
        let stop = CancellationToken::new();
        let service = Arc::new(Nothing::default());
        let serving = tokio::spawn(serve_http(listener, settings, service, stop.clone()));
        let mut open = Vec::new();
        for n in 0..MAX_CONNECTIONS + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let begun: &[u8] = match n % 3 {
                0 => b"",
                1 => b"POST /mcp HTTP/1.1\r\nx: ",
                _ => b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{",
            };
            stream.write_all(begun).await.unwrap();
            open.push(stream);
        }
        let asked = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
            let request = format!(
                "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer t\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            while !String::from_utf8_lossy(&answer).contains("\"nothing\"") {
                assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
            }
        };
        // Long before the heads of the others are due.
        tokio::time::timeout(HEAD_TIME / 2, asked).await.unwrap();
        stop.cancel();
        serving.await.unwrap();
        drop(open);
    }
}
