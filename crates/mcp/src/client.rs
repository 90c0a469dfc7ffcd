//! One connection to a server: opened, asked what it offers, called. Everything has a deadline, and every failure is a
//! sentence that says what to do. It knows nothing of sessions.

use crate::content::Content;
use crate::failure::{Failure, FailureCode, MAX_SAID, Place, RedirectTarget, on_the_way};
use crate::form::Asker;
use crate::handler::{CallAsker, Handler, PendingCalls};
use crate::stdio::{ServerLog, with_log_tail};
use crate::text;
use ostler_wire::{Why, Word};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputRequest, InputRequests, InputResponses, NumberOrString,
    ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams, ServerRequest, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use rmcp::{RoleClient, Service, ServiceError};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Of a server's name and version.
const MAX_NAME: usize = 128;
/// Questions back that one call may come with.
pub(crate) const MAX_ROUNDS: usize = 10;
/// How long telling a server that nobody waits any longer may take.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_millis(100);
/// Between two signs of life that are passed on; nobody reads faster.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
/// For prompts and resources.
const FETCHING: Duration = Duration::from_secs(60);
/// No limit, for all that matters.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An open connection.
pub struct Connection {
    pub(crate) name: String,
    /// Of one that is no program.
    pub(crate) url: Option<String>,
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub log: ServerLog,
    pub pending: PendingCalls,
    /// Cancelled when the connection is over, and ends it.
    pub over: CancellationToken,
}

/// Who makes a request, and what becomes of it on the way.
pub struct Caller<'a> {
    pub cancel: &'a CancellationToken,
    /// Gets every sign of life.
    pub on_progress: &'a (dyn Fn(String) + Send + Sync),
    /// Whom the server may ask back.
    pub asker: Option<Arc<dyn Asker>>,
}

impl<'a> Caller<'a> {
    /// Who waits, and no more.
    fn silent(cancel: &'a CancellationToken) -> Self {
        Self {
            cancel,
            on_progress: &|_| {},
            asker: None,
        }
    }
}

/// Who is at the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerInfo {
    /// Name and version, as it gives them.
    pub server: String,
    pub protocol: String,
}

/// What a call gave.
pub struct CallResult {
    pub content: Content,
    /// The server says that the call failed; `content` says why.
    pub is_error: bool,
}

impl From<CallToolResult> for CallResult {
    fn from(result: CallToolResult) -> Self {
        Self {
            is_error: result.is_error == Some(true),
            content: Content::new(result.content, result.structured_content),
        }
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("{}", self.why())]
    Timeout(Duration),
    /// As the server says.
    #[error("{}", self.why())]
    Refused(Why),
    #[error("{}", self.why())]
    Ended(Why),
    /// Its words to whoever is to log in.
    #[error("{}", self.why())]
    Login(String),
    #[error("{}", self.why())]
    Stopped,
}

impl CallError {
    pub fn why(&self) -> Why {
        match self {
            Self::Timeout(limit) => Why::ours(Word::McpSilent, [format!("{limit:?}").into()]),
            Self::Refused(why) => why.clone(),
            Self::Ended(why) => Why::ours(Word::McpEnded, [why.clone()]),
            Self::Login(_) => Word::McpWantsLogin.into(),
            Self::Stopped => Word::McpStopped.into(),
        }
    }
}

impl Connection {
    pub fn about(&self) -> PeerInfo {
        let Some(info) = self.service.peer_info() else {
            return PeerInfo::default();
        };
        let server = info.server_info.as_ref().map_or_else(String::new, |them| {
            text::line(&format!("{} {}", them.name, them.version), MAX_NAME)
        });
        PeerInfo {
            server,
            protocol: info.protocol_version.to_string(),
        }
    }

    /// How it ended, as the end of a sentence.
    pub fn end_reason(&self) -> Why {
        let why = self.log.ending().unwrap_or(Word::McpLost.into());
        with_log_tail(why, &self.log)
    }

