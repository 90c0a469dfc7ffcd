//! `read_only_task`: what a sub-agent finds out in a session of its own, without leave to change anything.

use super::task::{delegate, render_report, send};
use crate::tool::{Context, Delegate, Done, Rendered, Scope, Subject, TaskOrder, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The role of a sub-agent that only reads, where none is named.
pub const READER: &str = "explore";

#[derive(Clone, Copy)]
pub struct ReadOnlyTask;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    prompt: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    description: Option<String>,
}

impl Typed for ReadOnlyTask {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "read_only_task";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .result(ResultForm::Report)
        .question(Word::WantsToDelegate)
        .marks(&[ToolMark::TakesRoles]);
    const PROSE: &'static str = include_str!("read_only_task.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.prompt, args.role.as_deref().unwrap_or(READER), true)
    }

    fn subject(args: &Args) -> Subject {
        Subject::of_task(
            &args.prompt,
            args.description.as_deref(),
            args.role.as_deref(),
        )
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegate>>>,
    ) -> Result<Done, ToolError> {
        let order = TaskOrder {
            role: args.role.unwrap_or_else(|| READER.into()),
            prompt: args.prompt,
            description: args.description,
            read_only: true,
            worktree: false,
            ..TaskOrder::default()
        };
        send(order, cx).await
    }

    fn render(data: &Value) -> Rendered {
        render_report(data).into()
    }
}
