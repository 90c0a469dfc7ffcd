//! `ostler config`: where settings come from, what they are, and changing one.

use super::panel::print_view;
use crate::boot::Boot;
use crate::color;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::{Config, Listing, MemorySwitch};
use crate::lenient::Lenient;
use crate::output;
use anyhow::anyhow;
use ostler_config::diagnose::{ConfigError, Paint};
use ostler_config::edit::{self, EditableFile};
use ostler_config::json_schema;
use ostler_config::paths::{ConfigFile, config_files};
use ostler_config::show::{self, Origins, Setting};
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_wire::{Column, ColumnKind, Language, Report, Say, Table, View, Word};
use serde_json::json;
use std::path::PathBuf;

/// Settings in one table.
const MAX_SETTINGS: usize = 500;

pub fn run(start: Lenient, args: Config) -> anyhow::Result<u8> {
    if let Some(view) = view(&start.boot, &args) {
        let format = match args {
            Config::Show { format, .. } => {
                start.say_fault();
                format
            }
            Config::Path
            | Config::Init
            | Config::Get { .. }
            | Config::Set { .. }
            | Config::Memory { .. }
            | Config::Schema => Listing::Text,
        };
        return print_view(&view, format);
    }
    match args {
        Config::Init => init(&start.boot)?,
        Config::Get { key } => get(&start.warned(), &key)?,
        Config::Set {
            key,
            value,
            project,
        } => {
            let layer = if project { Layer::Project } else { Layer::User };
            set(&start.boot, layer, &key, &value)?;
        }
        Config::Memory { switch } => memory(&start, switch)?,
        Config::Schema => output::print_json(&json_schema::json_schema())?,
        Config::Path | Config::Show { .. } => {}
    }
    Ok(OK)
}

/// `None` for what changes the configuration or writes a document.
pub fn view(boot: &Boot, args: &Config) -> Option<View> {
    match args {
        Config::Path => Some(path(boot)),
        Config::Show { origin, .. } => {
            let origins = match origin {
                true => Origins::Shown,
                false => Origins::Hidden,
            };
            Some(list(boot, origins))
        }
        Config::Init
        | Config::Get { .. }
        | Config::Set { .. }
        | Config::Memory { .. }
        | Config::Schema => None,
    }
}

/// The file that holds the person's own settings.
pub fn user_file(boot: &Boot) -> PathBuf {
    match &boot.global.config {
        Some(path) => boot.places.cwd.join(path),
        None => boot.places.user_config(),
    }
}

/// An error of the configuration as the error of a command.
pub fn failed(boot: &Boot, error: &ConfigError) -> anyhow::Error {
    let language = boot.language;
    let paint = match color::for_stderr(boot.loaded.config.display.color, &boot.env) {
        crate::color::Paint::Colour => Paint::Color,
        crate::color::Paint::None => Paint::Plain,
    };
    anyhow!("{}", error.render(paint, language).trim_end())
}

/// Names that `[tools]` may switch.
pub fn tools() -> Vec<&'static str> {
    let other = ostler_engine::tools::other_names();
    ostler_engine::tools::all_names().chain(other).collect()
}

/// The configuration files, and which of them exist.
fn path(boot: &Boot) -> View {
    let language = boot.language;
    let row = |file: ConfigFile| {
        let there = match file.exists {
            true => language.say(Word::Found),
            false => language.say(Word::NotThere),
        };
        let path = file.path.display().to_string();
        vec![file.what.to_owned(), there.to_owned(), path]
    };
    let files = config_files(&boot.places, boot.global.config.as_deref());
    let columns = [Word::ColLayer, Word::ColState, Word::ColFile];
    View::Table(Table::of_texts(
        columns.map(|word| language.say(word).to_owned()).to_vec(),
        files.into_iter().map(row).collect(),
    ))
}

fn init(boot: &Boot) -> anyhow::Result<()> {
    let language = boot.language;
    let written = edit::init(&user_file(boot), &boot.places).map_err(|e| failed(boot, &e))?;
    output::print(&language.filled(Word::WroteLine, &[&written.display()]))
}

