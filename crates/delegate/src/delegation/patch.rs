//! Whether a patch applies: asked of git, which changes nothing.

use super::Delegation;
use crate::contract::{Patch, PatchFormat};
use crate::run::{End, Sink, run_process};
use crate::services::{Confinement, Program, Purpose};
use crate::setup::{Allowance, Capabilities, Filesystem};
use ostler_host::Stdio;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const LONGEST: Duration = Duration::from_secs(30);
/// Bytes of what a short program printed.
const MAX_OUTPUT: usize = 16 << 10;

/// Both streams of a short program.
#[derive(Default)]
pub struct Collected(Vec<u8>);

impl Collected {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).trim().to_owned()
    }
}

impl Sink for Collected {
    fn stdout(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT.saturating_sub(self.0.len());
        self.0.extend(bytes.iter().take(room));
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stdout(bytes);
    }

    fn gives_up(&self) -> bool {
        false
    }
}

/// A confinement that reads the project, without a network.
pub fn reading(project: &Path, purpose: Purpose, backend: &str) -> Confinement {
    Confinement {
        purpose,
        backend: backend.to_owned(),
        project: project.to_owned(),
        capabilities: Capabilities {
            filesystem: Filesystem::ReadOnly,
            network: Allowance::Deny,
            ..Capabilities::default()
        },
        state: Vec::new(),
        hosts: Vec::new(),
        include: Vec::new(),
    }
}

impl Delegation {
    /// What git says; as an error, why it does not apply.
    pub(super) async fn check_patch(
        &self,
        cwd: &Path,
        patch: &Patch,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        match patch.format {
            PatchFormat::Unified => {}
            PatchFormat::None => return Err("there is no patch".to_owned()),
            PatchFormat::ApplyPatch => {
                return Err("it is not a unified diff, so git cannot check it".to_owned());
            }
        }
        let argv = ["git", "apply", "--check", "-"];
        let program = Program {
            argv: argv.map(Into::into).to_vec(),
            cwd: cwd.to_owned(),
            env: vec![("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())],
            passed_env: Vec::new(),
            stdio: Stdio::PipesWithStdin,
            confinement: reading(cwd, Purpose::Patch, "git"),
        };
        let process = self.services.launcher.launch(&program).await;
        let process = process.map_err(|error| format!("git could not be started: {error}"))?;
        let mut output = Collected::default();
        let until = Instant::now() + LONGEST;
        let end = run_process(process, Some(&patch.text), &mut output, until, cancel).await;
        let text = output.text();
        match end {
            End::Exited(exit) if exit.success() => Ok(text),
            End::Exited(_) if !text.is_empty() => Err(text),
            End::Exited(_) | End::Timeout | End::Flood | End::GaveUp => {
                Err("git could not check it".to_owned())
            }
            End::Cancelled => Err("cancelled".to_owned()),
        }
    }
}
