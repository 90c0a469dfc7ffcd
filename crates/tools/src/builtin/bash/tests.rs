//! `bash` and the tools about jobs against the real shell.

use super::*;
use crate::builtin::bash_input::BashInput;
use crate::builtin::bash_output::BashOutput;
use crate::builtin::kill_job::KillJob;
use crate::programs::Programs;
use crate::testing::Bench;
use crate::tool::Tool;
use futures_util::future::BoxFuture;
use ostler_host::{Host as _, Local};
use ostler_wire::{Delta, DeltaSink};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Starts programs without any sandbox.
struct Unconfined(Local);

impl Programs for Unconfined {
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, ToolError>> {
        Box::pin(async move {
            let process = self.0.spawn(command).await;
            let process = process.map_err(|e| ToolError::new(e.code(), format!("{e}.")))?;
            Ok(Started {
                process,
                confinement: None,
                missing: None,
            })
        })
    }
}

struct Shell {
    bench: Bench,
    cx: Context,
}

impl Shell {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut crate::tool::ToolSettings)) -> Self {
        let bench = Bench::new();
        let mut cx = bench.context("bash");
        cx.services.programs = Arc::new(Unconfined(Local::new()));
        change(Arc::make_mut(&mut cx.services.settings));
        Self { bench, cx }
    }

    /// One whose live output can be read.
    fn watched() -> (Self, mpsc::UnboundedReceiver<Delta>) {
        let mut shell = Self::new();
        let (sender, deltas) = mpsc::unbounded_channel();
        shell.cx.deltas = DeltaSink::new(move |delta| {
            let _ = sender.send(delta);
        });
        (shell, deltas)
    }

    async fn call(&self, tool: &impl Tool, args: Value) -> Value {
        let called = async { tool.read(&args)?.run(self.cx.clone()).await };
        match called.await {
            Ok(done) => done.data,
            Err(e) => json!({"error": {"code": e.code, "message": e.message}}),
        }
    }

    async fn bash(&self, args: Value) -> Value {
        self.call(&Bash, args).await
    }

    /// Everything a job says until the text has appeared or the job has ended, and the last look at it.
    async fn follow(&self, first: &Value, text: &str) -> (String, Value) {
        let job = first["job"].as_str().unwrap().to_owned();
        let mut all = first["stdout"].as_str().unwrap().to_owned();
        loop {
            let news = self
                .call(&BashOutput, json!({"job": job, "wait": 20}))
                .await;
            all.push_str(news["stdout"].as_str().unwrap());
            if all.contains(text) || news["state"] != "running" {
                return (all, news);
            }
        }
    }

    /// Returns when a process is gone; the shell's own time limit makes the test fail otherwise.
    async fn gone(&self, pid: &str) {
        let check = format!("while kill -0 {pid} 2>/dev/null; do sleep 0.01; done");
        let looked = Self::new().bash(json!({"command": check})).await;
        assert_eq!(looked["exit_code"], 0, "{pid} lives");
    }
}

fn plain(stdout: &str, stderr: &str, exit_code: i32) -> Value {
    json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": false})
}

const NEVER: &str = "\u{0}never";

#[tokio::test]
async fn a_command_gives_its_output_and_code() {
    let shell = Shell::with(|s| s.env.push(("COLOUR".into(), "blue".into())));
    std::fs::create_dir(shell.bench.path("sub")).unwrap();
    let root = shell.bench.root().display().to_string();
    for (args, expect) in [
        (json!({"command": "echo hi"}), plain("hi\n", "", 0)),
        (json!({"cmd": "true", "timeout": 5}), plain("", "", 0)),
        (
            json!({"script": "echo a; echo b >&2; exit 3"}),
            plain("a\n", "b\n", 3),
        ),
        (json!({"command": "kill -9 $$"}), plain("", "", 137)),
        (json!({"command": "cat; echo $?"}), plain("0\n", "", 0)),
        (
            json!({"command": "printf 'a\\377b'"}),
            plain("a\u{fffd}b", "", 0),
        ),
        (
            json!({"command": "pwd"}),
            plain(&format!("{root}\n"), "", 0),
        ),
        (
            json!({"command": "pwd", "cwd": "sub"}),
            plain(&format!("{root}/sub\n"), "", 0),
        ),
        (
            json!({"command": "echo $COLOUR $HOME"}),
            plain("blue\n", "", 0),
        ),
        (
            json!({"command": "printf '\\033[1mraw'"}),
            plain("\u{1b}[1mraw", "", 0),
        ),
        (
            json!({"command": "echo done", "wait": "60s"}),
            plain("done\n", "", 0),
        ),
        (
            json!({"command": "echo done", "wait": true}),
            plain("done\n", "", 0),
        ),
        (
            json!({"command": "test -t 0 && test -t 1 && printf '\\033[1mbold\\033[0m\\n'", "tty": true}),
            plain("bold\n", "", 0),
        ),
        // A terminal has a name and a size; without one nothing is made up.
        (
            json!({"command": "echo $TERM; stty size", "tty": true}),
            plain("xterm-256color\n50 160\n", "", 0),
        ),
        (json!({"command": "echo \"[$TERM]\""}), plain("[]\n", "", 0)),
    ] {
        assert_eq!(shell.bash(args.clone()).await, expect, "{args}");
    }
    for (term, expect) in [("dumb", "xterm-256color\n"), ("vt100", "vt100\n")] {
        let shell = Shell::with(|s| s.env.push(("TERM".into(), term.into())));
        let args = json!({"command": "echo $TERM", "tty": true});
        assert_eq!(shell.bash(args).await, plain(expect, "", 0), "{term}");
    }
}

