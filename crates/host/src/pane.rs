//! A pane of tmux that a person and the commands of a session share: the person attaches to it, watches and types, and
//! commands run in it one after the other. Nothing confines them. tmux runs at any place, through its `Host`.

mod marks;
mod run;
mod script;

use crate::command::{Command, Output, Stdio};
use crate::host::Host;
use crate::process::Process;
use run::{Feed, Taken};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// How long tmux may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of what a script prints.
const MAX_SAID: usize = 256 << 10;
/// Lines above the screen that can be looked at.
pub const MAX_LINES_ABOVE: u32 = 5_000;

/// Where the pane is to be.
#[derive(Clone, Debug)]
pub struct PaneSettings {
    pub session: PaneSession,
    /// The folder that its shell begins in.
    pub root: PathBuf,
    /// The variables of tmux and of the pane's shell.
    pub env: Vec<(OsString, OsString)>,
    /// The pane and the terminal in which we run ourselves.
    pub own_pane: Option<String>,
    pub own_terminal: Option<PathBuf>,
}

/// Names have letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneSession {
    /// A tmux server of our own with one session of this name; it ends with us.
    Own(String),
    /// A session of the person's tmux server.
    Named(String),
}

impl PaneSession {
    pub fn name(&self) -> &str {
        match self {
            Self::Own(name) | Self::Named(name) => name,
        }
    }

    /// The program, and which server it is to talk to.
    fn tmux(&self) -> String {
        match self {
            Self::Own(name) => format!("tmux -L {name}"),
            Self::Named(_) => "tmux".to_owned(),
        }
    }

    /// What a person types at the place to see the pane.
    pub fn attach_command(&self) -> String {
        format!("{} attach -t {}", self.tmux(), self.name())
    }
}

/// Whether a session can have this name.
pub fn is_session_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= 64 && !name.starts_with('-') && name.chars().all(is_plain)
}

/// Why the pane cannot be used. It says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneError {
    /// tmux is not there.
    NoTmux,
    /// No server of the person runs, so there is no session of that name.
    NoSession(String),
    /// Ostler itself runs in it.
    Ourselves,
    /// Another program reads what it shows: another Ostler.
    InUse(String),
    /// It was closed, or its server ended, while a command ran.
    Closed,
    /// The same before the command was typed.
    Gone,
    /// A program that somebody else began is in the foreground.
    Busy(String),
    /// A command of ours goes on in it as a job.
    BusyWithJob(String),
    /// Its shell does not read what is typed.
    Silent,
    /// There is no room for the command's script.
    Full,
    Failed(String),
}

impl fmt::Display for PaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTmux => f.write_str("tmux is not installed there"),
            Self::NoSession(name) => write!(
                f,
                "there is no tmux session {name}, and no tmux server runs: begin one with `tmux new -s {name}`, or use --tmux alone"
            ),
            Self::Ourselves => f.write_str(
                "the shared pane is the one that Ostler itself runs in: name another tmux session, or use --tmux alone",
            ),
            Self::InUse(name) => write!(
                f,
                "another Ostler uses the window {} of the tmux session {name}: name another session, or use --tmux alone",
                script::WINDOW
            ),
            Self::Closed | Self::Gone => f.write_str(
                "the shared pane was closed, or its tmux server ended; the next command opens a new one",
            ),
            Self::Busy(program) => write!(
                f,
                "the shared pane runs {program}, which somebody began there: wait until it ends, look at it with capture_pane, or type into it with send_keys"
            ),
            Self::BusyWithJob(command) => write!(
                f,
                "the shared pane still runs {command}: wait for it with bash_output, end it with kill_job, look at it with capture_pane, or type into it with send_keys"
            ),
            Self::Silent => f.write_str(
                "the shell in the shared pane did not take the command, which was withdrawn: look at the pane with capture_pane",
            ),
            Self::Full => f.write_str("there is no room in /tmp for the command's script"),
            Self::Failed(why) => write!(f, "tmux failed: {why}"),
        }
    }
}

impl std::error::Error for PaneError {}

impl PaneError {
    /// The stable short name of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy(_) | Self::BusyWithJob(_) => "pane_busy",
            Self::Closed | Self::Gone => "pane_closed",
            Self::NoTmux
            | Self::NoSession(_)
            | Self::Ourselves
            | Self::InUse(_)
            | Self::Silent
            | Self::Full
            | Self::Failed(_) => "pane_error",
        }
    }
}

/// What of the pane is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Lines above the screen that are wanted, too.
    pub lines_above: u32,
    /// Lines that were wrapped are one.
    pub joins_lines: bool,
    /// With the escape sequences of colours.
    pub has_colors: bool,
}

/// Clones share the pane. It is opened by the first use, and anew after it was closed.
#[derive(Clone)]
pub struct Pane {
    shared: Arc<Shared>,
}

struct Shared {
    host: Mutex<Arc<dyn Host>>,
    settings: PaneSettings,
    live: tokio::sync::Mutex<Option<Arc<Live>>>,
    slot: Slot,
}

