//! The window is nearly full, or too small for a first prompt, and the person is asked what to do about it.

use ostler_state::inbox::{Inbox, Stopped};
use ostler_wire::{Ask, AskKind, Choice, Language, Word};

/// Answers of the person.
const HAND_OVER: &str = "handoff";
const FOLD: &str = "compact";
const GO_ON: &str = "go_on";
const SEND: &str = "send";
const STOP: &str = "stop";

/// What becomes of a prompt that seems too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Send,
    Stop,
}

pub enum Offered {
    /// It goes on in a fresh session.
    Handoff,
    Fold,
    GoOn,
    /// The person stopped the turn instead of an answer.
    Stopped,
}

/// A handoff, a fold or neither? `how` says how full it is.
pub async fn offer(inbox: &mut Inbox, how: String, language: Language) -> Offered {
    let choice = |id: &str, label: Word, detail: Word| {
        Choice::new(id, language.say(label)).with_detail(language.say(detail))
    };
    let ask = Ask {
        kind: AskKind::Question,
        subject: how,
        options: vec![
            choice(HAND_OVER, Word::OfferHandoff, Word::OfferHandoffMore),
            choice(FOLD, Word::OfferFold, Word::OfferFoldMore),
            choice(GO_ON, Word::OfferGoOn, Word::OfferGoOnMore),
        ],
        ..Ask::default()
    };
    match inbox.ask(ask).await {
        Ok(answer) if answer.choice == HAND_OVER => Offered::Handoff,
        Ok(answer) if answer.choice == FOLD => Offered::Fold,
        Ok(_) => Offered::GoOn,
        Err(Stopped) => Offered::Stopped,
    }
}

/// Shall a prompt be sent that is larger than the window? `size` says how large it is.
pub async fn ask_to_send(inbox: &mut Inbox, size: String, language: Language) -> Sending {
    let choice = |id: &str, label: Word, detail: Word| {
        Choice::new(id, language.say(label)).with_detail(language.say(detail))
    };
    let ask = Ask {
        kind: AskKind::Question,
        subject: size,
        options: vec![
            choice(STOP, Word::FirstStop, Word::FirstStopMore),
            choice(SEND, Word::FirstSend, Word::FirstSendMore),
        ],
        ..Ask::default()
    };
    match inbox.ask(ask).await {
        Ok(answer) if answer.choice == SEND => Sending::Send,
        Ok(_) | Err(Stopped) => Sending::Stop,
    }
}