#[tokio::test]
async fn what_cannot_run_says_why() {
    let shell = Shell::with(|s| s.shell = vec!["no-such-shell".into()]);
    shell.bench.put("file", "");
    for (args, code) in [
        (json!({"command": "true"}), "spawn_error"),
        (json!({"command": "true", "cwd": "none"}), "not_found"),
        (json!({"command": "true", "cwd": "file"}), "path_error"),
        (json!({"command": "true", "wait": "soon"}), "invalid_input"),
        (json!({}), "invalid_input"),
    ] {
        assert_eq!(
            shell.bash(args.clone()).await["error"]["code"],
            code,
            "{args}"
        );
    }
}

#[test]
fn only_plain_looks_in_the_foreground_are_readers() {
    let scope = Bench::new().context("bash").scope;
    for (args, reader) in [
        (json!({"command": "ls"}), true),
        (json!({"command": "ls; git status", "wait": 5}), true),
        (json!({"command": "ls", "wait": false}), false),
        (json!({"command": "ls", "run_in_background": true}), false),
        (json!({"command": "ls", "background": false}), true),
        (json!({"command": "ls", "tty": true}), false),
        (json!({"command": "rm x"}), false),
    ] {
        let access = crate::testing::access(&Bash, &args, &scope).unwrap();
        assert_eq!(access.iter().all(Access::is_read_only), reader, "{args}");
    }
    assert!(crate::testing::access(&Bash, &json!({"command": " "}), &scope).is_err());
}

#[tokio::test]
async fn a_command_out_of_time_is_killed_with_all_it_started() {
    let shell = Shell::with(|s| s.bash_timeout_seconds = 1);
    let stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let command = format!(
        "setsid sh -c \"{}\" & echo before; echo bad >&2; wait",
        stubborn.replace("$$", "\\$\\$")
    );
    let data = shell.bash(json!({"command": command})).await;
    assert_eq!(
        data,
        json!({"stdout": "before\n", "stderr": "bad\ntimed out after 1s", "exit_code": -1, "timed_out": true})
    );
    let pid = String::from_utf8(shell.bench.get("pid")).unwrap();
    shell.gone(pid.trim()).await;
}

#[tokio::test]
async fn no_limit_means_no_limit() {
    let shell = Shell::with(|s| s.bash_timeout_seconds = 0);
    assert_eq!(
        shell.bash(json!({"command": "echo x"})).await,
        plain("x\n", "", 0)
    );
}

#[tokio::test]
async fn a_command_goes_on_as_a_job_when_the_wait_is_over() {
    let shell = Shell::new();
    let command = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4";
    let first = shell.bash(json!({"command": command, "wait": 0.2})).await;
    assert_eq!(
        (&first["exit_code"], &first["timed_out"], &first["job"]),
        (&Value::Null, &json!(false), &json!("j1"))
    );
    shell.bench.put("go", "");
    let (all, last) = shell.follow(&first, NEVER).await;
    assert_eq!(all, "one\ntwo\n");
    assert_eq!(
        (&last["exit_code"], &last["state"]),
        (&json!(4), &json!("exited"))
    );
    // All of it is in the log, and nothing is told twice.
    let log = shell.cx.artifacts.dir().join("job-j1.log");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "one\ntwo\n");
    let again = shell.call(&BashOutput, json!({"job": "j1"})).await;
    assert_eq!(
        (&again["stdout"], &again["exit_code"]),
        (&json!(""), &json!(4))
    );
}

