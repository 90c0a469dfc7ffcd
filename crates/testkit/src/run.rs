//! Runs a binary the way a test wants it: no inherited environment, a time limit, both streams
//! kept, and a loud failure when it hangs or leaves something behind. Knows nothing of the server.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A test that needs longer says so.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the streams may stay open after the process has ended.
const DRAIN: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 64 * 1024;

/// A command to run. Starts with an empty environment.
#[derive(Debug)]
pub struct Run {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    user: Option<u32>,
    stdin: Input,
    timeout: Duration,
}

#[derive(Debug)]
enum Input {
    /// As from `/dev/null`.
    Closed,
    Bytes(Vec<u8>),
    /// Written while it runs.
    Open,
}

/// What came out.
#[derive(Clone)]
pub struct Output {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

impl Run {
    pub fn new(program: impl AsRef<Path>) -> Run {
        Run {
            program: program.as_ref().into(),
            args: vec![],
            env: vec![],
            cwd: None,
            user: None,
            stdin: Input::Closed,
            timeout: TIMEOUT,
        }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Run {
        self.args.push(arg.as_ref().into());
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Run {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().into()));
        self
    }

    /// A later value of the same name wins.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Run {
        self.env.push((name.as_ref().into(), value.as_ref().into()));
        self
    }

    pub fn without_env(mut self, name: &str) -> Run {
        self.env.retain(|(known, _)| known != name);
        self
    }

    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Run {
        self.cwd = Some(dir.as_ref().into());
        self
    }

    /// As this user, which only root can do.
    #[cfg(unix)]
    pub fn user(mut self, id: u32) -> Run {
        self.user = Some(id);
        self
    }

    /// Piped in whole, then closed.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Run {
        self.stdin = Input::Bytes(text.into());
        self
    }

    /// Left open, for [`Running::write`].
    pub fn open_stdin(mut self) -> Run {
        self.stdin = Input::Open;
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Run {
        self.timeout = timeout;
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn output(self) -> Output {
        self.spawn().wait()
    }

    /// Starts it on a terminal of its own.
    #[cfg(unix)]
    #[track_caller]
    pub fn on_terminal(self, columns: u16, rows: u16) -> crate::Term {
        let mut env = self.env;
        if env.iter().all(|(name, _)| name != "TERM") {
            env.push(("TERM".into(), "xterm-256color".into()));
        }
        crate::term::start(
            (self.program, self.args, env, self.cwd),
            (columns, rows),
            self.timeout,
        )
    }

    /// Starts it and returns at once.
    #[track_caller]
    pub fn spawn(self) -> Running {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear();
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(match self.stdin {
            Input::Closed => Stdio::null(),
            Input::Bytes(_) | Input::Open => Stdio::piped(),
        });
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        #[cfg(unix)]
        if let Some(id) = self.user {
            std::os::unix::process::CommandExt::uid(&mut command, id);
            std::os::unix::process::CommandExt::gid(&mut command, id);
        }
        own_group(&mut command);
        let shown = format!("{} {:?}", self.program.display(), self.args);
        let started = Instant::now();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {shown}: {error}"),
        };
        let stdout = Stream::follow(child.stdout.take());
        let stderr = Stream::follow(child.stderr.take());
        let stdin = match (self.stdin, child.stdin.take()) {
            (Input::Bytes(bytes), Some(mut pipe)) => {
                // A program may end without reading its input; that is no failure of ours.
                thread::spawn(move || pipe.write_all(&bytes).is_ok());
                None
            }
            (Input::Open, pipe) => pipe,
            (Input::Bytes(_), None) | (Input::Closed, _) => None,
        };
        Running {
            shown,
            pid: child.id(),
            started,
            deadline: started + self.timeout,
            stdin,
            stdout,
            stderr,
            ended: reap(child),
            reaped: false,
        }
    }
}

/// A process under way. Dropping it kills its process group.
pub struct Running {
    shown: String,
    pid: u32,
    started: Instant,
    deadline: Instant,
    stdin: Option<ChildStdin>,
    stdout: Stream,
    stderr: Stream,
    ended: Receiver<(Option<ExitStatus>, Instant)>,
    reaped: bool,
}

