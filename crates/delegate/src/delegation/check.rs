//! Whether an agent is there: where it lies, its version, whether it is logged in.

use super::Delegation;
use super::patch::{Collected, reading};
use crate::outcome::BackendCheck;
use crate::run::{End, run_process};
use crate::services::{Program, Purpose};
use crate::setup::catalogue::{self, AgentRow};
use ostler_host::Stdio;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// For each question. Some agents take seconds to start.
const LONGEST: Duration = Duration::from_secs(20);

impl Delegation {
    pub(super) async fn check_backend(
        &self,
        backend: &str,
        cancel: &CancellationToken,
    ) -> BackendCheck {
        let Some(row) = catalogue::agent(backend) else {
            return BackendCheck {
                backend: backend.to_owned(),
                error: Some(format!(
                    "no agent that is known here (known: {})",
                    catalogue::known()
                )),
                ..BackendCheck::default()
            };
        };
        let mut check = BackendCheck {
            backend: backend.to_owned(),
            command: row.command.clone(),
            sandbox_note: row.check.sandbox_note.clone(),
            ..BackendCheck::default()
        };
        let Some(path) = self.services.launcher.find(&row.command) else {
            check.hint = Some(format!("install it: {}", row.check.install_hint));
            return check;
        };
        check.path = Some(path.display().to_string());
        match self
            .ask(row, backend, &["--version".to_owned()], cancel)
            .await
        {
            Ok((true, text)) => check.version = version(&text),
            Ok((false, text)) => check.error = Some(format!("`--version` failed: {text}")),
            Err(why) => check.error = Some(why),
        }
        if !row.check.login_args.is_empty() && check.error.is_none() {
            let asked = self.ask(row, backend, &row.check.login_args, cancel).await;
            check.logged_in = asked.ok().map(|(is_in, _)| is_in);
        }
        if check.logged_in != Some(true) && check.error.is_none() {
            check.hint = Some(row.check.login_hint.clone());
        }
        check
    }

    /// Whether the agent said yes by its exit code, and what it printed.
    async fn ask(
        &self,
        row: &AgentRow,
        backend: &str,
        args: &[String],
        cancel: &CancellationToken,
    ) -> Result<(bool, String), String> {
        let argv = std::iter::once(&row.command).chain(args);
        let mut confinement = reading(&self.defaults.cwd, Purpose::Check, backend);
        confinement.state.clone_from(&row.state);
        let program = Program {
            argv: argv.map(Into::into).collect(),
            cwd: self.defaults.cwd.clone(),
            env: vec![("NO_COLOR".to_owned(), "1".to_owned())],
            passed_env: row.passed_env.clone(),
            stdio: Stdio::Pipes,
            confinement,
        };
        let process = self.services.launcher.launch(&program).await;
        let process = process.map_err(|error| format!("could not be started: {error}"))?;
        let mut output = Collected::default();
        let until = Instant::now() + LONGEST;
        let line = args.join(" ");
        match run_process(process, None, &mut output, until, cancel).await {
            End::Exited(exit) => Ok((exit.success(), output.text())),
            End::Cancelled => Err("cancelled".to_owned()),
            End::Timeout | End::Flood | End::GaveUp => {
                Err(format!("`{} {line}` did not end", row.command))
            }
        }
    }
}

/// The first word of what it prints that begins with a number.
fn version(text: &str) -> Option<String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_start_matches('v'));
    let mut words = words.map(|word| word.trim_matches(['(', ')', ',']));
    let found =
        words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    found.map(str::to_owned)
}
