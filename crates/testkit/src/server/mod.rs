//! A vendor's server on 127.0.0.1: four protocols, scripted answers, captured requests, faults.
//! A thread per connection and nothing but std, so that it starts in no time and adds none.

mod chat;
mod fault;
mod gemini;
pub(crate) mod http;
mod messages;
mod reply;
mod responses;
mod routes;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod validate;

use crate::Kind;
use crate::captured::{Captured, Fate};
use crate::script::Step;
use fault::Played;
use http::{pair, read_request};
use routes::Route;
use state::{Log, State, lock};
use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long `wait_for` and its kin wait before they fail the test.
pub const WAIT: Duration = Duration::from_secs(20);
/// Requests whose bodies are kept, unless the builder says otherwise.
const KEPT_BODIES: usize = 512;
const IN_BUFFER_BYTES: usize = 64 * 1024;

type Answering = dyn Fn(&Captured) -> Step + Send + Sync;

/// The running server. Dropping it closes every connection, and fails the test when a request was
/// refused as invalid or came unexpected (see [`Server::forgive`]).
pub struct Server {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

/// Settings before the start.
pub struct Builder {
    script: Script,
    options: Options,
}

struct Options {
    validate: bool,
    simulate_cache: bool,
    keep_bodies: usize,
    key: Option<String>,
    models: Vec<String>,
}

enum Script {
    Steps(VecDeque<Step>),
    Answering(Arc<Answering>),
}

impl Builder {
    /// The answers, in the order of the requests.
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Builder {
        self.script = Script::Steps(steps.into_iter().collect());
        self
    }

    /// Chooses the answer by the request.
    pub fn answering(
        mut self,
        answer: impl Fn(&Captured) -> Step + Send + Sync + 'static,
    ) -> Builder {
        self.script = Script::Answering(Arc::new(answer));
        self
    }

    /// Takes any request, valid or not.
    pub fn lenient(mut self) -> Builder {
        self.options.validate = false;
        self
    }

    /// Reports no cached tokens.
    pub fn without_cache(mut self) -> Builder {
        self.options.simulate_cache = false;
        self
    }

    /// Keeps the bodies of the last `n` requests only; the older ones keep path, headers and times.
    pub fn keep_bodies(mut self, n: usize) -> Builder {
        self.options.keep_bodies = n;
        self
    }

    /// Refuses any other key, as the vendor would.
    pub fn require_key(mut self, key: &str) -> Builder {
        self.options.key = Some(key.into());
        self
    }

    /// What the model lists show.
    pub fn models<'a>(mut self, models: impl IntoIterator<Item = &'a str>) -> Builder {
        self.options.models = models.into_iter().map(String::from).collect();
        self
    }

    /// Panics when no port can be had: without one no test can run.
    pub fn start(self) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let addr = listener.local_addr().expect("the port's address");
        let state = Arc::new(State {
            options: self.options,
            script: Mutex::new(self.script),
            log: Mutex::default(),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let shared = state.clone();
        let accepting = thread::spawn(move || accept(&listener, &shared));
        Server {
            addr,
            state,
            accepting: Some(accepting),
        }
    }
}

impl Server {
    pub fn builder() -> Builder {
        Builder {
            script: Script::Steps(VecDeque::new()),
            options: Options {
                validate: true,
                simulate_cache: true,
                keep_bodies: KEPT_BODIES,
                key: None,
                models: vec!["mock-model".into()],
            },
        }
    }

    pub fn start(steps: impl IntoIterator<Item = Step>) -> Server {
        Server::builder().steps(steps).start()
    }

