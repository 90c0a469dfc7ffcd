//! Who has spent and been promised what, and whether more fits. Pure.

use super::{Amount, Booked, Breach, Limit, Limits, Sum};
use ostler_wire::{Language, Word};
use serde::Serialize;
use std::collections::HashMap;

/// Sums of fractions are never exact.
pub const DUST: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    Run,
    Session,
    Day,
    Child,
    Role,
}

/// What is counted together: a span, and whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pot {
    pub span: Span,
    /// The session or the role; empty where there is but one.
    pub name: String,
}

impl Pot {
    fn new(span: Span, name: &str) -> Self {
        let name = name.to_owned();
        Self { span, name }
    }

    /// As a person calls it.
    pub fn say(&self, language: Language) -> String {
        match self.span {
            Span::Run => language.say(Word::SpanRun).into(),
            Span::Session => language.say(Word::SpanSession).into(),
            Span::Day => language.say(Word::SpanDay).into(),
            Span::Child => language.say(Word::SpanChild).into(),
            Span::Role => language.fill(Word::SpanRole, &[&self.name]),
        }
    }
}

/// Who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payer<'a> {
    pub session: &'a str,
    /// The session whose budget it spends: its own, or that of whoever started it.
    pub budget_session: &'a str,
    pub role: &'a str,
}

impl Payer<'_> {
    fn pots(self) -> Vec<Pot> {
        let mut pots = vec![
            Pot::new(Span::Run, ""),
            Pot::new(Span::Session, self.budget_session),
            Pot::new(Span::Day, ""),
            Pot::new(Span::Role, self.role),
        ];
        if self.session != self.budget_session {
            pots.push(Pot::new(Span::Child, self.session));
        }
        pots
    }
}

/// How a limit stands.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub pot: Pot,
    pub limit: Sum,
    pub spent: Sum,
    pub held: Sum,
    pub left: Sum,
}

impl State {
    pub fn percent(&self) -> u64 {
        let share = match (self.spent, self.limit) {
            (Sum::Tokens(spent), Sum::Tokens(limit)) => spent as f64 / limit as f64,
            (Sum::Usd(spent), Sum::Usd(limit)) => spent / limit,
            (Sum::Tokens(_), Sum::Usd(_)) | (Sum::Usd(_), Sum::Tokens(_)) => 0.0,
        };
        // A limit of nothing is used up.
        if share.is_finite() {
            (share * 100.0) as u64
        } else {
            100
        }
    }
}

#[derive(Debug, Default)]
pub struct Books {
    spent: HashMap<Pot, Amount>,
    held: HashMap<Pot, Amount>,
    raised: HashMap<Pot, Limit>,
    /// Today, by all processes of the person, as the ledger says. What is not in it is in `spent`.
    pub booked: Amount,
    /// What other processes of the person hold at this moment.
    pub elsewhere: Amount,
}

impl Books {
    /// Sets aside what a request may cost, in every pot that it is paid from.
    pub fn hold(
        &mut self,
        limits: &Limits,
        payer: Payer<'_>,
        worst: Amount,
    ) -> Result<Vec<Pot>, Breach> {
        let pots = payer.pots();
        for pot in &pots {
            self.check(pot, limits.of(pot), worst)?;
        }
        for pot in &pots {
            let held = self.held.entry(pot.clone()).or_default();
            *held = held.plus(worst);
        }
        Ok(pots)
    }

    pub fn release(&mut self, pots: &[Pot], worst: Amount) {
        for pot in pots {
            if let Some(held) = self.held.get_mut(pot) {
                *held = held.minus(worst);
            }
        }
    }

    pub fn spend(&mut self, payer: Payer<'_>, amount: Amount, booked: Booked) {
        for pot in payer.pots() {
            if pot.span != Span::Day || booked == Booked::No {
                let spent = self.spent.entry(pot).or_default();
                *spent = spent.plus(amount);
            }
        }
    }

