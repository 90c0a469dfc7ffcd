//! `cargo xtask bench --serve`: how fast `ostler serve` passes on what happens, and what it takes, beside a bare axum server
//! that echoes. Clients are threads with a socket each.

use super::echo::ECHO;
use super::memory::{Sampler, Sampling};
use super::table::{Bar, Table};
use super::{median, say};
use crate::web;
use anyhow::{Context as _, ensure};
use ostler_testkit::{Captured, Kind, Running, Server, Step, TempWorkspace, config_text};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TOKEN: &str = "a-token-for-measurements";
const WATCHING: usize = 50;
const STREAMING: usize = 200;
const BREAKING: usize = 20;
const LONGEST: Duration = Duration::from_secs(600);
const IDLE: Duration = Duration::from_secs(5);

pub struct Plan {
    pub turns: usize,
    /// Deltas of the busy sessions, one a millisecond.
    pub deltas: usize,
    pub breaks: usize,
}

pub fn measure(program: &Path, plan: &Plan, table: &mut Table) -> anyhow::Result<()> {
    say("a server with nobody there");
    idle(program, table)?;
    say("50 clients on one session");
    latency(program, plan, table)?;
    say("200 clients on busy sessions");
    busy(program, plan, table)?;
    say("links that break");
    breaks(program, plan, table)?;
    say("the page in a browser");
    match web::speed(program)? {
        None => println!("SKIPPED: no browser or no packages of the client"),
        Some(figures) => {
            let bars = [
                ("first load, KB compressed", 150.0),
                ("interactive, ms", 1000.0),
                ("10,000 entries open, ms", 300.0),
                ("longest task while scrolling, ms", 50.0),
                ("most nodes while scrolling", 3000.0),
            ];
            for (what, most) in bars {
                let figure = figures[what].as_f64().context("a figure is missing")?;
                table.add(what, figure, None, Bar::Most(most));
            }
        }
    }
    Ok(())
}

/// A server that runs, with a model that does what the prompt says.
struct Bench {
    running: Running,
    api: Api,
    _vendor: Server,
    _space: TempWorkspace,
}

fn answer(request: &Captured) -> Step {
    let text = request.last_user_text();
    let words = text
        .split_whitespace()
        .last()
        .and_then(|word| word.parse().ok());
    match words {
        Some(words) => Step::answer().words(words).pace(Duration::from_millis(1)),
        None => Step::answer().text("It is so."),
    }
}

impl Bench {
    fn start(program: &Path) -> anyhow::Result<Bench> {
        let vendor = Server::builder().answering(answer).lenient().keep_bodies(1);
        let vendor = vendor.start();
        let space = TempWorkspace::new();
        let config = config_text(&vendor, Kind::Chat);
        let config = format!("{config}[serve]\ntoken = '{TOKEN}'\n");
        space.write(space.home().join("config.toml"), config);
        let run = space.run(program).args(["serve", "--port", "0"]);
        let running = run.timeout(LONGEST).spawn();
        let line = running.wait_stdout("\n");
        let rest = line.trim().trim_start_matches("http://");
        let address = rest.split('/').next().unwrap_or_default();
        Ok(Bench {
            api: Api {
                address: address.parse().context("no address")?,
            },
            running,
            _vendor: vendor,
            _space: space,
        })
    }
}

/// Its API, from any thread.
#[derive(Clone, Copy)]
struct Api {
    address: SocketAddr,
}

