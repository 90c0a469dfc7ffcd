//! What is said on the sockets. We to the watchdog: a head, a body, descriptors. A keeper to us: reports of fixed size.
//! We to a keeper: signal numbers. All three are the same program, so integers are in native order.

use super::sys::RawTermios;
use crate::command::{Command, Exit, Stdio};
use ostler_files::{Error, Result};
pub(super) use ostler_sandbox::descriptors::{send, take};
#[cfg(target_os = "linux")]
use ostler_sandbox::linux::Way;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Longest body; no system takes longer command lines.
const MAX_BODY: usize = 8 << 20;

const HEAD_SIZE: usize = 8;
const SPAWN: u32 = 1;
const GUARD: u32 = 2;
const RELEASE: u32 = 3;
#[cfg(target_os = "linux")]
const NETWORK: u32 = 4;

/// The bytes of a request. Its descriptors travel beside the first of them.
pub(super) fn encode_spawn(command: &Command) -> Result<Vec<u8>> {
    let head = [
        stdio_number(command.stdio),
        command.argv.len() as u32,
        command.env.len() as u32,
        jail_of(command).len() as u32,
    ];
    let mut body = Vec::with_capacity(4096);
    for number in head {
        body.extend_from_slice(&number.to_ne_bytes());
    }
    let mut nul = false;
    let mut push = |parts: &[&[u8]]| {
        for part in parts {
            nul |= part.contains(&0);
            body.extend_from_slice(part);
        }
        body.push(0);
    };
    push(&[command.cwd.as_os_str().as_bytes()]);
    for arg in &command.argv {
        push(&[arg.as_bytes()]);
    }
    for (name, value) in &command.env {
        push(&[name.as_bytes(), b"=", value.as_bytes()]);
    }
    body.extend_from_slice(jail_of(command));
    if nul
        || command
            .argv
            .first()
            .is_none_or(|program| program.is_empty())
    {
        return Err(Error::BadCommand);
    }
    if body.len() > MAX_BODY {
        return Err(Error::TooLong);
    }
    Ok(with_head(SPAWN, &body))
}

pub(super) fn encode_guard(termios: RawTermios, reset: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = termios.to_vec();
    body.extend_from_slice(reset);
    if body.len() > MAX_BODY {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(with_head(GUARD, &body))
}

pub(super) fn encode_release() -> Vec<u8> {
    with_head(RELEASE, &[])
}

/// For ordinary users it belongs to a user namespace of its own.
#[cfg(target_os = "linux")]
pub(super) fn encode_network(way: Way) -> Vec<u8> {
    let way = match way {
        Way::None => 0,
        Way::Direct => 1,
        Way::User => 2,
    };
    with_head(NETWORK, &[way])
}

fn with_head(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_SIZE + body.len());
    frame.extend_from_slice(&kind.to_ne_bytes());
    frame.extend_from_slice(&(body.len() as u32).to_ne_bytes());
    frame.extend_from_slice(body);
    frame
}

/// A request as the watchdog got it.
pub(super) enum Frame {
    Spawn {
        body: Vec<u8>,
        fds: Vec<OwnedFd>,
    },
    Guard {
        tty: OwnedFd,
        termios: RawTermios,
        reset: Vec<u8>,
    },
    Release,
    /// A network is to be made and sent to `to`.
    #[cfg(target_os = "linux")]
    Network {
        way: Way,
        to: OwnedFd,
    },
}

/// Waits for a whole frame; `None` when the other end is gone or talks nonsense.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Option<Frame> {
    let mut fds = Vec::new();
    let mut head = [0; HEAD_SIZE];
    fill(socket, &mut head, &mut fds)?;
    let [k0, k1, k2, k3, l0, l1, l2, l3] = head;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    if length > MAX_BODY {
        return None;
    }
    let mut body = vec![0; length];
    fill(socket, &mut body, &mut fds)?;
    match u32::from_ne_bytes([k0, k1, k2, k3]) {
        SPAWN => Some(Frame::Spawn { body, fds }),
        GUARD => {
            let reset = body.split_off(size_of::<RawTermios>().min(body.len()));
            Some(Frame::Guard {
                tty: fds.pop()?,
                termios: RawTermios::try_from(body.as_slice()).ok()?,
                reset,
            })
        }
        RELEASE => Some(Frame::Release),
        #[cfg(target_os = "linux")]
        NETWORK => Some(Frame::Network {
            way: match body.as_slice() {
                [0] => Way::None,
                [1] => Way::Direct,
                [2] => Way::User,
                _ => return None,
            },
            to: fds.pop()?,
        }),
        _ => None,
    }
}

