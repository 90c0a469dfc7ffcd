//! One connection to a server: opened, asked what it offers, called. Everything has a deadline, and every failure is a
//! sentence that says what to do. It knows nothing of sessions.

use super::handler::{Handler, Talk};
use super::settings::{Address, Endpoint, Program, Server, Surroundings};
use super::stdio::{self, MAX_MESSAGE, Noise};
use super::{Lists, PromptInfo, ResourceInfo, ToolInfo, auth, text};
use crate::confine::SandboxSettings;
use http::{HeaderName, HeaderValue};
use ostler_host::sandbox::{Network, Plan, Policy};
use ostler_host::{Command, Output, Stdio};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest,
    InputRequiredResult, InputResponses, NumberOrString, PaginatedRequestParams, ProtocolVersion,
    ServerRequest, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RequestContext, RunningService,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use rmcp::{RoleClient, Service, ServiceError};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Of one list.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 256;
const MAX_OTHERS: usize = 1_000;
const MAX_DESCRIPTION: usize = 2_048;
const MAX_NAME: usize = 128;
const MAX_URI: usize = 2_048;
/// Of what a server says goes wrong.
const MAX_SAID: usize = 2_000;
/// Of a server's log that stands in an error.
const MAX_LAST_WORDS: usize = 600;
/// Questions back that one call may come with.
const MAX_ROUNDS: usize = 10;
/// How long telling a server that nobody waits any longer may take.
const FAREWELL: Duration = Duration::from_millis(100);
const CONNECT: Duration = Duration::from_secs(10);
/// Of the command that makes headers.
const MAX_HEADERS: usize = 64 * 1024;
/// No limit, for all that matters.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An open connection.
pub struct Link {
    name: String,
    service: RunningService<RoleClient, Handler>,
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
    #[error("no sign of life for {0:?}")]
    Timeout(Duration),
    /// As the server says.
    #[error("{0}")]
    Refused(String),
    #[error("the connection ended: {0}")]
    Ended(String),
    /// Its words to whoever is to log in.
    #[error("it wants a login")]
    Login(String),
    #[error("stopped")]
    Stopped,
}

impl Link {
    /// Connects, whatever revision of the protocol the server speaks. The error is the end of a sentence.
    pub async fn open(
        server: &Server,
        around: &Surroundings,
        cancel: CancellationToken,
    ) -> Result<Self, Failed> {
        let auto = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        match Self::open_as(server, around, auto, cancel.child_token()).await {
            Ok(link) => Ok(link),
            // Some servers of old end at a question that they do not know.
            Err(first) if first.again => {
                let mode = ClientLifecycleMode::Initialize;
                let second = Self::open_as(server, around, mode, cancel.child_token()).await;
                second.map_err(|_| first)
            }
            Err(failed) => Err(failed),
        }
    }

    /// The same in one way only.
    pub async fn open_as(
        server: &Server,
        around: &Surroundings,
        mode: ClientLifecycleMode,
        over: CancellationToken,
    ) -> Result<Self, Failed> {
        let noise = Noise::default();
        let talk = Talk::default();
        let handler = Handler {
            version: around.version.clone(),
            protocol: ProtocolVersion::V_2025_11_25,
            root: around.root.clone(),
            attended: around.interactive,
            noise: noise.clone(),
            talk: talk.clone(),
        };
        let drop_guard = over.clone().drop_guard();
        let opened = match &server.endpoint {
            Endpoint::Unusable(why) => return Err(Failed::finally(why.clone())),
            Endpoint::Program(program) => {
                let command = command(program, around).map_err(Failed::finally)?;
                let stream = stdio::start(&*around.host, command, &noise, over.clone())
                    .await
                    .map_err(|e| Failed::finally(not_started(program, &e)))?;
                let (read, write) = tokio::io::split(stream);
                // Longer ones do not come through.
                let transport =
                    AsyncRwTransport::new_client(read, write).with_max_line_length(2 * MAX_MESSAGE);
                serve_client_with_lifecycle_and_ct(handler, transport, mode, over.clone()).await
            }
            Endpoint::Address(address) => {
                let config = reach(address, around).await.map_err(Failed::finally)?;
                let client = http_client(around).map_err(Failed::finally)?;
                let known = auth::known(address, around).await;
                match known.map_err(Failed::finally)? {
                    Some(manager) => {
                        let client = AuthClient::new(client, manager);
                        let transport = StreamableHttpClientTransport::with_client(client, config);
                        serve_client_with_lifecycle_and_ct(handler, transport, mode, over.clone())
                            .await
                    }
                    None => {
                        let transport = StreamableHttpClientTransport::with_client(client, config);
                        serve_client_with_lifecycle_and_ct(handler, transport, mode, over.clone())
                            .await
                    }
                }
            }
        };
        let service = match opened {
            Ok(service) => service,
            Err(error) => return Err(explain(&error, server, &noise)),
        };
        let over = drop_guard.disarm();
        let link = Self {
            name: server.name.clone(),
            service,
            noise,
            talk,
            over,
        };
        link.subscribe();
        Ok(link)
    }

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
    pub fn obituary(&self) -> String {
        let mut why = self
            .noise
            .ending()
            .unwrap_or_else(|| "the connection was lost".into());
        last_words(&mut why, &self.noise);
        why
    }

