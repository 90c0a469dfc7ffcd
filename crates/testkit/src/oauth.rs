//! An issuer of tokens on 127.0.0.1: browser and device logins, rotating refresh tokens that may be used once, revocation,
//! discovery, and faults. And the browser that goes with it.

use crate::captured::Captured;
use crate::server::WAIT;
use crate::server::http::{Wire, pair, read_request};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

pub const CLIENT_ID: &str = "ostler-test";
/// The code that a person would type in.
pub const USER_CODE: &str = "WDJB-MJHT";
const HUGE_BYTES: usize = 8 * 1024 * 1024;

/// The running issuer. Its threads end with the test.
pub struct Issuer {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

/// What an endpoint does instead of its work, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hitch {
    /// An error of the protocol, with status 400.
    Error(&'static str),
    /// Any status, with an empty body.
    Status(u16),
    /// A web page.
    Html,
    /// A body without end, nearly.
    Huge,
    /// Comes back with another state.
    WrongState,
    /// Comes back with an error in place of a code.
    Denied,
    /// No answer until [`Issuer::release`].
    Held,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

// tidy: plain data
#[derive(Default)]
struct State {
    url: String,
    life: Option<i64>,
    /// Whoever wants a token must know it.
    client_secret: Option<String>,
    count: usize,
    /// Code to challenge and redirect.
    codes: HashMap<String, (String, String)>,
    refresh: Vec<String>,
    spent: Vec<String>,
    access: Vec<String>,
    handed_out: Vec<String>,
    device: Option<Result<(), &'static str>>,
    hitches: Vec<(String, Hitch)>,
    held: bool,
    requests: Vec<Captured>,
}

impl Issuer {
    /// Panics when no port can be had: without one no test can run.
    pub fn start() -> Issuer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let addr = listener.local_addr().expect("the port's address");
        let shared = Arc::new(Shared::default());
        shared.lock().url = format!("http://{addr}");
        shared.lock().life = Some(3600);
        let ours = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = ours.clone();
                thread::spawn(move || shared.serve(&stream).is_ok());
            }
        });
        Issuer { addr, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The `oauth` table of a provider entry that ends the text before it. Every address is spelled out.
    pub fn table(&self) -> String {
        let url = self.url();
        format!(
            "\n[providers.oauth]\nclient_id = \"{CLIENT_ID}\"\nscopes = [\"models\", \"offline\"]\n\
             authorize_url = \"{url}/authorize\"\ntoken_url = \"{url}/token\"\n\
             device_url = \"{url}/device\"\nrevoke_url = \"{url}/revoke\"\n"
        )
    }

    /// The same for whoever wants a key.
    pub fn key_table(&self) -> String {
        let url = self.url();
        format!(
            "\n[providers.oauth]\nexchange = \"key\"\nauthorize_url = \"{url}/authorize\"\n\
             token_url = \"{url}/keys\"\n"
        )
    }

    /// How long tokens last from now on; none says nothing about it.
    pub fn life(&self, seconds: Option<i64>) {
        self.shared.lock().life = seconds;
    }

    /// Gives tokens only to a client that knows this.
    pub fn confidential(&self, secret: &str) {
        self.shared.lock().client_secret = Some(secret.into());
    }

    /// The next request to this path meets this.
    pub fn hitch(&self, path: &str, hitch: Hitch) {
        let mut state = self.shared.lock();
        state.held |= hitch == Hitch::Held;
        state.hitches.push((path.into(), hitch));
    }

    /// Lets what is held go on.
    pub fn release(&self) {
        self.shared.lock().held = false;
        self.shared.changed.notify_all();
    }

    /// The person has typed in the code, or refused.
    pub fn decide(&self, decision: Result<(), &'static str>) {
        self.shared.lock().device = Some(decision);
    }

    /// Makes every access token invalid that was handed out so far.
    pub fn invalidate(&self) {
        self.shared.lock().access.clear();
    }

    /// Whether a model server would take this `Authorization` header.
    pub fn accepts(&self, header: Option<&str>) -> bool {
        let token = header.and_then(|header| header.strip_prefix("Bearer "));
        token.is_some_and(|token| self.shared.lock().access.iter().any(|a| a == token))
    }

    /// Every token and code that was ever handed out: none may show anywhere.
    pub fn secrets(&self) -> Vec<String> {
        self.shared.lock().handed_out.clone()
    }

    /// The requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<Captured> {
        let state = self.shared.lock();
        let to_path = |r: &&Captured| r.path.split('?').next() == Some(path);
        state.requests.iter().filter(to_path).cloned().collect()
    }

    /// The forms of the requests to a path, as pairs.
    pub fn forms(&self, path: &str) -> Vec<HashMap<String, String>> {
        let form = |request: &Captured| pairs(&String::from_utf8_lossy(&request.raw));
        self.requests(path).iter().map(form).collect()
    }

    /// Waits until a path was asked for so often. Panics after [`WAIT`].
    #[track_caller]
    pub fn wait_for(&self, path: &str, count: usize) {
        let deadline = Instant::now() + WAIT;
        let mut state = self.shared.lock();
        while count_of(&state, path) < count {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited {WAIT:?} for {count} × {path}");
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn count_of(state: &State, path: &str) -> usize {
    let to_path = |r: &&Captured| r.path.split('?').next() == Some(path);
    state.requests.iter().filter(to_path).count()
}

/// Opens a page as a browser would, following redirects, and returns the last page's status line and text.
#[track_caller]
pub fn browse(url: &str) -> String {
    let mut url = url.to_owned();
    for _ in 0..5 {
        let page = get(&url).unwrap_or_else(|error| panic!("cannot open {url}: {error}"));
        match page.lines().find_map(|l| l.strip_prefix("location: ")) {
            Some(next) => url = next.trim().to_owned(),
            None => return page,
        }
    }
    panic!("redirects without end: {url}")
}

/// Where a page sends the browser.
#[track_caller]
pub fn redirect_of(url: &str) -> String {
    let page = get(url).unwrap_or_else(|error| panic!("cannot open {url}: {error}"));
    match page.lines().find_map(|l| l.strip_prefix("location: ")) {
        Some(next) => next.trim().to_owned(),
        None => panic!("{url} does not redirect: {page}"),
    }
}

fn get(url: &str) -> io::Result<String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(WAIT))?;
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn reply(status: u16, body: &Value) -> Reply {
    Reply {
        status,
        headers: vec![pair("content-type", "application/json")],
        body: body.to_string().into_bytes(),
    }
}

fn refusal(error: &str) -> Reply {
    reply(
        400,
        &json!({"error": error, "error_description": format!("mock: {error}")}),
    )
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request a connection, as an issuer is asked so rarely.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let Some(request) = read_request(&mut reader, stream)? else {
            return Ok(());
        };
        let reply = self.answer(request);
        let kind = reply.headers.first().map_or("", |(_, kind)| kind.as_str());
        let mut rest = reply.headers.get(1..).unwrap_or_default().to_vec();
        rest.push(pair("connection", "close"));
        Wire::new(stream).fixed(reply.status, kind, &rest, &reply.body)
    }

    fn answer(&self, request: Captured) -> Reply {
        let path = request
            .path
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        let query = request.path.split_once('?').map_or("", |(_, q)| q);
        let (query, form) = (pairs(query), pairs(&String::from_utf8_lossy(&request.raw)));
        let body = request.body.clone();
        let mut state = self.lock();
        state.requests.push(request);
        self.changed.notify_all();
        let at = state.hitches.iter().position(|(on, _)| *on == path);
        let hitch = at.map(|at| state.hitches.remove(at).1);
        if hitch == Some(Hitch::Held) {
            let held = self.changed.wait_while(state, |state| state.held);
            state = held.unwrap_or_else(PoisonError::into_inner);
        }
        match hitch {
            Some(Hitch::Error(error)) => return refusal(error),
            Some(Hitch::Status(status)) => {
                return Reply {
                    status,
                    headers: vec![pair("content-type", "text/plain")],
                    body: vec![],
                };
            }
            Some(Hitch::Html) => {
                return Reply {
                    status: 200,
                    headers: vec![pair("content-type", "text/html")],
                    body: b"<!doctype html><title>Welcome</title>".to_vec(),
                };
            }
            Some(Hitch::Huge) => {
                return Reply {
                    status: 200,
                    headers: vec![pair("content-type", "application/json")],
                    body: vec![b' '; HUGE_BYTES],
                };
            }
            Some(Hitch::WrongState | Hitch::Denied | Hitch::Held) | None => {}
        }
        match path.as_str() {
            "/authorize" => state.authorize(&query, hitch),
            "/token" => state.token(&form),
            "/keys" => state.key(&body),
            "/device" => state.device(),
            "/revoke" => state.revoke(&form),
            "/.well-known/openid-configuration" | "/.well-known/oauth-authorization-server" => {
                state.document()
            }
            "/register" => reply(201, &json!({"client_id": CLIENT_ID, "redirect_uris": []})),
            _ => reply(404, &json!({"error": "not_found"})),
        }
    }
}

