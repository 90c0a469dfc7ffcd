//! `bash`: one shell command, in the foreground until it ends, or for a while, or as a job at once.
//! What it may do is decided elsewhere; what becomes of a job is in `jobs`.

mod live;
mod report;
#[cfg(test)]
mod tests;

use super::wait::Wait;
use crate::cut::{Capture, Captured};
use crate::jobs::{Adopted, Plain, end_tree, exit_code};
use crate::programs::{Confinement, EditorTerminal, Started};
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use bytes::Bytes;
use live::Live;
use ostler_guard::plain_look::{Cwd, is_plain_look};
use ostler_guard::shell::{self, Place};
use ostler_host::pane::{Pane, PaneError};
use ostler_host::{Command, Exit, Kind, Output, Process, Signal, Stdio};
use ostler_wire::{Access, Body, Notice, Segment, Word};
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
pub use report::{JUDGED_AGAIN, render};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Wide enough that programs do not wrap what nobody sees.
const TERMINAL: Stdio = Stdio::Pty {
    rows: 50,
    cols: 160,
};
/// What a program on it may write; only the text is kept.
const TERM: &str = "xterm-256color";
/// How long an interrupted call waits for the news that its command is gone.
const LAST_WAIT: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
pub struct Bash;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    command: String,
    /// "10m": so long, then on as a job; false: a job at once
    #[serde(default)]
    wait: Option<Wait>,
    #[serde(default)]
    cwd: Option<String>,
    /// On a terminal; answer it with bash_input
    #[serde(default)]
    tty: Option<bool>,
}

impl Args {
    fn wait(&self) -> Wait {
        self.wait.unwrap_or(Wait::Whole)
    }

    fn tty(&self) -> bool {
        self.tty.unwrap_or(false)
    }
}

impl Typed for Bash {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "bash";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .result(ResultForm::Command)
        .question(Word::WantsToRun)
        .aliases(&["run_shell", "shell"])
        .common_name("Bash")
        .marks(&[ToolMark::RunsCommands]);
    const PROSE: &'static str = include_str!("bash.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError::new("invalid_input", "The command is empty."));
        }
        let cwd = args.cwd.as_deref().filter(|cwd| !cwd.is_empty());
        let open = scope.open_to_commands();
        let place = Place {
            cwd: cwd.map_or_else(|| scope.root.clone(), |cwd| scope.path(cwd)),
            root: &scope.root,
            home: scope.user_home.as_deref(),
            open: &open,
        };
        let mut segments = shell::analyse(&args.command, &place);
        // Going there is a step of its own, as with `cd`: the folder may be a link.
        if let Some(cwd) = cwd.filter(|_| place.cwd != scope.root) {
            segments.insert(0, going_to(cwd, &place.cwd));
        }
        // A job and a program on a terminal are more than a look at something.
        if args.tty() || args.wait() == Wait::Not {
            segments.iter_mut().for_each(|s| s.read_only = false);
        }
        let cwd = match place.cwd == scope.root {
            true => Cwd::Root,
            false => Cwd::Elsewhere,
        };
        let is_planted = |s: &Segment| {
            let mut names = s.argv.iter().take(1);
            names.any(|name| scope.is_planted(name, &place.cwd))
        };
        // Without a layer, only what is known word by word counts, and only if it is the program of that name.
        if !scope.containment.has_layer()
            && (!is_plain_look(&args.command, &segments, cwd) || segments.iter().any(is_planted))
        {
            segments.iter_mut().for_each(|s| s.read_only = false);
        }
        // What was seen in it holds for deny rules; nothing that was not seen is ruled out.
        if scope.foreign_shell {
            segments.iter_mut().for_each(Segment::doubt);
        }
        let mut accesses = shell::accesses(segments);
        accesses.iter_mut().for_each(|access| locate(access, scope));
        Ok(accesses)
    }

    fn subject(args: &Args) -> Subject {
        Subject::first_line(&args.command).with_body("command")
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        // A reader that outlasts its time stays in the reader's sandbox as a job.
        let wait = args.wait();
        if wait != Wait::Whole {
            cx.services.jobs.room()?;
        }
        let command = Command {
            argv: argv(&cx, &args.command),
            cwd: cwd(&cx, args.cwd.as_deref()).await?,
            env: env(&cx, args.tty()),
            stdio: if args.tty() { TERMINAL } else { Stdio::Pipes },
            sandbox: None,
        };
        // Jobs and programs on a terminal of their own would keep the pane from everybody.
        let programs = &cx.services.programs;
        let (pane, terminal) = match args.tty() || wait == Wait::Not {
            true => (None, None),
            false => (programs.pane(), programs.terminal()),
        };
        let has_one_stream = args.tty() || pane.is_some() || terminal.is_some();
        let Started {
            process,
            confinement,
            missing,
        } = match (&pane, &terminal) {
            (Some(pane), _) => start_in_pane(pane, command, &args.command, &cx).await?,
            (None, Some(terminal)) => start_in_terminal(&**terminal, command, &cx).await?,
            (None, None) => cx.services.programs.start(command).await?,
        };
        let run = Run {
            streams: Streams::new(&cx, has_one_stream),
            live: Live::new(cx.clone()),
            process,
            pane,
            confinement,
            cx,
        };
        let (jobs, language) = (
            run.cx.services.jobs.clone(),
            run.cx.services.settings.language,
        );
        let mut done = Done::from(run.go(args.command, wait).await?);
        if let Some(why) = missing.filter(|_| jobs.tells_unconfined()) {
            let text = language.fill(Word::Unconfined, &[&why.say(language)]);
            done.also.push(Body::Notice(Notice { text }));
        }
        Ok(done)
    }

    fn render(data: &Value) -> Rendered {
        render(data).into()
    }
}

