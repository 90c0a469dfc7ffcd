//! `ostler setup`: finds a provider, tests it, lets the person choose a model, and writes that down.

mod desk;
mod local;
mod plan;
mod questions;

pub use questions::SetupQuestions;

use crate::boot::Boot;
use crate::cmd::choose::{self, Picked};
use crate::cmd::config as config_command;
use crate::cmd::import;
use crate::cmd::probe::{Answer, Probe};
use crate::errors::{Told as _, UsageError};
use crate::exit::{FAILED, OK, TERMINATED};
use crate::flags::Setup;
use crate::{models, output};
use anyhow::bail;
use desk::{Desk, Row, at_desk};
use ostler_config::edit::{self, EditableFile};
use ostler_config::keys;
use ostler_config::resolve::ResolveError;
use ostler_config::text::Speak as _;
use ostler_config::tree::{Layer, push_key};
use ostler_llm::Secret;
use ostler_tui::dialog::{Question, Typing};
use ostler_wire::{Language, Word};
use plan::Plan;
use questions::Line;
use std::path::Path;
use std::sync::Arc;

/// Setup with a front end that puts its questions.
async fn with_client(boot: &Boot, line: Line) -> anyhow::Result<()> {
    let work = async |desk: &mut Desk| set_up(boot, &Setup::default(), desk).await;
    at_desk(boot, Desk::Client(line), work).await.map(drop)
}

/// Models of a server that are written down.
const MAX_LISTED: usize = 100;

/// What follows setup.
pub enum Outcome {
    /// With this exit code.
    Over(u8),
    /// A conversation, with the configuration as it is now.
    Converse,
}

/// As every question before the first conversation: by arrows where the terminal can, else by a letter.
pub async fn wants_to_import(boot: &Boot, names: &str) -> anyhow::Result<bool> {
    let language = boot.language;
    let desk = Desk::look(boot)?;
    if !desk.shows_lists() {
        let question = language.filled(Word::ImportOffer, &[&names]);
        return Ok(import::is_yes(choose::ask(&question)?.as_deref()));
    }
    let question = language.filled(Word::ImportFound, &[&names]);
    let say = |word: Word| language.say(word);
    let rows = [
        Row::new(say(Word::ImportShow), say(Word::ImportShowMore)),
        Row::new(say(Word::ImportNotNow), say(Word::ImportLater)),
    ];
    let ask = async |desk: &mut Desk| desk.pick(&question, &rows, language).await;
    let picked = at_desk(boot, desk, ask).await?;
    Ok(matches!(picked, Some(Picked::Option(0))))
}

pub async fn run(boot: &Boot, args: Setup) -> anyhow::Result<Outcome> {
    let desk = Desk::look(boot)?;
    // Who was led through it goes on to the conversation; a script does not.
    let is_led = desk.shows_lists() && args.provider.is_none() && args.base_url.is_none();
    let work = async |desk: &mut Desk| {
        let written = set_up(boot, &args, desk).await?;
        Ok(match written {
            Written::Yes if is_led => begins(desk, boot.language).await?,
            Written::Yes => After::Over,
            Written::No => After::Left,
        })
    };
    Ok(match at_desk(boot, desk, work).await? {
        None => Outcome::Over(TERMINATED),
        Some(After::Left) => {
            output::say(boot.language.say(Word::NothingWritten));
            Outcome::Over(FAILED)
        }
        Some(After::Over) => Outcome::Over(OK),
        Some(After::Begins) => Outcome::Converse,
    })
}

/// Whether nobody has said yet which model to use, so that a conversation cannot begin.
pub fn is_needed(boot: &Boot) -> bool {
    let global = &boot.global;
    let is_elsewhere = global.attach.url.is_some() || global.backend.is_some();
    let wants_none = boot.wanted_model().is_none() && !is_elsewhere;
    wants_none && matches!(boot.resolver().default(), Err(ResolveError::NoModel { .. }))
}

