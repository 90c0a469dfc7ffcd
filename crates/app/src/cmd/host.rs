//! `ostler host`: looks at the place that the flags name, or takes the helper away from it.

use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::Host;
use crate::output;
use crate::place::{self, Target};
use ostler_wire::Word;
use std::sync::Arc;

pub async fn run(boot: Arc<Boot>, what: Host) -> anyhow::Result<u8> {
    let language = boot.language;
    let none = || UsageError(language.say(Word::PlaceNone).into());
    let target = Target::of(&boot.global.place, language)?.ok_or_else(none)?;
    match what {
        Host::Clean => {
            place::clean(&boot, &target).await?;
            output::say(&language.fill(Word::PlaceCleaned, &[&target.label()]));
        }
        Host::Check => {
            for line in place::check(&boot, &target).await? {
                output::print(&line)?;
            }
        }
    }
    Ok(OK)
}
