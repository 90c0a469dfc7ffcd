//! Terminals of the editor, over its methods of the protocol: a command runs in one, and the call that it belongs to shows it.

use crate::backend::{EditorTerminals, NewTerminal, TerminalExit, TerminalText};
use crate::protocol::{Editor, Error, schema as s};
use ostler_wire::BoxFuture;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long the editor may take for anything but the end of a command.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of output that the editor keeps.
const MAX_OUTPUT: u64 = 1 << 20;
/// Terminals whose calls were not told yet.
pub const WAITING: usize = 64;

/// Which call runs in which terminal.
pub struct Shown {
    pub call: String,
    pub terminal: s::TerminalId,
}

pub struct Terminals {
    editor: Editor,
    /// Known once the session is open.
    session: OnceLock<s::SessionId>,
    shown: mpsc::Sender<Shown>,
}

impl Terminals {
    pub fn new(editor: Editor, shown: mpsc::Sender<Shown>) -> Self {
        Self {
            editor,
            session: OnceLock::new(),
            shown,
        }
    }

    pub fn belong_to(&self, session: s::SessionId) {
        let _ = self.session.set(session);
    }

    fn session(&self) -> Result<s::SessionId, String> {
        self.session.get().cloned().ok_or_else(String::new)
    }
}

/// What the editor answers, within the time that it has.
async fn answered<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer.map_err(|error| error.message),
        Err(_) => Err("timeout".into()),
    }
}

fn exit_of(status: &s::TerminalExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.exit_code.and_then(|code| i32::try_from(code).ok()),
        signal: status.signal.clone(),
    }
}

impl EditorTerminals for Terminals {
    fn create(&self, new: NewTerminal) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let env = new.env.into_iter();
            let env = env.map(|(name, value)| s::EnvVariable::new(name, value));
            let request = s::CreateTerminalRequest::new(self.session()?, new.program)
                .args(new.args)
                .env(env.collect::<Vec<_>>())
                .cwd(new.cwd)
                .output_byte_limit(MAX_OUTPUT);
            let terminal = answered(self.editor.create_terminal(request)).await?;
            let terminal = terminal.terminal_id;
            let id = terminal.0.to_string();
            let shown = Shown {
                call: new.call,
                terminal,
            };
            // The session may be over; then nobody looks.
            let _ = self.shown.send(shown).await;
            Ok(id)
        })
    }

    fn output(&self, terminal: String) -> BoxFuture<'_, Result<TerminalText, String>> {
        Box::pin(async move {
            let request = s::TerminalOutputRequest::new(self.session()?, terminal);
            let output = answered(self.editor.terminal_output(request)).await?;
            Ok(TerminalText {
                text: output.output,
                exit: output.exit_status.as_ref().map(exit_of),
            })
        })
    }

    fn wait(&self, terminal: String) -> BoxFuture<'_, Result<TerminalExit, String>> {
        Box::pin(async move {
            let request = s::WaitForTerminalExitRequest::new(self.session()?, terminal);
            let ended = self.editor.wait_for_terminal(request).await;
            let ended = ended.map_err(|error| error.message)?;
            Ok(exit_of(&ended.exit_status))
        })
    }

    fn kill(&self, terminal: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let request = s::KillTerminalRequest::new(self.session()?, terminal);
            answered(self.editor.kill_terminal(request)).await.map(drop)
        })
    }

    fn release(&self, terminal: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let request = s::ReleaseTerminalRequest::new(self.session()?, terminal);
            let released = answered(self.editor.release_terminal(request)).await;
            released.map(drop)
        })
    }
}
