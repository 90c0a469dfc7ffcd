//! Commands that people wrote, carried out: pieces run, leave given for a turn, one prompt sent.

use crate::dispatch::own;
use crate::log::LogError;
use crate::tool::Typed as _;
use crate::tools::Tools;
use crate::tools::read_only_skill::ReadOnlySkill;
use crate::tools::skill::Skill as SkillTool;
use ostler_guard::Mode;
use ostler_sources::definitions::Definitions;
use ostler_sources::roles::Roles;
use ostler_sources::skills::{RunAs, Skill, asked_for, beside};
use ostler_sources::templates::{Piece, Template};
use ostler_state::inbox::{Inbox, Prompt};
use ostler_state::permissions::PermissionState;
use ostler_state::{Extensions, SessionState};

/// The template that a line calls, and its arguments.
pub fn of(definitions: &Definitions, line: &str) -> Option<(Template, String)> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let template = definitions.templates.iter().find(|t| t.name == name)?;
    Some((template.clone(), rest.trim().to_owned()))
}

/// The skill that a line calls, and its arguments.
pub fn skill(definitions: &Definitions, line: &str) -> Option<(Skill, String)> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let skill = definitions.skills.find(name)?;
    Some((skill.clone(), rest.trim().to_owned()))
}

/// The same in the session that was started for that skill: there it is followed, whatever else has its name.
pub fn assigned_skill(extensions: &Extensions, line: &str) -> Option<(Skill, String)> {
    let own = extensions.agents.skill.as_deref()?;
    skill(&extensions.definitions, line).filter(|(skill, _)| skill.name() == own)
}

/// What the model is told when the person calls a skill that is for a session of its own.
pub fn forward(
    skill: &Skill,
    words: &str,
    (roles, tools): (&Roles, &Tools),
    permissions: &PermissionState,
) -> Option<Prompt> {
    let role = skill.role.as_deref();
    let role = role.and_then(|role| roles.find(role));
    let reads = permissions.mode == Mode::Plan
        || permissions.read_only
        || role.is_some_and(|role| role.capabilities.read_only);
    let tool = match reads {
        true => ReadOnlySkill::NAME,
        false => SkillTool::NAME,
    };
    if skill.run_as == RunAs::Inline || tools.find(tool).is_none() {
        return None;
    }
    Some(Prompt {
        text: asked_for(tool, skill.name(), words),
        own_words: Some(words.to_owned()),
        typed: Some(format!("/{} {words}", skill.name()).trim_end().to_owned()),
        ..Prompt::default()
    })
}

/// The prompt that it stands for. The inner error says why there is none.
pub async fn expand(
    state: &mut SessionState,
    inbox: &mut Inbox,
    template: &Template,
    arguments: &str,
) -> Result<Result<Prompt, String>, LogError> {
    let cancel = inbox.turn();
    let folder = template.folder.as_deref();
    let mut text = folder.map(beside).unwrap_or_default();
    let mut words = String::new();
    for piece in template.expand(arguments) {
        match piece {
            Piece::Text(part) => {
                text.push_str(&part);
                words.push_str(&part);
            }
            Piece::Shell(command) => {
                match own::piece(state, inbox, &command, &cancel).await? {
                    Ok(output) => text.push_str(&output),
                    Err(why) => return Ok(Err(why)),
                }
                words.push(' ');
            }
        }
    }
    // Of a command of the project only the arguments are the person's own.
    let (own_words, project_words) = match template.of_project {
        true => (arguments.to_owned(), Some(words)),
        false => (words, None),
    };
    Ok(Ok(Prompt {
        text,
        own_words: Some(own_words),
        project_words,
        typed: Some(
            format!("/{} {arguments}", template.name)
                .trim_end()
                .to_owned(),
        ),
        ..Prompt::default()
    }))
}
