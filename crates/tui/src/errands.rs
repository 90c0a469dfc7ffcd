//! Work that takes a while (folders on slow disks, the clipboard), on threads of its own, so that keys never wait for it.

use crate::surroundings::{Name, Work};
use ostler_wire::Image;
use tokio::sync::mpsc;

/// Errands that are out at the same time; more are not begun.
const MOST: usize = 8;

/// What an errand came back with.
pub enum Fetched {
    Names { folder: String, names: Vec<Name> },
    Image(Result<Image, String>),
    Branch(Option<String>),
}

pub struct Errands {
    to: mpsc::Sender<Fetched>,
    from: mpsc::Receiver<Fetched>,
    out: usize,
    is_listing: bool,
    /// The folder that was asked for while another one was listed.
    next: Option<(String, Work<Vec<Name>>)>,
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
    pub fn run(&mut self, work: impl FnOnce() -> Fetched + Send + 'static) {
        if self.out >= MOST {
            return;
        }
        self.out += 1;
        let to = self.to.clone();
        // A thread that hangs on a dead disk must not keep the program from ending, as a pool would.
        std::thread::spawn(move || {
            // Nobody may be there any more.
            let _ = to.blocking_send(work());
        });
    }

    /// One folder at a time; of those that were asked for meanwhile only the last counts.
    pub fn list(&mut self, folder: String, work: Work<Vec<Name>>) {
        if self.is_listing {
            self.next = Some((folder, work));
            return;
        }
        self.is_listing = true;
        self.run(move || Fetched::Names {
            names: work(),
            folder,
        });
    }

    pub async fn next(&mut self) -> Option<Fetched> {
        let fetched = self.from.recv().await?;
        self.out -= 1;
        if matches!(fetched, Fetched::Names { .. }) {
            self.is_listing = false;
            if let Some((folder, work)) = self.next.take() {
                self.list(folder, work);
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
                Vec::new()
            };
            errands.list(folder.to_owned(), Box::new(work));
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
