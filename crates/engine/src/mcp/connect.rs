//! Opening a connection: a program started, an address reached, the handshake made. Every failure is a sentence that says what
//! to do.

use super::auth;
use super::client::{Link, MAX_SAID, chain};
use super::handler::{Handler, Talk};
use super::originals;
use super::settings::{Address, Confinement, Endpoint, Program, Sampling, Server, Surroundings};
use super::stdio::{self, MAX_MESSAGE, Noise};
use super::trouble::{Code, Place, Trouble, on_the_way};
use super::{Lists, text};
use crate::confine::{self, SandboxMode, SandboxSettings, Services, SpawnError, Terms};
use crate::redact::Redactor;
use crate::tool::ToolError;
use http::{HeaderName, HeaderValue};
use ostler_host::sandbox::Network;
use ostler_host::{Command, Output, Process, Stdio};
use ostler_wire::{Why, Word};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Of a server's log that stands in an error.
const MAX_LAST_WORDS: usize = 600;
const CONNECT: Duration = Duration::from_secs(10);
/// Of the command that makes headers.
const MAX_HEADERS: usize = 64 * 1024;
const MAX_REVISION: usize = 64;
const MAX_URL: usize = 500;

/// How far a meeting has come, for whoever waits no longer.
#[derive(Default)]
struct Trail(Mutex<(Noise, Step)>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Greeting,
    Listing,
}

impl Trail {
    fn at(&self) -> MutexGuard<'_, (Noise, Step)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn late(&self, server: &Server, limit: Duration) -> Failed {
        let (noise, step) = self.at().clone();
        let what = match (step, &server.endpoint) {
            (Step::Listing, _) => Word::McpLateLists.into(),
            (Step::Greeting, Endpoint::Address(address)) => {
                Why::ours(Word::McpLateAddress, [address.url.as_str().into()])
            }
            (Step::Greeting, Endpoint::Program(program)) => {
                Why::ours(Word::McpLateProgram, [name_of(program).into()])
            }
            (Step::Greeting, Endpoint::Unusable(why)) => why.as_str().into(),
        };
        let seconds = limit.as_secs().to_string();
        let why = Why::ours(Word::McpNotReady, [seconds.into(), what]);
        Failed::finally(Trouble::new(Code::Timeout, last_words(why, &noise)))
    }
}

impl Link {
    /// Connects and learns what the server offers, within the time that it may take.
    pub async fn meet(
        server: &Server,
        around: &Surroundings,
        cancel: CancellationToken,
    ) -> Result<(Self, Lists), Failed> {
        let trail = Trail::default();
        let limit = around.settings.start;
        let meeting = async {
            let link = Self::open_on(server, around, cancel, &trail).await?;
            trail.at().1 = Step::Listing;
            let lists = link.lists(server).await?;
            Ok((link, lists))
        };
        let met = tokio::time::timeout(limit, meeting).await;
        let met = met.unwrap_or_else(|_| Err(trail.late(server, limit)));
        met.map_err(|failed| failed.redacted(&around.settings.redactor))
    }

    /// Connects, whatever revision of the protocol the server speaks. The error is the end of a sentence.
    pub async fn open(
        server: &Server,
        around: &Surroundings,
        cancel: CancellationToken,
    ) -> Result<Self, Failed> {
        let opened = Self::open_on(server, around, cancel, &Trail::default()).await;
        opened.map_err(|failed| failed.redacted(&around.settings.redactor))
    }

