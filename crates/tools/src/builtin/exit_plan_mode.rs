//! `exit_plan_mode`: a plan, put to the person. Dispatch asks and changes the mode; this only says what was decided.

use crate::tool::{Context, Done, Question, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::{Access, CallVerb, PlanChoice, ResultForm};
use ostler_wire::{ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Decisions, as the result has them.
pub const APPROVE: &str = PlanChoice::Approve.id();
pub const EDIT: &str = PlanChoice::Edit.id();
const KEEP: &str = PlanChoice::Keep.id();
const NOBODY: &str = "Nobody is attached who could approve it. Give the plan as your answer and stop; plan mode stays on.";

#[derive(Clone, Copy)]
pub struct ExitPlanMode;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    plan: String,
}

impl Typed for ExitPlanMode {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "exit_plan_mode";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Talk)
        .verb(CallVerb::Plan)
        .result(ResultForm::Plan)
        .common_name("ExitPlanMode")
        .marks(&[ToolMark::NotForChildren]);
    const PROSE: &'static str = include_str!("exit_plan_mode.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        match args.plan.trim().is_empty() {
            true => Err(ToolError::new("invalid_input", "The plan is empty.")),
            false => Ok(Vec::new()),
        }
    }

    fn subject(args: &Args) -> Subject {
        Subject::first_line(args.plan.trim_start_matches(['#', ' ']))
    }

    async fn run(&self, _: Args, cx: Context<()>) -> Result<Done, ToolError> {
        Ok(match cx.answer {
            None => json!({"decision": KEEP, "note": NOBODY}),
            Some(answer) => match PlanChoice::from_id(&answer.choice) {
                PlanChoice::Approve | PlanChoice::ApproveAsk => json!({"decision": APPROVE}),
                PlanChoice::Edit => json!({"decision": EDIT, "plan": answer.reason}),
                PlanChoice::Keep => json!({"decision": KEEP, "reason": answer.reason}),
            },
        }
        .into())
    }

    fn render(data: &Value) -> Rendered {
        let text = |key: &str| data[key].as_str();
        match (text("decision"), text("plan"), text("reason"), text("note")) {
            (Some(APPROVE), ..) => "Approved; plan mode is over. Carry the plan out now.".into(),
            (Some(EDIT), Some(plan), ..) => format!(
                "Approved as the person changed it; plan mode is over. Carry this plan out now:\n{plan}"
            ),
            (_, _, _, Some(note)) => note.to_owned(),
            (_, _, Some(reason), _) => {
                format!("Not approved; keep planning. The person said: {reason}")
            }
            (_, _, None, None) => {
                "Not approved; keep planning, and ask the person what they miss.".into()
            }
        }
        .into()
    }

    fn question(args: &Args) -> Option<Question> {
        Some(Question::Plan(args.plan.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use crate::tool::Tool;
    use ostler_wire::AskAnswer;

    #[tokio::test]
    async fn what_was_decided_is_told() {
        let answer = |choice: &str, reason: Option<&str>| {
            Some(AskAnswer {
                choice: choice.into(),
                reason: reason.map(Into::into),
            })
        };
        for (answer, expect) in [
            (None, "stop; plan mode stays on."),
            (answer("approve", None), "Carry the plan out now."),
            (answer("edit", Some("1. other")), "now:\n1. other"),
            (
                answer("keep", Some("more tests")),
                "The person said: more tests",
            ),
            (answer("keep", None), "what they miss."),
            (answer("anything", None), "what they miss."),
        ] {
            let mut cx = Bench::new().context("exit_plan_mode");
            cx.answer = answer.clone();
            let done = crate::testing::run(&ExitPlanMode, json!({"plan": "1. this"}), cx).await;
            let text = Tool::render(&ExitPlanMode, &done.unwrap().data).text;
            assert!(text.ends_with(expect), "{answer:?}: {text}");
        }
    }
}
