//! What can be done with the checkpoints of a tree at another place, as plain data.

use super::{
    Around, AroundDone, Change, Checkpoints, Collected, Error, Guard, Limits, Point, Record,
    Report, Result, Scope, Span, Tally, What,
};
use ostler_wire::Language;
use std::path::PathBuf;

/// The tree that checkpoints are of.
#[derive(Clone, Debug)]
pub struct Tree {
    pub root: PathBuf,
    pub limits: Limits,
    /// What a restore leaves as it is.
    pub protect: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
pub enum Order {
    Take {
        label: String,
        scope: Scope,
    },
    Around(Around),
    Get(u64),
    Diff {
        from: u64,
        to: Point,
    },
    Tally {
        from: u64,
        to: Point,
    },
    Unified {
        from: u64,
        to: Point,
        most: usize,
        language: Language,
    },
    Restore {
        id: u64,
        /// The hash of the tree that is meant.
        tree: String,
        what: What,
        guard: Guard,
        spans: Vec<Span>,
    },
    Collect(u64),
    Bytes,
}

#[derive(Debug)]
pub enum Reply {
    Record(Record),
    Around(AroundDone),
    Changes(Vec<Change>),
    Tally(Tally),
    Text(String),
    /// With the checkpoints around it.
    Restored {
        report: Report,
        made: Vec<Record>,
    },
    Collected(Collected),
    Bytes(u64),
}

impl Checkpoints {
    /// Blocks.
    pub fn carry_out(&self, order: Order) -> Result<Reply> {
        Ok(match order {
            Order::Take { label, scope } => Reply::Record(self.take(&label, &scope)?),
            Order::Around(around) => Reply::Around(self.around(around)),
            Order::Get(id) => Reply::Record(self.get(id)?),
            Order::Diff { from, to } => Reply::Changes(self.diff(from, to)?),
            Order::Tally { from, to } => Reply::Tally(self.tally(from, to)?),
            Order::Unified {
                from,
                to,
                most,
                language,
            } => Reply::Text(self.unified(from, to, most, language)?),
            Order::Restore {
                id,
                tree,
                what,
                guard,
                spans,
            } => {
                if self.get(id)?.tree != tree {
                    return Err(Error::NoSuch(id));
                }
                let report = self.restore_across(id, &what, &guard, &spans)?;
                let made = [report.before, report.after];
                let made = made.into_iter().filter_map(|id| self.get(id).ok());
                Reply::Restored {
                    made: made.collect(),
                    report,
                }
            }
            Order::Collect(quota) => Reply::Collected(self.gc(quota)?),
            Order::Bytes => Reply::Bytes(self.bytes()?),
        })
    }
}
