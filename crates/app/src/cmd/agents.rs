//! `ostler skills` and `ostler agents`: what sessions of this project would find. Running one is `exec`.

use super::panel::print_view;
use crate::boot::Boot;
use crate::boot::agents::settings;
use crate::flags::{Agents, Listing, Skills};
use ostler_engine::commands;
use ostler_engine::roles::Roles;
use ostler_engine::skills::Skills as Found;
use ostler_wire::View;

pub fn run_skills(boot: &Boot, args: &Skills) -> anyhow::Result<u8> {
    let format = match args {
        Skills::List { format } => *format,
        Skills::Show { .. } => Listing::Text,
    };
    print_view(&skills(boot, args), format)
}

pub fn run_agents(boot: &Boot, args: &Agents) -> anyhow::Result<u8> {
    let Agents::List { format } = args;
    print_view(&agents(boot), *format)
}

pub fn skills(boot: &Boot, args: &Skills) -> View {
    let language = boot.language;
    let settings = settings(&boot.loaded, &boot.places);
    let (found, left_out) = Found::load(&settings.skills, &crate::policy::reader(boot));
    match args {
        Skills::List { .. } => commands::skills(&found, left_out, language),
        Skills::Show { name } => commands::skill(&found, name, language),
    }
}

pub fn agents(boot: &Boot) -> View {
    let settings = settings(&boot.loaded, &boot.places);
    let reader = crate::policy::reader(boot);
    let (found, left_out) = Roles::load(&settings.role_sources, &settings.roles, &reader);
    commands::agents(&found, left_out, boot.language)
}
