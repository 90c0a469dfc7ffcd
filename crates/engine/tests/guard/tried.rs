//! Readers against what really happens. What the analysis calls a reader is run by several shells in a throw-away folder,
//! and must neither change a file there or beside it nor show what lies outside or in the environment. Some of it runs
//! under strace as well, where nothing may be written, no host reached and no program of the project started anywhere,
//! and some in the reader's own sandbox.

use super::generated::{self, Dice};
use super::observed::written;
use ostler_engine::confine::{self, Reader, SandboxMode, SandboxSettings, Services, Terms};
use ostler_guard::shell::{Place, accesses, analyse};
use ostler_host::sandbox::{Policy, probe};
use ostler_host::{Output, Signal};
use ostler_wire::Access;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Commands in a usual run, and in a long one.
const COMMANDS: usize = 2_000;
const MANY: usize = 100_000;
/// Commands that are made from one number.
const PART: usize = 250;
/// Commands between two looks at the files.
const BATCH: usize = 50;
/// Of the readers, one in so many runs under strace and in the sandbox besides.
const TRACED: usize = 40;
const TRACED_AT_LENGTH: usize = 12;
const SECRET: &str = "s3cr3t-of-the-environment";
const OUTSIDE: &str = "text-of-a-file-outside";
/// Longer than a sandboxed command takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Files with what shows that they were changed.
type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>, bool)>;

/// Adds every file below.
fn snapshot(folder: &Path, out: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            snapshot(&path, out);
        }
        let size = if meta.is_dir() { 0 } else { meta.len() };
        let state = (size, meta.modified().ok(), meta.permissions().readonly());
        out.insert(path, state);
    }
}

struct Fixture {
    top: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let setup = format!(
            "mkdir -p repo/src outside home tmp && cd repo && printf 'hello world\\n3 4\\n' > a.txt && echo b > b.txt \
             && echo c > 'c d.txt' && echo 'fn main() {{}}' > src/main.rs && echo {OUTSIDE} > ../outside/secret.txt \
             && echo note > ../home/note && printf '#!/bin/sh\\ntouch pwned\\n' > evil && chmod +x evil \
             && printf '#!/bin/sh\\ntouch pwned\\n' > ls && chmod +x ls && touch -- -opwned && gzip -k a.txt; \
             git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x; true"
        );
        let made = Command::new("bash")
            .args(["-c", &setup])
            .current_dir(top.path())
            .env("HOME", top.path().join("home"))
            .status();
        assert!(made.is_ok_and(|s| s.success()));
        Self { top }
    }

    fn top(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap()
    }

    fn root(&self) -> PathBuf {
        self.top().join("repo")
    }

    /// All but the folder for temporary files, which every reader has for itself.
    fn files(&self) -> Files {
        let mut out = BTreeMap::new();
        for name in ["repo", "outside", "home"] {
            snapshot(&self.top.path().join(name), &mut out);
        }
        out
    }

    fn env(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("HOME", self.top().join("home")),
            ("TMPDIR", self.top().join("tmp")),
            // That of zsh.
            ("TMPPREFIX", self.top().join("tmp").join("zsh")),
            ("SECRET_TOKEN", SECRET.into()),
            ("GIT_OPTIONAL_LOCKS", "0".into()),
        ]
    }

    /// What the command printed, behind these words.
    fn run(&self, before: &[&str], shell: &[&str], command: &str) -> String {
        let argv = [before, &["timeout", "-k", "1", "3"], shell].concat();
        let (program, args) = argv.split_first().unwrap();
        let mut process = Command::new(program);
        process.args(args).arg(command).current_dir(self.root());
        process.envs(self.env());
        let output = process.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }
}

fn is_reader(command: &str, root: &Path, home: &Path) -> bool {
    let place = Place {
        cwd: root.to_owned(),
        root,
        home: Some(home),
        open: &[],
    };
    accesses(analyse(command, &place))
        .iter()
        .all(Access::is_read_only)
}

