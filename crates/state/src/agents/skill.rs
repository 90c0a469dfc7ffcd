//! A call of a skill: its text for the session itself, or what a sub-agent makes of it. Which of both it is, the skill says.

use super::Delegation;
use super::send::{Order, send};
use ostler_sources::roles::{READER, WRITER};
use ostler_sources::skills::{RunAs, Skill, beside};
use ostler_sources::templates::Piece;
use ostler_store::cut::shorten_prompt;
use ostler_tools::tool::{Context, SkillOrder, ToolError};
use ostler_wire::Op;
use serde_json::{Value, json};

/// Characters of an unknown name that are shown.
const MAX_NAME: usize = 100;

/// The result's data.
pub async fn run(
    cx: &Context<()>,
    delegation: &Delegation,
    order: SkillOrder,
) -> Result<Value, ToolError> {
    let skill = find(delegation, &order.name)?;
    match (order.read_only, skill.run_as) {
        (false, RunAs::Inline) => Ok(inline(&skill, &order.arguments)),
        (true, RunAs::Inline | RunAs::Subagent) | (false, RunAs::Subagent) => {
            follow(cx, delegation, &skill, &order).await
        }
    }
}

/// The skill of this name that a model may call.
fn find(delegation: &Delegation, name: &str) -> Result<Skill, ToolError> {
    let skills = &delegation.child.definitions.skills;
    let found = skills.find(name).filter(|skill| !skill.hidden).cloned();
    found.ok_or_else(|| {
        let asked: String = name.chars().take(MAX_NAME).collect();
        let near = skills.search(&asked);
        let message = format!("There is no skill `{asked}`. Near it:\n{}", near.trim_end());
        ToolError::new("unknown_skill", message)
    })
}

/// What it says, for the model to follow in this session.
fn inline(skill: &Skill, words: &str) -> Value {
    json!({"skill": skill.name(), "text": text_of(skill, words)})
}

pub fn text_of(skill: &Skill, words: &str) -> String {
    let template = &skill.template;
    let mut text = template.folder.as_deref().map(beside).unwrap_or_default();
    for piece in template.expand(words) {
        match piece {
            Piece::Text(part) => text.push_str(&part),
            // A call runs nothing beside itself; whoever follows the text does.
            Piece::Shell(command) => text.push_str(&format!("(run `{command}`)")),
        }
    }
    text
}

/// What a sub-agent makes of it.
async fn follow(
    cx: &Context<()>,
    delegation: &Delegation,
    skill: &Skill,
    order: &SkillOrder,
) -> Result<Value, ToolError> {
    let line = format!("{} {}", skill.name(), order.arguments);
    let line = line.trim().to_owned();
    let known = |role: &&String| delegation.child.definitions.roles.find(role).is_some();
    let role = skill.role.as_ref().filter(known);
    let default = if order.read_only { READER } else { WRITER };
    let order = Order {
        role: role.cloned().unwrap_or_else(|| default.to_owned()),
        title: shorten_prompt(&format!("/{line}")),
        first: Op::Command { line },
        read_only: order.read_only,
        worktree: false,
        skill: Some((skill.name().to_owned(), skill.template.model.clone())),
        ..Order::prompt("", String::new(), None)
    };
    send(cx, delegation, order).await
}
