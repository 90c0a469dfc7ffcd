//! Commands that people wrote, carried out: pieces run, leave given for a turn, one prompt sent.

use crate::dispatch::own;
use crate::inbox::{Inbox, Prompt};
use crate::log::LogError;
use crate::sources::skills::{RunAs, Skill, asked_for, beside};
use crate::sources::templates::{Piece, Template};
use crate::state::SessionState;
use crate::tool::Typed as _;
use crate::tools::read_only_skill::ReadOnlySkill;
use crate::tools::skill::Skill as SkillTool;
use ostler_guard::{Mode, Rule};
use ostler_wire::{Body, Notice, Say, Word};
use std::sync::Arc;

/// The template that a line calls, and its arguments.
pub fn of(state: &SessionState, line: &str) -> Option<(Template, String)> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let template = state
        .offers
        .offer
        .templates
        .iter()
        .find(|t| t.name == name)?;
    Some((template.clone(), rest.trim().to_owned()))
}

/// The skill that a line calls, and its arguments.
pub fn skill(state: &SessionState, line: &str) -> Option<(Skill, String)> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let skill = state.offers.offer.skills.find(name)?;
    Some((skill.clone(), rest.trim().to_owned()))
}

/// The same in the session that was started for that skill: there it is followed, whatever else has its name.
pub fn assigned_role(state: &SessionState, line: &str) -> Option<(Skill, String)> {
    let own = state.offers.agents.skill.as_deref()?;
    skill(state, line).filter(|(skill, _)| skill.name() == own)
}

/// What the model is told when the person calls a skill that is for a session of its own.
pub fn forward(state: &SessionState, skill: &Skill, words: &str) -> Option<Prompt> {
    let role = skill.role.as_deref();
    let role = role.and_then(|role| state.offers.offer.roles.find(role));
    let reads = state.permissions.mode == Mode::Plan
        || state.permissions.read_only
        || role.is_some_and(|role| role.capabilities.read_only);
    let tool = match reads {
        true => ReadOnlySkill::NAME,
        false => SkillTool::NAME,
    };
    if skill.run_as == RunAs::Inline || state.tools.find(tool).is_none() {
        return None;
    }
    Some(Prompt {
        text: asked_for(tool, skill.name(), words),
        own_words: Some(words.to_owned()),
        typed: Some(format!("/{} {words}", skill.name()).trim_end().to_owned()),
        ..Prompt::default()
    })
}

/// What its file allows, for as long as its turn lasts. Rules that cannot be read are told.
pub fn allow(state: &mut SessionState, template: &Template) -> Result<(), LogError> {
    let language = state.settings.language;
    let wants = !template.allowed_tools.is_empty() || template.model.is_some();
    if wants && !template.trusted {
        let text = language.fill(Word::TemplateUntrusted, &[&template.name]);
        return state.commit(vec![Body::Notice(Notice { text })]);
    }
    let mut notices = Vec::new();
    let mut rules = Vec::new();
    for text in &template.allowed_tools {
        match Rule::parse(text, &source(template)) {
            Ok(rule) => rules.push(rule),
            Err(error) => notices.push(Body::Notice(Notice {
                text: error.say(language),
            })),
        }
    }
    state.allow(rules);
    match notices.is_empty() {
        true => Ok(()),
        false => state.commit(notices),
    }
}

/// Takes back what `allow` gave.
pub fn disallow(state: &mut SessionState, template: &Template) {
    let from = &source(template);
    if state.policy.rules.allow.iter().any(|r| r.from == *from) {
        let rules = &mut Arc::make_mut(&mut state.policy).rules.allow;
        rules.retain(|rule| rule.from != *from);
    }
}

/// Where its rules come from: its file, or its name where it is one of ours.
fn source(template: &Template) -> String {
    match template.from.as_str() {
        "" => format!("/{}", template.name),
        file => file.to_owned(),
    }
}

/// The same for a skill whose text a call of the model has brought in: until the turn ends, and the person reads which.
pub fn lend(state: &mut SessionState, skill: &Skill) -> Result<(), LogError> {
    let template = &skill.template;
    let lent = &state.permissions.lent;
    let has = lent.iter().any(|known| known.name == template.name);
    if template.allowed_tools.is_empty() || !template.trusted || has {
        return Ok(());
    }
    let language = state.settings.language;
    let rules = template.allowed_tools.join(", ");
    let text = language.fill(Word::SkillLends, &[&template.name, &rules]);
    state.commit(vec![Body::Notice(Notice { text })])?;
    allow(state, template)?;
    state.permissions.lent.push(template.clone());
    Ok(())
}

/// Takes back what calls of this turn have brought.
pub fn take_back(state: &mut SessionState) {
    for template in std::mem::take(&mut state.permissions.lent) {
        disallow(state, &template);
    }
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
