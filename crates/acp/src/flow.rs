//! How much is on its way to the editor, so that an editor that reads slowly holds sessions back.

use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Updates that are on their way; a session waits when there are more.
const MAX_AHEAD: usize = 256;

/// How many updates are on their way to the editor.
#[derive(Default)]
pub struct Flow {
    ahead: AtomicUsize,
    written: Notify,
}

impl Flow {
    pub fn sent(&self) {
        self.ahead.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the editor has read enough.
    pub async fn room(&self) {
        while self.ahead.load(Ordering::Relaxed) >= MAX_AHEAD {
            self.written.notified().await;
        }
    }

    /// A line was written. Answers count, too, so that the number is an upper bound at most.
    pub fn wrote(&self) {
        let less = |ahead: usize| ahead.checked_sub(1);
        let _ = self
            .ahead
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.written.notify_one();
    }
}
