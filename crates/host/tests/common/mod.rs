//! What the process tests share: a small harness (their `main` must look for the hidden mode first, which the standard
//! harness does not allow), shorthand for commands, and ways to watch processes.
#![expect(clippy::print_stdout, reason = "a test harness reports on stdout")]
#![allow(dead_code, reason = "each test program uses its part")]

use ostler_host::{Command, Exit, Host, Local, Output, Process, Stdio};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

/// A case that takes longer hangs.
const CASE_LIMIT: Duration = Duration::from_secs(60);
const DEATH_LIMIT: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

pub type Case = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

#[macro_export]
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        &[$((stringify!($case), || Box::pin($case()))),*]
    };
}

/// Runs the cases whose name holds the first argument. Also answers the questions that nextest asks.
pub fn run(cases: &[Case]) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let filter = args.iter().find(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| match filter {
        Some(filter) if has("--exact") => name == filter,
        Some(filter) => name.contains(filter.as_str()),
        None => true,
    };
    if has("--list") {
        for (name, _) in cases.iter().filter(|_| !has("--ignored")) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in cases.iter().filter(|(name, _)| wanted(name)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tokio::time::timeout(CASE_LIMIT, case())
                    .await
                    .expect("the case hangs");
            });
        }));
        match outcome {
            Ok(()) => passed += 1,
            Err(_) => failed += 1,
        }
        println!(
            "test {name} ... {}",
            if outcome.is_ok() { "ok" } else { "FAILED" }
        );
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

pub fn env() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
}

pub fn command(argv: &[&str]) -> Command {
    Command {
        argv: argv.iter().map(Into::into).collect(),
        cwd: "/".into(),
        env: env(),
        stdio: Stdio::Pipes,
        sandbox: None,
    }
}

pub fn sh(script: &str) -> Command {
    command(&["sh", "-c", script])
}

pub fn pty(script: &str) -> Command {
    Command {
        stdio: Stdio::Pty { rows: 7, cols: 55 },
        ..sh(script)
    }
}

/// All that a command gave.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit: Exit,
}

pub async fn run_to_end(local: &Local, command: Command) -> Ran {
    finish(&mut local.spawn(command).await.unwrap()).await
}

pub async fn finish(process: &mut Process) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match process.next().await {
            Output::Stdout(bytes) => stdout.extend_from_slice(&bytes),
            Output::Stderr(bytes) => stderr.extend_from_slice(&bytes),
            Output::Exited(exit) => {
                return Ran {
                    stdout: String::from_utf8(stdout).unwrap(),
                    stderr: String::from_utf8(stderr).unwrap(),
                    exit,
                };
            }
        }
    }
}

/// Reads until stdout holds this many lines.
pub async fn lines(process: &mut Process, count: usize) -> Vec<String> {
    let mut text = String::new();
    while text.lines().count() < count || !text.ends_with('\n') {
        match process.next().await {
            Output::Stdout(bytes) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
            Output::Stderr(bytes) => panic!("unexpected stderr {bytes:?}"),
            Output::Exited(exit) => panic!("ended with {exit:?} after {text:?}"),
        }
    }
    text.lines().map(Into::into).collect()
}

pub const fn code(code: i32) -> Exit {
    Exit {
        code: Some(code),
        signal: None,
    }
}

pub const fn signal(signal: i32) -> Exit {
    Exit {
        code: None,
        signal: Some(signal),
    }
}

/// A process under observation.
pub struct Watched {
    pub name: String,
    pub pid: Pid,
    fd: OwnedFd,
}

/// Starts to watch the running process whose number this is.
pub fn watch(name: &str, pid: &str) -> Watched {
    watch_if_there(name, pid).unwrap()
}

/// The process, unless it is gone already.
pub fn watch_if_there(name: &str, pid: &str) -> Option<Watched> {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    Some(Watched {
        name: name.into(),
        pid,
        fd: pidfd_open(pid, PidfdFlags::empty()).ok()?,
    })
}

impl Watched {
    pub fn is_alive(&self) -> bool {
        !self.ends_within(Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        })
    }

    pub fn kill(&self) {
        kill_process(self.pid, Signal::KILL).unwrap();
    }

    /// Waits for its end, off the runtime so that this side goes on working.
    pub async fn assert_dies(self) {
        let (name, dead) = tokio::task::spawn_blocking(move || {
            let dead = self.ends_within(DEATH_LIMIT);
            (self.name, dead)
        })
        .await
        .unwrap();
        assert!(dead, "{name} is still alive");
    }

    pub fn ends_within(&self, limit: Timespec) -> bool {
        poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&limit)).unwrap() > 0
    }
}

pub async fn assert_all_die(watched: impl IntoIterator<Item = Watched>) {
    for one in watched {
        one.assert_dies().await;
    }
}

/// The field of /proc/PID/stat with this number, counted from 1 as in proc(5), from the fourth on.
pub fn stat_field(pid: i32, number: usize) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let field = rest.split_whitespace().nth(number - 3).unwrap();
    field.parse().unwrap()
}

pub fn parent(pid: i32) -> Watched {
    watch("the parent", &stat_field(pid, 4).to_string())
}