fn fill(socket: BorrowedFd<'_>, mut bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> Option<()> {
    while !bytes.is_empty() {
        let got = match take(socket, bytes, fds) {
            Ok(got) => got,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        };
        if got == 0 {
            return None;
        }
        bytes = bytes.get_mut(got..)?;
    }
    #[cfg(not(target_os = "linux"))]
    for fd in fds {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC).ok()?;
    }
    Some(())
}

/// A spawn request as its keeper reads it, pointing into the body.
pub(super) struct Spawn<'a> {
    pub stdio: StdioKind,
    pub cwd: &'a CStr,
    pub argv: Vec<&'a CStr>,
    pub env: Vec<&'a CStr>,
    /// The sandbox, as that encodes it; empty for none.
    pub jail: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StdioKind {
    Pipes,
    PipesWithStdin,
    Pty,
}

impl<'a> Spawn<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Option<Self> {
        let (stdio, rest) = take_number(body)?;
        let (args, rest) = take_number(rest)?;
        let (vars, rest) = take_number(rest)?;
        let (jail, rest) = take_number(rest)?;
        let (mut rest, jail) = rest.split_at_checked(rest.len().checked_sub(jail as usize)?)?;
        let mut next = || {
            let string = CStr::from_bytes_until_nul(rest).ok()?;
            rest = rest.get(string.count_bytes() + 1..)?;
            Some(string)
        };
        Some(Self {
            stdio: match stdio {
                0 => StdioKind::Pipes,
                1 => StdioKind::PipesWithStdin,
                2 => StdioKind::Pty,
                _ => return None,
            },
            cwd: next()?,
            argv: (0..args).map(|_| next()).collect::<Option<_>>()?,
            env: (0..vars).map(|_| next()).collect::<Option<_>>()?,
            jail,
        })
    }
}

fn jail_of(command: &Command) -> &[u8] {
    #[cfg(target_os = "linux")]
    if let Some(jail) = command.sandbox.as_ref().and_then(|plan| plan.jail()) {
        return &jail.bytes;
    }
    let _ = command;
    &[]
}

fn stdio_number(stdio: Stdio) -> u32 {
    match stdio {
        Stdio::Pipes => 0,
        Stdio::PipesWithStdin => 1,
        Stdio::Pty { .. } => 2,
    }
}

fn take_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_ne_bytes(*number), rest))
}

/// What a keeper tells of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The request arrived; from here on the command may have run.
    Taken,
    Started {
        pid: i32,
    },
    /// With `leftovers` something that the command started is still running.
    Exited {
        exit: Exit,
        leftovers: bool,
    },
}

/// Why a command did not start. It comes by a pipe of its own, which exec closes: an empty pipe means success, and the
/// kernel tells us so without waking a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) errno: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Prepare,
    WorkingDirectory,
    Exec,
    /// At this step of putting on the sandbox.
    Sandbox(u8),
}

pub(super) const FAILURE_SIZE: usize = 8;
const FIRST_SANDBOX_STEP: i32 = 16;

