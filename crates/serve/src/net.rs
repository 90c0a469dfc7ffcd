//! Connections: how many, how long a head may take, and what becomes of a client that does not read.

use crate::gate::Peer;
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use ostler_wire::{Card, Door, Guest};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// Connections at one time. The next one takes the place of one that carries nothing.
const MAX_CONNECTIONS: usize = 256;
/// For the head of a request, and between two requests.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// A client that takes nothing for this long is cut.
const READ_TIME: Duration = Duration::from_secs(30);
/// Bytes of a head, and of what waits to be sent.
const MAX_BUFFER: usize = 64 << 10;
/// For the answers that are under way at the end.
const LEAVING: Duration = Duration::from_secs(2);
/// Between an error of the listener and the next try.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop`.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
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
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            connection(stream, (Peer(peer.ip()), guest), router, stop).await;
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LEAVING, all).await;
}

async fn connection(
    stream: TcpStream,
    (peer, mut guest): (Peer, Guest),
    router: Router,
    stop: CancellationToken,
) {
    let card = guest.card();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let (router, card) = (router.clone(), card.clone());
        async move { router.oneshot(request).await.map(|made| noted(made, &card)) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(Impatient::new(stream)), service);
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
fn noted(response: Response, card: &Card) -> Response {
    if response.status().is_success() {
        card.renew();
    }
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    let carried = card.carry();
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _until_its_end = &carried;
            frame
        }))
    })
}

/// A connection whose other end has to take what is sent.
struct Impatient {
    stream: TcpStream,
    /// Runs while something waits to be taken.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            waiting: None,
        }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.waiting = None;
            return wrote;
        }
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(READ_TIME)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn half_open_connections_shut_nobody_out() {
        let router = Router::new().route("/", axum::routing::get(|| async { "here" }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router, stop.clone()));
        let mut open = Vec::new();
        for n in 0..MAX_CONNECTIONS + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            if n % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
            }
            open.push(stream);
        }
        let asked = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            stream.write_all(head).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        // Long before the heads of the others are due.
        let answer = tokio::time::timeout(HEAD_TIME / 2, asked).await.unwrap();
        assert!(answer.ends_with("here"), "{answer}");
        stop.cancel();
        serving.await.unwrap();
        drop(open);
    }
}