impl Api {
    fn ask(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let bytes = request(self.address, method, path, &body.to_string())?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn session(&self) -> anyhow::Result<String> {
        let projects = self.ask("GET", "/api/projects", &Value::Null)?;
        let project = &projects["projects"][0]["id"];
        let opened = self.ask(
            "POST",
            "/api/sessions",
            &json!({"project": project, "open": "new"}),
        )?;
        Ok(opened["id"].as_str().context("no session")?.to_owned())
    }

    fn say(&self, session: &str, text: &str) -> anyhow::Result<()> {
        let path = format!("/api/sessions/{session}/ops");
        self.ask("POST", &path, &json!({"op": "prompt", "text": text}))?;
        Ok(())
    }

    /// The numbers of all entries.
    fn log(&self, session: &str) -> anyhow::Result<Vec<u64>> {
        let path = format!("/api/sessions/{session}/export?format=jsonl");
        let bytes = request(self.address, "GET", &path, "")?;
        let lines = String::from_utf8_lossy(&bytes).into_owned();
        let lines = lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(lines.filter_map(|line| line["entry"].as_u64()).collect())
    }

    fn wait_turns(&self, session: &str, turns: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (path, mut seen) = (format!("/api/sessions/{session}/export?format=jsonl"), 0);
        while seen < turns {
            ensure!(begun.elapsed() < LONGEST, "the turns do not end");
            thread::sleep(Duration::from_millis(20));
            let bytes = request(self.address, "GET", &path, "")?;
            seen = String::from_utf8_lossy(&bytes)
                .matches("\"type\":\"turn_end\"")
                .count();
        }
        Ok(())
    }
}

/// One request with a connection of its own; the body of its answer.
fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
    let mut socket = connect(address, method, path, body)?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let head = String::from_utf8_lossy(&answer[..at.context("no head")?]).to_lowercase();
    let body = answer.split_off(at.unwrap_or_default() + 4);
    ensure!(head.starts_with("http/1.1 2"), "{method} {path}: {head}");
    Ok(match head.contains("transfer-encoding: chunked") {
        true => unchunked(&body),
        false => body,
    })
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).ok();
        let size = size
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .unwrap_or(0);
        let Some(piece) = bytes.get(at + 2..at + 2 + size).filter(|_| size > 0) else {
            break;
        };
        out.extend_from_slice(piece);
        bytes = bytes.get(at + 4 + size..).unwrap_or_default();
    }
    out
}

fn connect(address: SocketAddr, method: &str, path: &str, body: &str) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let (ending, length) = (
        if path.contains("/events") {
            "keep-alive"
        } else {
            "close"
        },
        body.len(),
    );
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nconnection: {ending}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(head.as_bytes())?;
    Ok(socket)
}

/// What a client has seen of a stream.
#[derive(Default)]
struct Seen {
    entries: Vec<u64>,
    /// Milliseconds from the time in an entry to its arrival.
    late: Vec<f64>,
    writes: usize,
}

/// Reads a stream until `stop`, or until its socket has been silent for `patience`.
fn follow(socket: TcpStream, patience: Duration, stop: &AtomicBool, seen: &mut Seen) {
    // A socket that ended meanwhile has nothing to set.
    let _ = socket.set_read_timeout(Some(patience));
    let mut reader = BufReader::with_capacity(64 << 10, socket);
    let (mut line, mut number) = (String::new(), None);
    while !stop.load(Ordering::Relaxed) {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(1..) => {}
            Ok(_) | Err(_) => return,
        }
        if let Some(id) = line.strip_prefix("id: ") {
            number = id.trim().parse().ok();
        } else if let Some(data) = line.strip_prefix("data: ") {
            if let Some(number) = number.take() {
                seen.entries.push(number);
                seen.late.extend(time_in(data).map(|at| now_ms() - at));
            }
        } else if !line.starts_with(['e', ':', '\r', '\n']) || is_size(&line) {
            seen.writes += usize::from(is_size(&line));
        }
    }
}

/// The size of a chunk, which is one write of the server.
fn is_size(line: &str) -> bool {
    line.len() < 12 && u64::from_str_radix(line.trim(), 16).is_ok()
}

fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64() * 1000.0
}

/// The time of day in `"ts":"2026-11-19T14:58:57.553Z"`, as milliseconds of the day that it is.
fn time_in(data: &str) -> Option<f64> {
    let text = data.split_once("\"ts\":\"")?.1.get(..24)?;
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<f64>().ok();
    let of_day = (part(11, 13)? * 3600.0 + part(14, 16)? * 60.0 + part(17, 23)?) * 1000.0;
    let day = 86_400_000.0;
    Some((now_ms() / day).floor() * day + of_day)
}

fn p99(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len().saturating_sub(1) * 99 / 100)
        .copied()
        .unwrap_or(0.0)
}