impl Failure {
    pub(super) fn new(stage: Stage, error: &io::Error) -> Self {
        Self {
            stage,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// Tells us; we may be gone, and then nobody needs to know.
    pub(super) fn tell(self, pipe: &impl AsFd) {
        let [s0, s1, s2, s3] = match self.stage {
            Stage::Prepare => 0_i32,
            Stage::WorkingDirectory => 1,
            Stage::Exec => 2,
            Stage::Sandbox(step) => FIRST_SANDBOX_STEP + i32::from(step),
        }
        .to_ne_bytes();
        let [e0, e1, e2, e3] = self.errno.to_ne_bytes();
        let _gone = rustix::io::write(pipe, &[s0, s1, s2, s3, e0, e1, e2, e3]);
    }

    pub(super) fn decode(bytes: [u8; FAILURE_SIZE]) -> Self {
        let [s0, s1, s2, s3, e0, e1, e2, e3] = bytes;
        Self {
            stage: match i32::from_ne_bytes([s0, s1, s2, s3]) {
                1 => Stage::WorkingDirectory,
                2 => Stage::Exec,
                number => u8::try_from(number.wrapping_sub(FIRST_SANDBOX_STEP))
                    .map_or(Stage::Prepare, Stage::Sandbox),
            },
            errno: i32::from_ne_bytes([e0, e1, e2, e3]),
        }
    }
}

pub(super) const REPORT_SIZE: usize = 16;
const NONE: i32 = -1;

impl Report {
    pub(super) fn encode(self) -> [u8; REPORT_SIZE] {
        let words = match self {
            Self::Taken => [0, 0, 0, 0],
            Self::Started { pid } => [1, pid, 0, 0],
            Self::Exited { exit, leftovers } => [
                2,
                exit.code.unwrap_or(NONE),
                exit.signal.unwrap_or(NONE),
                i32::from(leftovers),
            ],
        };
        let mut bytes = [0; REPORT_SIZE];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: [u8; REPORT_SIZE]) -> Option<Self> {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| word.try_into().map_or(NONE, i32::from_ne_bytes));
        let mut next = || words.next().unwrap_or(NONE);
        let maybe = |word: i32| (word != NONE).then_some(word);
        match (next(), next(), next(), next()) {
            (0, ..) => Some(Self::Taken),
            (1, pid, ..) => Some(Self::Started { pid }),
            (2, code, signal, leftovers) => Some(Self::Exited {
                exit: Exit {
                    code: maybe(code),
                    signal: maybe(signal),
                },
                leftovers: leftovers != 0,
            }),
            _ => None,
        }
    }
}

/// Tells us; we may be gone, and then nobody needs to know.
pub(super) fn report(control: &impl AsFd, report: Report) {
    let bytes = report.encode();
    let mut left = bytes.as_slice();
    while !left.is_empty() {
        match send(control.as_fd(), left, &[]) {
            Ok(sent) => left = left.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_way() {
        let exited = |code, signal, leftovers| Report::Exited {
            exit: Exit { code, signal },
            leftovers,
        };
        for report in [
            Report::Taken,
            Report::Started { pid: 4711 },
            exited(Some(0), None, false),
            exited(Some(255), None, true),
            exited(None, Some(9), false),
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        assert_eq!(Report::decode([0xff; REPORT_SIZE]), None);
    }

    #[test]
    fn failures_survive_the_way() {
        for stage in [
            Stage::Prepare,
            Stage::WorkingDirectory,
            Stage::Exec,
            Stage::Sandbox(0),
            Stage::Sandbox(5),
        ] {
            let failure = Failure { stage, errno: 13 };
            let (mut read, write) = io::pipe().unwrap();
            failure.tell(&write);
            let mut bytes = [0; FAILURE_SIZE];
            io::Read::read_exact(&mut read, &mut bytes).unwrap();
            assert_eq!(Failure::decode(bytes), failure);
        }
    }

    #[test]
    fn a_request_survives_the_way_and_a_cut_one_is_refused() {
        let command = Command {
            argv: vec!["sh".into(), "-c".into(), "".into()],
            cwd: "/tmp".into(),
            env: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
            stdio: Stdio::Pty { rows: 1, cols: 2 },
            sandbox: None,
        };
        let frame = encode_spawn(&command).unwrap();
        let body = &frame[HEAD_SIZE..];
        let spawn = Spawn::decode(body).unwrap();
        assert!(spawn.stdio == StdioKind::Pty);
        assert_eq!(spawn.cwd, c"/tmp");
        assert_eq!(spawn.argv, [c"sh", c"-c", c""]);
        assert_eq!(spawn.env, [c"A=1=2", c"B="]);
        for cut in 0..body.len() {
            assert!(Spawn::decode(&body[..cut]).is_none(), "cut at {cut}");
        }
    }

    #[test]
    fn commands_that_no_system_takes_are_refused() {
        let command = |argv: &[&str], value: &str| Command {
            argv: argv.iter().map(Into::into).collect(),
            cwd: "/".into(),
            env: vec![("A".into(), value.into())],
            stdio: Stdio::Pipes,
            sandbox: None,
        };
        let refused = |command| encode_spawn(&command).unwrap_err().to_string();
        let bad = Error::BadCommand.to_string();
        assert_eq!(refused(command(&[], "")), bad);
        assert_eq!(refused(command(&[""], "")), bad);
        assert_eq!(refused(command(&["a\0b"], "")), bad);
        assert_eq!(refused(command(&["a"], "x\0")), bad);
        let long = "x".repeat(MAX_BODY);
        assert_eq!(refused(command(&["a"], &long)), Error::TooLong.to_string());
    }
}
