//! `ostler acp`: sessions for editors on stdin and stdout. Flags and configuration in, the front end out; where it works and
//! what it lists is in `places`.

mod editor;
mod places;
mod terminal;

use crate::boot::Boot;
use crate::exit::{INTERRUPTED, OK, TERMINATED};
use crate::flags::Global;
use crate::output;
use crate::wiring::plugins::learn;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{Language, Say as _, Word};
use places::Places;
use std::cell::Cell;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;

pub async fn run(global: &Global, language: &Cell<Language>) -> anyhow::Result<u8> {
    let boot = Boot::new(global)?;
    language.set(boot.language);
    let boot = learn(Arc::new(boot)).await?;
    for notice in &boot.loaded.notices {
        output::say(&notice.say(boot.language));
    }
    if io::stdin().is_terminal() {
        output::say(boot.language.say(Word::AcpStarted));
    }
    let places = Arc::new(Places::new(boot));
    let mut signals = Signals::new()?;
    let backend = Arc::new(places::Served(places.clone()));
    let serving = ostler_acp::serve(tokio::io::stdin(), tokio::io::stdout(), backend);
    let code = tokio::select! {
        () = serving => OK,
        signal = signals.next() => match signal {
            Stop::Interrupt => INTERRUPTED,
            Stop::Terminate => TERMINATED,
        },
    };
    // Sessions end as they would when a terminal closes, and can be resumed.
    places.close().await;
    Ok(code)
}
