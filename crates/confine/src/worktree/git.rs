//! Git as Ostler runs it itself: on a repository that is named and not looked for, in a sandbox of its own that is never wider
//! than that of commands, without network, hooks and file monitors. Only plumbing is used where a model has written: it never
//! looks into a repository inside of the tree, whose own configuration could name programs.

use crate::{CallSandbox, SandboxMode, Services, SpawnError, Spawned, Terms};
use ostler_host::checkpoint::Repository;
use ostler_host::sandbox::{self, Network, UnixSockets};
use ostler_host::{Command, Exit, Output, Process, Signal, Stdio};
use ostler_tools::tool::ToolError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes that git may print; more is an error, since half a list of files is wrong.
const MAX_OUTPUT: usize = 64 << 20;
/// Bytes of an error that are kept.
const MAX_ERROR: usize = 16 << 10;
/// How long one call of git may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a killed git is waited for.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// What holds for every call, whatever the configuration of the repository says.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "diff.ignoreSubmodules=all",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "rerere.enabled=false",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "user.name=Ostler",
    "user.email=ostler@localhost",
];
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_EDITOR", ":"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];
/// Variables of the person's that say where git and its configuration are; every other `GIT_…` is left out.
const PASSED: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH"];
/// In a git folder, what decides which programs git runs or where it looks for that.
const PROTECTED: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "gitdir"];

/// What git printed, and whether it succeeded.
pub struct Said {
    pub success: bool,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// One call of git.
pub struct Call<'a> {
    pub repository: &'a Repository,
    pub args: &'a [&'a str],
    /// What it may change.
    pub writable: &'a [PathBuf],
    /// For its standard input.
    pub input: &'a [u8],
}

/// Runs git for one session.
pub struct Git {
    services: Services,
    env: Vec<(OsString, OsString)>,
    /// Our own folder, in which trees are made.
    folder: PathBuf,
}

