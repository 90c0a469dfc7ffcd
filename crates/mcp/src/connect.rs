//! Opening a connection: a program started, an address reached, the handshake made. Every failure is a sentence that says what
//! to do.

use crate::auth;
use crate::client::Connection;
use crate::event_stream::{self, Requests};
use crate::failure::{
    ConnectError, Failure, FailureCode, MAX_SAID, Place, RedirectTarget, is_oauth, login_hint,
    on_the_way,
};
use crate::handler::{Handler, PendingCalls};
use crate::http_client::client;
use crate::launch::Program;
use crate::settings::{Address, Endpoint, HttpForm, Redaction, Sampling, Server, ServerContext};
use crate::stdio::{self, MAX_MESSAGE, ServerLog, with_log_tail};
use crate::{Lists, text};
use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_host::{Output, Stdio};
use ostler_wire::{Why, Word};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, IntoTransport, StreamableHttpClientTransport};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// Of the command that makes headers.
const MAX_HEADERS: usize = 64 * 1024;
const MAX_REVISION: usize = 64;
/// How far the start of a server has come, for the message after a timeout.
#[derive(Default)]
struct StartProgress(Mutex<(ServerLog, StartStep)>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum StartStep {
    #[default]
    Greeting,
    Listing,
}

impl StartProgress {
    fn at(&self) -> MutexGuard<'_, (ServerLog, StartStep)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn late(&self, server: &Server, limit: Duration) -> ConnectError {
        let (log, step) = self.at().clone();
        let what = match (step, &server.endpoint) {
            (StartStep::Listing, _) => Word::McpLateLists.into(),
            (StartStep::Greeting, Endpoint::Address(address)) => {
                Why::ours(Word::McpLateAddress, [address.url.as_str().into()])
            }
            (StartStep::Greeting, Endpoint::Program(program)) => {
                Why::ours(Word::McpLateProgram, [program.name().into()])
            }
            (StartStep::Greeting, Endpoint::Unusable(why)) => why.clone(),
        };
        let seconds = limit.as_secs().to_string();
        let why = Why::ours(Word::McpNotReady, [seconds.into(), what]);
        ConnectError::finally(Failure::new(FailureCode::Timeout, with_log_tail(why, &log)))
    }
}

impl Connection {
    /// Connects and learns what the server offers, within the time that it may take.
    pub async fn open_and_list(
        server: &Server,
        context: &ServerContext,
        cancel: CancellationToken,
    ) -> Result<(Self, Lists), ConnectError> {
        let progress = StartProgress::default();
        let limit = context.settings.start;
        let meeting = async {
            let connection = Self::open_on(server, context, cancel, &progress).await?;
            progress.at().1 = StartStep::Listing;
            let lists = connection.lists(server).await?;
            if let Endpoint::Program(_) = &server.endpoint {
                context.launcher.look().await;
            }
            Ok((connection, lists))
        };
        let met = tokio::time::timeout(limit, meeting).await;
        let met = met.unwrap_or_else(|_| Err(progress.late(server, limit)));
        met.map_err(|failed| failed.redacted(&context.settings.redaction))
    }

    /// Connects, whatever revision of the protocol the server speaks. The error is the end of a sentence.
    pub async fn open(
        server: &Server,
        context: &ServerContext,
        cancel: CancellationToken,
    ) -> Result<Self, ConnectError> {
        let opened = Self::open_on(server, context, cancel, &StartProgress::default()).await;
        opened.map_err(|failed| failed.redacted(&context.settings.redaction))
    }

