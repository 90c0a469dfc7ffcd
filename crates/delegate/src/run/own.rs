//! A run of our own agent, in this process.

use super::{Failure, Job, Ran};
use crate::activity::{Activity, Started, Way};
use crate::outcome::FailureKind;
use crate::services::OwnTask;
use std::time::Duration;
use tokio::time::{sleep_until, timeout};

/// How long it may take to end when it is stopped.
const GRACE: Duration = Duration::from_secs(5);

pub async fn run(job: Job<'_>) -> Ran {
    let Some(own) = &job.services.own else {
        let why = "our own agent cannot be called as a worker from here";
        return Failure::new(FailureKind::Request, why).into();
    };
    job.watcher.activity(Activity::Started(Started {
        backend: job.target.backend().to_owned(),
        role: job.role.to_owned(),
        model: job.target.reference.model.clone(),
        command: String::new(),
        cwd: job.cwd.to_owned(),
        resumed: job.session.is_some(),
        prompt: job.prompt.to_owned(),
        way: Way::Own,
    }));
    let task = OwnTask {
        model: job.target.reference.model.clone(),
        role: job.role.to_owned(),
        prompt: job.prompt.to_owned(),
        cwd: job.cwd.to_owned(),
        session: job.session.map(str::to_owned),
        capabilities: job.target.capabilities.clone(),
    };
    let stop = job.cancel.child_token();
    let mut work = own.run(task, job.watcher, &stop);
    let stopped = tokio::select! {
        done = &mut work => return finish(&job, done),
        () = job.cancel.cancelled() => (FailureKind::Cancelled, "was cancelled"),
        () = sleep_until(job.until) => (FailureKind::Timeout, "did not end in time and was stopped"),
    };
    stop.cancel();
    let late = timeout(GRACE, work).await;
    let (kind, why) = stopped;
    let text = format!("`{}` {why}", job.target.reference);
    let partial = late.ok().and_then(Result::ok).unwrap_or_default();
    Ran {
        session: Some(partial.session).filter(|id| !id.is_empty()),
        message: Some(partial.message).filter(|text| !text.is_empty()),
        cost: partial.cost,
        told_cost: None,
        warnings: Vec::new(),
        failure: Some(Failure::new(kind, text)),
    }
}

fn finish(job: &Job<'_>, done: Result<crate::services::OwnAnswer, String>) -> Ran {
    let named = |why: &str| format!("`{}` failed: {why}", job.target.reference);
    let matches = |text: &str| {
        let text = text.to_lowercase();
        let found = |pattern: &String| {
            let pattern = pattern.trim().to_lowercase();
            !pattern.is_empty() && text.contains(&pattern)
        };
        job.patterns.iter().any(found)
    };
    let failed = |kind, why: &str| Failure {
        is_for_fallback: matches(why),
        ..Failure::new(kind, named(why))
    };
    let answer = match done {
        Ok(answer) => answer,
        Err(why) => return failed(FailureKind::NotStarted, &why).into(),
    };
    let is_empty = answer.message.trim().is_empty() && answer.error.is_none();
    let error = answer.error.as_deref();
    let error = error.or(is_empty.then_some("it ended without an answer"));
    Ran {
        session: Some(answer.session).filter(|id| !id.is_empty()),
        failure: error.map(|why| failed(FailureKind::Agent, why)),
        message: Some(answer.message).filter(|text| !text.is_empty()),
        cost: answer.cost,
        told_cost: None,
        warnings: Vec::new(),
    }
}