    pub fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.service.is_transport_closed()
    }

    /// Servers of today tell of changes only who has asked for it.
    fn subscribe(&self) {
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

    /// Everything that it offers.
    pub async fn lists(&self, server: &Server) -> Result<Lists, Failed> {
        let mut lists = Lists::default();
        self.tools(server, &mut lists).await?;
        let has = self.service.peer_info().map(|info| {
            (
                info.capabilities.prompts.is_some(),
                info.capabilities.resources.is_some(),
            )
        });
        let (prompts, resources) = has.unwrap_or_default();
        // Who cannot list these has none for us.
        if prompts && let Ok(found) = self.prompts().await {
            lists.prompts = found;
        }
        if resources && let Ok(found) = self.resources().await {
            lists.resources = found;
        }
        Ok(lists)
    }

    async fn tools(&self, server: &Server, lists: &mut Lists) -> Result<(), Failed> {
        let mut cursor = None;
        let mut seen = Vec::new();
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = match self.service.list_tools(Some(params)).await {
                Ok(page) => page,
                Err(error) => return self.no_tools(error),
            };
            for tool in page.tools {
                if seen.len() == MAX_TOOLS {
                    lists
                        .left_out
                        .push(format!("only the first {MAX_TOOLS} tools are used"));
                    cursor = None;
                    break;
                }
                if seen.contains(&tool.name) {
                    continue;
                }
                seen.push(tool.name.clone());
                if server.offers(&tool.name) {
                    lists.take(tool);
                }
            }
            let is_full = seen.len() == MAX_TOOLS && !lists.left_out.is_empty();
            match page.next_cursor {
                Some(next) if !is_full && Some(&next) != cursor.as_ref() => cursor = Some(next),
                Some(_) | None => break,
            }
        }
        lists.tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// A server need not have tools.
    fn no_tools(&self, error: ServiceError) -> Result<(), Failed> {
        let info = self.service.peer_info();
        let promised = info.is_some_and(|info| info.capabilities.tools.is_some());
        match (error, promised) {
            (ServiceError::McpError(_), false) => Ok(()),
            (error, _) => {
                let challenge = wanted_login(&error);
                let why = match &challenge {
                    Some(_) => login_hint(&self.name),
                    None => format!("it does not list its tools: {}", self.failed(error)),
                };
                Err(Failed {
                    challenge,
                    ..Failed::finally(why)
                })
            }
        }
    }

    async fn prompts(&self) -> Result<Vec<PromptInfo>, ServiceError> {
        let mut out = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.service.list_prompts(Some(params)).await?;
            out.extend(page.prompts.into_iter().map(|prompt| {
                let mut arguments = prompt.arguments.unwrap_or_default();
                arguments.sort_by_key(|argument| argument.required != Some(true));
                PromptInfo {
                    required: arguments
                        .iter()
                        .filter(|a| a.required == Some(true))
                        .count(),
                    arguments: arguments.into_iter().map(|a| a.name).collect(),
                    description: text::line(
                        &prompt.description.unwrap_or_default(),
                        MAX_DESCRIPTION,
                    ),
                    name: prompt.name,
                }
            }));
            cursor = page.next_cursor;
            if cursor.is_none() || out.len() > MAX_OTHERS {
                break;
            }
        }
        out.truncate(MAX_OTHERS);
        Ok(out)
    }

    async fn resources(&self) -> Result<Vec<ResourceInfo>, ServiceError> {
        let mut out = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.service.list_resources(Some(params)).await?;
            out.extend(page.resources.into_iter().map(|resource| ResourceInfo {
                description: text::line(&resource.description.unwrap_or_default(), MAX_DESCRIPTION),
                name: text::line(&resource.name, MAX_NAME),
                uri: text::line(&resource.uri, MAX_URI),
            }));
            cursor = page.next_cursor;
            if cursor.is_none() || out.len() > MAX_OTHERS {
                break;
            }
        }
        out.truncate(MAX_OTHERS);
        Ok(out)
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
                _ => {
                    return Err(CallError::Refused(
                        "it answered with something else than a result".into(),
                    ));
                }
            }
        }
        Err(CallError::Refused(format!(
            "it asked back more than {MAX_ROUNDS} times"
        )))
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
                _ => return Err(CallError::Refused("it asks for something unknown".into())),
            };
            let id = NumberOrString::String(key.as_str().into());
            let context = RequestContext::new(id, self.service.peer().clone());
            let answer = self
                .service
                .service()
                .handle_request(request, context)
                .await;
            let answer = answer.map_err(|e| CallError::Refused(e.message.to_string()))?;
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
            ServiceError::Cancelled { .. } => CallError::Refused("it cancelled the call".into()),
            other => match wanted_login(&other) {
                Some(challenge) => CallError::Login(challenge),
                None => CallError::Ended(self.failed(other)),
            },
        }
    }

    /// What went wrong, with what the server said of itself.
    fn failed(&self, error: ServiceError) -> String {
        if let ServiceError::McpError(error) = &error {
            return text::cut(&error.message, MAX_SAID);
        }
        let mut why = self
            .noise
            .ending()
            .unwrap_or_else(|| text::cut(&chain(&error), MAX_SAID));
        last_words(&mut why, &self.noise);
        why
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

/// Why a connection does not stand, and whether another way may.
pub struct Failed {
    pub why: String,
    /// Its words to whoever is to log in.
    pub challenge: Option<String>,
    again: bool,
}

impl Failed {
    fn finally(why: String) -> Self {
        Self {
            why,
            challenge: None,
            again: false,
        }
    }
}

impl Lists {
    fn take(&mut self, tool: rmcp::model::Tool) {
        let schema = text::schema(&tool.input_schema).unwrap_or_else(|| {
            let name = text::line(&tool.name, MAX_NAME);
            self.left_out.push(format!(
                "the schema of {name} is too large or too deep to be shown"
            ));
            text::any_object()
        });
        let hints = tool.annotations.unwrap_or_default();
        let about = tool.description.unwrap_or_default();
        let about = match (about.trim(), &tool.title) {
            ("", Some(title)) => title.clone(),
            _ => about.to_string(),
        };
        self.tools.push(ToolInfo {
            name: tool.name.to_string(),
            description: text::cut(&about, MAX_DESCRIPTION),
            schema,
            read_only: hints.read_only_hint == Some(true),
        });
    }
}

fn command(program: &Program, around: &Surroundings) -> Result<Command, String> {
    let mut env = around.env.clone();
    env.retain(|(name, _)| !program.env.iter().any(|(own, _)| own == name));
    env.extend(program.env.iter().cloned());
    let mut command = Command {
        argv: program.argv.clone(),
        cwd: program.cwd.clone(),
        env,
        stdio: Stdio::PipesWithStdin,
        sandbox: None,
    };
    if program.sandbox {
        confine(&mut command, &around.sandbox)?;
    }
    Ok(command)
}

/// Whoever wants a server confined does not want it without. Single hosts cannot be granted to it.
fn confine(command: &mut Command, settings: &SandboxSettings) -> Result<(), String> {
    let policy = Policy {
        network: match settings.policy.network {
            Network::On => Network::On,
            Network::Off | Network::Loopback | Network::Proxy => Network::Loopback,
        },
        ..settings.policy.clone()
    };
    let plan = Plan::prepare(&policy).map_err(|e| e.to_string())?;
    if plan.layer().is_none() {
        return Err("it is to run in the sandbox, which is off".into());
    }
    Arc::new(plan).put_on(command);
    Ok(())
}

fn not_started(program: &Program, error: &ostler_host::Error) -> String {
    let name = program
        .argv
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    format!("{error}. Is `{name}` installed and on PATH?").replace("..", ".")
}

async fn reach(
    address: &Address,
    around: &Surroundings,
) -> Result<StreamableHttpClientTransportConfig, String> {
    let url =
        url::Url::parse(&address.url).map_err(|e| format!("{} is no URL: {e}", address.url))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{} is neither http nor https", address.url));
    }
    let mut headers = HashMap::new();
    let mut all = address.headers.clone();
    if let Some(helper) = &address.headers_helper {
        all.extend(helped(helper, around).await?);
    }
    for (name, value) in &all {
        let bad = || format!("its header `{name}` cannot be sent");
        let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MAX_MESSAGE);
    Ok(config)
}

