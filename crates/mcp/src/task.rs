//! A call that its server made a task of: asked after until it is over, as slowly as the server wants. Whoever made the call
//! waits for it as for any other.

use crate::client::{CANCEL_TIMEOUT, CallError, Caller, Connection, MAX_ROUNDS};
use crate::text;
use ostler_wire::{Why, Word};
use rmcp::model::{
    CallToolResult, CancelTaskParams, ClientRequest, DetailedTask, GetTaskParams, GetTaskRequest,
    InputRequests, ServerResult, Task, TaskPayload, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::Instant;

/// Between two looks at a task: unless the server says, at least and at most.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(30);
const MAX_MESSAGE: usize = 200;
const MAX_ERROR: usize = 2_000;

impl Connection {
    /// Waits for a task. `limit` is for the time without a change of it.
    pub(crate) async fn follow(
        &self,
        task: Task,
        limit: Duration,
        caller: &Caller<'_>,
    ) -> Result<CallToolResult, CallError> {
        let id = task.task_id.clone();
        let followed = self.polled(task, limit, caller).await;
        if matches!(followed, Err(CallError::Stopped | CallError::Timeout(_))) {
            let farewell = self.service.cancel_task(CancelTaskParams::new(id));
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, farewell).await;
        }
        followed
    }

    async fn polled(
        &self,
        task: Task,
        limit: Duration,
        caller: &Caller<'_>,
    ) -> Result<CallToolResult, CallError> {
        let id = task.task_id.clone();
        let mut answered = HashSet::new();
        let mut seen = task;
        let mut changed = Instant::now();
        let mut rounds = 0;
        loop {
            let pause = seen.poll_interval_ms.map_or(PAUSE, Duration::from_millis);
            tokio::select! {
                () = tokio::time::sleep(pause.clamp(SHORTEST, LONGEST)) => {}
                () = caller.cancel.cancelled() => return Err(CallError::Stopped),
            }
            let request = GetTaskRequest::new(GetTaskParams::new(id.as_str()));
            let request = ClientRequest::GetTaskRequest(request);
            let ServerResult::GetTaskResult(got) = self.request(request, limit, caller).await?
            else {
                return Err(CallError::Refused(Word::McpNoResult.into()));
            };
            let DetailedTask { task, payload, .. } = got.task;
            match payload {
                TaskPayload::Completed { result } => {
                    let result = serde_json::from_value(Value::Object(result));
                    return result.map_err(|_| CallError::Refused(Word::McpNoResult.into()));
                }
                TaskPayload::Failed { error } => {
                    let said = error.get("message").and_then(Value::as_str);
                    let said = text::cut(said.unwrap_or_default(), MAX_ERROR);
                    return Err(CallError::Refused(said.into()));
                }
                TaskPayload::Cancelled => {
                    return Err(CallError::Refused(Word::McpCancelled.into()));
                }
                TaskPayload::InputRequired { input_requests } => {
                    let new = |(key, _): &(String, _)| answered.insert(key.clone());
                    let wanted: InputRequests = input_requests.into_iter().filter(new).collect();
                    if !wanted.is_empty() {
                        rounds += 1;
                        self.supply(&id, wanted, rounds, (limit, caller)).await?;
                        changed = Instant::now();
                    }
                }
                _ => {}
            }
            let is_new = task.status_message != seen.status_message
                || task.last_updated_at != seen.last_updated_at;
            if is_new {
                changed = Instant::now();
                let message = task.status_message.as_deref().unwrap_or_default();
                (caller.on_progress)(text::line(message, MAX_MESSAGE));
            } else if !limit.is_zero() && changed.elapsed() > limit {
                return Err(CallError::Timeout(limit));
            }
            seen = task;
        }
    }

    /// What a task wants to know before it goes on.
    async fn supply(
        &self,
        id: &str,
        wanted: InputRequests,
        rounds: usize,
        (limit, caller): (Duration, &Caller<'_>),
    ) -> Result<(), CallError> {
        if rounds > MAX_ROUNDS {
            let most = MAX_ROUNDS.to_string();
            return Err(CallError::Refused(Why::ours(
                Word::McpAsksBack,
                [most.into()],
            )));
        }
        let answers = self.answers(wanted, caller).await?;
        let request = UpdateTaskRequest::new(UpdateTaskParams::new(id, answers));
        let request = ClientRequest::UpdateTaskRequest(request);
        self.request(request, limit, caller).await.map(drop)
    }
}
