//! What was refused to sub-agents because nobody can be asked, told in the log of the session that the person looks at.

use crate::inbox::Inbox;
use crate::log::LogError;
use crate::state::SessionState;
use ostler_wire::{Body, Notice};

/// Commits a notice for each refusal that children have reported.
pub fn tell(state: &mut SessionState, inbox: &mut Inbox) -> Result<(), LogError> {
    let refused = inbox.children.take_refused();
    let notices: Vec<Body> = refused
        .into_iter()
        .map(|text| Body::Notice(Notice { text }))
        .collect();
    match notices.is_empty() {
        true => Ok(()),
        false => state.commit(notices),
    }
}