#[tokio::test]
async fn a_job_at_once() {
    let shell = Shell::new();
    let first = shell
        .bash(json!({"command": "echo out; echo err >&2", "wait": false}))
        .await;
    let expect =
        json!({"stdout": "", "stderr": "", "exit_code": null, "timed_out": false, "job": "j1"});
    assert_eq!(first, expect);
    let (all, last) = shell.follow(&first, NEVER).await;
    // The two come by two pipes, so their order is not the shell's.
    assert!(
        ["out\nerr\n", "err\nout\n"].contains(&all.as_str()),
        "{all}"
    );
    assert_eq!(last["state"], "exited");
    assert_eq!(
        shell.bash(json!({"command": "true", "wait": false})).await["job"],
        "j2"
    );
}

#[tokio::test]
async fn a_job_can_be_waited_for_to_its_end() {
    let shell = Shell::with(|s| s.bash_timeout_seconds = 20);
    // It goes on when the file is there, after its first words were read.
    let command = "echo one; while ! test -e go; do sleep 0.02; done; echo two; sleep 0.1; echo three; exit 4";
    let first = shell
        .bash(json!({"command": command, "run_in_background": true}))
        .await;
    let (said, _) = shell.follow(&first, "one\n").await;
    assert_eq!(said, "one\n");
    shell.bench.put("go", "");
    let end = shell
        .call(&BashOutput, json!({"job": "1", "wait": true}))
        .await;
    assert_eq!(
        (&end["stdout"], &end["exit_code"]),
        (&json!("two\nthree\n"), &json!(4))
    );
    let shell = Shell::with(|s| s.bash_timeout_seconds = 1);
    shell
        .bash(json!({"command": "echo x; sleep 1000", "wait": false}))
        .await;
    let patient = shell
        .call(&BashOutput, json!({"job": "j1", "wait": true}))
        .await;
    assert_eq!(
        (&patient["stdout"], &patient["state"]),
        (&json!("x\n"), &json!("running"))
    );
    shell.cx.services.jobs.close().await;
}

#[tokio::test]
async fn a_job_is_killed_with_all_it_started() {
    let shell = Shell::new();
    let command = "setsid sleep 1000 & echo $!; sleep 1000";
    let first = shell.bash(json!({"command": command, "wait": false})).await;
    let (pid, _) = shell.follow(&first, "\n").await;
    let killed = shell.call(&KillJob, json!({"job": "j1"})).await;
    assert_eq!(
        (&killed["state"], &killed["exit_code"]),
        (&json!("killed"), &json!(143))
    );
    assert_eq!(Tool::render(&KillJob, &killed).text, "[job j1 was killed]");
    shell.gone(pid.trim()).await;
    let again = shell.call(&KillJob, json!({"job": "j1"})).await;
    assert_eq!(again["state"], "killed");
}

#[tokio::test]
async fn a_program_on_a_terminal_can_be_talked_to() {
    let shell = Shell::new();
    let command = "printf '\\033[32mname?\\033[0m '; read name; echo \"hello $name\"";
    let first = shell
        .bash(json!({"command": command, "wait": false, "tty": true}))
        .await;
    let (asked, _) = shell.follow(&first, "name? ").await;
    assert_eq!(asked, "name? ");
    let typed = shell
        .call(&BashInput, json!({"job": "j1", "text": "Bob\n"}))
        .await;
    let (all, last) = shell.follow(&typed, NEVER).await;
    assert_eq!(all, "Bob\nhello Bob\n");
    assert_eq!(last["exit_code"], 0);
    let late = shell
        .call(&BashInput, json!({"job": "j1", "text": "x"}))
        .await;
    assert_eq!(
        late["error"],
        json!({"code": "write_error", "message": "Job j1 has ended."})
    );
}

#[tokio::test]
async fn jobs_that_are_not_there_or_cannot_listen() {
    let shell = Shell::new();
    let unknown = |known: &str| json!({"code": "not_found", "message": format!("There is no job \"j9\". {known}")});
    let look = json!({"job": "j9"});
    assert_eq!(
        shell.call(&BashOutput, look.clone()).await["error"],
        unknown("No job was started.")
    );
    shell
        .bash(json!({"command": "sleep 1000", "wait": false}))
        .await;
    shell.bash(json!({"command": "true", "wait": false})).await;
    assert_eq!(
        shell.call(&KillJob, look).await["error"],
        unknown("Known: j1, j2.")
    );
    let deaf = shell
        .call(&BashInput, json!({"job": "j1", "text": "x"}))
        .await;
    let message = "Job j1 has no terminal to type into; start it with tty: true.";
    assert_eq!(
        deaf["error"],
        json!({"code": "invalid_input", "message": message})
    );
    shell.cx.services.jobs.close().await;
}

