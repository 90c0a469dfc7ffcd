//! Programs of other agents that play by a script, for tests on unix: found on PATH by their usual names, they print streams in
//! the shapes of the real ones, speak the Agent Client Protocol where they are asked to, and keep what they were called
//! with.

use crate::workspace::TempWorkspace;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!("agents/agent.sh");
const STREAMS: &str = include_str!("agents/streams.txt");
/// Steps are played by their numbers; more than that nobody writes.
const MAX_CALLS: usize = 1_000;

/// What a program does in one call.
#[derive(Clone, Debug)]
pub struct Act(String);

impl Act {
    /// It works, calls a tool and answers with this text.
    pub fn answer(text: &str) -> Act {
        Act(format!("text='{text}'\nemit success\n"))
    }

    /// Its vendor refuses its key.
    pub fn error() -> Act {
        Act("emit error\n".into())
    }

    /// Its vendor has had enough of it.
    pub fn rate_limited() -> Act {
        Act("emit rate\n".into())
    }

    /// It prints nothing that can be read, and ends well.
    pub fn garbage() -> Act {
        Act("echo '%%% <html>not json'\necho '{\"half\": '\nexit 0\n".into())
    }

    /// It says nothing and ends only when it is killed.
    pub fn hang() -> Act {
        Act("trap '' TERM INT\nwhile :; do sleep 1; done\n".into())
    }

    /// It is killed in the middle of its work.
    pub fn killed() -> Act {
        Act("kill -9 $$\n".into())
    }

    /// It prints without end.
    pub fn flood() -> Act {
        Act("while :; do echo 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; done\n".into())
    }

    /// Lines of shell before what it does. They may set `text`, the answer.
    pub fn after(self, shell: &str) -> Act {
        // What is set by the lines counts.
        let rest = self.0.strip_prefix("text=''\n").unwrap_or(&self.0);
        Act(format!("{shell}\n{rest}"))
    }
}

/// The folder of these programs.
pub struct FakeAgents {
    bin: PathBuf,
    place: PathBuf,
    home: PathBuf,
}

/// What one was called with.
#[derive(Clone, Debug, Default)]
pub struct AgentCall {
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub stdin: String,
    pub cwd: String,
    pub pid: u32,
}

impl FakeAgents {
    /// None so far. Panics when the folders cannot be made.
    pub fn new(space: &TempWorkspace) -> FakeAgents {
        let base = space.user_home().parent().expect("a folder above the home");
        let made = |name: &str| {
            let path = base.join(name);
            fs::create_dir_all(&path).expect("a folder for programs");
            path
        };
        FakeAgents {
            bin: made("bin"),
            place: made("bin/steps"),
            home: space.user_home().to_owned(),
        }
    }

    /// The names of all that are known.
    pub fn names() -> Vec<&'static str> {
        sections()
            .filter(|s| s.what == "state")
            .map(|s| s.name)
            .collect()
    }

    /// Puts a program on PATH. The last act is for all calls that follow.
    #[track_caller]
    pub fn add(&self, name: &str, acts: impl IntoIterator<Item = Act>) {
        let mut known = false;
        let mut state = "";
        for section in sections().filter(|section| section.name == name) {
            known = true;
            match section.what {
                "state" => state = section.value,
                what => {
                    let stream = self.place.join(format!("{name}.{what}.stream"));
                    fs::write(stream, section.body).expect("a stream");
                    let code = self.place.join(format!("{name}.{what}.code"));
                    fs::write(code, section.value).expect("an exit code");
                }
            }
        }
        assert!(known, "no agent is called {name}");
        fs::create_dir_all(self.home.join(state)).expect("a state folder");
        let mut last = String::new();
        for (number, act) in acts.into_iter().enumerate() {
            let step = self.place.join(format!("{name}.{}", number + 1));
            fs::write(step, &act.0).expect("a step");
            last = act.0;
        }
        fs::write(self.place.join(format!("{name}.last")), last).expect("the last step");
        let script = SCRIPT
            .replace("@NAME@", name)
            .replace("@PLACE@", &self.place.display().to_string())
            .replace("@STATE@", state);
        let program = self.bin.join(name);
        fs::write(&program, script).expect("a program");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&program, executable).expect("an executable");
    }

    /// PATH with these programs first.
    pub fn path(&self) -> OsString {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.bin.clone()).chain(std::env::split_paths(&usual));
        std::env::join_paths(folders).expect("a PATH")
    }

    /// What a program was called with, the first call first.
    pub fn calls(&self, name: &str) -> Vec<AgentCall> {
        let state = sections().find(|section| section.name == name && section.what == "state");
        let Some(state) = state else {
            return Vec::new();
        };
        let folder = self.home.join(state.value).join("fake");
        let calls = (1..MAX_CALLS).map(|number| folder.join(number.to_string()));
        let calls = calls.take_while(|path| path.exists());
        calls.map(|path| AgentCall::read(&path)).collect()
    }
}

impl AgentCall {
    fn read(folder: &Path) -> AgentCall {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let env = text("env");
        let env = env.lines().filter_map(|line| line.split_once('='));
        AgentCall {
            args: text("args").lines().map(str::to_owned).collect(),
            env: env.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            stdin: text("stdin"),
            cwd: text("cwd").trim().to_owned(),
            pid: text("pid").trim().parse().unwrap_or(0),
        }
    }

    /// Whether its process still runs.
    pub fn is_running(&self) -> bool {
        let pid = i32::try_from(self.pid).unwrap_or(0);
        let pid = rustix::process::Pid::from_raw(pid);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }
}

struct Section<'a> {
    name: &'a str,
    what: &'a str,
    value: &'a str,
    body: &'a str,
}

fn sections() -> impl Iterator<Item = Section<'static>> {
    STREAMS.split("=== ").skip(1).filter_map(|section| {
        let (head, body) = section.split_once('\n')?;
        let mut words = head.split(' ');
        Some(Section {
            name: words.next()?,
            what: words.next()?,
            value: words.next()?,
            body,
        })
    })
}