impl Git {
    pub fn new(sandbox: &CallSandbox, folder: PathBuf) -> Self {
        let ours = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_") && !PASSED.contains(&name.as_ref())
        };
        let env = sandbox.tools.env.iter().filter(|(name, _)| !ours(name));
        let mut env: Vec<(OsString, OsString)> = env.cloned().collect();
        env.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        Self {
            // What it makes in the repository is ours.
            services: Services {
                root: None,
                history: None,
                ..sandbox.services()
            },
            env,
            folder,
        }
    }

    /// What it printed as text; the error is its own, in one line.
    pub async fn run(&self, call: Call<'_>) -> Result<String, String> {
        let printed = self.print(call).await?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    /// The same byte for byte, for names of files.
    pub async fn print(&self, call: Call<'_>) -> Result<Vec<u8>, String> {
        let said = self.attempt(call).await?;
        match said.success {
            true => Ok(said.stdout),
            false => {
                let lines: Vec<&str> = said.stderr.lines().collect();
                Err(lines.join(" ").trim().to_owned())
            }
        }
    }

    /// The same for a call whose failure says something.
    pub async fn attempt(&self, call: Call<'_>) -> Result<Said, String> {
        let Spawned {
            mut process,
            confined,
            ..
        } = self.start(&call).await?;
        let mut streams = Streams::default();
        let talking = talk(&mut process, call.input, &mut streams);
        let exit = tokio::time::timeout(PATIENCE, talking).await;
        if exit.is_err() {
            process.signal(Signal::Kill);
            let gone = async { while !matches!(process.next().await, Output::Exited(_)) {} };
            let _late = tokio::time::timeout(LAST_WAIT, gone).await;
        }
        if let Some(confined) = confined {
            confined
                .end(*exit.as_ref().unwrap_or(&Exit::LOST), &[])
                .await;
        }
        let exit = exit.map_err(|_| "git did not end in time".to_owned())?;
        if streams.stdout.len() > MAX_OUTPUT {
            return Err("git printed too much".into());
        }
        Ok(Said {
            success: exit.success(),
            stdout: streams.stdout,
            stderr: String::from_utf8_lossy(&streams.stderr).into_owned(),
        })
    }

    /// Where no layer works it runs all the same: none of the calls runs a program that the tree names.
    async fn start(&self, call: &Call<'_>) -> Result<Spawned, String> {
        let mode = self.services.sandbox.mode;
        let mut services = self.services.clone();
        if mode != SandboxMode::Off {
            services.sandbox.mode = SandboxMode::Require;
            services.sandbox.caches = None;
            self.narrow(&mut services.sandbox.policy, call)?;
        }
        let spawned = crate::spawn(&services, self.command(call), &Terms::default()).await;
        let spawned = match spawned {
            Err(SpawnError::Sandbox(sandbox::Error::Unavailable { .. }))
                if mode == SandboxMode::Enforce =>
            {
                services.sandbox.mode = SandboxMode::Off;
                crate::spawn(&services, self.command(call), &Terms::default()).await
            }
            spawned => spawned,
        };
        spawned.map_err(|error| ToolError::from(error).message)
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let Repository { top, dir, common } = call.repository;
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let argv = ["git"].into_iter().chain(settings);
        let argv = argv.chain(call.args.iter().copied());
        let mut env = self.env.clone();
        let places = [
            ("GIT_DIR", dir),
            ("GIT_COMMON_DIR", common),
            ("GIT_WORK_TREE", top),
        ];
        env.extend(places.map(|(name, path)| (name.into(), path.into())));
        Command {
            argv: argv.map(OsString::from).collect(),
            cwd: top.clone(),
            env,
            stdio: match call.input.is_empty() {
                true => Stdio::Pipes,
                false => Stdio::PipesWithStdin,
            },
            sandbox: None,
        }
    }

    /// The sandbox of commands, with nothing writable but what this call needs.
    fn narrow(&self, policy: &mut sandbox::Policy, call: &Call<'_>) -> Result<(), String> {
        let Repository { top, dir, common } = call.repository;
        // They may lie below a folder that commands see another one in place of.
        policy
            .visible
            .extend([top.clone(), dir.clone(), common.clone()]);
        let open: Vec<PathBuf> = policy.writable.iter().map(|path| real(path)).collect();
        let is_open = |path: &Path| open.iter().any(|outer| path.starts_with(outer));
        // Where a command can change it, a repository may point anywhere.
        let is_fixed = ![&top.join(".git"), dir, common]
            .map(|path| is_open(&real(path)))
            .contains(&true);
        let folder = real(&self.folder);
        for path in call.writable {
            let path = real(path);
            let is_ours = path.starts_with(&folder);
            let is_theirs = is_fixed && path.starts_with(real(common));
            if !(is_ours || is_theirs || is_open(&path)) {
                return Err(format!(
                    "{} lies outside of what commands may write",
                    path.display()
                ));
            }
        }
        policy.writable = call.writable.iter().map(|path| real(path)).collect();
        policy.network = Network::Off;
        policy.sockets.clear();
        policy.unix = UnixSockets::None;
        let folders = [dir, common];
        let protected = folders
            .iter()
            .flat_map(|folder| PROTECTED.map(|name| folder.join(name)));
        policy
            .protect
            .extend(protected.filter(|path| path.exists()));
        Ok(())
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[derive(Default)]
struct Streams {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

async fn talk(process: &mut Process, input: &[u8], streams: &mut Streams) -> Exit {
    let stdin = process.take_input();
    let writing = async {
        if let Some(mut stdin) = stdin {
            // Where git ends early, its exit says so.
            let _ = stdin.write_all(input).await;
        }
    };
    let mut writing = std::pin::pin!(writing);
    let mut written = false;
    loop {
        tokio::select! {
            () = &mut writing, if !written => written = true,
            output = process.next() => match output {
                Output::Exited(exit) => return exit,
                // One byte more than allowed shows that there was more.
                Output::Stdout(bytes) => keep(&mut streams.stdout, &bytes, MAX_OUTPUT + 1),
                Output::Stderr(bytes) => keep(&mut streams.stderr, &bytes, MAX_ERROR),
            },
        }
    }
}

fn keep(all: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = most.saturating_sub(all.len());
    all.extend(bytes.iter().take(room));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call_sandbox;
    use ostler_host::sandbox::Policy;
    use ostler_tools::testing::Bench;
    use std::fs;

    /// What a command may have put into its place makes no sandbox wider.
    #[test]
    fn a_repository_that_leads_elsewhere_opens_nothing() {
        let bench = Bench::new();
        let top = bench.root();
        let at = |name: &str| top.join(name);
        for name in ["p/.git/objects", "p/sub", "else/objects", "trees"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("else"), at("p/.git/led")).unwrap();
        fs::write(at("p/.git/config"), "").unwrap();
        let git = Git::new(&call_sandbox(&bench.context("task")), at("trees"));
        let check = |open: &str, dir: &str, path: &str, expect: bool| {
            let repository = Repository {
                top: at("p"),
                dir: at(dir),
                common: at(dir),
            };
            let mut policy = Policy {
                writable: vec![at(open)],
                network: Network::On,
                ..Policy::default()
            };
            let writable = [at(path)];
            let call = Call {
                repository: &repository,
                args: &[],
                writable: &writable,
                input: &[],
            };
            let done = git.narrow(&mut policy, &call);
            assert_eq!(done.is_ok(), expect, "{open} {dir} {path}: {done:?}");
            if done.is_ok() {
                assert_eq!(policy.writable, [at(path)]);
                assert_eq!(policy.network, Network::Off);
                assert!(policy.protect.contains(&at(dir).join("config")));
            }
        };
        check("p", "p/.git", "p/.git/objects", true);
        check("p", "p/.git", "trees", true);
        // No command can have changed what lies above the root.
        check("p/sub", "p/.git", "p/.git/objects", true);
        check("p/sub", "p/.git", "p/.git/led/objects", false);
        check("p", "p/.git", "p/.git/led/objects", false);
        check("p", "else", "else/objects", false);
        check("p", "p/.git/led", "p/.git/led/objects", false);
    }
}
