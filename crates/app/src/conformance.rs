//! The hidden mode that the protocol's conformance suite drives: connects to the given server with the client that users
//! get, logs in where it must, and calls every tool there is. Nothing of the person's configuration takes part.

use crate::VERSION;
use crate::auth::ServerTokens;
use anyhow::{Context as _, anyhow};
use futures_util::future::BoxFuture;
use ostler_config::logins::Logins;
use ostler_config::oauth::TokenStore as TokenStoreKind;
use ostler_engine::SandboxLauncher;
use ostler_mcp::{
    Address, Asker, CallError, Caller, Confinement, Connection, Endpoint, Form, FormReply,
    HttpForm, Lists, LoginVisit, McpSettings, Registration, SamplingAnswer, SamplingEnd,
    SamplingRequest, Server, ServerContext, TokenStore as _, ToolInfo, log_in,
};
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const MODE: &str = "__mcp-conformance";
const REDIRECT: &str = "http://127.0.0.1:3000/callback";
/// The suite's own page about who we are.
const PAGE: &str = "https://conformance-test.local/client-metadata.json";
/// Logins of one run; a server that wants more is not worth it.
const MAX_LOGINS: usize = 3;
const CALL: Duration = Duration::from_secs(20);

/// To be called early in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args().skip(1);
    if args.next()? != MODE {
        return None;
    }
    let url = args.last().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = runtime
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(run(url)));
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unseen = writeln!(std::io::stderr(), "ostler: {error:#}");
            ExitCode::FAILURE
        }
    })
}

/// A person who takes what is proposed.
struct Willing;

impl Asker for Willing {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormReply> {
        Box::pin(async move { FormReply::Accept(form.defaults()) })
    }

    fn sample(&self, _: SamplingRequest) -> BoxFuture<'_, Result<SamplingAnswer, String>> {
        Box::pin(async {
            Ok(SamplingAnswer {
                text: "A word.".into(),
                model: "none".into(),
                end: SamplingEnd::Turn,
            })
        })
    }
}

struct Driver {
    server: Server,
    address: Address,
    context: ServerContext,
    registration: Registration,
    logins: usize,
    tokens: Arc<ServerTokens>,
}

async fn run(url: String) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let address = Address {
        url,
        form: HttpForm::Streamable,
        headers: Vec::new(),
        headers_helper: None,
        confinement: Confinement::Free,
    };
    let tokens = Arc::new(ServerTokens::new(
        home.path(),
        Logins::new(home.path(), TokenStoreKind::File),
        Default::default(),
        ostler_wire::Language::English,
    ));
    let word = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut driver = Driver {
        server: Server::new("suite", Endpoint::Address(address.clone())),
        address,
        context: ServerContext {
            version: VERSION.into(),
            launcher: Arc::new(SandboxLauncher {
                host: Arc::new(ostler_host::Local::new()),
                env: Vec::new(),
                sandbox: Default::default(),
                writable: Vec::new(),
                root: home.path().to_owned(),
                user_home: None,
                there: None,
            }),
            shell: Vec::new(),
            root: home.path().to_owned(),
            cache: None,
            interactive: true,
            settings: Arc::new(McpSettings {
                tokens: Some(tokens.clone()),
                ..McpSettings::default()
            }),
        },
        registration: Registration {
            client_id: word("client_id"),
            client_secret: word("client_secret"),
            client_page: Some(PAGE.into()),
            scopes: Vec::new(),
        },
        logins: 0,
        tokens,
    };
    let (mut connection, lists) = driver.connect().await?;
    for (tool, args) in calls(&lists, &context) {
        loop {
            let caller = Caller {
                cancel: &CancellationToken::new(),
                on_progress: &|_| {},
                asker: Some(Arc::new(Willing)),
            };
            match connection.call(&tool, args.clone(), CALL, &caller).await {
                Ok(_) => break,
                Err(CallError::Login(challenge)) => {
                    driver.log_in(&challenge).await?;
                    connection.close().await;
                    (connection, _) = driver.connect().await?;
                }
                // What the suite thinks of it is up to the suite.
                Err(error) => {
                    let _unseen = writeln!(std::io::stderr(), "{tool}: {error}");
                    break;
                }
            }
        }
    }
    connection.close().await;
    Ok(())
}

impl Driver {
    async fn connect(&mut self) -> anyhow::Result<(Connection, Lists)> {
        loop {
            let opened =
                Connection::open(&self.server, &self.context, CancellationToken::new()).await;
            let failed = match opened {
                Ok(connection) => match connection.lists(&self.server).await {
                    Ok(lists) => return Ok((connection, lists)),
                    Err(failed) => failed,
                },
                Err(failed) => failed,
            };
            let challenge = failed.challenge.ok_or_else(|| anyhow!("{}", failed.why))?;
            self.log_in(&challenge).await?;
        }
    }

    async fn log_in(&mut self, challenge: &str) -> anyhow::Result<()> {
        self.logins += 1;
        if self.logins > MAX_LOGINS {
            return Err(anyhow!("more than {MAX_LOGINS} logins were wanted"));
        }
        let visit = LoginVisit {
            challenge: Some(challenge),
            redirect: REDIRECT,
        };
        let go = |url: String| async move { visited(&url).await.map_err(|e| format!("{e:#}")) };
        let done = log_in(&self.address, &self.context, &self.registration, visit, go).await;
        if done.is_err() {
            // Tokens of another issuer are worth nothing here.
            let _ = self.tokens.save(&self.address.url, None).await;
        }
        done.map_err(anyhow::Error::msg)
    }
}

/// The suite's issuer sends the browser back at once.
async fn visited(url: &str) -> anyhow::Result<String> {
    ostler_llm::install_crypto();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let answer = client.get(url).send().await?;
    let back = answer
        .headers()
        .get("location")
        .and_then(|v| v.to_str().ok());
    back.map(str::to_owned)
        .context("the page sends nobody back")
}

/// The calls that the suite wants, or one of each tool.
fn calls(lists: &Lists, context: &Value) -> Vec<(String, Map<String, Value>)> {
    let wanted = context.get("toolCalls").and_then(Value::as_array);
    if let Some(wanted) = wanted {
        let call = |call: &Value| {
            let args = call.get("arguments").and_then(Value::as_object);
            let name = call.get("name")?.as_str()?.to_owned();
            Some((name, args.cloned().unwrap_or_default()))
        };
        return wanted.iter().filter_map(call).collect();
    }
    let call = |tool: &ToolInfo| {
        let mut args = sample(&tool.schema);
        // One tool wants to see what we know of the other.
        let other = lists.tools.iter().find(|other| other.name != tool.name);
        if let (Some(Value::Object(schema)), Some(other)) = (args.get_mut("schema"), other) {
            schema.clone_from(&other.schema);
        }
        (tool.name.clone(), args)
    };
    lists.tools.iter().map(call).collect()
}

fn sample(schema: &Map<String, Value>) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(3),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => json!("text"),
    };
    let pairs = properties.into_iter().flatten();
    pairs
        .map(|(name, schema)| (name.clone(), value(schema)))
        .collect()
}
