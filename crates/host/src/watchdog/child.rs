//! From fork to exec: the command gets a session, its streams, its folder, and nothing else of ours.

use super::frame::{Failure, Spawn, Stage, StdioKind};
use super::keeper::Lines;
use super::server::{open_null, pipe};
use super::sys::{self, Forked};
#[cfg(target_os = "linux")]
use ostler_sandbox::linux::Jail;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Pid;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::net::UnixStream;

/// Where programs are looked for when the environment has no `PATH`.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// What was forked: the command, or its init.
pub(super) struct Leader {
    pub(super) pid: Pid,
    /// Where an init tells how the command ended.
    pub(super) told: Option<OwnedFd>,
    /// Where a supervised command sends what its supervisor needs.
    pub(super) notices: Option<OwnedFd>,
}

/// Forks the command. `lines.failures` is closed by its exec, or gets the reason why there was none.
pub(super) fn start(
    spawn: &Spawn<'_>,
    stdio: Vec<OwnedFd>,
    lines: &Lines,
) -> Result<Leader, Failure> {
    let prepare = |error: io::Error| Failure::new(Stage::Prepare, &error);
    let programs = programs(spawn);
    let mut given = stdio.into_iter();
    let streams = Streams::new(spawn.stdio, &mut given).map_err(prepare)?;
    let mut cage = Cage::new(spawn.jail, &mut given).map_err(prepare)?;
    cage.join()?;
    let (told, tells) = match cage.has_init() {
        true => pipe()
            .map(|(read, write)| (Some(read), Some(write)))
            .map_err(prepare)?,
        false => (None, None),
    };
    let (notices, sends) = match cage.is_supervised() {
        true => UnixStream::pair()
            .map(|(ours, theirs)| (Some(ours.into()), Some(theirs.into())))
            .map_err(prepare)?,
        false => (None, None),
    };
    #[cfg(target_os = "linux")]
    let keeper = rustix::process::getpid();
    match cage.fork()? {
        Forked::Parent(pid) => Ok(Leader { pid, told, notices }),
        Forked::Child => {
            #[cfg(target_os = "linux")]
            if tells.is_none() {
                die_with(keeper);
            }
            enter(&cage, tells.as_ref())
                .map_or_else(
                    |f| f,
                    |()| {
                        let sends = sends.as_ref();
                        become_command(spawn, &programs, &streams, (&cage, sends))
                    },
                )
                .tell(&lines.failures);
            sys::exit_now(127)
        }
    }
}

/// Into the sandbox as far as it is the same for all of its processes. Returns in the command.
fn enter(cage: &Cage<'_>, tells: Option<&OwnedFd>) -> Result<(), Failure> {
    cage.isolate()?;
    #[cfg(target_os = "linux")]
    if let Some(tells) = tells {
        super::init::begin(tells).map_err(|e| Failure::new(Stage::Prepare, &e))?;
    }
    let _ = tells;
    Ok(())
}

/// The command itself goes with its keeper even when that is killed; the rest then goes to the watchdog.
#[cfg(target_os = "linux")]
fn die_with(keeper: Pid) {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let _old_kernel = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(keeper) {
        sys::exit_now(127);
    }
}

/// Returns only when it failed. Every descriptor but the standard three closes on exec.
fn become_command(
    spawn: &Spawn<'_>,
    programs: &[CString],
    streams: &Streams,
    (cage, notices): (&Cage<'_>, Option<&OwnedFd>),
) -> Failure {
    if let Err(error) = streams.install() {
        return Failure::new(Stage::Prepare, &error);
    }
    if let Err(error) = rustix::process::chdir(spawn.cwd) {
        return Failure::new(Stage::WorkingDirectory, &error.into());
    }
    sys::reset_signals();
    if let Err(failure) = cage.restrict(notices) {
        return failure;
    }
    let mut denied = None;
    let mut last = io::Error::from_raw_os_error(libc::ENOENT);
    for program in programs {
        last = sys::exec(program, &spawn.argv, &spawn.env);
        match last.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            // Another folder of the PATH may hold one that can be run.
            Some(libc::EACCES) => denied = Some(last.raw_os_error()),
            _ => return Failure::new(Stage::Exec, &last),
        }
    }
    match denied.flatten() {
        Some(errno) => Failure {
            stage: Stage::Exec,
            errno,
        },
        None => Failure::new(Stage::Exec, &last),
    }
}

/// The sandbox of a command, if it has one.
struct Cage<'a> {
    #[cfg(target_os = "linux")]
    jail: Option<Jail<'a>>,
    #[cfg(target_os = "linux")]
    ruleset: Option<OwnedFd>,
    /// To be joined.
    #[cfg(target_os = "linux")]
    namespaces: Vec<OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    none: std::marker::PhantomData<&'a ()>,
}

#[cfg(target_os = "linux")]
impl<'a> Cage<'a> {
    fn new(bytes: &'a [u8], given: &mut impl Iterator<Item = OwnedFd>) -> io::Result<Self> {
        let broken = || io::Error::from_raw_os_error(libc::EINVAL);
        let jail = match bytes {
            [] => None,
            bytes => Some(Jail::decode(bytes).ok_or_else(broken)?),
        };
        let (mut ruleset, mut namespaces) = (None, Vec::new());
        if let Some(jail) = &jail {
            ruleset = given.by_ref().take(jail.has_ruleset.into()).next();
            namespaces = given.take(jail.joined()).collect();
            // A command must not start with less than it was to have.
            if ruleset.is_some() != jail.has_ruleset || namespaces.len() != jail.joined() {
                return Err(broken());
            }
        }
        Ok(Self {
            jail,
            ruleset,
            namespaces,
        })
    }

