//! The history of the project's repository while commands run that nobody approved: what was there when the first of those
//! that still run began, and what came since. What is gone of it, and git has not removed, is brought back with each look.
//! What a command does that the person approved while none of those runs is theirs.

use super::search::lock;
use crate::checkpoints::Place;
use ostler_host::checkpoint::{HistoryNames, Mended};
use ostler_tools::sandbox_report::Change;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Most changes that wait to be told.
const MAX_UNTOLD: usize = 100;

/// Where the history lies, and the checkpoints that have it.
#[derive(Clone)]
pub struct HistoryGround {
    pub root: PathBuf,
    /// None where nothing is saved: what is gone is named.
    pub place: Option<Arc<Place>>,
}

#[derive(Clone, Default)]
pub(super) struct History {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ground: Option<HistoryGround>,
    /// What is to be there, for as long as something may take of it.
    measure: Option<HistoryNames>,
    /// The last one, so that not every folder is listed again.
    known: Option<HistoryNames>,
    /// Commands that nobody approved and that have not been looked after yet.
    running: usize,
    /// What was found where no result of a call tells it.
    untold: Vec<Change>,
}

impl History {
    /// Right before such a command. Whatever runs already goes on being measured by what was there before it. Blocks.
    pub(super) fn begin(&self, ground: &HistoryGround) {
        let mut state = lock(&self.state);
        if state.measure.is_some() {
            let found = state.mend();
            state.tell_later(found);
        } else {
            state.measure = HistoryNames::look(&ground.root, state.known.as_ref());
            state.ground = Some(ground.clone());
        }
        state.running += 1;
    }

    /// Brings back what is gone by now. Blocks.
    pub(super) fn mend(&self) -> Vec<Change> {
        lock(&self.state).mend()
    }

    /// The same where nobody waits for what is found. Blocks.
    pub(super) fn mend_and_tell_later(&self) {
        let mut state = lock(&self.state);
        let found = state.mend();
        state.tell_later(found);
    }

    pub(super) fn tell_later(&self, changes: impl IntoIterator<Item = Change>) {
        lock(&self.state).tell_later(changes);
    }

    pub(super) fn take_untold(&self) -> Vec<Change> {
        std::mem::take(&mut lock(&self.state).untold)
    }

    /// One command less that runs, looked after.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        state.running = state.running.saturating_sub(1);
    }

    /// Nothing that commands left in the background is alive: without a command that runs, what changes from now on is as
    /// the person wants it.
    pub(super) fn rest(&self) {
        let mut state = lock(&self.state);
        if state.running == 0
            && let Some(measure) = state.measure.take()
        {
            state.known = Some(measure);
        }
    }
}

impl State {
    fn mend(&mut self) -> Vec<Change> {
        let (Some(measure), Some(ground)) = (&mut self.measure, &self.ground) else {
            return Vec::new();
        };
        let open = || {
            let place = ground.place.as_ref();
            place.map(|place| place.open_here()).transpose()
        };
        let Mended { back, gone } = measure.mend(open);
        let back = back.into_iter().map(|path| change(path, true));
        back.chain(gone.into_iter().map(|path| change(path, false)))
            .collect()
    }

    fn tell_later(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            let is_told = |told: &Change| told.path == change.path && told.undone == change.undone;
            if self.untold.len() < MAX_UNTOLD && !self.untold.iter().any(is_told) {
                self.untold.push(change);
            }
        }
    }
}

fn change(path: String, undone: bool) -> Change {
    Change {
        path: path.into(),
        undone,
        aside: None,
        refused: Vec::new(),
        unseen: false,
    }
}
