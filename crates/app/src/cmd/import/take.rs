//! Takes one thing over: into the configuration, the list of servers or a file of the home. What is there stays.

use super::own;
use super::plan::{Row, file_of, memory_mark};
use crate::boot::Boot;
use crate::cmd::config;
use crate::output;
use crate::trust::rules::is_same;
use anyhow::Context as _;
use ostler_config::edit::EditableFile;
use ostler_config::files;
use ostler_config::layers::RuleList;
use ostler_config::plugins::PluginConfig;
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_import::{Agent, Item, List, Taken};
use ostler_wire::Word;
use serde_json::{Map, Value};
use std::path::Path;

/// One thing that cannot be taken is told and keeps no other from being taken.
pub fn take(boot: &Boot, agent: &Agent, row: &Row) -> anyhow::Result<()> {
    let language = boot.language;
    let name = output::one_line(&row.item.name);
    match apply(boot, agent, &row.item) {
        Ok(place) => {
            let values: [&dyn ostler_config::text::Fill; 3] =
                [&row.item.kind.name(), &name, &place];
            output::print_foreign(&language.filled(Word::ImportTook, &values))?;
            for remark in &row.item.remarks {
                output::say(&format!("{name}: {}", remark.say(language)));
            }
        }
        Err(error) => {
            let values: [&dyn ostler_config::text::Fill; 3] =
                [&row.item.kind.name(), &name, &format!("{error:#}")];
            output::say(&language.filled(Word::ImportNotTaken, &values));
        }
    }
    Ok(())
}

/// Where it is now.
fn apply(boot: &Boot, agent: &Agent, item: &Item) -> anyhow::Result<String> {
    let home = &boot.places.home;
    let shown = |path: &Path| boot.places.shown(path);
    match &item.taken {
        Taken::Model(model) => {
            let now = boot.anew()?;
            let resolved = now.resolver().resolve(model);
            resolved.map_err(|error| {
                let why = error.to_string();
                anyhow::anyhow!(why.lines().next().unwrap_or_default().to_owned())
            })?;
            set(boot, "default_model", &Value::from(model.as_str()))
        }
        Taken::Provider(entry) => provider(boot, &item.name, entry),
        Taken::Rule { list, rule } => {
            let list = match list {
                List::Allow => RuleList::Allow,
                List::Ask => RuleList::Ask,
                List::Deny => RuleList::Deny,
            };
            edit(boot, |file| {
                file.add_to(list, std::slice::from_ref(rule), is_same)
                    .map(drop)
            })
        }
        Taken::Server(entry) => {
            serde_json::from_value::<PluginConfig>(entry.clone())?;
            own::add(boot, &item.name, entry)
        }
        Taken::Hook {
            event,
            matcher,
            command,
            timeout,
        } => {
            let mut fields: Vec<(&str, toml_edit::Value)> = vec![("event", event.as_str().into())];
            if !matcher.is_empty() {
                fields.push(("match", matcher.as_str().into()));
            }
            fields.push(("command", command.as_str().into()));
            if let Some(seconds) = timeout.and_then(|seconds| i64::try_from(seconds).ok()) {
                fields.push(("timeout", seconds.into()));
            }
            edit(boot, |file| file.append("hooks", &fields))
        }
        Taken::Text(text) => match file_of(home, item) {
            Some(path) => {
                files::create(&path, text.as_bytes())?;
                Ok(shown(&path))
            }
            None => memory(boot, agent, item, text),
        },
        Taken::Files(all) => {
            let main = file_of(home, item).context(boot.language.say(Word::ImportBadName))?;
            let folder = main.parent().unwrap_or(home);
            for (inner, bytes) in all {
                files::create(&folder.join(inner), bytes)?;
            }
            Ok(shown(folder))
        }
        // These are no new ones.
        Taken::InPlace | Taken::Left(_) => Ok(String::new()),
    }
}

/// Behind the instructions that are there, below a line that says whose they were.
fn memory(boot: &Boot, agent: &Agent, item: &Item, text: &str) -> anyhow::Result<String> {
    let path = boot.places.home.join("AGENTS.md");
    let mut whole = ostler_config::read::read_text(&path, &boot.places.shown(&path))
        .map_err(|report| anyhow::anyhow!(report.title.say(boot.language)))?
        .unwrap_or_default();
    if !whole.is_empty() {
        whole.truncate(whole.trim_end().len());
        whole.push_str("\n\n");
    }
    whole.push_str(&format!("{}\n{}\n", memory_mark(agent, item), text.trim()));
    files::write(&path, whole.as_bytes(), files::Access::Private)?;
    Ok(boot.places.shown(&path))
}

/// All of it at once, so that half an endpoint is never there.
fn provider(boot: &Boot, name: &str, entry: &Map<String, Value>) -> anyhow::Result<String> {
    let mut fields: Vec<(&str, toml_edit::Value)> = vec![("name", name.into())];
    for (field, value) in entry.iter().filter(|(field, _)| *field != "name") {
        let text = toml::Value::try_from(value)?.to_string();
        fields.push((field, text.parse()?));
    }
    edit(boot, |file| file.append("providers", &fields))
}

fn set(boot: &Boot, key: &str, value: &Value) -> anyhow::Result<String> {
    let value = toml::Value::try_from(value)?.to_string();
    edit(boot, |file| file.set(key, &value).map(drop))
}

fn edit(
    boot: &Boot,
    change: impl FnOnce(EditableFile<'_>) -> Result<(), ostler_config::diagnose::ConfigError>,
) -> anyhow::Result<String> {
    let path = config::user_file(boot);
    let file = EditableFile {
        path: &path,
        layer: Layer::User,
        places: &boot.places,
        tools: &config::tools(),
    };
    change(file).map_err(|error| config::failed(boot, &error))?;
    Ok(boot.places.shown(&path))
}
