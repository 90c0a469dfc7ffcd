//! A run of an agent that speaks the Agent Client Protocol: one process, one session, one prompt.

mod opening;
mod state;
mod transport;

use super::process::{End, describe};
use super::{Failure, Job, Ran, program};
use crate::activity::{
    Activity, PermissionAnswer, PermissionKind, PermissionRequest, Started, ToolKind, Watcher, Way,
};
use crate::outcome::FailureKind;
use crate::record::Recorder;
use crate::resolve::{Agent, Target};
use crate::setup::{Allowance, Capabilities, Filesystem};
use agent_client_protocol::{self as acp, UntypedMessage, v1};
use ostler_host::Exit;
use serde_json::{Value, json};
use state::Shared;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How long an agent may take to end a prompt that was cancelled.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last messages of a process that has ended may take.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What failed where the streams did.
const CONNECTION: &str = "the connection";

type Connection = v1::ConnectionTo<acp::Agent>;

/// Who answers what the agent asks.
#[derive(Clone)]
struct Permissions {
    watcher: Arc<dyn Watcher>,
    capabilities: Capabilities,
    backend: String,
    role: String,
    stop: CancellationToken,
}

/// How a conversation ended.
enum Told {
    /// The answer to the prompt.
    Answered(Value),
    /// The agent refused a request of ours.
    Refused {
        what: &'static str,
        error: acp::Error,
    },
    Ended,
    Stopped(End),
}

pub async fn run(job: Job<'_>) -> Ran {
    let prepared = match program::acp(&job) {
        Ok(prepared) => prepared,
        Err(why) => return Failure::new(FailureKind::Request, why).into(),
    };
    job.watcher.activity(Activity::Started(Started {
        backend: job.target.backend().to_owned(),
        role: job.role.to_owned(),
        model: job.target.reference.model.clone(),
        command: prepared.shown.clone(),
        cwd: job.cwd.to_owned(),
        resumed: job.session.is_some(),
        prompt: job.prompt.to_owned(),
        way: Way::Acp,
    }));
    let recorder = Recorder::new(job.watcher.clone(), job.patterns);
    let process = match job.services.launcher.launch(&prepared.program).await {
        Ok(process) => process,
        Err(error) => {
            let why = format!("could not be started: {error}{}", install_hint(job.target));
            let kind = FailureKind::NotStarted;
            return job.failure(kind, &why, &prepared.shown, &recorder).into();
        }
    };
    let shared = Shared::new(recorder, noise(job.target), no_message(job.target));
    let (lines, handle) = transport::connect(process, shared.clone());
    let stop = job.cancel.child_token();
    let permissions = Permissions {
        watcher: job.watcher.clone(),
        capabilities: job.target.capabilities.clone(),
        backend: job.target.backend().to_owned(),
        role: job.role.to_owned(),
        stop: stop.clone(),
    };
    let mut warnings = Vec::new();
    let told = {
        let talk = talk(&job, &shared, permissions, lines, &mut warnings);
        let mut talk = std::pin::pin!(talk);
        tokio::select! {
            told = &mut talk => told,
            () = last_words(&handle.ended) => Told::Ended,
        }
    };
    stop.cancel();
    let exit = match &told {
        Told::Stopped(_) => handle.stop().await,
        Told::Answered(_) | Told::Refused { .. } | Told::Ended => handle.close().await,
    };
    finish(&job, told, exit, warnings, &shared, &prepared.shown)
}

async fn last_words(ended: &CancellationToken) {
    ended.cancelled().await;
    sleep(LAST_WORDS).await;
}

fn noise(target: &Target) -> &[String] {
    match &target.agent {
        Agent::Known { row, .. } => &row.noise,
        Agent::Command(_) | Agent::Own => &[],
    }
}

fn no_message(target: &Target) -> &[String] {
    match &target.agent {
        Agent::Known { row, .. } => row.acp.as_ref().map_or(&[], |acp| &acp.no_message),
        Agent::Command(_) | Agent::Own => &[],
    }
}

