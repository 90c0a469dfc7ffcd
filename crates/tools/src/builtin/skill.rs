//! `skill`: the text of a skill, or what a sub-agent made of it. Which of both it is, the skill says.

use super::task::{delegate, render_report};
use crate::tool::{
    Context, Delegate, Done, Rendered, Scope, SkillOrder, Subject, ToolError, Typed,
};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Skill;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Option<String>,
}

impl Typed for Skill {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "skill";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .verb(CallVerb::UseSkill)
        .result(ResultForm::Report)
        .common_name("Skill")
        .marks(&[ToolMark::TakesSkills, ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("skill.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.name, &args.name, false)
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
            read_only: false,
        };
        follow(order, cx).await
    }

    fn render(data: &Value) -> Rendered {
        render(data)
    }
}

pub(super) fn render(data: &Value) -> Rendered {
    match data["session"].as_str() {
        Some(_) => render_report(data).into(),
        None => data["text"].as_str().unwrap_or_default().to_owned().into(),
    }
}

/// Has the skill followed in this session or by a sub-agent, as it says.
pub(super) async fn follow(
    order: SkillOrder,
    cx: Context<Option<Arc<dyn Delegate>>>,
) -> Result<Done, ToolError> {
    let Some(delegate) = cx.services.clone() else {
        return Err(ToolError::new("unavailable", "There are no skills here."));
    };
    delegate
        .run_skill(cx.with_services(()), order)
        .await
        .map(Done::from)
}
