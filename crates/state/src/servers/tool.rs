//! A tool of a server as a session has it: judged, run and shown like ours, carried out elsewhere.

use super::ServerServices;
use super::person::Person;
use super::result::store_content;
use futures_util::future::BoxFuture;
use ostler_confine::WatchedCall;
use ostler_guard::{mcp_accesses, mcp_looks};
use ostler_mcp::{CallError, Caller, OfferedTool, ServerHandle, ToolInfo, text};
use ostler_tools::SandboxReport;
use ostler_tools::arguments::check_unlisted;
use ostler_tools::builtin::server_result::render;
use ostler_tools::tool::{Call, Context, Done, Rendered, Scope, Subject, Tool, ToolError};
use ostler_wire::{Access, Delta, Json, SERVER_TOOL_PREFIX, ToolDeclaration, ToolSpec};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Of what a server says goes wrong.
const MAX_ERROR: usize = 8_000;
/// Of the description of a deferred tool.
const MAX_BRIEF: usize = 80;

#[derive(Clone)]
pub struct ServerTool {
    /// Its name is `mcp__server__tool`.
    about: Arc<ToolDeclaration>,
    info: Arc<ToolInfo>,
    handle: Arc<ServerHandle>,
    limit: Duration,
    /// The prompt has no room for what it is and takes.
    deferred: bool,
}

impl ServerTool {
    pub fn new(offered: OfferedTool) -> Self {
        let info = offered.info;
        Self {
            about: Arc::new(ToolDeclaration::of_other(offered.name, info.read_only)),
            info: Arc::new(info),
            handle: offered.server,
            limit: offered.limit,
            deferred: false,
        }
    }

    /// The same, to be looked up by `tool_search`.
    pub fn deferred(mut self) -> Self {
        self.deferred = true;
        self
    }

    fn whole(&self) -> ToolSpec {
        let mut schema = self.info.schema.clone();
        // Not for models, and not every vendor takes it.
        schema.shift_remove("$schema");
        ToolSpec {
            name: self.about.name.clone().into_owned(),
            description: self.info.description.clone(),
            parameters: Json::of(&schema),
        }
    }

    /// Puts back what a server in the sandbox changes against the rules during a call.
    async fn watch<T>(
        &self,
        services: &ServerServices,
        call: impl Future<Output = T>,
    ) -> (T, SandboxReport) {
        let handle = self.handle.clone();
        let looking = tokio::task::spawn_blocking(move || handle.is_confined());
        // Who cannot be looked at is watched.
        if !looking.await.unwrap_or(true) {
            return (call.await, SandboxReport::default());
        }
        let watched = WatchedCall::begin(services.sandbox.services()).await;
        let called = call.await;
        let report = match watched {
            Some(watched) => Box::pin(watched.end()).await,
            None => SandboxReport::default(),
        };
        (called, report)
    }

    async fn call(&self, args: Map<String, Value>, cx: Context) -> Result<Done, ToolError> {
        let server = &self.handle.server.name;
        let connecting = async {
            tokio::select! {
                connection = self.handle.connection() => Some(connection),
                () = cx.cancel.cancelled() => None,
            }
        };
        let connection = match connecting.await {
            Some(Ok(connection)) => connection,
            Some(Err(why)) => {
                let message = format!("The server {server} cannot be used: {why}.");
                return Err(ToolError::new("server_unavailable", message));
            }
            None => return Err(stopped()),
        };
        let on_progress = |far: String| {
            cx.deltas.send(Delta::Progress {
                id: cx.call_id.clone(),
                name: self.about.name.clone().into_owned(),
                text: far,
            });
        };
        let over = cx.cancel.child_token();
        let _over = over.clone().drop_guard();
        let services = server_services(&cx, server)?;
        let person = Person {
            server: server.clone(),
            questions: services.questions.clone(),
            language: cx.language,
            sampling: self.handle.server.sampling,
            side_request: Some(services.side_request.clone()),
            sampled: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            over,
        };
        let caller = Caller {
            cancel: &cx.cancel,
            on_progress: &on_progress,
            asker: Some(Arc::new(person)),
        };
        let called = connection.call(&self.info.name, args, self.limit, &caller);
        let (called, report) = Box::pin(self.watch(services, called)).await;
        let result = called.map_err(|error| match error {
            CallError::Timeout(limit) => ToolError::new(
                "timeout",
                format!(
                    "{server} gave no sign of life for {} s, so the call was cancelled. It may have done a part of it.",
                    limit.as_secs()
                ),
            ),
            CallError::Refused(why) => ToolError::new(
                "server_error",
                format!("{server} says: {}", text::cut(&why.to_string(), MAX_ERROR)),
            ),
            CallError::Ended(why) => ToolError::new(
                "server_lost",
                format!("The connection to {server} ended during the call: {why}. It may have done a part of it."),
            ),
            CallError::Login(_) => ToolError::new(
                "login_needed",
                format!("{server} wants a login, or more rights. The person has to run `ostler mcp login {server}`."),
            ),
            CallError::Stopped => stopped(),
        })?;
        if result.is_error {
            let said = text::cut(&result.content.text, MAX_ERROR);
            let said = if said.is_empty() {
                "it failed and does not say why".into()
            } else {
                said
            };
            return Err(ToolError::new("tool_error", said));
        }
        let mut data = store_content(result.content, &cx).await;
        report.add_to(&mut data);
        Ok(data.into())
    }
}

