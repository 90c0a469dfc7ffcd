//! Which answers count, what Escape means, and the names of asks.

use ostler_context::clients::feed::Feed;
use ostler_wire::{Ask, AskAnswer, Delta, Escape, TextUse};
use std::hash::{BuildHasher as _, RandomState};

/// Tells every client that an ask waits no longer, and that nobody answered it.
pub fn withdraw_ask(feed: &Feed, ask: &str) {
    feed.delta(Delta::AskClosed {
        ask: ask.to_owned(),
        by: None,
        answer: None,
    });
}

/// An answer that was offered. What was not offered is no yes: it counts as no answer.
pub fn offered(ask: &Ask, answer: AskAnswer) -> AskAnswer {
    let is_choice = |id: &str| ask.options.iter().any(|choice| choice.id == id);
    let is_offered = match ask.text_use() {
        TextUse::Answer => true,
        TextUse::Reason | TextUse::Nothing if ask.multi => {
            answer.choice.split(", ").all(is_choice) || is_choice(&answer.choice)
        }
        TextUse::Reason | TextUse::Nothing => is_choice(&answer.choice),
    };
    match is_offered {
        true => answer,
        false => AskAnswer {
            choice: ask.silence.choice.clone(),
            ..answer
        },
    }
}

/// Escape at the ask of a prompt in the background, `t1`, says no to that and leaves the turn alone. A sub-agent of the
/// turn asks with its role, `t1 builder`, and is stopped with it.
pub fn escape(ask: &Ask) -> Escape {
    let from = ask.from.as_deref().unwrap_or_default();
    let first = from.split(" › ").next().unwrap_or_default();
    match first.contains(' ') {
        true => Escape::StopTurn,
        false => Escape::Answer,
    }
}

pub fn random_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!("{random:016x}")
}
