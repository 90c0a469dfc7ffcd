//! Several tasks at once: a batch, and a roundtable.

use super::Delegation;
use super::place::named;
use super::task::Call;
use crate::activity::{Group, Member};
use crate::outcome::{BatchOutcome, FailureKind, NamedOutcome, Outcome, RoundtableOutcome};
use crate::request::{BatchRequest, Request, RoundtableRequest};
use futures_util::{StreamExt as _, stream};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Tasks of one call.
const MAX_TASKS: usize = 200;
/// Tasks that run at the same time; the others wait.
const MAX_PARALLEL: usize = 20;

/// A task with its name, and what tells it apart where it would share a session with another.
struct Named {
    member: Member,
    request: Request,
    task: Option<String>,
}

impl Delegation {
    pub(super) async fn run_batch(
        &self,
        request: &BatchRequest,
        group: &Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> BatchOutcome {
        if let Some(error) = wrong_number("tasks", request.tasks.len()) {
            return BatchOutcome {
                error: Some(error),
                ..BatchOutcome::default()
            };
        }
        let tasks = request.tasks.iter().cloned().map(|task| Request {
            cd: task.cd.or(request.cd.clone()),
            client: task.client.or(request.client.clone()),
            conversation_id: task.conversation_id.or(request.conversation_id.clone()),
            ..task
        });
        let results = self.run_all(name(tasks), group, cancel).await;
        let failed = results
            .iter()
            .filter(|result| !result.outcome.success)
            .count();
        BatchOutcome {
            success: failed == 0,
            error: (failed > 0).then(|| format!("{failed} of {} tasks failed", results.len())),
            results,
        }
    }

    pub(super) async fn run_roundtable(
        &self,
        request: &RoundtableRequest,
        group: &Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> RoundtableOutcome {
        let refused = |error: String| RoundtableOutcome {
            topic: request.topic.clone(),
            cd: request.cd.clone().unwrap_or_default(),
            error: Some(error),
            ..RoundtableOutcome::default()
        };
        if request.topic.trim().is_empty() {
            return refused("`TOPIC` is empty".to_owned());
        }
        if let Some(error) = wrong_number("participants", request.participants.len()) {
            return refused(error);
        }
        if request
            .participants
            .iter()
            .any(|who| who.name.trim().is_empty())
        {
            return refused("a participant has no `name`".to_owned());
        }
        let place = self.place(request.cd.as_deref(), None, None);
        let cwd = match place {
            Ok(place) => place.cwd,
            Err(failure) => return refused(failure.text),
        };
        let names: Vec<&str> = request
            .participants
            .iter()
            .map(|who| who.name.trim())
            .collect();
        let tasks = request.participants.iter().map(|who| Request {
            prompt: contribution(request.topic.trim(), who.name.trim(), &names),
            cd: request.cd.clone(),
            role: named(who.role.as_deref()).or(named(Some(&who.name))),
            force_new_session: who.force_new_session,
            client: request.client.clone(),
            conversation_id: request.conversation_id.clone(),
            timeout_secs: request.timeout_secs,
            name: named(Some(&who.name)),
            ..Request::default()
        });
        let contributions = self.run_all(name(tasks), group, cancel).await;
        let failed = contributions
            .iter()
            .filter(|one| !one.outcome.success)
            .count();
        RoundtableOutcome {
            success: failed == 0,
            topic: request.topic.clone(),
            cd: cwd.display().to_string(),
            error: (failed > 0)
                .then(|| format!("{failed} of {} participants failed", contributions.len())),
            contributions,
        }
    }

    /// In the order of the tasks, whichever ends first.
    async fn run_all(
        &self,
        tasks: Vec<Named>,
        group: &Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> Vec<NamedOutcome> {
        let running = tasks
            .into_iter()
            .map(|task| self.run_named(task, group, cancel));
        stream::iter(running).buffered(MAX_PARALLEL).collect().await
    }

    async fn run_named(
        &self,
        task: Named,
        group: &Arc<dyn Group>,
        cancel: &CancellationToken,
    ) -> NamedOutcome {
        let outcome = match cancel.is_cancelled() {
            // It never began.
            true => Outcome {
                role: task.member.role.clone(),
                role_id: task.member.role.clone(),
                error: Some("cancelled".to_owned()),
                failure: Some(FailureKind::Cancelled),
                ..Outcome::default()
            },
            false => {
                let watcher = group.started(&task.member);
                let call = Call {
                    request: &task.request,
                    task: task.task.as_deref(),
                    role: None,
                };
                let outcome = Box::pin(self.task(call, watcher, cancel)).await;
                group.finished(&task.member, &outcome);
                outcome
            }
        };
        NamedOutcome {
            name: task.member.name,
            outcome,
        }
    }
}

fn wrong_number(what: &str, number: usize) -> Option<String> {
    match number {
        0 => Some(format!("`{what}` is empty")),
        1..=MAX_TASKS => None,
        _ => Some(format!(
            "`{what}` has {number} entries, at most {MAX_TASKS}"
        )),
    }
}

/// Names tasks, and tells those apart that would wait for each other's session.
fn name(tasks: impl Iterator<Item = Request>) -> Vec<Named> {
    let mut seen = BTreeSet::new();
    let named_task = |(index, request): (usize, Request)| {
        let number = (index + 1).to_string();
        let role = named(request.role.as_deref()).unwrap_or_default();
        let name = named(request.name.as_deref()).unwrap_or_else(|| number.clone());
        let shares = (
            role.clone(),
            request.cd.clone(),
            request.client.clone(),
            request.conversation_id.clone(),
        );
        let is_first = request.session_key.is_some() || seen.insert(shares);
        Named {
            task: (!is_first).then(|| format!("{number} {name}")),
            member: Member {
                index,
                name,
                role,
                prompt: request.prompt.clone(),
            },
            request,
        }
    };
    tasks.enumerate().map(named_task).collect()
}

fn contribution(topic: &str, name: &str, names: &[&str]) -> String {
    let others: Vec<&str> = names
        .iter()
        .copied()
        .filter(|other| *other != name)
        .collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" Others who are asked the same: {}.", others.join(", ")),
    };
    format!(
        "A round table discusses this topic:\n\n{topic}\n\n\
         You take part as `{name}`.{others} You do not see their words. Answer with\n\
         1. your position in one or two sentences,\n\
         2. the reasons, with files and lines where they rest on code,\n\
         3. risks and cases that are easily forgotten,\n\
         4. what you would do next.\n\
         Do not claim to have run or read what you did not."
    )
}
