//! `ostler setup`: finds a provider, tests it, lets the person choose a model, and writes that down.

use super::choose::{self, Person, Picked};
use super::config as config_command;
use super::plan::{self, Plan};
use super::probe::{Answer, Probe};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::{FAILED, OK};
use crate::flags::Setup;
use crate::output;
use anyhow::bail;
use ostler_config::edit::{self, EditableFile};
use ostler_config::keys;
use ostler_config::text::Speak as _;
use ostler_config::tree::{Layer, push_key};
use ostler_llm::Secret;
use ostler_wire::{Language, Word};
use std::path::Path;

pub async fn run(boot: &Boot, args: Setup) -> anyhow::Result<u8> {
    let language = boot.language;
    let person = Person::look();
    let probe = Probe::new(boot)?;
    let Some(mut plan) = plan::make(boot, &args, person).await? else {
        return left(language);
    };
    let Some(()) = find_key(&mut plan, &args, person, language)? else {
        return left(language);
    };
    let listed = if args.offline {
        None
    } else {
        Some(test(&probe, &plan, language).await?)
    };
    let listed = listed.unwrap_or_default();
    let Some(model) = choose_model(boot, &plan, &listed, person)? else {
        return left(language);
    };
    write(boot, plan, &model)?;
    Ok(OK)
}

fn left(language: Language) -> anyhow::Result<u8> {
    output::say(language.say(Word::NothingWritten));
    Ok(FAILED)
}

/// The key to test with: the given one, the one that is there already, or one that the person types.
fn find_key(
    plan: &mut Plan,
    args: &Setup,
    person: Person,
    language: Language,
) -> anyhow::Result<Option<()>> {
    let provider = &plan.endpoint.provider;
    let given = match args.key.as_deref() {
        Some("-") => Some(choose::read_line()?.unwrap_or_default()),
        Some(key) => Some(key.trim().to_owned()),
        None => None,
    };
    let key = match (given, &plan.endpoint.key, &plan.key_name, person) {
        (Some(key), _, _, _) if key.is_empty() => {
            return Err(UsageError(language.say(Word::SetEmptyKey).into()).into());
        }
        (Some(key), _, _, _) => key,
        (None, Some(_), _, _) | (None, None, None, _) => return Ok(Some(())),
        (None, None, Some(name), Person::Away) => {
            bail!(language.filled(Word::SetNoKey, &[&provider, &name, &provider]))
        }
        (None, None, Some(_), Person::Here) => {
            match choose::ask(&language.filled(Word::SetAskKey, &[&provider]))? {
                Some(key) if !key.is_empty() => key,
                Some(_) | None => return Ok(None),
            }
        }
    };
    plan.endpoint.key = Some(Secret::new(key));
    plan.key_source = None;
    if plan.key_name.is_none() {
        let name = variable(provider);
        plan.fields.push(("api_key_env", name.clone()));
        plan.key_name = Some(name);
    }
    Ok(Some(()))
}

/// A variable named after a provider.
fn variable(provider: &str) -> String {
    let word: String = provider
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    let digit = word.starts_with(|c: char| c.is_ascii_digit());
    format!("{}{word}_API_KEY", if digit { "_" } else { "" })
}

/// The models that the provider lists; none when it has no list.
async fn test(probe: &Probe, plan: &Plan, language: Language) -> anyhow::Result<Vec<String>> {
    let name = &plan.endpoint.provider;
    match probe.models(&plan.endpoint).await {
        Ok(Answer::Models(models)) => {
            output::say(&language.filled(
                Word::SetAnswers,
                &[&name, &language.counted(models.len(), Word::ManyModels)],
            ));
            Ok(models)
        }
        Ok(Answer::NoList) => {
            output::say(&language.filled(Word::SetNoModels, &[&name]));
            Ok(Vec::new())
        }
        Ok(Answer::NoServer) => Ok(Vec::new()),
        Err(message) => bail!(language.filled(Word::SetFailed, &[&message])),
    }
}

