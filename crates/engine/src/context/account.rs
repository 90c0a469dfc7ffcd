//! Who pays for the requests of a session: the names under which they are written into the ledger, and the budget.

use crate::budget::{Booked, Budget, Payer};
use crate::ledger::{Ledger, Line};
use ostler_wire::Usage;

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
                ts: crate::log::now(),
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
}
