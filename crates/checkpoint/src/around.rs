//! Saves around the work of a session: the tree before the first change and after the last one, and ignored files that a
//! call is about to change.

use super::{Checkpoints, Record, Result, Scope, Target};
use ostler_wire::When;
use std::path::PathBuf;

/// Checkpoints of earlier sessions in the project whose files are followed.
const MAX_EARLIER: usize = 32;

/// What is to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    pub label: String,
    pub when: When,
    /// What a call is about to change.
    pub targets: Vec<Target>,
    /// Ignored paths that are saved already, because of earlier calls.
    pub named: Vec<PathBuf>,
    pub touched: Vec<PathBuf>,
    /// Checkpoints of the session.
    pub follows: Vec<u64>,
    /// Named paths alone: the tree was too much.
    pub in_part: bool,
}

/// What became of it.
#[derive(Debug)]
pub struct AroundDone {
    /// None where there was nothing to save.
    pub record: Result<Option<Record>>,
    /// Ignored paths that are saved because of these targets.
    pub named: Vec<PathBuf>,
    /// Ignored and too large.
    pub passed: Vec<PathBuf>,
}

impl Checkpoints {
    pub fn around(&self, order: Around) -> AroundDone {
        let doomed = match order.targets.is_empty() {
            true => Default::default(),
            false => self.doomed(&order.targets),
        };
        let fresh = |path: &PathBuf| !order.named.iter().any(|known| path.starts_with(known));
        let new: Vec<PathBuf> = doomed.named.into_iter().filter(fresh).collect();
        AroundDone {
            record: self.save_around(order, &new),
            named: new,
            passed: doomed.passed,
        }
    }

    fn save_around(&self, order: Around, new: &[PathBuf]) -> Result<Option<Record>> {
        let mut paths = order.named;
        paths.extend_from_slice(new);
        match (order.when, order.in_part) {
            (When::Also, _) if new.is_empty() => Ok(None),
            (When::Also, _) => self.keep_paths(&order.label, new).map(Some),
            (When::Before | When::After, true) => {
                paths.extend(order.touched);
                match paths.is_empty() {
                    true => Ok(None),
                    false => self.keep_paths(&order.label, &paths).map(Some),
                }
            }
            (When::Before | When::After, false) => {
                let mut follows = self.newest(MAX_EARLIER).unwrap_or_default();
                follows.extend(order.follows);
                follows.sort_unstable();
                follows.dedup();
                let scope = Scope {
                    paths,
                    touched: order.touched,
                    follows,
                    ..Scope::default()
                };
                self.keep(&order.label, &scope).map(Some)
            }
        }
    }
}
