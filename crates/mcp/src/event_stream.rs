//! Servers that speak HTTP as the revision 2024-11-05 has it: what the server says comes as events of one answer, and what we
//! say is posted to the address that the first event names. To the library both are lines, as those of a program.

use crate::failure::{
    ConnectError, Failure, FailureCode, MAX_PAGE, MAX_SAID, Place, is_oauth, login_hint, of_line,
    of_status,
};
use crate::stdio::{BUFFER, Lines, MAX_MESSAGE, ServerLog};
use crate::text;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use ostler_wire::sse::{Frame, Sse};
use ostler_wire::{Language, Why, Word};
use reqwest::{RequestBuilder, Response};
use rmcp::transport::auth::AuthorizationManager;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, ReadHalf};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Messages that are on their way to the server; the next one waits.
const MAX_POSTS: usize = 64;
/// How long the next message waits until the server has taken one. Some answer only when the work is done.
const ORDER: Duration = Duration::from_secs(1);
/// How long a server may hold the answer to a message; what it has to say comes as an event anyway.
const POST: Duration = Duration::from_secs(300);
const EVENTS: &str = "text/event-stream";
const INTERNAL_ERROR: i32 = -32603;

/// What every request to a server carries.
pub struct Requests {
    pub client: reqwest::Client,
    pub headers: HeaderMap,
    pub login: Option<AuthorizationManager>,
}

/// A connection to a server that was asked for its events.
struct Opened {
    answer: Response,
    sse: Sse,
    /// Where messages go.
    post: Url,
    /// Events that came with the first one.
    early: Vec<String>,
}

/// Sends messages.
struct Sender {
    requests: AuthorizedRequests,
    url: Url,
    place: Place,
    log: ServerLog,
    cancel: CancellationToken,
    /// Errors that we answer in the server's stead.
    errors: mpsc::Sender<Vec<u8>>,
}

struct AuthorizedRequests {
    client: reqwest::Client,
    headers: HeaderMap,
    /// One of several messages renews a token.
    login: Option<Mutex<AuthorizationManager>>,
}

/// Of a message, what tells a request from the rest.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
}

/// Connects. The stream carries messages and ends with the server's answer; `cancel` ends both, and is cancelled when they end
/// by themselves.
pub async fn connect(
    requests: Requests,
    place: Place,
    log: &ServerLog,
    cancel: CancellationToken,
) -> Result<DuplexStream, ConnectError> {
    let requests = AuthorizedRequests {
        client: requests.client,
        headers: requests.headers,
        login: requests.login.map(Mutex::new),
    };
    let opened = open(&requests, &place).await?;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_us, to_us) = tokio::io::split(theirs);
    let (errors, failed) = mpsc::channel(MAX_POSTS);
    let sender = Sender {
        requests,
        url: opened.post.clone(),
        place,
        log: log.clone(),
        cancel: cancel.clone(),
        errors,
    };
    tokio::spawn(carry_in(from_us, Arc::new(sender)));
    let lines = Lines::new(to_us, log.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = carry_out(opened, lines, failed) => {}
            () = cancel.cancelled() => {}
        }
        cancel.cancel();
    });
    Ok(ours)
}

/// Asks for the events, and waits for the one that says where messages go.
async fn open(requests: &AuthorizedRequests, place: &Place) -> Result<Opened, ConnectError> {
    let failed = |failure| ConnectError::finally(failure);
    let url = &place.url;
    let request = requests.client.get(url).header(ACCEPT, EVENTS);
    let request = requests.authorized(request).await.map_err(failed)?;
    let answer = request.send().await;
    let mut answer = answer.map_err(|error| failed(of_line(&error, url)))?;
    if !answer.status().is_success() {
        return Err(refused(answer, place).await);
    }
    let kind = answer.headers().get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let kind = kind.unwrap_or_default();
    if !kind.starts_with(EVENTS) {
        let said = [url.as_str().into(), text::line(&kind, MAX_PAGE).into()];
        let why = Why::ours(Word::McpNoEvents, said);
        return Err(failed(Failure::new(FailureCode::ContentType, why)));
    }
    let base = answer.url().clone();
    let mut sse = Sse::with_cap(MAX_MESSAGE);
    let mut events: Vec<(String, String)> = Vec::new();
    let named = loop {
        if let Some(at) = events.iter().position(|(event, _)| event == "endpoint") {
            break events.remove(at).1;
        }
        let piece = answer.chunk().await;
        let Some(piece) = piece.map_err(|error| failed(of_line(&error, url)))? else {
            let why = Why::ours(Word::McpClosedEarly, [url.as_str().into()]);
            return Err(failed(Failure::new(FailureCode::Closed, why)));
        };
        let mut take =
            |frame: Frame<'_>| events.push((frame.event.to_owned(), frame.data.to_owned()));
        if sse.push(&piece, &mut take).is_err() {
            return Err(failed(too_long()));
        }
    };
    let early = events.into_iter().filter(|(event, _)| is_message(event));
    Ok(Opened {
        post: post_address(&base, &named, url).map_err(failed)?,
        early: early.map(|(_, data)| data).collect(),
        answer,
        sse,
    })
}

