//! What the tests share: a folder with fake agents on the path, the service on top of it, and a watcher that remembers.
#![allow(dead_code, reason = "each test program uses its part")]

use ostler_delegate::Delegation;
use ostler_delegate::activity::{
    Activity, Group, Member, PermissionAnswer, PermissionRequest, Watcher,
};
use ostler_delegate::outcome::Outcome;
use ostler_delegate::request::Request;
use ostler_delegate::services::{
    Defaults, LaunchError, Launcher, LoadedSetup, OwnAgent, Program, Services, SetupSource,
};
use ostler_delegate::setup::{self, SetupError};
use ostler_host::{Command, Host, Local, Process};
use ostler_wire::BoxFuture;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct Scene {
    dir: TempDir,
    pub launcher: Arc<TestLauncher>,
    pub own: Option<Arc<dyn OwnAgent>>,
    pub defaults: Defaults,
    setup: Value,
}

impl Scene {
    pub fn new(setup: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        let launcher = Arc::new(TestLauncher {
            local: Local::new(),
            bin: dir.path().join("bin"),
            launched: Mutex::default(),
        });
        Self {
            launcher,
            own: None,
            defaults: Defaults {
                cwd: project,
                conversation_id: Some("c1".to_owned()),
                ..Defaults::default()
            },
            setup,
            dir,
        }
    }

    /// Puts a shell script on the path.
    pub fn cli(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// A fake agent that prints a stream and exits.
    pub fn prints(self, name: &str, stdout: &str, stderr: &str, code: i32) -> Self {
        let at = |part: &str| self.dir.path().join(format!("{name}.{part}"));
        fs::write(at("out"), stdout).unwrap();
        fs::write(at("err"), stderr).unwrap();
        let (out, err) = (
            at("out").display().to_string(),
            at("err").display().to_string(),
        );
        self.cli(name, &format!("cat '{out}'; cat '{err}' >&2; exit {code}"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn project(&self) -> &Path {
        &self.defaults.cwd
    }

    pub fn delegation(&self) -> Delegation {
        let services = Services {
            launcher: self.launcher.clone(),
            own: self.own.clone(),
            setups: Arc::new(FixedSetup(self.setup.clone())),
            sessions: self.dir.path().join("sessions"),
        };
        Delegation::new(services, self.defaults.clone())
    }

    pub async fn three(&self, request: Request) -> (Outcome, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        let cancel = CancellationToken::new();
        let outcome = self
            .delegation()
            .three(&request, seen.clone(), &cancel)
            .await;
        (outcome, seen)
    }

    /// The command line of the last program, joined.
    pub fn last_argv(&self) -> String {
        let launched = self.launcher.launched.lock().unwrap();
        let argv = &launched.last().unwrap().argv;
        let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    pub fn launched(&self) -> Vec<Program> {
        self.launcher.launched.lock().unwrap().clone()
    }
}

pub struct TestLauncher {
    local: Local,
    bin: PathBuf,
    launched: Mutex<Vec<Program>>,
}

impl Launcher for TestLauncher {
    fn launch<'a>(&'a self, program: &'a Program) -> BoxFuture<'a, Result<Process, LaunchError>> {
        self.launched.lock().unwrap().push(program.clone());
        // An agent that is installed on the machine must not play a part that no test gave it.
        let is_given = self.bin.join(&program.argv[0]).exists() || program.argv[0] == "git";
        let system = if is_given {
            ":/usr/local/bin:/usr/bin:/bin"
        } else {
            ""
        };
        let path = format!("{}{system}", self.bin.display());
        let mut env = vec![("PATH".into(), path.into())];
        let own = program
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        env.extend(own);
        let command = Command {
            argv: program.argv.clone(),
            cwd: program.cwd.clone(),
            env,
            stdio: program.stdio,
            sandbox: None,
        };
        Box::pin(async move { Ok(self.local.spawn(command).await?) })
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        Some(self.bin.join(name)).filter(|path| path.exists())
    }
}

struct FixedSetup(Value);

impl SetupSource for FixedSetup {
    fn load(&self, folder: &Path, _client: Option<&str>) -> Result<LoadedSetup, SetupError> {
        let file = folder.join(".three.json");
        let setup = setup::parse(&file, self.0.to_string().as_bytes())?;
        Ok(LoadedSetup {
            setup,
            sources: vec![file],
        })
    }
}

/// Remembers what it is told, and answers as it is set to.
#[derive(Default)]
pub struct Seen {
    pub activities: Mutex<Vec<Activity>>,
    pub asked: Mutex<Vec<PermissionRequest>>,
    /// `None`: it never answers.
    pub answer: Mutex<Option<PermissionAnswer>>,
}

impl Seen {
    pub fn answering(answer: PermissionAnswer) -> Arc<Self> {
        let seen = Self::default();
        *seen.answer.lock().unwrap() = Some(answer);
        Arc::new(seen)
    }

    pub fn all(&self) -> Vec<Activity> {
        self.activities.lock().unwrap().clone()
    }

    /// One short line for each, without notices and pieces.
    pub fn short(&self) -> Vec<String> {
        self.all().iter().filter_map(short).collect()
    }
}

fn short(activity: &Activity) -> Option<String> {
    match activity {
        Activity::Started(started) => Some(format!("started {}", started.backend)),
        Activity::Session(id) => Some(format!("session {id}")),
        Activity::Message(text) => Some(format!("message {}", text.trim())),
        Activity::Reasoning(text) => Some(format!("reasoning {}", text.trim())),
        Activity::ToolStarted(call) => {
            Some(format!("call {} {} {:?}", call.id, call.title, call.kind))
        }
        Activity::ToolFinished(call) => {
            let how = if call.ok { "ok" } else { "failed" };
            Some(format!("{how} {} {}", call.id, call.output.trim()))
        }
        Activity::Plan(steps) => Some(format!("plan of {}", steps.len())),
        Activity::Usage(cost) => Some(format!(
            "usage {}/{}",
            cost.input_tokens, cost.output_tokens
        )),
        Activity::Retry(retry) => Some(format!("retry {}", retry.message)),
        Activity::Piece(_) | Activity::Notice(_) => None,
    }
}

impl Watcher for Seen {
    fn activity(&self, activity: Activity) {
        self.activities.lock().unwrap().push(activity);
    }

    fn permission(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

/// Remembers the beginnings and ends of tasks.
#[derive(Default)]
pub struct SeenGroup {
    pub log: Mutex<Vec<String>>,
}

impl Group for SeenGroup {
    fn started(&self, member: &Member) -> Arc<dyn Watcher> {
        self.log
            .lock()
            .unwrap()
            .push(format!("started {} {}", member.name, member.role));
        Arc::new(Seen::default())
    }

    fn finished(&self, member: &Member, outcome: &Outcome) {
        let how = if outcome.success { "ok" } else { "failed" };
        self.log
            .lock()
            .unwrap()
            .push(format!("{how} {} {}", member.name, outcome.role));
    }
}

pub fn request(role: &str, prompt: &str) -> Request {
    Request {
        role: Some(role.to_owned()),
        prompt: prompt.to_owned(),
        ..Request::default()
    }
}
