//! `skills`: what the model can be told about certain work.

use super::context::{column, report};
use ostler_sources::about;
use ostler_sources::skills::{RunAs, Skill, Skills};
use ostler_wire::{Act, Action, Cell, Column, ColumnKind, Deed, Language, Row, Table, View, Word};

/// The skills, with what was left out on the way to them.
pub fn skills(all: &Skills, left_out: Vec<String>, language: Language) -> View {
    let row = |skill: &Skill| {
        let (how, shown) = match skill.run_as {
            RunAs::Inline => ("inline", Word::SkillInline),
            RunAs::Subagent => ("subagent", Word::SkillApart),
        };
        let description = skill.template.description.as_str();
        let from = match skill.template.from.as_str() {
            "" => Cell::named(
                language.say(Word::SkillOurs),
                Language::English.say(Word::SkillOurs),
            ),
            from => Cell::text(from),
        };
        Row {
            actions: actions(skill.name(), language),
            ..Row::new(vec![
                Cell::text(skill.name()),
                Cell::named(language.say(shown), how),
                from,
                Cell::named(about(description, language), description),
                Cell::data(&skill.role),
                Cell::data(&skill.template.model),
            ])
        }
    };
    let column = |kind, key, word| column(language, kind, key, word);
    let columns = vec![
        column(ColumnKind::Text, "name", Word::ColSkill),
        column(ColumnKind::Text, "run_as", Word::ColRuns),
        column(ColumnKind::Text, "from", Word::ColFrom),
        column(ColumnKind::Prose, "description", Word::ColAbout),
        Column::data("role"),
        Column::data("model"),
    ];
    View::Table(Table {
        title: language.say(Word::SkillsTitle).into(),
        empty: language.say(Word::SkillsNone).into(),
        remarks: left_out,
        ..Table::new(columns, all.0.iter().map(row).collect())
    })
}

fn actions(name: &str, language: Language) -> Vec<Action> {
    let action = |word: Word, act: Act| Action {
        label: language.say(word).into(),
        act,
    };
    vec![
        action(Word::SkillUse, Act::Do(Deed::Compose(format!("/{name} ")))),
        action(Word::SkillShow, Act::Command(format!("skills {name}"))),
    ]
}

/// The text of one.
pub fn skill(all: &Skills, name: &str, language: Language) -> View {
    match all.find(name) {
        Some(skill) => report(skill.template.body.as_str(), &skill.template.body),
        None => View::Error(language.fill(Word::NoSkill, &[name])),
    }
}

/// `/skills`.
pub(super) fn slash(all: &Skills, name: &str, language: Language) -> View {
    match name {
        "" => skills(all, Vec::new(), language),
        name => skill(all, name, language),
    }
}