impl State {
    fn secret(&mut self, what: &str) -> String {
        self.count += 1;
        let secret = format!("{what}-{:05}-do-not-show", self.count);
        self.handed_out.push(secret.clone());
        secret
    }

    fn authorize(&mut self, query: &HashMap<String, String>, hitch: Option<Hitch>) -> Reply {
        let get = |key: &str| query.get(key).cloned().unwrap_or_default();
        if let Some(back) = query.get("callback_url") {
            return self.authorize_key(back, get("code_challenge"));
        }
        let redirect = get("redirect_uri");
        let fits = get("client_id") == CLIENT_ID
            && get("response_type") == "code"
            && get("code_challenge_method") == "S256"
            && redirect.starts_with("http://127.0.0.1:");
        if !fits {
            return refusal("invalid_request");
        }
        let code = self.secret("code");
        self.codes
            .insert(code.clone(), (get("code_challenge"), redirect.clone()));
        let state = match hitch {
            Some(Hitch::WrongState) => "another".into(),
            _ => get("state"),
        };
        let end = match hitch {
            Some(Hitch::Denied) => "error=access_denied".to_owned(),
            _ => format!("code={code}"),
        };
        Reply {
            status: 302,
            headers: vec![
                pair("content-type", "text/plain"),
                pair("location", &format!("{redirect}?{end}&state={state}")),
            ],
            body: vec![],
        }
    }

