//! Opening a connection: a program started, an address reached, the handshake made. Every failure is a sentence that says what
//! to do.

use super::auth;
use super::client::{Link, MAX_SAID, chain};
use super::handler::{Handler, Talk};
use super::settings::{Address, Endpoint, Program, Sampling, Server, Surroundings};
use super::stdio::{self, MAX_MESSAGE, Noise};
use super::text;
use crate::confine::SandboxSettings;
use http::{HeaderName, HeaderValue};
use ostler_host::sandbox::{Network, Plan, Policy};
use ostler_host::{Command, Output, Stdio};
use ostler_wire::{Why, Word};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Of a server's log that stands in an error.
const MAX_LAST_WORDS: usize = 600;
const CONNECT: Duration = Duration::from_secs(10);
/// Of the command that makes headers.
const MAX_HEADERS: usize = 64 * 1024;

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
            sampling: match server.sampling {
                Sampling::Ask => around.interactive,
                Sampling::Allow => true,
                Sampling::Deny => false,
            },
            noise: noise.clone(),
            talk: talk.clone(),
        };
        let drop_guard = over.clone().drop_guard();
        let opened = match &server.endpoint {
            Endpoint::Unusable(why) => return Err(Failed::finally(why.clone().into())),
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
                let failed = |why: String| Failed::finally(why.into());
                let client = http_client(around).map_err(failed)?;
                let known = auth::known(address, around).await;
                match known.map_err(failed)? {
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
}

/// Why a connection does not stand, and whether another way may.
pub struct Failed {
    pub why: Why,
    /// Its words to whoever is to log in.
    pub challenge: Option<String>,
    pub(super) again: bool,
}

impl Failed {
    pub(super) fn finally(why: Why) -> Self {
        Self {
            why,
            challenge: None,
            again: false,
        }
    }
}

pub(super) fn command(program: &Program, around: &Surroundings) -> Result<Command, Why> {
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
fn confine(command: &mut Command, settings: &SandboxSettings) -> Result<(), Why> {
    let policy = Policy {
        network: match settings.policy.network {
            Network::On => Network::On,
            Network::Off | Network::Loopback | Network::Proxy => Network::Loopback,
        },
        ..settings.policy.clone()
    };
    let plan = Plan::prepare(&policy).map_err(|e| Why::from(&e))?;
    if plan.layer().is_none() {
        return Err(Word::McpNoSandbox.into());
    }
    Arc::new(plan).put_on(command);
    Ok(())
}

pub(super) fn not_started(program: &Program, error: &ostler_host::Error) -> Why {
    let name = program
        .argv
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    Why::ours(Word::McpInstalled, [error.into(), name.into()])
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
    if let Some(helper) = &address.headers_helper {
        all.extend(helped(helper, around).await?);
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
async fn helped(helper: &str, around: &Surroundings) -> Result<Vec<(String, String)>, Why> {
    let failed = |why: Why| Why::ours(Word::McpHelperFailed, [why]);
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
        .map_err(|e| failed((&e).into()))?;
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

fn explain(error: &ClientInitializeError, server: &Server, noise: &Noise) -> Failed {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Failed {
            challenge: error.auth_challenge().map(str::to_owned),
            ..Failed::finally(login_hint(&server.name))
        };
    }
    let said = match error {
        ClientInitializeError::JsonRpcError(error) => {
            let said = text::cut(&error.message, MAX_SAID);
            Why::ours(Word::McpRefused, [said.into()])
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let theirs: Vec<String> = server_supported
                .iter()
                .take(8)
                .map(|v| v.to_string())
                .collect();
            Why::ours(Word::McpNoRevision, [theirs.join(", ").into()])
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return explain(fallback, server, noise);
        }
        // Which of the two comes first when a program ends is chance.
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            match &server.endpoint {
                Endpoint::Program(_) => Word::McpEndedEarly.into(),
                Endpoint::Address(_) | Endpoint::Unusable(_) => Word::McpClosedEarly.into(),
            }
        }
        other => text::cut(&chain(other), MAX_SAID).into(),
    };
    let why = match noise.ending() {
        Some(ending) => Why::ours(Word::McpAnd, [said, ending]),
        None => said,
    };
    Failed {
        why: last_words(why, noise),
        challenge: None,
        again: true,
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
