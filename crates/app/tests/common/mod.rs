//! Shared by the black-box tests: a scripted vendor, a throw-away workspace and the real binary between them.

#![allow(dead_code, reason = "every test file uses its own part of this")]

#[cfg(unix)]
pub mod shell;

use ostler_testkit::{
    Kind, Output, Run, Running, Server, Step, TempWorkspace, config_text, json_lines,
};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Answers a question of the terminal UI, once it takes an answer.
#[cfg(unix)]
#[track_caller]
pub fn answer(term: &mut ostler_testkit::Term, keys: &str) {
    term.wait_until("a question that takes an answer", |screen| {
        let mut rows = screen.lines();
        rows.any(|row| row.starts_with("key or ↑↓ enter · ") || row.starts_with("↑↓ space mark · "))
    });
    term.keys(keys);
}

/// One vendor, one home, one project.
pub struct Scene {
    pub kind: Kind,
    pub server: Server,
    pub space: TempWorkspace,
}

impl Scene {
    pub fn new(kind: Kind, steps: impl IntoIterator<Item = Step>) -> Scene {
        Scene::with_config(kind, "", steps)
    }

    /// `more` follows the `[[providers]]` entry of the mock in the config.
    pub fn with_config(kind: Kind, more: &str, steps: impl IntoIterator<Item = Step>) -> Scene {
        Scene::of(kind, more, Server::start(steps))
    }

    pub fn of(kind: Kind, more: &str, server: Server) -> Scene {
        let space = TempWorkspace::new();
        let text = config_text(&server, kind) + more;
        space.write(space.home().join("config.toml"), text);
        Scene {
            kind,
            server,
            space,
        }
    }

    pub fn ostler<const N: usize>(&self, args: [&str; N]) -> Run {
        self.space.run(env!("CARGO_BIN_EXE_ostler")).args(args)
    }

    /// Runs one prompt to its end.
    #[track_caller]
    pub fn exec(&self, prompt: &str) -> Output {
        self.ostler(["exec", "-p", prompt]).output()
    }

    /// The same with `--format json`, as parsed lines.
    #[track_caller]
    pub fn stream(&self, prompt: &str) -> Vec<Value> {
        let out = self
            .ostler(["exec", "--format", "json", "-p", prompt])
            .output();
        json_lines(&out.stdout)
    }

    pub fn logs(&self) -> Vec<PathBuf> {
        logs(&self.space)
    }

    /// The only session log.
    #[track_caller]
    pub fn log_path(&self) -> PathBuf {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "{logs:?}");
        logs[0].clone()
    }

    /// The lines of the only session log.
    #[track_caller]
    pub fn log(&self) -> Vec<Value> {
        json_lines(&self.space.read(self.log_path()))
    }

    #[track_caller]
    pub fn session_id(&self) -> String {
        let path = self.log_path();
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

/// Every session log below a home, in no order.
pub fn logs(space: &TempWorkspace) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(projects) = std::fs::read_dir(space.home().join("sessions")) else {
        return found;
    };
    for project in projects.flatten() {
        let files = std::fs::read_dir(project.path()).expect("a folder of sessions");
        let paths = files.flatten().map(|f| f.path());
        found.extend(paths.filter(|p| p.extension().is_some_and(|e| e == "jsonl")));
    }
    found
}

/// Runs the check for all four protocols at once, and says which one failed.
pub fn each_kind(check: impl Fn(Kind) + Sync) {
    let failed: Vec<&str> = thread::scope(|scope| {
        let check = &check;
        let spawn = |kind: Kind| {
            let thread = thread::Builder::new().name(kind.name().into());
            (
                kind,
                thread
                    .spawn_scoped(scope, move || check(kind))
                    .expect("a thread"),
            )
        };
        let running = Kind::ALL.map(spawn);
        let failed = running
            .into_iter()
            .filter_map(|(kind, run)| run.join().is_err().then(|| kind.name()));
        failed.collect()
    });
    assert!(
        failed.is_empty(),
        "failed for {}; see above",
        failed.join(", ")
    );
}

/// Lines of one type, in order.
pub fn of_type<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter(|l| l["type"] == name).collect()
}

/// Waits until `ready` gives something. For what no stream tells: files and processes.
#[track_caller]
pub fn wait_for<T>(what: &str, ready: impl Fn() -> Option<T>) -> T {
    const LIMIT: Duration = Duration::from_secs(20);
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {LIMIT:?} for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Bytes at the start of both.
pub fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The time of an entry in milliseconds since midnight; a test that straddles it fails once in a blue moon.
#[track_caller]
pub fn millis(entry: &Value) -> u64 {
    let ts = entry["ts"].as_str().unwrap_or_default();
    let number = |from: usize, to: usize| ts.get(from..to).and_then(|t| t.parse::<u64>().ok());
    let parts = [(11, 13), (14, 16), (17, 19), (20, 23)].map(|(from, to)| number(from, to));
    let [Some(h), Some(m), Some(s), Some(ms)] = parts else {
        panic!("not a time of day: {entry}");
    };
    ((h * 60 + m) * 60 + s) * 1_000 + ms
}

/// The text of every message, in order.
pub fn texts(lines: &[Value]) -> Vec<&str> {
    of_type(lines, "message")
        .iter()
        .map(|m| m["text"].as_str().unwrap_or("?"))
        .collect()
}

/// Every file below a folder, sorted.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.flatten().map(|e| e.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// Waits for the end of a process whose standard input stays open.
#[track_caller]
pub fn ends(running: Running, code: i32) -> Output {
    let pid = running.pid();
    wait_for("the process to end by itself", || {
        is_gone(pid).then_some(())
    });
    running.wait().exits(code)
}

/// A process that was reaped, or only waits to be.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |s| s.contains(") Z "))
}

/// Says why a test cannot run here, past the capture of test output.
pub fn skipped(why: &str) {
    // Nobody fails for want of a remark.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
