//! Commands in the terminal of an editor, where the person wants that: the editor starts them, with its own rights and
//! variables, and nothing of ours confines them. What they print is read from the editor.

use bytes::Bytes;
use ostler_acp::backend::{EditorTerminals, NewTerminal, TerminalExit, TerminalText};
use ostler_config::paths::Env;
use ostler_engine::tool::{EditorTerminal, ToolError};
use ostler_host::far::{Ends, Event, Request};
use ostler_host::{Command, Exit, Output, Process};
use ostler_wire::BoxFuture;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// Between two looks at what a command has printed.
const LOOK: Duration = Duration::from_millis(500);
/// How long a command may take to end after it was killed.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Bytes by which what was read before is found again in an output whose beginning the editor has dropped.
const MARK: usize = 256;
/// The signal that ends a command for certain.
const KILL: i32 = 9;

pub struct Terminals {
    pub editor: Arc<dyn EditorTerminals>,
    /// What the editor started us with.
    pub env: Env,
    /// The project, and what the editor calls it.
    pub root: PathBuf,
    pub cwd: PathBuf,
}

impl Terminals {
    /// Variables that differ from those of the editor. What commands are not given is empty.
    fn env(&self, command: &Command) -> Vec<(String, String)> {
        let text = |value: &std::ffi::OsStr| value.to_str().map(str::to_owned);
        let wanted = command.env.iter();
        let wanted = wanted.filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        let wanted: BTreeMap<String, String> = wanted.collect();
        let withheld = self.env.keys().filter(|name| !wanted.contains_key(*name));
        let mut env: Vec<(String, String)> =
            withheld.map(|name| (name.clone(), String::new())).collect();
        let own = wanted.into_iter();
        env.extend(own.filter(|(name, value)| self.env.get(name) != Some(value)));
        env
    }

    fn named(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(inner) if inner.as_os_str().is_empty() => self.cwd.clone(),
            Ok(inner) => self.cwd.join(inner),
            Err(_) => path.to_owned(),
        }
    }

    async fn start(&self, command: Command, call: &str) -> Result<Process, ToolError> {
        let failed = |why: &str| {
            let text = format!("Not run: the editor did not open a terminal: {why}.");
            ToolError::new("terminal_error", text)
        };
        let words = command.argv.iter().map(|word| word.to_str());
        let words: Option<Vec<String>> = words.map(|word| word.map(str::to_owned)).collect();
        let mut words = words
            .ok_or_else(|| failed("the command is no text"))?
            .into_iter();
        let new = NewTerminal {
            call: call.to_owned(),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: self.env(&command),
            cwd: self.named(&command.cwd),
        };
        let terminal = self.editor.create(new).await.map_err(|why| failed(&why))?;
        Ok(process(self.editor.clone(), terminal))
    }
}

impl EditorTerminal for Terminals {
    fn run<'a>(
        &'a self,
        command: Command,
        call: &'a str,
    ) -> BoxFuture<'a, Result<Process, ToolError>> {
        Box::pin(self.start(command, call))
    }
}

/// A command that an editor has started.
fn process(editor: Arc<dyn EditorTerminals>, terminal: String) -> Process {
    let (asks, asked) = mpsc::unbounded_channel();
    let (events, heard) = mpsc::unbounded_channel();
    let (gone, is_gone) = watch::channel(());
    let running = Running {
        editor,
        terminal,
        asked,
        events,
        seen: String::new(),
    };
    tokio::spawn(async move {
        // Closed when it has ended, whatever way.
        let _gone = gone;
        running.attend().await;
    });
    Process::far(Ends {
        pid: 0,
        events: heard,
        ask: Arc::new(move |request| {
            // It may have ended.
            let _ = asks.send(request);
        }),
        room: Arc::new(Semaphore::new(0)),
        has_input: false,
        has_terminal: false,
        leftovers_gone: is_gone.clone(),
        tree_gone: is_gone,
    })
}

struct Running {
    editor: Arc<dyn EditorTerminals>,
    terminal: String,
    asked: mpsc::UnboundedReceiver<Request>,
    events: mpsc::UnboundedSender<Event>,
    /// The output as it was seen last.
    seen: String,
}

