//! `/agents` and `/skills`: who can work for a session, who does, and what they can be told.

use crate::children::{Ended, How};
use crate::commands::tasks::doing;
use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::skills::{RunAs, Skill};
use crate::sources::about;
use ostler_guard::time_shown;
use ostler_wire::{Act, Action, Deed, Item, Language, List, View, Word};
use std::time::Duration;

/// Markdown, because there are several things to tell of.
pub fn agents(desk: &mut Desk, inbox: &mut Inbox, _: &str) -> View {
    let language = desk.manner.language;
    let mut out = format!("**{}**\n\n", language.say(Word::AgentsRoles));
    for role in &desk.offers.offer.roles.0 {
        let mut marks = Vec::new();
        if role.capabilities.read_only {
            marks.push(language.say(Word::AgentsReads).to_owned());
        }
        if !role.enabled {
            marks.push(language.say(Word::AgentsOff).to_owned());
        }
        marks.extend(role.model.clone());
        marks.extend(Some(role.from.clone()).filter(|from| !from.is_empty()));
        let marks = match marks.is_empty() {
            true => String::new(),
            false => format!(" ({})", marks.join(", ")),
        };
        out.push_str(&format!(
            "- `{}`{marks} {}\n",
            role.name,
            about(&role.description, language)
        ));
    }
    let running = inbox.children.list();
    if !running.is_empty() {
        out.push_str(&format!("\n**{}**\n\n", language.say(Word::AgentsRun)));
        for task in running {
            let time = time_shown(Duration::from_secs(task.seconds));
            let state = doing(&task.doing, language);
            out.push_str(&format!(
                "- {} {} · {state} · {time}\n",
                task.id, task.prompt
            ));
        }
    }
    if !inbox.children.past.is_empty() {
        out.push_str(&format!("\n**{}**\n\n", language.say(Word::AgentsRan)));
        let past = inbox.children.past.iter();
        past.for_each(|ended| out.push_str(&line(ended, language)));
    }
    View::Text(out)
}

fn line(ended: &Ended, language: Language) -> String {
    let how = match ended.how {
        How::Done => Word::EndedDone,
        How::Failed => Word::EndedFailed,
        How::Stopped => Word::EndedStopped,
        How::OutOfTime => Word::EndedOutOfTime,
    };
    let short = ended.session.get(..8).unwrap_or(&ended.session);
    let tokens = language.fill(Word::TokenCount, &[&ended.spent.tokens().to_string()]);
    format!(
        "- {} {} {} · {} · {} · {tokens} · ostler resume {short}\n",
        ended.id,
        ended.role,
        ended.prompt,
        language.say(how),
        time_shown(ended.took),
    )
}

pub fn skills(desk: &mut Desk, _: &mut Inbox, words: &str) -> View {
    let language = desk.manner.language;
    let all = &desk.offers.offer.skills;
    if !words.is_empty() {
        return match all.find(words) {
            Some(skill) => View::Text(skill.template.body.clone()),
            None => View::Error(language.fill(Word::NoSkill, &[words])),
        };
    }
    let item = |skill: &Skill| {
        let how = match skill.run_as {
            RunAs::Inline => Word::SkillInline,
            RunAs::Subagent => Word::SkillApart,
        };
        let from = Some(skill.template.from.as_str()).filter(|from| !from.is_empty());
        let from = from.unwrap_or(language.say(Word::SkillOurs));
        let action = |word: Word, act: Act| Action {
            label: language.say(word).into(),
            act,
        };
        let name = skill.name();
        Item {
            label: name.to_owned(),
            detail: [
                about(&skill.template.description, language),
                language.say(how),
                from,
            ]
            .join(" · "),
            marked: false,
            actions: vec![
                action(Word::SkillUse, Act::Do(Deed::Compose(format!("/{name} ")))),
                action(Word::SkillShow, Act::Command(format!("skills {name}"))),
            ],
        }
    };
    View::List(List {
        title: language.say(Word::SkillsTitle).into(),
        items: all.0.iter().map(item).collect(),
        empty: language.say(Word::SkillsNone).into(),
        ..List::default()
    })
}