const SHELLS: &[&[&str]] = &[
    &["dash", "-c"],
    &["bash", "-c"],
    &["bash", "-c", "exec -a sh zsh -c \"$0\""],
    &["ksh", "-c"],
];

fn is_there(program: &str) -> bool {
    let mut process = Command::new(program);
    process.args(["-c", "true"]).stdin(Stdio::null());
    process.status().is_ok_and(|status| status.success())
}

/// Runs the commands one after the other; those that changed something or showed what they should not.
fn harm(fixture: &mut Fixture, shell: &[&str], commands: &[String]) -> Vec<String> {
    let before = fixture.files();
    let mut out = Vec::new();
    for command in commands {
        let shown = fixture.run(&[], shell, command);
        // The words themselves may be shown.
        if shown.contains(SECRET) || shown.contains(OUTSIDE) {
            out.push(format!("{shell:?} shows a secret: {command}"));
        }
    }
    if fixture.files() == before {
        return out;
    }
    *fixture = Fixture::new();
    match commands {
        [one] => out.push(format!("{shell:?} changes files: {one}")),
        _ => {
            for command in commands {
                out.extend(harm(fixture, shell, std::slice::from_ref(command)));
            }
        }
    }
    out
}

/// What strace is told to show.
const CALLS: &str =
    "trace=%file,%network,%process,ftruncate,fchmod,fchown,kill,tkill,tgkill,ptrace";

/// Of those, what changes a file by its name.
const CHANGES: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "creat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "mknod",
    "mknodat",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "setxattr",
    "lsetxattr",
    "removexattr",
];
const REACHES: &[&str] = &["connect", "sendto", "sendmsg"];
/// A daemon that programs ask for the names of users, and that answers nothing else.
const NAMES: &str = "/nscd/socket";

/// Where Java puts its counters; the sandbox has a folder of its own there.
const JAVA: &str = "/tmp/hsperfdata_";

/// Whether a line of the trace says something that no reader does. `pids` are those of the command itself.
fn is_effect(line: &str, fixture: &Path, pids: &[&str]) -> bool {
    let Some((name, args)) = line
        .split_once(' ')
        .and_then(|(_, call)| call.trim_start().split_once('('))
    else {
        return false;
    };
    let done = !args.contains(") = -1");
    let repo = format!("\"{}/", fixture.join("repo").display());
    let own = ["/dev", "/proc"].map(PathBuf::from);
    let is_own = |path: &PathBuf| {
        let counters = path.to_string_lossy().starts_with(JAVA);
        counters
            || own.iter().any(|folder| path.starts_with(folder))
            || path.starts_with(fixture.join("tmp"))
    };
    match name {
        // A program of the project, by its path or found beside it.
        "execve" | "execveat" => done && (args.starts_with(&repo) || args.starts_with("\".")),
        "kill" | "tkill" | "tgkill" => {
            let target = args.trim_start_matches('-').split([',', ')']).next();
            done && target.is_some_and(|pid| pid != "0" && !pids.contains(&pid))
        }
        "ptrace" | "listen" => done,
        _ if REACHES.contains(&name) => {
            let unix = args.contains("sa_family=AF_UNIX") && !args.contains(NAMES);
            args.contains("sa_family=AF_INET") || unix && done
        }
        _ => CHANGES.contains(&name) && !written(line).iter().all(is_own),
    }
}

/// What a reader does that nobody declared, wherever it does it.
fn traced(fixture: &Fixture, shell: &[&str], command: &str) -> Vec<String> {
    let log = fixture.top().join("tmp").join("trace");
    let path = log.to_string_lossy().into_owned();
    let strace = [
        "strace", "-f", "-y", "-qq", "-a", "1", "-s", "4096", "-e", CALLS, "-o", &path,
    ];
    let argv = [&["timeout", "-k", "1", "6"], &strace[..]].concat();
    fixture.run(&argv, shell, command);
    let text = fs::read_to_string(&log).unwrap_or_default();
    assert!(!text.is_empty(), "nothing was traced: {command}");
    let pids = text.lines().filter_map(|line| line.split(' ').next());
    let pids: Vec<&str> = pids.collect();
    let effects = text
        .lines()
        .filter(|line| is_effect(line, &fixture.top(), &pids));
    let told = effects
        .take(3)
        .map(|line| format!("{shell:?} {command}: {line}"));
    told.collect()
}

