//! `task`: work that a sub-agent does in a session of its own, with leave to write.

use crate::crew::{self, Order};
use crate::roles::WRITER;
use crate::tool::Subject;
use crate::tool::{Context, Done, Rendered, Scope, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy)]
pub struct Task;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    /// for the person
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    worktree: Option<bool>,
}

impl Typed for Task {
    type Args = Args;
    const NAME: &'static str = "task";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .question(Word::WantsToDelegate)
        .common_name("Task")
        .marks(&[ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("task.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.prompt, args.role.as_deref().unwrap_or(WRITER), false)
    }

    fn subject(args: &Args) -> Subject {
        Subject::of_task(
            &args.prompt,
            args.description.as_deref(),
            args.role.as_deref(),
        )
    }

    async fn run(&self, args: Args, cx: Context) -> Result<Done, ToolError> {
        let role = args.role.unwrap_or_else(|| WRITER.into());
        let order = Order {
            worktree: args.worktree == Some(true),
            ..Order::prompt(&role, args.prompt, args.description)
        };
        crew::send(&cx, order).await.map(Done::from)
    }

    fn render(data: &Value) -> Rendered {
        crew::render(data).into()
    }
}

/// What a call touches that has others do the work.
pub(super) fn delegate(what: &str, role: &str, read_only: bool) -> Result<Vec<Access>, ToolError> {
    if what.trim().is_empty() {
        let message = "There is nothing to do: say what.";
        return Err(ToolError::new("invalid_input", message));
    }
    Ok(vec![Access::Delegate {
        role: role.trim().to_owned(),
        read_only,
    }])
}
