//! The crash suite: a log that is cut or garbled at any byte, and a process that is killed at any moment, cost at most what
//! nobody had been shown, and the session goes on. The log comes from a real run, the processes are the real binary.
#![cfg(unix)]

mod common;

use common::{Scene, each_kind, logs, wait_for};
use ostler_engine::log::{self, Damage, Log, LogError};
use ostler_testkit::{
    Captured, Kind, Output, Run, Running, Server, Step, TempWorkspace, config_text, json_lines,
    only,
};
use ostler_wire::{Body, Entry, Notice};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const GO_ON: &str = "What happened?";

/// A short session of thoughts, words, parallel calls, a writer, a list and an error.
fn steps(pace: Duration) -> Vec<Step> {
    let steps = [
        Step::answer()
            .reasoning("Look before you leap.")
            .text("Reading. ")
            .calls([
                ("read_file", json!({"path": "a.txt"})),
                ("bash", json!({"command": "sleep 0.03; echo one"})),
            ]),
        Step::answer().reasoning("Write.").calls([
            ("write_file", json!({"path": "b.txt", "content": "größe\n"})),
            ("bash", json!({"command": "sleep 0.03 && echo two >c.txt"})),
            (
                "todo",
                json!({"items": [{"text": "end", "state": "pending"}]}),
            ),
        ]),
        Step::answer().call("read_file", json!({"path": "missing"})),
        Step::answer().text("All of it is done now."),
    ];
    steps.map(|step| step.pace(pace)).to_vec()
}

/// The shortest that holds everything: what is tried at each of its bytes takes time.
fn short() -> Vec<Step> {
    let call = Step::answer().reasoning("Look.").text("Now. ").calls([
        ("bash", json!({"command": "echo größe"})),
        ("todo", json!({"items": [{"text": "end", "state": "done"}]})),
    ]);
    vec![call, Step::answer().text("Done.")]
}

fn notice(text: &str) -> Body {
    Body::Notice(Notice { text: text.into() })
}

/// The log of a real run.
struct Recorded {
    scene: Scene,
    path: PathBuf,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Where each line lies, without its end.
    lines: Vec<Range<usize>>,
}

impl Recorded {
    fn new(kind: Kind, steps: Vec<Step>) -> Self {
        let scene = Scene::new(kind, steps);
        scene.space.write("a.txt", "one\ntwo\n");
        scene.exec("go").ok();
        scene.server.assert_done();
        let path = scene.log_path();
        let bytes = std::fs::read(&path).expect("the log");
        let (entries, damage) = log::read(&path).expect("entries");
        assert_eq!(damage, Damage::default());
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'\n')
            .map(|(at, _)| at);
        let mut start = 0;
        let lines = ends
            .map(|end| std::mem::replace(&mut start, end + 1)..end)
            .collect();
        Self {
            scene,
            path,
            bytes,
            entries,
            lines,
        }
    }

    /// The line that a byte belongs to; its end belongs to it.
    fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.end < at)
    }
}

/// Somewhere to put a log that nobody else has.
struct Spot(tempfile::TempDir);

impl Spot {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("log.jsonl")
    }

    fn open(&self, bytes: &[u8]) -> (Log, Vec<Entry>, Damage) {
        std::fs::write(self.path(), bytes).expect("a file");
        reopen(&self.path())
    }
}

/// Opens a log. Any log opens; only what another test has forked and not yet turned into a program may hold its lock.
#[track_caller]
fn reopen(path: &Path) -> (Log, Vec<Entry>, Damage) {
    wait_for("the log's lock", || match Log::open(path) {
        Ok(opened) => Some(opened),
        Err(LogError::Locked { .. }) => None,
        Err(LogError::Io { source, .. }) => panic!("{}: {source}", path.display()),
    })
}

