//! What other agents cost: written into the ledger and counted against the budget, as in a session.

use crate::boot::Boot;
use ostler_delegate::outcome::Cost;
use ostler_engine::budget::{Amount, Booked, Budget, Payer, TASK};
use ostler_engine::ledger::{Ledger, Line};
use ostler_engine::log;
use ostler_wire::{Language, Usage};

/// The least that a program costs: a budget that has not even that left is spent.
const LEAST: Amount = Amount {
    usd: 0.000_001,
    tokens: 1,
};

#[derive(Clone)]
pub struct Books {
    budget: Budget,
    ledger: Option<Ledger>,
    /// Under which the calls of this server are counted.
    session: String,
    project: String,
    language: Language,
}

impl Books {
    pub fn new(boot: &Boot, session: &str) -> Self {
        let is_saved = !boot.global.no_save;
        Self {
            budget: boot.budget(),
            ledger: is_saved.then(|| Ledger::new(&boot.places.home)),
            session: session.to_owned(),
            project: boot.store().project().to_owned(),
            language: boot.language,
        }
    }

    /// Why nothing may be spent any more.
    pub fn breach(&self, role: &str) -> Option<String> {
        let held = self.budget.hold(self.payer(role), LEAST);
        held.err().map(|breach| breach.message(self.language))
    }

    /// Books what an agent used since the last time. `now` and `before` are what it used in all.
    pub fn book(&self, role: &str, backend: &str, (before, now): (Cost, Cost)) {
        let cost = match (now.usd, before.usd) {
            (Some(now), Some(before)) => Some((now - before).max(0.0)),
            (now, _) => now,
        };
        let usage = Usage {
            provider: backend.to_owned(),
            input: now.input_tokens.saturating_sub(before.input_tokens),
            cached: now.cached_tokens.saturating_sub(before.cached_tokens),
            output: now.output_tokens.saturating_sub(before.output_tokens),
            cost,
            ..Usage::default()
        };
        let is_free = cost.is_none_or(|cost| cost <= 0.0);
        if usage.input == 0 && usage.output == 0 && is_free {
            return;
        }
        let payer = self.payer(role);
        let line = Line {
            ts: log::now(),
            session: self.session.clone(),
            project: self.project.clone(),
            role: payer.role.into(),
            budget_session: None,
            tokens: (&usage).into(),
        };
        // A ledger that cannot be written must not stop the work; `doctor` looks at it.
        let booked = self.ledger.as_ref().map(|ledger| ledger.add(&line));
        let booked = match booked {
            Some(Ok(())) => Booked::Yes,
            Some(Err(_)) | None => Booked::No,
        };
        self.budget.spend(payer, (&usage).into(), booked);
    }

    fn payer<'a>(&'a self, role: &'a str) -> Payer<'a> {
        Payer {
            session: &self.session,
            budget_session: &self.session,
            role: match self.budget.has_role(role) {
                true => role,
                false => TASK,
            },
        }
    }
}