/// Signals a test may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
    Quit,
    Kill,
    Stop,
    Continue,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Writes to its standard input, which must have been left open.
    #[track_caller]
    pub fn write(&mut self, text: &str) {
        let Some(pipe) = &mut self.stdin else {
            panic!("write() needs open_stdin()");
        };
        let written = pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush());
        if let Err(error) = written {
            panic!(
                "{} does not take input: {error}\n{}",
                self.shown,
                self.streams()
            );
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Signals the process itself, not its group.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        if let Err(error) = send(self.pid, signal, Target::Process) {
            panic!("cannot signal {}: {error}", self.shown);
        }
    }

    /// What it has written so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until standard output contains `needle` and returns all of it.
    #[track_caller]
    pub fn wait_stdout(&self, needle: &str) -> String {
        self.wait_text(&self.stdout, "stdout", needle)
    }

    #[track_caller]
    pub fn wait_stderr(&self, needle: &str) -> String {
        self.wait_text(&self.stderr, "stderr", needle)
    }

    #[track_caller]
    fn wait_text(&self, stream: &Stream, name: &str, needle: &str) -> String {
        match stream.wait_for(needle, self.deadline) {
            Some(text) => text,
            None => panic!(
                "{} never wrote {needle:?} to {name}\n{}",
                self.shown,
                self.streams()
            ),
        }
    }

    /// Waits for the end. Panics on the time limit, or when somebody else keeps a stream open.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        self.stdin = None;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (status, at) = match self.ended.recv_timeout(left) {
            Ok((Some(status), at)) => (status, at),
            Ok((None, _)) | Err(RecvTimeoutError::Disconnected) => {
                panic!("lost track of {}\n{}", self.shown, self.streams())
            }
            Err(RecvTimeoutError::Timeout) => {
                let streams = self.streams();
                let waited = self.started.elapsed();
                panic!("{} did not end in {waited:?}\n{streams}", self.shown)
            }
        };
        self.reaped = true;
        let drained = Instant::now() + DRAIN;
        let closed = self.stdout.wait_end(drained) && self.stderr.wait_end(drained);
        assert!(
            closed,
            "{} ended ({status}), but a child of it still holds its output\n{}",
            self.shown,
            self.streams()
        );
        Output {
            code: status.code(),
            signal: ended_by(status),
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            duration: at.duration_since(self.started),
        }
    }

    fn streams(&self) -> String {
        streams(&self.stdout.text(), &self.stderr.text())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped && self.ended.try_recv().is_err() {
            let _ = send(self.pid, Signal::Kill, Target::Group);
        }
    }
}

impl Output {
    /// Panics unless it ended with 0.
    #[track_caller]
    pub fn ok(self) -> Output {
        self.exits(0)
    }

    /// Panics unless it ended with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Output {
        assert!(self.code == Some(code), "expected exit {code}: {self:?}");
        self
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "ended".into(),
        };
        let streams = streams(&self.stdout, &self.stderr);
        write!(f, "{how} after {:?}\n{streams}", self.duration)
    }
}

fn streams(stdout: &str, stderr: &str) -> String {
    format!("--- stdout ---\n{stdout}\n--- stderr ---\n{stderr}\n---")
}

/// A pipe read to its end by a thread.
struct Stream(Arc<(Mutex<Text>, Condvar)>);

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    ended: bool,
}