/// What was written after the damage can be read, and what was there is still there.
#[track_caller]
fn check_append(
    spot: &Spot,
    mut log: Log,
    before: &[Entry],
    bytes: &[u8],
    what: impl Fn() -> String,
) {
    let added = log
        .append(vec![notice("after the crash"), notice("and on")])
        .expect("an append");
    let now = std::fs::read(spot.path()).expect("the file");
    assert!(now.starts_with(bytes), "{}: the log was rewritten", what());
    let (entries, _) = log::read(&spot.path()).expect("entries");
    let expect = before.iter().chain(added.iter().map(|e| &**e));
    assert!(entries.iter().eq(expect), "{}: {entries:#?}", what());
}

/// Spreads the numbers over two threads.
fn in_halves(count: usize, check: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let check = &check;
        let halves =
            [0, 1].map(|from| scope.spawn(move || (from..count).step_by(2).for_each(check)));
        for half in halves {
            half.join().expect("all checks hold");
        }
    });
}

// Invariant 9.
#[test]
fn a_log_cut_at_any_byte_keeps_every_whole_line() {
    each_kind(|kind| {
        let recorded = Recorded::new(kind, short());
        let spot = Spot::new();
        for cut in 0..=recorded.bytes.len() {
            let bytes = &recorded.bytes[..cut];
            // A line that only lacks its end is whole.
            let whole = recorded.lines.iter().filter(|line| line.end <= cut).count();
            let torn = recorded
                .lines
                .get(whole)
                .is_some_and(|line| line.start < cut);
            let (log, entries, damage) = spot.open(bytes);
            assert_eq!(damage, Damage { bad_lines: 0, torn }, "cut at {cut}");
            assert!(
                entries == recorded.entries[..whole],
                "cut at {cut}: {entries:#?}"
            );
            check_append(&spot, log, &entries, bytes, || format!("cut at {cut}"));
        }
    });
}

/// The digits of a line's `parent`: another number there is a line that follows another one, and nothing tells.
fn parent_digits(line: &str) -> Range<usize> {
    let Some(start) = line.find("\"parent\":").map(|at| at + "\"parent\":".len()) else {
        return 0..0;
    };
    let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    start..start + digits
}

#[test]
fn a_log_garbled_at_any_byte_loses_that_line_at_most() {
    let recorded = Recorded::new(Kind::Messages, short());
    let (all, count) = (&recorded.entries, recorded.entries.len());
    let spots = [Spot::new(), Spot::new()];
    in_halves(recorded.bytes.len(), |at| {
        let line = recorded.line_at(at);
        let place = &recorded.lines[line];
        let text = std::str::from_utf8(&recorded.bytes[place.clone()]).expect("a line");
        let is_end = at == place.end;
        for garbage in [recorded.bytes[at] ^ 1, recorded.bytes[at] ^ 0x10, 0, 0xff] {
            let mut bytes = recorded.bytes.clone();
            bytes[at] = garbage;
            let what = || format!("byte {at} of {text:?} became {garbage:#x}");
            let spot = &spots[at % 2];
            let (log, entries, damage) = spot.open(&bytes);
            // Without its end a line takes the next one with it, except that nothing is lost to padding.
            let lost = match (is_end, garbage) {
                (true, 0) => 0,
                (true, _) => 2.min(count - line),
                (false, _) => 1,
            };
            assert!(
                (count - lost..=count).contains(&entries.len()),
                "{}: {entries:#?}",
                what()
            );
            assert!(entries[..line] == all[..line], "{}", what());
            let after = count - line - lost;
            assert!(
                entries[entries.len() - after..] == all[count - after..],
                "{}",
                what()
            );
            // Padding in the middle makes two pieces of a line.
            assert!(damage.bad_lines <= 2, "{}: {damage:?}", what());
            // What is still JSON may be of a later version; anything else that is lost is told.
            let is_json = serde_json::from_slice::<Value>(&bytes[place.clone()]).is_ok();
            assert!(
                damage != Damage::default() || entries.len() == count || is_json,
                "{}",
                what()
            );
            let branch = log::branch(entries.clone());
            if !parent_digits(text).contains(&(at - place.start)) {
                let kept =
                    branch.starts_with(&all[..line]) && branch.ends_with(&all[count - after..]);
                assert!(kept, "{}: {branch:#?}", what());
            }
            if at % 7 == 0 {
                check_append(spot, log, &entries, &bytes, what);
            }
        }
    });
}