    async fn open_on(
        server: &Server,
        context: &ServerContext,
        cancel: CancellationToken,
        progress: &StartProgress,
    ) -> Result<Self, ConnectError> {
        let auto = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let begin = |mode| {
            let log = ServerLog::default();
            progress.at().0 = log.clone();
            Self::open_as(server, context, mode, (cancel.child_token(), log))
        };
        // The old form knows no other greeting.
        let mode = match &server.endpoint {
            Endpoint::Address(address) if address.form == HttpForm::Events => {
                ClientLifecycleMode::Initialize
            }
            Endpoint::Address(_) | Endpoint::Program(_) | Endpoint::Unusable(_) => auto,
        };
        match begin(mode).await {
            Ok(connection) => Ok(connection),
            // Some servers of old end at a question that they do not know.
            Err(first) if first.again => {
                let second = begin(ClientLifecycleMode::Initialize).await;
                second.map_err(|_| first)
            }
            Err(failed) => Err(failed),
        }
    }

    /// The same in one way only.
    async fn open_as(
        server: &Server,
        context: &ServerContext,
        mode: ClientLifecycleMode,
        (over, log): (CancellationToken, ServerLog),
    ) -> Result<Self, ConnectError> {
        let pending = PendingCalls::default();
        let handler = Handler {
            version: context.version.clone(),
            protocol: ProtocolVersion::V_2025_11_25,
            root: context.root.clone(),
            attended: context.interactive,
            sampling: match server.sampling {
                Sampling::Ask => context.interactive,
                Sampling::Allow => true,
                Sampling::Deny => false,
            },
            log: log.clone(),
            pending: pending.clone(),
        };
        let drop_guard = over.clone().drop_guard();
        let greeting = Greeting {
            server,
            context,
            mode,
            over: over.clone(),
            log: log.clone(),
            redirect: RedirectTarget::default(),
        };
        let service = match greeting.connect(handler).await {
            Ok(service) => service,
            Err(Unmet::Before(error)) => return Err(error),
            Err(Unmet::Handshake(error)) => {
                let failed = explain(&error, server, (&log, &greeting.redirect));
                return Err(failed.with_folder(server, context).await);
            }
        };
        let over = drop_guard.disarm();
        let connection = Self {
            name: server.name.clone(),
            url: match &server.endpoint {
                Endpoint::Address(address) => Some(address.url.clone()),
                Endpoint::Program(_) | Endpoint::Unusable(_) => None,
            },
            service,
            log,
            pending,
            over,
        };
        connection.check_revision()?;
        connection.subscribe();
        Ok(connection)
    }

    /// The library takes any answer.
    fn check_revision(&self) -> Result<(), ConnectError> {
        let Some(info) = self.service.peer_info() else {
            return Ok(());
        };
        let theirs = &info.protocol_version;
        if ProtocolVersion::KNOWN_VERSIONS.contains(theirs) {
            return Ok(());
        }
        let theirs = text::line(theirs.as_str(), MAX_REVISION);
        let why = Why::ours(Word::McpNoRevision, [theirs.into()]);
        Err(ConnectError::finally(Failure::new(
            FailureCode::Revision,
            why,
        )))
    }
}

/// One try to connect.
struct Greeting<'a> {
    server: &'a Server,
    context: &'a ServerContext,
    mode: ClientLifecycleMode,
    over: CancellationToken,
    log: ServerLog,
    redirect: RedirectTarget,
}

enum Unmet {
    /// There is nobody to talk to.
    Before(ConnectError),
    Handshake(Box<ClientInitializeError>),
}

impl From<ConnectError> for Unmet {
    fn from(error: ConnectError) -> Self {
        Self::Before(error)
    }
}

