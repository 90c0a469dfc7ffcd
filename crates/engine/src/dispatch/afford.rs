//! May the next request be sent? Holds what it may cost; a budget that it does not fit is for the person to raise.

use crate::budget::{Breach, Hold, RAISE};
use crate::commands;
use crate::desk::Desk;
use crate::inbox::{Inbox, Stopped};
use crate::log::LogError;
use ostler_wire::{Body, Notice};

pub enum Afforded {
    Yes(Box<Hold>),
    No(Breach),
    /// The person stopped the turn instead of an answer.
    Stopped,
}

pub async fn afford(desk: &mut Desk, inbox: &mut Inbox) -> Result<Afforded, LogError> {
    loop {
        let account = &desk.account;
        let breach = match account.budget.hold(account.payer(), desk.worst()) {
            Ok(hold) => return Ok(Afforded::Yes(Box::new(hold))),
            Err(breach) => breach,
        };
        if !desk.manner.interactive {
            return Ok(Afforded::No(breach));
        }
        let ask = breach.ask(desk.manner.language);
        match commands::ask(desk, inbox, ask).await {
            Ok(answer) if answer.choice == RAISE.id() => desk.account.budget.raise(&breach),
            Ok(_) => return Ok(Afforded::No(breach)),
            Err(Stopped) => return Ok(Afforded::Stopped),
        }
        desk.commit(vec![Body::Notice(Notice {
            text: breach.raised(desk.manner.language),
        })])?;
    }
}
