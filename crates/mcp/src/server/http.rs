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
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Where clients find us.
const PATH: &str = "/mcp";
/// Connections at one time; more wait.
const MAX_CONNECTIONS: usize = 128;
/// For the head of a request, and between two requests.
const HEAD_TIME: Duration = Duration::from_secs(30);
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
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            next = next => next,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Small events are not held back.
        let _late = stream.set_nodelay(true);
        let (server, stop) = (server.clone(), stop.clone());
        connections.spawn(async move {
            let _permit = permit;
            connection(stream, server, stop).await;
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

async fn connection(stream: TcpStream, server: Arc<Server>, stop: CancellationToken) {
    let service = service_fn(move |request: Request<Incoming>| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        // A connection that breaks is the client's to notice.
        _ = serving.as_mut() => {}
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
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