fn choose_model(
    boot: &Boot,
    plan: &Plan,
    listed: &[String],
    person: Person,
) -> anyhow::Result<Option<String>> {
    let language = boot.language;
    let provider = &plan.endpoint.provider;
    if let Some(wanted) = wanted_model(boot, provider) {
        if !listed.is_empty() && !listed.contains(&wanted) {
            output::say(&language.filled(Word::SetUnlisted, &[&provider, &wanted]));
        }
        return Ok(Some(wanted));
    }
    // Known models first: those are chosen for this work, and a list may have hundreds.
    let known = plan
        .models
        .iter()
        .filter(|m| listed.is_empty() || listed.contains(m));
    let mut options: Vec<String> = known.cloned().collect();
    options.extend(listed.iter().filter(|m| !plan.models.contains(m)).cloned());
    match (options.as_slice(), person) {
        ([], _) => Err(UsageError(language.filled(Word::SetWhich, &[&provider])).into()),
        ([only], _) => Ok(Some(only.clone())),
        ([first, ..], Person::Away) => Ok(Some(first.clone())),
        (_, Person::Here) => Ok(
            match choose::pick(language.say(Word::SetWhichModel), &options, 0, language)? {
                Picked::Option(i) => options.get(i).cloned(),
                Picked::Other(name) => Some(name),
                Picked::Left => None,
            },
        ),
    }
}

/// The model of `--model`, without its provider.
fn wanted_model(boot: &Boot, provider: &str) -> Option<String> {
    let wanted = boot.global.model.as_deref()?;
    if wanted == provider {
        return None;
    }
    let rest = wanted
        .strip_prefix(provider)
        .and_then(|rest| rest.strip_prefix('/'));
    Some(rest.unwrap_or(wanted).to_owned())
}

fn write(boot: &Boot, mut plan: Plan, model: &str) -> anyhow::Result<()> {
    let language = boot.language;
    let provider = plan.endpoint.provider.clone();
    let mut lines = Vec::new();
    if let (Some(key), Some(name), None) = (&plan.endpoint.key, &plan.key_name, &plan.key_source) {
        let path = keys::save_key(&boot.places.home, name, key)?;
        lines.push(language.filled(Word::SetSavedKey, &[&name, &path.display()]));
    }
    let file = config_command::user_file(boot);
    if !file.exists() {
        edit::init(&file, &boot.places).map_err(|e| config_command::failed(boot, &e))?;
    }
    let reference = format!("{provider}/{model}");
    if plan.models.is_empty() && !plan.fields.is_empty() {
        plan.fields.push(("models", format!("[{}]", quoted(model))));
    }
    for (field, value) in &plan.fields {
        let mut key = String::new();
        ["providers", &provider, field]
            .iter()
            .for_each(|part| push_key(&mut key, part));
        let value = if *field == "models" {
            value.clone()
        } else {
            quoted(value)
        };
        lines.push(set(boot, &file, &key, &value)?);
    }
    lines.push(set(boot, &file, "default_model", &quoted(&reference))?);
    lines.push(language.say(Word::SetNext).into());
    output::print_foreign(&(lines.join("\n") + "\n"))?;
    say_if_overridden(boot, &reference);
    Ok(())
}

fn set(boot: &Boot, file: &Path, key: &str, value: &str) -> anyhow::Result<String> {
    let language = boot.language;
    let file = EditableFile {
        path: file,
        layer: Layer::User,
        places: &boot.places,
        tools: &config_command::tools(),
    };
    let changed = file.set(key, value);
    let changed = changed.map_err(|e| config_command::failed(boot, &e))?;
    Ok(language.filled(
        Word::SetWrote,
        &[&changed.key, &changed.after, &changed.path.display()],
    ))
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// What was written does not count while something above it says otherwise.
fn say_if_overridden(boot: &Boot, reference: &str) {
    let language = boot.language;
    let Ok(again) = boot.anew() else {
        return;
    };
    let now = again.loaded.config.default_model.as_deref();
    if now != Some(reference)
        && let Some(place) = again.loaded.place(&["default_model"])
    {
        output::say(&language.filled(Word::SetOverruled, &[&place, &now.unwrap_or_default()]));
    }
}