#[tokio::test]
async fn a_long_output_is_cut_and_kept_whole() {
    let shell = Shell::new();
    const BYTES: usize = 50_000_000;
    let data = shell
        .bash(json!({"command": format!("head -c {BYTES} /dev/zero | tr '\\0' x; echo end")}))
        .await;
    let path = shell.cx.artifacts.dir().join("stdout-call-1.txt");
    assert_eq!(
        (&data["truncated"], &data["artifact"]),
        (&json!(true), &json!(path.display().to_string()))
    );
    let stdout = data["stdout"].as_str().unwrap();
    assert!(stdout.len() < 33 * 1024 + path.as_os_str().len());
    assert!(stdout.starts_with("xxx") && stdout.ends_with("xend\n"));
    let left_out = BYTES + 4 - 32 * 1024;
    assert!(stdout.contains(&format!(
        "\n[… {left_out} bytes cut; whole output: {} …]\n",
        path.display()
    )));
    assert_eq!(std::fs::metadata(path).unwrap().len() as usize, BYTES + 4);
}

#[tokio::test]
async fn a_jobs_long_output_is_cut_with_the_log_as_the_whole() {
    let shell = Shell::with(|s| s.bash_max_bytes = 10);
    let first = shell
        .bash(json!({"command": "echo 0123456789abcdef", "wait": false}))
        .await;
    let log = shell.cx.artifacts.dir().join("job-j1.log");
    let (all, _) = shell.follow(&first, NEVER).await;
    assert_eq!(
        all,
        format!(
            "01234\n[… 7 bytes cut; whole output: {} …]\ncdef\n",
            log.display()
        )
    );
}

#[tokio::test]
async fn an_interrupted_command_dies_at_once() {
    let (shell, mut deltas) = Shell::watched();
    let command = "setsid sleep 1000 & echo $!; trap '' TERM; sleep 1000";
    let call = crate::testing::run(&Bash, json!({"command": command}), shell.cx.clone());
    let interrupt = async {
        let pid = shown(&mut deltas).await;
        shell.cx.cancel.cancel();
        pid
    };
    let (result, pid) = tokio::join!(call, interrupt);
    assert_eq!(result.err().unwrap().code, "interrupted");
    shell.gone(pid.trim()).await;
}

#[tokio::test]
async fn a_command_that_will_not_end_can_still_be_interrupted() {
    let shell = Shell::with(|s| s.bash_timeout_seconds = 1);
    // Its trap tells that the time is over and the grace has begun.
    let command = "trap ': > asked' TERM; while :; do sleep 0.02; done";
    let call = crate::testing::run(&Bash, json!({"command": command}), shell.cx.clone());
    let interrupt = async {
        while !shell.bench.path("asked").exists() {
            tokio::task::yield_now().await;
        }
        shell.cx.cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, interrupt);
    assert_eq!(result.err().unwrap().code, "interrupted");
}

#[tokio::test]
async fn an_interrupted_look_leaves_the_job_alone() {
    let shell = Shell::new();
    shell
        .bash(json!({"command": "sleep 1000", "wait": false}))
        .await;
    let look = crate::testing::run(
        &BashOutput,
        json!({"job": "j1", "wait": "1h"}),
        shell.cx.clone(),
    );
    let interrupt = async { shell.cx.cancel.cancel() };
    let (result, ()) = tokio::join!(look, interrupt);
    assert_eq!(result.err().unwrap().code, "interrupted");
    assert_eq!(
        shell.cx.services.jobs.list()[0].state,
        crate::jobs::JobState::Running
    );
    shell.cx.services.jobs.close().await;
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let (shell, mut deltas) = Shell::watched();
    let call = shell.bash(json!({"command": "echo live; while [ ! -e go ]; do sleep 0.02; done"}));
    let watch = async {
        assert_eq!(shown(&mut deltas).await, "live\n");
        shell.bench.put("go", "");
    };
    let (data, ()) = tokio::join!(call, watch);
    assert_eq!(data, plain("live\n", "", 0));
}

#[tokio::test]
async fn a_flood_is_shown_in_part() {
    let (shell, mut deltas) = Shell::watched();
    shell
        .bash(json!({"command": "head -c 30000000 /dev/zero | tr '\\0' x"}))
        .await;
    let mut bytes = 0;
    while let Ok(delta) = deltas.try_recv() {
        if let Delta::ToolOutput { chunk, .. } = delta {
            bytes += chunk.len();
        }
    }
    assert!((1..10_000_000).contains(&bytes), "{bytes}");
}

async fn shown(deltas: &mut mpsc::UnboundedReceiver<Delta>) -> String {
    loop {
        if let Delta::ToolOutput { chunk, .. } = deltas.recv().await.unwrap() {
            return chunk;
        }
    }
}
