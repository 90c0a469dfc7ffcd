//! How programs of servers and plugins are started: in the sandbox that their confinement asks for, or outside of it. A
//! program of the person starts outside in a place that commands cannot change, so that it finds nothing there that a
//! command left. With the person's word one runs outside although commands may change its files. What such a file holds is
//! remembered before the first command of this process, and a program whose files hold something else by then is not
//! started again.

use futures_util::future::BoxFuture;
use ostler_confine::{
    Changeable, CommandPlace, Launch, PROJECT_VARIABLE, SandboxMode, SandboxSettings, Services,
    SpawnError, Spawned, Start, Terms, helpers, independent_folder, named_files, spawn,
    start_outside, start_plainly,
};
use ostler_host::sandbox::Network;
use ostler_host::{Command, Host, Process, Stdio};
use ostler_mcp::{Confinement, LaunchError, Launcher, Program};
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
    /// Where file tools may write.
    pub writable: Vec<PathBuf>,
    /// The project.
    pub root: PathBuf,
    pub user_home: Option<PathBuf>,
    /// The place of sessions, if that is another one.
    pub there: Option<PlaceLauncher>,
}

/// What programs at the place of a session are started with.
#[derive(Clone)]
pub struct PlaceLauncher {
    pub host: Arc<dyn Host>,
    pub env: Vec<(OsString, OsString)>,
    pub sandbox: SandboxSettings,
    pub root: PathBuf,
    pub user_home: Option<PathBuf>,
}

impl PlaceLauncher {
    /// In the sandbox of commands there, with the network.
    async fn start(&self, program: &Program, stdio: Stdio) -> Result<Process, LaunchError> {
        let mut env = self.env.clone();
        env.retain(|(name, _)| program.env.iter().all(|(own, _)| name != own));
        env.extend(program.env.iter().cloned());
        env.push((PROJECT_VARIABLE.into(), self.root.clone().into()));
        let command = Command {
            argv: program.argv.clone(),
            cwd: program.cwd.clone().unwrap_or_else(|| self.root.clone()),
            env,
            stdio,
            sandbox: None,
        };
        let settings = confined(&self.sandbox, Confinement::AtPlace);
        let services = Services {
            root: Some(self.root.clone()),
            user_home: self.user_home.clone(),
            ..Services::without_session(self.host.clone(), settings)
        };
        started(spawn(&services, command, &Terms::default()).await)
    }
}

/// What it is for whoever wanted a program.
fn started(spawned: Result<Spawned, SpawnError>) -> Result<Process, LaunchError> {
    spawned.map(|it| it.process).map_err(|error| match error {
        SpawnError::Host(error) => LaunchError::Host(error),
        SpawnError::Off => LaunchError::Sandbox(Word::McpNoSandbox.into()),
        SpawnError::Sandbox(error) => LaunchError::Sandbox((&error).into()),
        SpawnError::Terms(error) => LaunchError::Sandbox(error.message.as_str().into()),
    })
}

impl SandboxLauncher {
    fn changeable(&self) -> Changeable {
        Changeable::of(&self.sandbox, &self.writable)
    }

    fn launch_of<'a>(&'a self, program: &'a Program) -> Launch<'a> {
        Launch {
            argv: &program.argv,
            cwd: program.cwd.as_deref(),
            env: &program.env,
            inherited: &self.env,
            root: &self.root,
            home: self.user_home.as_deref(),
        }
    }

    /// The sandbox that a program gets by what it depends on now, and where it starts, or why it is not to be started.
    /// Blocks.
    fn choose_start(&self, program: &Program) -> Result<(Confinement, Start), LaunchError> {
        let launch = self.launch_of(program);
        let plain = || start_plainly(&launch);
        match program.confinement {
            Confinement::ByPlace => Ok(match start_outside(&self.changeable(), &launch) {
                Some(start) => (Confinement::Free, start),
                None => (Confinement::Project, plain()),
            }),
            confinement @ (Confinement::Project | Confinement::AtPlace | Confinement::Wanted) => {
                Ok((confinement, plain()))
            }
            Confinement::Free => match changed(&named_files(&self.changeable(), &launch)) {
                None => Ok((Confinement::Free, plain())),
                Some(path) => {
                    let path = path.display().to_string();
                    let why = Why::ours(Word::McpFileChanged, [path.into()]);
                    Err(LaunchError::Settings(why))
                }
            },
        }
    }

    /// What a program in the sandbox changes against the rules is put back when it ends, whoever drops it.
    async fn start(&self, program: &Program, stdio: Stdio) -> Result<Process, LaunchError> {
        if let (Confinement::AtPlace, Some(there)) = (program.confinement, &self.there) {
            return there.start(program, stdio).await;
        }
        let (launcher, named) = (self.clone(), program.clone());
        let choose = move || launcher.choose_start(&named);
        let chosen = tokio::task::spawn_blocking(choose).await;
        let closing = |_| LaunchError::Sandbox(Word::McpClosing.into());
        let (confinement, mut start) = chosen.map_err(closing)??;
        if !start.env.iter().any(|(name, _)| name == PROJECT_VARIABLE) {
            let root = self.root.clone().into();
            start.env.push((PROJECT_VARIABLE.into(), root));
        }
        let command = Command {
            argv: program.argv.clone(),
            cwd: start.cwd,
            env: start.env,
            stdio,
            sandbox: None,
        };
        let settings = confined(&self.sandbox, confinement);
        let services = Services {
            share: helpers::share_of(&self.root),
            root: Some(self.root.clone()),
            user_home: self.user_home.clone(),
            ..Services::without_session(self.host.clone(), settings)
        };
        started(spawn(&services, command, &Terms::default()).await)
    }
}

impl Launcher for SandboxLauncher {
    fn remember(&self, program: &Program) {
        if program.confinement == Confinement::Free {
            changed(&named_files(&self.changeable(), &self.launch_of(program)));
        }
    }

    fn is_confined(&self, program: &Program) -> bool {
        match program.confinement {
            Confinement::ByPlace => {
                independent_folder(&self.changeable(), &self.launch_of(program)).is_none()
            }
            Confinement::Free => false,
            Confinement::AtPlace => {
                let layer = self.there.as_ref().map(|there| there.sandbox.place);
                matches!(layer, Some(CommandPlace::Elsewhere(Some(_))))
            }
            Confinement::Project | Confinement::Wanted => true,
        }
    }

    fn unchosen_folder(&self, program: &Program) -> Option<PathBuf> {
        match (program.confinement, &program.cwd) {
            (Confinement::ByPlace, None) => {
                independent_folder(&self.changeable(), &self.launch_of(program))
            }
            (Confinement::ByPlace, Some(_))
            | (
                Confinement::Free
                | Confinement::Project
                | Confinement::AtPlace
                | Confinement::Wanted,
                _,
            ) => None,
        }
    }

    fn launch<'a>(
        &'a self,
        program: &'a Program,
        stdio: Stdio,
    ) -> BoxFuture<'a, Result<Process, LaunchError>> {
        Box::pin(self.start(program, stdio))
    }

    fn look(&self) -> BoxFuture<'_, ()> {
        Box::pin(helpers::look(&self.root))
    }
}

fn confined(settings: &SandboxSettings, confinement: Confinement) -> SandboxSettings {
    let mut settings = settings.clone();
    match confinement {
        Confinement::Free => return SandboxSettings::default(),
        // Which of the two holds is settled before.
        Confinement::ByPlace | Confinement::Project | Confinement::AtPlace => {
            settings.policy.network = Network::On;
        }
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