#[test]
fn a_log_cut_at_any_line_is_resumed_with_a_request_that_the_vendor_takes() {
    each_kind(|kind| {
        let recorded = Recorded::new(kind, steps(Duration::ZERO));
        let Scene { space, .. } = &recorded.scene;
        // The same provider with another script: whatever it is asked, it is content.
        let server = Server::answering(|_| Step::answer().text("I see."));
        space.config(&server, kind);
        for (n, line) in recorded.lines.iter().enumerate() {
            let half = line.start + line.len() / 2;
            let cut = if n % 2 == 0 { half } else { line.end + 1 };
            space.write(&recorded.path, &recorded.bytes[..cut]);
            let id = recorded.scene.session_id();
            let out = recorded
                .scene
                .ostler(["resume", &id, "-p", GO_ON])
                .output()
                .ok();
            assert_eq!(out.stdout, "I see.\n", "{}: cut in line {n}", kind.name());
            let request = server.requests().pop().expect("a request");
            assert!(request.last_user_text().ends_with(GO_ON));
        }
        assert_eq!(server.problems(), [""; 0]);
    });
}

/// How many processes are killed.
const KILLS: usize = 200;
/// Killed at a time; they mostly wait.
const AT_ONCE: usize = 8;
const SEED: u64 = 0x5eed_0f05_71e4;
/// Waits after each frame, so that there is time to be killed in.
const PACE: Duration = Duration::from_millis(2);

/// The next number of a fixed sequence.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Answers by what the request already holds, so that any number of runs can share it.
fn forgetful(kind: Kind) -> Server {
    let server = Server::builder()
        .keep_bodies(64)
        .answering(move |request: &Captured| {
            let answers = steps(PACE);
            if request.last_user_text().ends_with(GO_ON) {
                return Step::answer().text("I see.");
            }
            // Two calls, then three, then one.
            let step = match request.tool_results().len() {
                0 => 0,
                2 => 1,
                5 => 2,
                _ => 3,
            };
            answers[step].clone()
        });
    let server = server.start();
    assert!(server.base_url_for(kind).starts_with("http://127.0.0.1"));
    server
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So many thousandths of a whole run after the start.
    Time(u64),
    /// So many microseconds after the entry with this number is out.
    Entry(u64, u64),
}

fn moment(n: usize) -> Moment {
    let mut state = SEED.wrapping_mul(n as u64 + 1);
    (0..4).for_each(|_| {
        random(&mut state);
    });
    let draw = random(&mut state);
    if n.is_multiple_of(2) {
        Moment::Time(draw % 1000)
    } else {
        Moment::Entry(draw % 25, (draw >> 32) % 8_000)
    }
}

/// What a process had come to when it was killed: the last thing of its log that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Reached {
    Nothing,
    Words,
    Calls,
    Results,
    End,
}

fn reached(entries: &[Entry]) -> Reached {
    let last = entries.iter().rev().find_map(|e| match &e.body {
        Body::Message(_) => Some(Reached::Words),
        Body::ToolUse(_) | Body::Usage(_) => Some(Reached::Calls),
        Body::ToolResult(_) => Some(Reached::Results),
        Body::TurnEnd(_) => Some(Reached::End),
        _ => None,
    });
    last.unwrap_or(Reached::Nothing)
}

fn exec(space: &TempWorkspace) -> Run {
    space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .args(["exec", "--format", "json", "-p", "go"])
}

fn workspace(server: &Server, kind: Kind) -> TempWorkspace {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), config_text(server, kind));
    space.write("a.txt", "one\ntwo\n");
    space
}

fn kill(running: Running, moment: Moment, whole: Duration) -> Output {
    let start = Instant::now();
    let at = match moment {
        Moment::Time(thousandths) => whole.mul_f64(thousandths as f64 / 1000.0),
        Moment::Entry(number, later) => {
            running.wait_stdout(&format!("\"entry\":{number},"));
            start.elapsed() + Duration::from_micros(later)
        }
    };
    // The moment is what is tested; there is nothing to wait for but the clock.
    thread::sleep(at.saturating_sub(start.elapsed()));
    // It may have ended by itself a moment ago.
    let pid = running.pid().to_string();
    let killed = Run::new("/bin/kill").args(["-KILL", &pid]).output();
    assert!(killed.code.is_some());
    running.wait()
}

