//! What may be spent: by this run, by a session, in a day. The worst that a request can cost is held before it is sent, so
//! that requests beside each other do not together spend what each alone might. It asks nobody; the turn does.

use crate::ledger::Ledger;
use jiff::Timestamp;
use ostler_llm::{Price, TokenUsage};
use ostler_wire::{Ask, AskKind, Choice, Usage};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// Tokens of an answer whose limit nobody knows.
const UNKNOWN_OUTPUT: u64 = 16_000;
/// Tokens per byte of a prompt, as long as no answer has told.
const PACE: f64 = 0.25;
/// Tokens per byte beyond which a reported number is not believed.
const MAX_PACE: f64 = 1.0;
/// Sums of fractions are never exact.
const DUST: f64 = 1e-9;

/// The answer that lets the work go on.
pub const RAISE: &str = "once";

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub run: Limit,
    pub session: Limit,
    pub day: Limit,
}

impl Limits {
    pub fn in_usd(&self) -> bool {
        [self.run, self.session, self.day]
            .iter()
            .any(|limit| limit.usd.is_some())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amount {
    pub usd: f64,
    pub tokens: u64,
}

impl Amount {
    pub fn plus(self, other: Self) -> Self {
        Self {
            usd: self.usd + other.usd,
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            usd: (self.usd - other.usd).max(0.0),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}

impl From<&Usage> for Amount {
    fn from(usage: &Usage) -> Self {
        Self {
            usd: usage.cost.unwrap_or(0.0),
            tokens: usage.input.saturating_add(usage.output),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    Run,
    Session,
    Day,
}

impl Span {
    fn name(self) -> &'static str {
        match self {
            Span::Run => "run",
            Span::Session => "session",
            Span::Day => "day",
        }
    }
}

/// A request that does not fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize)]
#[error("The budget of the {} is {limit}: {used} is used or promised, and the next request may take {worst} more. {}", span.name(), hint(*span))]
pub struct Breach {
    pub span: Span,
    /// In the words of a person, as are the others.
    pub limit: String,
    pub used: String,
    pub worst: String,
    /// What it would be raised to.
    #[serde(skip)]
    raised: Limit,
}

fn hint(span: Span) -> String {
    format!(
        "Raise `[budget] {}`{}, or lower `[agent] max_tokens`, which bounds what an answer can cost.",
        span.name(),
        match span {
            Span::Run => " or `--budget`",
            Span::Session | Span::Day => "",
        }
    )
}

impl Breach {
    /// May it cost more?
    pub fn ask(&self) -> Ask {
        let raised = match (self.raised.usd, self.raised.tokens) {
            (Some(usd), None) => money(usd),
            (None, Some(tokens)) => count(tokens),
            (Some(usd), Some(tokens)) => format!("{} and {}", money(usd), count(tokens)),
            (None, None) => String::new(),
        };
        Ask {
            kind: AskKind::Budget,
            subject: format!(
                "The budget of the {} is {}: {} is used or promised, and the next request may take {} more. Raise it",
                self.span.name(),
                self.limit,
                self.used,
                self.worst
            ),
            options: vec![
                Choice {
                    detail: Some(format!("to {raised}, until Ostler ends")),
                    ..Choice::new(RAISE, "raise it")
                },
                Choice::new("deny", "stop here"),
            ],
            ..Ask::default()
        }
    }

    /// What became of a yes.
    pub fn raised(&self) -> String {
        format!("The budget of the {} was raised.", self.span.name())
    }
}

/// The most that a request can cost. `before` is what the last one had: its tokens and bytes.
pub fn worst(
    bytes: u64,
    before: Option<(u64, u64)>,
    max_output: Option<u64>,
    price: Option<Price>,
) -> Amount {
    let pace = match before {
        Some((tokens, bytes)) if tokens > 0 && bytes > 0 => {
            (tokens as f64 / bytes as f64).min(MAX_PACE)
        }
        Some(_) | None => PACE,
    };
    let input = (bytes as f64 * pace).ceil() as u64;
    let output = max_output.unwrap_or(UNKNOWN_OUTPUT);
    // Nothing of it cached, or all of it written to the cache, whichever is dearer.
    let usd = price.map_or(0.0, |price| {
        let plain = TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        };
        let written = TokenUsage {
            cache_write: input,
            ..plain
        };
        price.of(&plain).max(price.of(&written))
    });
    Amount {
        usd,
        tokens: input.saturating_add(output),
    }
}

/// Who has spent and been promised what. Pure.
#[derive(Debug, Default)]
struct Books {
    run: Amount,
    /// By all processes of the person, as the ledger says, and what is not in it.
    day: Amount,
    unbooked: Amount,
    sessions: HashMap<String, Amount>,
    held: Amount,
    held_by: HashMap<String, Amount>,
    raised: HashMap<Span, Limit>,
}

impl Books {
    fn hold(&mut self, limits: &Limits, session: &str, worst: Amount) -> Result<(), Breach> {
        let of = |map: &HashMap<String, Amount>| map.get(session).copied().unwrap_or_default();
        let held_here = of(&self.held_by);
        for (span, limit, used) in [
            (Span::Run, limits.run, self.run.plus(self.held)),
            (
                Span::Session,
                limits.session,
                of(&self.sessions).plus(held_here),
            ),
            (
                Span::Day,
                limits.day,
                self.day.plus(self.unbooked).plus(self.held),
            ),
        ] {
            check(span, self.raised.get(&span).copied(), limit, used, worst)?;
        }
        self.held = self.held.plus(worst);
        let here = self.held_by.entry(session.to_owned()).or_default();
        *here = here.plus(worst);
        Ok(())
    }

    fn release(&mut self, session: &str, worst: Amount) {
        self.held = self.held.minus(worst);
        if let Some(here) = self.held_by.get_mut(session) {
            *here = here.minus(worst);
        }
    }

    fn spend(&mut self, session: &str, amount: Amount, booked: Booked) {
        self.run = self.run.plus(amount);
        self.remember(session, amount);
        if booked == Booked::No {
            self.unbooked = self.unbooked.plus(amount);
        }
    }

    fn remember(&mut self, session: &str, amount: Amount) {
        let here = self.sessions.entry(session.to_owned()).or_default();
        *here = here.plus(amount);
    }
}

fn check(
    span: Span,
    raised: Option<Limit>,
    set: Limit,
    used: Amount,
    worst: Amount,
) -> Result<(), Breach> {
    let limit = Limit {
        usd: set.usd.map(|usd| raised.and_then(|r| r.usd).unwrap_or(usd)),
        tokens: set
            .tokens
            .map(|n| raised.and_then(|r| r.tokens).unwrap_or(n)),
    };
    // Another time the same, and at least what the request needs.
    let next = Limit {
        usd: limit
            .usd
            .map(|usd| (usd + set.usd.unwrap_or(0.0)).max(used.usd + worst.usd)),
        tokens: limit.tokens.map(|n| {
            n.saturating_add(set.tokens.unwrap_or(0))
                .max(used.tokens.saturating_add(worst.tokens))
        }),
    };
    let breach = |limit: String, used: String, worst: String| Breach {
        span,
        limit,
        used,
        worst,
        raised: next,
    };
    if let Some(most) = limit.usd
        && used.usd + worst.usd > most + DUST
    {
        return Err(breach(money(most), money(used.usd), money(worst.usd)));
    }
    if let Some(most) = limit.tokens
        && used.tokens.saturating_add(worst.tokens) > most
    {
        return Err(breach(count(most), count(used.tokens), count(worst.tokens)));
    }
    Ok(())
}

fn money(usd: f64) -> String {
    match usd >= 1.0 {
        true => format!("${usd:.2}"),
        false => format!("${usd:.4}"),
    }
}

fn count(tokens: u64) -> String {
    format!("{tokens} tokens")
}

/// Whether a cost is in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booked {
    Yes,
    No,
}

/// The budget of a process, shared by all its sessions.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    books: Books,
    ledger: Ledger,
    /// The day that was read, and how far.
    date: jiff::civil::Date,
    read: u64,
}

impl Budget {
    pub fn new(limits: Limits, ledger: Ledger) -> Self {
        Self {
            limits,
            shared: Arc::new(Mutex::new(Shared {
                books: Books::default(),
                ledger,
                date: jiff::civil::Date::MIN,
                read: 0,
            })),
        }
    }

    /// The same books under other limits.
    pub fn under(&self, limits: Limits) -> Self {
        Self {
            limits,
            shared: self.shared.clone(),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Holds what a request may cost until the hold is dropped.
    pub fn hold(&self, session: &str, worst: Amount) -> Result<Hold, Breach> {
        let mut shared = self.lock();
        if self.limits.day != Limit::default() {
            shared.read_day(jiff::Zoned::now());
        }
        shared.books.hold(&self.limits, session, worst)?;
        Ok(Hold {
            budget: self.clone(),
            session: session.to_owned(),
            worst,
        })
    }

    /// What a request did cost.
    pub fn spend(&self, session: &str, amount: Amount, booked: Booked) {
        self.lock().books.spend(session, amount, booked);
    }

    /// What a session that goes on has cost before.
    pub fn remember(&self, session: &str, amount: Amount) {
        let mut shared = self.lock();
        // One that was opened before in this process is known already.
        if !shared.books.sessions.contains_key(session) {
            shared.books.remember(session, amount);
        }
    }

    /// The person wants to spend more, until the process ends.
    pub fn raise(&self, breach: &Breach) {
        self.lock().books.raised.insert(breach.span, breach.raised);
    }

    /// Sums are right whoever panicked while holding them: each change is one assignment.
    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Adds what was written to the ledger since the last look. A ledger that cannot be read counts as it did.
    fn read_day(&mut self, now: jiff::Zoned) {
        if now.date() != self.date {
            self.date = now.date();
            self.books.day = Amount::default();
            self.books.unbooked = Amount::default();
        }
        let Ok(start) = now.start_of_day().map(|start| start.timestamp()) else {
            return;
        };
        let Ok((lines, read)) = self.ledger.since(self.read) else {
            return;
        };
        // It was replaced by a shorter one, and is read anew.
        if read < self.read {
            self.books.day = Amount::default();
        }
        self.read = read;
        for line in lines {
            let is_today = line.ts.parse::<Timestamp>().is_ok_and(|ts| ts >= start);
            if is_today {
                let spent = Amount {
                    usd: line.tokens.cost.unwrap_or(0.0),
                    tokens: line.tokens.input.saturating_add(line.tokens.output),
                };
                self.books.day = self.books.day.plus(spent);
            }
        }
    }
}

/// What is kept for a request. Dropping it gives it back.
#[derive(Debug)]
pub struct Hold {
    budget: Budget,
    session: String,
    worst: Amount,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.budget.lock().books.release(&self.session, self.worst);
    }
}
