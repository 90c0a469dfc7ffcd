//! One run of a hook: in the sandbox of commands, with their environment, as a process group of its own that is killed as a
//! tree when its time is over. What it prints is bounded. A hook that answers for the person runs once more apart from all
//! that commands may change.

use super::{Hook, RunsOn};
use bytes::Bytes;
use ostler_confine::{
    self, CallSandbox, Changeable, Launch, SpawnError, Spawned, Start, Terms, start_outside,
};
use ostler_host::{Command, Exit, Output, Process, Signal, Stdio};
use ostler_tools::jobs::end_tree;
use ostler_tools::tool::{Context, ToolError};
use ostler_wire::Say;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of each stream that are kept; the rest is read and forgotten.
const MAX_OUTPUT: usize = 64 * 1024;
/// How long a cancelled hook is waited for.
const LAST_WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its code, stdout and stderr.
    Exited(Option<i32>, String, String),
    TimedOut,
    Cancelled,
    /// Why it could not run.
    NotRun(String),
}

/// What a run of a hook works with: what a command of the model would have, without anything that was granted to one call.
#[derive(Clone)]
pub struct HookContext {
    pub cx: Context<()>,
    pub sandbox: CallSandbox,
    /// The same on this machine, where the session is at another place.
    pub machine: Option<CallSandbox>,
}

impl HookContext {
    /// For a hook that runs there.
    pub fn placed(&self, on: RunsOn) -> Self {
        let mut placed = self.clone();
        if let (Some(machine), RunsOn::Here) = (&self.machine, on) {
            placed.cx.scope = machine.scope.clone();
            placed.cx.host = machine.host.clone();
            placed.sandbox = machine.clone();
        }
        placed
    }
}

/// Stands for the id of a call in names of files that are kept.
pub const CALL_ID: &str = "hook";
/// Where a run starts that is apart from all that commands may change.
const APART: &str = "/";

pub async fn run(hook: &Hook, facts: &str, cx: &HookContext) -> Ended {
    let sandbox = &cx.sandbox;
    let spawned =
        ostler_confine::spawn(&sandbox.services(), command(hook, cx), &sandbox.terms).await;
    follow(hook, facts, &cx.cx, spawned).await
}

/// The same without anything that commands may change: not in the folder in which it starts, nor by a variable, nor, where
/// a sandbox holds it, to be seen at all. `None` for a hook that names such a place.
pub async fn run_apart(hook: &Hook, facts: &str, cx: &HookContext) -> Option<Ended> {
    let mut services = cx.sandbox.services();
    services.artifacts = None;
    services.root = None;
    let changeable = changeable(hook, cx);
    let plain = command(hook, cx);
    let home = cx.cx.scope.user_home.clone();
    let choose = move || {
        let start = start_apart(&changeable, &plain, home.as_deref())?;
        services.sandbox = services.sandbox.without(changeable.places());
        let command = Command {
            cwd: start.cwd,
            env: start.env,
            ..plain
        };
        Some((services, command))
    };
    let (services, command) = tokio::task::spawn_blocking(choose).await.ok()??;
    let spawned = ostler_confine::spawn(&services, command, &Terms::default()).await;
    Some(follow(hook, facts, &cx.cx, spawned).await)
}

/// What the commands and file tools of this session, and of the one that it works for, may change.
fn changeable(hook: &Hook, cx: &HookContext) -> Changeable {
    let mut more = cx.sandbox.tools.writable.clone();
    more.extend(cx.sandbox.terms.writable.iter().cloned());
    let home = cx.cx.scope.user_home.as_deref();
    let holds_home = |path: &Path| home.is_some_and(|home| home.starts_with(path));
    let named = hook.env.iter().map(|(_, value)| PathBuf::from(value));
    more.extend(named.filter(|path| path.is_absolute() && !holds_home(path)));
    Changeable::of(&cx.sandbox.settings, &more)
}

fn start_apart(changeable: &Changeable, command: &Command, home: Option<&Path>) -> Option<Start> {
    let launch = Launch {
        argv: &command.argv,
        cwd: Some(Path::new(APART)),
        env: &[],
        inherited: &command.env,
        root: &command.cwd,
        home,
    };
    start_outside(changeable, &launch)
}

async fn follow(
    hook: &Hook,
    facts: &str,
    cx: &Context<()>,
    spawned: Result<Spawned, SpawnError>,
) -> Ended {
    let Spawned {
        mut process,
        confined,
        ..
    } = match spawned {
        Ok(spawned) => spawned,
        Err(SpawnError::Host(error)) => return Ended::NotRun(error.say(cx.language)),
        Err(error @ (SpawnError::Off | SpawnError::Sandbox(_) | SpawnError::Terms(_))) => {
            return Ended::NotRun(ToolError::from(error).message);
        }
    };
    let mut streams = Streams::default();
    let ended = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => None,
        exit = tokio::time::timeout(hook.timeout, talk(&mut process, facts, &mut streams)) => Some(exit),
    };
    let (exit, ended) = match ended {
        Some(Ok(exit)) => {
            let [stdout, stderr] = streams.finish(cx);
            (exit, Ended::Exited(exit.code, stdout, stderr))
        }
        Some(Err(_)) => (end_tree(&mut process, drop).await, Ended::TimedOut),
        None => {
            process.signal(Signal::Kill);
            let gone = async { while !matches!(process.next().await, Output::Exited(_)) {} };
            // Dropping the process sees to whatever is left.
            let _late = tokio::time::timeout(LAST_WAIT, gone).await;
            (Exit::LOST, Ended::Cancelled)
        }
    };
    // What it left running goes with it.
    process.signal(Signal::Kill);
    if let Some(confined) = confined {
        confined.end(exit, &[]).await;
    }
    ended
}

