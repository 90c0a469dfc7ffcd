//! What the model said, whole. While it streams, `markdown::Stream` shows it.

use super::Fold;
use crate::line::Line;
use crate::theme::{Role, Theme};
use crate::{markdown, rows};
use ostler_wire::{Message, Stop, Word};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assistant {
    pub text: String,
    pub stop: Option<Stop>,
}

impl From<&Message> for Assistant {
    fn from(message: &Message) -> Self {
        Self {
            text: message.text.clone(),
            stop: message.stop,
        }
    }
}

impl Assistant {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.remark().is_none()
    }

    /// Both folds are the same: what was said is never hidden.
    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        let mut out = markdown::render(&self.text, columns, theme);
        if let Some(remark) = self.remark() {
            out.extend(rows::prose(
                theme.language.say(remark),
                theme.style(Role::Warning),
                columns,
            ));
        }
        out
    }

    /// Why the answer is not whole.
    fn remark(&self) -> Option<Word> {
        match self.stop? {
            Stop::Length => Some(Word::CutByLength),
            Stop::Cut => Some(Word::CutByConnection),
            Stop::End | Stop::Calls | Stop::Refusal | Stop::Interrupted => None,
        }
    }
}