    /// Comes back with a code that becomes a key.
    fn authorize_key(&mut self, back: &str, challenge: String) -> Reply {
        if !back.starts_with("http://localhost:") {
            return refusal("invalid_request");
        }
        let code = self.secret("code");
        self.codes
            .insert(code.clone(), (challenge, back.to_owned()));
        // The name may lead to another address first.
        let back = back.replacen("localhost", "127.0.0.1", 1);
        Reply {
            status: 302,
            headers: vec![
                pair("content-type", "text/plain"),
                pair("location", &format!("{back}&code={code}")),
            ],
            body: vec![],
        }
    }

    fn key(&mut self, body: &Value) -> Reply {
        let get = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let Some((challenge, _)) = self.codes.remove(&get("code")) else {
            return refusal("invalid_grant");
        };
        let hash = Sha256::digest(get("code_verifier").as_bytes());
        if URL_SAFE_NO_PAD.encode(hash) != challenge || get("code_challenge_method") != "S256" {
            return refusal("invalid_grant");
        }
        let key = self.secret("access");
        self.access.push(key.clone());
        reply(200, &json!({"key": key, "user_id": "u"}))
    }

    fn token(&mut self, form: &HashMap<String, String>) -> Reply {
        let get = |key: &str| form.get(key).cloned().unwrap_or_default();
        let secret = self.client_secret.clone().unwrap_or_default();
        if get("client_id") != CLIENT_ID || get("client_secret") != secret {
            return refusal("invalid_client");
        }
        match get("grant_type").as_str() {
            "authorization_code" => match self.codes.remove(&get("code")) {
                Some((challenge, redirect)) => {
                    let hash = Sha256::digest(get("code_verifier").as_bytes());
                    let fits = URL_SAFE_NO_PAD.encode(hash) == challenge;
                    match fits && redirect == get("redirect_uri") {
                        true => self.tokens(),
                        false => refusal("invalid_grant"),
                    }
                }
                None => refusal("invalid_grant"),
            },
            "refresh_token" => {
                let token = get("refresh_token");
                // A token that comes twice was stolen, so the whole family goes.
                if self.spent.contains(&token) {
                    self.refresh.clear();
                    self.access.clear();
                }
                match self.refresh.iter().position(|known| *known == token) {
                    Some(at) => {
                        self.refresh.remove(at);
                        self.spent.push(token);
                        self.tokens()
                    }
                    None => refusal("invalid_grant"),
                }
            }
            "urn:ietf:params:oauth:grant-type:device_code" => match self.device {
                None => refusal("authorization_pending"),
                Some(Ok(())) => self.tokens(),
                Some(Err(error)) => refusal(error),
            },
            _ => refusal("unsupported_grant_type"),
        }
    }

