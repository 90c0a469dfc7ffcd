//! Shared by these tests: running the binary, logs written by hand, and output without what differs from run to run.

use ostler_testkit::{Output, Run, TempWorkspace};
use serde_json::{Value, json};
use std::path::PathBuf;

pub const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";

pub trait Ostler {
    /// Runs `ostler` with these words.
    fn ostler<const N: usize>(&self, args: [&str; N]) -> Run;
    /// The output with paths replaced: one text of exit code, stdout and stderr.
    fn shown(&self, output: &Output) -> String;
    fn clean(&self, text: &str) -> String;
    /// Writes a session of this project.
    fn session(&self, id: &str, lines: &[Value]) -> PathBuf;
}

impl Ostler for TempWorkspace {
    fn ostler<const N: usize>(&self, args: [&str; N]) -> Run {
        self.run(env!("CARGO_BIN_EXE_ostler")).args(args)
    }

    fn shown(&self, output: &Output) -> String {
        let mut text = format!("exit {}\n", output.code.unwrap_or(-1));
        if !output.stdout.is_empty() {
            text.push_str(&output.stdout);
        }
        if !output.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&output.stderr);
        }
        self.clean(&text)
    }

    fn clean(&self, text: &str) -> String {
        let path = |path: &std::path::Path| path.display().to_string();
        let scratch = self.root().with_file_name("tmp");
        text.replace(&path(self.home()), "HOME")
            .replace(&path(self.user_home()), "USER")
            .replace(&path(self.root()), "ROOT")
            .replace(&path(&scratch), "TMP")
            .replace(
                &ostler_engine::store::project_name(self.root()),
                "project-########",
            )
            .replace('\u{1b}', "<ESC>")
    }

    fn session(&self, id: &str, lines: &[Value]) -> PathBuf {
        let project = ostler_engine::store::project_name(self.root());
        let path = self.home().join(format!("sessions/{project}/{id}.jsonl"));
        self.write(path, log(id, lines))
    }
}

/// A log: the meta line, then these, numbered, a second apart in the year 2020.
pub fn log(id: &str, lines: &[Value]) -> String {
    let meta = json!({"type": "meta", "schema_version": 1, "session_id": id, "root": "/project", "prefix": "p"});
    let mut text = String::new();
    for (i, line) in std::iter::once(&meta).chain(lines).enumerate() {
        let mut line = line.clone();
        line["entry"] = json!(i);
        line["parent"] = if i == 0 { Value::Null } else { json!(i - 1) };
        line["ts"] = json!(format!("2020-01-05T10:00:{i:02}.000Z"));
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

pub fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "text": text})
}

pub fn assistant(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "text": text, "parts": [{"text": {"text": text}}],
        "model": {"provider": "mock", "model": "m"}, "stop": "end"})
}

/// What a request recorded: prompt and shared bytes, with a dollar for a cost.
pub fn usage(prompt: u64, shared: u64) -> Value {
    json!({"type": "usage", "provider": "mock", "model": "m", "input": prompt / 4, "cached": shared / 4,
        "cache_write": 0, "output": 10, "cost": 1.0, "prompt_bytes": prompt, "shared_bytes": shared})
}

/// The same where the prompt broke.
pub fn broken(prompt: u64, shared: u64, cause: &str) -> Value {
    let mut line = usage(prompt, shared);
    line["break"] = json!({"at": shared, "owner": "tools", "cause": cause, "lost_tokens": 1500, "cost": 0.0045});
    line
}

/// Runs `ostler` on a terminal of 80 columns, typing each line once its prompt has shown.
#[cfg(target_os = "linux")]
pub fn on_terminal<const N: usize>(
    space: &TempWorkspace,
    args: [&str; N],
    talk: &[(&str, &str)],
) -> (String, Option<i32>) {
    use ostler_host::{Command, Host, Local, Output, Stdio};
    use std::ffi::OsString;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(60);
    let words = std::iter::once(env!("CARGO_BIN_EXE_ostler")).chain(args);
    let mut env: Vec<(OsString, OsString)> = space
        .env()
        .into_iter()
        .map(|(k, v)| (k.into(), v))
        .collect();
    env.push(("TERM".into(), "xterm".into()));
    let command = Command {
        argv: words.map(OsString::from).collect(),
        cwd: space.root().into(),
        env,
        stdio: Stdio::Pty { rows: 24, cols: 80 },
        sandbox: None,
    };
    let talk: Vec<(String, String)> = talk
        .iter()
        .map(|(p, l)| ((*p).into(), format!("{l}\n")))
        .collect();
    let whole = async move {
        let mut process = Local::new().spawn(command).await.expect("a process");
        let (mut text, mut answered, mut talk) = (String::new(), 0, talk.into_iter().peekable());
        loop {
            match process.next().await {
                Output::Stdout(bytes) | Output::Stderr(bytes) => {
                    text.push_str(&String::from_utf8_lossy(&bytes))
                }
                Output::Exited(exit) => return (text.replace("\r\n", "\n"), exit.code),
            }
            while let Some((_, line)) =
                talk.next_if(|(prompt, _)| text[answered..].contains(prompt.as_str()))
            {
                answered = text.len();
                process.write_stdin(line.as_bytes()).await.expect("input");
            }
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(LIMIT, whole).await.expect("it hangs") })
}
