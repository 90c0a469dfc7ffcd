//! Hooks as the engine runs them, from `[[hooks]]` and the settings files of others.

use ostler_config::diagnose::Notice;
use ostler_config::hooks::{self, Foreign, HookEvent, SETTINGS, read};
use ostler_config::layers::Loaded;
use ostler_config::paths::Places;
use ostler_config::text::phrase;
use ostler_config::tree::Place;
use ostler_config::units::Seconds;
use ostler_engine::hooks::{Hook, Matcher, Moment, RunsOn, TIMEOUT};
use ostler_wire::{Why, Word};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables that say where the project is.
const PROJECT: [&str; 2] = ["OSTLER_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

fn moment(event: HookEvent) -> Moment {
    match event {
        HookEvent::SessionStart => Moment::SessionStart,
        HookEvent::UserPrompt => Moment::UserPrompt,
        HookEvent::PreTool => Moment::PreTool,
        HookEvent::PostTool => Moment::PostTool,
        HookEvent::PreCompact => Moment::PreCompact,
        HookEvent::Notification => Moment::Notification,
        HookEvent::Stop => Moment::Stop,
        HookEvent::SubagentStop => Moment::SubagentStop,
    }
}

/// The hooks of this run.
#[derive(Debug, Default)]
pub struct Gathered {
    pub hooks: Vec<Hook>,
    /// What cannot be read, in files of ours: it might be the one that should have stopped something.
    pub faults: Vec<Why>,
}

pub fn gather(loaded: &Loaded, places: &Places, notices: &mut Vec<Notice>) -> Gathered {
    let mut out = Gathered::default();
    let places_of = loaded.hook_places();
    for (n, config) in loaded.config.hooks.iter().enumerate() {
        let from = places_of.get(n).map_or_else(String::new, Place::to_string);
        if config.command.trim().is_empty() {
            out.faults.push(phrase(Word::HookNoCommand, &[&from]));
            continue;
        }
        match Matcher::parse(&config.matcher, &from) {
            Ok(matcher) => out.hooks.push(Hook {
                moment: moment(config.event),
                matcher,
                only: None,
                command: config.command.clone(),
                timeout: config.timeout.map_or(TIMEOUT, Seconds::duration),
                env: variables(places),
                from,
                on: match config.on {
                    hooks::RunsOn::Here => RunsOn::Here,
                    hooks::RunsOn::Host => RunsOn::Host,
                },
            }),
            Err(error) => out
                .faults
                .push(phrase(Word::Because, &[&from, &Why::from(&error)])),
        }
    }
    // Those of a person are theirs, in whatever project.
    let own = places.user_home.as_ref().map(|home| home.join(SETTINGS[0]));
    let own = own.filter(|_| loaded.config.agent.shared_hooks);
    let mut files: Vec<PathBuf> = own.into_iter().collect();
    if loaded.workspace.is_trusted() {
        files.extend(SETTINGS.map(|file| places.root.join(file)));
    }
    files.dedup();
    for path in files {
        out.hooks.extend(of_settings(&path, places, notices));
    }
    out
}

fn of_settings(path: &Path, places: &Places, notices: &mut Vec<Notice>) -> Vec<Hook> {
    let name = places.shown(path);
    let mut left_out = |text: Why| {
        let place = Place {
            name: name.clone(),
            position: None,
        };
        notices.push(Notice::warning(place, text));
    };
    let foreign = match read(path, places) {
        Ok(foreign) => foreign,
        Err(why) => {
            left_out(phrase(Word::HooksLeft, &[&why]));
            return Vec::new();
        }
    };
    let mut hooks = Vec::new();
    for one in foreign {
        let Foreign {
            event,
            matcher,
            command,
            timeout,
            only,
            is_async,
            ..
        } = one;
        let moment = Moment::ALL.into_iter().find(|m| m.common_name() == event);
        let (Some(moment), Some(command)) = (moment, command) else {
            left_out(phrase(Word::HookUnknown, &[&event]));
            continue;
        };
        if is_async {
            left_out(phrase(
                Word::HookLeft,
                &[&event, &Why::from(Word::HookIsAsync)],
            ));
            continue;
        }
        let only = only.map(|only| Matcher::parse(&only, &name)).transpose();
        let parsed = Matcher::parse(&matcher, &name);
        match parsed.and_then(|matcher| only.map(|only| (matcher, only))) {
            Ok((matcher, only)) => hooks.push(Hook {
                moment,
                matcher,
                only,
                command,
                timeout: timeout.unwrap_or(TIMEOUT),
                env: variables(places),
                from: name.clone(),
                on: RunsOn::Here,
            }),
            Err(error) => left_out(phrase(Word::HookLeft, &[&event, &Why::from(&error)])),
        }
    }
    hooks
}

/// The same for a session whose project lies there.
pub fn of_place(hooks: &[Hook], root: &Path) -> Vec<Hook> {
    let placed = |hook: &Hook| {
        let mut hook = hook.clone();
        if hook.on == RunsOn::Host {
            hook.env = PROJECT.map(|name| (name.into(), root.into())).to_vec();
        }
        hook
    };
    hooks.iter().map(placed).collect()
}

/// Where the project is.
fn variables(places: &Places) -> Vec<(OsString, OsString)> {
    let root = places.root.as_os_str();
    PROJECT.map(|name| (name.into(), root.to_owned())).to_vec()
}
