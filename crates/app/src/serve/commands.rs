//! Commands that are about no session, for the panels of the browser: the same functions as the utilities.

use crate::boot::Boot;
use crate::boot::agents::settings;
use crate::cmd::panel::hub_context;
use crate::cmd::{checkpoint, doctor, mcp, permissions, trust};
use crate::errors::Told as _;
use crate::policy;
use jiff::tz::TimeZone;
use ostler_engine::commands::{
    self, CacheRequest, Chart, CheckpointRequest, MemoryRequest, Projects, SessionsRequest,
    UsageBy, UsageRequest,
};
use ostler_engine::roles::Roles;
use ostler_engine::skills::Skills;
use ostler_serve::backend::{Fault, Refusal};
use ostler_wire::{View, Word};
use std::sync::Arc;

type Run = fn(&Arc<Boot>, &str) -> anyhow::Result<View>;

// tidy: table
const COMMANDS: &[(&str, Run)] = &[
    ("agents", |boot, _| Ok(agents(boot))),
    ("cache", |boot, id| {
        let id = Some(id.to_owned()).filter(|id| !id.is_empty());
        Ok(commands::cache(&hub_context(boot), &CacheRequest::Why(id)))
    }),
    ("checkpoints", |boot, _| checkpoints(boot)),
    ("doctor", |boot, _| {
        Ok(doctor::view(&doctor::findings(boot, None), boot.language))
    }),
    ("mcp", |boot, _| mcp::list(boot)),
    ("memory", |boot, words| Ok(memory(boot, words))),
    ("permissions", |boot, _| Ok(permissions::list(boot))),
    ("sessions", |boot, words| Ok(sessions(boot, words))),
    ("skills", |boot, name| Ok(skills(boot, name))),
    ("trust", |boot, _| trust::list(boot)),
    ("usage", |boot, by| Ok(usage(boot, by))),
];

/// A line without its slash: the name of a command and what follows.
pub fn run(boot: &Arc<Boot>, line: &str) -> Result<View, Refusal> {
    let line = line.trim();
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let Some((_, run)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let values = [name, &known.join(", ")];
        let why = boot.language.fill(Word::ServeNoCommand, &values);
        return Err(Refusal::new(Fault::Invalid, why));
    };
    run(boot, words.trim()).map_err(|e| Refusal::new(Fault::Failed, boot.language.told(&e)))
}

fn agents(boot: &Boot) -> View {
    let settings = settings(&boot.loaded, &boot.places);
    let reader = policy::reader(boot);
    let (found, left_out) = Roles::load(&settings.role_sources, &settings.roles, &reader);
    commands::agents(&found, left_out, boot.language)
}

fn skills(boot: &Boot, name: &str) -> View {
    let settings = settings(&boot.loaded, &boot.places);
    let (found, left_out) = Skills::load(&settings.skills, &policy::reader(boot));
    match name {
        "" => commands::skills(&found, left_out, boot.language),
        name => commands::skill(&found, name, boot.language),
    }
}

fn checkpoints(boot: &Boot) -> anyhow::Result<View> {
    let store = checkpoint::open(boot)?;
    let request = CheckpointRequest::List;
    Ok(commands::checkpoint(&hub_context(boot), &store, &request))
}

fn memory(boot: &Boot, words: &str) -> View {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let rest = rest.trim().to_owned();
    let request = match verb {
        "show" => MemoryRequest::Show(rest),
        "search" => MemoryRequest::Search(rest),
        "archive" => MemoryRequest::Archive(rest),
        "archived" => MemoryRequest::Archived,
        "restore" => MemoryRequest::Restore(rest),
        _ => MemoryRequest::List,
    };
    commands::memory(&hub_context(boot), &request)
}

fn sessions(boot: &Boot, words: &str) -> View {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let request = match verb {
        "all" => SessionsRequest::List(Projects::All),
        "show" => SessionsRequest::Show(rest.trim().to_owned()),
        "search" => {
            let words = rest.split_whitespace();
            SessionsRequest::Search(words.map(str::to_owned).collect())
        }
        _ => SessionsRequest::List(Projects::This),
    };
    commands::sessions(&hub_context(boot), &request)
}

fn usage(boot: &Boot, by: &str) -> View {
    let request = UsageRequest {
        by: match by {
            "model" => UsageBy::Model,
            "project" => UsageBy::Project,
            "session" => UsageBy::Session,
            _ => UsageBy::Day,
        },
        chart: Chart::None,
        zone: TimeZone::system(),
    };
    commands::usage(&hub_context(boot), &request)
}