/// Paths below `/tmp` are those of the session's own folder, where commands see that.
fn locate(access: &mut Access, scope: &Scope) {
    match access {
        Access::Read(path) | Access::Write(path) => *path = scope.locate(path),
        Access::Run(segments) => {
            for segment in segments {
                let all = segment.does.iter_mut().chain(&mut segment.needs);
                all.for_each(|access| locate(access, scope));
                let names = segment.names.iter_mut();
                names.for_each(|path| *path = scope.locate(path));
            }
        }
        Access::Net(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::History
        | Access::Memory => {}
    }
}

/// Waits for its turn there.
async fn start_in_pane(
    pane: &Pane,
    command: Command,
    title: &str,
    cx: &Context<CommandServices>,
) -> Result<Started, ToolError> {
    let process = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            return Err(ToolError::new("interrupted", "Interrupted; the command was not run."));
        }
        process = pane.spawn(command, title) => process,
    };
    let failed = |error: PaneError| ToolError::new(error.code(), format!("Not run: {error}."));
    Ok(Started {
        process: process.map_err(failed)?,
        confinement: None,
        missing: None,
    })
}

async fn start_in_terminal(
    terminal: &dyn EditorTerminal,
    command: Command,
    cx: &Context<CommandServices>,
) -> Result<Started, ToolError> {
    let process = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            return Err(ToolError::new("interrupted", "Interrupted; the command was not run."));
        }
        process = terminal.run(command, &cx.call_id) => process,
    };
    Ok(Started {
        process: process?,
        confinement: None,
        missing: None,
    })
}

fn argv(cx: &Context<CommandServices>, command: &str) -> Vec<OsString> {
    let mut argv = cx.services.settings.shell.clone();
    argv.push(command.into());
    argv
}

/// On a terminal of ours there is one to name, whatever we ourselves were started on.
fn env(cx: &Context<CommandServices>, tty: bool) -> Vec<(OsString, OsString)> {
    let mut env = cx.services.settings.env.clone();
    let named = |(name, value): &(OsString, OsString)| {
        name == "TERM" && !value.is_empty() && value != "dumb"
    };
    if tty && !env.iter().any(named) {
        env.retain(|(name, _)| name != "TERM");
        env.push(("TERM".into(), TERM.into()));
    }
    env
}

fn going_to(written: &str, folder: &Path) -> Segment {
    Segment {
        text: format!("cd {written}"),
        argv: vec!["cd".into(), written.into()],
        read_only: true,
        plain: true,
        does: vec![Access::Read(folder.to_owned())],
        ..Segment::default()
    }
}

