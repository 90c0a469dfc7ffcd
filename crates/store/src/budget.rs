//! What may be spent: by this run, by a session, in a day, by a child or in a role. The worst that a request can cost is
//! held before it is sent, so that requests beside each other do not together spend what each alone might. It asks nobody;
//! the turn does.

mod books;
mod breach;
mod holds;
#[cfg(test)]
mod tests;

use crate::ledger::{Ledger, Line};
use crate::sessions::copies;
use books::{Books, Pot};
pub use books::{Payer, Span, State};
pub use breach::{Breach, RAISE, Sum};
use holds::{Door, Holds};
use jiff::Timestamp;
use ostler_wire::{Body, Entry, Usage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the person types, and prompts in the background.
pub const MAIN: &str = "main";
pub const TASK: &str = "task";
/// The summary of a conversation that fills its window.
pub const COMPACTION: &str = "compaction";
/// The letter to a session that goes on elsewhere.
pub const HANDOFF: &str = "handoff";
/// A request that an MCP server asked for.
pub const SAMPLING: &str = "sampling";
/// Every role that requests are sent in.
pub const ROLES: [&str; 5] = [MAIN, TASK, COMPACTION, HANDOFF, SAMPLING];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    pub run: Limit,
    /// By a session and those it started.
    pub session: Limit,
    pub day: Limit,
    /// By each session that another one started.
    pub child: Limit,
    /// By all requests of a role, in this run.
    pub roles: BTreeMap<String, Limit>,
}

impl Limits {
    pub fn in_usd(&self) -> bool {
        let all = [self.run, self.session, self.day, self.child];
        let mut all = all.iter().chain(self.roles.values());
        all.any(|limit| limit.usd.is_some())
    }

    fn of(&self, pot: &Pot) -> Limit {
        match pot.span {
            Span::Run => self.run,
            Span::Session => self.session,
            Span::Day => self.day,
            Span::Child => self.child,
            Span::Role => self.roles.get(&pot.name).copied().unwrap_or_default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

impl From<&Line> for Amount {
    fn from(line: &Line) -> Self {
        Self {
            usd: line.tokens.cost.unwrap_or(0.0),
            tokens: line.tokens.input.saturating_add(line.tokens.output),
        }
    }
}

/// What a session has cost by its log. What it has copied was paid in another.
pub fn spent(entries: &[Entry]) -> Amount {
    let copied = entries.first().map_or(0, |first| copies(&first.body));
    let own = entries.iter().filter(|entry| entry.entry > copied);
    let mut sum = Amount::default();
    for entry in own {
        if let Body::Usage(usage) = &entry.body {
            sum = sum.plus(usage.into());
        }
    }
    sum
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
    holds: Holds,
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
                holds: Holds::new(ledger.home()),
                ledger,
                date: jiff::civil::Date::MIN,
                read: 0,
            })),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same books under other limits.
    pub fn under(&self, limits: Limits) -> Self {
        Self {
            limits,
            shared: self.shared.clone(),
        }
    }

    /// Holds what a request may cost until the hold is dropped.
    pub fn hold(&self, payer: Payer<'_>, worst: Amount) -> Result<Hold, Breach> {
        let mut shared = self.lock();
        let pots = match self.limits.day == Limit::default() {
            true => shared.books.hold(&self.limits, payer, worst)?,
            false => {
                // Nobody else is promised anything between the look and the promise.
                let door = shared.holds.enter();
                shared.books.elsewhere = shared.holds.of_others(&door);
                self.look_at_day(&mut shared);
                let pots = shared.books.hold(&self.limits, payer, worst)?;
                shared.tell(&door);
                pots
            }
        };
        Ok(Hold {
            budget: self.clone(),
            pots,
            worst,
        })
    }

    /// What a request did cost.
    pub fn spend(&self, payer: Payer<'_>, amount: Amount, booked: Booked) {
        self.lock().books.spend(payer, amount, booked);
    }

    /// What a session that goes on has cost before, and those that it started.
    pub fn remember(&self, session: &str, own: Amount) {
        let mut shared = self.lock();
        // One that was opened before in this process is known already.
        if shared.books.knows(session) {
            return;
        }
        let mut sum = own;
        if self.limits.session != Limit::default() {
            let lines = shared.ledger.lines().unwrap_or_default();
            let theirs = lines
                .iter()
                .filter(|l| l.budget_session.as_deref() == Some(session));
            sum = theirs.fold(sum, |sum, line| sum.plus(line.into()));
        }
        shared.books.remember(session, sum);
    }

    /// The person wants to spend more, until the process ends.
    pub fn raise(&self, breach: &Breach) {
        self.lock().books.raise(breach);
    }

    /// Whether a role has a limit of its own.
    pub fn has_role(&self, role: &str) -> bool {
        self.limits.roles.contains_key(role)
    }

    /// How every limit of this payer stands.
    pub fn states(&self, payer: Payer<'_>) -> Vec<State> {
        let mut shared = self.lock();
        if self.limits.day != Limit::default() {
            let door = shared.holds.enter();
            shared.books.elsewhere = shared.holds.of_others(&door);
        }
        self.look_at_day(&mut shared);
        shared.books.states(&self.limits, payer)
    }

    /// How much of the limit that is used most is spent, in percent.
    pub fn percent(&self, payer: Payer<'_>) -> Option<u64> {
        let states = self.states(payer);
        states.iter().map(State::percent).max()
    }

    fn look_at_day(&self, shared: &mut Shared) {
        if self.limits.day != Limit::default() {
            shared.read_day(jiff::Zoned::now());
        }
    }

    /// Sums are right whoever panicked while holding them: each change is one assignment.
    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Lets other processes know what is held here.
    fn tell(&mut self, door: &Door) {
        let held = self.books.held_today();
        self.holds.tell(held, door);
    }

    /// Adds what was written to the ledger since the last look. A ledger that cannot be read counts as it did.
    fn read_day(&mut self, now: jiff::Zoned) {
        if now.date() != self.date {
            self.date = now.date();
            self.books.new_day();
        }
        let Ok(start) = now.start_of_day().map(|start| start.timestamp()) else {
            return;
        };
        let Ok((lines, read)) = self.ledger.since(self.read) else {
            return;
        };
        // It was replaced by a shorter one, and is read anew.
        if read < self.read {
            self.books.booked = Amount::default();
        }
        self.read = read;
        for line in lines {
            let is_today = line.ts.parse::<Timestamp>().is_ok_and(|ts| ts >= start);
            if is_today {
                self.books.booked = self.books.booked.plus((&line).into());
            }
        }
    }
}

/// Who pays, and from what.
#[derive(Clone, Copy, Debug)]
pub struct Till<'a> {
    pub budget: &'a Budget,
    pub payer: Payer<'a>,
}

/// What is kept for a request. Dropping it gives it back.
#[derive(Debug)]
pub struct Hold {
    budget: Budget,
    pots: Vec<Pot>,
    worst: Amount,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut shared = self.budget.lock();
        if self.budget.limits.day == Limit::default() {
            return shared.books.release(&self.pots, self.worst);
        }
        let door = shared.holds.enter();
        shared.books.release(&self.pots, self.worst);
        shared.tell(&door);
    }
}
