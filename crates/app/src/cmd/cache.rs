//! `ostler cache`: the command `cache` on the command line.

use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::flags::{Cache, Listing};
use ostler_engine::commands::{CacheRequest, cache};
use ostler_wire::View;

pub fn run(boot: &Boot, args: &Cache) -> anyhow::Result<u8> {
    let format = match args {
        Cache::Why { format, .. } => *format,
        Cache::Check { .. } => Listing::Text,
    };
    print_view(&view(boot, args), format)
}

pub fn view(boot: &Boot, args: &Cache) -> View {
    let request = match args {
        Cache::Why { id, .. } => CacheRequest::Why(id.clone()),
        Cache::Check { id } => CacheRequest::Check(id.clone()),
    };
    cache(&hub_context(boot), &request)
}