fn command(hook: &Hook, cx: &HookContext) -> Command {
    let settings = &cx.sandbox.tools;
    let mut argv = settings.shell.clone();
    argv.push(hook.command.as_str().into());
    let root = &cx.cx.scope.root;
    let mut env = settings.env.clone();
    env.retain(|(name, _)| hook.env.iter().all(|(own, _)| name != own));
    env.extend(hook.env.iter().cloned());
    Command {
        argv,
        cwd: root.clone(),
        env,
        stdio: Stdio::PipesWithStdin,
        sandbox: None,
    }
}

/// Tells it what there is to know while it is listened to; a hook need not read.
async fn talk(process: &mut Process, facts: &str, streams: &mut Streams) -> Exit {
    let input = process.take_input();
    let telling = async {
        if let Some(mut input) = input {
            // A hook that does not care closes its end.
            let _ = input.write_all(facts.as_bytes()).await;
        }
    };
    let mut telling = std::pin::pin!(telling);
    let mut told = false;
    loop {
        tokio::select! {
            () = &mut telling, if !told => told = true,
            output = process.next() => match output {
                Output::Exited(exit) => return exit,
                Output::Stdout(bytes) => Streams::keep(&mut streams.stdout, &bytes),
                Output::Stderr(bytes) => Streams::keep(&mut streams.stderr, &bytes),
            },
        }
    }
}

#[derive(Default)]
struct Streams {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Streams {
    fn keep(kept: &mut Vec<u8>, bytes: &Bytes) {
        let room = MAX_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }

    /// As text without secrets.
    fn finish(self, cx: &Context<()>) -> [String; 2] {
        [self.stdout, self.stderr].map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            cx.artifacts.redactor().text(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{Matcher, Moment};
    use ostler_confine::testing::call_sandbox;
    use ostler_tools::testing::Bench;

    async fn ran(command: &str, timeout: Duration, facts: &str, cx: &HookContext) -> Ended {
        let hook = Hook {
            moment: Moment::PreTool,
            matcher: Matcher::parse("", "x:1").unwrap(),
            only: None,
            command: command.into(),
            timeout,
            env: vec![("PROJECT_DIR".into(), cx.cx.scope.root.clone().into())],
            from: "x:1".into(),
            on: RunsOn::default(),
        };
        run(&hook, facts, cx).await
    }

    fn context(bench: &Bench) -> HookContext {
        let cx = bench.context("bash");
        HookContext {
            sandbox: call_sandbox(&cx),
            cx: cx.with_services(()),
            machine: None,
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    fn exited(code: i32, stdout: &str, stderr: &str) -> Ended {
        Ended::Exited(Some(code), stdout.into(), stderr.into())
    }

    #[tokio::test]
    async fn hooks_read_speak_and_end() {
        let bench = Bench::new();
        let cx = context(&bench);
        let root = bench.root().display().to_string();
        for (command, expect) in [
            ("cat", exited(0, "facts", "")),
            ("echo no >&2; exit 2", exited(2, "", "no\n")),
            ("true", exited(0, "", "")),
            ("exec <&-; sleep 0.05; echo deaf", exited(0, "deaf\n", "")),
            (
                "echo $PROJECT_DIR; pwd >&2",
                exited(0, &format!("{root}\n"), &format!("{root}\n")),
            ),
            (
                "kill -9 $$",
                Ended::Exited(None, String::new(), String::new()),
            ),
            ("printf '\\377x'", exited(0, "\u{fffd}x", "")),
        ] {
            assert_eq!(ran(command, LONG, "facts", &cx).await, expect, "{command}");
        }
    }

    #[tokio::test]
    async fn what_is_long_is_bounded() {
        let bench = Bench::new();
        let cx = context(&bench);
        // More than a pipe holds, to a hook that reads none of it; and a flood that comes back.
        let facts = "x".repeat(4 << 20);
        assert_eq!(ran("exit 0", LONG, &facts, &cx).await, exited(0, "", ""));
        let flood =
            "head -c 50000000 /dev/zero | tr '\\0' y; head -c 1000000 /dev/zero | tr '\\0' z >&2";
        let Ended::Exited(Some(0), stdout, stderr) = ran(flood, LONG, "", &cx).await else {
            panic!("it failed");
        };
        assert_eq!((stdout.len(), stderr.len()), (MAX_OUTPUT, MAX_OUTPUT));
    }

    #[tokio::test]
    async fn one_that_hangs_is_killed_with_all_it_started() {
        let bench = Bench::new();
        let cx = context(&bench);
        let hang =
            "echo $$ > pid; setsid sh -c 'echo $$ > deep; sleep 600' & while :; do sleep 1; done";
        let ended = ran(hang, Duration::from_millis(700), "", &cx).await;
        assert_eq!(ended, Ended::TimedOut);
        for name in ["pid", "deep"] {
            let pid = String::from_utf8(bench.get(name)).unwrap();
            let alive = || {
                std::path::Path::new("/proc")
                    .join(pid.trim())
                    .join("cwd")
                    .exists()
            };
            for _ in 0..500 {
                if !alive() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(!alive(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_stop_ends_it() {
        let bench = Bench::new();
        let cx = context(&bench);
        let stop = cx.cx.cancel.clone();
        let stopping = async {
            while !bench.path("begun").exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            stop.cancel();
        };
        let (ended, ()) = tokio::join!(ran("touch begun; sleep 600", LONG, "", &cx), stopping);
        assert_eq!(ended, Ended::Cancelled);
    }
}