fn install_hint(target: &Target) -> String {
    match &target.agent {
        Agent::Known { row, .. } if !row.check.install_hint.is_empty() => {
            format!(" (install it: {})", row.check.install_hint)
        }
        Agent::Known { .. } | Agent::Command(_) | Agent::Own => String::new(),
    }
}

/// Connects the handlers and holds the conversation.
async fn talk(
    job: &Job<'_>,
    shared: &Shared,
    permissions: Permissions,
    lines: impl acp::ConnectTo<acp::Client> + 'static,
    warnings: &mut Vec<String>,
) -> Told {
    let updates = shared.clone();
    let asks = shared.clone();
    let client = acp::Client
        .v1()
        .name("ostler")
        .on_receive_notification(
            async move |message: UntypedMessage, _connection: Connection| {
                if message.method == "session/update" {
                    updates.state().update(&message.params);
                }
                Ok(())
            },
            acp::on_receive_notification!(),
        )
        .on_receive_request(
            async move |message: UntypedMessage,
                        responder: v1::Responder<Value>,
                        connection: Connection| {
                if message.method != "session/request_permission" {
                    return responder.respond_with_error(acp::Error::method_not_found());
                }
                let request = asks.state().permission(&message.params);
                let permissions = permissions.clone();
                // The next message is read at once, so that a cancel gets through.
                connection.spawn(async move {
                    let outcome = permissions.answer(request).await;
                    responder.respond(json!({"outcome": outcome}))
                })
            },
            acp::on_receive_request!(),
        );
    let talked = client.connect_with(lines, async |connection: Connection| {
        Ok(converse(job, shared, &connection, warnings).await)
    });
    match talked.await {
        Ok(told) => told,
        Err(error) => Told::Refused {
            what: CONNECTION,
            error,
        },
    }
}

async fn converse(
    job: &Job<'_>,
    shared: &Shared,
    connection: &Connection,
    warnings: &mut Vec<String>,
) -> Told {
    let opening = opening::open(job, shared, connection, warnings);
    let session = tokio::select! {
        opened = opening => match opened {
            Ok(session) => session,
            Err(refused) => return refused,
        },
        () = job.cancel.cancelled() => return Told::Stopped(End::Cancelled),
        () = sleep_until(job.until) => return Told::Stopped(End::Timeout),
    };
    let params = json!({
        "sessionId": session,
        "prompt": [{"type": "text", "text": job.prompt}],
    });
    let prompt = request(connection, "session/prompt", params);
    let mut prompt = std::pin::pin!(prompt);
    let end = tokio::select! {
        answer = &mut prompt => return told("session/prompt", answer),
        () = job.cancel.cancelled() => End::Cancelled,
        () = sleep_until(job.until) => End::Timeout,
    };
    let cancel = UntypedMessage::new("session/cancel", json!({"sessionId": session}));
    if let Ok(cancel) = cancel
        && connection.send_notification(cancel).is_ok()
    {
        let _late = timeout(GRACE, prompt).await;
    }
    Told::Stopped(end)
}

fn told(what: &'static str, answer: Result<Value, acp::Error>) -> Told {
    match answer {
        Ok(answer) => Told::Answered(answer),
        Err(error) => Told::Refused { what, error },
    }
}

/// Sends a request and waits for its answer.
async fn request(
    connection: &Connection,
    method: &str,
    params: Value,
) -> Result<Value, acp::Error> {
    let message = UntypedMessage::new(method, params)?;
    connection.send_request(message).block_task().await
}

