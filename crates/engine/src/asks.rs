//! Asks that wait for an answer, so that a front end that attaches late gets them again.

use ostler_wire::Ask;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
pub struct Pending {
    open: Arc<Mutex<BTreeMap<String, Arc<Ask>>>>,
}

impl Pending {
    pub fn all(&self) -> Vec<Arc<Ask>> {
        self.open
            .lock()
            .map_or_else(|_| Vec::new(), |open| open.values().cloned().collect())
    }

    pub fn add(&self, ask: Arc<Ask>) {
        if let Ok(mut open) = self.open.lock() {
            open.insert(ask.ask.clone(), ask);
        }
    }

    pub fn remove(&self, ask: &str) {
        if let Ok(mut open) = self.open.lock() {
            open.remove(ask);
        }
    }
}