/// Setup on the way into a conversation: the configuration afterwards, or none where the person left.
pub async fn first(boot: &Arc<Boot>) -> anyhow::Result<Option<Arc<Boot>>> {
    let desk = Desk::look(boot)?;
    let work = async |desk: &mut Desk| {
        desk.say(boot.language.say(Word::SetFirst))?;
        set_up(boot, &Setup::default(), desk).await
    };
    match at_desk(boot, desk, work).await? {
        Some(Written::Yes) => Ok(Some(Arc::new(boot.anew()?))),
        Some(Written::No) | None => Ok(None),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Yes,
    /// The person left.
    No,
}

/// What the person did at the desk.
enum After {
    Left,
    Over,
    Begins,
}

async fn begins(desk: &mut Desk, language: Language) -> anyhow::Result<After> {
    let rows = [Word::SetBegin, Word::SetDone].map(|word| Row::new(language.say(word), ""));
    let question = language.say(Word::SetWhatNow);
    Ok(match desk.pick(question, &rows, language).await? {
        Picked::Option(0) => After::Begins,
        Picked::Option(_) | Picked::Other(_) | Picked::Left => After::Over,
    })
}

/// One way through it; whoever goes back a step on a screen is at the list of providers again.
async fn set_up(boot: &Boot, args: &Setup, desk: &mut Desk) -> anyhow::Result<Written> {
    let probe = Probe::new(boot)?;
    loop {
        let plan = match plan::make(boot, args, desk).await {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(Written::No),
            // Somebody who chose what cannot be used chooses again.
            Err(error) if desk.shows_lists() && args.provider.is_none() => {
                desk.complain(&boot.language.told(&error))?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_named = args.provider.is_some() || args.base_url.is_some();
        match of_plan(boot, args, desk, &probe, plan).await? {
            Written::Yes => return Ok(Written::Yes),
            Written::No if desk.shows_lists() && !is_named => {}
            Written::No => return Ok(Written::No),
        }
    }
}

async fn of_plan(
    boot: &Boot,
    args: &Setup,
    desk: &mut Desk,
    probe: &Probe,
    mut plan: Plan,
) -> anyhow::Result<Written> {
    let language = boot.language;
    loop {
        let Some(()) = find_key(&mut plan, args, desk, language).await? else {
            return Ok(Written::No);
        };
        let listed = match args.offline {
            true => Vec::new(),
            false => match test(probe, &plan, desk, language).await? {
                Tested::Listed(models) => models,
                Tested::Left => return Ok(Written::No),
                Tested::Failed(message) if desk.shows_lists() => {
                    desk.complain(&message)?;
                    match after_failure(&mut plan, desk, language).await? {
                        Failed::Again => continue,
                        Failed::Untested => Vec::new(),
                        Failed::Back => return Ok(Written::No),
                    }
                }
                Tested::Failed(message) => bail!(language.filled(Word::SetFailed, &[&message])),
            },
        };
        let Some(model) = choose_model(boot, &plan, &listed, desk).await? else {
            return Ok(Written::No);
        };
        write(boot, plan, &model, &listed, desk)?;
        return Ok(Written::Yes);
    }
}

/// The key to test with: the given one, the one that is there already, or one that the person types.
async fn find_key(
    plan: &mut Plan,
    args: &Setup,
    desk: &mut Desk,
    language: Language,
) -> anyhow::Result<Option<()>> {
    let provider = &plan.endpoint.provider;
    let given = match args.key.as_deref() {
        Some("-") => Some(choose::read_line()?.unwrap_or_default()),
        Some(key) => Some(key.trim().to_owned()),
        None => None,
    };
    let key = match (given, &plan.endpoint.key, &plan.key_name) {
        (Some(key), _, _) if key.is_empty() => {
            return Err(UsageError(language.say(Word::SetEmptyKey).into()).into());
        }
        (Some(key), _, _) => key,
        (None, Some(_), _) | (None, None, None) => return Ok(Some(())),
        (None, None, Some(name)) if desk.is_away() => {
            bail!(language.filled(Word::SetNoKey, &[&provider, &name, &provider]))
        }
        (None, None, Some(_)) => {
            let page = plan::key_page(provider);
            let page = page.map(|page| language.filled(Word::PlanGetKey, &[&page]));
            let title = language.filled(Word::SetAskKey, &[&provider]);
            match desk.ask_key(&title, &page.unwrap_or_default()).await? {
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

/// What the provider says to a first request.
enum Tested {
    /// The models that it lists; none when it has no list.
    Listed(Vec<String>),
    Failed(String),
    /// The person did not wait for it.
    Left,
}

async fn test(
    probe: &Probe,
    plan: &Plan,
    desk: &mut Desk,
    language: Language,
) -> anyhow::Result<Tested> {
    let name = &plan.endpoint.provider;
    let says = language.filled(Word::SetTests, &[&name]);
    let asked = desk.wait(&says, probe.models(&plan.endpoint)).await?;
    Ok(match asked {
        None => Tested::Left,
        Some(Ok(Answer::Models(models))) => {
            let many = language.counted(models.len(), Word::ManyModels);
            desk.say(&language.filled(Word::SetAnswers, &[&name, &many]))?;
            Tested::Listed(models)
        }
        Some(Ok(Answer::NoList)) => {
            desk.say(&language.filled(Word::SetNoModels, &[&name]))?;
            Tested::Listed(Vec::new())
        }
        Some(Ok(Answer::NoServer)) => Tested::Listed(Vec::new()),
        Some(Err(message)) => Tested::Failed(message),
    })
}

/// What the person does about a test that failed.
enum Failed {
    Again,
    Untested,
    Back,
}

async fn after_failure(
    plan: &mut Plan,
    desk: &mut Desk,
    language: Language,
) -> anyhow::Result<Failed> {
    let words = [
        Word::SetOtherKey,
        Word::SetAgain,
        Word::SetBack,
        Word::SetUntested,
    ];
    let rows = words.map(|word| Row::new(language.say(word), ""));
    let question = language.say(Word::SetWhatNow);
    Ok(match desk.pick(question, &rows, language).await? {
        Picked::Option(0) => {
            let name = variable(&plan.endpoint.provider);
            plan.key_name.get_or_insert_with(|| name.clone());
            if !plan.fields.is_empty() && plan.fields.iter().all(|(f, _)| *f != "api_key_env") {
                plan.fields.push(("api_key_env", name));
            }
            plan.endpoint.key = None;
            plan.key_source = None;
            Failed::Again
        }
        Picked::Option(1) => Failed::Again,
        Picked::Option(3) => Failed::Untested,
        Picked::Option(_) | Picked::Other(_) | Picked::Left => Failed::Back,
    })
}

async fn choose_model(
    boot: &Boot,
    plan: &Plan,
    listed: &[String],
    desk: &mut Desk,
) -> anyhow::Result<Option<String>> {
    let language = boot.language;
    let provider = &plan.endpoint.provider;
    if let Some(wanted) = wanted_model(boot, provider) {
        if !listed.is_empty() && !listed.contains(&wanted) {
            desk.say(&language.filled(Word::SetUnlisted, &[&provider, &wanted]))?;
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
    match options.as_slice() {
        [] if desk.shows_lists() => return name_model(provider, desk, language).await,
        [] => return Err(UsageError(language.filled(Word::SetWhich, &[&provider])).into()),
        [only] if !desk.shows_lists() => return Ok(Some(only.clone())),
        [first, ..] if desk.is_away() => return Ok(Some(first.clone())),
        [_, ..] => {}
    }
    let row = |model: &String| Row::new(model.as_str(), models::about(model, language));
    let mut rows: Vec<Row> = match desk.shows_lists() {
        true => options.iter().map(row).collect(),
        false => options.iter().map(|m| Row::new(m.as_str(), "")).collect(),
    };
    if desk.shows_lists() {
        rows.push(Row::new(language.say(Word::SetOtherModel), ""));
    }
    let question = language.say(Word::SetWhichModel);
    Ok(match desk.pick(question, &rows, language).await? {
        Picked::Option(i) if i == options.len() => name_model(provider, desk, language).await?,
        Picked::Option(i) => options.get(i).cloned(),
        Picked::Other(name) => Some(name),
        Picked::Left => None,
    })
}

/// A model that is in no list, by its name.
async fn name_model(
    provider: &str,
    desk: &mut Desk,
    language: Language,
) -> anyhow::Result<Option<String>> {
    let hint = local::get_model(provider);
    let hint = hint.map(|command| language.filled(Word::SetGetModel, &[&command]));
    let question = Question {
        title: language.say(Word::SetWhichModel),
        hint: hint.as_deref().unwrap_or_default(),
        typing: Typing::Shown,
    };
    let named = desk.ask(&question).await?;
    Ok(named.filter(|name| !name.is_empty()))
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

fn write(
    boot: &Boot,
    mut plan: Plan,
    model: &str,
    listed: &[String],
    desk: &mut Desk,
) -> anyhow::Result<()> {
    let language = boot.language;
    let provider = plan.endpoint.provider.clone();
    let (mut lines, mut key_file) = (Vec::new(), None);
    if let (Some(key), Some(name), None) = (&plan.endpoint.key, &plan.key_name, &plan.key_source) {
        let path = keys::save_key(&boot.places.home, name, key)?;
        lines.push(language.filled(Word::SetSavedKey, &[&name, &path.display()]));
        key_file = Some(path);
    }
    let file = config_command::user_file(boot);
    if !file.exists() {
        edit::init(&file, &boot.places).map_err(|e| config_command::failed(boot, &e))?;
    }
    let reference = format!("{provider}/{model}");
    // A server that nobody knows beforehand: what it has can be chosen later.
    let is_own = plan.fields.iter().any(|(field, _)| *field == "base_url");
    if is_own || plan.models.is_empty() && !plan.fields.is_empty() {
        let others = listed.iter().filter(|other| *other != model);
        let all = std::iter::once(model).chain(others.map(String::as_str));
        let all: Vec<String> = all.take(MAX_LISTED).map(quoted).collect();
        plan.fields
            .push(("models", format!("[{}]", all.join(", "))));
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
    if desk.shows_lists() {
        let key = key_file.map(|path| language.filled(Word::SetKeyIn, &[&path.display()]));
        let (file, key) = (file.display(), key.unwrap_or_default());
        desk.say(&language.filled(Word::SetWritten, &[&reference, &file, &key]))?;
    } else {
        lines.push(language.say(Word::SetNext).into());
        desk.report(&(lines.join("\n") + "\n"))?;
    }
    say_if_overridden(boot, &reference, desk)
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
fn say_if_overridden(boot: &Boot, reference: &str, desk: &mut Desk) -> anyhow::Result<()> {
    let language = boot.language;
    let Ok(again) = boot.anew() else {
        return Ok(());
    };
    let now = again.loaded.config.default_model.as_deref();
    if now != Some(reference)
        && let Some(place) = again.loaded.place(&["default_model"])
    {
        desk.say(&language.filled(Word::SetOverruled, &[&place, &now.unwrap_or_default()]))?;
    }
    Ok(())
}