async fn cwd(cx: &Context<CommandServices>, wanted: Option<&str>) -> Result<PathBuf, ToolError> {
    let Some(wanted) = wanted.filter(|w| !w.is_empty()) else {
        return Ok(cx.scope.root.clone());
    };
    let path = cx.scope.path(wanted);
    let stat = cx
        .host
        .stat(&path)
        .await
        .map_err(|e| ToolError::new(e.code(), format!("cwd: {e}.")))?;
    match stat.kind {
        Kind::Directory => Ok(cx.scope.named(&stat.path)),
        Kind::Missing => Err(ToolError::new(
            "not_found",
            format!("cwd {wanted} does not exist."),
        )),
        Kind::File | Kind::Symlink | Kind::Other => Err(ToolError::new(
            "path_error",
            format!("cwd {wanted} is not a folder."),
        )),
    }
}

/// A command in the foreground.
struct Run {
    process: Process,
    streams: Streams,
    live: Live,
    /// Where it runs, if that is the pane that the person shares.
    pane: Option<Pane>,
    confinement: Option<Box<dyn Confinement>>,
    cx: Context<CommandServices>,
}

enum Ended {
    Exited(Exit),
    OutOfTime,
    /// The person wants it in the background.
    SentAway,
    Cancelled,
}

impl Run {
    async fn go(mut self, command: String, wait: Wait) -> Result<Value, ToolError> {
        let cap = self.cx.services.settings.bash_timeout_seconds;
        let time = match wait {
            Wait::Whole => (cap > 0).then(|| Duration::from_secs(cap)),
            Wait::Not => return self.hand_over(command),
            Wait::For(time) => Some(time),
        };
        let ended = self
            .watch(time.and_then(|t| Instant::now().checked_add(t)))
            .await;
        match (ended, wait) {
            (Ended::Exited(exit), _) => {
                self.live.flush();
                if let Some(confinement) = &self.confinement {
                    confinement.take_leftovers(&mut self.process);
                }
                let data = self.streams.report(exit_code(exit), note(exit));
                Ok(judged(self.confinement, exit, data).await)
            }
            (Ended::OutOfTime, Wait::For(_) | Wait::Not) | (Ended::SentAway, _) => {
                self.hand_over(command)
            }
            (Ended::OutOfTime, Wait::Whole) => self.time_out(cap).await,
            (Ended::Cancelled, _) => Err(self.cancelled().await),
        }
    }

    async fn time_out(mut self, seconds: u64) -> Result<Value, ToolError> {
        let streams = &mut self.streams;
        let take = |output: Output| {
            streams.take(&output);
        };
        let exit = tokio::select! {
            biased;
            () = self.cx.cancel.cancelled() => return Err(self.cancelled().await),
            exit = end_tree(&mut self.process, take) => exit,
        };
        self.live.flush();
        let mut data = self
            .streams
            .report(-1, Some(format!("timed out after {seconds}s")));
        data["timed_out"] = true.into();
        Ok(judged(self.confinement, exit, data).await)
    }

    async fn cancelled(&mut self) -> ToolError {
        self.process.signal(Signal::Kill);
        let gone = async { while !matches!(self.process.next().await, Output::Exited(_)) {} };
        // Dropping the process sees to whatever is left.
        let _late = tokio::time::timeout(LAST_WAIT, gone).await;
        if let Some(confinement) = self.confinement.take() {
            // Nobody reads the result of a call that was called off; what was put back is as it was.
            confinement.end(Exit::LOST, &[]).await;
        }
        ToolError::new("interrupted", "Interrupted; the command was killed.")
    }

    async fn watch(&mut self, deadline: Option<Instant>) -> Ended {
        let mut background = self.cx.services.jobs.background_wish();
        loop {
            let due = self.live.due();
            tokio::select! {
                biased;
                () = self.cx.cancel.cancelled() => return Ended::Cancelled,
                () = until(deadline) => return Ended::OutOfTime,
                () = background.wished() => return Ended::SentAway,
                () = until(due) => self.live.flush(),
                output = self.process.next() => {
                    if let Output::Exited(exit) = output {
                        return Ended::Exited(exit);
                    }
                    if let Some(shown) = self.streams.take(&output) {
                        self.live.push(&shown);
                    }
                }
            }
        }
    }