fn server_services<'a>(cx: &'a Context, server: &str) -> Result<&'a ServerServices, ToolError> {
    let services = cx.services.extension.get();
    services.ok_or_else(|| {
        let message = format!("The server {server} cannot be used outside of a session.");
        ToolError::new("server_unavailable", message)
    })
}

fn stopped() -> ToolError {
    ToolError::new(
        "interrupted",
        "The call was interrupted. It may have run in part.",
    )
}

impl Tool for ServerTool {
    fn about(&self) -> &ToolDeclaration {
        &self.about
    }

    fn spec(&self) -> ToolSpec {
        if self.deferred {
            let about = self.info.description.lines().next().unwrap_or_default();
            return ToolSpec {
                name: self.about.name.clone().into_owned(),
                description: format!("{} (see tool_search)", text::cut(about, MAX_BRIEF)),
                parameters: Json::of(&text::any_object()),
            };
        }
        self.whole()
    }

    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError> {
        check_unlisted(&self.about.name, &self.info.schema, args)?;
        let args = match args {
            Value::Object(args) => args.clone(),
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let name = &self.about.name;
                return Err(ToolError::new(
                    "invalid_input",
                    format!("Invalid arguments for {name}: an object is wanted."),
                ));
            }
        };
        let tool = self.clone();
        Ok(Arc::new(ServerCall { tool, args }))
    }

    fn render(&self, data: &Value) -> Rendered {
        render(data)
    }

    fn unabridged(&self) -> Option<ToolSpec> {
        self.deferred.then(|| self.whole())
    }
}

struct ServerCall {
    tool: ServerTool,
    args: Map<String, Value>,
}

impl Call for ServerCall {
    /// The arguments, all of them: whoever says yes has to see to what.
    fn preview(&self, _cx: Context) -> BoxFuture<'_, Option<String>> {
        let text = serde_json::to_string_pretty(&self.args).unwrap_or_default();
        Box::pin(async move { (!self.args.is_empty()).then_some(text) })
    }

    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        let ServerTool {
            about,
            info,
            handle,
            ..
        } = &self.tool;
        let rest = about
            .name
            .strip_prefix(SERVER_TOOL_PREFIX)
            .unwrap_or(&about.name);
        let (server, tool) = rest.split_once("__").unwrap_or((rest, ""));
        let args = Value::Object(self.args.clone());
        let starts = handle.start_folder().or_else(|| match handle.is_program() {
            true => None,
            false => scope.user_home.clone(),
        });
        let accesses = mcp_accesses(server, tool, &args, scope, starts.as_slice());
        let looks = info.read_only || handle.trusts(&info.name);
        Ok(if looks { mcp_looks(accesses) } else { accesses })
    }

    fn subject(&self) -> Subject {
        Subject::of_arguments(&self.args)
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(self.tool.call(self.args.clone(), cx))
    }
}
