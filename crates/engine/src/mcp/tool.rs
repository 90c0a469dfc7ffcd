//! A tool of a server as a session has it: judged, run and shown like ours, carried out elsewhere.

use super::client::{CallError, Caller};
use super::content::{Gathered, render};
use super::keeper::Kept;
use super::names::PREFIX;
use super::person::Person;
use super::{ToolInfo, text};
use crate::arguments::check_unlisted;
use crate::confine::{Services, Verdict, WatchedCall};
use crate::tool::{Call, Context, Done, Rendered, Scope, Subject, Tool, ToolError};
use futures_util::future::BoxFuture;
use ostler_guard::{mcp_accesses, mcp_looks};
use ostler_llm::ToolSpec;
use ostler_wire::{Access, Delta, Json, ToolDeclaration};
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
    kept: Arc<Kept>,
    limit: Duration,
    /// The prompt has no room for what it is and takes.
    deferred: bool,
}

impl ServerTool {
    pub fn new(name: String, info: ToolInfo, kept: Arc<Kept>, call: Duration) -> Self {
        let server = &kept.server;
        let own = server.tool_timeouts.get(&info.name).copied();
        let limit = own.or(server.call_timeout).unwrap_or(call);
        Self {
            about: Arc::new(ToolDeclaration::of_other(name, info.read_only)),
            info: Arc::new(info),
            kept,
            limit,
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
    async fn watch<T>(&self, cx: &Context, call: impl Future<Output = T>) -> (T, Verdict) {
        let settings = &cx.settings;
        if !self
            .kept
            .server
            .is_confined(&settings.sandbox, &settings.env)
        {
            return (call.await, Verdict::default());
        }
        let watched = WatchedCall::begin(Services::from(cx)).await;
        let called = call.await;
        let verdict = match watched {
            Some(watched) => Box::pin(watched.end()).await,
            None => Verdict::default(),
        };
        (called, verdict)
    }

    async fn call(&self, args: Map<String, Value>, cx: Context) -> Result<Done, ToolError> {
        let server = &self.kept.server.name;
        let connecting = async {
            tokio::select! {
                link = self.kept.link() => Some(link),
                () = cx.cancel.cancelled() => None,
            }
        };
        let link = match connecting.await {
            Some(Ok(link)) => link,
            Some(Err(why)) => {
                let message = format!("The server {server} cannot be used: {why}.");
                return Err(ToolError::new("server_unavailable", message));
            }
            None => return Err(stopped()),
        };
        let hear = |far: String| {
            cx.feed.delta(Delta::Progress {
                id: cx.call_id.clone(),
                name: self.about.name.clone().into_owned(),
                text: far,
            });
        };
        let over = cx.cancel.child_token();
        let _over = over.clone().drop_guard();
        let person = Person {
            server: server.clone(),
            petitions: cx.petitions.clone(),
            language: cx.language,
            sampling: self.kept.server.sampling,
            aside: cx.aside.clone(),
            sampled: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            over,
        };
        let caller = Caller {
            cancel: &cx.cancel,
            hear: &hear,
            asker: Some(Arc::new(person)),
        };
        let called = link.call(&self.info.name, args, self.limit, &caller);
        let (called, verdict) = Box::pin(self.watch(&cx, called)).await;
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
        let is_error = result.is_error == Some(true);
        let gathered = Gathered::new(result.content, result.structured_content);
        if is_error {
            let said = text::cut(&gathered.text, MAX_ERROR);
            let said = if said.is_empty() {
                "it failed and does not say why".into()
            } else {
                said
            };
            return Err(ToolError::new("tool_error", said));
        }
        let mut data = gathered.finish(&cx).await;
        verdict.tell(&mut data);
        Ok(data.into())
    }
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
    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        let ServerTool {
            about, info, kept, ..
        } = &self.tool;
        let rest = about.name.strip_prefix(PREFIX).unwrap_or(&about.name);
        let (server, tool) = rest.split_once("__").unwrap_or((rest, ""));
        let args = Value::Object(self.args.clone());
        let accesses = mcp_accesses(server, tool, &args, scope);
        let looks = info.read_only || kept.trusts(&info.name);
        Ok(if looks { mcp_looks(accesses) } else { accesses })
    }

    fn subject(&self) -> Subject {
        Subject::of_arguments(&self.args)
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(self.tool.call(self.args.clone(), cx))
    }
}
