//! `ostler skills` and `ostler agents`: what sessions of this project would find. Running one is `exec`.

use super::table::{self, Column};
use super::text;
use crate::boot::Boot;
use crate::config::crew::settings;
use crate::exec::{FAILED, OK};
use crate::flags::{Agents, Listing, Skills};
use crate::speech::{self, filled, spoken};
use ostler_engine::roles::Roles;
use ostler_engine::skills::{RunAs, Skill, Skills as Found};
use ostler_engine::sources::about;
use ostler_wire::Word;
use serde_json::{Value, json};

pub fn skills(boot: &Boot, args: Skills) -> anyhow::Result<u8> {
    let settings = settings(&boot.loaded, &boot.places);
    let (found, left_out) = Found::load(&settings.skills, &crate::folders::reader(boot));
    match args {
        Skills::List { format } => {
            left_out.iter().for_each(|notice| text::say(notice));
            list(&found, format)?;
        }
        Skills::Show { name } => match found.find(&name) {
            Some(skill) => text::print_foreign(&format!("{}\n", skill.template.body))?,
            None => {
                text::say(&filled(Word::SkillsListed, &[&name]));
                return Ok(FAILED);
            }
        },
    }
    Ok(OK)
}

fn list(found: &Found, format: Listing) -> anyhow::Result<()> {
    let how = |skill: &Skill| match skill.run_as {
        RunAs::Inline => "inline",
        RunAs::Subagent => "subagent",
    };
    let from = |skill: &Skill| match skill.template.from.as_str() {
        "" => spoken(Word::SkillOurs).to_owned(),
        from => from.to_owned(),
    };
    match format {
        Listing::Json => {
            let one = |skill: &Skill| {
                json!({
                    "name": skill.name(),
                    "description": skill.template.description,
                    "run_as": how(skill),
                    "role": skill.role,
                    "model": skill.template.model,
                    "from": from(skill),
                })
            };
            text::print_json(&found.0.iter().map(one).collect::<Vec<Value>>())
        }
        Listing::Text => {
            let row = |skill: &Skill| {
                vec![
                    skill.name().to_owned(),
                    how(skill).to_owned(),
                    text::one_line(&from(skill)),
                    text::one_line(about(&skill.template.description, speech::language())),
                ]
            };
            let rows: Vec<Vec<String>> = found.0.iter().map(row).collect();
            let columns = [
                Column::Left(spoken(Word::ColSkill)),
                Column::Left(spoken(Word::ColRuns)),
                Column::Left(spoken(Word::ColFrom)),
                Column::Flexible(spoken(Word::ColAbout)),
            ];
            text::print(&table::render(&columns, &rows, table::terminal_width()))
        }
    }
}

pub fn agents(boot: &Boot, args: Agents) -> anyhow::Result<u8> {
    let settings = settings(&boot.loaded, &boot.places);
    let reader = crate::folders::reader(boot);
    let (found, left_out) = Roles::load(&settings.role_sources, &settings.roles, &reader);
    left_out.iter().for_each(|notice| text::say(notice));
    let Agents::List { format } = args;
    let files = |read_only: bool| match read_only {
        true => "read-only",
        false => "read-write",
    };
    match format {
        Listing::Json => {
            let roles = found.0.iter().map(|role| {
                json!({
                    "name": role.name,
                    "description": role.description,
                    "model": role.model,
                    "filesystem": files(role.capabilities.read_only),
                    "shell": role.capabilities.shell,
                    "network": role.capabilities.network,
                    "tools": role.capabilities.tools,
                    "enabled": role.enabled,
                    "timeout_secs": role.timeout.as_secs(),
                    "from": role.from,
                })
            });
            text::print_json(&roles.collect::<Vec<Value>>())?;
        }
        Listing::Text => {
            let rows = found.0.iter().map(|role| {
                let model = role
                    .model
                    .clone()
                    .unwrap_or_else(|| spoken(Word::ModelOfSession).into());
                vec![
                    role.name.clone(),
                    match role.enabled {
                        true => files(role.capabilities.read_only).to_owned(),
                        false => spoken(Word::AgentsOff).to_owned(),
                    },
                    text::one_line(&model),
                    text::one_line(about(&role.description, speech::language())),
                ]
            });
            let rows: Vec<Vec<String>> = rows.collect();
            let columns = [
                Column::Left(spoken(Word::ColRole)),
                Column::Left(spoken(Word::ColFiles)),
                Column::Left(spoken(Word::ColModel)),
                Column::Flexible(spoken(Word::ColAbout)),
            ];
            text::print(&table::render(&columns, &rows, table::terminal_width()))?;
        }
    }
    Ok(OK)
}
