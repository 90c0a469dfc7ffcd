//! One connection to a server: opened, asked what it offers, called. Everything has a deadline, and every failure is a
//! sentence that says what to do. It knows nothing of sessions.

use super::connect::last_words;
use super::content::Gathered;
use super::handler::{Handler, Talk};
use super::stdio::Noise;
use super::text;
use ostler_wire::{Why, Word};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputRequest, InputRequiredResult, InputResponses, NumberOrString,
    ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams, ServerRequest, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use rmcp::{RoleClient, Service, ServiceError};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Of a server's name and version.
const MAX_NAME: usize = 128;
/// Of what a server says goes wrong.
pub(super) const MAX_SAID: usize = 2_000;
/// Questions back that one call may come with.
const MAX_ROUNDS: usize = 10;
/// How long telling a server that nobody waits any longer may take.
const FAREWELL: Duration = Duration::from_millis(100);
/// For prompts and resources.
const FETCHING: Duration = Duration::from_secs(60);
/// No limit, for all that matters.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An open connection.
pub struct Link {
    pub(super) name: String,
    pub(super) service: RunningService<RoleClient, Handler>,
    pub noise: Noise,
    pub talk: Talk,
    /// Cancelled when the connection is over, and ends it.
    pub over: CancellationToken,
}

/// Who is at the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Name and version, as it gives them.
    pub server: String,
    pub protocol: String,
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

impl Link {
    pub fn about(&self) -> About {
        let Some(info) = self.service.peer_info() else {
            return About::default();
        };
        let server = info.server_info.as_ref().map_or_else(String::new, |them| {
            text::line(&format!("{} {}", them.name, them.version), MAX_NAME)
        });
        About {
            server,
            protocol: info.protocol_version.to_string(),
        }
    }

    /// How it ended, as the end of a sentence.
    pub fn obituary(&self) -> Why {
        let why = self.noise.ending().unwrap_or(Word::McpLost.into());
        last_words(why, &self.noise)
    }

    pub fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.service.is_transport_closed()
    }

    /// Servers of today tell of changes only who has asked for it.
    pub(super) fn subscribe(&self) {
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
        let (peer, talk, over) = (
            self.service.peer().clone(),
            self.talk.clone(),
            self.over.clone(),
        );
        tokio::spawn(async move {
            let listening = async {
                let filter = SubscriptionFilter::builder().tools_list_changed().build();
                let mut subscription = peer.listen(filter).await.ok()?;
                while let Ok(Some(_)) = subscription.next().await {
                    talk.change();
                }
                Some(())
            };
            tokio::select! {
                _ = listening => {}
                () = over.cancelled() => {}
            }
        });
    }

    /// Calls a tool. `limit` is for the time without a sign of life, each of which is passed to `hear`.
    pub async fn call(
        &self,
        tool: &str,
        args: Map<String, Value>,
        limit: Duration,
        (cancel, hear): (&CancellationToken, impl Fn(String)),
    ) -> Result<CallToolResult, CallError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        for _ in 0..MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.request(request, limit, (cancel, &hear)).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    let (answers, state) = self.fulfil(wanted).await?;
                    params.input_responses = answers;
                    params.request_state = state;
                }
                ServerResult::CreateTaskResult(_) => {
                    return Err(CallError::Refused(Word::McpTask.into()));
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
        let answer = self.request(request, FETCHING, (cancel, &|_| {})).await?;
        let ServerResult::GetPromptResult(result) = answer else {
            return Err(CallError::Refused(Word::McpNoPrompt.into()));
        };
        let blocks = result.messages.into_iter().map(|message| message.content);
        Ok(Gathered::new(blocks.collect(), None).text)
    }

    /// What lies at an address of the server's, as text.
    pub async fn resource(
        &self,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let answer = self.request(request, FETCHING, (cancel, &|_| {})).await?;
        let ServerResult::ReadResourceResult(result) = answer else {
            return Err(CallError::Refused(Word::McpNoResource.into()));
        };
        let mut gathered = Gathered::default();
        result
            .contents
            .into_iter()
            .for_each(|part| gathered.resource(part));
        Ok(gathered.text)
    }

    async fn request(
        &self,
        request: ClientRequest,
        limit: Duration,
        (cancel, hear): (&CancellationToken, &impl Fn(String)),
    ) -> Result<ServerResult, CallError> {
        let limit = if limit.is_zero() { FOREVER } else { limit };
        let options = PeerRequestOptions::no_options();
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        let mut handle = sent.map_err(|error| self.call_error(error))?;
        let (_listening, mut signs) = self.talk.listen(handle.progress_token.clone());
        let mut until = Instant::now() + limit;
        let error = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => return match answer {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(self.call_error(error)),
                    Err(_) => Err(self.call_error(ServiceError::TransportClosed)),
                },
                () = cancel.cancelled() => break CallError::Stopped,
                sign = signs.recv() => {
                    until = Instant::now() + limit;
                    hear(sign.unwrap_or_default());
                }
                // A person who is being asked has all the time that they want.
                () = tokio::time::sleep_until(until), if self.talk.is_asking() => {
                    until = Instant::now() + limit;
                }
                () = tokio::time::sleep_until(until) => break CallError::Timeout(limit),
            }
        };
        let reason = Some(error.to_string());
        let _ = tokio::time::timeout(FAREWELL, handle.cancel(reason)).await;
        Err(error)
    }

    /// Answers what a server wants to know before it goes on.
    async fn fulfil(
        &self,
        wanted: InputRequiredResult,
    ) -> Result<(Option<InputResponses>, Option<String>), CallError> {
        let mut answers = InputResponses::new();
        for (key, request) in wanted.input_requests.unwrap_or_default() {
            let request = match request {
                InputRequest::CreateMessage(request) => {
                    ServerRequest::CreateMessageRequest(request)
                }
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => return Err(CallError::Refused(Word::McpAsksOther.into())),
            };
            let id = NumberOrString::String(key.as_str().into());
            let context = RequestContext::new(id, self.service.peer().clone());
            let answer = self
                .service
                .service()
                .handle_request(request, context)
                .await;
            let answer = answer.map_err(|e| CallError::Refused(e.message.to_string().into()))?;
            let answer = serde_json::to_value(answer).unwrap_or_default();
            answers.insert(key, answer);
        }
        Ok((
            (!answers.is_empty()).then_some(answers),
            wanted.request_state,
        ))
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
    pub(super) fn failed(&self, error: ServiceError) -> Why {
        if let ServiceError::McpError(error) = &error {
            return text::cut(&error.message, MAX_SAID).into();
        }
        let said = || text::cut(&chain(&error), MAX_SAID).into();
        last_words(self.noise.ending().unwrap_or_else(said), &self.noise)
    }

    /// Lets it go: its input is closed, and what does not end then is ended.
    pub async fn close(&self) {
        self.over.cancel();
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// What a server says to whoever is to log in, if that is why an error came.
pub(super) fn wanted_login(error: &ServiceError) -> Option<String> {
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

/// An error with what lies below it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !out.contains(&said) {
            out.push_str(&format!(": {said}"));
        }
        cause = deeper.source();
    }
    out
}
