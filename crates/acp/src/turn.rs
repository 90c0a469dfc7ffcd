//! A prompt of the editor while it is worked on, and what it is answered with.

use crate::protocol::{Error, ErrorCode, Responder, error, schema as s};
use agent_client_protocol::RequestCancellation;
use ostler_wire::{Body, Entry, Language, Outcome, Role, Stop, Word};

pub struct Turn {
    responder: Responder<s::PromptResponse>,
    /// The id of the op that the prompt became.
    pub op: String,
    pub is_command: bool,
    /// The session has taken it up.
    pub began: bool,
    /// The person wants it stopped.
    pub cancelled: bool,
    /// A command was carried out, and what it began is waited for.
    pub fenced: bool,
    outcome: Option<Outcome>,
    error: Option<String>,
    /// The last answer was cut off at its longest.
    is_cut: bool,
}

impl Turn {
    pub fn new(responder: Responder<s::PromptResponse>, op: String, is_command: bool) -> Self {
        Self {
            responder,
            op,
            is_command,
            began: false,
            cancelled: false,
            fenced: false,
            outcome: None,
            error: None,
            is_cut: false,
        }
    }

    pub fn cancellation(&self) -> RequestCancellation {
        self.responder.cancellation()
    }

    /// Whether this is a prompt of its own, which the editor shows itself.
    pub fn is_own(&self, entry: &Entry) -> bool {
        let Body::Message(message) = &entry.body else {
            return false;
        };
        let is_meant = message.op.as_ref() == Some(&self.op);
        // What a command stands for has no id where the command only left it to be done.
        let is_meant = is_meant || self.is_command && message.op.is_none();
        message.role == Role::User && is_meant
    }

    /// Takes in what an entry says of how it goes. True when the turn has ended.
    pub fn follow(&mut self, entry: &Entry) -> bool {
        self.began |= self.is_own(entry);
        if let Some(message) = entry.body.answer() {
            self.is_cut = message.stop == Some(Stop::Length);
        } else if let Body::Error(error) = &entry.body {
            self.error = Some(error.message.clone());
        } else if let Body::TurnEnd(end) = &entry.body {
            self.outcome = Some(end.outcome);
            return true;
        }
        false
    }

    pub fn fail(&mut self, why: &str) {
        self.outcome = Some(Outcome::Error);
        self.error = Some(why.to_owned());
    }

    /// Answers the prompt. The editor may be gone.
    pub fn answer(self, language: Language) {
        let result = self.result(language).map(s::PromptResponse::new);
        let _ = self.responder.respond_with_result(result);
    }

    fn result(&self, language: Language) -> Result<s::StopReason, Error> {
        if self.cancelled {
            return Ok(s::StopReason::Cancelled);
        }
        match self.outcome {
            // A command that began no turn.
            None => Ok(s::StopReason::EndTurn),
            Some(Outcome::Done) if self.is_cut => Ok(s::StopReason::MaxTokens),
            Some(Outcome::Done) => Ok(s::StopReason::EndTurn),
            Some(Outcome::Interrupted) => Ok(s::StopReason::Cancelled),
            Some(Outcome::MaxSteps) => Ok(s::StopReason::MaxTurnRequests),
            Some(Outcome::Refusal) => Ok(s::StopReason::Refusal),
            Some(Outcome::Error | Outcome::EmptyResponse) => {
                let why = self.error.clone();
                let why = why.unwrap_or_else(|| language.say(Word::EndedBadly).into());
                Err(error(ErrorCode::INTERNAL_ERROR, why))
            }
        }
    }
}