/// Follows a redirect only on the same machine: headers may hold what no other should see.
pub fn http_client(around: &Surroundings) -> Result<reqwest::Client, String> {
    ostler_llm::install_crypto();
    let policy = reqwest::redirect::Policy::custom(|attempt| {
        let origin = |url: &url::Url| url.origin();
        let first = attempt.previous().first().map(origin);
        match first == Some(origin(attempt.url())) && attempt.previous().len() < 4 {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let mut client = reqwest::Client::builder()
        .redirect(policy)
        .connect_timeout(CONNECT)
        .user_agent(format!("ostler/{}", around.version));
    for file in &around.settings.ca_files {
        if let Ok(pem) = std::fs::read(file)
            && let Ok(roots) = reqwest::Certificate::from_pem_bundle(&pem)
        {
            client = client.tls_certs_merge(roots);
        }
    }
    client.build().map_err(|e| chain(&e))
}

/// Headers that a command of the person's prints as a JSON object.
async fn helped(helper: &str, around: &Surroundings) -> Result<Vec<(String, String)>, String> {
    let failed = |why: String| format!("its headers_helper failed: {why}");
    let mut argv = around.shell.clone();
    argv.push(helper.into());
    let command = Command {
        argv,
        cwd: around.root.clone(),
        env: around.env.clone(),
        stdio: Stdio::Pipes,
        sandbox: None,
    };
    let mut process = around
        .host
        .spawn(command)
        .await
        .map_err(|e| failed(e.to_string()))?;
    let mut out = Vec::new();
    loop {
        match process.next().await {
            Output::Stdout(bytes) if out.len() < MAX_HEADERS => out.extend_from_slice(&bytes),
            Output::Stdout(_) | Output::Stderr(_) => {}
            Output::Exited(exit) if exit.success() => break,
            Output::Exited(exit) => return Err(failed(format!("it ended with {exit:?}"))),
        }
    }
    let headers: HashMap<String, String> = serde_json::from_slice(&out)
        .map_err(|e| failed(format!("it must print a JSON object of strings ({e})")))?;
    Ok(headers.into_iter().collect())
}

fn explain(error: &ClientInitializeError, server: &Server, noise: &Noise) -> Failed {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Failed {
            challenge: error.auth_challenge().map(str::to_owned),
            ..Failed::finally(login_hint(&server.name))
        };
    }
    let said = match error {
        ClientInitializeError::JsonRpcError(error) => {
            format!(
                "it refused the connection: {}",
                text::cut(&error.message, MAX_SAID)
            )
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let theirs: Vec<String> = server_supported
                .iter()
                .take(8)
                .map(|v| v.to_string())
                .collect();
            format!(
                "it speaks no revision of the protocol that we know ({})",
                theirs.join(", ")
            )
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return explain(fallback, server, noise);
        }
        ClientInitializeError::ConnectionClosed(_) => match &server.endpoint {
            Endpoint::Program(_) => "it ended before it answered".to_owned(),
            Endpoint::Address(_) | Endpoint::Unusable(_) => {
                "the connection was closed before it answered".to_owned()
            }
        },
        other => text::cut(&chain(other), MAX_SAID),
    };
    let mut why = match noise.ending() {
        Some(ending) => format!("{said}; {ending}"),
        None => said,
    };
    last_words(&mut why, noise);
    Failed {
        why,
        challenge: None,
        again: true,
    }
}

fn login_hint(server: &str) -> String {
    format!("it wants you to log in: run `ostler mcp login {server}`")
}

fn last_words(why: &mut String, noise: &Noise) {
    let words = noise.last_words(MAX_LAST_WORDS);
    if !words.is_empty() {
        why.push_str(&format!(". Its last words:\n{words}"));
    }
}

/// What a server says to whoever is to log in, if that is why an error came.
fn wanted_login(error: &ServiceError) -> Option<String> {
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