/// Clients on one stream while `act` makes things happen; what each has seen.
fn watched(
    (address, path): (SocketAddr, &str),
    clients: usize,
    act: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Seen>> {
    let (stop, there) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut threads = Vec::new();
    for _ in 0..clients {
        let (path, stop, there) = (path.to_owned(), stop.clone(), there.clone());
        threads.push(thread::spawn(move || -> anyhow::Result<Seen> {
            let socket = connect(address, "GET", &path, "")?;
            there.fetch_add(1, Ordering::Relaxed);
            let mut seen = Seen::default();
            follow(socket, Duration::from_secs(2), &stop, &mut seen);
            Ok(seen)
        }));
    }
    while there.load(Ordering::Relaxed) < clients {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(300));
    act()?;
    thread::sleep(Duration::from_millis(500));
    stop.store(true, Ordering::Relaxed);
    let joined = threads.into_iter().map(|one| one.join());
    joined
        .map(|seen| seen.unwrap_or_else(|_| anyhow::bail!("a client failed")))
        .collect()
}

fn latency(program: &Path, plan: &Plan, table: &mut Table) -> anyhow::Result<()> {
    let bench = Bench::start(program)?;
    let api = bench.api;
    let session = api.session()?;
    api.say(&session, "begin")?;
    api.wait_turns(&session, 1)?;
    let head = api.log(&session)?.last().copied().unwrap_or_default();
    let path = format!("/api/sessions/{session}/events?after={head}");
    let seen = watched((api.address, &path), WATCHING, || {
        for _ in 0..plan.turns {
            api.say(&session, "go on")?;
            thread::sleep(Duration::from_millis(25));
        }
        api.wait_turns(&session, plan.turns + 1)
    })?;
    let expected: Vec<u64> = api
        .log(&session)?
        .into_iter()
        .filter(|n| *n > head)
        .collect();
    ensure!(
        seen.iter().all(|one| one.entries == expected),
        "a client missed entries"
    );
    let ours: Vec<f64> = seen.into_iter().flat_map(|one| one.late).collect();
    let echo = echoed(plan.turns * 4)?;
    table.add(
        "entry to 50 clients, median, ms",
        median(ours.clone()),
        Some(median(echo.clone())),
        Bar::Most(10.0),
    );
    table.add(
        "entry to 50 clients, p99, ms",
        p99(ours),
        Some(p99(echo)),
        Bar::Most(10.0),
    );
    Ok(())
}

/// The same with a server that only echoes.
fn echoed(messages: usize) -> anyhow::Result<Vec<f64>> {
    let mut echo = std::process::Command::new(std::env::current_exe()?)
        .arg(ECHO)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(echo.stdout.take().context("no output")?).read_line(&mut line)?;
    let address: SocketAddr = line.trim().parse()?;
    let seen = watched((address, "/events"), WATCHING, || {
        for _ in 0..messages {
            let of_day = now_ms() % 86_400_000.0 / 1000.0;
            let (hours, rest) = (of_day / 3600.0, of_day % 3600.0);
            let ts = format!(
                "2026-01-01T{:02}:{:02}:{:06.3}Z",
                hours as u64,
                (rest / 60.0) as u64,
                rest % 60.0
            );
            request(address, "POST", "/say", &json!({ "ts": ts }).to_string())?;
            thread::sleep(Duration::from_millis(6));
        }
        Ok(())
    });
    // It ends with its input.
    drop(echo.stdin.take());
    let _ = echo.wait();
    Ok(seen?.into_iter().flat_map(|one| one.late).collect())
}

fn busy(program: &Path, plan: &Plan, table: &mut Table) -> anyhow::Result<()> {
    let bench = Bench::start(program)?;
    let api = bench.api;
    let memory = Sampler::start(
        bench.running.pid(),
        Sampling::Every(Duration::from_millis(200)),
    );
    let begun = Instant::now();
    let sessions = [api.session()?, api.session()?];
    let seen = thread::scope(|scope| {
        let watch = |session: String| {
            let path = format!("/api/sessions/{session}/events");
            let seen = watched((api.address, &path), STREAMING / 2, || {
                api.say(&session, &format!("words {}", plan.deltas))?;
                api.wait_turns(&session, 1)
            })?;
            anyhow::Ok((api.log(&session)?, seen))
        };
        let all = sessions.map(|session| scope.spawn(move || watch(session)));
        all.map(|one| {
            one.join()
                .unwrap_or_else(|_| anyhow::bail!("a client failed"))
        })
    });
    let seconds = begun.elapsed().as_secs_f64();
    let mut writes = Vec::new();
    for one in seen {
        let (log, clients) = one?;
        ensure!(
            clients.iter().all(|seen| seen.entries == log),
            "a client missed entries"
        );
        writes.extend(clients.iter().map(|seen| seen.writes as f64 / seconds));
    }
    let peak = memory.peak_kb() as f64 / 1024.0;
    table.add(
        "200 clients, 2 sessions of 1,000 events/s: peak, MB",
        peak,
        None,
        Bar::Most(80.0),
    );
    table.add(
        "writes a second and client, most",
        writes.into_iter().fold(0.0, f64::max),
        None,
        Bar::Most(200.0),
    );
    Ok(())
}

fn breaks(program: &Path, plan: &Plan, table: &mut Table) -> anyhow::Result<()> {
    let bench = Bench::start(program)?;
    let api = bench.api;
    let session = api.session()?;
    api.say(&session, "begin")?;
    api.wait_turns(&session, 1)?;
    let (left, never) = (AtomicUsize::new(plan.breaks), AtomicBool::new(false));
    let (session, left, never) = (session.as_str(), &left, &never);
    let client = |number: usize| {
        let mut seen = Seen::default();
        let mut state = 0x9E37_79B9_u64 + number as u64;
        while left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_ok()
        {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let socket = resumed(api, session, &seen)?;
            follow(
                socket,
                Duration::from_millis(1 + state % 8),
                never,
                &mut seen,
            );
        }
        anyhow::Ok(seen)
    };
    let seen = thread::scope(|scope| -> anyhow::Result<Vec<Seen>> {
        let clients: Vec<_> = (0..BREAKING)
            .map(|n| scope.spawn(move || client(n)))
            .collect();
        let mut turns = 1;
        while left.load(Ordering::Relaxed) > 0 {
            api.say(session, "words 20")?;
            turns += 1;
            api.wait_turns(session, turns)?;
        }
        let joined = clients.into_iter().map(|one| one.join());
        joined
            .map(|seen| seen.unwrap_or_else(|_| anyhow::bail!("a client failed")))
            .collect()
    })?;
    let log = api.log(session)?;
    let mut wrong = 0;
    for mut one in seen {
        let socket = resumed(api, session, &one)?;
        follow(socket, Duration::from_secs(1), never, &mut one);
        wrong += usize::from(one.entries != log);
    }
    let what = format!(
        "clients of {BREAKING} that missed or repeated an entry over {} breaks",
        plan.breaks
    );
    table.add(&what, wrong as f64, None, Bar::Most(0.0));
    Ok(())
}

fn resumed(api: Api, session: &str, seen: &Seen) -> anyhow::Result<TcpStream> {
    let after = seen.entries.last().map(|last| format!("?after={last}"));
    let path = format!(
        "/api/sessions/{session}/events{}",
        after.unwrap_or_default()
    );
    connect(api.address, "GET", &path, "")
}

fn idle(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    let bench = Bench::start(program)?;
    thread::sleep(Duration::from_secs(1));
    let pid = bench.running.pid();
    let wakes = || -> u64 {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        let counts = status.filter_map(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        });
        counts.sum()
    };
    let memory = Sampler::start(pid, Sampling::Every(Duration::from_millis(100)));
    let before = wakes();
    thread::sleep(IDLE);
    let woken = wakes().saturating_sub(before);
    table.add(
        "nobody there: memory, MB",
        memory.peak_kb() as f64 / 1024.0,
        None,
        Bar::Most(25.0),
    );
    table.add(
        "nobody there: wake-ups in 5 s",
        woken as f64,
        None,
        Bar::Most(0.0),
    );
    Ok(())
}
