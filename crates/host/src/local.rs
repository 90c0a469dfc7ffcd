//! This machine: commands through the watchdog, files by system calls off the runtime's threads.

use crate::command::Command;
#[cfg(target_os = "linux")]
use crate::host::NetworkFut;
use crate::host::{Fut, Host};
use crate::process::{self, Process};
#[cfg(unix)]
use crate::watchdog::Spawner;
use bytes::Bytes;
use ostler_files as files;
use ostler_files::Error;
use ostler_files::border::Border;
use ostler_files::{Content, Listing, RenameOptions, Renamed, Span, Stat, WriteOptions, Written};
#[cfg(target_os = "linux")]
use ostler_sandbox::{self as sandbox, Choice, SharedNetwork};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Clones share one watchdog; it starts with the first command and ends, with all that was started, when the last clone
/// and the last process are dropped.
#[derive(Clone, Default)]
pub struct Local {
    #[cfg(unix)]
    spawner: Arc<Spawner>,
}

impl Local {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the watchdog ahead of the first command, to take its start (a few milliseconds) off that command's time.
    pub async fn warm_up(&self) -> io::Result<()> {
        #[cfg(unix)]
        self.spawner.warm_up().await?;
        Ok(())
    }

    /// To be called before the terminal is changed: if we die without `release_terminal`, its present settings are put
    /// back and `reset` is written to it.
    pub async fn guard_terminal(&self, reset: &[u8]) -> io::Result<()> {
        #[cfg(unix)]
        self.spawner.guard_terminal(reset).await?;
        #[cfg(not(unix))]
        let _ = reset;
        Ok(())
    }

    /// The terminal is as it was; nothing is to be put back.
    pub async fn release_terminal(&self) -> io::Result<()> {
        #[cfg(unix)]
        self.spawner.release_terminal().await?;
        Ok(())
    }
}

impl Local {
    /// Whether a file may be written, and which it really is: for whoever has it written by another program.
    pub fn may_write(&self, path: &Path, options: WriteOptions) -> Fut<'_, Written> {
        blocking(path, move |path| files::may_write(path, &options))
    }
}

impl Host for Local {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        // A plan of another place would confine nothing here.
        let plan = command.sandbox.as_ref();
        if plan.is_some_and(|plan| plan.elsewhere().is_some()) {
            return Box::pin(std::future::ready(Err(Error::BadCommand)));
        }
        #[cfg(unix)]
        return Box::pin(async move { process::spawn(&self.spawner, &command).await });
        #[cfg(not(unix))]
        return Box::pin(async move { process::spawn(&command) });
    }

    fn stat(&self, path: &Path) -> Fut<'_, Stat> {
        blocking(path, files::stat)
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        let border = border.clone();
        blocking(path, move |path| files::read(path, span, &border))
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        blocking(path, move |path| files::write(path, &bytes, &options))
    }

    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        let to = to.to_path_buf();
        blocking(from, move |from| files::rename(from, &to, &options))
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        let border = border.clone();
        blocking(path, move |path| files::list(path, max_entries, &border))
    }

    #[cfg(target_os = "linux")]
    fn network(&self, layer: Choice) -> NetworkFut<'_> {
        Box::pin(async move {
            let Some(way) = SharedNetwork::way(layer)? else {
                return Ok(None);
            };
            let made = self.spawner.network(way).await;
            let made = made.map_err(|source| sandbox::Error::Network { source })?;
            Ok(Some(made))
        })
    }
}

fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> crate::Result<T> + Send + 'static,
) -> Fut<'static, T> {
    let path: PathBuf = path.to_path_buf();
    Box::pin(async move {
        let shown = path.clone();
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.unwrap_or_else(|error| {
            Err(Error::Read {
                path: shown,
                source: io::Error::other(error),
            })
        })
    })
}
