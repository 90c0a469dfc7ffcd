//! The session's outgoing events: one bounded ring that every subscriber reads at its own pace.

use ostler_wire::{Ask, Delta, Entry, Event};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Events a subscriber may lag behind before it has to catch up from the log.
const RING: usize = 1024;

#[derive(Clone)]
pub struct Feed {
    ring: broadcast::Sender<Event>,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            ring: broadcast::Sender::new(RING),
        }
    }
}

impl Feed {
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.ring.subscribe()
    }

    /// An entry that is on disk.
    pub fn entry(&self, entry: Arc<Entry>) {
        self.send(Event::Entry(entry));
    }

    pub fn delta(&self, delta: Delta) {
        self.send(Event::Delta(delta));
    }

    pub fn ask(&self, ask: Arc<Ask>) {
        self.send(Event::Ask(ask));
    }

    fn send(&self, event: Event) {
        // No subscriber is not a fault: entries are on disk, deltas may be dropped, asks are sent again on attach.
        let _ = self.ring.send(event);
    }
}