impl Running {
    /// Passes on what the command prints, and ends it when that is wanted.
    async fn attend(mut self) {
        let editor = self.editor.clone();
        let mut ended = editor.wait(self.terminal.clone());
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look: Option<BoxFuture<'_, Result<TerminalText, String>>> = None;
        let mut until = None;
        let exit = loop {
            tokio::select! {
                biased;
                request = self.asked.recv() => match request {
                    Some(Request::Signal(_) | Request::Drop) | None if until.is_none() => {
                        until = Some(Instant::now() + LAST_WAIT);
                        // An editor that cannot is not asked twice.
                        let _ = editor.kill(self.terminal.clone()).await;
                    }
                    None => break killed(),
                    Some(
                        Request::Signal(_)
                        | Request::Drop
                        | Request::Resize { .. }
                        | Request::Input(_)
                        | Request::CloseInput
                        | Request::Taken(_)
                        | Request::WatchTree
                        | Request::KillLeftovers,
                    ) => {}
                },
                exit = &mut ended => break match exit {
                    Ok(_) if until.is_some() => killed(),
                    Ok(exit) => exit_of(&exit),
                    Err(why) => self.lost(&why),
                },
                () = at(until) => break killed(),
                said = next(&mut look) => {
                    look = None;
                    if let Ok(said) = said {
                        self.tell(said.text);
                    }
                }
                _ = looks.tick(), if look.is_none() => {
                    look = Some(editor.output(self.terminal.clone()));
                }
            }
        };
        if let Ok(said) = editor.output(self.terminal.clone()).await {
            self.tell(said.text);
        }
        let _ = self.events.send(Event::Exited {
            exit,
            leftovers: false,
        });
        // The editor goes on showing it.
        let _ = editor.release(self.terminal).await;
    }

    fn tell(&mut self, text: String) {
        let new = fresh(&self.seen, &text);
        if !new.is_empty() {
            let bytes = Bytes::copy_from_slice(new.as_bytes());
            // Whoever waited may be gone.
            let _ = self.events.send(Event::Output(Output::Stdout(bytes)));
        }
        self.seen = text;
    }

    fn lost(&self, why: &str) -> Exit {
        let text = format!("the editor lost the terminal: {why}\n");
        let output = Output::Stderr(Bytes::from(text));
        let _ = self.events.send(Event::Output(output));
        Exit::LOST
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

async fn next<T>(look: &mut Option<BoxFuture<'_, T>>) -> T {
    match look {
        Some(look) => look.await,
        None => std::future::pending().await,
    }
}

fn killed() -> Exit {
    Exit {
        code: None,
        signal: Some(KILL),
    }
}

/// A signal that has only a name for the editor is one that ended the command.
fn exit_of(exit: &TerminalExit) -> Exit {
    match (exit.code, exit.signal.as_deref()) {
        (Some(code), _) => Exit {
            code: Some(code),
            signal: None,
        },
        (None, Some(_)) => killed(),
        (None, None) => Exit::LOST,
    }
}

/// What of an output was not seen before. Of a long one the editor drops the beginning.
fn fresh<'a>(seen: &str, now: &'a str) -> &'a str {
    if let Some(rest) = now.strip_prefix(seen) {
        return rest;
    }
    let mut from = seen.len().saturating_sub(MARK);
    while !seen.is_char_boundary(from) {
        from += 1;
    }
    let mark = seen.get(from..).unwrap_or_default();
    match now.rfind(mark) {
        Some(at) => now.get(at + mark.len()..).unwrap_or_default(),
        None => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_passed_on() {
        let long = "0123456789".repeat(60);
        let dropped = long.get(10..).unwrap_or_default().to_owned() + "new";
        for (seen, now, expect) in [
            ("", "", ""),
            ("", "a\n", "a\n"),
            ("a\n", "a\nb\n", "b\n"),
            ("a\n", "a\n", ""),
            (&long, &dropped, "new"),
            ("é", "éé", "é"),
            // Everything that was seen is gone.
            ("a\n", "other\n", "other\n"),
        ] {
            assert_eq!(fresh(seen, now), expect, "{seen:?} {now:?}");
        }
    }
}
