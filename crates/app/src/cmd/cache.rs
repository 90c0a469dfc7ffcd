//! `ostler cache`: the command `cache` on the command line.

use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::flags::{Cache, Listing};
use ostler_engine::commands::{CacheRequest, cache};

pub fn run(boot: &Boot, args: Cache) -> anyhow::Result<u8> {
    let (request, format) = match args {
        Cache::Why { id, format } => (CacheRequest::Why(id), format),
        Cache::Check { id } => (CacheRequest::Check(id), Listing::Text),
    };
    print_view(&cache(&hub_context(boot), &request), format)
}
