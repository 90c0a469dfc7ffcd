//! Work that takes a while (pictures on slow disks, the clipboard), on threads of its own, so that keys never wait for it.

use crate::surroundings::{Fetched, Work};
use tokio::sync::mpsc;

/// Errands that are out at the same time; more are not begun.
const MOST: usize = 8;

pub struct Errands {
    to: mpsc::Sender<Fetched>,
    from: mpsc::Receiver<Fetched>,
    out: usize,
}

impl Default for Errands {
    fn default() -> Self {
        let (to, from) = mpsc::channel(MOST);
        Self { to, from, out: 0 }
    }
}

impl Errands {
    /// Whether it was begun.
    pub fn run(&mut self, work: Work<Fetched>) -> bool {
        if self.out >= MOST {
            return false;
        }
        self.out += 1;
        let to = self.to.clone();
        // A thread that hangs on a dead disk must not keep the program from ending, as a pool would.
        std::thread::spawn(move || {
            // Nobody may be there any more.
            let _ = to.blocking_send(work());
        });
        true
    }

    pub async fn next(&mut self) -> Option<Fetched> {
        let fetched = self.from.recv().await?;
        self.out -= 1;
        Some(fetched)
    }
}
