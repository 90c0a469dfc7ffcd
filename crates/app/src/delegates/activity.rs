//! What another agent does, in the words of the engine.

use ostler_delegate::activity::{
    Activity, NoticeSource, PermissionAnswer, PermissionRequest, PieceKind, PlanState, ToolKind,
    ToolStarted, Watcher, Way,
};
use ostler_engine::agents::children::Spent;
use ostler_engine::agents::foreign::{
    ForeignActivity, ForeignCall, ForeignRequest, ForeignResult, ForeignWatcher,
};
use ostler_wire::{BoxFuture, Json, TodoItem, TodoState};
use std::sync::Arc;

/// Hands on what happens to the session that follows a task.
pub struct Follower(pub Arc<dyn ForeignWatcher>);

impl Watcher for Follower {
    fn activity(&self, activity: Activity) {
        if let Some(activity) = converted(activity) {
            self.0.tell(activity);
        }
    }

    fn permission(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(async move {
            let asked = ForeignRequest {
                backend: request.backend,
                call: call(request.tool),
                preview: request.preview,
            };
            match self.0.permit(asked).await {
                true => PermissionAnswer::Allow,
                false => PermissionAnswer::Reject,
            }
        })
    }
}

fn converted(activity: Activity) -> Option<ForeignActivity> {
    Some(match activity {
        Activity::Started(started) => match started.way {
            Way::CommandLine | Way::Acp => ForeignActivity::Started(started.command),
            Way::Own => ForeignActivity::Started(format!("{}/{}", started.backend, started.model)),
        },
        Activity::Session(id) => ForeignActivity::Session(id),
        Activity::Piece(piece) => match piece.kind {
            PieceKind::Message => ForeignActivity::Said(piece.text),
            PieceKind::Reasoning => ForeignActivity::Thought(piece.text),
        },
        Activity::Message(text) => ForeignActivity::Message(text),
        Activity::Reasoning(text) => ForeignActivity::Reasoning(text),
        Activity::ToolStarted(started) => ForeignActivity::Call(call(started)),
        Activity::ToolFinished(finished) => ForeignActivity::Result(ForeignResult {
            id: finished.id,
            ok: finished.ok,
            output: finished.output,
        }),
        Activity::Plan(steps) => ForeignActivity::Todo(
            steps
                .into_iter()
                .map(|step| TodoItem {
                    text: step.text,
                    state: match step.state {
                        PlanState::Pending => TodoState::Pending,
                        PlanState::Running => TodoState::InProgress,
                        PlanState::Done => TodoState::Done,
                    },
                })
                .collect(),
        ),
        Activity::Usage(cost) => ForeignActivity::Spent(Spent {
            input: cost.input_tokens,
            cached: cost.cached_tokens,
            output: cost.output_tokens,
            cost: cost.usd,
        }),
        Activity::Retry(retry) => ForeignActivity::Retry {
            after_ms: retry.delay_ms.unwrap_or(0),
            attempt: retry
                .attempt
                .and_then(|attempt| u32::try_from(attempt).ok())
                .unwrap_or(0),
            reason: retry.message,
        },
        Activity::Notice(notice) => match notice.from {
            NoticeSource::Stderr
            | NoticeSource::Output
            | NoticeSource::Agent
            | NoticeSource::Ours => ForeignActivity::Notice(notice.text),
        },
    })
}

fn call(started: ToolStarted) -> ForeignCall {
    ForeignCall {
        id: started.id,
        title: started.title,
        kind: match started.kind {
            ToolKind::Read | ToolKind::Search => ostler_wire::ToolKind::Read,
            ToolKind::Edit => ostler_wire::ToolKind::Edit,
            ToolKind::Execute => ostler_wire::ToolKind::Run,
            ToolKind::Fetch => ostler_wire::ToolKind::Net,
            ToolKind::Think | ToolKind::Other => ostler_wire::ToolKind::Other,
        },
        input: started
            .input
            .filter(serde_json::Value::is_object)
            .map(|input| Json::of(&input)),
        paths: started.paths,
    }
}