impl Greeting<'_> {
    async fn connect(
        &self,
        handler: Handler,
    ) -> Result<RunningService<RoleClient, Handler>, Unmet> {
        match &self.server.endpoint {
            Endpoint::Unusable(why) => Err(unusable(why.clone()).into()),
            Endpoint::Program(program) => {
                let launcher = &self.context.launcher;
                let launched = launcher.launch(program, Stdio::PipesWithStdin).await;
                let process =
                    launched.map_err(|error| ConnectError::finally(error.failure(program)))?;
                let stream = stdio::connect(process, &self.log, self.over.clone());
                self.greet(handler, lines(stream)).await
            }
            Endpoint::Address(address) => self.reach(handler, address).await,
        }
    }

    async fn reach(
        &self,
        handler: Handler,
        address: &Address,
    ) -> Result<RunningService<RoleClient, Handler>, Unmet> {
        let no_client = |why: String| unusable(why.into());
        let headers = headers(address, self.context).await.map_err(unusable)?;
        let client = client(self.context, &self.redirect).map_err(no_client)?;
        let login = auth::known(address, self.context)
            .await
            .map_err(no_client)?;
        let config = streamable(address, &headers);
        match (address.form, login) {
            (HttpForm::Events, login) => {
                let requests = Requests {
                    client,
                    headers,
                    login,
                };
                let place = place(self.server, address, &self.redirect);
                let over = self.over.clone();
                let stream = event_stream::connect(requests, place, &self.log, over).await?;
                self.greet(handler, lines(stream)).await
            }
            (HttpForm::Streamable, Some(manager)) => {
                let client = AuthClient::new(client, manager);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                self.greet(handler, transport).await
            }
            (HttpForm::Streamable, None) => {
                let transport = StreamableHttpClientTransport::with_client(client, config);
                self.greet(handler, transport).await
            }
        }
    }

    async fn greet<T, E, A>(
        &self,
        handler: Handler,
        transport: T,
    ) -> Result<RunningService<RoleClient, Handler>, Unmet>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (mode, over) = (self.mode.clone(), self.over.clone());
        let served = serve_client_with_lifecycle_and_ct(handler, transport, mode, over).await;
        served.map_err(|error| Unmet::Handshake(Box::new(error)))
    }
}

impl ConnectError {
    /// A program that ended at once may have looked for files of the project: where it was started instead is said.
    async fn with_folder(mut self, server: &Server, context: &ServerContext) -> Self {
        let Endpoint::Program(program) = &server.endpoint else {
            return self;
        };
        if self.code != FailureCode::Ended {
            return self;
        }
        let (launcher, program) = (context.launcher.clone(), program.clone());
        let look = move || launcher.unchosen_folder(&program);
        if let Ok(Some(folder)) = tokio::task::spawn_blocking(look).await {
            let folder = folder.display().to_string();
            self.why = Why::ours(Word::McpStartedIn, [self.why, folder.into()]);
        }
        self
    }

    /// Without the values of variables that a program, an address or its last words hold.
    fn redacted(mut self, redaction: &Redaction) -> Self {
        self.why.rewrite(&mut |said| redaction.apply(said));
        self.challenge = self.challenge.map(|said| redaction.apply(said));
        self
    }
}

fn unusable(why: Why) -> ConnectError {
    ConnectError::finally(Failure::new(FailureCode::Settings, why))
}

/// Messages as lines. Longer ones do not come through.
fn lines(
    stream: DuplexStream,
) -> AsyncRwTransport<RoleClient, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>> {
    let (read, write) = tokio::io::split(stream);
    AsyncRwTransport::new_client(read, write).with_max_line_length(2 * MAX_MESSAGE)
}

fn place(server: &Server, address: &Address, redirect: &RedirectTarget) -> Place {
    Place {
        server: server.name.clone(),
        url: address.url.clone(),
        redirect: redirect.clone(),
    }
}

fn streamable(address: &Address, headers: &HeaderMap) -> StreamableHttpClientTransportConfig {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers.collect())
        .max_sse_event_size(MAX_MESSAGE)
}

