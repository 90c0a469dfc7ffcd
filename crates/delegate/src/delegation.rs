//! The service: a task for one role, several at once, a topic for several, what there is, and whether an agent works.

use crate::activity::{Group, Watcher};
use crate::outcome::{
    BackendCheck, BatchOutcome, FailureKind, Info, NamedOutcome, Outcome, RoundtableOutcome,
};
use crate::request::{BatchRequest, InfoRequest, Request, RoundtableRequest};
use crate::services::{Defaults, Services};
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

    /// One task for one role. Failures are in the outcome.
    pub async fn three(
        &self,
        request: &Request,
        watcher: Arc<dyn Watcher>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let _ = (&self.services, &self.defaults, watcher, cancel);
        Outcome {
            role: request.role.clone().unwrap_or_default(),
            error: Some("this role has no backend".to_owned()),
            failure: Some(FailureKind::Request),
            ..Outcome::default()
        }
    }

    /// All tasks at once; those that fail do not stop the others.
    pub async fn batch(
        &self,
        request: &BatchRequest,
        group: Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> BatchOutcome {
        let mut results = Vec::new();
        for task in &request.tasks {
            let member = crate::activity::Member::default();
            let outcome = self.three(task, group.started(&member), cancel).await;
            group.finished(&member, &outcome);
            results.push(NamedOutcome {
                name: member.name,
                outcome,
            });
        }
        BatchOutcome {
            success: results.iter().all(|result| result.outcome.success),
            results,
            error: None,
        }
    }

    /// One topic for all participants at once.
    pub async fn roundtable(
        &self,
        request: &RoundtableRequest,
        group: Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> RoundtableOutcome {
        let tasks = request.participants.iter().map(|participant| Request {
            prompt: request.topic.clone(),
            role: participant.role.clone(),
            ..Request::default()
        });
        let batch = BatchRequest {
            tasks: tasks.collect(),
            ..BatchRequest::default()
        };
        let done = self.batch(&batch, group, cancel).await;
        RoundtableOutcome {
            success: done.success,
            topic: request.topic.clone(),
            cd: String::new(),
            contributions: done.results,
            error: done.error,
        }
    }

    /// The roles and agents that a folder has.
    pub fn info(&self, request: &InfoRequest) -> Info {
        Info {
            cd: request.cd.clone().unwrap_or_default(),
            ..Info::default()
        }
    }

    /// Whether an agent of the catalogue is installed, which version, and logged in.
    pub async fn check(&self, backend: &str, cancel: &CancellationToken) -> BackendCheck {
        let _ = cancel;
        BackendCheck {
            backend: backend.to_owned(),
            ..BackendCheck::default()
        }
    }
}