    /// The command goes on as a job.
    fn hand_over(mut self, command: String) -> Result<Value, ToolError> {
        self.live.flush();
        if let Some(pane) = &self.pane {
            pane.mark_job();
        }
        let SoFar {
            mut data,
            plain,
            text,
            held,
        } = self.streams.so_far();
        let id = self.cx.services.jobs.adopt(Adopted {
            process: self.process,
            command,
            plain,
            so_far: text,
            held,
            confinement: self.confinement,
        })?;
        data["job"] = id.into();
        Ok(data)
    }
}

/// Adds what the sandbox has to say.
async fn judged(confinement: Option<Box<dyn Confinement>>, exit: Exit, mut data: Value) -> Value {
    if let Some(confinement) = confinement {
        let said = ["stderr", "stdout"].map(|stream| data[stream].as_str().unwrap_or_default());
        let report = confinement.end(exit, &said).await;
        report.add_to(&mut data);
    }
    data
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Both outputs of a command, as far as they are kept.
struct Streams {
    stdout: Capture,
    stderr: Capture,
    /// Set when a terminal writes.
    plain: Option<Plain>,
}

impl Streams {
    fn new(cx: &Context<CommandServices>, tty: bool) -> Self {
        let capture = |stream: &str| {
            let name = format!("{stream}-{}.txt", cx.call_id);
            Capture::new(
                cx.services.settings.bash_max_bytes,
                cx.artifacts.clone(),
                name,
            )
        };
        Self {
            stdout: capture("stdout"),
            stderr: capture("stderr"),
            plain: tty.then(Plain::default),
        }
    }

    /// Keeps a piece of output, and gives back what of it can be shown.
    fn take(&mut self, output: &Output) -> Option<Bytes> {
        let shown = match (output, &mut self.plain) {
            (Output::Exited(_), _) => return None,
            (Output::Stdout(bytes) | Output::Stderr(bytes), Some(plain)) => {
                Bytes::from(plain.feed(bytes))
            }
            (Output::Stdout(bytes) | Output::Stderr(bytes), None) => bytes.clone(),
        };
        let clean = match output {
            Output::Stderr(_) => self.stderr.push(&shown),
            Output::Stdout(_) | Output::Exited(_) => self.stdout.push(&shown),
        };
        Some(match clean {
            Cow::Borrowed(part) => shown.slice_ref(part),
            Cow::Owned(text) => text.into(),
        })
    }

    /// `note` is a line about the end that no stream tells.
    fn report(self, exit_code: i32, note: Option<String>) -> Value {
        let stdout = self.stdout.finish();
        let mut stderr = self.stderr.finish();
        if let Some(note) = note {
            if !stderr.text.is_empty() && !stderr.text.ends_with('\n') {
                stderr.text.push('\n');
            }
            stderr.text.push_str(&note);
        }
        data(&stdout, &stderr, exit_code.into())
    }

    fn so_far(mut self) -> SoFar {
        let mut held = self.stdout.take_held();
        held.extend(self.stderr.take_held());
        let stdout = self.stdout.finish();
        let stderr = self.stderr.finish();
        let text = format!("{}{}", stdout.text, stderr.text);
        SoFar {
            data: data(&stdout, &stderr, Value::Null),
            plain: self.plain,
            text,
            held,
        }
    }
}

/// What a command had said when it became a job.
struct SoFar {
    data: Value,
    plain: Option<Plain>,
    text: String,
    /// Said, and not shown yet.
    held: Vec<u8>,
}

fn note(exit: Exit) -> Option<String> {
    (exit == Exit::LOST).then(|| "the command was lost: what became of it is not known".into())
}

fn data(stdout: &Captured, stderr: &Captured, exit_code: Value) -> Value {
    let mut data = json!({
        "stdout": stdout.text,
        "stderr": stderr.text,
        "exit_code": exit_code,
        "timed_out": false,
    });
    if stdout.truncated || stderr.truncated {
        data["truncated"] = true.into();
        let artifact = stdout.artifact.as_ref().or(stderr.artifact.as_ref());
        data["artifact"] = artifact.map(|path| path.display().to_string()).into();
    }
    data
}
