//! What a tool is: typed arguments, one declaration of what a call touches, and a run that never asks anyone.

use crate::arguments::{Repair, fit_arguments, read_arguments};
pub use crate::context::*;
use crate::cut::clip;
pub use crate::error::ToolError;
pub use crate::programs::EditorTerminal;
use futures_util::future::BoxFuture;
pub use ostler_guard::{Scope, normalise};
use ostler_wire::{Access, Body, Image, Json, ToolDeclaration, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A tool with typed arguments. The doc comments of `Args` are its schema, `PROSE` the description beside the code.
pub trait Typed: Clone + Send + Sync + 'static {
    type Args: DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// What it uses of the session beyond what every call has.
    type Uses: Uses;
    const NAME: &'static str;
    /// Everything that others need to know about the tool.
    const ABOUT: ToolDeclaration;
    const PROSE: &'static str;

    /// What this call would touch; an empty list touches nothing.
    fn access(&self, args: &Self::Args, scope: &Scope) -> Result<Vec<Access>, ToolError>;

    /// What this call is about, for people.
    fn subject(_args: &Self::Args) -> Subject {
        Subject::default()
    }

    fn run(
        &self,
        args: Self::Args,
        cx: Context<Self::Uses>,
    ) -> impl Future<Output = Result<Done, ToolError>> + Send;

    /// What the model reads of `data`. Pure; a change of it for old logs needs a new rendering version.
    fn render(data: &Value) -> Rendered;

    /// A question that dispatch puts to the person before the run; the answer is in `Context::answer`.
    fn question(_args: &Self::Args) -> Option<Question> {
        None
    }

    /// What the person may look at before they allow a run: the diff it would make. It changes nothing.
    fn preview(
        &self,
        _args: Self::Args,
        _cx: Context<Self::Uses>,
    ) -> impl Future<Output = Option<String>> + Send {
        std::future::ready(None)
    }

    /// Why it cannot succeed, found out before the person is bothered with it.
    fn objection(
        &self,
        _args: Self::Args,
        _cx: Context<Self::Uses>,
    ) -> impl Future<Output = Option<ToolError>> + Send {
        std::future::ready(None)
    }
}

/// The same with its types erased, as the registry holds it.
pub trait Tool: Send + Sync {
    fn about(&self) -> &ToolDeclaration;
    fn spec(&self) -> ToolSpec;
    /// Reads the arguments, once: what is judged, shown and run is the call that this gives.
    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError>;
    fn render(&self, data: &Value) -> Rendered;

    /// Gives the arguments the names that the tool knows; `None` for tools that follow a schema of their own.
    fn fit(&self, _args: &Value) -> Option<Result<(Value, Vec<Repair>), ToolError>> {
        None
    }

    /// What `tool_search` shows of it, where `spec` says less.
    fn unabridged(&self) -> Option<ToolSpec> {
        None
    }
}

impl dyn Tool + '_ {
    pub fn name(&self) -> &str {
        &self.about().name
    }

    /// What a call with these arguments would touch.
    pub fn access(&self, args: &Value, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        self.read(args)?.access(scope)
    }
}

/// A call whose arguments have been read.
pub trait Call: Send + Sync {
    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError>;
    fn subject(&self) -> Subject;
    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>>;

    fn question(&self) -> Option<Question> {
        None
    }

    fn preview(&self, _cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn objection(&self, _cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(std::future::ready(None))
    }
}

/// What a call is about, in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    pub text: String,
    /// The argument that holds what `text` shows only the beginning of.
    pub body: Option<&'static str>,
}

impl Subject {
    /// The first line of a text that may have more.
    pub fn first_line(text: &str) -> Self {
        let text = text.trim();
        match text.split_once('\n') {
            Some((first, _)) => format!("{} …", first.trim_end()).into(),
            None => text.into(),
        }
    }

    /// Something, and where it is looked for.
    pub fn placed(what: &str, place: Option<&str>) -> Self {
        // Whoever looks everywhere need not say so.
        match place.filter(|place| !matches!(*place, "." | "./")) {
            Some(place) => format!("{what}  {place}").into(),
            None => what.into(),
        }
    }

    /// Work that a sub-agent is given.
    pub fn of_task(prompt: &str, description: Option<&str>, role: Option<&str>) -> Self {
        let Self { text, .. } = Self::first_line(description.unwrap_or(prompt));
        let subject = match role {
            Some(role) => format!("{role}  {text}").into(),
            None => Self::from(text),
        };
        subject.with_body("prompt")
    }

    /// `name: value, name: value`, each on one line, for a tool whose arguments are not known.
    pub fn of_arguments(args: &Map<String, Value>) -> Self {
        let mut text = String::new();
        for (name, value) in args {
            if text.len() > MAX_SUBJECT {
                break;
            }
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(name);
            text.push_str(": ");
            match value {
                Value::String(value) => text.push_str(&clip(value, MAX_SUBJECT)),
                other => text.push_str(&other.to_string()),
            }
        }
        text.replace('\n', " ").into()
    }

    pub fn with_body(self, argument: &'static str) -> Self {
        Self {
            body: Some(argument),
            ..self
        }
    }
}

impl From<String> for Subject {
    fn from(text: String) -> Self {
        Self { text, body: None }
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Characters of a subject that are kept.
pub const MAX_SUBJECT: usize = 1_000;

/// What a run leaves.
pub struct Done {
    /// The envelope's `data`, an object.
    pub data: Value,
    /// Entries beside the result (the todo list).
    pub also: Vec<Body>,
}

impl From<Value> for Done {
    fn from(data: Value) -> Self {
        Self {
            data,
            also: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub images: Vec<Image>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Words {
        text: String,
        choices: Vec<String>,
        multi: bool,
    },
    /// May this plan be carried out?
    Plan(String),
}

impl<T: Typed> Tool for T {
    fn about(&self) -> &ToolDeclaration {
        const { &T::ABOUT }
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: T::NAME.into(),
            description: T::PROSE.trim().into(),
            parameters: Json::of(&crate::schema::of::<T::Args>()),
        }
    }

    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError> {
        let (args, _) = read_arguments(&T::ABOUT, args)?;
        let tool = self.clone();
        Ok(Arc::new(TypedCall::<T> { tool, args }))
    }

    fn render(&self, data: &Value) -> Rendered {
        T::render(data)
    }

    fn fit(&self, args: &Value) -> Option<Result<(Value, Vec<Repair>), ToolError>> {
        Some(fit_arguments::<T::Args>(&T::ABOUT, args))
    }
}

struct TypedCall<T: Typed> {
    tool: T,
    args: T::Args,
}

impl<T: Typed> Call for TypedCall<T> {
    fn access(&self, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        self.tool.access(&self.args, scope)
    }

    fn subject(&self) -> Subject {
        T::subject(&self.args)
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(self.tool.run(self.args.clone(), cx.narrow()))
    }

    fn question(&self) -> Option<Question> {
        T::question(&self.args)
    }

    fn preview(&self, cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.tool.preview(self.args.clone(), cx.narrow()))
    }

    fn objection(&self, cx: Context) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(self.tool.objection(self.args.clone(), cx.narrow()))
    }
}
