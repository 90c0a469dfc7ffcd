//! Waiting within a turn: work and questions, while the commands that came in meanwhile are answered. Which commands there
//! are is the business of `commands`, which hands its function in.

use crate::SessionState;
use crate::inbox::{Attended, Inbox, Stopped};
use ostler_wire::{Ask, AskAnswer};

/// Answers the commands that came in during a turn and need not wait for its end.
pub type AnswerCommands = fn(&mut SessionState, &mut Inbox);

/// Answers what came in so far.
pub fn answer_commands(state: &mut SessionState, inbox: &mut Inbox) {
    (state.extensions.answer_commands)(state, inbox);
}

/// Drives work that needs nothing of the state, and answers commands meanwhile.
pub async fn attend<F: Future>(
    state: &mut SessionState,
    inbox: &mut Inbox,
    work: F,
) -> Result<F::Output, Stopped> {
    let mut work = std::pin::pin!(work);
    loop {
        match inbox.attend_to_news(work.as_mut()).await? {
            Attended::Done(output) => return Ok(output),
            Attended::News => answer_commands(state, inbox),
        }
    }
}

/// Puts a question and answers commands until it is answered.
pub async fn ask(
    state: &mut SessionState,
    inbox: &mut Inbox,
    ask: Ask,
) -> Result<AskAnswer, Stopped> {
    let mut asked = inbox.put_ask(ask)?;
    let answer = attend(state, inbox, asked.answered()).await;
    inbox.asked(&asked.id);
    answer?
}
