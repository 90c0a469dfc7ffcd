//! How a child ended, and what it took.

use ostler_wire::{Child, ChildOutcome, Usage};
use std::time::Duration;

/// What a session took, and those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// USD, as far as prices are known.
    pub cost: Option<f64>,
}

impl Spent {
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
    }
}

impl From<&Usage> for Spent {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input,
            cached: usage.cached,
            output: usage.output,
            cost: usage.cost,
        }
    }
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub id: String,
    pub role: String,
    /// What it was to do, shortened.
    pub prompt: String,
    /// Of its log.
    pub session: String,
    pub how: How,
    /// The last answer, or what went wrong.
    pub text: String,
    pub took: Duration,
    pub spent: Spent,
}

impl Ended {
    /// As the log of the parent keeps it.
    pub fn entry(&self, call: Option<String>) -> Child {
        Child {
            id: self.id.clone(),
            session_id: self.session.clone(),
            role: self.role.clone(),
            title: self.prompt.clone(),
            tool_use_id: call.filter(|id| !id.is_empty()),
            outcome: match self.how {
                How::Done => ChildOutcome::Done,
                How::Failed => ChildOutcome::Failed,
                How::Stopped => ChildOutcome::Stopped,
                How::OutOfTime => ChildOutcome::Timeout,
            },
            duration_ms: self.took.as_millis().try_into().unwrap_or(u64::MAX),
            tokens: self.spent.tokens(),
            cost: self.spent.cost,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Done,
    Failed,
    Stopped,
    OutOfTime,
}
