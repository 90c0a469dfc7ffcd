//! Equal calls with equal results, counted over a turn: the model is told, and then the turn ends.

use super::{Trouble, trouble};
use crate::dispatch::{Dispatched, Ran};
use crate::tools::declaration;
use ostler_state::SessionState;
use ostler_wire::{Body, Message, Outcome, ToolMark, Word};

/// Equal consecutive calls with equal results after which the model is told, and one more after which the turn ends.
const MAX_REPEATS: u32 = 3;
/// The same for a call that may have changed something each time.
const MAX_WRITES: u32 = 10;

/// Notices a model that goes in circles.
#[derive(Default)]
pub(super) struct Breaker {
    last: Option<Ran>,
    repeats: u32,
}

impl Breaker {
    pub(super) fn check(
        &mut self,
        state: &mut SessionState,
        done: &Dispatched,
    ) -> Result<(), Trouble> {
        let before = self.repeats;
        let mut neighbour = None;
        for call in &done.calls {
            // Waiting for a job looks alike every time, and equal calls of one answer were made before any had a result.
            if waits(call) || neighbour.replace(call) == Some(call) {
                continue;
            }
            if self.last.as_ref() == Some(call) {
                self.repeats += 1;
            } else {
                self.last = Some(call.clone());
                self.repeats = 1;
            }
            if self.repeats > limit(call) {
                return Err(trouble(
                    "repeated_calls",
                    state
                        .settings
                        .language
                        .fill(Word::EndRepeats, &[&call.name]),
                    Outcome::Error,
                ));
            }
        }
        let Some(last) = &self.last else {
            return Ok(());
        };
        if self.repeats == limit(last) && before < limit(last) {
            let times = if last.wrote { "ten" } else { "three" };
            let note = format!(
                "[You made the same call {times} times with the same result. Do something else, or finish with what you know.]"
            );
            state.commit(vec![Body::Message(Message::note(note))])?;
        }
        Ok(())
    }
}

fn waits(call: &Ran) -> bool {
    declaration(&call.name).is_some_and(|about| about.has(ToolMark::Waits))
}

fn limit(call: &Ran) -> u32 {
    if call.wrote { MAX_WRITES } else { MAX_REPEATS }
}
