//! Commands that people wrote, carried out: pieces run, leave given for a turn, one prompt sent.

use crate::desk::Desk;
use crate::dispatch::own;
use crate::inbox::{Inbox, Prompt};
use crate::log::LogError;
use crate::policy::Rule;
use crate::templates::{Piece, Template};
use ostler_wire::{Body, Notice, Word};
use std::sync::Arc;

/// The template that a line calls, and its arguments.
pub fn of(desk: &Desk, line: &str) -> Option<(Template, String)> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let template = desk.offers.templates.iter().find(|t| t.name == name)?;
    Some((template.clone(), rest.trim().to_owned()))
}

/// What its file allows, for as long as its turn lasts. Rules that cannot be read are told.
pub fn allow(desk: &mut Desk, template: &Template) -> Result<(), LogError> {
    let language = desk.manner.language;
    let wants = !template.allowed_tools.is_empty() || template.model.is_some();
    if wants && !template.trusted {
        let text = language.fill(Word::TemplateUntrusted, &[&template.name]);
        return desk.commit(vec![Body::Notice(Notice { text })]);
    }
    let mut notices = Vec::new();
    let mut rules = Vec::new();
    for text in &template.allowed_tools {
        match Rule::parse(text, &template.from) {
            Ok(rule) => rules.push(rule),
            Err(error) => notices.push(Body::Notice(Notice {
                text: error.say(language),
            })),
        }
    }
    desk.allow(rules);
    match notices.is_empty() {
        true => Ok(()),
        false => desk.commit(notices),
    }
}

/// Takes back what `allow` gave.
pub fn disallow(desk: &mut Desk, template: &Template) {
    let from = &template.from;
    if desk.policy.rules.allow.iter().any(|r| r.from == *from) {
        let rules = &mut Arc::make_mut(&mut desk.policy).rules.allow;
        rules.retain(|rule| rule.from != *from);
    }
}

/// The prompt that it stands for. The inner error says why there is none.
pub async fn expand(
    desk: &mut Desk,
    inbox: &mut Inbox,
    template: &Template,
    arguments: &str,
) -> Result<Result<Prompt, String>, LogError> {
    let cancel = inbox.turn();
    let (mut text, mut own_words) = (String::new(), String::new());
    for piece in template.expand(arguments) {
        match piece {
            Piece::Text(part) => {
                text.push_str(&part);
                own_words.push_str(&part);
            }
            Piece::Shell(command) => {
                match own::piece(desk, inbox, &command, &cancel).await? {
                    Ok(output) => text.push_str(&output),
                    Err(why) => return Ok(Err(why)),
                }
                own_words.push(' ');
            }
        }
    }
    Ok(Ok(Prompt {
        text,
        own_words: Some(own_words),
        typed: Some(
            format!("/{} {arguments}", template.name)
                .trim_end()
                .to_owned(),
        ),
        ..Prompt::default()
    }))
}
