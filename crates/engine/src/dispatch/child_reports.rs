//! What sub-agents leave in the log of the session that the person looks at: what was refused to them because nobody can be
//! asked, and how they ended.

use crate::log::LogError;
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_wire::{Body, Notice};

/// Commits what children have reported.
pub fn commit(state: &mut SessionState, inbox: &mut Inbox) -> Result<(), LogError> {
    let refused = inbox.children.take_refused().into_iter();
    let ended = inbox.children.take_ended().into_iter();
    let bodies: Vec<Body> = refused
        .map(|text| Body::Notice(Notice { text }))
        .chain(ended.map(Body::Child))
        .collect();
    match bodies.is_empty() {
        true => Ok(()),
        false => state.commit(bodies),
    }
}
