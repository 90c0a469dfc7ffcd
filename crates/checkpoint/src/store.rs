//! The checkpoints of a project, on this machine or at another place. Those of another place have their content there, and
//! what is known of each here.

use super::order::{Order, Reply, Tree};
use super::{
    Around, AroundDone, Change, Checkpoints, Collected, Error, Guard, Point, Record, Report,
    Result, Scope, Span, Tally, What, record,
};
use ostler_wire::{Language, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone)]
pub enum TreeStore {
    Here(Checkpoints),
    There(There),
}

/// Asks a place. Blocks.
pub type Ask = Arc<dyn Fn(Tree, Order) -> Result<Reply> + Send + Sync>;

/// Checkpoints at another place.
#[derive(Clone)]
pub struct There {
    /// As people call the place.
    pub name: String,
    pub ask: Ask,
    pub tree: Tree,
    /// Where on this machine it is written down what checkpoints there are.
    pub dir: PathBuf,
}

/// An answer of another kind than what was asked.
fn garbled() -> Error {
    Error::Damaged("the answer of the helper".into())
}

macro_rules! only {
    ($answer:expr, $kind:ident) => {
        match $answer {
            Ok(Reply::$kind(inner)) => Ok(inner),
            Ok(_other) => Err(garbled()),
            Err(error) => Err(error),
        }
    };
}

impl There {
    fn ask(&self, order: Order) -> Result<Reply> {
        (self.ask)(self.tree.clone(), order)
    }

    /// Without it the checkpoint is found by asking the place.
    fn note(&self, record: &Record) {
        let _known = ostler_files::private_dir(&self.dir).and_then(|()| {
            let bytes = serde_json::to_vec(record)?;
            super::Disk::default().put(&record::path(&self.dir, record.id), &bytes)
        });
    }

    fn forget(&self, id: u64) {
        let _gone = std::fs::remove_file(record::path(&self.dir, id));
    }

    fn get(&self, id: u64) -> Result<Record> {
        if let Ok(known) = record::read(&self.dir, id) {
            return Ok(known);
        }
        let record = only!(self.ask(Order::Get(id)), Record)?;
        self.note(&record);
        Ok(record)
    }

    fn restore(&self, id: u64, what: &What, guard: &Guard, spans: &[Span]) -> Result<Report> {
        let order = Order::Restore {
            id,
            tree: self.get(id)?.tree,
            what: what.clone(),
            guard: *guard,
            spans: spans.to_vec(),
        };
        match self.ask(order) {
            Ok(Reply::Restored { report, made }) => {
                made.iter().for_each(|record| self.note(record));
                Ok(report)
            }
            Ok(_) => Err(garbled()),
            Err(error) => {
                if matches!(error, Error::NoSuch(_)) {
                    self.forget(id);
                }
                Err(error)
            }
        }
    }
}

impl TreeStore {
    /// The name of the place, if it is another than this machine.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Here(_) => None,
            Self::There(there) => Some(&there.name),
        }
    }

    pub fn around(&self, around: Around) -> AroundDone {
        match self {
            Self::Here(store) => store.around(around),
            Self::There(there) => match only!(there.ask(Order::Around(around)), Around) {
                Ok(done) => {
                    if let Ok(Some(record)) = &done.record {
                        there.note(record);
                    }
                    done
                }
                Err(error) => AroundDone {
                    record: Err(error),
                    named: Vec::new(),
                    passed: Vec::new(),
                },
            },
        }
    }

    pub fn take(&self, label: &str, scope: &Scope) -> Result<Record> {
        match self {
            Self::Here(store) => store.take(label, scope),
            Self::There(there) => {
                let order = Order::Take {
                    label: label.to_owned(),
                    scope: scope.clone(),
                };
                let record = only!(there.ask(order), Record)?;
                there.note(&record);
                Ok(record)
            }
        }
    }

    /// Oldest first. What is damaged is not in it.
    pub fn list(&self) -> Result<Vec<Record>> {
        match self {
            Self::Here(store) => store.list(),
            Self::There(there) => {
                let ids = record::ids(&there.dir)?.into_iter();
                Ok(ids
                    .filter_map(|id| record::read(&there.dir, id).ok())
                    .collect())
            }
        }
    }

    pub fn get(&self, id: u64) -> Result<Record> {
        match self {
            Self::Here(store) => store.get(id),
            Self::There(there) => there.get(id),
        }
    }

    pub fn diff(&self, from: u64, to: Point) -> Result<Vec<Change>> {
        match self {
            Self::Here(store) => store.diff(from, to),
            Self::There(there) => only!(there.ask(Order::Diff { from, to }), Changes),
        }
    }

    pub fn tally(&self, from: u64, to: Point) -> Result<Tally> {
        match self {
            Self::Here(store) => store.tally(from, to),
            Self::There(there) => only!(there.ask(Order::Tally { from, to }), Tally),
        }
    }

    pub fn unified(&self, from: u64, to: Point, most: usize, language: Language) -> Result<String> {
        match self {
            Self::Here(store) => store.unified(from, to, most, language),
            Self::There(there) => {
                let order = Order::Unified {
                    from,
                    to,
                    most,
                    language,
                };
                only!(there.ask(order), Text)
            }
        }
    }

    pub fn restore(&self, id: u64, what: &What, guard: &Guard) -> Result<Report> {
        self.restore_across(id, what, guard, &[])
    }

    /// The same across times in which others changed files.
    pub fn restore_across(
        &self,
        id: u64,
        what: &What,
        guard: &Guard,
        spans: &[Span],
    ) -> Result<Report> {
        match self {
            Self::Here(store) => store.restore_across(id, what, guard, spans),
            Self::There(there) => there.restore(id, what, guard, spans),
        }
    }

    /// Makes the store fit into so many bytes.
    pub fn gc(&self, quota: u64) -> Result<Collected> {
        match self {
            Self::Here(store) => store.gc(quota),
            Self::There(there) => {
                let collected = only!(there.ask(Order::Collect(quota)), Collected)?;
                collected.removed.iter().for_each(|id| there.forget(*id));
                Ok(collected)
            }
        }
    }

    /// Bytes of the store.
    pub fn bytes(&self) -> Result<u64> {
        match self {
            Self::Here(store) => store.bytes(),
            Self::There(there) => only!(there.ask(Order::Bytes), Bytes),
        }
    }
}

/// What a place that keeps no checkpoints says.
pub fn none_at(root: &Path) -> Error {
    Error::Io {
        what: Word::CpFind,
        path: root.to_owned(),
        source: std::io::ErrorKind::Unsupported.into(),
    }
}