fn get(boot: &Boot, key: &str) -> anyhow::Result<()> {
    let language = boot.language;
    let found = match show::get(&boot.loaded, key, &tools()) {
        Ok(found) => found,
        Err(error @ (show::GetError::Syntax(_) | show::GetError::Unknown { .. })) => {
            return Err(UsageError(error.say(language)).into());
        }
        Err(error @ show::GetError::Unset(_)) => return Err(error.into()),
    };
    match found.as_slice() {
        [one] if one.key == key => output::print_foreign(&format!("{}\n", one.bare())),
        several => output::print_foreign(&show::render(several, Origins::Hidden)),
    }
}

fn set(boot: &Boot, layer: Layer, key: &str, value: &str) -> anyhow::Result<()> {
    let language = boot.language;
    let path = match layer {
        Layer::Project => boot.places.project_config(),
        Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag => {
            user_file(boot)
        }
    };
    let file = EditableFile {
        path: &path,
        layer,
        places: &boot.places,
        tools: &tools(),
    };
    let changed = file.set(key, value).map_err(|e| failed(boot, &e))?;
    for notice in &changed.notices {
        output::say(&notice.say(language));
    }
    if layer == Layer::Project
        && let Ok(now) = boot.anew()
        && !now.loaded.workspace.is_trusted()
    {
        output::say(language.say(Word::CfgUntrustedNow));
    }
    let file = boot.places.shown(&changed.path);
    if is_secret(&changed.key) {
        return output::print(&language.filled(Word::CfgIsSet, &[&changed.key, &file]));
    }
    let before = match &changed.before {
        Some(before) if *before != changed.after => language.filled(Word::WasBefore, &[&before]),
        Some(_) | None => String::new(),
    };
    output::print_foreign(&language.filled(
        Word::CfgSetTo,
        &[&changed.key, &changed.after, &before, &file],
    ))
}

/// Facts that go with prompts, or not.
fn memory(start: &Lenient, switch: MemorySwitch) -> anyhow::Result<()> {
    let language = start.boot.language;
    let value = match switch {
        MemorySwitch::On => "true",
        MemorySwitch::Off => "false",
        MemorySwitch::Status => {
            let on = start.boot.loaded.config.agent.memory_compiler.enabled;
            return output::print(match on {
                true => language.say(Word::CfgRecallOn),
                false => language.say(Word::CfgRecallOff),
            });
        }
    };
    set(
        &start.boot,
        Layer::User,
        "agent.memory_compiler.enabled",
        value,
    )
}

/// Keys whose value is not for the screen.
fn is_secret(key: &str) -> bool {
    key.ends_with(".api_key") || key.contains(".headers.")
}

/// As lines of TOML; for programs key by key, or with all that is known of each.
fn list(boot: &Boot, origins: Origins) -> View {
    let settings = show::settings(&boot.loaded);
    let text = show::render(&settings, origins);
    let value = match origins {
        Origins::Shown => json!(settings),
        Origins::Hidden => settings.into_iter().map(|s| (s.key, s.value)).collect(),
    };
    View::Report(Report {
        text,
        value,
        ..Report::default()
    })
}

/// `/config`: the settings that begin with this, and where each comes from.
pub fn settings_view(boot: &Boot, beginning: &str, language: Language) -> View {
    let mut settings = show::settings(&boot.loaded);
    settings.retain(|setting| setting.key.starts_with(beginning));
    settings.truncate(MAX_SETTINGS);
    if settings.is_empty() {
        return View::Error(language.fill(Word::NoSetting, &[beginning]));
    }
    let column = |key, word| Column::new(ColumnKind::Text, key, language.say(word));
    let columns = vec![
        column("key", Word::ColWhat),
        column("origin", Word::ColFrom),
        // A long one has the room of the last column.
        column("value", Word::ColValue),
    ];
    let texts = |s: &Setting| vec![s.key.clone(), s.origin.clone(), s.bare()];
    View::Table(Table::of_records(columns, &settings, texts))
}
