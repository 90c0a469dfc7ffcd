//! One HTTP client for all requests: sends a body, checks the status, hands back the answer as it arrives.
//! It retries nothing and opens no connection but the one it is asked for.

mod fault;
mod response;
mod tls;
mod upload;

#[cfg(test)]
mod tests;

pub use fault::{MAX_RETRY_AFTER, secrets_beside_key};
pub use response::{MAX_WHOLE_BYTES, Progress, Response};
pub use tls::{install_crypto, trust_notice};

use crate::kinds::{Auth, Kind};
use crate::{Error, Plugin, Secret, Target};
use bytes::Bytes;
use fault::{Clock, Place};
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tls::LazyVerifier;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use upload::Upload;

const USER_AGENT: &str = concat!("ostler/", env!("CARGO_PKG_VERSION"));
/// What is read of an error's body, and how long at most.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);
/// An unused connection is closed before the boxes between us and the server forget it.
const KEEP_IDLE: Duration = Duration::from_secs(60);
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Values of the user's environment that requests depend on.
#[derive(Clone, Debug, Default)]
pub struct TransportOptions {
    /// PEM files with certificates to trust beside the system's (`SSL_CERT_FILE`, `ca_file`).
    pub ca_files: Vec<PathBuf>,
    pub proxies: Proxies,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proxies {
    /// Those of the environment or the system, except for hosts in `NO_PROXY`.
    #[default]
    System,
    None,
}

/// Made once per process; costs nothing until the first request.
pub struct Transport {
    proxies: Proxies,
    /// By the name of the provider.
    plugins: BTreeMap<String, Arc<dyn Plugin>>,
    verifier: Arc<LazyVerifier>,
    client: OnceLock<Result<reqwest::Client, Why>>,
    /// Stops what still reads the rest of an answer when the transport goes away.
    closing: CancellationToken,
}

impl Transport {
    pub fn new(options: TransportOptions) -> Self {
        Self {
            proxies: options.proxies,
            plugins: BTreeMap::new(),
            verifier: Arc::new(LazyVerifier::new(options.ca_files)),
            client: OnceLock::new(),
            closing: CancellationToken::new(),
        }
    }

    /// The same with programs that offer models, by the name of the provider.
    #[must_use]
    pub fn with_plugins(mut self, plugins: BTreeMap<String, Arc<dyn Plugin>>) -> Self {
        self.plugins = plugins;
        self
    }

    /// The way to the models of a program.
    pub(crate) fn plugin(&self, provider: &str) -> Option<&Arc<dyn Plugin>> {
        self.plugins.get(provider)
    }

    /// Sends a request and waits for the head of its answer. Cancelling or dropping closes the connection at once;
    /// a cancelled request is an error that the caller tells apart by its token.
    pub async fn send(
        &self,
        target: &Target,
        kind: &Kind,
        body: Vec<Bytes>,
        cancel: &CancellationToken,
    ) -> Result<Response, Error> {
        let url = kind.url(target)?;
        if url.scheme() == "https" {
            self.load_trust_store();
        }
        let mut key = match &target.key {
            Some(key) => Some(unless_cancelled(key.current(), cancel).await?),
            None => None,
        };
        let mut is_second = false;
        let (place, progress, answer) = loop {
            let place = Place::new(target, key.as_ref(), &url);
            let headers = headers(target, key.as_ref(), kind)?;
            let progress = Arc::new(upload::Progress::new());
            let body = reqwest::Body::wrap(Upload::new(body.clone(), progress.clone()));
            let request = self.client()?.post(url.clone()).headers(headers).body(body);
            let wait = Wait::new(target);
            let answer = head(request.send(), &progress, wait, &place, cancel).await?;
            if answer.status() == StatusCode::UNAUTHORIZED
                && !is_second
                && let (Some(source), Some(refused)) = (&target.key, &key)
                && let Some(other) = unless_cancelled(source.instead_of(refused), cancel).await?
            {
                (key, is_second) = (Some(other), true);
                continue;
            }
            break (place, progress, answer);
        };
        let status = answer.status().as_u16();
        if !answer.status().is_success() {
            let headers = answer.headers().clone();
            let body = read_some(answer, cancel).await;
            return Err(place.status(status, &headers, &String::from_utf8_lossy(&body)));
        }
        if content_type(&answer).starts_with("text/html") {
            let body = read_some(answer, cancel).await;
            return Err(place.not_an_answer(Word::LlmWebPage, &body));
        }
        Ok(Response::new(
            answer,
            place,
            target.timeouts,
            progress.start(),
            cancel.clone(),
            self.closing.clone(),
        ))
    }

    fn client(&self) -> Result<&reqwest::Client, Error> {
        self.client
            .get_or_init(|| self.build())
            .as_ref()
            .map_err(|why| Error::fatal(why.clone()))
    }