/// The entries among the lines that were printed whole.
fn printed(out: &Output) -> Vec<&str> {
    let whole = out.stdout.rfind('\n').map_or("", |end| &out.stdout[..end]);
    let is_entry = |line: &&str| {
        let value: Value = serde_json::from_str(line).expect("a line of JSON");
        value["entry"].is_u64()
    };
    whole.lines().filter(is_entry).collect()
}

/// Kills one run and goes on with what it left.
fn check_killed(n: usize, server: &Server, kind: Kind, whole: Duration) -> Reached {
    let moment = moment(n);
    let what = format!(
        "seed {SEED:#x}, run {n}, {}, killed at {moment:?}",
        kind.name()
    );
    let space = workspace(server, kind);
    let out = kill(exec(&space).spawn(), moment, whole);
    let printed = printed(&out);
    let logs = logs(&space);
    let Some(path) = logs.first() else {
        assert!(
            printed.is_empty(),
            "{what}: shown, but not on disk: {printed:?}"
        );
        return Reached::Nothing;
    };
    let left = std::fs::read(path).expect("the log");
    let stored = String::from_utf8(left.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let lines: HashSet<&str> = stored.lines().collect();
    for line in printed {
        assert!(
            lines.contains(line),
            "{what}: shown, but not on disk: {line}\n{stored}"
        );
    }
    let (log, entries, damage) = reopen(path);
    assert_eq!(damage.bad_lines, 0, "{what}: {stored}");
    drop(log);
    check_resumed(&space, path, &left, &what);
    reached(&entries)
}

fn check_resumed(space: &TempWorkspace, path: &Path, left: &[u8], what: &str) {
    let id = path.file_stem().expect("an id").to_string_lossy();
    let resume = space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .args(["resume", &id, "-p", GO_ON]);
    let out = resume.output();
    assert!(
        out.code == Some(0) && out.stdout == "I see.\n",
        "{what}: {out:?}"
    );
    let now = std::fs::read(path).expect("the log");
    assert!(now.starts_with(left), "{what}: the log was rewritten");
    let (_, damage) = log::read(path).expect("entries");
    assert!(!damage.torn, "{what}");
}

#[test]
fn a_process_killed_at_any_moment_loses_nothing_that_was_shown() {
    let servers = Kind::ALL.map(|kind| (kind, forgetful(kind)));
    // How long a run takes here and now, so that the moments spread over all of it.
    let space = workspace(&servers[0].1, Kind::Chat);
    let out = exec(&space).output().ok();
    let lines = json_lines(&out.stdout);
    assert_eq!(only(&lines, "turn_end")["outcome"], "done");
    let (next, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let n @ 0..KILLS = next.fetch_add(1, Ordering::Relaxed) {
                    let (kind, server) = &servers[n % servers.len()];
                    let reached = check_killed(n, server, *kind, out.duration);
                    seen.lock().expect("a list").push(reached);
                }
            });
        }
    });
    for (kind, server) in &servers {
        assert_eq!(server.forgive(), [""; 0], "{}", kind.name());
    }
    let seen = seen.into_inner().expect("a list");
    let mut times: BTreeMap<Reached, usize> = BTreeMap::new();
    for reached in &seen {
        *times.entry(*reached).or_default() += 1;
    }
    // Past the capture of test output, for whoever wonders what was tried.
    let report = format!(
        "seed {SEED:#x}: runs of {:?} were killed at {times:?}",
        out.duration
    );
    let _ = writeln!(std::io::stderr(), "{report}");
    assert_eq!(seen.len(), KILLS);
    for stage in [Reached::Words, Reached::Calls, Reached::Results] {
        assert!(times.contains_key(&stage), "none at {stage:?}; {report}");
    }
}