    fn tokens(&mut self) -> Reply {
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        self.access.push(access.clone());
        self.refresh.push(refresh.clone());
        let mut body =
            json!({"access_token": access, "token_type": "Bearer", "refresh_token": refresh});
        if let Some(life) = self.life {
            body["expires_in"] = life.into();
        }
        reply(200, &body)
    }

    fn device(&mut self) -> Reply {
        let code = self.secret("device");
        let page = format!("{}/activate", self.url);
        reply(
            200,
            &json!({"device_code": code, "user_code": USER_CODE, "verification_uri": page,
                "verification_uri_complete": format!("{page}?user_code={USER_CODE}"),
                "expires_in": 600, "interval": 1}),
        )
    }

    fn revoke(&mut self, form: &HashMap<String, String>) -> Reply {
        let token = form.get("token").cloned().unwrap_or_default();
        self.refresh.retain(|known| *known != token);
        self.access.clear();
        Reply {
            status: 200,
            headers: vec![pair("content-type", "text/plain")],
            body: vec![],
        }
    }

    fn document(&self) -> Reply {
        let url = &self.url;
        let method = match self.client_secret {
            Some(_) => "client_secret_post",
            None => "none",
        };
        reply(
            200,
            &json!({"issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "device_authorization_endpoint": format!("{url}/device"),
                "revocation_endpoint": format!("{url}/revoke"),
                "registration_endpoint": format!("{url}/register"),
                "response_types_supported": ["code"],
                "token_endpoint_auth_methods_supported": [method],
                "code_challenge_methods_supported": ["S256"]}),
        )
    }
}

/// `a=1&b=%20` as pairs.
fn pairs(text: &str) -> HashMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (decoded(key), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let pair: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = String::from_utf8_lossy(&pair).into_owned();
                u8::from_str_radix(&hex, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let found = pairs("a=1&scope=x+y%2Fz&b=&broken");
        let expect = [("a", "1"), ("scope", "x y/z"), ("b", "")];
        let expect = expect.map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(found, HashMap::from(expect));
    }

    #[test]
    fn a_spent_refresh_token_ends_the_family() {
        let mut state = State {
            refresh: vec!["one".into()],
            ..State::default()
        };
        let form = |token: &str| {
            let pairs = [
                ("client_id", CLIENT_ID),
                ("grant_type", "refresh_token"),
                ("refresh_token", token),
            ];
            pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        };
        assert_eq!(state.token(&form("one")).status, 200);
        assert_eq!((state.refresh.len(), state.access.len()), (1, 1));
        assert_eq!(state.token(&form("one")).status, 400);
        assert_eq!((state.refresh.len(), state.access.len()), (0, 0));
    }
}
