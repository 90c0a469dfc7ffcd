//! `cargo xtask bench --terminal`: the terminal UI on a terminal: how long until something is seen, how long keys take while
//! an answer streams, what it costs to do nothing. Linux only: the figures are read from `/proc`.

use super::past;
use super::table::{Bar, Table};
use anyhow::Context as _;
use ostler_testkit::{Kind, Place, Server, Step, TempWorkspace, Term};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const COMPOSER: &str = "Ask, or /help";
const LONGEST: Duration = Duration::from_secs(120);
const STARTS: usize = 15;
const KEYS: usize = 400;
const STOPS: usize = 30;
/// Two thousand pieces of text a second.
const PACE: Duration = Duration::from_micros(500);
const IDLE: Duration = Duration::from_secs(5);
const ENTRIES: usize = 10_000;

struct Stage {
    space: TempWorkspace,
    server: Server,
}

impl Stage {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let server = Server::builder().steps(steps).lenient().without_cache();
        let server = server.keep_bodies(1).start();
        let space = TempWorkspace::new();
        space.config(&server, Kind::Chat);
        Self { space, server }
    }

    fn start(&self, program: &Path, args: &[&str]) -> Term {
        let run = self.space.run(program).args(args).timeout(LONGEST);
        run.on_terminal(100, 30)
    }

    fn ready(&self, program: &Path, args: &[&str]) -> Term {
        let term = self.start(program, args);
        term.wait_written(0, COMPOSER);
        term
    }
}

pub fn measure(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    first_frame(program, table)?;
    keys(program, table);
    stops(program, table);
    paste(program, table)?;
    idle(program, table)?;
    long_session(program, table)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The share of the sorted values that is at most this.
fn share(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    values
        .get(at.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

fn first_frame(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::new([]);
    let (mut frames, mut versions) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut term = stage.start(program, &[]);
        term.wait_written(0, COMPOSER);
        frames.push(ms(started.elapsed()));
        term.keys("\x04");
        term.wait();
        let started = Instant::now();
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).status()?;
        versions.push(ms(started.elapsed()));
    }
    let reference = Some(share(&mut versions, 0.5));
    let ours = share(&mut frames, 0.5);
    table.add(
        "first frame (ms; reference: `--version`)",
        ours,
        reference,
        Bar::Over(30.0),
    );
    Ok(())
}

fn keys(program: &Path, table: &mut Table) {
    let words = (0..400_000).map(|n| format!("w{n} "));
    let stage = Stage::new([Step::answer().chunks(words).pace(PACE)]);
    let mut term = stage.ready(program, &[]);
    term.keys("go\r");
    term.wait_written(0, "w100");
    let mut took = Vec::new();
    let mut typed = String::new();
    for n in 0..KEYS {
        if typed.len() == 20 {
            term.keys("\x15");
            term.wait_written(term.written(), COMPOSER);
            typed.clear();
        }
        // A letter that no word of the answer has.
        let letter = ['x', 'y', 'z'][n % 3];
        typed.push(letter);
        let from = term.written();
        let at = Instant::now();
        term.keys(letter.encode_utf8(&mut [0; 4]));
        term.wait_written(from, &typed);
        took.push(ms(at.elapsed()));
        // Not always at the same moment of a frame.
        std::thread::sleep(Duration::from_micros(3_000 + 700 * (n as u64 % 11)));
    }
    table.add(
        "key to echo while 2,000 deltas/s stream, p50 (ms)",
        share(&mut took, 0.5),
        None,
        Bar::Most(5.0),
    );
    table.add(
        "the same, p99 (ms)",
        share(&mut took, 0.99),
        None,
        Bar::Most(5.0),
    );
}

fn stops(program: &Path, table: &mut Table) {
    let stage = Stage::new((0..STOPS).map(|n| {
        Step::answer()
            .text(&format!("begun-{n} and more"))
            .stall(Place::Text(1))
    }));
    let mut term = stage.ready(program, &[]);
    let mut took = Vec::new();
    for n in 0..STOPS {
        let from = term.written();
        term.keys(&format!("go {n}\r"));
        term.wait_written(from, &format!("begun-{n}"));
        let from = term.written();
        let at = Instant::now();
        term.keys("\x1b");
        term.wait_written(from, "Interrupted");
        took.push(ms(at.elapsed()));
    }
    drop(stage.server);
    table.add(
        "Esc to prompt, p99 (ms)",
        share(&mut took, 0.99),
        None,
        Bar::Most(200.0),
    );
}

fn paste(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::new([]);
    let mut term = stage.ready(program, &[]);
    let line = "0123456789 some words of a log that somebody pastes\n";
    let text = line.repeat((1 << 20) / line.len());
    let before = cpu(term.pid())?;
    let from = term.written();
    term.paste(&text);
    term.wait_written(from, "[pasted");
    let spent = cpu(term.pid())?.saturating_sub(before);
    table.add(
        "paste of 1 MB (ms of CPU)",
        ms(spent),
        None,
        Bar::Most(50.0),
    );
    Ok(())
}

fn idle(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::new([Step::answer().text("Hello.")]);
    let mut term = stage.ready(program, &[]);
    term.keys("hi\r");
    term.wait_for("Hello.");
    // Timers of what was just done run out.
    std::thread::sleep(IDLE);
    let (woken, written) = (switches(term.pid())?, term.written());
    std::thread::sleep(IDLE);
    let woken = switches(term.pid())?.saturating_sub(woken) as f64 / IDLE.as_secs_f64();
    table.add("wake-ups a second when idle", woken, None, Bar::Most(0.0));
    let written = (term.written() - written) as f64;
    table.add("bytes written when idle", written, None, Bar::Most(0.0));
    table.add(
        "memory when idle (MB)",
        memory(term.pid())?,
        None,
        Bar::Most(40.0),
    );
    Ok(())
}

fn long_session(program: &Path, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::new(["One.", "Two."].map(|text| Step::answer().text(text)));
    let run = stage.space.run(program).args(["exec", "-p", "begin"]);
    run.output().ok();
    past::grow(stage.space.home(), ENTRIES)?;
    let mut term = stage.ready(program, &["resume"]);
    term.keys("go on\r");
    term.wait_for("Two.");
    let what = format!("memory after {ENTRIES} entries (MB)");
    table.add(&what, memory(term.pid())?, None, Bar::Most(80.0));
    Ok(())
}

/// A file of each thread; one may end while they are looked at.
fn threads(pid: u32, file: &str) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        texts.extend(fs::read_to_string(task?.path().join(file)).ok());
    }
    anyhow::ensure!(!texts.is_empty(), "process {pid} has ended");
    Ok(texts)
}

/// Time of all threads on a processor.
fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let mut nanos = 0;
    for text in threads(pid, "schedstat")? {
        let first = text.split_whitespace().next().context("no schedstat")?;
        nanos += first.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// How often all threads went to sleep by themselves, which is how often they were woken.
fn switches(pid: u32) -> anyhow::Result<u64> {
    let mut count = 0;
    for text in threads(pid, "status")? {
        count += field(&text, "voluntary_ctxt_switches:")?;
    }
    Ok(count)
}

fn memory(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(field(&text, "VmRSS:")? as f64 / 1024.0)
}

fn field(text: &str, name: &str) -> anyhow::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.with_context(|| format!("no {name}"))?.parse()?)
}
