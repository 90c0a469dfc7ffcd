//! What all questions have in common: what a key means to them, and what becomes of an answer. When a key may answer is
//! not decided here.

use super::{Approval, Question, Step};
use crate::canvas::Canvas;
use crate::key::Key;
use crate::screen::Frame;
use ostler_wire::{Ask, Op};

/// A narrower window does not show what an answer would do.
pub const LEAST_COLUMNS: usize = 20;

/// A page of a question: its ask, and which of its pages.
pub type Page = (String, u8);

/// An answer that a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The option that the cursor is at, if it is at one.
    Chosen,
    /// The option with this index.
    Option(usize),
    /// None of them. The cursor is at no option until the person moves it to one.
    Nothing,
}

/// What a key means to a question that may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It moved within the question.
    Moved,
    Picks(Pick),
    /// It is no key of the question's.
    Text,
}

/// What becomes of a text that is sent while the question is open.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// It is part of the answer.
    Sent(Op),
    /// The answer is a no that has no room for it.
    Refused(Op),
    /// The question takes no text.
    Nothing,
}

/// A question.
#[derive(Debug)]
pub enum Asking {
    Approval(Approval),
    Question(Question),
}

/// Asks whichever it is.
macro_rules! of {
    ($asking:expr, $one:ident => $what:expr) => {
        match $asking {
            Asking::Approval($one) => $what,
            Asking::Question($one) => $what,
        }
    };
}

impl Asking {
    pub fn new(ask: &Ask) -> Self {
        match ask.is_approval() {
            true => Self::Approval(Approval::new(ask.clone())),
            false => Self::Question(Question::new(ask.clone())),
        }
    }

    pub fn ask(&self) -> &Ask {
        of!(self, one => one.ask())
    }

    pub fn page(&self) -> Page {
        of!(self, one => one.page())
    }

    pub fn meaning(&mut self, key: Key) -> Meaning {
        of!(self, one => one.meaning(key))
    }

    /// Whether the key scrolled what is to be read.
    pub fn scroll(&mut self, key: Key, canvas: &Canvas) -> bool {
        of!(self, one => one.scroll(key, canvas))
    }

    /// Moves the cursor to what the pick would take; where it was.
    pub fn select(&mut self, pick: Pick) -> Pick {
        of!(self, one => one.select(pick))
    }

    /// Whether Enter has something to confirm: an option that the person moved to, or marks.
    pub fn has_choice(&self) -> bool {
        of!(self, one => one.has_choice())
    }

    pub fn pick(&mut self, pick: Pick) -> Step {
        of!(self, one => one.pick(pick))
    }

    /// The option that this text is the exact name of.
    pub fn named(&self, text: &str) -> Option<Pick> {
        of!(self, one => one.named(text))
    }

    /// Whether this pick says no.
    pub fn refuses(&self, pick: Pick) -> bool {
        of!(self, one => one.refuses(pick))
    }

    /// What this text, sent, would answer. No text is a no without words.
    pub fn reply(&self, text: Option<String>) -> Reply {
        of!(self, one => one.reply(text))
    }

    /// All keys write, and Enter sends even without a text.
    pub fn wants_words(&self) -> bool {
        of!(self, one => one.wants_words())
    }

    /// A text that was begun before the question is an answer to it only after a pause.
    pub fn is_strict(&self) -> bool {
        match self {
            Self::Approval(_) => false,
            Self::Question(_) => true,
        }
    }

    /// The question, if it asks for a secret.
    pub fn secret(&self) -> Option<&Question> {
        match self {
            Self::Question(question) if question.is_secret() => Some(question),
            Self::Question(_) | Self::Approval(_) => None,
        }
    }

    pub fn secret_mut(&mut self) -> Option<&mut Question> {
        match self {
            Self::Question(question) if question.is_secret() => Some(question),
            Self::Question(_) | Self::Approval(_) => None,
        }
    }

    /// Leaves a page of it for the one before. Whether there was one.
    pub fn go_back(&mut self) -> bool {
        match self {
            Self::Approval(approval) => approval.go_back(),
            Self::Question(_) => false,
        }
    }

    /// A text came back from the editor.
    pub fn edited(&mut self, text: String) {
        match self {
            Self::Approval(approval) => approval.edited(text),
            Self::Question(_) => {}
        }
    }

    /// Keys, for the hint below.
    pub fn keys(&self, canvas: &Canvas) -> String {
        of!(self, one => one.keys(canvas))
    }

    pub fn label(&self, pick: Pick, canvas: &Canvas) -> String {
        of!(self, one => one.label(pick, canvas))
    }

    /// What Enter would do with this text.
    pub fn reply_hint(&self, text: &str, canvas: &Canvas) -> String {
        of!(self, one => one.reply_hint(text, canvas))
    }

    /// What stands in an empty composer.
    pub fn placeholder(&self, canvas: &Canvas) -> String {
        of!(self, one => one.placeholder(canvas))
    }

    /// Whether the window shows enough of it for an answer.
    pub fn is_readable(&self, canvas: &Canvas) -> bool {
        of!(self, one => one.is_readable(canvas))
    }

    /// Rows of at most the canvas, the hint last.
    pub fn frame(&self, canvas: &Canvas, hint: &str) -> Frame {
        of!(self, one => one.frame(canvas, hint))
    }
}