    pub fn knows(&self, session: &str) -> bool {
        let pot = Pot::new(Span::Session, session);
        self.spent.contains_key(&pot)
    }

    pub fn remember(&mut self, session: &str, amount: Amount) {
        self.spent.insert(Pot::new(Span::Session, session), amount);
    }

    pub fn new_day(&mut self) {
        self.booked = Amount::default();
        self.spent.remove(&Pot::new(Span::Day, ""));
    }

    pub fn raise(&mut self, breach: &Breach) {
        self.raised.insert(breach.pot.clone(), breach.raised);
    }

    pub fn states(&self, limits: &Limits, payer: Payer<'_>) -> Vec<State> {
        let mut states = Vec::new();
        for pot in payer.pots() {
            let limit = self.limit(&pot, limits.of(&pot));
            let (spent, held) = (self.spent(&pot), self.held(&pot));
            let used = spent.plus(held);
            if let Some(usd) = limit.usd {
                states.push(State {
                    pot: pot.clone(),
                    limit: Sum::Usd(usd),
                    spent: Sum::Usd(spent.usd),
                    held: Sum::Usd(held.usd),
                    left: Sum::Usd((usd - used.usd).max(0.0)),
                });
            }
            if let Some(tokens) = limit.tokens {
                states.push(State {
                    pot,
                    limit: Sum::Tokens(tokens),
                    spent: Sum::Tokens(spent.tokens),
                    held: Sum::Tokens(held.tokens),
                    left: Sum::Tokens(tokens.saturating_sub(used.tokens)),
                });
            }
        }
        states
    }

    fn spent(&self, pot: &Pot) -> Amount {
        let spent = self.spent.get(pot).copied().unwrap_or_default();
        match pot.span {
            Span::Day => spent.plus(self.booked),
            Span::Run | Span::Session | Span::Child | Span::Role => spent,
        }
    }

    pub(super) fn held(&self, pot: &Pot) -> Amount {
        let held = self.held.get(pot).copied().unwrap_or_default();
        match pot.span {
            Span::Day => held.plus(self.elsewhere),
            Span::Run | Span::Session | Span::Child | Span::Role => held,
        }
    }

    /// What is held here, of what may be spent in a day.
    pub fn held_today(&self) -> Amount {
        let pot = Pot::new(Span::Day, "");
        self.held.get(&pot).copied().unwrap_or_default()
    }

    /// As it was set, or raised since.
    fn limit(&self, pot: &Pot, set: Limit) -> Limit {
        let raised = self.raised.get(pot).copied().unwrap_or_default();
        Limit {
            usd: set.usd.map(|usd| raised.usd.unwrap_or(usd)),
            tokens: set.tokens.map(|tokens| raised.tokens.unwrap_or(tokens)),
        }
    }

    fn check(&self, pot: &Pot, set: Limit, worst: Amount) -> Result<(), Breach> {
        let limit = self.limit(pot, set);
        let used = self.spent(pot).plus(self.held(pot));
        let needed = used.plus(worst);
        // Another time the same, and at least what the request needs.
        let raised = Limit {
            usd: limit
                .usd
                .map(|usd| (usd + set.usd.unwrap_or(0.0)).max(needed.usd)),
            tokens: limit
                .tokens
                .map(|n| n.saturating_add(set.tokens.unwrap_or(0)).max(needed.tokens)),
        };
        let breach = |limit, used, worst| Breach {
            pot: pot.clone(),
            limit,
            used,
            worst,
            raised,
        };
        if let Some(most) = limit.usd
            && needed.usd > most + DUST
        {
            let (used, worst) = (Sum::Usd(used.usd), Sum::Usd(worst.usd));
            return Err(breach(Sum::Usd(most), used, worst));
        }
        if let Some(most) = limit.tokens
            && needed.tokens > most
        {
            let (used, worst) = (Sum::Tokens(used.tokens), Sum::Tokens(worst.tokens));
            return Err(breach(Sum::Tokens(most), used, worst));
        }
        Ok(())
    }
}
