//! Questions that come before a session opens: whether what the project's files bring is trusted. They are asks like those of
//! a session, and any front end can put them.

use crate::{Ask, AskAnswer, HubError};
use std::sync::Arc;

pub trait Questions {
    /// What is to be answered before a session opens. An answer may bring another question.
    fn questions(&self) -> Vec<Arc<Ask>>;
    /// Takes an answer to one of them. A choice that was not offered decides nothing. The error is for the person, and the
    /// question is then left undecided.
    fn answer(&self, ask: &str, answer: &AskAnswer) -> Result<(), HubError>;
}