    fn build(&self) -> Result<reqwest::Client, Why> {
        install_crypto();
        let config = tls::config(self.verifier.clone())
            .map_err(|error| Why::ours(Word::LlmNoTlsSetup, [error.to_string().into()]))?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .user_agent(USER_AGENT)
            .tcp_nodelay(true)
            .pool_idle_timeout(KEEP_IDLE)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            // A key must not follow a redirect, and a packed stream would be held back by the packer.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .gzip(false);
        let builder = match self.proxies {
            Proxies::System => builder,
            Proxies::None => builder.no_proxy(),
        };
        builder
            .build()
            .map_err(|error| Why::ours(Word::LlmNoClient, [error.to_string().into()]))
    }

    /// Reads the trust store beside the name lookup and the connection.
    fn load_trust_store(&self) {
        if !self.verifier.is_loaded() {
            let verifier = self.verifier.clone();
            drop(tokio::task::spawn_blocking(move || {
                // A failure is kept and reported when a certificate has to be checked.
                _ = verifier.load();
            }));
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

#[derive(Clone, Copy)]
struct Wait {
    connect: Duration,
    headers: Duration,
}

impl Wait {
    fn new(target: &Target) -> Self {
        let timeouts = target.timeouts;
        Self {
            connect: timeouts.connect,
            headers: if target.stream {
                timeouts.headers
            } else {
                // The head of an answer that is not streamed comes when the answer is ready.
                timeouts.headers.max(timeouts.first_token)
            },
        }
    }
}

async fn unless_cancelled<T>(
    work: impl Future<Output = Result<T, Error>>,
    cancel: &CancellationToken,
) -> Result<T, Error> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        done = work => done,
    }
}

/// Waits for the head of the answer, on the clock of the stage the request is in.
async fn head(
    sending: impl Future<Output = Result<reqwest::Response, reqwest::Error>>,
    progress: &upload::Progress,
    wait: Wait,
    place: &Place,
    cancel: &CancellationToken,
) -> Result<reqwest::Response, Error> {
    let mut sending = std::pin::pin!(sending);
    loop {
        let (clock, limit, since) = match progress.last_sent() {
            None => (Clock::Connect, wait.connect, progress.start()),
            Some(sent) => (Clock::Headers, wait.headers, sent),
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            answer = &mut sending => return answer.map_err(|error| place.transport(&error)),
            () = progress.connected(), if clock == Clock::Connect => continue,
            () = tokio::time::sleep_until(since + limit) => {}
        }
        // The upload may have moved on while the clock ran.
        if progress.last_sent().is_none_or(|sent| sent <= since) {
            return Err(place.timeout(clock, limit));
        }
    }
}

fn headers(target: &Target, key: Option<&Secret>, kind: &Kind) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &kind.headers {
        put(&mut map, target, name, value)?;
    }
    if let Some(key) = key {
        match (&kind.auth, key.is_bearer()) {
            (Auth::Bearer, _) | (Auth::Header(_), true) => {
                let value = format!("Bearer {}", key.reveal());
                put(&mut map, target, AUTHORIZATION.as_str(), &value)?;
            }
            (Auth::Header(name), false) => put(&mut map, target, name, key.reveal())?,
            (Auth::None, _) => {}
        }
    }
    for (name, value) in &target.headers {
        put(&mut map, target, name, value)?;
    }
    Ok(map)
}

fn put(map: &mut HeaderMap, target: &Target, name: &str, value: &str) -> Result<(), Error> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .ok()
        .zip(HeaderValue::from_str(value.trim()).ok());
    let Some((name, mut value)) = parsed else {
        // The value may be a key, so it is not shown.
        let name = name.escape_default().to_string().into();
        let provider = target.origin.provider.as_str().into();
        return Err(Error::fatal(Why::ours(
            Word::LlmBadHeader,
            [name, provider],
        )));
    };
    value.set_sensitive(true);
    map.insert(name, value);
    Ok(())
}

fn content_type(answer: &reqwest::Response) -> String {
    answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase()
}

/// The beginning of a body that is not an answer; as much of it as comes in good time.
async fn read_some(mut answer: reqwest::Response, cancel: &CancellationToken) -> Vec<u8> {
    let mut body = Vec::new();
    let deadline = Instant::now() + ERROR_BODY_TIME;
    while body.len() < MAX_ERROR_BYTES {
        tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            chunk = answer.chunk() => match chunk {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) | Err(_) => break,
            },
            () = tokio::time::sleep_until(deadline) => break,
        }
    }
    body.truncate(MAX_ERROR_BYTES);
    body
}

fn cancelled() -> Error {
    Error::fatal(Word::LlmInterrupted)
}