fn finish(
    job: &Job<'_>,
    told: Told,
    exit: Option<Exit>,
    mut warnings: Vec<String>,
    shared: &Shared,
    shown: &str,
) -> Ran {
    let mut state = shared.state();
    if let Told::Answered(answer) = &told {
        state.usage(answer);
    }
    state.recorder.flush();
    let recorder = &state.recorder;
    let failed = |why: String| Some(job.failure(FailureKind::Agent, &why, shown, recorder));
    let failure = match &told {
        Told::Stopped(end) => job.stopped(end, shown, recorder),
        Told::Refused { what, error } if !is_closed(what, error) => {
            let failure = failed(refusal(job.target, what, error));
            failure.map(|failure| Failure {
                is_session_lost: failure.is_session_lost || is_lost(what, error),
                ..failure
            })
        }
        Told::Refused { .. } | Told::Ended => {
            let how = exit.map_or_else(|| "its end was lost".to_owned(), describe);
            failed(format!("ended in the middle ({how})"))
        }
        Told::Answered(answer) => match answer.get("stopReason").and_then(Value::as_str) {
            Some("refusal") => failed("refused the task".to_owned()),
            Some("cancelled") => failed("stopped by itself".to_owned()),
            _ if recorder.last().is_none() => failed("ended without an answer".to_owned()),
            Some(reason @ ("max_tokens" | "max_turn_requests")) => {
                warnings.push(format!("it stopped at a limit of its own ({reason})"));
                None
            }
            Some(_) | None => None,
        },
    };
    Ran {
        session: recorder.session_id().map(str::to_owned),
        message: recorder.last().map(str::to_owned),
        cost: recorder.cost(),
        told_cost: None,
        warnings,
        failure,
    }
}

/// The agent is gone, and so was the request.
fn is_closed(what: &str, error: &acp::Error) -> bool {
    let reason = error.data.as_ref().and_then(|data| data.get("reason"));
    what == CONNECTION || reason.and_then(Value::as_str) == Some("incoming_transport_closed")
}

/// It does not go on with the session that it was given.
fn is_lost(what: &str, error: &acp::Error) -> bool {
    let is_about_login = error.code == acp::ErrorCode::AUTH_REQUIRED;
    matches!(what, "session/load" | "session/resume") && !is_about_login
}

fn refusal(target: &Target, what: &str, error: &acp::Error) -> String {
    let mut text = format!("failed ({what}): {}", error.message);
    if let Some(data) = error
        .data
        .as_ref()
        .and_then(crate::setup::catalogue::text_of)
        && !error.message.contains(&data)
    {
        text.push_str(&format!(" ({data})"));
    }
    let is_login = error.code == acp::ErrorCode::AUTH_REQUIRED;
    match &target.agent {
        Agent::Known { row, .. } if is_login && !row.check.login_hint.is_empty() => {
            text.push_str(&format!(": {}", row.check.login_hint));
        }
        Agent::Known { .. } | Agent::Command(_) | Agent::Own => {}
    }
    text
}

impl Permissions {
    /// What the capabilities exclude is refused at once; the rest is asked.
    async fn answer(&self, mut request: PermissionRequest) -> Value {
        request.backend.clone_from(&self.backend);
        request.role.clone_from(&self.role);
        let options = request.options.clone();
        let answer = match self.is_excluded(request.tool.kind) {
            true => PermissionAnswer::Reject,
            false => tokio::select! {
                answer = self.watcher.permission(request) => answer,
                () = self.stop.cancelled() => PermissionAnswer::Cancelled,
            },
        };
        let of_kind = |kind| options.iter().find(|option| option.kind == kind);
        let chosen = match answer {
            PermissionAnswer::Chosen(id) => options.iter().find(|option| option.id == id),
            PermissionAnswer::Allow => {
                of_kind(PermissionKind::AllowOnce).or_else(|| of_kind(PermissionKind::AllowAlways))
            }
            PermissionAnswer::Reject => of_kind(PermissionKind::RejectOnce)
                .or_else(|| of_kind(PermissionKind::RejectAlways)),
            PermissionAnswer::Cancelled => None,
        };
        match chosen {
            Some(option) => json!({"outcome": "selected", "optionId": option.id}),
            None => json!({"outcome": "cancelled"}),
        }
    }

    fn is_excluded(&self, kind: ToolKind) -> bool {
        match kind {
            ToolKind::Edit => self.capabilities.filesystem == Filesystem::ReadOnly,
            ToolKind::Execute => self.capabilities.shell == Allowance::Deny,
            ToolKind::Fetch => self.capabilities.network == Allowance::Deny,
            ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Other => false,
        }
    }
}
