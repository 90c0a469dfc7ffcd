//! The client of a call, for as long as the call runs: it is told how far the call has come and asked what the person wants.
#![expect(
    deprecated,
    reason = "clients of the revisions before 2026-07-28 have logging"
)]

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ServerRequest,
};
use rmcp::service::{ElicitationMode, Peer, PeerRequestOptions, RequestContext, RequestHandle};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// What the person wants to know, as a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub message: String,
    /// A JSON Schema of an object with simple fields.
    pub schema: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QuestionReply {
    Accept(Map<String, Value>),
    Decline,
    /// The person left it.
    Cancel,
    /// The client could not put it; why.
    Failed(String),
}

/// The lowest level of messages that the client wants. Shared by the calls of a connection.
#[derive(Default)]
pub struct Threshold(AtomicU8);

impl Threshold {
    pub fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    fn admits(&self, level: LoggingLevel) -> bool {
        level as u8 >= self.0.load(Ordering::Relaxed)
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct CallClient {
    peer: Peer<RoleServer>,
    progress: Option<(ProgressToken, Arc<AtomicU64>)>,
    threshold: Arc<Threshold>,
    can_ask: bool,
    stop: CancellationToken,
}

impl CallClient {
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        threshold: Arc<Threshold>,
        stop: CancellationToken,
    ) -> Self {
        let token = context.meta.get_progress_token();
        let modes = context.peer.supported_elicitation_modes();
        Self {
            peer: context.peer.clone(),
            progress: token.map(|token| (token, Arc::default())),
            threshold,
            can_ask: modes.contains(&ElicitationMode::Form),
            stop,
        }
    }

    /// Cancelled when the client does not want the call any more, or is gone.
    pub fn stopped(&self) -> &CancellationToken {
        &self.stop
    }

    /// The client puts questions to a person.
    pub fn can_ask(&self) -> bool {
        self.can_ask
    }

    /// The client wants to know how far the call has come.
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Tells how far the call has come: one step more than the last time.
    pub async fn progress(&self, message: &str) {
        let Some((token, steps)) = &self.progress else {
            return;
        };
        let step = steps.fetch_add(1, Ordering::Relaxed) + 1;
        let note = ProgressNotificationParam::new(token.clone(), step as f64).with_message(message);
        // A client that does not read must not keep a call that is to stop.
        let _ = self
            .stop
            .run_until_cancelled(self.peer.notify_progress(note))
            .await;
    }

    /// A message for the client's log.
    pub async fn log(&self, data: Value) {
        if !self.threshold.admits(LoggingLevel::Info) {
            return;
        }
        let message =
            LoggingMessageNotificationParam::new(LoggingLevel::Info, data).with_logger("ostler");
        let _ = self
            .stop
            .run_until_cancelled(self.peer.notify_logging_message(message))
            .await;
    }

    /// Puts a question. When this is dropped before it is answered, the client is told that it is closed.
    pub async fn ask(&self, question: Question) -> QuestionReply {
        let params = json!({
            "mode": "form",
            "message": question.message,
            "requestedSchema": question.schema,
        });
        let params: ElicitRequestParams = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => return QuestionReply::Failed(error.to_string()),
        };
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_request_with_option(request, options).await;
        let mut open = match sent {
            Ok(handle) => OpenQuestion(Some(handle)),
            Err(error) => return QuestionReply::Failed(error.to_string()),
        };
        let answered = match &mut open.0 {
            Some(handle) => (&mut handle.rx).await,
            None => return QuestionReply::Cancel,
        };
        open.0 = None;
        let result = match answered {
            Ok(Ok(ClientResult::ElicitResult(result))) => result,
            Ok(Ok(_)) => return QuestionReply::Failed("an answer of another kind".into()),
            Ok(Err(error)) => return QuestionReply::Failed(error.to_string()),
            Err(_) => return QuestionReply::Cancel,
        };
        match (result.action, result.content) {
            (ElicitationAction::Accept, Some(Value::Object(fields))) => {
                QuestionReply::Accept(fields)
            }
            (ElicitationAction::Accept, _) => QuestionReply::Accept(Map::new()),
            (ElicitationAction::Decline, _) => QuestionReply::Decline,
            // Also what a later revision may say.
            _ => QuestionReply::Cancel,
        }
    }
}

/// A question that the client shows.
struct OpenQuestion(Option<RequestHandle<RoleServer>>);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            // The client may be gone.
            tokio::spawn(async move { handle.cancel(None).await });
        }
    }
}
