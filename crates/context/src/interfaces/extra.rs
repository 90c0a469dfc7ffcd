//! Commands that the binary adds to a session: what needs the configuration, the environment or a home.

use crate::clients::feed::Feed;
use ostler_wire::{CommandInfo, Language, ReplyTo, View};

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
    reply_to: ReplyTo,
}

impl Tell {
    pub fn new(feed: Feed, command: &str, reply_to: ReplyTo) -> Self {
        Self {
            feed,
            command: command.to_owned(),
            reply_to,
        }
    }

    pub fn view(&self, view: View) {
        self.feed.reply_so_far(&self.reply_to, &self.command, view);
    }
}