/// The reader's sandbox around a fixture.
fn settings(fixture: &Fixture) -> SandboxSettings {
    SandboxSettings {
        mode: SandboxMode::Require,
        policy: Policy {
            writable: vec![fixture.root()],
            ..Policy::default()
        },
        reader: Reader {
            home: Some(fixture.top().join("home")),
            ..Reader::default()
        },
        ..SandboxSettings::default()
    }
}

/// What a command prints in the reader's sandbox.
async fn confined(fixture: &Fixture, shell: &[&str], command: &str) -> String {
    let services =
        Services::without_session(Arc::new(ostler_host::Local::new()), settings(fixture));
    let mut env: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name == "PATH")
        .collect();
    env.extend(
        fixture
            .env()
            .map(|(name, value)| (name.into(), value.into())),
    );
    let argv = shell.iter().copied().chain([command]);
    let started = ostler_host::Command {
        argv: argv.map(Into::into).collect(),
        cwd: fixture.root(),
        env,
        stdio: ostler_host::Stdio::Pipes,
        sandbox: None,
    };
    let terms = Terms {
        read_only: true,
        ..Terms::default()
    };
    let mut spawned = confine::spawn(&services, started, &terms).await.unwrap();
    let mut text = Vec::new();
    let talk = async {
        loop {
            match spawned.process.next().await {
                Output::Stdout(bytes) | Output::Stderr(bytes) => text.extend_from_slice(&bytes),
                Output::Exited(exit) => return exit,
            }
        }
    };
    let exit = tokio::time::timeout(PATIENCE, talk).await;
    if exit.is_err() {
        spawned.process.signal(Signal::Kill);
    }
    if let (Some(confined), Ok(exit)) = (spawned.confined, exit) {
        confined.end(exit, &[]).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What runs in the reader's sandbox shows no secret and changes nothing either.
fn held(fixture: &Fixture, shell: &[&str], command: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let before = fixture.files();
    let shown = runtime.block_on(confined(fixture, shell, command));
    let wrong = shown.contains(SECRET) || shown.contains(OUTSIDE) || fixture.files() != before;
    wrong.then(|| format!("{shell:?} in its sandbox: {command}"))
}

/// A watch that sees nothing would find nothing.
#[test]
fn the_watch_sees_every_kind_of_effect() {
    let Some(tools) = Tools::find() else { return };
    let fixture = Fixture::new();
    let shell: &[&str] = &["bash", "-c"];
    for command in [
        "touch pwned",
        "mkdir ../outside/new",
        "rm a.txt",
        "mv b.txt c.txt",
        "ln -s a.txt link",
        "chmod 711 evil",
        "echo x > ../home/note",
        "./evil",
        "PATH=.:$PATH; ls",
        "echo > /dev/tcp/127.0.0.1/9",
        "kill -0 $PPID $(cut -d' ' -f4 /proc/$PPID/stat)",
    ] {
        let seen = !tools.strace || !traced(&fixture, shell, command).is_empty();
        assert!(seen, "{command}");
    }
    let fixture = Fixture::new();
    for command in ["touch pwned", "cat ~/note", "echo x > ~/note"] {
        assert!(
            !tools.sandbox || held(&fixture, shell, command).is_none(),
            "{command}"
        );
    }
    let quiet = [
        "cat a.txt",
        "git status",
        "ls -la | sort",
        "cat <<E\n$(wc -l a.txt)\nE",
    ];
    for command in quiet {
        let seen = if tools.strace {
            traced(&fixture, shell, command)
        } else {
            Vec::new()
        };
        assert_eq!(seen, [] as [&str; 0], "{command}");
    }
}

#[test]
fn what_is_called_a_reader_changes_nothing() {
    try_commands(COMMANDS, TRACED, 0x5eed_1234);
}

#[test]
#[ignore = "takes half an hour; run by hand for docs/measurements.md"]
fn what_is_called_a_reader_changes_nothing_at_length() {
    try_commands(MANY, TRACED_AT_LENGTH, 0x0b5e_55ed);
}

#[derive(Default)]
struct Count {
    made: usize,
    readers: usize,
    traced: usize,
    held: usize,
    wrong: Vec<String>,
}

/// What can be tried on this machine.
struct Tools {
    shells: Vec<&'static [&'static str]>,
    strace: bool,
    sandbox: bool,
}