    pub fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.service.is_transport_closed()
    }

    /// Servers of today tell of changes only who has asked for it.
    pub(crate) fn subscribe(&self) {
        let info = self.service.peer_info();
        let Some(info) = info.filter(|i| i.protocol_version >= ProtocolVersion::V_2026_07_28)
        else {
            return;
        };
        let tells = info
            .capabilities
            .tools
            .as_ref()
            .and_then(|t| t.list_changed);
        if tells != Some(true) {
            return;
        }
        let (peer, pending, over) = (
            self.service.peer().clone(),
            self.pending.clone(),
            self.over.clone(),
        );
        tokio::spawn(async move {
            let listening = async {
                let filter = SubscriptionFilter::builder().tools_list_changed().build();
                let mut subscription = peer.listen(filter).await.ok()?;
                while let Ok(Some(_)) = subscription.next().await {
                    pending.change();
                }
                Some(())
            };
            tokio::select! {
                _ = listening => {}
                () = over.cancelled() => {}
            }
        });
    }

    /// Calls a tool. `limit` is for the time without a sign of life.
    pub async fn call(
        &self,
        tool: &str,
        args: Map<String, Value>,
        limit: Duration,
        caller: &Caller<'_>,
    ) -> Result<CallResult, CallError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        for _ in 0..MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.request(request, limit, caller).await? {
                ServerResult::CallToolResult(result) => return Ok(result.into()),
                ServerResult::InputRequiredResult(wanted) => {
                    let requests = wanted.input_requests.unwrap_or_default();
                    let answers = self.answers(requests, caller).await?;
                    params.input_responses = (!answers.is_empty()).then_some(answers);
                    params.request_state = wanted.request_state;
                }
                ServerResult::CreateTaskResult(made) => {
                    let result = self.follow(made.task, limit, caller).await?;
                    return Ok(result.into());
                }
                _ => {
                    return Err(CallError::Refused(Word::McpNoResult.into()));
                }
            }
        }
        let most = MAX_ROUNDS.to_string();
        Err(CallError::Refused(Why::ours(
            Word::McpAsksBack,
            [most.into()],
        )))
    }

    /// A prompt of the server's: the words that it stands for.
    pub async fn prompt(
        &self,
        name: &str,
        args: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let params = GetPromptRequestParams::new(name).with_arguments(args);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let answer = self
            .request(request, FETCHING, &Caller::silent(cancel))
            .await?;
        let ServerResult::GetPromptResult(result) = answer else {
            return Err(CallError::Refused(Word::McpNoPrompt.into()));
        };
        let blocks = result.messages.into_iter().map(|message| message.content);
        Ok(Content::new(blocks.collect(), None).text)
    }

    /// What lies at an address of the server's, as text.
    pub async fn resource(
        &self,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let answer = self
            .request(request, FETCHING, &Caller::silent(cancel))
            .await?;
        let ServerResult::ReadResourceResult(result) = answer else {
            return Err(CallError::Refused(Word::McpNoResource.into()));
        };
        let mut gathered = Content::default();
        result
            .contents
            .into_iter()
            .for_each(|part| gathered.resource(part));
        Ok(gathered.text)
    }

    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        limit: Duration,
        caller: &Caller<'_>,
    ) -> Result<ServerResult, CallError> {
        let limit = if limit.is_zero() { FOREVER } else { limit };
        let options = PeerRequestOptions::no_options();
        let sending = self.pending.sending().await;
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        let mut handle = sent.map_err(|error| self.call_error(error))?;
        let _lent = caller
            .asker
            .clone()
            .map(|asker| self.pending.register_asker(asker, &handle.id));
        let (_listening, mut signs) = self.pending.listen(handle.progress_token.clone());
        drop(sending);
        let mut heard = None;
        let mut until = Instant::now() + limit;
        let error = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => return match answer {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(self.call_error(error)),
                    Err(_) => Err(self.call_error(ServiceError::TransportClosed)),
                },
                () = caller.cancel.cancelled() => break CallError::Stopped,
                sign = signs.recv() => {
                    let now = Instant::now();
                    until = now + limit;
                    if heard.is_none_or(|before| now - before >= PROGRESS_PAUSE) {
                        heard = Some(now);
                        (caller.on_progress)(sign.unwrap_or_default());
                    }
                }
                // A person who is being asked has all the time that they want.
                () = tokio::time::sleep_until(until), if self.pending.is_asking() => {
                    until = Instant::now() + limit;
                }
                () = tokio::time::sleep_until(until) => break CallError::Timeout(limit),
            }
        };
        let reason = Some(error.to_string());
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, handle.cancel(reason)).await;
        Err(error)
    }

    /// Answers what a server wants to know before it goes on.
    pub(crate) async fn answers(
        &self,
        wanted: InputRequests,
        caller: &Caller<'_>,
    ) -> Result<InputResponses, CallError> {
        let mut answers = InputResponses::new();
        for (key, request) in wanted {
            let request = match request {
                InputRequest::CreateMessage(request) => {
                    ServerRequest::CreateMessageRequest(request)
                }
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => return Err(CallError::Refused(Word::McpAsksOther.into())),
            };
            let id = NumberOrString::String(key.as_str().into());
            let mut context = RequestContext::new(id, self.service.peer().clone());
            context.extensions.insert(CallAsker(caller.asker.clone()));
            let answer = self
                .service
                .service()
                .handle_request(request, context)
                .await;
            let answer = answer.map_err(|e| CallError::Refused(e.message.to_string().into()))?;
            let answer = serde_json::to_value(answer).unwrap_or_default();
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    fn call_error(&self, error: ServiceError) -> CallError {
        match error {
            ServiceError::McpError(_) => CallError::Refused(self.failed(error)),
            ServiceError::Cancelled { .. } => CallError::Refused(Word::McpCancelled.into()),
            other => match wanted_login(&other) {
                Some(challenge) => CallError::Login(challenge),
                None => CallError::Ended(self.failed(other)),
            },
        }
    }

    /// What went wrong, with what the server said of itself.
    pub(crate) fn failed(&self, error: ServiceError) -> Why {
        self.failure(error).why
    }

    pub(crate) fn failure(&self, error: ServiceError) -> Failure {
        let failure = match (error, &self.url) {
            (ServiceError::McpError(error), _) => {
                return Failure::new(FailureCode::Refused, text::cut(&error.message, MAX_SAID));
            }
            (ServiceError::UnexpectedResponse, _) => {
                return Failure::new(FailureCode::NotMcp, Word::McpNoResult);
            }
            (ServiceError::TransportSend(error), Some(url)) => {
                let place = Place {
                    server: self.name.clone(),
                    url: url.clone(),
                    redirect: RedirectTarget::default(),
                };
                on_the_way(error.error.as_ref(), &place)
            }
            (_, Some(_)) => Failure::new(FailureCode::Closed, Word::McpLost),
            (_, None) => Failure::new(FailureCode::Ended, Word::McpLost),
        };
        let Failure { code, why } = self.log.fault().unwrap_or(failure);
        let why = self.log.ending().unwrap_or(why);
        Failure::new(code, with_log_tail(why, &self.log))
    }

    /// Lets it go: its input is closed, and what does not end then is ended.
    pub async fn close(&self) {
        self.over.cancel();
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// What a server says to whoever is to log in, if that is why an error came.
pub(crate) fn wanted_login(error: &ServiceError) -> Option<String> {
    let ServiceError::TransportSend(error) = error else {
        return None;
    };
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error.error.as_ref());
    while let Some(error) = next {
        if let Some(wanted) = error.downcast_ref::<AuthRequiredError>() {
            return Some(wanted.www_authenticate_header.clone());
        }
        if let Some(wanted) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(wanted.www_authenticate_header.clone());
        }
        next = error.source();
    }
    None
}
