//! Moving a session to another point of its log. The log is only appended to: what is said next follows an earlier entry,
//! and the branch that ended stays where it is.

use crate::permissions::mode_of;
use crate::session::Session;
use crate::session::settings_of;
use ostler_context::transcript::prefix_text;
use ostler_store::log::{LogError, branch};
use ostler_store::points::branch_to;
use ostler_store::prefixes;
use ostler_wire::{Body, Entry, HERE, Notice, Rewind, Settings};
use std::sync::Arc;

impl Session {
    /// What was said, on the branch that goes on.
    pub fn branch(&self) -> Vec<Entry> {
        branch(self.entries())
    }

    fn entries(&self) -> Vec<Entry> {
        let entries = self.state.log.source().entries_after(None);
        entries.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// Writes a rewind down, and goes on after the entry `to`, if there is one. Nothing has moved when this fails.
    pub fn take_back(
        &mut self,
        to: Option<u64>,
        rewind: Rewind,
        text: String,
    ) -> Result<(), LogError> {
        let from = self.state.log.head();
        let (seen, known) = (
            rewind.seen.clone(),
            self.state.services.checkpoints.seen.clone(),
        );
        let mut rewind = Rewind { from, ..rewind };
        let (mut also, mut moved) = (None, None);
        if let Some(to) = to {
            let past = branch_to(self.entries(), to);
            also = self.still_holds(&past);
            moved = Some(self.state.go_back(&past));
            rewind.tokens = Some(self.state.tokens());
            self.state.log.set_head(to);
            self.remind(&past);
        }
        let mut bodies = vec![Body::Rewind(rewind)];
        bodies.extend(also);
        bodies.push(Body::Notice(Notice { text }));
        let done = self.state.commit(bodies);
        match (&done, moved, from) {
            (Ok(()), _, _) => self.state.services.checkpoints.seen = seen,
            (Err(_), Some(moved), Some(from)) => {
                self.state.log.set_head(from);
                self.state.undo_back(moved);
                self.state.services.checkpoints.seen = known;
            }
            (Err(_), _, _) => {}
        }
        done
    }

    /// Settings that were made on the branch that ends and hold on.
    fn still_holds(&self, past: &[Entry]) -> Option<Body> {
        let then = settings_of(past, &[]);
        let model = self.state.conversation.model.reference();
        let prefix = prefixes::hash(&prefix_text(&self.state.conversation.prefix));
        let there = past.iter().rev().find_map(|entry| entry.body.place());
        let there = there.map_or(HERE, |(host, _)| host);
        // What is taken back does not take the session to another place.
        let options = &self.options;
        let stays = || (there != options.place_name()).then_some(());
        let settings = Settings {
            host: stays().map(|()| options.place_name().to_owned()),
            root: stays().map(|()| options.paths.root.display().to_string()),
            model: Some(model).filter(|m| then.model.as_ref() != Some(m)),
            prefix: Some(prefix).filter(|p| then.prefix.as_ref() != Some(p)),
            ..Settings::default()
        };
        (settings != Settings::default()).then_some(Body::Settings(settings))
    }

    /// What the next prompt has to say again because the one that said it is gone.
    fn remind(&mut self, past: &[Entry]) {
        let permissions = &mut self.state.permissions;
        permissions.unrecorded |= mode_of(past) != permissions.mode;
        let Some(facts) = &self.facts else { return };
        let has = |entry: &Entry| matches!(&entry.body, Body::Message(m) if m.context.as_ref().is_some_and(|c| c.contains(facts.as_str())));
        if !past.iter().any(has) {
            self.opening.context = Some(facts.clone());
        }
    }
}
