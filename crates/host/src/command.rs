//! What to run and what comes back of it, as plain data. Running it is `process`.

use crate::sandbox::Plan;
use bytes::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// A program to start. Nothing is inherited: the environment is exactly `env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// Absolute.
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub stdio: Stdio,
    /// What it may touch; `None` is all that we may.
    pub sandbox: Option<Arc<Plan>>,
}

/// What the program's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// Stdout and stderr apart; stdin is empty.
    Pipes,
    /// The same, with stdin to write to.
    PipesWithStdin,
    /// One terminal for all three; what it shows comes as `Output::Stdout`.
    Pty { rows: u16, cols: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Int,
    Term,
    Kill,
}

/// What a running program gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout(Bytes),
    Stderr(Bytes),
    /// The end; nothing follows.
    Exited(Exit),
}

/// How a program ended: a code, or the signal that ended it, or neither when its end was lost with the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub const LOST: Exit = Exit {
        code: None,
        signal: None,
    };

    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl Command {
    /// The program's name, for messages.
    pub(crate) fn program(&self) -> String {
        let program = self.argv.first();
        program.map_or_else(String::new, |word| word.to_string_lossy().into_owned())
    }
}
