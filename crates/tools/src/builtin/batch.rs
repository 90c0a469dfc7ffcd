//! `batch`: tasks for several roles at the same time, each in a conversation of its own.

use super::delegate::Args as Task;
use super::group;
use crate::tool::{
    Context, Conversation, Delegate, Done, Rendered, Scope, Subject, TaskOrder, ToolError, Typed,
};
use ostler_wire::Access;
use ostler_wire::{ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Batch;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    tasks: Vec<Named>,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Named {
    #[serde(default)]
    name: Option<String>,
    #[serde(flatten)]
    task: Task,
}

impl Args {
    fn names(&self) -> String {
        let roles = self.tasks.iter().map(|one| one.task.role.as_str());
        roles.collect::<Vec<_>>().join(", ")
    }

    fn into_orders(self) -> Vec<(String, TaskOrder)> {
        let order = |(number, one): (usize, Named)| {
            let name = one.name.filter(|name| !name.trim().is_empty());
            let name = name.unwrap_or_else(|| (number + 1).to_string());
            (name, one.task.into_order(Conversation::New))
        };
        self.tasks.into_iter().enumerate().map(order).collect()
    }
}

impl Typed for Batch {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "batch";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .question(Word::WantsToDelegateSeveral)
        .marks(&[ToolMark::TakesRoles, ToolMark::NeedsBackends]);
    const PROSE: &'static str = include_str!("batch.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        group::check_count(args.tasks.len(), "tasks")?;
        let all = args.tasks.iter().map(|one| one.task.access());
        let all: Vec<Vec<Access>> = all.collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    fn subject(args: &Args) -> Subject {
        args.names().into()
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegate>>>,
    ) -> Result<Done, ToolError> {
        group::run(args.into_orders(), cx).await
    }

    fn render(data: &Value) -> Rendered {
        group::render(data).into()
    }
}
