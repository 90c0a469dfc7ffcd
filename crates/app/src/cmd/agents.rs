//! `ostler skills` and `ostler agents`: what sessions of this project would find. Running one is `exec`.

use super::panel::print_view;
use crate::boot::Boot;
use crate::boot::agents::settings;
use crate::flags::{Agents, Listing, Skills};
use ostler_engine::commands;
use ostler_engine::roles::Roles;
use ostler_engine::skills::Skills as Found;

pub fn skills(boot: &Boot, args: Skills) -> anyhow::Result<u8> {
    let language = boot.language;
    let settings = settings(&boot.loaded, &boot.places);
    let (found, left_out) = Found::load(&settings.skills, &crate::policy::reader(boot));
    match args {
        Skills::List { format } => {
            print_view(&commands::skills(&found, left_out, language), format)
        }
        Skills::Show { name } => {
            print_view(&commands::skill(&found, &name, language), Listing::Text)
        }
    }
}

pub fn agents(boot: &Boot, args: Agents) -> anyhow::Result<u8> {
    let language = boot.language;
    let settings = settings(&boot.loaded, &boot.places);
    let reader = crate::policy::reader(boot);
    let (found, left_out) = Roles::load(&settings.role_sources, &settings.roles, &reader);
    let Agents::List { format } = args;
    let view = commands::agents(&found, left_out, language);
    print_view(&view, format)
}
