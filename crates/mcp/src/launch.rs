//! Starting the programs of servers. Which sandbox a program gets is decided by the implementor of `Launcher`, which is
//! the only way from here to a process.

use crate::failure::{Failure, FailureCode};
use futures_util::future::BoxFuture;
use ostler_host::{Process, Stdio};
use ostler_wire::{Why, Word};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    /// Absolute; `None` where the configuration names none.
    pub cwd: Option<PathBuf>,
    /// Beside the environment of all commands.
    pub env: Vec<(OsString, OsString)>,
    pub confinement: Confinement,
}

/// In which sandbox the programs of a server run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// None, as long as it starts in a place that commands cannot change and names no other; else as one of the project.
    /// The person named it themselves and said nothing else.
    #[default]
    ByPlace,
    /// None: the person said so.
    Free,
    /// That of commands, with the network: the project named it.
    Project,
    /// That of commands at the place of the session, which is another one than this machine.
    AtPlace,
    /// That of commands, and not without: the person wants it so. Single hosts cannot be granted to it.
    Wanted,
}

impl Program {
    /// As it was configured.
    pub fn name(&self) -> String {
        let name = self.argv.first();
        name.map_or_else(String::new, |word| word.to_string_lossy().into_owned())
    }
}

/// Starts programs of servers, each in the sandbox that its confinement asks for.
pub trait Launcher: Send + Sync {
    /// Called once for every program, before a command of a session can run. It may block.
    fn remember(&self, program: &Program);

    /// Whether a program runs in a sandbox, by what it depends on now. Blocks.
    fn is_confined(&self, program: &Program) -> bool;

    /// The folder in which a program starts that nobody chose and that is not the project, for messages. Blocks.
    fn unchosen_folder(&self, program: &Program) -> Option<PathBuf>;

    fn launch<'a>(
        &'a self,
        program: &'a Program,
        stdio: Stdio,
    ) -> BoxFuture<'a, Result<Process, LaunchError>>;

    /// Called when a program has answered: undoes what programs changed against the rules of their sandbox meanwhile.
    fn look(&self) -> BoxFuture<'_, ()>;
}

/// Why a program was not started.
#[derive(Debug)]
pub enum LaunchError {
    /// It must not run the way it is configured.
    Settings(Why),
    /// The sandbox that it needs could not be made.
    Sandbox(Why),
    Host(ostler_host::Error),
}

impl LaunchError {
    pub fn why(&self) -> Why {
        match self {
            Self::Settings(why) | Self::Sandbox(why) => why.clone(),
            Self::Host(error) => error.into(),
        }
    }

    /// The same for the person who configured the program, with what to do about it.
    pub fn failure(&self, program: &Program) -> Failure {
        let why = self.why();
        match self {
            Self::Settings(_) => Failure::new(FailureCode::Settings, why),
            Self::Sandbox(_) => Failure::new(FailureCode::NotStarted, why),
            Self::Host(error) => host_failure(error, why, program),
        }
    }
}

fn host_failure(error: &ostler_host::Error, why: Why, program: &Program) -> Failure {
    use ostler_host::Error;
    if let Error::NotExecutable { .. } = error {
        let why = Why::ours(Word::McpNotRunnable, [why]);
        return Failure::new(FailureCode::NotExecutable, why);
    }
    if let Error::WorkingDirectory { .. } = error {
        return Failure::new(FailureCode::NoFolder, Why::ours(Word::McpNoCwd, [why]));
    }
    if let Error::ProgramNotFound { .. } = error {
        let why = Why::ours(Word::McpInstalled, [why, program.name().into()]);
        return Failure::new(FailureCode::ProgramMissing, why);
    }
    Failure::new(FailureCode::NotStarted, why)
}