    pub fn answering(answer: impl Fn(&Captured) -> Step + Send + Sync + 'static) -> Server {
        Server::builder().answering(answer).start()
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The `base_url` of a provider of this kind.
    pub fn base_url_for(&self, kind: Kind) -> String {
        self.url() + kind.base_path()
    }

    /// The model requests so far, refused ones included.
    pub fn requests(&self) -> Vec<Captured> {
        self.log().requests.clone()
    }

    /// The `n`th model request. Panics when there are fewer.
    #[track_caller]
    pub fn request(&self, n: usize) -> Captured {
        let log = self.log();
        match log.requests.get(n) {
            Some(request) => request.clone(),
            None => panic!("no request {n}: there were {}", log.requests.len()),
        }
    }

    /// Requests to routes and model lists.
    pub fn other_requests(&self) -> Vec<Captured> {
        self.log().others.clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.log().connections
    }

    /// One more step at the end of the script.
    #[track_caller]
    pub fn push(&self, step: Step) {
        match &mut *lock(&self.state.script) {
            Script::Steps(steps) => steps.push_back(step),
            Script::Answering(_) => panic!("push() needs a server with steps"),
        }
    }

    /// Answers `path` (with or without its query) with this, whatever the method.
    pub fn route(
        &self,
        path: &str,
        status: u16,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) {
        let route = Route {
            status,
            headers: headers.iter().map(|(k, v)| pair(k, v)).collect(),
            body: body.into(),
        };
        self.log().routes.insert(path.into(), route);
    }

    /// Waits for the `n`th model request (counted from one) and returns all of them.
    #[track_caller]
    pub fn wait_for(&self, n: usize) -> Vec<Captured> {
        let enough = |requests: &[Captured]| requests.len() >= n;
        self.wait_until(&format!("{n} requests"), enough)
    }

    /// Waits until the client has abandoned the `n`th request (counted from zero).
    #[track_caller]
    pub fn wait_gone(&self, n: usize) {
        let gone = |requests: &[Captured]| {
            let fate = requests.get(n).map(|r| r.fate);
            matches!(fate, Some(Fate::Gone(_)))
        };
        self.wait_until(&format!("the client to drop request {n}"), gone);
    }

    /// Waits until `ready` holds for the model requests. Panics after [`WAIT`].
    #[track_caller]
    pub fn wait_until(&self, what: &str, ready: impl Fn(&[Captured]) -> bool) -> Vec<Captured> {
        let deadline = Instant::now() + WAIT;
        let mut log = self.log();
        while !ready(&log.requests) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let count = log.requests.len();
                drop(log);
                panic!("waited {WAIT:?} for {what}; there were {count} requests");
            }
            let waited = self.state.changed.wait_timeout(log, left);
            log = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        log.requests.clone()
    }

    /// What went wrong so far: invalid requests, requests the script did not expect.
    pub fn problems(&self) -> Vec<String> {
        self.log().problems.clone()
    }

    /// Takes the problems away, for a test that provoked them.
    pub fn forgive(&self) -> Vec<String> {
        std::mem::take(&mut self.log().problems)
    }

    /// Panics when steps are left or problems were met.
    #[track_caller]
    pub fn assert_done(&self) {
        let left = match &*lock(&self.state.script) {
            Script::Steps(steps) => steps.len(),
            Script::Answering(_) => 0,
        };
        let problems = self.forgive();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert!(left == 0, "{left} steps were never asked for");
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.state.log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::SeqCst);
        // The accept loop looks at the flag once a connection comes in.
        let _ = TcpStream::connect(self.addr);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let (open, problems) = {
            let mut log = self.log();
            let problems = std::mem::take(&mut log.problems);
            (std::mem::take(&mut log.open), problems)
        };
        for sock in open.values() {
            let _ = sock.shutdown(Shutdown::Both);
        }
        if !problems.is_empty() && !thread::panicking() {
            panic!("mock server: {}", problems.join("\n"));
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    for sock in listener.incoming() {
        if state.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(sock) = sock else { continue };
        let id = {
            let mut log = lock(&state.log);
            log.connections += 1;
            let id = log.connections;
            if let Ok(twin) = sock.try_clone() {
                log.open.insert(id, twin);
            }
            id
        };
        let state = state.clone();
        thread::spawn(move || {
            // An error here is a client that went away, which the request's fate records.
            let _ = serve(&sock, &state);
            lock(&state.log).open.remove(&id);
            let _ = sock.shutdown(Shutdown::Both);
        });
    }
}

fn serve(sock: &TcpStream, state: &State) -> io::Result<()> {
    sock.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(IN_BUFFER_BYTES, sock.try_clone()?);
    while let Some(request) = read_request(&mut reader, sock)? {
        let close = request
            .header("connection")
            .is_some_and(|v| v.eq_ignore_ascii_case("close"));
        let played = match request.kind().filter(|_| request.method == "POST") {
            Some(kind) => state.answer(kind, request, sock),
            None => state.other(request, sock)?,
        };
        if close || played != Played::Whole {
            break;
        }
    }
    Ok(())
}