impl Stream {
    fn follow(pipe: Option<impl Read + Send + 'static>) -> Stream {
        let shared = Arc::new((Mutex::new(Text::default()), Condvar::new()));
        let ours = shared.clone();
        thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            let mut pipe = pipe;
            loop {
                let read = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut buffer));
                let n = match read {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    Ok(n) => n,
                    Err(_) => 0,
                };
                let mut state = lock(&ours.0);
                state.bytes.extend_from_slice(&buffer[..n]);
                state.ended = n == 0;
                ours.1.notify_all();
                if n == 0 {
                    return;
                }
            }
        });
        Stream(shared)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.0.0).bytes).into_owned()
    }

    fn wait_for(&self, needle: &str, deadline: Instant) -> Option<String> {
        let found = |state: &Text| String::from_utf8_lossy(&state.bytes).contains(needle);
        let state = self.wait(deadline, |state| found(state) || state.ended);
        found(&state).then(|| String::from_utf8_lossy(&state.bytes).into_owned())
    }

    fn wait_end(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.ended).ended
    }

    fn wait(&self, deadline: Instant, ready: impl Fn(&Text) -> bool) -> MutexGuard<'_, Text> {
        let left = deadline.saturating_duration_since(Instant::now());
        let state = lock(&self.0.0);
        let waited = self
            .0
            .1
            .wait_timeout_while(state, left, |state| !ready(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the child on a thread, so that the moment of its end is exact.
fn reap(mut child: Child) -> Receiver<(Option<ExitStatus>, Instant)> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let status = child.wait().ok();
        tell.send((status, Instant::now())).is_ok()
    });
    told
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Process,
    Group,
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(unix)]
fn send(pid: u32, signal: Signal, target: Target) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal as Sig, kill_process, kill_process_group};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| std::io::Error::other("no such process"))?;
    let signal = match signal {
        Signal::Interrupt => Sig::INT,
        Signal::Terminate => Sig::TERM,
        Signal::Hangup => Sig::HUP,
        Signal::Quit => Sig::QUIT,
        Signal::Kill => Sig::KILL,
        Signal::Stop => Sig::STOP,
        Signal::Continue => Sig::CONT,
    };
    match target {
        Target::Process => kill_process(pid, signal)?,
        Target::Group => kill_process_group(pid, signal)?,
    }
    Ok(())
}

#[cfg(unix)]
fn ended_by(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

#[cfg(not(unix))]
fn send(pid: u32, _: Signal, target: Target) -> std::io::Result<()> {
    let mut command = Command::new("taskkill");
    command.args(["/F", "/PID", &pid.to_string()]);
    if target == Target::Group {
        command.arg("/T");
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(|_| ())
}

#[cfg(not(unix))]
fn ended_by(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Run {
        Run::new("/bin/sh")
            .args(["-c", script])
            .env("PATH", "/usr/bin:/bin")
    }

    #[test]
    fn keeps_streams_code_and_input() {
        let out = sh("cat; echo err >&2; echo \"[$A$HOME]\"; exit 3")
            .env("A", "1")
            .env("A", "2");
        let out = out.stdin("in\n").output().exits(3);
        assert_eq!(
            (&out.stdout[..], &out.stderr[..], out.signal),
            ("in\n[2]\n", "err\n", None)
        );
    }

    #[test]
    fn input_is_closed_by_default_and_may_stay_unread() {
        assert_eq!(sh("cat; echo end").output().ok().stdout, "end\n");
        assert_eq!(
            sh("echo end")
                .stdin(vec![b'x'; 1 << 20])
                .output()
                .ok()
                .stdout,
            "end\n"
        );
    }

    #[test]
    fn talks_and_signals() {
        let mut run = sh("read a; echo got $a; read b; echo never")
            .open_stdin()
            .spawn();
        run.write("one\n");
        assert_eq!(run.wait_stdout("got one"), "got one\n");
        run.signal(Signal::Terminate);
        let out = run.wait();
        assert_eq!((out.code, out.signal), (None, Some(15)));
    }

    #[test]
    #[should_panic(expected = "did not end in")]
    fn a_hanging_command_fails_loudly() {
        sh("echo before; exec sleep 600")
            .timeout(Duration::from_millis(200))
            .output();
    }

    #[test]
    #[should_panic(expected = "never wrote \"b\" to stdout\n--- stdout ---\na\n")]
    fn a_missing_line_shows_both_streams() {
        sh("echo a").spawn().wait_stdout("b");
    }

    #[test]
    #[should_panic(expected = "cannot start /nonexistent/program")]
    fn a_missing_program_is_named() {
        Run::new("/nonexistent/program").output();
    }

    // Looks into /proc; where there is none it could not fail.
    #[cfg(target_os = "linux")]
    #[test]
    fn dropping_kills_the_group() {
        let run = sh("sleep 600 & echo $!; wait").spawn();
        let pid: u32 = run.wait_stdout("\n").trim().parse().expect("a pid");
        drop(run);
        // The orphan is reaped by init; until then it is a zombie, so ask for its state.
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |s| s.contains(") Z "))
        };
        let deadline = Instant::now() + DRAIN;
        while !gone() && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(gone(), "process {pid} survived");
    }
}
