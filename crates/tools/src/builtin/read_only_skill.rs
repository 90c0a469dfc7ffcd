//! `read_only_skill`: a skill followed by a sub-agent that can change nothing.

use super::skill::{Args, follow, render};
use super::task::delegate;
use crate::tool::{
    Context, Delegate, Done, Rendered, Scope, SkillOrder, Subject, ToolError, Typed,
};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct ReadOnlySkill;

impl Typed for ReadOnlySkill {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "read_only_skill";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .verb(CallVerb::UseSkill)
        .result(ResultForm::Report)
        .marks(&[ToolMark::TakesSkills, ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("read_only_skill.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.name, &args.name, true)
    }

    fn subject(args: &Args) -> Subject {
        Subject::placed(&args.name, args.arguments.as_deref())
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegate>>>,
    ) -> Result<Done, ToolError> {
        let order = SkillOrder {
            name: args.name,
            arguments: args.arguments.unwrap_or_default(),
            read_only: true,
        };
        follow(order, cx).await
    }

    fn render(data: &Value) -> Rendered {
        render(data)
    }
}
