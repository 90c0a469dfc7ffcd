//! Commands that the binary adds to a session: what needs the configuration, the environment or a home.

use crate::feed::Feed;
use ostler_wire::{CommandInfo, Delta, Language, View};

pub trait Extra: Send + Sync {
    fn info(&self, language: Language) -> CommandInfo;
    /// May take a while; it runs beside the session, on a thread of its own.
    fn run(&self, words: &str, language: Language, tell: &Tell) -> View;
}

/// For what a command has to say beside its answer, also long after it.
#[derive(Clone)]
pub struct Tell {
    feed: Feed,
    command: String,
}

impl Tell {
    pub(crate) fn new(feed: Feed, command: &str) -> Self {
        Self {
            feed,
            command: command.to_owned(),
        }
    }

    pub fn view(&self, view: View) {
        let command = self.command.clone();
        self.feed.delta(Delta::View { command, view });
    }
}
