//! Who pays for the requests of a session: the names under which they are written into the ledger, and the budget.

use crate::clients::feed::Feed;
use crate::conversation::Conversation;
use crate::cost;
use ostler_store::budget::{Amount, Booked, Budget, Payer};
use ostler_store::ledger::{Ledger, Line};
use ostler_wire::{Delta, Usage};

/// Under which names requests are written into the ledger.
#[derive(Clone)]
pub struct Account {
    pub ledger: Option<Ledger>,
    pub session: String,
    pub project: String,
    pub role: String,
    /// The session whose budget is spent: this one, or the one that started it.
    pub budget_session: String,
    pub budget: Budget,
    /// Most tokens of an answer, as the person set it.
    pub max_tokens: Option<u64>,
    /// Tokens and bytes of the last prompt.
    pub pace: Option<(u64, u64)>,
}

impl Account {
    pub fn payer(&self) -> Payer<'_> {
        Payer {
            session: &self.session,
            budget_session: &self.budget_session,
            role: &self.role,
        }
    }

    /// The same for a request that is no step of a turn.
    pub fn payer_in<'a>(&'a self, role: Option<&'a str>) -> Payer<'a> {
        Payer {
            role: role.unwrap_or(&self.role),
            ..self.payer()
        }
    }

    /// A ledger that cannot be written must not stop the work; `doctor` looks at it.
    pub fn book(&self, usage: &Usage) {
        let payer = self.payer_in(usage.role.as_deref());
        let booked = self.ledger.as_ref().map(|ledger| {
            ledger.add(&Line {
                ts: ostler_store::log::now(),
                session: self.session.clone(),
                project: self.project.clone(),
                role: payer.role.into(),
                budget_session: Some(self.budget_session.clone())
                    .filter(|budget_session| *budget_session != self.session),
                tokens: usage.into(),
            })
        });
        let booked = match booked {
            Some(Ok(())) => Booked::Yes,
            Some(Err(_)) | None => Booked::No,
        };
        self.budget.spend(payer, usage.into(), booked);
    }

    /// The most that the next request of this conversation can cost.
    pub fn worst_of(&self, conversation: &Conversation) -> Amount {
        let output = conversation.model.target().max_output;
        self.guess(conversation, self.max_tokens.or(output))
    }

    /// What a request costs whose answer has so many tokens.
    pub fn guess(&self, conversation: &Conversation, output: Option<u64>) -> Amount {
        let price = conversation.model.target().price;
        cost::upper_bound(conversation.bytes(), self.pace, output, price)
    }

    /// Tells clients how much of the budget is spent, if there is one.
    pub fn show_budget(&self, feed: &Feed) {
        if let Some(percent) = self.budget.percent(self.payer()) {
            feed.delta(Delta::Budget { percent });
        }
    }
}