/// A pane that is open.
struct Live {
    /// Its name in tmux.
    id: String,
    /// The process of its shell.
    shell: String,
    /// A folder of ours at the place.
    folder: String,
    feed: Arc<Feed>,
    /// Its reader ends when this is dropped.
    _reading: oneshot::Sender<()>,
}

/// Who has the pane: commands run one after the other.
#[derive(Default)]
struct Slot {
    holder: Mutex<Option<Holder>>,
    changed: Notify,
}

struct Holder {
    command: String,
    is_job: bool,
}

impl Slot {
    fn holder(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the command that somebody waits for; a job is not waited for.
    async fn take(&self, command: &str) -> Result<(), PaneError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Heard from here on.
            changed.as_mut().enable();
            {
                let mut holder = self.holder();
                match &*holder {
                    None => {
                        *holder = Some(Holder {
                            command: command.to_owned(),
                            is_job: false,
                        });
                        return Ok(());
                    }
                    Some(held) if held.is_job => {
                        return Err(PaneError::BusyWithJob(held.command.clone()));
                    }
                    Some(_) => {}
                }
            }
            changed.await;
        }
    }

    /// What holds it is about to end: it is waited for again.
    fn mark_ending(&self) {
        if let Some(holder) = &mut *self.holder() {
            holder.is_job = false;
        }
    }

    fn free(&self) {
        *self.holder() = None;
        self.changed.notify_waiters();
    }
}

impl Pane {
    pub fn new(host: Arc<dyn Host>, settings: PaneSettings) -> Self {
        Self {
            shared: Arc::new(Shared {
                host: Mutex::new(host),
                settings,
                live: tokio::sync::Mutex::new(None),
                slot: Slot::default(),
            }),
        }
    }

    /// The same pane, reached by another host from now on.
    pub fn move_to(&self, host: Arc<dyn Host>) {
        *self
            .shared
            .host
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = host;
    }

    pub fn session(&self) -> &PaneSession {
        &self.shared.settings.session
    }

    /// Opens it, if it is not open.
    pub async fn open(&self) -> Result<(), PaneError> {
        self.shared.live().await.map(drop)
    }

    /// Runs a command in the pane, when those before it have ended. Its output is what the pane shows meanwhile; its input
    /// is whoever types there.
    pub async fn spawn(&self, command: Command, title: &str) -> Result<Process, PaneError> {
        let slot = Taken::take(&self.shared, title).await?;
        let live = self.shared.live().await?;
        match run::start(slot, live.clone(), command.clone(), title).await {
            Err(PaneError::Gone) => {
                self.shared.forget(&live).await;
                let slot = Taken::take(&self.shared, title).await?;
                let live = self.shared.live().await?;
                run::start(slot, live, command, title).await
            }
            started => started,
        }
    }

    /// The command that runs goes on while others are asked for: they are told instead of waiting.
    pub fn mark_job(&self) {
        if let Some(holder) = &mut *self.shared.slot.holder() {
            holder.is_job = true;
        }
        self.shared.slot.changed.notify_waiters();
    }

    /// What the pane shows.
    pub async fn capture(&self, wanted: Capture) -> Result<String, PaneError> {
        let live = self.shared.live().await?;
        let tmux = self.shared.settings.session.tmux();
        let mut flags = String::new();
        if wanted.joins_lines {
            flags.push_str(" -J");
        }
        if wanted.has_colors {
            flags.push_str(" -e");
        }
        let above = wanted.lines_above.min(MAX_LINES_ABOVE);
        if above > 0 {
            flags.push_str(&format!(" -S -{above}"));
        }
        let text = format!(
            "{tmux} capture-pane -p{flags} -t \"$1\" || echo \"{} gone\" >&2",
            script::SAYS
        );
        let said = self
            .shared
            .run(&text, [OsStr::new(&live.id)], Vec::new())
            .await?;
        match said.err.is_empty() {
            true => Ok(said.out),
            false => Err(PaneError::Closed),
        }
    }

    /// Types into the pane: names of keys as tmux has them, and text; with `is_literal` only text.
    pub async fn send_keys(&self, keys: &[String], is_literal: bool) -> Result<(), PaneError> {
        let live = self.shared.live().await?;
        let tmux = self.shared.settings.session.tmux();
        let literal = if is_literal { " -l" } else { "" };
        let text = format!("p=$1; shift; {tmux} send-keys -t \"$p\"{literal} -- \"$@\"");
        let args = std::iter::once(live.id.as_str()).chain(keys.iter().map(String::as_str));
        let args: Vec<&OsStr> = args.map(OsStr::new).collect();
        let said = self.shared.run_with(&text, &args, Vec::new()).await?;
        match said.err.trim() {
            "" => Ok(()),
            why if why.contains("can't find") || why.contains("no server") => {
                Err(PaneError::Closed)
            }
            why => Err(PaneError::Failed(why.to_owned())),
        }
    }
}

/// What a script printed.
struct Said {
    out: String,
    err: String,
}

