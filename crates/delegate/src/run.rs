//! Runs one target once: a command line whose output is read, a session of the Agent Client Protocol, or our own agent.

mod acp;
mod command_line;
mod own;
mod process;
mod program;

use crate::activity::Watcher;
use crate::outcome::{Cost, FailureKind};
use crate::record::{Recorder, cut};
use crate::resolve::{Agent, Target};
use crate::services::Services;
use std::path::Path;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use process::{End, Sink, run as run_process};

/// Bytes of an error.
const MAX_ERROR: usize = 8_000;

/// A run that is to be made.
#[derive(Clone, Copy)]
pub struct Job<'j> {
    pub services: &'j Services,
    pub target: &'j Target,
    pub role: &'j str,
    /// With the persona, in a new session.
    pub prompt: &'j str,
    /// The agent's own session to go on with.
    pub session: Option<&'j str>,
    /// What that session had used, as the agent told it.
    pub used: Option<Cost>,
    /// Absolute.
    pub cwd: &'j Path,
    /// How many delegations the agent is inside of.
    pub depth: u32,
    pub until: Instant,
    /// Of a model that can take over.
    pub patterns: &'j [String],
    pub watcher: &'j Arc<dyn Watcher>,
    pub cancel: &'j CancellationToken,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Ran {
    pub session: Option<String>,
    /// Also that of a run that failed afterwards.
    pub message: Option<String>,
    pub cost: Option<Cost>,
    /// As the agent told it, maybe with what the session had used before.
    pub told_cost: Option<Cost>,
    pub warnings: Vec<String>,
    pub failure: Option<Failure>,
}

#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub text: String,
    /// One of the patterns was found in what went wrong.
    pub is_for_fallback: bool,
    /// The session that it was to go on with is gone.
    pub is_session_lost: bool,
}

impl Failure {
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: cut(&text.into(), MAX_ERROR),
            is_for_fallback: false,
            is_session_lost: false,
        }
    }
}

impl From<Failure> for Ran {
    fn from(failure: Failure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

pub async fn run(job: Job<'_>) -> Ran {
    match &job.target.agent {
        Agent::Own => own::run(job).await,
        Agent::Command(_) | Agent::Known { .. } if job.target.speaks_acp() => acp::run(job).await,
        Agent::Known { row, adapter } => command_line::run(job, row, adapter.as_deref()).await,
        Agent::Command(_) => acp::run(job).await,
    }
}

impl Job<'_> {
    /// What went wrong, with the agent, its command line and what it printed.
    fn failure(&self, kind: FailureKind, why: &str, shown: &str, recorder: &Recorder) -> Failure {
        let backend = self.target.backend();
        let mut text = format!("`{backend}` {why}");
        if !shown.is_empty() {
            text.push_str(&format!("\ncommand: {shown}"));
        }
        if let Some((count, refusal)) = recorder.refusals()
            && !why.contains(refusal)
        {
            text.push_str(&format!(
                "\nits vendor refused {count} times, the last time: {refusal}"
            ));
        }
        let printed = recorder.tail();
        match printed.trim() {
            "" => {}
            printed if why.contains(printed) => {}
            printed => text.push_str(&format!("\nit printed: {printed}")),
        }
        let is_for_fallback = kind == FailureKind::Agent && recorder.is_for_fallback(&text);
        let is_session_lost = self.session.is_some() && self.is_lost(&text);
        Failure {
            is_for_fallback,
            is_session_lost,
            ..Failure::new(kind, text)
        }
    }

    /// What of the session's earlier usage the agent counts again.
    fn counted_again(&self) -> Cost {
        let (Agent::Known { row, .. }, Some(used)) = (&self.target.agent, self.used) else {
            return Cost::default();
        };
        let counts = |what: &str| row.cumulative.iter().any(|counted| counted == what);
        let tokens = match counts("tokens") {
            true => used,
            false => Cost::default(),
        };
        Cost {
            usd: used.usd.filter(|_| counts("usd")),
            ..tokens
        }
    }

    fn is_lost(&self, text: &str) -> bool {
        let Agent::Known { row, .. } = &self.target.agent else {
            return false;
        };
        let text = text.to_lowercase();
        let says = |part: &String| text.contains(&part.to_lowercase());
        row.lost_session.iter().any(says)
    }

    /// What went wrong when it was stopped.
    fn stopped(&self, end: &End, shown: &str, recorder: &Recorder) -> Option<Failure> {
        let (kind, why) = match end {
            End::Exited(_) => return None,
            End::Timeout => (
                FailureKind::Timeout,
                "did not end in time and was stopped (`timeout_secs` of the call, the role or the backend)",
            ),
            End::Cancelled => (FailureKind::Cancelled, "was cancelled"),
            End::Flood => (FailureKind::Agent, "printed without end and was stopped"),
            End::GaveUp => (
                FailureKind::Agent,
                "was refused by its vendor again and again, and was stopped for its fallback",
            ),
        };
        Some(self.failure(kind, why, shown, recorder))
    }
}
