//! `agents`: the roles that sub-agents can play, and in a session those at work.

use super::context::column;
use ostler_guard::time_shown;
use ostler_sources::about;
use ostler_sources::roles::{Role, Roles};
use ostler_state::agents::children::{Children, Ended, How, describe_doing};
use ostler_wire::{Cell, Column, ColumnKind, Language, Row, Table, View, Word};
use std::time::Duration;

/// The roles, with what was left out on the way to them.
pub fn agents(roles: &Roles, left_out: Vec<String>, language: Language) -> View {
    let row = |role: &Role| {
        let files = match role.capabilities.read_only {
            true => "read-only",
            false => "read-write",
        };
        let shown = match role.enabled {
            true => files,
            false => language.say(Word::AgentsOff),
        };
        let model = role.model.as_deref();
        Row::new(vec![
            Cell::text(role.name.as_str()),
            Cell::named(shown, files),
            Cell::named(
                model.unwrap_or(language.say(Word::ModelOfSession)),
                role.model.clone(),
            ),
            Cell::text(role.from.as_str()),
            Cell::named(
                about(&role.description, language),
                role.description.as_str(),
            ),
            Cell::data(&role.capabilities.shell),
            Cell::data(&role.capabilities.network),
            Cell::data(&role.capabilities.tools),
            Cell::data(&role.enabled),
            Cell::data(&role.time_limit().as_secs()),
        ])
    };
    let column = |kind, key, word| column(language, kind, key, word);
    let columns = vec![
        column(ColumnKind::Text, "name", Word::ColRole),
        column(ColumnKind::Text, "filesystem", Word::ColFiles),
        column(ColumnKind::Text, "model", Word::ColModel),
        column(ColumnKind::Text, "from", Word::ColFrom),
        column(ColumnKind::Prose, "description", Word::ColAbout),
        Column::data("shell"),
        Column::data("network"),
        Column::data("tools"),
        Column::data("enabled"),
        Column::data("timeout_secs"),
    ];
    View::Table(Table {
        title: language.say(Word::AgentsRoles).into(),
        remarks: left_out,
        ..Table::new(columns, roles.0.iter().map(row).collect())
    })
}

/// `/agents`: the roles, and the sub-agents of this session.
pub(super) fn slash(roles: &Roles, children: &Children, language: Language) -> View {
    let mut views = vec![agents(roles, Vec::new(), language)];
    let mut out = String::new();
    let running = children.list();
    if !running.is_empty() {
        out.push_str(&format!("**{}**\n\n", language.say(Word::AgentsRun)));
        for task in running {
            let time = time_shown(Duration::from_secs(task.seconds));
            let state = describe_doing(&task.doing, language);
            out.push_str(&format!(
                "- {} {} · {state} · {time}\n",
                task.id, task.prompt
            ));
        }
    }
    if !children.past.is_empty() {
        out.push_str(&format!("\n**{}**\n\n", language.say(Word::AgentsRan)));
        let past = children.past.iter();
        past.for_each(|ended| out.push_str(&line(ended, language)));
    }
    if !out.is_empty() {
        views.push(View::Text(out));
    }
    View::Group(views)
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
