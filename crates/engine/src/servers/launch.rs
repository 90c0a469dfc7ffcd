//! How programs of servers and plugins are started: in the sandbox that their confinement asks for, or outside of it.
//! Programs that run outside although commands may change their files do so because the person said so. What such a file
//! holds is remembered before the first command of this process, and a program whose files hold something else by then is
//! not started again.

use crate::confine::{
    self, Launch, SandboxMode, SandboxSettings, Services, SpawnError, Terms, spawn,
};
use futures_util::future::BoxFuture;
use ostler_host::sandbox::Network;
use ostler_host::{Command, Host, Process, Stdio};
use ostler_mcp::{Confinement, Endpoint, LaunchError, Launcher, Program, Server};
use ostler_wire::{Why, Word};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a file that count; its length counts, too.
const MAX_READ: u64 = 64 << 20;
/// What interpreters run of a folder that they are given.
const ENTRIES: [&str; 3] = ["__main__.py", "index.js", "package.json"];

/// Of every file, what it held when it was first named. Settings may be read again; this is not.
static ORIGINALS: Mutex<BTreeMap<PathBuf, Content>> = Mutex::new(BTreeMap::new());

/// What a file holds; `None` for one that is not there or cannot be read.
type Content = Option<(u64, Vec<u8>)>;

/// Starts programs under the settings that hold for all commands. Cheap to clone.
#[derive(Clone)]
pub struct SandboxLauncher {
    pub host: Arc<dyn Host>,
    /// The environment of commands, which has no key of a provider.
    pub env: Vec<(OsString, OsString)>,
    pub sandbox: SandboxSettings,
}

impl SandboxLauncher {
    /// The sandbox that a program gets, by what it depends on now, or why it is not to be started. Blocks.
    fn choose_confinement(&self, program: &Program) -> Result<Confinement, LaunchError> {
        let files = changeable(program, &self.sandbox, &self.env);
        let confinement = settle(program.confinement, || !files.is_empty());
        if confinement != Confinement::Free {
            return Ok(confinement);
        }
        match changed(&files) {
            None => Ok(confinement),
            Some(path) => {
                let path = path.display().to_string();
                let why = Why::ours(Word::McpFileChanged, [path.into()]);
                Err(LaunchError::Settings(why))
            }
        }
    }

    /// What a program in the sandbox changes against the rules is put back after each call, not at its end: it runs beside
    /// the person for the whole session, and a change between calls may be theirs.
    async fn start(&self, program: &Program, stdio: Stdio) -> Result<Process, LaunchError> {
        let command = Command {
            argv: program.argv.clone(),
            cwd: program.cwd.clone(),
            env: program.whole_env(&self.env),
            stdio,
            sandbox: None,
        };
        let (launcher, named) = (self.clone(), program.clone());
        let choose = move || launcher.choose_confinement(&named);
        let chosen = tokio::task::spawn_blocking(choose).await;
        let closing = |_| LaunchError::Sandbox(Word::McpClosing.into());
        let settings = confined(&self.sandbox, chosen.map_err(closing)??);
        let services = Services::without_session(self.host.clone(), settings);
        let spawned = spawn(&services, command, &Terms::default()).await;
        spawned.map(|it| it.process).map_err(|error| match error {
            SpawnError::Host(error) => LaunchError::Host(error),
            SpawnError::Off => LaunchError::Sandbox(Word::McpNoSandbox.into()),
            SpawnError::Sandbox(error) => LaunchError::Sandbox((&error).into()),
            SpawnError::Terms(error) => LaunchError::Sandbox(error.message.as_str().into()),
        })
    }
}

impl Launcher for SandboxLauncher {
    fn remember(&self, program: &Program) {
        if program.confinement == Confinement::Free {
            changed(&changeable(program, &self.sandbox, &self.env));
        }
    }

    fn launch<'a>(
        &'a self,
        program: &'a Program,
        stdio: Stdio,
    ) -> BoxFuture<'a, Result<Process, LaunchError>> {
        Box::pin(self.start(program, stdio))
    }
}

/// Whether the program of a server runs in a sandbox, started with this environment. Blocks.
pub fn is_confined(
    server: &Server,
    sandbox: &SandboxSettings,
    env: &[(OsString, OsString)],
) -> bool {
    match &server.endpoint {
        Endpoint::Program(program) => {
            let depends = || !changeable(program, sandbox, env).is_empty();
            settle(program.confinement, depends) != Confinement::Free
        }
        Endpoint::Address(_) | Endpoint::Unusable(_) => false,
    }
}

/// What holds for a program of which `depends` says whether commands may change what it depends on.
fn settle(confinement: Confinement, depends: impl FnOnce() -> bool) -> Confinement {
    match confinement {
        Confinement::ByFiles if depends() => Confinement::Project,
        Confinement::ByFiles => Confinement::Free,
        Confinement::Free | Confinement::Project | Confinement::Wanted => confinement,
    }
}

/// What a program depends on and commands may change. Blocks.
fn changeable(
    program: &Program,
    sandbox: &SandboxSettings,
    env: &[(OsString, OsString)],
) -> Vec<PathBuf> {
    let launch = Launch {
        argv: &program.argv,
        cwd: &program.cwd,
        env: &program.whole_env(env),
    };
    confine::changeable(sandbox, &launch)
}

fn confined(settings: &SandboxSettings, confinement: Confinement) -> SandboxSettings {
    let mut settings = settings.clone();
    match confinement {
        // Whether it depends on anything is settled before.
        Confinement::Free => return SandboxSettings::default(),
        Confinement::ByFiles | Confinement::Project => settings.policy.network = Network::On,
        Confinement::Wanted => {
            settings.mode = SandboxMode::Require;
            settings.policy.network = match settings.policy.network {
                Network::On => Network::On,
                Network::Off | Network::Loopback | Network::Proxy => Network::Loopback,
            };
        }
    }
    settings
}

/// The first of these files that no longer holds what it did. One that is new here counts as it is now.
fn changed(files: &[PathBuf]) -> Option<PathBuf> {
    let inner = |path: &PathBuf| ENTRIES.map(|name| path.join(name));
    let folders = files.iter().filter(|path| path.is_dir());
    let all: Vec<PathBuf> = folders.flat_map(inner).collect();
    let mut originals = ORIGINALS.lock().unwrap_or_else(PoisonError::into_inner);
    let differs = |path: &&PathBuf| {
        let now = content(path);
        let before = originals.entry((*path).clone());
        *before.or_insert_with(|| now.clone()) != now
    };
    let files = files.iter().filter(|path| !path.is_dir());
    files.chain(&all).find(differs).cloned()
}

fn content(path: &Path) -> Content {
    let file = ostler_host::open_without_waiting(path).ok()?;
    let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut hash = Sha256::new();
    let mut left = file.take(MAX_READ);
    let mut piece = vec![0; 64 << 10];
    loop {
        match left.read(&mut piece).ok()? {
            0 => break,
            length => hash.update(piece.get(..length)?),
        }
    }
    Some((meta.len(), hash.finalize().to_vec()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_script_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.js");
        std::fs::write(&script, "1").unwrap();
        assert!(content(&script).is_some());
        std::fs::remove_file(&script).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&script).status();
        assert!(made.unwrap().success());
        assert_eq!(content(&script), None);
    }
}
