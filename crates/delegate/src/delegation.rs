//! The service: a task for one role, several at once, a topic for several, what there is, and whether an agent works.

mod check;
mod group;
mod info;
mod patch;
mod place;
mod task;

use crate::activity::{Group, Watcher};
use crate::outcome::{BackendCheck, BatchOutcome, Info, Outcome, RoundtableOutcome};
use crate::request::{BatchRequest, InfoRequest, Request, RoundtableRequest};
use crate::services::{Defaults, Services};
use crate::setup::{Capabilities, Role};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Cheap to clone.
#[derive(Clone)]
pub struct Delegation {
    services: Services,
    defaults: Arc<Defaults>,
}

impl Delegation {
    pub fn new(services: Services, defaults: Defaults) -> Self {
        Self {
            services,
            defaults: Arc::new(defaults),
        }
    }

    /// One task for one role. Failures are in the outcome. Dropping the future ends the agent.
    pub async fn three(
        &self,
        request: &Request,
        watcher: Arc<dyn Watcher>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let call = task::Call {
            request,
            task: None,
            role: None,
        };
        Box::pin(self.task(call, watcher, cancel)).await
    }

    /// The same without a role of the configuration: `model` is `backend/model[@variant]`, `backend/default` or
    /// `acp:COMMAND`, and the role of the request a name for it that has no persona.
    pub async fn direct(
        &self,
        model: &str,
        capabilities: Capabilities,
        request: &Request,
        watcher: Arc<dyn Watcher>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let role = Role {
            model: model.to_owned(),
            personas: None,
            capabilities,
            enabled: true,
            timeout_secs: None,
        };
        let call = task::Call {
            request,
            task: None,
            role: Some(&role),
        };
        Box::pin(self.task(call, watcher, cancel)).await
    }

    /// All tasks at once; those that fail do not stop the others.
    pub async fn batch(
        &self,
        request: &BatchRequest,
        group: Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> BatchOutcome {
        self.run_batch(request, &group, cancel).await
    }

    /// One topic for all participants at once. Nobody sums it up.
    pub async fn roundtable(
        &self,
        request: &RoundtableRequest,
        group: Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> RoundtableOutcome {
        self.run_roundtable(request, &group, cancel).await
    }

    /// The roles and agents that a folder has.
    pub fn info(&self, request: &InfoRequest) -> Info {
        self.describe(request)
    }

    /// Whether an agent of the catalogue is installed, which version, and logged in. Asks no vendor.
    pub async fn check(&self, backend: &str, cancel: &CancellationToken) -> BackendCheck {
        self.check_backend(backend, cancel).await
    }

    /// The names of the agents that can be checked.
    pub fn backends() -> Vec<&'static str> {
        crate::setup::catalogue::names().collect()
    }
}
