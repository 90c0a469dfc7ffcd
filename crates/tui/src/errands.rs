//! Work that takes a while (folders on slow disks, the clipboard), on threads of its own, so that keys never wait for it.

use crate::surroundings::{Fetched, Work};
use tokio::sync::mpsc;

/// Errands that are out at the same time; more are not begun.
const MOST: usize = 8;

pub struct Errands {
    to: mpsc::Sender<Fetched>,
    from: mpsc::Receiver<Fetched>,
    out: usize,
    is_listing: bool,
    /// The folder that was asked for while another one was listed.
    next: Option<Work<Fetched>>,
}

impl Default for Errands {
    fn default() -> Self {
        let (to, from) = mpsc::channel(MOST);
        Self {
            to,
            from,
            out: 0,
            is_listing: false,
            next: None,
        }
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

    /// One folder at a time; of those that were asked for meanwhile only the last counts.
    pub fn list(&mut self, work: Work<Fetched>) {
        if self.is_listing {
            self.next = Some(work);
            return;
        }
        self.is_listing = true;
        self.run(work);
    }

    pub async fn next(&mut self) -> Option<Fetched> {
        let fetched = self.from.recv().await?;
        self.out -= 1;
        if matches!(fetched, Fetched::Names { .. }) {
            self.is_listing = false;
            if let Some(work) = self.next.take() {
                self.list(work);
            }
        }
        Some(fetched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_many_folders_the_first_and_the_last_are_listed() {
        let mut errands = Errands::default();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let mut wait = Some(wait);
        for folder in ["a/", "b/", "c/"] {
            let wait = wait.take();
            let work = move || {
                if let Some(wait) = wait {
                    let _ = wait.recv();
                }
                Fetched::Names {
                    folder: folder.to_owned(),
                    names: Vec::new(),
                }
            };
            errands.list(Box::new(work));
        }
        go.send(()).unwrap();
        let mut listed = Vec::new();
        while errands.out > 0 {
            if let Some(Fetched::Names { folder, .. }) = errands.next().await {
                listed.push(folder);
            }
        }
        assert_eq!(listed, ["a/", "c/"]);
    }
}
