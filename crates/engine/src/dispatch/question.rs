//! Questions of tools to the person: words, and plans, whose approval changes the mode.

use super::never_ran;
use super::preview::too_long;
use crate::tool::Typed as _;
use crate::tool::{Done, Question, ToolError};
use crate::tools::exit_plan_mode::ExitPlanMode;
use ostler_guard::{Mode, Policy};
use ostler_state::inbox::Inbox;
use ostler_state::permissions::PermissionState;
use ostler_state::{SessionState, attend};
use ostler_wire::{
    Ask, AskAnswer, AskKind, Choice, Language, PlanChoice, PreviewFormat, Silence, Word,
};
use std::time::Instant;

/// The person's answer; `None` when there is nobody to give one, or no words in it.
pub async fn put(
    state: &mut SessionState,
    inbox: &mut Inbox,
    (call, tool): (&str, &str),
    question: Question,
) -> Result<Option<AskAnswer>, ToolError> {
    let ask = match question {
        Question::Words {
            text,
            choices,
            multi,
        } => Ask {
            kind: AskKind::Question,
            subject: text,
            options: choices
                .into_iter()
                .map(|c| Choice::new(c.clone(), c))
                .collect(),
            multi,
            free_text: true,
            ..Ask::default()
        },
        Question::Plan(plan) => match state.permissions.mode {
            Mode::Plan => plan_ask(plan, state.settings.language),
            Mode::Normal | Mode::Goal => {
                return Err(ToolError::new(
                    "not_planning",
                    "Plan mode is off, so there is no plan to approve. Go on with the work.",
                ));
            }
        },
    };
    if !state.settings.interactive {
        return Ok(None);
    }
    if ask.is_too_long() {
        return Err(too_long());
    }
    let words = ask.kind == AskKind::Question;
    let ask = Ask {
        tool: Some(tool.to_owned()),
        call: Some(call.to_owned()),
        ..ask
    };
    let Ok(answer) = attend::ask(state, inbox, ask).await else {
        return Err(never_ran());
    };
    Ok(match words {
        // No words are no decision of the person.
        true => Some(answer).filter(|a| !a.choice.trim().is_empty()),
        false => Some(decision(answer)),
    })
}

/// What is neither an approval nor a plan of the person's own leaves things as they are.
fn decision(mut answer: AskAnswer) -> AskAnswer {
    answer.reason = answer.reason.filter(|reason| !reason.trim().is_empty());
    let decides = match PlanChoice::from_id(&answer.choice) {
        PlanChoice::Approve | PlanChoice::ApproveAsk => true,
        PlanChoice::Edit => answer.reason.is_some(),
        PlanChoice::Keep => false,
    };
    if !decides {
        answer.choice = PlanChoice::Keep.id().into();
    }
    answer
}

fn plan_ask(plan: String, language: Language) -> Ask {
    let choice = |id: PlanChoice, label: Word| Choice::plan(id, language.say(label));
    Ask {
        kind: AskKind::Plan,
        subject: language.say(Word::PlanAsk).into(),
        title: language.say(Word::PlanReady).into(),
        options: vec![
            choice(PlanChoice::Approve, Word::PlanApprove)
                .with_detail(language.say(Word::PlanScope)),
            choice(PlanChoice::ApproveAsk, Word::PlanApproveAsk)
                .with_detail(language.say(Word::PlanAskScope)),
            choice(PlanChoice::Edit, Word::PlanEdit),
            choice(PlanChoice::Keep, Word::PlanKeep)
                .with_reason(language.say(Word::WhatToChangeHint)),
        ],
        free_text: true,
        preview: Some(plan),
        preview_format: PreviewFormat::Markdown,
        silence: Silence::refuses(PlanChoice::Keep.id()),
        ..Ask::default()
    }
}

/// An approved plan ends plan mode, and until the end of the turn its calls are judged as in posture `auto`, unless the
/// person wants to be asked.
pub fn settle(
    (permissions, policy): (&mut PermissionState, &Policy),
    tool: &str,
    answer: Option<&AskAnswer>,
    done: &mut Done,
) {
    let choice = answer.map_or(PlanChoice::Keep, |answer| {
        PlanChoice::from_id(&answer.choice)
    });
    if tool == ExitPlanMode::NAME && choice != PlanChoice::Keep {
        permissions.enter(Mode::Normal);
        permissions.turn.plan_approved = choice != PlanChoice::ApproveAsk;
        done.also.push(permissions.entry(policy, Instant::now()));
    }
}