/// Where messages go: on the same machine, for they may hold what no other should see.
fn post_address(base: &Url, named: &str, url: &str) -> Result<Url, Failure> {
    let shown = || text::line(named, MAX_SAID);
    match base.join(named.trim()) {
        Ok(post) if post.origin() == base.origin() => Ok(post),
        Ok(_) | Err(_) => {
            let why = Why::ours(Word::McpLedAway, [url.into(), shown().into()]);
            Err(Failure::new(FailureCode::Redirect, why))
        }
    }
}

/// Why the server does not let us in.
async fn refused(mut answer: Response, place: &Place) -> ConnectError {
    let status = answer.status();
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|value| value.to_str().ok().map(str::to_owned));
    if status == StatusCode::UNAUTHORIZED && challenge.as_deref().is_none_or(is_oauth) {
        return ConnectError {
            challenge,
            ..ConnectError::finally(Failure::new(FailureCode::Login, login_hint(&place.server)))
        };
    }
    let page = match answer.chunk().await {
        Ok(Some(page)) => String::from_utf8_lossy(&page).into_owned(),
        Ok(None) | Err(_) => String::new(),
    };
    ConnectError::finally(of_status(status.as_u16(), &page, place))
}

fn too_long() -> Failure {
    let most = (MAX_MESSAGE >> 20).to_string();
    Failure::new(
        FailureCode::TooLong,
        Why::ours(Word::McpLong, [most.into()]),
    )
}

/// An event without a name is a message, too.
fn is_message(event: &str) -> bool {
    matches!(event, "message" | "")
}

/// What the server says, and the errors that we answer in its stead, until one of both ends.
async fn carry_out(mut opened: Opened, mut lines: Lines, mut failed: mpsc::Receiver<Vec<u8>>) {
    for message in std::mem::take(&mut opened.early) {
        if !lines.take(&line_of(&message)).await {
            return;
        }
    }
    loop {
        let messages = tokio::select! {
            piece = opened.answer.chunk() => match piece {
                Ok(Some(piece)) => match read(&mut opened.sse, &piece) {
                    Ok(messages) => messages,
                    Err(failure) => return lines.log.fail(failure),
                },
                Ok(None) | Err(_) => return,
            },
            Some(error) = failed.recv() => vec![error],
        };
        for message in messages {
            if !lines.take(&message).await {
                return;
            }
        }
    }
}

/// The messages that end in this piece, each as a line.
fn read(sse: &mut Sse, piece: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut messages = Vec::new();
    let mut take = |frame: Frame<'_>| {
        if is_message(frame.event) {
            messages.push(line_of(frame.data));
        }
    };
    sse.push(piece, &mut take).map_err(|_| too_long())?;
    Ok(messages)
}

/// Within a value of JSON a break is a blank.
fn line_of(message: &str) -> Vec<u8> {
    let mut line: Vec<u8> = message.replace(['\n', '\r'], " ").into_bytes();
    line.push(b'\n');
    line
}

