//! What the commands of one session have in common: their network, made with the first of them, and the proxy on it.

use super::protection::Protection;
use ostler_host::Host;
use ostler_host::proxy::Proxy;
use ostler_host::sandbox::{Choice, Error, Plans, SharedNetwork};
use ostler_tools::SandboxReport;
use ostler_tools::sandbox_report::Change;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Dropping it ends the proxy; the network goes with the last command in it.
#[derive(Default)]
pub struct SandboxShare {
    made: Arc<OnceCell<Option<Common>>>,
    /// What they may not change although nothing holds it.
    pub(super) protection: Protection,
    /// Those that were made for earlier commands.
    pub(super) plans: Arc<Plans>,
}

pub struct Common {
    pub network: Arc<SharedNetwork>,
    pub proxy: Proxy,
}

impl SandboxShare {
    /// For commands whose end is not that of these: they share the network and the plans, and what they leave is ended and
    /// put back by itself.
    pub fn beside(&self) -> Self {
        Self {
            made: self.made.clone(),
            plans: self.plans.clone(),
            ..Self::default()
        }
    }

    /// To be called when the session ends and its jobs are gone: ends what commands left in the background, and puts back
    /// what that changed. One line for the log, if there was something.
    pub async fn finish(&self) -> Option<String> {
        let changes = self.protection.finish().await;
        let report = SandboxReport {
            changes,
            ..SandboxReport::default()
        };
        let lines = report.lines();
        (!lines.is_empty()).then(|| lines.trim_end().to_owned())
    }

    /// Whether a command that runs, in this session or another one, could change this file, so that it is put back to what it
    /// was before. Blocks.
    pub fn may_put_back(&self, path: &Path, records: Option<&Path>) -> bool {
        self.protection.may_put_back(path, records)
    }

    /// To be called before files are brought back: ends what commands left in the background, so that nothing of theirs
    /// works against it. Whether there was something.
    pub async fn end_leftovers(&self) -> bool {
        let (ended, _) = self.protection.end_leftovers("rewind").await;
        ended > 0
    }

    /// Brings back what running commands took of the history that nobody approved. That, and what no result has told.
    pub async fn look_at_history(&self) -> Vec<Change> {
        self.protection.look_at_history().await
    }

    /// `None` where the layer has no network to share. What could not be made is tried again by the next command.
    pub async fn get(&self, host: &dyn Host, layer: Choice) -> Result<Option<&Common>, Error> {
        let made = self.made.get_or_try_init(|| make(host, layer)).await?;
        Ok(made.as_ref())
    }
}

async fn make(host: &dyn Host, layer: Choice) -> Result<Option<Common>, Error> {
    let Some((network, door)) = host.network(layer).await? else {
        return Ok(None);
    };
    let proxy = Proxy::start(door).map_err(|source| Error::Network { source })?;
    Ok(Some(Common {
        network: Arc::new(network),
        proxy,
    }))
}
