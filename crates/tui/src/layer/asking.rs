//! What all questions have in common: what a key means to them, and what becomes of an answer. When a key may answer is
//! not decided here.

use super::Step;
use crate::canvas::Canvas;
use crate::key::Key;
use crate::screen::Frame;
use ostler_wire::Op;

/// A page of a question: its ask, and which of its pages.
pub type Page = (String, u8);

/// An answer that a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The option that the cursor is at.
    Chosen,
    /// The option with this index.
    Option(usize),
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

pub trait Asking {
    fn ask(&self) -> &str;
    fn page(&self) -> Page;
    fn meaning(&mut self, key: Key, canvas: &Canvas) -> Meaning;
    /// Whether the key scrolled what is to be read.
    fn scroll(&mut self, key: Key, canvas: &Canvas) -> bool;
    /// Moves the cursor to what the pick would take.
    fn select(&mut self, pick: Pick);
    fn pick(&mut self, pick: Pick) -> Step;
    /// The option that this text is the exact name of.
    fn named(&self, text: &str) -> Option<Pick>;
    /// Whether this pick says no.
    fn refuses(&self, pick: Pick) -> bool;
    /// What this text, sent, would answer. No text is a no without words.
    fn reply(&self, text: Option<String>) -> Reply;
    /// All keys write, and Enter sends even without a text.
    fn wants_words(&self) -> bool;
    /// A text that was begun before the question is an answer to it only after a pause.
    fn is_strict(&self) -> bool;
    /// Leaves a page of it for the one before. Whether there was one.
    fn go_back(&mut self) -> bool;
    /// Keys, for the hint below.
    fn keys(&self, canvas: &Canvas) -> String;
    fn label(&self, pick: Pick, canvas: &Canvas) -> String;
    /// What Enter would do with this text.
    fn reply_hint(&self, text: &str, canvas: &Canvas) -> String;
    /// What stands in an empty composer.
    fn placeholder(&self, canvas: &Canvas) -> &'static str;
    /// Rows of at most the canvas, the hint last.
    fn frame(&self, canvas: &Canvas, hint: &str) -> Frame;
}