impl Tools {
    #[expect(clippy::print_stderr, reason = "a part that is skipped says so")]
    fn find() -> Option<Self> {
        if !["bash", "dash"].into_iter().all(is_there) {
            eprintln!("skipped: bash and dash are not both here");
            return None;
        }
        let known = SHELLS.iter().copied();
        let shells = known.filter(|s| is_there(s[0]) && (s.len() < 3 || is_there("zsh")));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", "/dev/null", "true"]);
        let found = Self {
            shells: shells.collect(),
            strace: strace.status().is_ok_and(|status| status.success()),
            sandbox: !probe().layers.is_empty(),
        };
        if !found.strace {
            eprintln!("skipped: strace cannot watch commands here");
        }
        if !found.sandbox {
            eprintln!("skipped: no layer of the sandbox works here");
        }
        Some(found)
    }
}

/// One part of the commands, in a fixture of its own.
fn try_part(part: usize, seed: u64, every: usize, tools: &Tools, fixture: &mut Fixture) -> Count {
    let rows = generated::rows();
    let mut dice = Dice::of(seed, part);
    let (root, home) = (fixture.root(), fixture.top().join("home"));
    let mut commands: Vec<String> = Vec::new();
    for _ in 0..PART {
        let command = generated::command(&mut dice, &rows);
        if is_reader(&command, &root, &home) {
            commands.push(command);
        }
    }
    let mut count = Count {
        made: PART,
        readers: commands.len(),
        ..Count::default()
    };
    for batch in commands.chunks(BATCH) {
        let shell = tools.shells[dice.roll(tools.shells.len())];
        count.wrong.extend(harm(fixture, shell, batch));
    }
    for command in commands.iter().skip(dice.roll(every)).step_by(every) {
        let shell = tools.shells[dice.roll(tools.shells.len())];
        if tools.strace {
            count.traced += 1;
            count.wrong.extend(traced(fixture, shell, command));
        }
        if tools.sandbox {
            count.held += 1;
            count.wrong.extend(held(fixture, shell, command));
        }
    }
    count
}

#[expect(
    clippy::print_stderr,
    reason = "numbers for people who run it with --nocapture"
)]
fn try_commands(wanted: usize, every: usize, seed: u64) {
    let Some(tools) = Tools::find() else { return };
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Count::default()));
    let work = || {
        let mut fixture = Fixture::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part * PART >= wanted || total.lock().unwrap().wrong.len() > 20 {
                return;
            }
            let count = try_part(part, seed, every, &tools, &mut fixture);
            let mut total = total.lock().unwrap();
            total.made += count.made;
            total.readers += count.readers;
            total.traced += count.traced;
            total.held += count.held;
            count.wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
            total.wrong.extend(count.wrong);
            if total.made % 1_000 == 0 {
                eprintln!(
                    "{} commands, {} readers, {} wrong",
                    total.made,
                    total.readers,
                    total.wrong.len()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let total = total.into_inner().unwrap();
    eprintln!(
        "{} commands, {} readers, {} of them traced, {} in their sandbox, {} with an effect",
        total.made,
        total.readers,
        total.traced,
        total.held,
        total.wrong.len()
    );
    assert!(total.wrong.is_empty(), "{}", total.wrong.join("\n"));
    assert!(
        total.readers * 20 > wanted,
        "{} readers of {wanted}",
        total.readers
    );
}
