//! A session of another agent in plain terms, and the builder that every form of a log feeds.

use ostler_wire::{Image, Origin};
use serde_json::Value;
use std::path::PathBuf;

/// Steps of one session; a longer one is cut there, which is said.
pub const MAX_STEPS: usize = 200_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// As its agent calls it.
    pub id: String,
    pub title: Option<String>,
    /// The folder that it was about.
    pub root: Option<PathBuf>,
    /// The version of the agent that began it.
    pub version: String,
    pub steps: Vec<Step>,
    /// Lines that could not be read.
    pub unread: usize,
    /// There is more than is taken.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// RFC 3339; empty where it is not known.
    pub ts: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The person said it.
    Said {
        text: String,
        images: Vec<Image>,
    },
    /// The model answered.
    Answer {
        pieces: Vec<Piece>,
        model: Option<Origin>,
    },
    /// A call ended.
    Result(ResultFacts),
    Interrupted,
    /// All before stands in this digest.
    Folded {
        digest: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Reasoning(String),
    Text(String),
    Call {
        id: String,
        name: String,
        input: Value,
    },
}

/// What is known of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultFacts {
    pub call: String,
    /// As the model read it.
    pub text: String,
    pub failed: bool,
    /// The exit code of a command.
    pub exit: Option<i64>,
    /// The bare content of a file that was read.
    pub content: Option<String>,
    /// What an edit changed.
    pub diff: Option<String>,
}

/// Puts steps together in the order in which they come.
#[derive(Debug, Default)]
pub struct Builder {
    pub conversation: Conversation,
}

impl Builder {
    fn push(&mut self, ts: &str, what: What) {
        let steps = &mut self.conversation.steps;
        if steps.len() >= MAX_STEPS {
            self.conversation.is_cut = true;
            return;
        }
        let ts = ts.to_owned();
        steps.push(Step { ts, what });
    }

    pub fn said(&mut self, ts: &str, text: &str, images: Vec<Image>) {
        let text = text.trim();
        if !text.is_empty() || !images.is_empty() {
            let text = text.to_owned();
            self.push(ts, What::Said { text, images });
        }
    }

    /// A piece of an answer: those that follow each other are one answer.
    pub fn piece(&mut self, ts: &str, piece: Piece, model: Option<&Origin>) {
        let is_blank = match &piece {
            Piece::Reasoning(text) | Piece::Text(text) => text.trim().is_empty(),
            Piece::Call { .. } => false,
        };
        if is_blank {
            return;
        }
        if let Some(Step {
            what: What::Answer { pieces, .. },
            ..
        }) = self.conversation.steps.last_mut()
        {
            pieces.push(piece);
            return;
        }
        let what = What::Answer {
            pieces: vec![piece],
            model: model.cloned(),
        };
        self.push(ts, what);
    }

    pub fn result(&mut self, ts: &str, facts: ResultFacts) {
        self.push(ts, What::Result(facts));
    }

    pub fn interrupted(&mut self, ts: &str) {
        self.push(ts, What::Interrupted);
    }

    pub fn folded(&mut self, ts: &str, digest: &str) {
        if !digest.trim().is_empty() {
            let digest = digest.trim().to_owned();
            self.push(ts, What::Folded { digest });
        }
    }

    pub fn done(self) -> Conversation {
        self.conversation
    }
}