/// The headers that the person has us send, where the address is one.
async fn headers(address: &Address, context: &ServerContext) -> Result<HeaderMap, Why> {
    let named = || Why::from(address.url.as_str());
    let url = url::Url::parse(&address.url)
        .map_err(|e| Why::ours(Word::McpNoUrl, [named(), e.to_string().into()]))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Why::ours(Word::McpNoHttp, [named()]));
    }
    let mut headers = HeaderMap::new();
    let mut all = address.headers.clone();
    if let Some(helper) = address.helper(context) {
        all.extend(helped(&helper, context).await?);
    }
    for (name, value) in &all {
        let bad = || Why::ours(Word::McpBadHeaderOf, [name.as_str().into()]);
        let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// Headers that a command prints as a JSON object.
async fn helped(helper: &Program, context: &ServerContext) -> Result<Vec<(String, String)>, Why> {
    let failed = |why: Why| Why::ours(Word::McpHelperFailed, [why]);
    let launched = context.launcher.launch(helper, Stdio::Pipes).await;
    let mut process = launched.map_err(|error| failed(error.why()))?;
    let mut out = Vec::new();
    loop {
        match process.next().await {
            Output::Stdout(bytes) if out.len() < MAX_HEADERS => out.extend_from_slice(&bytes),
            Output::Stdout(_) | Output::Stderr(_) => {}
            Output::Exited(exit) if exit.success() => break,
            Output::Exited(exit) => return Err(failed(stdio::describe_exit(exit))),
        }
    }
    let headers: HashMap<String, String> = serde_json::from_slice(&out)
        .map_err(|e| failed(Why::ours(Word::McpHelperPrints, [e.to_string().into()])))?;
    Ok(headers.into_iter().collect())
}

fn explain(
    error: &ClientInitializeError,
    server: &Server,
    (log, redirect): (&ServerLog, &RedirectTarget),
) -> ConnectError {
    let challenge = error.auth_challenge().map(str::to_owned);
    if error.is_authorization_required() && challenge.as_deref().is_none_or(is_oauth)
        || challenge.as_deref().is_some_and(is_oauth)
    {
        let why = login_hint(&server.name);
        return ConnectError {
            challenge,
            ..ConnectError::finally(Failure::new(FailureCode::Login, why))
        };
    }
    let failure = match error {
        ClientInitializeError::JsonRpcError(error) => {
            let said = text::cut(&error.message, MAX_SAID);
            Failure::new(
                FailureCode::Refused,
                Why::ours(Word::McpRefused, [said.into()]),
            )
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let theirs = server_supported.iter().take(8).map(|v| v.to_string());
            let theirs = text::line(&theirs.collect::<Vec<_>>().join(", "), MAX_SAID);
            let why = Why::ours(Word::McpNoRevision, [theirs.into()]);
            Failure::new(FailureCode::Revision, why)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return explain(fallback, server, (log, redirect));
        }
        ClientInitializeError::TransportError { error, .. } => match &server.endpoint {
            Endpoint::Address(address) => {
                on_the_way(error.error.as_ref(), &place(server, address, redirect))
            }
            Endpoint::Program(_) | Endpoint::Unusable(_) => ended_early(server, log),
        },
        // Which of the two comes first when a program ends is chance.
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            ended_early(server, log)
        }
        _ => Failure::new(FailureCode::NotMcp, Word::McpOddHello),
    };
    ConnectError {
        again: failure.code.may_differ(),
        why: with_log_tail(failure.why.clone(), log),
        ..ConnectError::finally(failure)
    }
}

fn ended_early(server: &Server, log: &ServerLog) -> Failure {
    if let (Endpoint::Address(_), Some(fault)) = (&server.endpoint, log.fault()) {
        return fault;
    }
    if let Endpoint::Address(address) = &server.endpoint {
        let why = Why::ours(Word::McpClosedEarly, [address.url.as_str().into()]);
        return Failure::new(FailureCode::Closed, why);
    }
    let early = Why::from(Word::McpEndedEarly);
    match (log.fault(), log.ending()) {
        (Some(fault), _) => fault,
        (None, Some(ending)) => {
            Failure::new(FailureCode::Ended, Why::ours(Word::McpAnd, [early, ending]))
        }
        (None, None) => Failure::new(FailureCode::Ended, early),
    }
}