    /// The keeper goes in, because what it forks is to be made by one who has rights there.
    fn join(&mut self) -> Result<(), Failure> {
        ostler_sandbox::linux::join(&std::mem::take(&mut self.namespaces)).map_err(step_failed)
    }

    fn has_init(&self) -> bool {
        self.jail.as_ref().is_some_and(Jail::has_init)
    }

    fn fork(&self) -> Result<Forked, Failure> {
        let flags = self
            .jail
            .as_ref()
            .map_or(0, ostler_sandbox::linux::namespaces);
        let step = ostler_sandbox::linux::Step::Namespaces.number();
        let failure = |stage| move |error: io::Error| Failure::new(stage, &error);
        // SAFETY: a keeper has one thread.
        #[expect(unsafe_code, reason = "a command starts as a copy of its keeper")]
        match flags {
            0 => unsafe { sys::fork() }.map_err(failure(Stage::Prepare)),
            flags => unsafe { sys::fork_into(flags) }.map_err(failure(Stage::Sandbox(step))),
        }
    }

    fn isolate(&self) -> Result<(), Failure> {
        let jail = self.jail.as_ref();
        jail.map_or(Ok(()), ostler_sandbox::linux::isolate)
            .map_err(step_failed)
    }

    fn is_supervised(&self) -> bool {
        self.jail.as_ref().is_some_and(Jail::is_supervised)
    }

    fn restrict(&self, notices: Option<&OwnedFd>) -> Result<(), Failure> {
        let Some(jail) = &self.jail else {
            return Ok(());
        };
        let ruleset = self.ruleset.as_ref().map(AsFd::as_fd);
        ostler_sandbox::linux::restrict(jail, ruleset, notices.map(AsFd::as_fd))
            .map_err(step_failed)
    }
}

#[cfg(target_os = "linux")]
fn step_failed((step, error): (ostler_sandbox::linux::Step, io::Error)) -> Failure {
    Failure::new(Stage::Sandbox(step.number()), &error)
}

#[cfg(not(target_os = "linux"))]
impl<'a> Cage<'a> {
    /// No plan of this system has anything to put on.
    fn new(bytes: &'a [u8], _given: &mut impl Iterator<Item = OwnedFd>) -> io::Result<Self> {
        match bytes {
            [] => Ok(Self {
                none: std::marker::PhantomData,
            }),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn has_init(&self) -> bool {
        false
    }

    fn fork(&self) -> Result<Forked, Failure> {
        // SAFETY: a keeper has one thread.
        #[expect(unsafe_code, reason = "a command starts as a copy of its keeper")]
        let forked = unsafe { sys::fork() };
        forked.map_err(|error| Failure::new(Stage::Prepare, &error))
    }

    fn join(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn isolate(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn is_supervised(&self) -> bool {
        false
    }

    fn restrict(&self, _notices: Option<&OwnedFd>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Streams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    terminal: bool,
}

impl Streams {
    /// `given` is what came with the request: stdout and stderr, with stdin before them if asked; or one terminal.
    fn new(kind: StdioKind, given: &mut impl Iterator<Item = OwnedFd>) -> io::Result<Self> {
        let mut next = || given.next().ok_or(io::ErrorKind::InvalidInput);
        Ok(match kind {
            StdioKind::Pipes => Self {
                stdin: open_null()?,
                stdout: next()?,
                stderr: next()?,
                terminal: false,
            },
            StdioKind::PipesWithStdin => Self {
                stdin: next()?,
                stdout: next()?,
                stderr: next()?,
                terminal: false,
            },
            StdioKind::Pty => {
                let terminal = next()?;
                Self {
                    stdin: terminal.try_clone()?,
                    stdout: terminal.try_clone()?,
                    stderr: terminal,
                    terminal: true,
                }
            }
        })
    }

    fn install(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        if self.terminal {
            rustix::process::ioctl_tiocsctty(&self.stdin)?;
        }
        rustix::stdio::dup2_stdin(&self.stdin)?;
        rustix::stdio::dup2_stdout(&self.stdout)?;
        rustix::stdio::dup2_stderr(&self.stderr)?;
        Ok(())
    }
}

/// The files to try in turn. One with a slash is taken as it is, relative to the command's folder.
fn programs(spawn: &Spawn<'_>) -> Vec<CString> {
    let Some(&program) = spawn.argv.first() else {
        return Vec::new();
    };
    if program.to_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = spawn
        .env
        .iter()
        .find_map(|variable| variable.to_bytes().strip_prefix(b"PATH="))
        .unwrap_or(DEFAULT_PATH);
    path.split(|byte| *byte == b':')
        .filter_map(|folder| in_folder(folder, program))
        .collect()
}

fn in_folder(folder: &[u8], program: &CStr) -> Option<CString> {
    let folder = if folder.is_empty() { b"." } else { folder };
    CString::new([folder, b"/", program.to_bytes()].concat()).ok()
}
