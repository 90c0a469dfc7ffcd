//! May the next request be sent? Holds what it may cost; a budget that it does not fit is for the person to raise.

use crate::budget::{Breach, Hold, RAISE};
use crate::log::LogError;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::{SessionState, attend};
use ostler_wire::{Body, Notice};

pub enum Afforded {
    Yes(Box<Hold>),
    No(Breach),
    /// The person stopped the turn instead of an answer.
    Stopped,
}

pub async fn afford(state: &mut SessionState, inbox: &mut Inbox) -> Result<Afforded, LogError> {
    loop {
        let account = &state.account;
        let breach = match account
            .budget
            .hold(account.payer(), account.worst_of(&state.conversation))
        {
            Ok(hold) => return Ok(Afforded::Yes(Box::new(hold))),
            Err(breach) => breach,
        };
        if !state.settings.interactive {
            return Ok(Afforded::No(breach));
        }
        let ask = breach.ask(state.settings.language);
        match attend::ask(state, inbox, ask).await {
            Ok(answer) if answer.choice == RAISE.id() => state.account.budget.raise(&breach),
            Ok(_) => return Ok(Afforded::No(breach)),
            Err(Stopped) => return Ok(Afforded::Stopped),
        }
        state.commit(vec![Body::Notice(Notice {
            text: breach.raised(state.settings.language),
        })])?;
    }
}
