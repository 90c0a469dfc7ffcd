//! What to run and what comes back of it, as plain data. Running it is `process`.

use bytes::Bytes;
pub use ostler_sandbox::Exit;
use ostler_sandbox::Plan;
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

impl Command {
    /// The program's name, for messages.
    pub(crate) fn program(&self) -> String {
        let program = self.argv.first();
        program.map_or_else(String::new, |word| word.to_string_lossy().into_owned())
    }

    /// Has it run under this plan.
    pub fn put_on(&mut self, plan: &Arc<Plan>) {
        if !plan.wrap().is_empty() {
            let mut argv = plan.wrap().to_vec();
            argv.extend(["--chdir".into(), self.cwd.clone().into(), "--".into()]);
            argv.append(&mut self.argv);
            self.argv = argv;
        }
        self.sandbox = Some(plan.clone());
    }
}
