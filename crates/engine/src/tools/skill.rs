//! `skill`: the text of a skill, or what a sub-agent made of it. Which of both it is, the skill says.

use super::task::delegate;
use crate::crew::{self, Hand, Order};
use crate::roles::{READER, WRITER};
use crate::skills::{RunAs, Skill as One, beside};
use crate::templates::Piece;
use crate::tool::Subject;
use crate::tool::{Context, Done, Rendered, Scope, ToolError, Typed};
use ostler_wire::{Access, Op};
use ostler_wire::{ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Characters of a name that is none.
const MAX_NAME: usize = 100;

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
    const NAME: &'static str = "skill";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .common_name("Skill")
        .marks(&[ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("skill.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.name, &args.name, false)
    }

    fn subject(args: &Args) -> Subject {
        Subject::placed(&args.name, args.arguments.as_deref())
    }

    async fn run(&self, args: Args, cx: Context) -> Result<Done, ToolError> {
        let (hand, skill) = find(&cx, &args.name)?;
        let words = args.arguments.unwrap_or_default();
        match skill.run_as {
            RunAs::Inline => Ok(inline(&skill, &words).into()),
            RunAs::Subagent => follow(&cx, &hand, &skill, &words, WRITER).await,
        }
    }

    fn render(data: &Value) -> Rendered {
        render(data)
    }
}

pub(super) fn render(data: &Value) -> Rendered {
    match data["session"].as_str() {
        Some(_) => crew::render(data).into(),
        None => data["text"].as_str().unwrap_or_default().to_owned().into(),
    }
}

/// The skill of this name that a model may call.
pub(super) fn find(cx: &Context, name: &str) -> Result<(std::sync::Arc<Hand>, One), ToolError> {
    let Some(hand) = cx.hand.clone() else {
        return Err(ToolError::new("unavailable", "There are no skills here."));
    };
    let skills = &hand.heir.offer.skills;
    let found = skills.find(name).filter(|skill| !skill.hidden).cloned();
    match found {
        Some(skill) => Ok((hand, skill)),
        None => {
            let asked: String = name.chars().take(MAX_NAME).collect();
            let near = skills.search(&asked);
            let message = format!("There is no skill `{asked}`. Near it:\n{}", near.trim_end());
            Err(ToolError::new("unknown_skill", message))
        }
    }
}

/// What it says, for whoever is to follow it in this session.
fn inline(skill: &One, words: &str) -> Value {
    let template = &skill.template;
    let mut text = template.folder.as_deref().map(beside).unwrap_or_default();
    for piece in template.expand(words) {
        match piece {
            Piece::Text(part) => text.push_str(&part),
            // A call runs nothing beside itself; whoever follows the text does.
            Piece::Shell(command) => text.push_str(&format!("(run `{command}`)")),
        }
    }
    json!({"skill": skill.name(), "text": text})
}

/// What a sub-agent makes of it.
pub(super) async fn follow(
    cx: &Context,
    hand: &Hand,
    skill: &One,
    words: &str,
    default: &str,
) -> Result<Done, ToolError> {
    let read_only = default == READER;
    let line = format!("{} {words}", skill.name());
    let line = line.trim().to_owned();
    let known = |role: &&String| hand.heir.offer.roles.find(role).is_some();
    let role = skill.role.as_ref().filter(known);
    let order = Order {
        role: role.cloned().unwrap_or_else(|| default.to_owned()),
        title: crate::children::shortened(&format!("/{line}")),
        first: Op::Command { line },
        read_only,
        worktree: false,
        skill: Some((skill.name().to_owned(), skill.template.model.clone())),
    };
    crew::send(cx, order).await.map(Done::from)
}