/// Posts what we say, in its order as far as the server takes one message before it has done the work of another.
async fn carry_in(from: ReadHalf<DuplexStream>, sender: Arc<Sender>) {
    let room = Arc::new(Semaphore::new(MAX_POSTS));
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = tokio::select! {
            read = from.read_until(b'\n', &mut line) => read,
            () = sender.cancel.cancelled() => return,
        };
        if !matches!(read, Ok(1..)) {
            return sender.cancel.cancel();
        }
        let permit = tokio::select! {
            permit = room.clone().acquire_owned() => permit,
            () = sender.cancel.cancelled() => return,
        };
        let sender = sender.clone();
        let posting = tokio::spawn(async move {
            tokio::select! {
                () = sender.post(line) => {}
                () = sender.cancel.cancelled() => {}
            }
            drop(permit);
        });
        // One that takes longer goes on by itself.
        let _ = tokio::time::timeout(ORDER, posting).await;
    }
}

impl Sender {
    /// A request that does not get there is answered by us.
    async fn post(&self, line: Vec<u8>) {
        let envelope = serde_json::from_slice::<Envelope>(&line);
        let Some(failure) = self.send(line).await else {
            return;
        };
        if failure.code == FailureCode::Closed {
            self.log.fail(failure);
            return self.cancel.cancel();
        }
        let said = failure.why.say(Language::English);
        self.log.append(format!("{said}\n").as_bytes());
        if let Ok(Envelope {
            id: Some(id),
            method: Some(_),
        }) = envelope
        {
            let error = json!({"code": INTERNAL_ERROR, "message": said});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            // Whoever reads may be gone.
            let _ = self.errors.send(format!("{answer}\n").into_bytes()).await;
        }
    }

    async fn send(&self, line: Vec<u8>) -> Option<Failure> {
        let request = self.requests.client.post(self.url.clone());
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = match self.requests.authorized(request.timeout(POST)).await {
            Ok(request) => request,
            Err(failure) => return Some(failure),
        };
        match request.body(line).send().await {
            Ok(answer) if answer.status().is_success() => None,
            // The server has forgotten us.
            Ok(answer) if matches!(answer.status().as_u16(), 404 | 410) => {
                Some(Failure::new(FailureCode::Closed, Word::McpForgot))
            }
            Ok(answer) => {
                let status = answer.status().as_u16();
                let failure = match status {
                    401 => Failure::new(FailureCode::Login, login_hint(&self.place.server)),
                    _ => of_status(status, "", &self.place),
                };
                Some(failure)
            }
            Err(error) if error.is_timeout() => None,
            Err(error) => match of_line(&error, &self.place.url) {
                // One message did not come through; the events may still come.
                Failure {
                    code: FailureCode::Closed,
                    why,
                } => Some(Failure::new(FailureCode::Unreachable, why)),
                failure => Some(failure),
            },
        }
    }
}

impl AuthorizedRequests {
    /// With our headers, and the token of a login.
    async fn authorized(&self, request: RequestBuilder) -> Result<RequestBuilder, Failure> {
        let request = request.headers(self.headers.clone());
        let Some(login) = &self.login else {
            return Ok(request);
        };
        let token = login.lock().await.get_access_token().await;
        let token = token.map_err(|error| {
            let said = text::cut(&crate::failure::chain(&error), MAX_SAID);
            Failure::new(FailureCode::Login, said)
        })?;
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| {
            let why = Why::ours(Word::McpBadHeaderOf, [AUTHORIZATION.as_str().into()]);
            Failure::new(FailureCode::Settings, why)
        })?;
        value.set_sensitive(true);
        Ok(request.header(AUTHORIZATION, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_machine_that_sends_the_events() {
        let base = Url::parse("https://one.example/a/sse").unwrap();
        for (named, expect) in [
            ("/messages?id=1", Some("https://one.example/messages?id=1")),
            ("post", Some("https://one.example/a/post")),
            ("https://one.example:443/x", Some("https://one.example/x")),
            ("https://two.example/x", None),
            ("//two.example/x", None),
            ("http://one.example/x", None),
            ("https://one.example:8443/x", None),
            ("file:///etc/passwd", None),
        ] {
            let found = post_address(&base, named, base.as_str()).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expect, "{named}");
        }
    }

    #[test]
    fn events_become_lines() {
        let text =
            "event: message\ndata: {\"a\":\ndata: 1}\n\nevent: ping\ndata: x\n\ndata: {}\n\n";
        let lines = read(&mut Sse::default(), text.as_bytes()).unwrap();
        assert_eq!(lines, [b"{\"a\": 1}\n".to_vec(), b"{}\n".to_vec()]);
    }
}
