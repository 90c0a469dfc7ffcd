//! How a tool starts a program. The session implements it for each call, with the sandbox that the call was judged for; a
//! tool sees neither that sandbox nor its settings.

use crate::error::ToolError;
use crate::sandbox_report::SandboxReport;
use futures_util::future::BoxFuture;
use ostler_host::pane::Pane;
use ostler_host::{Command, Exit, Process};
use ostler_wire::Why;
use std::any::Any;
use std::sync::Arc;

/// Starts the programs of one call. Its implementor can be recognised by its type, by those who know that.
pub trait Programs: Any + Send + Sync {
    /// A sandbox that the command brings along is replaced.
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, ToolError>>;

    /// The pane that the person shares, where commands in the foreground run if there is one. Nothing confines them.
    fn pane(&self) -> Option<Pane> {
        None
    }

    /// The same of an editor's terminals.
    fn terminal(&self) -> Option<Arc<dyn EditorTerminal>> {
        None
    }
}

/// Terminals of an editor, each for one command.
pub trait EditorTerminal: Send + Sync {
    /// Has the editor start a command for a call.
    fn run<'a>(
        &'a self,
        command: Command,
        call: &'a str,
    ) -> BoxFuture<'a, Result<Process, ToolError>>;
}

/// Starts nothing, for calls that have not been judged yet.
pub struct NoPrograms;

impl Programs for NoPrograms {
    fn start(&self, _: Command) -> BoxFuture<'_, Result<Started, ToolError>> {
        let message = "Not run: this call has not been allowed yet.";
        Box::pin(async move { Err(ToolError::new("not_allowed", message)) })
    }
}

/// A program that runs.
pub struct Started {
    pub process: Process,
    /// Its sandbox, to be ended with it.
    pub confinement: Option<Box<dyn Confinement>>,
    /// Why it runs without a sandbox although one is wanted.
    pub missing: Option<Why>,
}

/// The sandbox of a running program.
pub trait Confinement: Send + Sync {
    /// Processes that the program left in the background are watched from now on. To be called before `end`.
    fn take_leftovers(&self, process: &mut Process);

    /// The call that started the program gets its result before the program ends.
    fn outlive_call(&mut self);

    /// Puts back what was changed against the rules and looks for refusals in `outputs`, one after the other. To be called
    /// when the program and everything it started are gone.
    fn end<'a>(self: Box<Self>, exit: Exit, outputs: &'a [&'a str])
    -> BoxFuture<'a, SandboxReport>;
}