    async fn open_on(
        server: &Server,
        around: &Surroundings,
        cancel: CancellationToken,
        trail: &Trail,
    ) -> Result<Self, Failed> {
        let auto = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let begin = |mode| {
            let noise = Noise::default();
            trail.at().0 = noise.clone();
            Self::open_as(server, around, mode, (cancel.child_token(), noise))
        };
        match begin(auto).await {
            Ok(link) => Ok(link),
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
        around: &Surroundings,
        mode: ClientLifecycleMode,
        (over, noise): (CancellationToken, Noise),
    ) -> Result<Self, Failed> {
        let talk = Talk::default();
        let handler = Handler {
            version: around.version.clone(),
            protocol: ProtocolVersion::V_2025_11_25,
            root: around.root.clone(),
            attended: around.interactive,
            sampling: match server.sampling {
                Sampling::Ask => around.interactive,
                Sampling::Allow => true,
                Sampling::Deny => false,
            },
            noise: noise.clone(),
            talk: talk.clone(),
        };
        let drop_guard = over.clone().drop_guard();
        let led = Led::default();
        let opened = match &server.endpoint {
            Endpoint::Unusable(why) => return Err(unusable(why.clone().into())),
            Endpoint::Program(program) => {
                let process = start(program, around).await.map_err(Failed::finally)?;
                let stream = stdio::talk(process, &noise, over.clone());
                let (read, write) = tokio::io::split(stream);
                // Longer ones do not come through.
                let transport =
                    AsyncRwTransport::new_client(read, write).with_max_line_length(2 * MAX_MESSAGE);
                serve_client_with_lifecycle_and_ct(handler, transport, mode, over.clone()).await
            }
            Endpoint::Address(address) => {
                let config = reach(address, around).await.map_err(unusable)?;
                let client = client(around, &led).map_err(|why| unusable(why.into()))?;
                let known = auth::known(address, around).await;
                match known.map_err(|why| unusable(why.into()))? {
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
            Err(error) => return Err(explain(&error, server, (&noise, &led))),
        };
        let over = drop_guard.disarm();
        let link = Self {
            name: server.name.clone(),
            url: match &server.endpoint {
                Endpoint::Address(address) => Some(address.url.clone()),
                Endpoint::Program(_) | Endpoint::Unusable(_) => None,
            },
            service,
            noise,
            talk,
            over,
        };
        link.check_revision()?;
        link.subscribe();
        Ok(link)
    }

    /// The library takes any answer.
    fn check_revision(&self) -> Result<(), Failed> {
        let Some(info) = self.service.peer_info() else {
            return Ok(());
        };
        let theirs = &info.protocol_version;
        if ProtocolVersion::KNOWN_VERSIONS.contains(theirs) {
            return Ok(());
        }
        let theirs = text::line(theirs.as_str(), MAX_REVISION);
        let why = Why::ours(Word::McpNoRevision, [theirs.into()]);
        Err(Failed::finally(Trouble::new(Code::Revision, why)))
    }
}

/// Why a connection does not stand, and whether another way may.
pub struct Failed {
    /// The same for programs.
    pub code: Code,
    pub why: Why,
    /// Its words to whoever is to log in.
    pub challenge: Option<String>,
    pub(super) again: bool,
}

impl Failed {
    pub(super) fn finally(trouble: Trouble) -> Self {
        let Trouble { code, why } = trouble;
        Self {
            code,
            why,
            challenge: None,
            again: false,
        }
    }

    /// Without the values of variables that a program, an address or its last words hold.
    fn redacted(mut self, redactor: &Redactor) -> Self {
        self.why.rewrite(&mut |said| redactor.text(said));
        self.challenge = self.challenge.map(|said| redactor.text(said));
        self
    }
}

fn unusable(why: Why) -> Failed {
    Failed::finally(Trouble::new(Code::Settings, why))
}

/// Starts a server, in its sandbox. What it changes against the rules is put back after each call, not at its end: it runs
/// beside the person for the whole session, and a change between calls may be theirs.
pub(super) async fn start(program: &Program, around: &Surroundings) -> Result<Process, Trouble> {
    let command = Command {
        argv: program.argv.clone(),
        cwd: program.cwd.clone(),
        env: program.whole_env(&around.env),
        stdio: Stdio::PipesWithStdin,
        sandbox: None,
    };
    let settings = confined(&around.sandbox, settle(program, around).await?);
    let services = Services::without_session(around.host.clone(), settings);
    let spawned = confine::spawn(&services, command, &Terms::default()).await;
    spawned.map(|it| it.process).map_err(|error| match error {
        SpawnError::Host(error) => not_started(program, &error),
        SpawnError::Off => Trouble::new(Code::NotStarted, Word::McpNoSandbox),
        SpawnError::Sandbox(error) => Trouble::new(Code::NotStarted, Why::from(&error)),
        SpawnError::Terms(error) => Trouble::new(Code::NotStarted, error.message.as_str()),
    })
}

/// The sandbox that a program gets, by what it depends on now.
async fn settle(program: &Program, around: &Surroundings) -> Result<Confinement, Trouble> {
    let (program, around) = (program.clone(), around.clone());
    let look = move || originals::settle(&program, &around);
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|_| Err(Trouble::new(Code::NotStarted, Word::McpClosing)))
}

fn confined(settings: &SandboxSettings, confinement: Confinement) -> SandboxSettings {
    let mut settings = settings.clone();
    match confinement {
        // Whether it depends on anything is settled before.
        Confinement::Free => return SandboxSettings::default(),
        Confinement::ByFiles | Confinement::Project => settings.policy.network = Network::On,
        Confinement::Wanted => {
            settings.mode = SandboxMode::Require;
            settings.policy.network = match settings.policy.network {
                Network::On => Network::On,
                Network::Off | Network::Loopback | Network::Proxy => Network::Loopback,
            };
        }
    }
    settings
}

fn name_of(program: &Program) -> String {
    let name = program.argv.first();
    name.map_or_else(String::new, |word| word.to_string_lossy().into_owned())
}

fn not_started(program: &Program, error: &ostler_host::Error) -> Trouble {
    use ostler_host::Error;
    let said = Why::from(error);
    if let Error::NotExecutable { .. } = error {
        let why = Why::ours(Word::McpNotRunnable, [said]);
        return Trouble::new(Code::NotExecutable, why);
    }
    if let Error::WorkingDirectory { .. } = error {
        return Trouble::new(Code::NoFolder, Why::ours(Word::McpNoCwd, [said]));
    }
    if let Error::ProgramNotFound { .. } = error {
        let why = Why::ours(Word::McpInstalled, [said, name_of(program).into()]);
        return Trouble::new(Code::ProgramMissing, why);
    }
    Trouble::new(Code::NotStarted, said)
}

async fn reach(
    address: &Address,
    around: &Surroundings,
) -> Result<StreamableHttpClientTransportConfig, Why> {
    let named = || Why::from(address.url.as_str());
    let url = url::Url::parse(&address.url)
        .map_err(|e| Why::ours(Word::McpNoUrl, [named(), e.to_string().into()]))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Why::ours(Word::McpNoHttp, [named()]));
    }
    let mut headers = HashMap::new();
    let mut all = address.headers.clone();
    if let Some(helper) = address.helper(around) {
        all.extend(helped(&helper, around).await?);
    }
    for (name, value) in &all {
        let bad = || Why::ours(Word::McpBadHeaderOf, [name.as_str().into()]);
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

/// Where a server wanted to send us.
#[derive(Clone, Default)]
struct Led(Arc<Mutex<Option<String>>>);

impl Led {
    fn at(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn http_client(around: &Surroundings) -> Result<reqwest::Client, String> {
    client(around, &Led::default())
}

/// Follows a redirect only on the same machine: headers may hold what no other should see. And only one that keeps the
/// message.
fn client(around: &Surroundings, led: &Led) -> Result<reqwest::Client, String> {
    ostler_llm::install_crypto();
    let led = led.clone();
    let policy = reqwest::redirect::Policy::custom(move |attempt| {
        let origin = |url: &url::Url| url.origin();
        let first = attempt.previous().first().map(origin);
        let is_near = first == Some(origin(attempt.url())) && attempt.previous().len() < 4;
        if is_near && matches!(attempt.status().as_u16(), 307 | 308) {
            return attempt.follow();
        }
        *led.at() = Some(text::line(attempt.url().as_str(), MAX_URL));
        attempt.stop()
    });
    let mut client = reqwest::Client::builder()
        .redirect(policy)
        .connect_timeout(CONNECT)
        .user_agent(format!("ostler/{}", around.version));
    for file in &around.settings.ca_files {
        if let Ok(pem) = ostler_host::read_certificates(file)
            && let Ok(roots) = reqwest::Certificate::from_pem_bundle(&pem)
        {
            client = client.tls_certs_merge(roots);
        }
    }
    client.build().map_err(|e| chain(&e))
}

/// Headers that a command prints as a JSON object.
async fn helped(helper: &Program, around: &Surroundings) -> Result<Vec<(String, String)>, Why> {
    let failed = |why: Why| Why::ours(Word::McpHelperFailed, [why]);
    let command = Command {
        argv: helper.argv.clone(),
        cwd: helper.cwd.clone(),
        env: helper.whole_env(&around.env),
        stdio: Stdio::Pipes,
        sandbox: None,
    };
    let settled = settle(helper, around).await;
    let settled = settled.map_err(|trouble| failed(trouble.why))?;
    let settings = confined(&around.sandbox, settled);
    let services = Services::without_session(around.host.clone(), settings);
    let spawned = confine::spawn(&services, command, &Terms::default()).await;
    let mut process = match spawned {
        Ok(spawned) => spawned.process,
        Err(SpawnError::Host(error)) => return Err(failed((&error).into())),
        Err(error @ (SpawnError::Off | SpawnError::Sandbox(_) | SpawnError::Terms(_))) => {
            return Err(failed(ToolError::from(error).message.as_str().into()));
        }
    };
    let mut out = Vec::new();
    loop {
        match process.next().await {
            Output::Stdout(bytes) if out.len() < MAX_HEADERS => out.extend_from_slice(&bytes),
            Output::Stdout(_) | Output::Stderr(_) => {}
            Output::Exited(exit) if exit.success() => break,
            Output::Exited(exit) => return Err(failed(stdio::ended(exit))),
        }
    }
    let headers: HashMap<String, String> = serde_json::from_slice(&out)
        .map_err(|e| failed(Why::ours(Word::McpHelperPrints, [e.to_string().into()])))?;
    Ok(headers.into_iter().collect())
}

fn explain(error: &ClientInitializeError, server: &Server, (noise, led): (&Noise, &Led)) -> Failed {
    let challenge = error.auth_challenge().map(str::to_owned);
    if error.is_authorization_required() && challenge.as_deref().is_none_or(is_oauth)
        || challenge.as_deref().is_some_and(is_oauth)
    {
        let why = login_hint(&server.name);
        return Failed {
            challenge,
            ..Failed::finally(Trouble::new(Code::Login, why))
        };
    }
    let trouble = match error {
        ClientInitializeError::JsonRpcError(error) => {
            let said = text::cut(&error.message, MAX_SAID);
            Trouble::new(Code::Refused, Why::ours(Word::McpRefused, [said.into()]))
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let theirs = server_supported.iter().take(8).map(|v| v.to_string());
            let theirs = text::line(&theirs.collect::<Vec<_>>().join(", "), MAX_SAID);
            let why = Why::ours(Word::McpNoRevision, [theirs.into()]);
            Trouble::new(Code::Revision, why)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return explain(fallback, server, (noise, led));
        }
        ClientInitializeError::TransportError { error, .. } => match &server.endpoint {
            Endpoint::Address(address) => {
                let place = Place {
                    server: &server.name,
                    url: &address.url,
                    led: led.at().clone(),
                };
                on_the_way(error.error.as_ref(), &place)
            }
            Endpoint::Program(_) | Endpoint::Unusable(_) => ended_early(server, noise),
        },
        // Which of the two comes first when a program ends is chance.
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            ended_early(server, noise)
        }
        _ => Trouble::new(Code::NotMcp, Word::McpOddHello),
    };
    Failed {
        again: trouble.code.may_differ(),
        why: last_words(trouble.why.clone(), noise),
        ..Failed::finally(trouble)
    }
}

/// Other ways to say who one is have no page to go to.
fn is_oauth(challenge: &str) -> bool {
    let scheme = challenge.trim_start().get(..6);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

fn ended_early(server: &Server, noise: &Noise) -> Trouble {
    if let Endpoint::Address(address) = &server.endpoint {
        let why = Why::ours(Word::McpClosedEarly, [address.url.as_str().into()]);
        return Trouble::new(Code::Closed, why);
    }
    let early = Why::from(Word::McpEndedEarly);
    match (noise.fault(), noise.ending()) {
        (Some(fault), _) => fault,
        (None, Some(ending)) => Trouble::new(Code::Ended, Why::ours(Word::McpAnd, [early, ending])),
        (None, None) => Trouble::new(Code::Ended, early),
    }
}

pub(super) fn login_hint(server: &str) -> Why {
    Why::ours(Word::McpLoginHint, [server.into()])
}

pub(super) fn last_words(why: Why, noise: &Noise) -> Why {
    match noise.last_words(MAX_LAST_WORDS) {
        words if words.is_empty() => why,
        words => Why::ours(Word::McpLastWords, [why, words.into()]),
    }
}
