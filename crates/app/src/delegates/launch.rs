//! Starts other agents' programs: found on PATH, with the person's environment without secrets but those of their own
//! login, in the sandbox that the engine makes for what they may touch.

use crate::boot::Boot;
use crate::grants::granted;
use ostler_config::paths::Env;
use ostler_delegate::services::{
    Confinement, LaunchError, Launcher, Program, Purpose, StateFolder,
};
use ostler_delegate::setup::Filesystem;
use ostler_delegate::setup::catalogue::deciding;
use ostler_engine::agents::foreign::{ForeignLauncher, OwnState, Reach};
use ostler_engine::confine::SpawnError;
use ostler_host::{Command, Process, Programs};
use ostler_wire::BoxFuture;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of packages of the runtime that most agents are written for.
const PACKAGES: &str = "node_modules";

/// What all programs are started with.
#[derive(Clone)]
pub struct Ground {
    env: Arc<[(OsString, OsString)]>,
    /// With secrets: each program gets its own.
    own: Arc<Env>,
    home: Option<PathBuf>,
    /// A program that a command could have put there would get the person's login.
    programs: Arc<Programs>,
    /// By backend, variables that the person wants it to have.
    passed: Arc<BTreeMap<String, Vec<String>>>,
}

impl Ground {
    pub fn new(boot: &Boot, hidden: &[String]) -> Self {
        let backends = boot.loaded.config.backend.iter();
        let passed = backends.map(|(name, backend)| (name.clone(), backend.env_pass.clone()));
        Self {
            programs: Arc::new(programs(boot)),
            env: boot.agent_env(hidden).into(),
            own: Arc::new(boot.env.clone()),
            home: boot.places.user_home.clone(),
            passed: Arc::new(passed.collect()),
        }
    }

    /// For one task.
    pub fn launch(&self, launcher: Arc<ForeignLauncher>) -> Launch {
        Launch {
            ground: self.clone(),
            launcher,
        }
    }

    fn environment(&self, program: &Program) -> Vec<(OsString, OsString)> {
        let mut env = self.env.to_vec();
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        let of_backend = self.passed.get(&program.confinement.backend);
        let passed = program
            .passed_env
            .iter()
            .chain(of_backend.into_iter().flatten());
        for name in passed {
            if let Some(value) = self.own.get(name) {
                set(name, value.into());
            }
        }
        for (name, value) in &program.env {
            set(name, value.into());
        }
        env
    }

    /// An agent's own state, with the folders in it that it may change, made where they are missing: it could not make
    /// them itself.
    fn state(&self, state: &StateFolder) -> Option<OwnState> {
        let moved = state.env.as_ref().and_then(|name| self.own.get(name));
        let moved = moved.filter(|path| Path::new(path).is_absolute());
        let path = match (moved, state.path.strip_prefix("~/")) {
            (Some(path), _) => Path::new(path).join(state.below.as_deref().unwrap_or_default()),
            (None, Some(inner)) => self.home.as_ref()?.join(inner),
            (None, None) => return None,
        };
        let writes = !state.writable.is_empty() || !state.makes.is_empty();
        if writes && !path.exists() {
            ostler_host::private_dir(&path).ok()?;
        }
        if !path.exists() {
            return None;
        }
        let path = ostler_host::real_path(&path);
        let named = state.writable.iter().chain(&state.kept);
        let folders = named.filter_map(|it| it.strip_suffix('/'));
        let folders = folders.chain(state.private.iter().map(String::as_str));
        for folder in folders.map(|name| path.join(name)) {
            if !folder.exists() && !folder.is_symlink() {
                ostler_host::private_dir(&folder).ok()?;
            }
        }
        let named = |names: &[String]| -> Vec<PathBuf> {
            let names = names.iter().map(|name| name.trim_end_matches('/'));
            names.map(|name| path.join(name)).collect()
        };
        Some(OwnState {
            writable: named(&state.writable),
            kept: named(&state.kept),
            private: named(&state.private),
            makes: state.makes.clone(),
            deciding: named(deciding()),
            path,
        })
    }

    fn reach(&self, confinement: &Confinement, program: &Path) -> Reach {
        let is_agent = confinement.purpose == Purpose::Agent;
        let writes = confinement.capabilities.filesystem == Filesystem::ReadWrite;
        let state = confinement.state.iter();
        Reach {
            state: state.filter_map(|state| self.state(state)).collect(),
            programs: homes_of(program).collect(),
            shown: confinement.include.clone(),
            hosts: confinement.hosts.clone(),
            changes_project: is_agent && writes,
            network: is_agent && confinement.may_use_network(),
        }
    }
}

/// Where a program and what belongs to it lie: its folder, and that of the packages that it leads into.
fn homes_of(program: &Path) -> impl Iterator<Item = PathBuf> {
    let real = ostler_host::real_path(program);
    let packages = real.ancestors().find(|path| path.ends_with(PACKAGES));
    let packages = packages.or(real.parent()).map(Path::to_owned);
    program
        .parent()
        .map(Path::to_owned)
        .into_iter()
        .chain(packages)
}

fn programs(boot: &Boot) -> Programs {
    let path = boot.env.get("PATH").map(OsStr::new);
    Programs::new(path, &granted(boot))
}

/// Starts the programs of one task.
pub struct Launch {
    ground: Ground,
    launcher: Arc<ForeignLauncher>,
}

impl Launch {
    async fn start(&self, program: &Program) -> Result<Process, LaunchError> {
        let name = program
            .argv
            .first()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let Some(path) = self.ground.programs.find(&name) else {
            return Err(LaunchError::Missing(name));
        };
        let arguments = program.argv.iter().skip(1).cloned();
        let command = Command {
            argv: std::iter::once(path.clone().into())
                .chain(arguments)
                .collect(),
            cwd: program.cwd.clone(),
            env: self.ground.environment(program),
            stdio: program.stdio,
            sandbox: None,
        };
        let reach = self.ground.reach(&program.confinement, &path);
        let started = self.launcher.start(command, &reach).await;
        started.map_err(|error| match error {
            SpawnError::Host(error) => LaunchError::Host(error),
            SpawnError::Off => LaunchError::Sandbox("it is switched off".into()),
            SpawnError::Sandbox(error) => LaunchError::Sandbox(error.to_string()),
            SpawnError::Terms(error) => LaunchError::Sandbox(error.message),
        })
    }
}

impl Launcher for Launch {
    fn launch<'a>(&'a self, program: &'a Program) -> BoxFuture<'a, Result<Process, LaunchError>> {
        Box::pin(self.start(program))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        self.ground.programs.find(name)
    }
}