impl Shared {
    fn host(&self) -> Arc<dyn Host> {
        self.host
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The pane, which is opened if it is not.
    async fn live(&self) -> Result<Arc<Live>, PaneError> {
        let mut current = self.live.lock().await;
        if let Some(live) = current.as_ref().filter(|live| !live.feed.has_ended()) {
            return Ok(live.clone());
        }
        *current = None;
        let live = Arc::new(
            tokio::time::timeout(PATIENCE, self.open())
                .await
                .unwrap_or_else(|_| Err(PaneError::Failed("nothing answered".to_owned())))?,
        );
        *current = Some(live.clone());
        Ok(live)
    }

    /// It is opened anew by the next use.
    async fn forget(&self, gone: &Arc<Live>) {
        let mut current = self.live.lock().await;
        if current.as_ref().is_some_and(|live| Arc::ptr_eq(live, gone)) {
            *current = None;
        }
    }

    async fn open(&self) -> Result<Live, PaneError> {
        let settings = &self.settings;
        let text = script::open(&settings.session.tmux());
        let own = match &settings.session {
            PaneSession::Own(_) => "own",
            PaneSession::Named(_) => "named",
        };
        let name = settings.session.name();
        let terminal = settings.own_terminal.as_ref();
        let args = [
            OsStr::new(name),
            OsStr::new(own),
            settings.root.as_os_str(),
            OsStr::new(settings.own_pane.as_deref().unwrap_or("none")),
            terminal.map_or(OsStr::new("none"), |path| path.as_os_str()),
        ];
        let argv = script::argv(&text, args);
        let process = self.host().spawn(self.command(argv, Stdio::Pipes)).await;
        let mut process = process.map_err(|error| PaneError::Failed(error.to_string()))?;
        let mut said = Vec::new();
        let mut problem = Vec::new();
        // One line, after which comes what the pane shows.
        let (head, rest) = loop {
            match process.next().await {
                Output::Stdout(bytes) => said.extend_from_slice(&bytes),
                Output::Stderr(bytes) if problem.len() < MAX_SAID => {
                    problem.extend_from_slice(&bytes)
                }
                Output::Stderr(_) => {}
                Output::Exited(_) => break (said, Vec::new()),
            }
            if let Some(end) = memchr::memchr(b'\n', &said) {
                let rest = said.split_off(end + 1);
                break (said, rest);
            }
        };
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut words = script::said(&head).unwrap_or_default().split_whitespace();
        let failed = || PaneError::Failed(String::from_utf8_lossy(&problem).trim().to_owned());
        match words.next() {
            Some("open") => {}
            Some("none") => return Err(PaneError::NoTmux),
            Some("no-session") => return Err(PaneError::NoSession(name.to_owned())),
            Some("ourselves") => return Err(PaneError::Ourselves),
            Some("in-use") => return Err(PaneError::InUse(name.to_owned())),
            Some(_) | None => return Err(failed()),
        }
        let (feed, reading) = Feed::start(process, &rest);
        let mut word = || words.next().map(str::to_owned).ok_or_else(failed);
        Ok(Live {
            id: word()?,
            shell: word()?,
            folder: word()?,
            feed,
            _reading: reading,
        })
    }

    fn command(&self, argv: Vec<OsString>, stdio: Stdio) -> Command {
        Command {
            argv,
            cwd: "/".into(),
            env: self.settings.env.clone(),
            stdio,
            sandbox: None,
        }
    }

    async fn run<const N: usize>(
        &self,
        text: &str,
        args: [&OsStr; N],
        input: Vec<u8>,
    ) -> Result<Said, PaneError> {
        self.run_with(text, &args, input).await
    }

    /// Runs a script with these arguments and this input to its end.
    async fn run_with(
        &self,
        text: &str,
        args: &[&OsStr],
        input: Vec<u8>,
    ) -> Result<Said, PaneError> {
        let mut argv = script::argv(text, []);
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        let work = async {
            let process = self
                .host()
                .spawn(self.command(argv, Stdio::PipesWithStdin))
                .await;
            let mut process = process.map_err(|error| PaneError::Failed(error.to_string()))?;
            let stdin = process.take_input();
            let writing = async move {
                if let Some(mut stdin) = stdin {
                    // A script that ends early says why.
                    let _early = stdin.write_all(&input).await;
                }
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let reading = async {
                loop {
                    match process.next().await {
                        Output::Stdout(bytes) if out.len() < MAX_SAID => {
                            out.extend_from_slice(&bytes)
                        }
                        Output::Stderr(bytes) if err.len() < MAX_SAID => {
                            err.extend_from_slice(&bytes)
                        }
                        Output::Stdout(_) | Output::Stderr(_) => {}
                        Output::Exited(_) => return,
                    }
                }
            };
            tokio::join!(writing, reading);
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Ok(Said {
                out: text(out),
                err: text(err),
            })
        };
        let done = tokio::time::timeout(PATIENCE, work).await;
        done.unwrap_or_else(|_| Err(PaneError::Failed("nothing answered".to_owned())))
    }
}
